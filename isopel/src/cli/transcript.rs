//! What a command says about files that finish in any order, printed in the order of the files.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard};

use indicatif::{ProgressBar, ProgressStyle};

use super::verdict::Stop;

/// What one file has to say.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    /// Lines for the standard output.
    pub(crate) out: Vec<String>,
    /// Lines for stderr.
    pub(crate) err: Vec<String>,
}

/// Prints entries as soon as all before them are printed, above a progress bar. The bar shows only on a terminal.
#[derive(Debug)]
pub(crate) struct Transcript {
    bar: ProgressBar,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    next: usize,
    waiting: BTreeMap<usize, Entry>,
    error: Option<io::Error>,
}

impl Transcript {
    /// For so many files; there is a bar if there are several.
    pub(crate) fn new(files: usize) -> Transcript {
        let bar = if files > 1 { progress_bar(files as u64, "files") } else { ProgressBar::hidden() };
        Transcript { bar, state: Mutex::default() }
    }

    /// Takes the entry of the file with this index; each index comes once.
    pub(crate) fn put(&self, index: usize, entry: Entry) {
        let mut state = self.lock();
        state.waiting.insert(index, entry);
        let mut ready = Vec::new();
        while let Some(entry) = {
            let next = state.next;
            state.waiting.remove(&next)
        } {
            state.next += 1;
            ready.push(entry);
        }
        if ready.iter().any(|entry| !entry.out.is_empty() || !entry.err.is_empty()) {
            for entry in &ready {
                let printed = self.bar.suspend(|| print(entry));
                // Whoever reads the output may stop; the files still have to be done.
                let failed = printed.err().filter(|error| error.kind() != io::ErrorKind::BrokenPipe);
                state.error = state.error.take().or(failed);
            }
        }
        self.bar.inc(1);
    }

    /// Removes the bar.
    ///
    /// # Errors
    /// The first error in printing, if there was one.
    pub(crate) fn finish(self) -> Result<(), Stop> {
        self.bar.finish_and_clear();
        let state = self.state.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        state.error.map_or(Ok(()), |error| Err(error.into()))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

fn print(entry: &Entry) -> io::Result<()> {
    let mut stderr = io::stderr().lock();
    for line in &entry.err {
        // Nobody is left to be told when stderr is closed.
        let _ = writeln!(stderr, "{line}");
    }
    let mut stdout = io::stdout().lock();
    entry.out.iter().try_for_each(|line| writeln!(stdout, "{line}"))
}

/// A bar on stderr, which shows only on a terminal.
pub(crate) fn progress_bar(length: u64, unit: &'static str) -> ProgressBar {
    let template = format!("{{msg}} {{wide_bar}} {{pos}}/{{len}} {unit}, {{eta}} left");
    let style = ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(length).with_style(style)
}
