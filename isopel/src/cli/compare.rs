//! `isopel compare`: the pixels of isopel's CPU decoder against those of its other backends, which have to be equal,
//! and of an independent decoder.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use isopel::{BackendChoice, Codestream, DecodeOptions, Decoder, Image, Report, Route, Scale};

use super::destination::Destination;
use super::device::AdapterArgs;
use super::difference::{Difference, heat_map};
use super::picture_file::write_png;
use super::referee;
use super::request::{LimitArgs, backend_parser, scale_parser};
use super::source::{BadInput, Source, expand};
use super::transcript::{Entry, Transcript};
use super::verdict::{Failure, Stop, Verdict, report_lines, warnings_to_json};

const HELP: &str = "Examples:
  isopel compare photo.jpg
  isopel compare photo.jpg --heatmap differences.png
  isopel compare pictures/ --backend cpu,wgpu
  isopel compare pictures/ --backend wgpu --scale 1/4
  isopel compare pictures/ --json | jq -r 'select(.max_difference > 4) | .file'

Everything is compared with isopel's cpu backend. isopel's own contract is libjpeg-turbo's pixels, so a backend of \
isopel's that promises them may differ by nothing, in pixels, warnings and valid rows.

What to expect of zune-jpeg: it rounds differently, so differences of 1 or 2 levels are normal, with reduced chroma \
(4:2:0, 4:2:2) of up to about 4 in single samples, and no error of either; damaged files may differ by anything. What \
zune-jpeg refuses, also among valid files, is reported as 'referee failed' and is no error of isopel.

zune-jpeg decodes at full size only, so with --scale it is left out.

All decode the picture as stored, without its orientation, as gray8 for one component and rgb8 for others.

Exit codes:
  0  isopel decoded everything, and its backends keep their promises, whatever the referee did
  1  a backend broke its promise, isopel could not decode a file, a file could not be read or written, or the command \
line is wrong";

/// Compare isopel's backends with one another and with zune-jpeg, an independent decoder
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct CompareArgs {
    /// JPEG files, folders to search through, or - for the standard input
    #[arg(value_name = "IN", required = true)]
    inputs: Vec<PathBuf>,
    /// Which of isopel's backends to compare with cpu, with commas between them
    #[arg(long = "backend", default_value = "cpu", value_name = "BACKENDS", value_delimiter = ',', value_parser = backend_parser())]
    backends: Vec<BackendChoice>,
    /// Compare decodes at this fraction of the size, of isopel's backends only
    #[arg(long, value_name = "FRACTION", default_value = "1", value_parser = scale_parser())]
    scale: Scale,
    #[command(flatten)]
    adapter: AdapterArgs,
    /// Write a PNG picture of the differences to zune-jpeg: black where both agree, over purple and orange to yellow. A
    /// folder for several files. Differences to a backend go to a file named after it, OUT.wgpu.png for OUT.png
    #[arg(long, value_name = "OUT")]
    heatmap: Option<PathBuf>,
    /// What the heat map multiplies differences with, 1 to 255: with 32, 8 levels or more are yellow
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=255))]
    amplify: u32,
    /// Print JSON Lines: one object per file
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    limits: LimitArgs,
}

pub(crate) fn run(args: &CompareArgs) -> Result<Verdict, Stop> {
    args.adapter.check(&args.backends)?;
    if args.scale != Scale::Full && args.backends.iter().all(|&backend| backend == REFERENCE) {
        let message = "--scale needs a --backend to compare with cpu: zune-jpeg decodes at full size only";
        return Err(Stop::Usage(message.into()));
    }
    let heatmap = args.heatmap.as_deref().map(|out| Destination::choose(out, &args.inputs)).transpose()?;
    if heatmap == Some(Destination::Stdout) {
        return Err(Stop::Usage("the heat map needs a file; the standard output is for the figures".into()));
    }
    let mut comparison =
        Comparison { args, heatmap, reference: Decoder::with_backend(REFERENCE, 1)?, others: Vec::new() };
    for &backend in args.backends.iter().filter(|&&backend| backend != REFERENCE) {
        if comparison.others.iter().all(|(other, _)| *other != backend) {
            comparison.others.push((backend, args.adapter.open(backend, 0)?));
        }
    }
    let sources = expand(&args.inputs);
    let transcript = Transcript::new(sources.len());
    let mut verdict = Verdict::Clean;
    for (index, source) in sources.into_iter().enumerate() {
        let compared = match source {
            Ok(source) => comparison.of_file(&source).map_err(|error| (source.label, error)),
            Err(BadInput { label, failure }) => Err((label, failure)),
        };
        let (of_file, entry) = compared.unwrap_or_else(|(label, failure)| {
            let json = || json!({ "file": label, "error": failure.to_json() }).to_string();
            let out = args.json.then(json).into_iter().collect();
            (Verdict::Failed, Entry { out, err: vec![failure.line(&label)] })
        });
        verdict = verdict.max(of_file);
        transcript.put(index, entry);
    }
    transcript.finish()?;
    Ok(verdict)
}

