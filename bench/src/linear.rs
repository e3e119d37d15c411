//! What one image costs by its size, on each backend: from the bytes of a file in host memory to RGB in the backend's
//! own, and whether that grows linearly with the bytes.

mod fit;
mod ways;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use isopel_core::{Codestream, DecodeOptions, DecodePlan, FormatRequest, OrientationPolicy, PixelFormat, Route};

use crate::speed::median;
use fit::Line;
use ways::{Opened, Way};

/// Rounds at least, however long they take.
const MIN_ROUNDS: usize = 3;
/// A way decodes small files several times before the next has its turn, so that GPUs raise their clocks.
const TURN: Duration = Duration::from_millis(20);

/// A file, and what its pixels need.
struct File {
    jpeg: Arc<[u8]>,
    megapixels: f64,
    pixel_bytes: usize,
}

impl File {
    fn read(path: &Path) -> Result<File, String> {
        let jpeg: Arc<[u8]> = crate::read(path)?.into();
        let measure = || {
            let codestream = Codestream::parse(&jpeg, &options().limits)?;
            let len = DecodePlan::new(&codestream, &options())?.layout().required_len();
            Ok((codestream.stored_size().pixels() as f64 / 1e6, len))
        };
        let measured: Result<_, isopel_core::Error> = measure();
        let (megapixels, pixel_bytes) = measured.map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(File { jpeg, megapixels, pixel_bytes })
    }
}

/// Of all decodes here.
fn options() -> DecodeOptions {
    DecodeOptions::default().orientation(OrientationPolicy::Ignore).format(FormatRequest::Exactly(PixelFormat::Rgb8))
}

/// One line of a way's table.
struct Cost {
    bytes: usize,
    megapixels: f64,
    /// The median and the least of all decodes, in ms.
    median: f64,
    least: f64,
    decodes: usize,
    route: Route,
}

/// Prints a table of costs for each way to decode; files are measured for so many seconds each. Only ways whose
/// names begin with `only` are.
pub fn run(paths: &[PathBuf], seconds: f64, only: Option<&str>) -> Result<(), String> {
    let mut files = paths.iter().map(|path| File::read(path)).collect::<Result<Vec<_>, _>>()?;
    files.sort_by_key(|file| file.jpeg.len());
    let mut ways = ways::open_all(only);
    if ways.is_empty() {
        return Err(format!("no way to decode begins with {:?}", only.unwrap_or_default()));
    }
    let mut tables: Vec<Vec<Result<Cost, String>>> = ways.iter().map(|_| Vec::new()).collect();
    let progress = ProgressBar::new(files.len() as u64);
    for file in &files {
        for (costs, table) in measure(file, &mut ways, Duration::from_secs_f64(seconds)).into_iter().zip(&mut tables) {
            table.extend(costs);
        }
        progress.inc(1);
    }
    progress.finish_and_clear();
    println!("one image at a time, from bytes in host memory to RGB in the backend's memory; ways in turn\n");
    for (opened, table) in ways.iter().zip(&tables) {
        print(opened, &files, table);
    }
    Ok(())
}

/// The costs of a file by way; none for ways that are not there.
fn measure(file: &File, ways: &mut [Opened], time: Duration) -> Vec<Option<Result<Cost, String>>> {
    let mut times: Vec<Vec<f64>> = ways.iter().map(|_| Vec::new()).collect();
    // The first decode fills pools and caches.
    let mut routes: Vec<Option<Result<Route, String>>> = ways
        .iter_mut()
        .map(|opened| {
            let way = opened.way.as_mut().ok()?;
            Some(way.prepare(file).and_then(|()| way.decode(file)))
        })
        .collect();
    let start = Instant::now();
    for round in 0.. {
        if round >= MIN_ROUNDS && start.elapsed() >= time {
            break;
        }
        for ((opened, route), times) in ways.iter_mut().zip(&mut routes).zip(&mut times) {
            if let (Ok(way), Some(Ok(_))) = (&mut opened.way, &*route)
                && let Err(error) = take_turn(way.as_mut(), file, times)
            {
                *route = Some(Err(error));
            }
        }
    }
    let cost = |(route, times): (Option<Result<Route, String>>, Vec<f64>)| {
        Some(route?.map(|route| Cost {
            bytes: file.jpeg.len(),
            megapixels: file.megapixels,
            least: times.iter().copied().fold(f64::INFINITY, f64::min),
            decodes: times.len(),
            median: median(times),
            route,
        }))
    };
    routes.into_iter().zip(times).map(cost).collect()
}

/// Decodes once, or as often as there is time in a turn; adds the ms of each.
fn take_turn(way: &mut dyn Way, file: &File, times: &mut Vec<f64>) -> Result<(), String> {
    let turn = Instant::now();
    loop {
        let start = Instant::now();
        way.decode(file)?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
        if turn.elapsed() >= TURN {
            return Ok(());
        }
    }
}

fn print(opened: &Opened, files: &[File], table: &[Result<Cost, String>]) {
    match &opened.way {
        Ok(way) => println!("{}: {}", opened.name, way.describe()),
        Err(reason) => println!("{}: not run: {reason}\n", opened.name),
    }
    if table.is_empty() {
        return;
    }
    let costs: Vec<&Cost> = table.iter().flatten().collect();
    let points: Vec<(f64, f64)> = costs.iter().map(|cost| (cost.bytes as f64, cost.median)).collect();
    let line = Line::through(&points);
    println!("      MP       bytes         ms      least   ns/byte  ns/pixel  decodes  off the line  route");
    for (file, cost) in files.iter().zip(table) {
        match cost {
            Ok(cost) => println!(
                "{:8.2} {:11} {:10.3} {:10.3} {:9.2} {:9.3} {:8} {:>13}  {}",
                cost.megapixels,
                cost.bytes,
                cost.median,
                cost.least,
                cost.median * 1e6 / cost.bytes as f64,
                cost.median / cost.megapixels,
                cost.decodes,
                line.map_or("-".to_string(), |line| format!(
                    "{:+.1} %",
                    line.deviation(cost.bytes as f64, cost.median)
                )),
                cost.route
            ),
            Err(error) => println!("{:8.2} {:11} {error}", file.megapixels, file.jpeg.len()),
        }
    }
    if let Some(Line { start, slope }) = line {
        println!("line: {start:.3} ms + {:.3} ns per byte", slope * 1e6);
    }
    println!();
}
