//! Peak memory: one process per decoder, which decodes once and reports its high-water mark.

use std::path::Path;
use std::process::Command;

use crate::contestants;

pub fn run(file: &Path) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    println!("peak resident memory of one decode, file and output included");
    for contestant in contestants::all() {
        let output = Command::new(&program)
            .args(["decode-once", contestant.name])
            .arg(file)
            .output()
            .map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        print!("{}", String::from_utf8_lossy(&output.stdout));
    }
    Ok(())
}

pub fn decode_once(decoder: &str, file: &Path) -> Result<(), String> {
    let bytes = crate::read(file)?;
    let pixels = (contestants::named(decoder)?.decode)(&bytes)?;
    let peak = peak_kibibytes().ok_or("peak memory is only known on Linux")?;
    let mib = |bytes: usize| bytes as f64 / (1 << 20) as f64;
    println!(
        "  {decoder:14} {:8.1} MiB   (file {:.1} MiB, output {:.1} MiB)",
        mib(peak * 1024),
        mib(bytes.len()),
        mib(pixels.len())
    );
    Ok(())
}

fn peak_kibibytes() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
