//! `isopel info`: what is in a JPEG file, without decoding it.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use isopel::{Codestream, Frame, Sampling, Scan};

use super::request::LimitArgs;
use super::source::{BadInput, Source, expand};
use super::verdict::{Failure, Stop, Verdict, warning_lines, warnings_to_json};

const EXAMPLES: &str = "Examples:
  isopel info photo.jpg
  isopel info pictures/ --json | jq -r 'select(.scans | length > 1) | .file'

--json prints one object a line and file. Only markers are read here: damage inside the image data shows only when \
the file is decoded.";

/// The table shows so many scans; a hostile file has thousands.
const SCANS_SHOWN: usize = 100;
const COMMENT_CHARACTERS_SHOWN: usize = 200;

/// Show what is in a file: sizes, orientation, coding, scans, metadata
#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{}", super::EXIT_CODES))]
pub(crate) struct InfoArgs {
    /// JPEG files, folders to search through, or - for the standard input
    #[arg(value_name = "IN", required = true)]
    inputs: Vec<PathBuf>,
    /// Print JSON Lines: one object per file
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    limits: LimitArgs,
}

pub(crate) fn run(args: &InfoArgs) -> Result<Verdict, Stop> {
    let mut verdict = Verdict::Clean;
    let mut stdout = io::BufWriter::new(io::stdout().lock());
    for (index, source) in expand(&args.inputs).into_iter().enumerate() {
        if index > 0 && !args.json {
            writeln!(stdout)?;
        }
        let described = match source {
            Ok(source) => describe(args, &source).map_err(|failure| (source.label, failure)),
            Err(BadInput { label, failure }) => Err((label, failure)),
        };
        match described {
            Ok((text, warnings)) => {
                stdout.write_all(text.as_bytes())?;
                stdout.flush()?;
                verdict = verdict.max(if warnings.is_empty() { Verdict::Clean } else { Verdict::Warned });
                for line in warnings {
                    let _ = writeln!(io::stderr(), "{line}");
                }
            }
            Err((label, failure)) => {
                if args.json {
                    writeln!(stdout, "{}", json!({ "file": label, "error": failure.to_json() }))?;
                }
                stdout.flush()?;
                let _ = writeln!(io::stderr(), "{}", failure.line(&label));
                verdict = Verdict::Failed;
            }
        }
    }
    Ok(verdict)
}

/// The text for the standard output, and the lines for stderr.
fn describe(args: &InfoArgs, source: &Source) -> Result<(String, Vec<String>), Failure> {
    let bytes = source.read()?;
    let codestream = Codestream::parse(&bytes, &args.limits.limits())?;
    let text = match args.json {
        true => format!("{}\n", to_json(&source.label, &codestream)),
        false => to_table(&source.label, &codestream),
    };
    Ok((text, warning_lines(&source.label, &codestream.warnings())))
}

fn to_table(label: &str, codestream: &Codestream) -> String {
    let frame = codestream.frame();
    let orientation = codestream.orientation();
    let mut table = format!("{label}\n");
    let mut row = |name: &str, value: String| table += &format!("  {name:<17} {value}\n");
    row("stored size", codestream.stored_size().to_string());
    row("display size", codestream.display_size().to_string());
    row("orientation", format!("{}, {orientation}", orientation.to_exif()));
    row("coding process", frame.process.to_string());
    row("colour model", codestream.color_model().to_string());
    row("components", format!("{}, {} bits per sample", frame.components.len(), frame.precision));
    row("sampling", sampling(frame));
    row(
        "restart interval",
        match codestream.restart_interval() {
            0 => "none".into(),
            1 => "1 MCU".into(),
            interval => format!("{interval} MCUs"),
        },
    );
    row("scans", codestream.scans().len().to_string());
    for (index, scan) in codestream.scans().iter().take(SCANS_SHOWN).enumerate() {
        row("", format!("{:>3}: {}", index + 1, scan_line(frame, scan)));
    }
    if codestream.scans().len() > SCANS_SHOWN {
        row("", format!("and {} more (--json shows all)", codestream.scans().len() - SCANS_SHOWN));
    }
    row(
        "complete",
        match codestream.is_complete() {
            true => "yes".into(),
            false => "no, the scans leave out bits of some coefficients".into(),
        },
    );
    row("JFIF", codestream.jfif().map_or("none".into(), |jfif| format!("{}.{:02}", jfif.major, jfif.minor)));
    row("Adobe", codestream.adobe().map_or("none".into(), |adobe| format!("colour transform {}", adobe.transform)));
    row("ICC profile", codestream.icc_profile().map_or("none".into(), |profile| format!("{} bytes", profile.len())));
    row("comments", codestream.comments().len().to_string());
    for comment in codestream.comments() {
        row("", format!("\"{}\"", printable(comment)));
    }
    row("bytes", format!("{} of {} belong to the image", codestream.consumed(), codestream.bytes().len()));
    row("warnings", codestream.warnings().len().to_string());
    table
}

