//! `isopel bench`: decoding speed on one thread, beside an independent decoder, and of other backends beside the CPU.

mod batches;

use std::hint::black_box;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::{Value, json};

use isopel::cpu::{self, StageTimes};
use isopel::{BackendChoice, Codestream, DecodeOptions, DecodePlan, Error, Scale, Size};

use super::device::AdapterArgs;
use super::referee;
use super::request::{LimitArgs, backend_parser, scale_parser};
use super::source::{BadInput, expand};
use super::transcript::progress_bar;
use super::verdict::{Failure, Stop, Verdict};
use batches::{BatchTimes, Contest};

const HELP: &str = "Examples:
  isopel bench photo.jpg
  isopel bench pictures/ --rounds 20 --json
  isopel bench photo.jpg --scale 1/8
  isopel bench photo.jpg --backend wgpu

How it is measured: everything happens in this process on one thread, with the file in memory. Each round decodes the \
file once with isopel and once with zune-jpeg, in alternating order, so that both see the same machine; the figures are \
medians over the rounds, after one round that is not counted. Time includes parsing and allocating the pixels, as gray8 \
for one component and rgb8 for others. MP/s is millions of pixels of the file per second, also with --scale; zune-jpeg has no scales and is left out then. 'ratio' is the median over \
the rounds of zune-jpeg's time divided by isopel's: above 1, isopel is faster.

With --backend wgpu each round also decodes the file alone and 16 times in one batch on the GPU, and 16 times in one \
batch on the CPU. All three are what a program gets from the library: entropy decoding on all cores of the CPU, and \
the pixels in the host's memory, with the copies up and the read-back in the time. Pixels that stay on the GPU are not \
measured here. Opening the device is not counted.

Exit codes:
  0  isopel decoded everything
  1  isopel could not decode a file, a file could not be read, or the command line is wrong";

/// With --seconds, never fewer than this, or a median says nothing.
const FEWEST_ROUNDS: usize = 3;

/// Measure decoding speed on one thread, beside zune-jpeg, and of a GPU beside the CPU
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct BenchArgs {
    /// JPEG files, folders to search through, or - for the standard input
    #[arg(value_name = "IN", required = true)]
    inputs: Vec<PathBuf>,
    /// Time to spend on each file, in seconds; at least 3 rounds are made
    #[arg(long, value_name = "SECONDS", default_value_t = 3.0, value_parser = parse_seconds)]
    seconds: f64,
    /// Rounds per file, instead of --seconds
    #[arg(long, value_name = "N", conflicts_with = "seconds", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    rounds: Option<u64>,
    /// Decode at this fraction of the size
    #[arg(long, value_name = "FRACTION", default_value = "1", value_parser = scale_parser())]
    scale: Scale,
    /// The backend to measure besides: wgpu adds single images and batches on the GPU
    #[arg(long, default_value = "cpu", value_name = "BACKEND", value_parser = backend_parser())]
    backend: BackendChoice,
    #[command(flatten)]
    adapter: AdapterArgs,
    /// Print JSON Lines: one object per file
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    limits: LimitArgs,
}

fn parse_seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.0..=86_400.0).contains(seconds));
    seconds.ok_or_else(|| "the time is a number of seconds from 0 to 86400".into())
}

