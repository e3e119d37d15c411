//! What ran and what did not, and why.

use std::fmt;
use std::path::PathBuf;

use crate::backends::{self, RequireError, Required};

/// One line of the summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// A backend, or what else may be there or not.
    pub name: &'static str,
    /// Whether the tests used it.
    pub ran: bool,
    /// Why not, or what it was.
    pub reason: String,
}

/// Which backends and files the tests of this environment use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// One line per backend, one for the CUDA kernels on the CPU, and one for the real corpus.
    pub lines: Vec<Line>,
    /// A requirement of `ISOPEL_REQUIRE` that is not met.
    pub unmet: Option<RequireError>,
}

/// The folder of real files, or why there is none.
///
/// # Errors
/// A sentence for the summary.
pub fn real_corpus() -> Result<PathBuf, String> {
    let folder = std::env::var_os("ISOPEL_CORPUS").filter(|value| !value.is_empty());
    let folder = PathBuf::from(folder.ok_or("ISOPEL_CORPUS is not set")?);
    if folder.join("MANIFEST.tsv").is_file() {
        Ok(folder)
    } else {
        Err(format!("ISOPEL_CORPUS is {}, which has no MANIFEST.tsv", folder.display()))
    }
}

/// The CUDA kernels without a device, in isopel-cuda's own tests.
fn kernels_on_host() -> Line {
    let ran = cfg!(all(target_os = "linux", target_env = "gnu"));
    let reason = if ran { "its kernels on the CPU, each access checked" } else { "only on Linux with glibc" };
    Line { name: "cuda on host", ran, reason: reason.to_owned() }
}

impl Summary {
    /// Looks at backends, corpus and `ISOPEL_REQUIRE`.
    pub fn now() -> Summary {
        let backends = backends::all();
        let mut lines: Vec<Line> = backends
            .iter()
            .map(|presence| Line {
                name: presence.name,
                ran: presence.backend.is_ok(),
                reason: presence.backend.as_ref().map_or_else(String::clone, |backend| backend.describe()),
            })
            .collect();
        lines.push(kernels_on_host());
        let corpus = real_corpus();
        let mut unmet = Required::from_env().and_then(|required| required.check(&backends)).err();
        if let (Err(reason), Ok(required)) = (&corpus, Required::from_env())
            && required.contains(Required::CORPUS)
        {
            let absent = RequireError::Absent { name: Required::CORPUS, reason: reason.clone() };
            unmet = unmet.or(Some(absent));
        }
        lines.push(match corpus {
            Ok(folder) => Line { name: "real corpus", ran: true, reason: folder.display().to_string() },
            Err(reason) => Line { name: "real corpus", ran: false, reason },
        });
        Summary { lines, unmet }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<12} {:<8} reason", "backend", "ran")?;
        for line in &self.lines {
            let ran = if line.ran { "yes" } else { "not run" };
            writeln!(f, "{:<12} {:<8} {}", line.name, ran, line.reason)?;
        }
        if let Some(unmet) = &self.unmet {
            writeln!(f, "error: {unmet}")?;
        }
        Ok(())
    }
}
