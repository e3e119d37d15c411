//! A smoke run of all fuzz targets on stable Rust: mutated corpus files, reproducible from a seed.

#![forbid(unsafe_code)]

use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
#[cfg(feature = "wgpu")]
use isopel_fuzz_checks::gpu_equals_cpu;
use isopel_fuzz_checks::{
    Random, decode, index_changes_nothing, parse, pieces_equal_whole, plan, region_equals_crop,
    subsequences_equal_whole,
};

/// Runs every fuzz check over randomly mutated JPEG files.
///
/// Each input is one corpus file with a few mutations; input number N of a seed is always the same, so a
/// finding repeats with `--seed S --first N --inputs 1`.
#[derive(Parser)]
struct Arguments {
    /// Folders that are searched for .jpg files.
    #[arg(required = true)]
    corpus: Vec<PathBuf>,
    /// How many inputs; each is parsed, planned, decoded and compared with a region.
    #[arg(long, default_value_t = 200_000)]
    inputs: u64,
    /// Number of the first input.
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Seed of all inputs. Default: taken from the clock, and printed.
    #[arg(long)]
    seed: Option<u64>,
    /// Corpus files above this many bytes are left out, to have many inputs a second.
    #[arg(long, default_value_t = 8192)]
    max_file: u64,
}

/// A check by the name of its fuzz target, and which inputs it gets: one of this many.
type Check = (&'static str, fn(&[u8]), u64);

const CHECKS: &[Check] = &[
    ("parse", parse, 1),
    ("plan", plan, 1),
    ("decode", decode, 1),
    ("region_equals_crop", region_equals_crop, 1),
    ("pieces_equal_whole", pieces_equal_whole, 1),
    ("index_changes_nothing", index_changes_nothing, 1),
    ("subsequences_equal_whole", subsequences_equal_whole, 1),
    // Milliseconds each, where the driver computes on the CPU.
    #[cfg(feature = "wgpu")]
    ("gpu_equals_cpu", gpu_equals_cpu, 50),
];

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut files = Vec::new();
    arguments.corpus.iter().for_each(|folder| find_files(folder, arguments.max_file, &mut files));
    files.sort();
    let corpus: Vec<Vec<u8>> = files.iter().filter_map(|file| std::fs::read(file).ok()).collect();
    if corpus.is_empty() {
        eprintln!("error: no .jpg files of at most {} bytes in the given folders", arguments.max_file);
        return ExitCode::FAILURE;
    }
    let seed = arguments.seed.unwrap_or_else(clock_seed);
    println!("fuzz smoke: seed {seed}, {} inputs from {} files", arguments.inputs, corpus.len());

    let progress = ProgressBar::new(arguments.inputs).with_style(
        ProgressStyle::with_template("{bar:40} {pos}/{len} inputs, {eta} left").expect("the template is valid"),
    );
    let next = AtomicU64::new(arguments.first);
    let end = arguments.first + arguments.inputs;
    let failures = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= end {
                        break;
                    }
                    let input = mutated(&corpus, seed, number);
                    for &(name, check, one_of) in CHECKS {
                        if number.is_multiple_of(one_of) && catch_unwind(|| check(&input)).is_err() {
                            failures.fetch_add(1, Ordering::Relaxed);
                            progress.suspend(|| report(name, seed, number, &input));
                        }
                    }
                    progress.inc(1);
                }
            });
        }
    });
    progress.finish_and_clear();
    let failures = failures.into_inner();
    println!("fuzz smoke: {} inputs through {} checks, {failures} failures", arguments.inputs, CHECKS.len());
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn clock_seed() -> u64 {
    std::time::UNIX_EPOCH.elapsed().map_or(1, |time| time.as_nanos() as u64)
}

fn find_files(folder: &Path, max_file: u64, files: &mut Vec<PathBuf>) {
    let Ok(entries) = folder.read_dir() else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            find_files(&path, max_file, files);
        } else if path.extension().is_some_and(|extension| extension == "jpg")
            && path.metadata().is_ok_and(|data| data.len() <= max_file)
        {
            files.push(path);
        }
    }
}

/// Input `number` of `seed`: a corpus file with zero to eight mutations.
fn mutated(corpus: &[Vec<u8>], seed: u64, number: u64) -> Vec<u8> {
    let mut random = Random::new(seed ^ number.wrapping_mul(0xD6E8_FEB8_6659_FD93));
    let mut bytes = corpus[random.below(corpus.len() as u64) as usize].clone();
    for _ in 0..random.below(9) {
        if bytes.is_empty() {
            break;
        }
        let at = random.below(bytes.len() as u64) as usize;
        match random.below(8) {
            0 => bytes[at] = random.number() as u8,
            1 => bytes[at] ^= 1 << random.below(8),
            2 => bytes.truncate(at),
            // Markers are where parsers go wrong.
            3 => bytes.splice(at..at, [0xFF, 0xC0 + random.below(64) as u8]).for_each(drop),
            4 => {
                let end = (at + random.below(32) as usize).min(bytes.len());
                bytes.drain(at..end);
            }
            5 => {
                let end = (at + random.below(64) as usize).min(bytes.len());
                let copy = bytes[at..end].to_vec();
                let to = random.below(bytes.len() as u64) as usize;
                bytes.splice(to..to, copy);
            }
            6 => {
                let other = &corpus[random.below(corpus.len() as u64) as usize];
                let from = random.below(other.len().max(1) as u64) as usize;
                bytes.truncate(at);
                bytes.extend_from_slice(other.get(from..).unwrap_or_default());
            }
            _ => {
                let end = (at + random.below(16) as usize).min(bytes.len());
                bytes[at..end].fill(0);
            }
        }
    }
    bytes
}

fn report(check: &str, seed: u64, number: u64, input: &[u8]) {
    let file = std::env::temp_dir().join(format!("isopel-fuzz-{check}-{number}.jpg"));
    let kept = match std::fs::write(&file, input) {
        Ok(()) => format!("input kept as {}", file.display()),
        Err(error) => format!("input could not be kept: {error}"),
    };
    eprintln!("FAILED {check}: --seed {seed} --first {number} --inputs 1; {kept}");
}
