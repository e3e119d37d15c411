//! What a run over generated files says at its end.

use std::fmt;
use std::time::Duration;

use isopel_core::cpu;

use super::check::Failure;
use super::device::{FIT, FLAGGED};
use super::run::Check;
use super::tally::Tally;
use crate::backends::{self, ConformanceBackend};

/// What files can be checked on: the CPU by itself, and others against it. nvJPEG's pixels are not the CPU's, so it is
/// none of them.
pub const NAMES: [&str; 3] = ["cpu", "wgpu", "cuda"];

/// A name of [`NAMES`] besides the CPU, and the ways to decode on it, or why there are none.
pub struct Device {
    /// The name.
    pub name: &'static str,
    /// The ways, each a backend of its own.
    pub ways: Result<Vec<Box<dyn ConformanceBackend>>, String>,
}

/// Opens the devices that these names ask for.
pub fn devices(names: &[String]) -> Vec<Device> {
    let open = |name: &'static str| {
        let ways = match name {
            _ if !names.iter().any(|wanted| wanted == name) => Err("not asked for".to_owned()),
            "wgpu" => backends::wgpu_both_ways(),
            _ => backends::cuda_alone().map(|backend| vec![backend]),
        };
        Device { name, ways }
    };
    NAMES[1..].iter().copied().map(open).collect()
}

/// What was checked, what came of it, and what was not run.
pub struct Report<'r> {
    /// What was to be checked.
    pub check: &'r Check<'r>,
    /// How often what was checked.
    pub tally: &'r Tally,
    /// Files that failed.
    pub failures: &'r [Failure],
    /// Devices that were not there, and why.
    pub absent: &'r [(&'static str, String)],
    /// How long it took.
    pub elapsed: Duration,
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { check, tally, failures, absent, elapsed } = self;
        for (what, number) in &tally.0 {
            writeln!(f, "{number:>14}  {what}")?;
        }
        if check.cpu {
            writeln!(f, "ran      cpu: {}", cpu::kernels())?;
        } else {
            writeln!(f, "not run  cpu by itself: not asked for")?;
        }
        match (check.cpu, cfg!(feature = "libjpeg-turbo")) {
            (true, true) => writeln!(f, "ran      libjpeg-turbo, as the CPU's referee")?,
            (true, false) => writeln!(f, "not run  libjpeg-turbo: built without the feature libjpeg-turbo")?,
            (false, _) => writeln!(f, "not run  libjpeg-turbo: it is compared with the CPU")?,
        }
        for backend in check.backends {
            let name = backend.name();
            writeln!(f, "ran      {name}: {}", backend.describe())?;
            let (fit, flagged) = (tally.get(&format!("{name}: {FIT}")), tally.get(&format!("{name}: {FLAGGED}")));
            if fit > 0 {
                let share = 100.0 * flagged as f64 / fit as f64;
                writeln!(f, "flagged  {name}: {flagged} of {fit} decodes that are fit for it, {share:.3} %")?;
            }
        }
        for (name, reason) in *absent {
            writeln!(f, "not run  {name}: {reason}")?;
        }
        let mut failed: Vec<u64> = failures.iter().map(|failure| failure.index).collect();
        failed.dedup();
        let (count, wanted) = (tally.get("files"), check.files.end.saturating_sub(check.files.start));
        if count < wanted {
            writeln!(f, "not run  {} files: the time was over", wanted - count)?;
        }
        let (seed, max_pixels) = (check.seed, check.max_pixels);
        write!(f, "{} of {count} files failed: seed {seed}, files from {}", failed.len(), check.files.start)?;
        writeln!(f, ", at most {max_pixels} pixels, {:.1} s", elapsed.as_secs_f64())
    }
}
