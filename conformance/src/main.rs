//! `conformance summary`: which backends the conformance tests run on here, and which not and why.
//! `conformance generated`: random valid files through every backend.
//! `conformance golden`: such files and the hashes of their pixels, for decoders that run elsewhere.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand};
use isopel_conformance::generated::{self, Check, Device, LIST, MAX_PIXELS, NAMES, Report};
use isopel_conformance::summary::Summary;

#[derive(Parser)]
#[command(about = "What the conformance tests of isopel run on, and random files for all of it")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print a table of backends; fail if ISOPEL_REQUIRE names one that is absent
    Summary,
    /// Make random valid JPEG files and decode each in every way there is: on one and on several threads of the CPU, in
    /// pieces, regions with and without an index, at all scales, on GPUs, and with libjpeg-turbo if built with it. Fail
    /// if any two differ
    Generated(GeneratedArgs),
    /// Write the same files to a folder, with a list of the hashes of their pixels: golden.jsonl, of which each line is
    /// a file, options of the npm package, and what the CPU makes of them. The package's browser tests read it
    Golden(GoldenArgs),
}

#[derive(Args)]
struct GeneratedArgs {
    /// Files to check
    #[arg(long, default_value_t = 1000)]
    count: u64,
    /// Where all random numbers come from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The first file; with --count 1 a file that failed is checked again
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// What to check; what is named and not here is a failure. Default: all that is here
    #[arg(long, value_delimiter = ',', value_parser = PossibleValuesParser::new(NAMES))]
    backends: Option<Vec<String>>,
    /// Pixels of the largest file; larger ones are halved
    #[arg(long, default_value_t = MAX_PIXELS, value_parser = clap::value_parser!(u64).range(1..))]
    max_pixels: u64,
    /// Files that are checked at once; 0 for as many as there are cores
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Seconds after which no file is begun
    #[arg(long)]
    seconds: Option<u64>,
    /// Where files go that fail
    #[arg(long, value_name = "FOLDER", default_value = "failed-files")]
    keep: PathBuf,
}

#[derive(Args)]
struct GoldenArgs {
    /// Where the files go; the folder is made
    folder: PathBuf,
    /// Files to write
    #[arg(long, default_value_t = 300)]
    count: u64,
    /// Where all random numbers come from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The first file
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Pixels of the largest file; larger ones are halved
    #[arg(long, default_value_t = MAX_PIXELS, value_parser = clap::value_parser!(u64).range(1..))]
    max_pixels: u64,
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Summary => {
            let summary = Summary::now();
            print!("{summary}");
            if summary.unmet.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
        }
        Command::Generated(arguments) => generated(&arguments),
        Command::Golden(arguments) => golden(&arguments),
    }
}

fn golden(GoldenArgs { folder, count, seed, first, max_pixels }: &GoldenArgs) -> ExitCode {
    match generated::write_golden(folder, *seed, *first..first.saturating_add(*count), *max_pixels) {
        Ok(lines) => {
            println!("{count} files, {lines} requests: {}", folder.join(LIST).display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {}: {error}", folder.display());
            ExitCode::FAILURE
        }
    }
}

fn generated(arguments: &GeneratedArgs) -> ExitCode {
    let names = arguments.backends.clone().unwrap_or_else(|| NAMES.map(String::from).to_vec());
    let (mut backends, mut absent) = (Vec::new(), Vec::new());
    for Device { name, ways } in generated::devices(&names) {
        match ways {
            Ok(ways) => backends.extend(ways),
            Err(reason) => absent.push((name, reason)),
        }
    }
    let missing = absent.iter().any(|(name, _)| arguments.backends.iter().flatten().any(|wanted| wanted == name));
    let check = Check {
        seed: arguments.seed,
        files: arguments.first..arguments.first.saturating_add(arguments.count),
        cpu: names.iter().any(|name| name == NAMES[0]),
        backends: &backends,
        max_pixels: arguments.max_pixels,
        threads: arguments.threads,
        time: arguments.seconds.map_or(Duration::MAX, Duration::from_secs),
    };
    let start = Instant::now();
    let (tally, failures) = generated::run(&check);
    let elapsed = start.elapsed();
    print!("{}", Report { check: &check, tally: &tally, failures: &failures, absent: &absent, elapsed });
    if failures.is_empty() {
        return if missing { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    }
    match generated::keep(&failures, arguments.seed, &arguments.keep) {
        Ok(()) => eprintln!("error: the files that failed, and what was wrong, are in {}", arguments.keep.display()),
        Err(error) => eprintln!("error: {}: {error}", arguments.keep.display()),
    }
    ExitCode::FAILURE
}
