//! `isopel backends`: which decoders this build has.

use std::io::{self, Write};

use clap::Args;

use isopel::cpu::CpuBackend;
use isopel::{Backend, BackendChoice, Decoder};

use super::verdict::{Stop, Verdict};

/// List the decoders that --backend can choose
#[derive(Debug, Args)]
#[command(after_help = "An exact backend gives libjpeg-turbo's pixels to the byte. 'threads' is how many images it \
    decodes at the same time.")]
pub(crate) struct BackendsArgs {}

pub(crate) fn run(_: &BackendsArgs) -> Result<Verdict, Stop> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{:<8} {:<10} {:<6} {:<8} note", "backend", "available", "exact", "threads")?;
    for choice in BackendChoice::ALL.into_iter().filter(|&choice| choice != BackendChoice::Auto) {
        match Decoder::with_backend(choice, 0) {
            Ok(decoder) => {
                let backend = CpuBackend::new(0);
                let capabilities = backend.capabilities();
                let (exact, threads) = (if capabilities.exact { "yes" } else { "no" }, capabilities.parallel_jobs);
                let default = if decoder.backend() == Decoder::new().backend() { "what auto takes" } else { "" };
                writeln!(stdout, "{choice:<8} {:<10} {exact:<6} {threads:<8} {default}", "yes")?;
            }
            Err(_) => writeln!(stdout, "{choice:<8} {:<10} {:<6} {:<8} not built in yet", "no", "-", "-")?,
        }
    }
    Ok(Verdict::Clean)
}