/// What the others are compared with.
const REFERENCE: BackendChoice = BackendChoice::Cpu;

/// How far a route may be from the reference, in levels; `None` if nothing is promised.
fn promise(route: Route) -> Option<u8> {
    match route {
        Route::Cpu | Route::WgpuFromCoefficients | Route::WgpuWhole | Route::WgpuUpload => Some(0),
        Route::CudaExact | Route::CudaUpload => Some(0),
        Route::CudaEngines => Some(1),
        Route::CudaGpuHybrid | Route::CudaHybrid => Some(3),
        _ => None,
    }
}

/// What all files of one command have in common.
struct Comparison<'a> {
    args: &'a CompareArgs,
    heatmap: Option<Destination>,
    reference: Decoder,
    others: Vec<(BackendChoice, Decoder)>,
}

/// One decoder's result beside the reference's.
struct Row {
    name: &'static str,
    /// Which of isopel's code made the pixels.
    route: Option<Route>,
    /// Why there is none, or how it differs.
    difference: Result<Difference, String>,
    /// The promise that it breaks.
    broken: Option<String>,
    /// Where the heat map is.
    heatmap: Option<String>,
}

impl Comparison<'_> {
    fn of_file(&self, source: &Source) -> Result<(Verdict, Entry), Failure> {
        let bytes = source.read()?;
        let limits = self.args.limits.limits();
        let components = Codestream::parse_header(&bytes, &limits)?.frame().components.len();
        let format = referee::shared_format(components);
        let options = referee::shared_options(format).limits(limits).scale(self.args.scale);
        let expected = self.reference.decode(&bytes, &options)?;

        let mut rows = Vec::new();
        for (backend, decoder) in &self.others {
            rows.push(self.of_backend(source, &bytes, &options, &expected, *backend, decoder)?);
        }
        if self.args.scale == Scale::Full {
            rows.push(self.of_referee(source, &bytes, &expected)?);
        }

        let label = &source.label;
        let out = match self.args.json {
            true => vec![to_json(label, &expected, &rows).to_string()],
            false => to_table(label, &expected, &rows),
        };
        let mut err = report_lines(label, &expected.report);
        let broken = rows.iter().filter_map(|row| Some(format!("{label}: error[differs]: {}", row.broken.as_ref()?)));
        let before = err.len();
        err.extend(broken);
        let verdict = if err.len() > before { Verdict::Failed } else { Verdict::Clean };
        Ok((verdict, Entry { out, err }))
    }

    fn of_backend(
        &self,
        source: &Source,
        bytes: &[u8],
        options: &DecodeOptions,
        expected: &Image,
        backend: BackendChoice,
        decoder: &Decoder,
    ) -> Result<Row, Failure> {
        let name = backend.name();
        let image = match decoder.decode(bytes, options) {
            Ok(image) => image,
            Err(error) => {
                let broken = Some(format!("{name} fails where {REFERENCE} decodes: {error}"));
                return Ok(Row { name, route: None, difference: Err(error.to_string()), broken, heatmap: None });
            }
        };
        let (difference, heatmap) = self.against(source, expected, &image.pixels, Some(name))?;
        let broken = broken_promise(name, &difference, &expected.report, &image.report);
        Ok(Row { name, route: Some(image.report.route), difference: Ok(difference), broken, heatmap })
    }

    fn of_referee(&self, source: &Source, bytes: &[u8], expected: &Image) -> Result<Row, Failure> {
        let format = expected.report.layout.format();
        let opinion = referee::decode(bytes, format)
            .and_then(|opinion| referee::check_size(expected, &opinion).map(|()| opinion))
            .map(|opinion| self.against(source, expected, &opinion.pixels, None));
        let (difference, heatmap) = match opinion {
            Ok(compared) => compared.map(|(difference, heatmap)| (Ok(difference), heatmap))?,
            Err(reason) => (Err(format!("referee failed: {reason}")), None),
        };
        Ok(Row { name: referee::NAME, route: None, difference, broken: None, heatmap })
    }

    /// The figures, and where the heat map was written: `suffix` tells a backend's from the referee's.
    fn against(
        &self,
        source: &Source,
        expected: &Image,
        pixels: &[u8],
        suffix: Option<&str>,
    ) -> Result<(Difference, Option<String>), Failure> {
        let channels = expected.report.layout.format().bytes_per_pixel();
        let difference = Difference::between(&expected.pixels, pixels, expected.size(), channels);
        let Some((destination, path)) = self.heatmap.as_ref().and_then(|out| Some((out, out.path_for(source, "png")?)))
        else {
            return Ok((difference, None));
        };
        let path = match suffix {
            Some(suffix) => path.with_extension(format!("{suffix}.png")),
            None => path,
        };
        let map = heat_map(&expected.pixels, pixels, channels, self.args.amplify);
        let size = (expected.size().width, expected.size().height);
        destination.put(Some(&path), |out| write_png(out, size, png::ColorType::Rgb, &map, None))?;
        Ok((difference, Some(path.display().to_string())))
    }
}

