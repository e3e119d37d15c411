//! Many files on many threads.

use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use isopel_core::cpu::CpuBackend;

use super::check::Failure;
use super::device::{Expected, check_on};
use super::tally::Tally;
use super::{Generated, MAX_PIXELS};
use crate::backends::ConformanceBackend;

/// Files whose requests go to a backend together.
const BATCH: usize = 32;
/// Bytes of pixels from which fewer go.
const BATCH_BYTES: usize = 32 << 20;
/// Files that wait for a backend that is slower than the CPU.
const WAITING: usize = 64;

/// What to check.
pub struct Check<'b> {
    /// The files' seed.
    pub seed: u64,
    /// Which of the seed's files.
    pub files: Range<u64>,
    /// Whether the CPU is checked by itself.
    pub cpu: bool,
    /// What is checked against the CPU.
    pub backends: &'b [Box<dyn ConformanceBackend>],
    /// The most pixels of a file; [`MAX_PIXELS`] is what the generator is made for.
    pub max_pixels: u64,
    /// Files that are made and checked at once; 0 for as many as there are cores.
    pub threads: usize,
    /// No file is begun later than this.
    pub time: Duration,
}

impl Check<'_> {
    /// The CPU alone, over the first files of a seed.
    pub fn first_files(seed: u64, count: u64) -> Self {
        Check {
            seed,
            files: 0..count,
            cpu: true,
            backends: &[],
            max_pixels: MAX_PIXELS,
            threads: 0,
            time: Duration::MAX,
        }
    }
}

/// Generates and checks the files, with a progress bar on a terminal. Failures come in the files' order.
pub fn run(check: &Check) -> (Tally, Vec<Failure>) {
    let threads = match check.threads {
        0 => thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    let steps = 1 + check.backends.len() as u64;
    let progress = ProgressBar::new(steps * check.files.end.saturating_sub(check.files.start));
    let style = ProgressStyle::with_template("{wide_bar} {percent} %, {elapsed} so far, {eta} left");
    progress.set_style(style.expect("the template is valid"));
    let results = Results { outcome: Mutex::default(), progress };
    let start = Instant::now();
    let (next, pool) = (AtomicU64::new(check.files.start), CpuBackend::new(threads));
    thread::scope(|scope| {
        let queues: Vec<SyncSender<Arc<Expected>>> = check
            .backends
            .iter()
            .map(|backend| {
                let (sender, receiver) = sync_channel(WAITING);
                scope.spawn(|| check_batches(&**backend, receiver, &results));
                sender
            })
            .collect();
        for _ in 0..threads {
            let queues = queues.clone();
            let (next, pool, results) = (&next, &pool, &results);
            scope.spawn(move || {
                loop {
                    if start.elapsed() > check.time {
                        break;
                    }
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if !check.files.contains(&index) {
                        break;
                    }
                    check.file(index, pool, &queues, results);
                }
            });
        }
    });
    results.progress.finish_and_clear();
    let (tally, mut failures) = results.outcome.into_inner().unwrap_or_else(PoisonError::into_inner);
    failures.sort_by_key(|failure| failure.index);
    (tally, failures)
}

impl Check<'_> {
    /// Checks a file on the CPU, and hands it to the other backends.
    fn file(&self, index: u64, pool: &CpuBackend, queues: &[SyncSender<Arc<Expected>>], results: &Results) {
        let file = Generated::new(self.seed, index, self.max_pixels);
        let mut tally = Tally::default();
        tally.count("files");
        tally.count(format!("files, {}", file.recipe.frame.process));
        tally.count(format!("files, {} restarts", if file.has_restarts() { "with" } else { "without" }));
        tally.add("files, their bytes", file.jpeg.len() as u64);
        tally.add("files, their pixels", file.size().pixels());
        let outcome = if self.cpu { file.check_on_cpu(pool) } else { Ok(Tally::default()) };
        match outcome {
            Ok(counts) => {
                tally += counts;
                if !queues.is_empty() {
                    let expected = Arc::new(Expected::of(file));
                    for queue in queues {
                        queue.send(expected.clone()).expect("a backend's thread runs until nobody sends");
                    }
                }
                results.add(1, tally, Vec::new());
            }
            // Others have nothing to be compared with.
            Err(failure) => results.add(1 + queues.len() as u64, tally, vec![failure]),
        }
    }
}

/// Checks files on a backend until no more come.
fn check_batches(backend: &dyn ConformanceBackend, queue: Receiver<Arc<Expected>>, results: &Results) {
    let mut files = queue.iter();
    loop {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while batch.len() < BATCH && bytes < BATCH_BYTES {
            let Some(file) = files.next() else { break };
            bytes += file.bytes();
            batch.push(file);
        }
        if batch.is_empty() {
            return;
        }
        let (tally, failures) = check_on(backend, &batch.iter().map(|file| &**file).collect::<Vec<_>>());
        results.add(batch.len() as u64, tally, failures);
    }
}

/// What all threads found so far.
struct Results {
    outcome: Mutex<(Tally, Vec<Failure>)>,
    progress: ProgressBar,
}

impl Results {
    fn add(&self, steps: u64, tally: Tally, failures: Vec<Failure>) {
        for failure in &failures {
            self.progress.suspend(|| eprintln!("{}", failure.message));
        }
        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        outcome.0 += tally;
        outcome.1.extend(failures);
        self.progress.inc(steps);
    }
}

/// Writes the files that failed to a folder, and beside each what was wrong.
///
/// # Errors
/// If the folder or a file can't be written.
pub fn keep(failures: &[Failure], seed: u64, folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for (index, failures) in failures.chunk_by(|a, b| a.index == b.index).map(|same| (same[0].index, same)) {
        let messages: String = failures.iter().map(|failure| format!("{}\n", failure.message)).collect();
        std::fs::write(folder.join(format!("{seed}-{index}.jpg")), &failures[0].jpeg)?;
        std::fs::write(folder.join(format!("{seed}-{index}.txt")), messages)?;
    }
    Ok(())
}