fn scan_line(frame: &Frame, scan: &Scan) -> String {
    let ids: Vec<_> = scan.components.iter().map(|part| frame.components[part.component].id.to_string()).collect();
    let (noun, data) = (if ids.len() == 1 { "component" } else { "components" }, &scan.data);
    let mut line = format!("bytes {}..{}, {noun} {}", data.start, data.end, ids.join(" "));
    if frame.is_progressive() {
        let Scan { spectral_start: ss, spectral_end: se, approximation_high: ah, approximation_low: al, .. } = scan;
        line += &format!(", Ss={ss} Se={se} Ah={ah} Al={al}");
    }
    line
}

/// The factors, after the usual notation if there is one: `4:2:0 (2x2, 1x1, 1x1)`.
fn sampling(frame: &Frame) -> String {
    let factors: Vec<_> = frame.components.iter().map(|component| component.sampling.to_string()).collect();
    let factors = factors.join(", ");
    notation(frame).map_or(factors.clone(), |notation| format!("{notation} ({factors})"))
}

/// The usual J:a:b notation, where the two chroma components are alike and the others are whole.
fn notation(frame: &Frame) -> Option<String> {
    let sampling: Vec<Sampling> = frame.components.iter().map(|component| component.sampling).collect();
    let (luma, chroma, black) = match *sampling.as_slice() {
        [luma, first, second] if first == second => (luma, first, None),
        [luma, first, second, black] if first == second && luma == black => (luma, first, Some(":4")),
        _ => return None,
    };
    let whole = luma.horizontal % chroma.horizontal == 0 && luma.vertical % chroma.vertical == 0;
    let name = match (luma.horizontal / chroma.horizontal, luma.vertical / chroma.vertical) {
        _ if !whole => return None,
        (1, 1) => "4:4:4",
        (2, 1) => "4:2:2",
        (2, 2) => "4:2:0",
        (1, 2) => "4:4:0",
        (4, 1) => "4:1:1",
        (4, 2) => "4:1:0",
        _ => return None,
    };
    Some(format!("{name}{}", black.unwrap_or_default()))
}

/// Text from a file, without what would steer the terminal.
fn printable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut shown: String = text
        .chars()
        .take(COMMENT_CHARACTERS_SHOWN)
        .flat_map(|character| {
            let escaped = character.is_control().then(|| character.escape_default());
            let plain = escaped.is_none().then_some(character);
            escaped.into_iter().flatten().chain(plain)
        })
        .collect();
    if text.chars().nth(COMMENT_CHARACTERS_SHOWN).is_some() {
        shown += "...";
    }
    shown
}

fn to_json(label: &str, codestream: &Codestream) -> Value {
    let frame = codestream.frame();
    let size = |size: isopel::Size| json!({ "width": size.width, "height": size.height });
    let components: Vec<_> = frame
        .components
        .iter()
        .map(|component| {
            json!({
                "id": component.id,
                "horizontal_sampling": component.sampling.horizontal,
                "vertical_sampling": component.sampling.vertical,
                "quant_table": component.quant_selector,
            })
        })
        .collect();
    let comments: Vec<_> = codestream.comments().iter().map(|comment| String::from_utf8_lossy(comment)).collect();
    json!({
        "file": label,
        "stored_size": size(codestream.stored_size()),
        "display_size": size(codestream.display_size()),
        "orientation": {
            "exif": codestream.orientation().to_exif(),
            "description": codestream.orientation().to_string(),
        },
        "coding_process": frame.process.to_string(),
        "bits_per_sample": frame.precision,
        "color_model": codestream.color_model().name(),
        "components": components,
        "sampling": notation(frame),
        "restart_interval": codestream.restart_interval(),
        "scans": codestream.scans().iter().map(|scan| scan_to_json(frame, scan)).collect::<Vec<_>>(),
        "complete": codestream.is_complete(),
        "jfif": codestream.jfif().map(|jfif| json!({ "major": jfif.major, "minor": jfif.minor })),
        "adobe": codestream.adobe().map(|adobe| json!({ "transform": adobe.transform })),
        "icc_profile_bytes": codestream.icc_profile().map(|profile| profile.len()),
        "comments": comments,
        "bytes_consumed": codestream.consumed(),
        "bytes_total": codestream.bytes().len(),
        "warnings": warnings_to_json(&codestream.warnings()),
    })
}

fn scan_to_json(frame: &Frame, scan: &Scan) -> Value {
    let ids: Vec<_> = scan.components.iter().map(|part| frame.components[part.component].id).collect();
    json!({
        "offset": scan.offset,
        "data_start": scan.data.start,
        "data_end": scan.data.end,
        "component_ids": ids,
        "spectral_start": scan.spectral_start,
        "spectral_end": scan.spectral_end,
        "approximation_high": scan.approximation_high,
        "approximation_low": scan.approximation_low,
        "restart_interval": scan.restart_interval,
    })
}