fn broken_promise(name: &str, difference: &Difference, expected: &Report, report: &Report) -> Option<String> {
    let promised = promise(report.route)?;
    if difference.max > promised {
        let max = difference.max;
        return Some(format!("{name} ({}) differs from {REFERENCE} by {max}, and may by {promised}", report.route));
    }
    if (&expected.warnings, expected.valid_rows) != (&report.warnings, report.valid_rows) {
        let (expected, found) = (expected.valid_rows, report.valid_rows);
        return Some(format!("{name}'s warnings are not {REFERENCE}'s; valid rows {found} instead of {expected}"));
    }
    None
}

fn to_table(label: &str, expected: &Image, rows: &[Row]) -> Vec<String> {
    let mut lines = vec![format!("{label}: {} {}", expected.size(), expected.report.layout.format())];
    let mut line = |name: &str, route: &str, figures: String| {
        lines.push(format!("  {name:<10} {route:<24} {figures}").trim_end().to_owned());
    };
    line("decoder", "route", format!("{:>3} {:>8} {:>10}  first difference", "max", "mean", "differing"));
    line(REFERENCE.name(), &expected.report.route.to_string(), "what the others are compared with".into());
    for row in rows {
        let figures = match &row.difference {
            Err(reason) => reason.clone(),
            Ok(difference) => {
                let first = match &difference.first {
                    None => "none: equal".into(),
                    Some(first) => {
                        let (x, y, left, right) = (first.x, first.y, &first.left, &first.right);
                        format!("({x}, {y}): {REFERENCE} {left:?}, {} {right:?}", row.name)
                    }
                };
                let (max, mean, share) = (difference.max, difference.mean_absolute, 100.0 * difference.share());
                format!("{max:>3} {mean:>8.4} {share:>9.2}%  {first}")
            }
        };
        line(row.name, &row.route.map_or("-".into(), |route| route.to_string()), figures);
    }
    for row in rows {
        if let Some(path) = &row.heatmap {
            lines.push(format!("  heat map of {REFERENCE} and {} in {path}", row.name));
        }
    }
    lines
}

/// The referee's figures are the object's own; those of backends are in a list.
fn to_json(label: &str, expected: &Image, rows: &[Row]) -> Value {
    let mut object = json!({
        "file": label,
        "width": expected.size().width,
        "height": expected.size().height,
        "format": expected.report.layout.format().name(),
        "scale": expected.report.scale.name(),
        "backend": expected.report.route.to_string(),
        "referee": referee::NAME,
        "warnings": warnings_to_json(&expected.report.warnings),
    });
    let mut backends = Vec::new();
    for row in rows {
        if row.name == referee::NAME {
            extend(&mut object, figures_to_json(row, ["isopel", "referee"], "referee_error"));
            continue;
        }
        let mut backend = json!({
            "backend": row.name,
            "route": row.route.map(|route| route.to_string()),
            "broken_promise": row.broken,
        });
        extend(&mut backend, figures_to_json(row, [REFERENCE.name(), "backend"], "error"));
        backends.push(backend);
    }
    extend(&mut object, json!({ "backends": backends }));
    object
}

fn figures_to_json(row: &Row, sides: [&str; 2], error: &str) -> Value {
    match &row.difference {
        Err(reason) => json!({ error: reason }),
        Ok(difference) => json!({
            "max_difference": difference.max,
            "mean_absolute_difference": difference.mean_absolute,
            "differing_samples": difference.differing,
            "samples": difference.samples,
            "differing_share": difference.share(),
            "first_difference": difference.first.as_ref().map(|first| json!({
                "x": first.x,
                "y": first.y,
                sides[0]: first.left,
                sides[1]: first.right,
            })),
            "heatmap": row.heatmap,
        }),
    }
}

fn extend(object: &mut Value, fields: Value) {
    if let (Value::Object(object), Value::Object(fields)) = (object, fields) {
        object.extend(fields);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isopel::Size;

    #[test]
    fn an_exact_route_may_differ_by_nothing() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../samples");
        let read = |name| std::fs::read(format!("{folder}/{name}")).unwrap();
        let report = |name| isopel::decode(&read(name), &DecodeOptions::default()).unwrap().report;
        let (gray, truncated) = (report("gray.jpg"), report("truncated.jpg"));
        let difference = |right| Difference::between(&[7; 3], &[7, 7, right], Size::new(1, 1), 3);

        assert_eq!(broken_promise("wgpu", &difference(7), &gray, &gray), None);
        let broken = broken_promise("wgpu", &difference(8), &gray, &gray).unwrap();
        assert_eq!(broken, "wgpu (cpu) differs from cpu by 1, and may by 0");
        let broken = broken_promise("wgpu", &difference(7), &truncated, &gray).unwrap();
        assert!(broken.contains("valid rows 480 instead of 287"), "{broken}");
    }
}
