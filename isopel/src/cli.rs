//! The command line: arguments to one of the commands, and what came of it to an exit code.

mod backends;
mod bench;
mod compare;
mod decode;
mod destination;
mod device;
mod difference;
mod info;
mod picture_file;
mod referee;
mod request;
mod source;
mod transcript;
mod verdict;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use verdict::{Stop, Verdict};

const EXIT_CODES: &str = "Exit codes:
  0  everything was done
  2  everything was done, but at least one file has warnings
  1  an error: a file could not be read, decoded or written, or the command line is wrong

Warnings and errors are printed on stderr, one a line: 'FILE: warning: TEXT' and 'FILE: error[CODE]: TEXT'.";

const EXAMPLES: &str = "Examples:
  isopel decode photo.jpg -o photo.png
  isopel decode pictures/ -o decoded/ --to ppm
  isopel info photo.jpg
  isopel compare photo.jpg --heatmap differences.png
  isopel bench photo.jpg

'isopel help COMMAND' explains a command and all its options.";

/// Decodes JPEG files to libjpeg-turbo's pixels, to the byte.
#[derive(Debug, Parser)]
#[command(name = "isopel", version, max_term_width = 100, after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Decode(decode::DecodeArgs),
    Info(info::InfoArgs),
    Compare(compare::CompareArgs),
    Bench(bench::BenchArgs),
    Backends(backends::BackendsArgs),
}

/// Runs the command that the process was started with.
pub(crate) fn run() -> ExitCode {
    let command_line = match CommandLine::try_parse() {
        Ok(command_line) => command_line,
        Err(error) => {
            let _ = error.print();
            // Clap's own code for wrong usage is 2, which here means warnings.
            return if error.use_stderr() { Verdict::Failed.into() } else { Verdict::Clean.into() };
        }
    };
    let result = match command_line.command {
        Command::Decode(args) => decode::run(&args),
        Command::Info(args) => info::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Backends(args) => backends::run(&args),
    };
    match result {
        Ok(verdict) => verdict.into(),
        // Whoever read the output has seen enough, as `isopel info *.jpg | head` does.
        Err(Stop::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Verdict::Clean.into(),
        Err(stop) => {
            let _ = writeln!(io::stderr(), "{stop}");
            Verdict::Failed.into()
        }
    }
}
