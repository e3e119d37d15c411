//! How a command ended: exit codes, and errors in plain words.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use isopel::{BackendUnavailable, Error, PixelFormat, Report, Warning};

use super::picture_file::Container;

/// What came of one file or of all; the greatest of many counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    Clean,
    Warned,
    Failed,
}

impl Verdict {
    pub(crate) fn of_warnings(warnings: &[Warning]) -> Verdict {
        if warnings.is_empty() { Verdict::Clean } else { Verdict::Warned }
    }
}

impl From<Verdict> for ExitCode {
    fn from(verdict: Verdict) -> ExitCode {
        match verdict {
            Verdict::Clean => ExitCode::SUCCESS,
            Verdict::Failed => ExitCode::from(1),
            Verdict::Warned => ExitCode::from(2),
        }
    }
}

/// Why a command stopped as a whole.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Stop {
    /// The options contradict each other or the files.
    #[error("error: {0}\n\nFor more information, try '--help'.")]
    Usage(String),
    /// What the command prints could not be printed.
    #[error("error: can't write to the standard output: {0}")]
    Output(#[from] io::Error),
    /// The decoder asked for is not there.
    #[error("error: {}", with_sources(.0))]
    Backend(#[from] BackendUnavailable),
    /// The operating system did not give what the command needs.
    #[error("error: can't start threads: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
}

/// Why one file failed; the others go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("{0}{hint}", hint = command_line_hint(.0))]
    Decode(#[from] Error),
    #[error("can't read it: {0}")]
    Read(io::Error),
    #[error("can't write {path}: {error}", path = .path.display())]
    Write { path: PathBuf, error: io::Error },
    #[error("{}", container.refusal(*.format))]
    Unwritable { container: Container, format: PixelFormat },
    #[error(
        "{path} is already made from {other}; decode one of them into another folder",
        path = .path.display()
    )]
    SameOutput { path: PathBuf, other: String },
    #[error("there are no JPEG files in this folder (.jpg, .jpeg, .jpe, .jfif, .mpo)")]
    NoJpegFiles,
}

impl Failure {
    /// A short stable name, as [`Error::code`].
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Failure::Decode(error) => error.code(),
            Failure::Read(_) => "cannot-read",
            Failure::Write { .. } => "cannot-write",
            Failure::Unwritable { .. } => "format-not-in-container",
            Failure::SameOutput { .. } => "same-output",
            Failure::NoJpegFiles => "no-jpeg-files",
        }
    }

    /// The byte offset in the file, where there is one.
    pub(crate) fn offset(&self) -> Option<usize> {
        match self {
            Failure::Decode(error) => error.offset(),
            _ => None,
        }
    }

    /// The line on stderr.
    pub(crate) fn line(&self, label: &str) -> String {
        format!("{label}: error[{}]: {self}", self.code())
    }

    pub(crate) fn to_json(&self) -> serde_json::Value {
        serde_json::json!({ "code": self.code(), "message": self.to_string(), "offset": self.offset() })
    }
}

/// The library's messages name its own types; this adds the option that is meant.
fn command_line_hint(error: &Error) -> String {
    let option = match error.code() {
        "limit-pixels" => "--max-pixels",
        "limit-memory" => "--max-memory",
        "limit-work" => "--max-work",
        "limit-metadata" | "limit-pixels-per-byte" => "--no-limits",
        "damaged" => "leave out --strict",
        _ => return String::new(),
    };
    format!(" (on the command line: {option})")
}

/// An error and what caused it, in one line.
pub(crate) fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text += &format!(": {error}");
        source = error.source();
    }
    text
}

/// The lines on stderr for one file's warnings.
pub(crate) fn warning_lines(label: &str, warnings: &[Warning]) -> Vec<String> {
    warnings.iter().map(|warning| format!("{label}: warning: {warning}")).collect()
}

/// The lines on stderr for a decoded file: its warnings and, if it is damaged, how much of it is good.
pub(crate) fn report_lines(label: &str, report: &Report) -> Vec<String> {
    let mut lines = warning_lines(label, &report.warnings);
    if report.is_damaged() {
        let (valid, rows) = (report.valid_rows, report.region.rect().height);
        let order = match report.orientation.to_exif() {
            1 => "",
            _ => " (counted as stored, before the orientation)",
        };
        lines.push(format!("{label}: warning: valid rows: {valid} of {rows}{order}"));
    }
    lines
}

pub(crate) fn warnings_to_json(warnings: &[Warning]) -> serde_json::Value {
    let to_json = |warning: &Warning| serde_json::json!({ "message": warning.to_string(), "offset": warning.offset(), "damage": warning.is_damage() });
    warnings.iter().map(to_json).collect()
}
