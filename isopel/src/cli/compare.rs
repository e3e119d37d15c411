//! `isopel compare`: isopel's pixels against those of an independent decoder.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use isopel::{BackendChoice, Codestream, Decoder, Image};

use super::destination::Destination;
use super::difference::{Difference, heat_map};
use super::picture_file::write_png;
use super::referee;
use super::request::{LimitArgs, backend_parser};
use super::source::{BadInput, Source, expand};
use super::transcript::{Entry, Transcript};
use super::verdict::{Failure, Stop, Verdict, report_lines, warnings_to_json};

const HELP: &str = "Examples:
  isopel compare photo.jpg
  isopel compare photo.jpg --heatmap differences.png
  isopel compare pictures/ --json | jq -r 'select(.max_difference > 2) | .file'

What to expect: zune-jpeg rounds differently, so differences of 1 or 2 levels are normal and no error of either; with \
reduced chroma (4:2:0, 4:2:2) single samples may differ by a few levels more. isopel's own contract is libjpeg-turbo's \
pixels. What zune-jpeg refuses, also among valid files, is reported as 'referee failed' and is no error of isopel.

Both decode the picture as stored, without its orientation, as gray8 for one component and rgb8 for others.

Exit codes:
  0  isopel decoded everything, whatever the referee did
  1  isopel could not decode a file, a file could not be read or written, or the command line is wrong";

/// Compare with zune-jpeg, an independent decoder
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct CompareArgs {
    /// JPEG files, folders to search through, or - for the standard input
    #[arg(value_name = "IN", required = true)]
    inputs: Vec<PathBuf>,
    /// Write a PNG picture of the differences: black where both agree, over purple and orange to yellow. A folder for
    /// several files
    #[arg(long, value_name = "OUT")]
    heatmap: Option<PathBuf>,
    /// What the heat map multiplies differences with, 1 to 255: with 32, 8 levels or more are yellow
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=255))]
    amplify: u32,
    /// Print JSON Lines: one object per file
    #[arg(long)]
    json: bool,
    /// Which of isopel's decoders to compare
    #[arg(long, default_value = "auto", value_name = "BACKEND", value_parser = backend_parser())]
    backend: BackendChoice,
    #[command(flatten)]
    limits: LimitArgs,
}

pub(crate) fn run(args: &CompareArgs) -> Result<Verdict, Stop> {
    let decoder = Decoder::with_backend(args.backend, 1).map_err(|error| Stop::Usage(error.to_string()))?;
    let heatmap = args.heatmap.as_deref().map(|out| Destination::choose(out, &args.inputs)).transpose()?;
    if heatmap == Some(Destination::Stdout) {
        return Err(Stop::Usage("the heat map needs a file; the standard output is for the figures".into()));
    }
    let sources = expand(&args.inputs);
    let transcript = Transcript::new(sources.len());
    let mut verdict = Verdict::Clean;
    for (index, source) in sources.into_iter().enumerate() {
        let compared = match source {
            Ok(source) => compare(args, &decoder, heatmap.as_ref(), &source).map_err(|error| (source.label, error)),
            Err(BadInput { label, failure }) => Err((label, failure)),
        };
        let entry = compared.unwrap_or_else(|(label, failure)| {
            verdict = Verdict::Failed;
            let json = || json!({ "file": label, "error": failure.to_json() }).to_string();
            Entry { out: args.json.then(json).into_iter().collect(), err: vec![failure.line(&label)] }
        });
        transcript.put(index, entry);
    }
    transcript.finish()?;
    Ok(verdict)
}

fn compare(
    args: &CompareArgs,
    decoder: &Decoder,
    heatmap: Option<&Destination>,
    source: &Source,
) -> Result<Entry, Failure> {
    let bytes = source.read()?;
    let limits = args.limits.limits();
    let components = Codestream::parse_header(&bytes, &limits)?.frame().components.len();
    let format = referee::shared_format(components);
    let image = decoder.decode(&bytes, &referee::shared_options(format).limits(limits))?;
    let opinion =
        referee::decode(&bytes, format).and_then(|opinion| referee::check_size(&image, &opinion).map(|()| opinion));

    let channels = format.bytes_per_pixel();
    let mut written = None;
    let opinion = opinion
        .map(|opinion| (Difference::between(&image.pixels, &opinion.pixels, image.size(), channels), opinion.pixels));
    if let (Ok((_, pixels)), Some(destination)) = (&opinion, heatmap)
        && let Some(path) = destination.path_for(source, "png")
    {
        let map = heat_map(&image.pixels, pixels, channels, args.amplify);
        let size = (image.size().width, image.size().height);
        destination.put(Some(&path), |out| write_png(out, size, png::ColorType::Rgb, &map, None))?;
        written = Some(path.display().to_string());
    }
    let difference = opinion.map(|(difference, _)| difference);
    let mut out = if args.json {
        vec![to_json(&source.label, &image, &difference, written.as_deref()).to_string()]
    } else {
        vec![to_line(&source.label, &image, &difference)]
    };
    if let (Some(path), false) = (written, args.json) {
        out.push(format!("{}: heat map in {path}", source.label));
    }
    Ok(Entry { out, err: report_lines(&source.label, &image.report) })
}

fn to_line(label: &str, image: &Image, difference: &Result<Difference, String>) -> String {
    let start = format!("{label}: {} {}", image.size(), image.report.layout.format());
    match difference {
        Err(reason) => format!("{start}: referee failed: {reason}"),
        Ok(Difference { first: None, .. }) => format!("{start}: equal"),
        Ok(difference @ Difference { max, mean_absolute, first: Some(first), .. }) => format!(
            "{start}: max difference {max}, mean {mean_absolute:.4}, {:.2}% of samples differ, first at ({}, {}): \
             isopel {:?}, {} {:?}",
            100.0 * difference.share(),
            first.x,
            first.y,
            first.left,
            referee::NAME,
            first.right,
        ),
    }
}

fn to_json(label: &str, image: &Image, difference: &Result<Difference, String>, heatmap: Option<&str>) -> Value {
    let mut object = json!({
        "file": label,
        "width": image.size().width,
        "height": image.size().height,
        "format": image.report.layout.format().name(),
        "backend": image.report.route.to_string(),
        "referee": referee::NAME,
        "warnings": warnings_to_json(&image.report.warnings),
    });
    let figures = match difference {
        Err(reason) => json!({ "referee_error": reason }),
        Ok(difference) => json!({
            "max_difference": difference.max,
            "mean_absolute_difference": difference.mean_absolute,
            "differing_samples": difference.differing,
            "samples": difference.samples,
            "differing_share": difference.share(),
            "first_difference": difference.first.as_ref().map(|first| json!({
                "x": first.x,
                "y": first.y,
                "isopel": first.left,
                "referee": first.right,
            })),
            "heatmap": heatmap,
        }),
    };
    if let (Value::Object(object), Value::Object(figures)) = (&mut object, figures) {
        object.extend(figures);
    }
    object
}