pub(crate) fn run(args: &BenchArgs) -> Result<Verdict, Stop> {
    let contest = Contest::open(args.backend, &args.adapter)?;
    if cfg!(debug_assertions) {
        let _ = writeln!(io::stderr(), "isopel: warning: this is a debug build; its figures mean nothing");
    }
    let mut verdict = Verdict::Clean;
    let mut stdout = io::stdout();
    let mut ratios = Vec::new();
    let sources = expand(&args.inputs);
    let files = sources.len();
    for source in sources {
        let measured = match source {
            Ok(source) => {
                match source.read().and_then(|bytes| measure(args, contest.as_ref(), &source.label, &bytes)) {
                    Ok(timings) => Ok((source.label, timings)),
                    Err(failure) => Err((source.label, failure)),
                }
            }
            Err(BadInput { label, failure }) => Err((label, failure)),
        };
        match measured {
            Ok((label, timings)) => {
                ratios.extend(timings.ratio());
                let text = if args.json { timings.to_json(&label).to_string() } else { timings.to_table(&label) };
                writeln!(stdout, "{text}")?;
            }
            Err((label, failure)) => {
                if args.json {
                    writeln!(stdout, "{}", json!({ "file": label, "error": failure.to_json() }))?;
                }
                let _ = writeln!(io::stderr(), "{}", failure.line(&label));
                verdict = Verdict::Failed;
            }
        }
    }
    if files > 1 && !ratios.is_empty() && !args.json {
        let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
        writeln!(stdout, "geometric mean of the ratios of {} files: {mean:.2}", ratios.len())?;
    }
    Ok(verdict)
}

/// The times of one file, one element a round.
struct Timings {
    size: Size,
    scale: Scale,
    format: &'static str,
    isopel: Vec<(Duration, StageTimes)>,
    /// Why the referee failed, if it did.
    referee: Result<Vec<Duration>, String>,
    /// Of the backend to measure besides, if there is one.
    batches: Option<BatchTimes>,
}

fn measure(args: &BenchArgs, contest: Option<&Contest>, label: &str, bytes: &[u8]) -> Result<Timings, Failure> {
    let limits = args.limits.limits();
    let header = Codestream::parse_header(bytes, &limits)?;
    let format = referee::shared_format(header.frame().components.len());
    let options = referee::shared_options(format).limits(limits).scale(args.scale);
    let mut timings = Timings {
        size: header.stored_size(),
        scale: args.scale,
        format: format.name(),
        isopel: Vec::new(),
        referee: Ok(Vec::new()),
        batches: contest.map(|contest| contest.warm_up(bytes, &options)).transpose()?,
    };
    // Not counted: the first time pays for page faults and cold caches.
    time_isopel(bytes, &options)?;
    if args.scale != Scale::Full {
        timings.referee = Err("it has no scales".into());
    } else if let Err(reason) = referee::decode(bytes, format) {
        timings.referee = Err(reason);
    }

    let bar = progress_bar(
        args.rounds.unwrap_or((args.seconds * 1000.0) as u64),
        match args.rounds {
            Some(_) => "rounds",
            None => "ms",
        },
    );
    bar.set_message(label.to_owned());
    let start = Instant::now();
    let mut round = 0;
    loop {
        let done = match args.rounds {
            Some(rounds) => round as u64 >= rounds,
            None => round >= FEWEST_ROUNDS && start.elapsed().as_secs_f64() >= args.seconds,
        };
        if done {
            break;
        }
        // Who comes first finds other things in the caches.
        if round % 2 == 0 {
            timings.isopel.push(time_isopel(bytes, &options)?);
        }
        if let Ok(times) = &mut timings.referee {
            let start = Instant::now();
            let opinion = black_box(referee::decode(black_box(bytes), format));
            times.push(start.elapsed());
            drop(opinion);
        }
        if round % 2 == 1 {
            timings.isopel.push(time_isopel(bytes, &options)?);
        }
        if let (Some(contest), Some(times)) = (contest, &mut timings.batches) {
            contest.round(bytes, &options, times)?;
        }
        round += 1;
        bar.set_position(if args.rounds.is_some() { round as u64 } else { start.elapsed().as_millis() as u64 });
    }
    bar.finish_and_clear();
    Ok(timings)
}

fn time_isopel(bytes: &[u8], options: &DecodeOptions) -> Result<(Duration, StageTimes), Error> {
    let start = Instant::now();
    let codestream = Codestream::parse(black_box(bytes), &options.limits)?;
    let plan = DecodePlan::new(&codestream, options)?;
    let (image, stages) = black_box(cpu::decode_timed(&plan)?);
    let time = start.elapsed();
    drop(image);
    Ok((time, stages))
}

