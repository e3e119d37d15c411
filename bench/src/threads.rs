//! Threads: one image shared by so many, and as many images with one thread each; into memory that was there before.

use std::path::Path;
use std::time::Instant;

use isopel_core::cpu::{self, CpuBackend, CpuFence, HostBuffer, HostTarget};
use isopel_core::{Backend, Codestream, DecodeOptions, DecodePlan, FormatRequest, Job, OrientationPolicy};

use crate::speed::median;

pub fn run(file: &Path, counts: &[usize], rounds: usize) -> Result<(), String> {
    let bytes = crate::read(file)?;
    let options = DecodeOptions::default().orientation(OrientationPolicy::Ignore).format(FormatRequest::Source);
    let codestream = Codestream::parse(&bytes, &options.limits).map_err(|error| error.to_string())?;
    let plan = DecodePlan::new(&codestream, &options).map_err(|error| error.to_string())?;
    let expected = cpu::decode(&plan).map_err(|error| error.to_string())?.pixels;
    let pools: Vec<CpuBackend> = counts.iter().map(|&count| CpuBackend::new(count)).collect();

    // As in a program that uses its memory again: nobody waits for the kernel to clear pages.
    let mut pixels = vec![1; expected.len()];
    // Seconds by number of threads and round, of one image and of a batch.
    let mut one = vec![Vec::new(); counts.len()];
    let mut batch = one.clone();
    for _ in 0..rounds {
        for (index, (pool, &count)) in pools.iter().zip(counts).enumerate() {
            let start = Instant::now();
            let decoded = pool.install(|| cpu::decode_parallel_into(&plan, plan.layout(), &mut pixels));
            one[index].push(start.elapsed().as_secs_f64());
            decoded.map_err(|error| error.to_string())?;
            if pixels != expected {
                return Err(format!("{count} threads give other pixels than one"));
            }
            batch[index].push(seconds_of_batch(pool, count, &bytes, &options, expected.len())?);
        }
    }
    println!("{}: {} megapixels, {rounds} rounds, medians", file.display(), plan.file_pixels() as f64 / 1e6);
    let (alone, single) = (median(one[0].clone()), median(batch[0].clone()));
    for (index, count) in counts.iter().enumerate() {
        let (of_one, of_batch) = (median(one[index].clone()), median(batch[index].clone()));
        println!(
            "  {count:3} threads: one image {:7.2} ms, {:5.2} x; {count:3} images at once {:7.2} ms each, {:5.2} x",
            1e3 * of_one,
            alone / of_one,
            1e3 * of_batch,
            single / of_batch
        );
    }
    Ok(())
}

/// Seconds for each of `count` images that are decoded at once, into memory that was there before.
fn seconds_of_batch(
    pool: &CpuBackend,
    count: usize,
    bytes: &[u8],
    options: &DecodeOptions,
    len: usize,
) -> Result<f64, String> {
    // Several for each thread, and at least two: a single one would have all threads.
    let images = (2 * count).max(2);
    let targets: Vec<HostBuffer> = (0..count).map(|_| HostBuffer::new(vec![1; len])).collect();
    let jobs = (0..images).map(|index| Job {
        jpeg: bytes.to_vec().into(),
        options: *options,
        target: HostTarget::packed(targets[index % count].clone()),
    });
    let jobs = jobs.collect();
    let start = Instant::now();
    let outcomes = pool.submit(jobs, vec![CpuFence::finished()]).wait();
    let seconds = start.elapsed().as_secs_f64();
    match outcomes.into_iter().find_map(|outcome| outcome.result.err()) {
        Some(error) => Err(error.to_string()),
        None => Ok(seconds / images as f64),
    }
}
