//! The `isopel` command: decode, inspect, compare and time JPEG files.

#![forbid(unsafe_code)]

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
