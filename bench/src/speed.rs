//! Speed: all decoders in turn, round after round, so that whatever else the machine does hits them alike.

use std::path::PathBuf;
use std::time::Instant;

use indicatif::ProgressBar;
use isopel_core::{Codestream, DecodeOptions, DecodePlan, FormatRequest, Limits, OrientationPolicy, cpu};

use crate::contestants::{self, Contestant};

pub fn run(files: &[PathBuf], rounds: usize, threads: usize) -> Result<(), String> {
    let contestants = contestants::all_and_parallel(threads);
    let progress = ProgressBar::new((files.len() * rounds) as u64);
    let mut lines = Vec::new();
    for file in files {
        let bytes = crate::read(file)?;
        let codestream = Codestream::parse_header(&bytes, &Limits::default()).map_err(|error| error.to_string())?;
        let pixels = codestream.stored_size().pixels() as f64;
        let outputs: Vec<_> = contestants.iter().map(|contestant| (contestant.decode)(&bytes)).collect();

        // Seconds by contestant and round.
        let mut times = vec![Vec::with_capacity(rounds); contestants.len()];
        for _ in 0..rounds {
            for ((Contestant { decode, .. }, times), output) in contestants.iter().zip(&mut times).zip(&outputs) {
                if output.is_err() {
                    continue;
                }
                let start = Instant::now();
                std::hint::black_box(decode(std::hint::black_box(&bytes))?);
                times.push(start.elapsed().as_secs_f64());
            }
            progress.inc(1);
        }
        lines.push(format!("{} ({:.2} MP, {} bytes)", file.display(), pixels / 1e6, bytes.len()));
        for (index, contestant) in contestants.iter().enumerate() {
            if let Err(error) = &outputs[index] {
                lines.push(format!("  {:16} fails: {error}", contestant.name));
                continue;
            }
            let ratios = times[index].iter().zip(&times[0]).map(|(own, isopel)| isopel / own).collect();
            let same = if outputs[index] == outputs[0] { "same pixels" } else { "other pixels" };
            lines.push(format!(
                "  {:16} {:8.1} MP/s   {:5.2} x isopel   {}",
                contestant.name,
                pixels / median(times[index].clone()) / 1e6,
                median(ratios),
                same
            ));
        }
        lines.push(stages(&bytes, pixels, rounds)?);
    }
    progress.finish_and_clear();
    println!(
        "one thread each but for isopel parallel, {rounds} rounds, decoders interleaved, medians\n{}",
        lines.join("\n")
    );
    Ok(())
}

/// Nanoseconds per pixel of isopel's stages.
fn stages(bytes: &[u8], pixels: f64, rounds: usize) -> Result<String, String> {
    let options = DecodeOptions::default().orientation(OrientationPolicy::Ignore).format(FormatRequest::Source);
    let codestream = Codestream::parse(bytes, &options.limits).map_err(|error| error.to_string())?;
    let plan = DecodePlan::new(&codestream, &options).map_err(|error| error.to_string())?;
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..rounds {
        let (_, stages) = cpu::decode_timed(&plan).map_err(|error| error.to_string())?;
        for (times, stage) in times.iter_mut().zip([stages.entropy, stages.dequant_idct, stages.upsample_color]) {
            times.push(stage.as_secs_f64() * 1e9 / pixels);
        }
    }
    let [entropy, idct, color] = times.map(median);
    Ok(format!(
        "  isopel's stages, ns per pixel: entropy {entropy:.2}, dequantise + IDCT {idct:.2}, upsample + colour {color:.2}"
    ))
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
