//! What a processor does for files that a GPU decodes: parsing, planning and staging, each on one thread, no GPU needed.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use isopel_core::subsequences::StagedPlan;
use isopel_core::{Codestream, DecodeOptions, DecodePlan};

/// Steps of one repetition.
struct Times {
    parse: Duration,
    plan: Duration,
    stage: Duration,
}

/// Prints microseconds per file of each step: medians over the repetitions. A batch repeats the files, each in memory of
/// its own, so that they do not stay in the caches.
pub fn run(files: &[PathBuf], batch: usize, repetitions: usize) -> Result<(), String> {
    let files = files.iter().map(|file| crate::read(file)).collect::<Result<Vec<Vec<u8>>, String>>()?;
    let batch: Vec<Vec<u8>> = files.iter().cycle().take(batch.max(1)).cloned().collect();
    let bytes: usize = batch.iter().map(Vec::len).sum();
    println!("{} files of {} bytes on average", batch.len(), bytes / batch.len());
    let room = batch.iter().map(|file| 2 * file.len()).max().unwrap_or(0);
    let mut slots: Vec<Vec<u8>> = batch.iter().map(|_| vec![0; room]).collect();
    let times: Vec<Times> =
        (0..repetitions.max(1)).map(|_| once(&batch, &mut slots)).collect::<Result<Vec<Times>, String>>()?;
    let print = |name: &str, of: &dyn Fn(&Times) -> Duration| {
        let mut all: Vec<Duration> = times.iter().map(of).collect();
        all.sort();
        let micros = all[all.len() / 2].as_secs_f64() * 1e6 / batch.len() as f64;
        println!("  {name:24} {micros:8.2} us a file");
    };
    print("parse", &|times| times.parse);
    print("plan", &|times| times.plan);
    print("stage", &|times| times.stage);
    print("all of it", &|times| times.parse + times.plan + times.stage);
    Ok(())
}

fn once(files: &[Vec<u8>], slots: &mut [Vec<u8>]) -> Result<Times, String> {
    let options = DecodeOptions::default();
    let mut times = Times { parse: Duration::ZERO, plan: Duration::ZERO, stage: Duration::ZERO };
    for (file, slot) in files.iter().zip(slots) {
        let started = Instant::now();
        let codestream = Codestream::parse(file, &options.limits).map_err(|error| error.to_string())?;
        let parsed = Instant::now();
        let plan = DecodePlan::new(&codestream, &options).map_err(|error| error.to_string())?;
        let planned = Instant::now();
        StagedPlan::stage(&plan, 128, slot).map_err(|error| error.to_string())?;
        times.parse += parsed - started;
        times.plan += planned - parsed;
        times.stage += planned.elapsed();
    }
    Ok(times)
}