impl Timings {
    fn stage(&self, time: fn(&(Duration, StageTimes)) -> Duration) -> f64 {
        median(self.isopel.iter().map(|round| time(round).as_secs_f64()).collect())
    }

    fn stages(&self) -> [(&'static str, f64); 4] {
        [
            ("entropy", self.stage(|(_, stages)| stages.entropy)),
            ("dequant_idct", self.stage(|(_, stages)| stages.dequant_idct)),
            ("upsample_color", self.stage(|(_, stages)| stages.upsample_color)),
            ("other", self.stage(|(time, stages)| time.saturating_sub(sum(stages)))),
        ]
    }

    fn isopel(&self) -> f64 {
        self.stage(|(time, _)| *time)
    }

    fn referee(&self) -> Result<f64, &str> {
        let times = self.referee.as_ref().map_err(String::as_str)?;
        Ok(median(times.iter().map(Duration::as_secs_f64).collect()))
    }

    /// Median over the rounds of the referee's time divided by isopel's.
    fn ratio(&self) -> Option<f64> {
        let times = self.referee.as_ref().ok()?;
        let ratios = times.iter().zip(&self.isopel).map(|(referee, (isopel, _))| referee.div_duration_f64(*isopel));
        Some(median(ratios.collect()))
    }

    fn to_table(&self, label: &str) -> String {
        let (size, format, rounds) = (self.size, self.format, self.isopel.len());
        let rounds = if rounds == 1 { "1 round".to_owned() } else { format!("{rounds} rounds") };
        let scale = if self.scale == Scale::Full { String::new() } else { format!(" at {}", self.scale) };
        let mut table = format!("{label}: {size}{scale} {format}, {rounds}\n");
        let mut row = |name: &str, seconds: f64| {
            table += &format!("  {name:<18} {:>9.3} ms {:>9.1} MP/s\n", seconds * 1e3, self.rate(seconds));
        };
        row("isopel", self.isopel());
        for (name, seconds) in self.stages() {
            row(&format!("  {name}"), seconds);
        }
        match self.referee() {
            Ok(seconds) => row(referee::NAME, seconds),
            Err(reason) => table += &format!("  {:<18} referee failed: {reason}\n", referee::NAME),
        }
        if let Some(ratio) = self.ratio() {
            table += &format!("  {:<18} {ratio:>9.2}\n", "ratio");
        }
        if let Some(batches) = &self.batches {
            table += &batches.to_table();
        }
        table.pop();
        table
    }

    fn to_json(&self, label: &str) -> Value {
        let figures = |seconds: f64| json!({ "median_ms": seconds * 1e3, "megapixels_per_second": self.rate(seconds) });
        let stages: serde_json::Map<_, _> =
            self.stages().into_iter().map(|(name, seconds)| (name.to_owned(), figures(seconds))).collect();
        let mut isopel = figures(self.isopel());
        isopel["stages"] = stages.into();
        json!({
            "file": label,
            "width": self.size.width,
            "height": self.size.height,
            "scale": self.scale.name(),
            "format": self.format,
            "rounds": self.isopel.len(),
            "isopel": isopel,
            "zune_jpeg": self.referee().map_or_else(|reason| json!({ "referee_error": reason }), figures),
            "median_ratio": self.ratio(),
            "batches": self.batches.as_ref().map(BatchTimes::to_json),
            "debug_build": cfg!(debug_assertions),
        })
    }

    /// Millions of pixels per second.
    fn rate(&self, seconds: f64) -> f64 {
        if seconds > 0.0 { self.size.pixels() as f64 / seconds / 1e6 } else { 0.0 }
    }
}

fn sum(stages: &StageTimes) -> Duration {
    stages.entropy + stages.dequant_idct + stages.upsample_color
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        len if len % 2 == 1 => values[len / 2],
        len => (values[len / 2 - 1] + values[len / 2]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(vec![]), 0.0);
    }
}
