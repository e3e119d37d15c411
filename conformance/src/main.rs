//! `conformance summary`: which backends the conformance tests run on here, and which not and why.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use isopel_conformance::summary::Summary;

#[derive(Parser)]
#[command(about = "What the conformance tests of isopel run on")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print a table of backends; fail if ISOPEL_REQUIRE names one that is absent
    Summary,
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Summary => {
            let summary = Summary::now();
            print!("{summary}");
            if summary.unmet.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
        }
    }
}
