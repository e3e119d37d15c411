//! `isopel decode`: JPEG files to PNG, PNM or bare pixels.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Args;
use rayon::prelude::*;

use isopel::{
    Codestream, DecodeOptions, Decoder, FormatRequest, Image, OrientationPolicy, PixelFormat, Rect, Route, Scale,
    Strictness,
};

use super::destination::Destination;
use super::device::DeviceArgs;
use super::picture_file::Container;
use super::request::{LimitArgs, SpaceChoice, format_parser, parse_orientation, parse_region, scale_parser};
use super::source::{BadInput, Source, expand};
use super::transcript::{Entry, Transcript};
use super::verdict::{Failure, Stop, Verdict, report_lines};

const EXAMPLES: &str = "Examples:
  isopel decode photo.jpg -o photo.png
  isopel decode photo.jpg -o detail.png --region 600,400,320,200
  isopel decode photo.jpg -o preview.png --scale 1/4
  isopel decode scan.jpg -o scan.raw --format component-planes
  isopel decode pictures/ -o decoded/ --to ppm --threads 4
  isopel decode photo.jpg -o photo.png --backend wgpu --adapter radeon
  curl -s https://example.org/a.jpg | isopel decode - -o - --to ppm | display

What is written: the pixels of libjpeg-turbo's default decode, upright unless --orientation says otherwise; with \
--scale those of its scaled decode, which is faster and needs less memory than decoding all and shrinking it. PNG files \
also get the ICC profile if it describes the pixels. A file appears only once it is complete.";

/// Decode files to PNG, PNM or raw pixels
///
/// Damaged files are decoded as far as they go: the warnings say what is wrong and how many rows are good.
#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{}", super::EXIT_CODES))]
pub(crate) struct DecodeArgs {
    /// JPEG files, folders to search through for .jpg, .jpeg, .jpe, .jfif and .mpo, or - for the standard input
    #[arg(value_name = "IN", required = true)]
    inputs: Vec<PathBuf>,
    /// The file to write; its extension chooses the file format: .png, .ppm, .pgm, .pnm or .raw. A folder if IN is a
    /// folder or several files; the tree below IN is mirrored. - is the standard output and needs --to
    #[arg(short, long = "output", value_name = "OUT")]
    output: PathBuf,
    /// File format, whatever OUT's extension is. Default: by the extension; png for folders
    #[arg(long, value_name = "FORMAT", value_enum, hide_possible_values = false)]
    to: Option<Container>,
    /// Decode at this fraction of the size; sides are rounded up
    #[arg(long, value_name = "FRACTION", default_value = "1", value_parser = scale_parser())]
    scale: Scale,
    /// Decode only this rectangle, in pixels of the picture that --scale gives. It must lie inside it. Default: the whole
    /// picture
    #[arg(long, value_name = "X,Y,W,H", value_parser = parse_region, allow_hyphen_values = true)]
    region: Option<Rect>,
    /// The grid in which --region is counted
    #[arg(long, value_enum, default_value_t = SpaceChoice::Display)]
    space: SpaceChoice,
    /// Turn the picture as its EXIF data says (apply), not at all (ignore), or as this EXIF value says (1 to 8)
    #[arg(long, value_name = "apply|ignore|1..8", default_value = "apply", value_parser = parse_orientation)]
    orientation: OrientationPolicy,
    /// Pixel format. source: gray8 for one component, rgb8 for three, cmyk8 as stored for four. Default: rgb8; gray8
    /// for .pgm; source for .raw
    #[arg(long, value_name = "PIXELS", value_parser = format_parser())]
    format: Option<FormatRequest>,
    /// Make damage an error instead of a warning; nothing is written then
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    device: DeviceArgs,
    /// Files that are decoded at the same time; 0 for as many as there are cores. A large file by itself is
    /// decoded by all of them
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,
    /// Don't print a line for each file written
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    limits: LimitArgs,
}

pub(crate) fn run(args: &DecodeArgs) -> Result<Verdict, Stop> {
    let destination = Destination::choose(&args.output, &args.inputs)?;
    let container = container(args, &destination)?;
    let format = args.format.unwrap_or(container.default_format());
    if let FormatRequest::Exactly(format) = format
        && !container.takes(format)
    {
        return Err(Stop::Usage(container.refusal(format)));
    }
    let decoder = args.device.open(args.threads)?;
    let options = DecodeOptions::default()
        .scale(args.scale)
        .region(args.space.region(args.region))
        .orientation(args.orientation)
        .format(format)
        .strictness(if args.strict { Strictness::Strict } else { Strictness::Lenient })
        .limits(args.limits.limits());

    let job = Job { decoder, options, container, destination, quiet: args.quiet };
    job.run(name_outputs(expand(&args.inputs), &job), args.threads)
}

fn container(args: &DecodeArgs, destination: &Destination) -> Result<Container, Stop> {
    match (args.to, destination) {
        (Some(container), _) => Ok(container),
        (None, Destination::Folder(_)) => Ok(Container::Png),
        (None, Destination::File(path)) => Container::of_path(path).ok_or_else(|| {
            Stop::Usage(format!(
                "'{}' does not tell the file format: end it in .png, .ppm, .pgm, .pnm or .raw, or give --to",
                path.display()
            ))
        }),
        (None, Destination::Stdout) => {
            Err(Stop::Usage("writing to the standard output needs --to png, ppm, pgm, pnm or raw".into()))
        }
    }
}

/// A file to decode and the path for its result; `None` for the standard output.
type Task = Result<(Source, Option<PathBuf>), BadInput>;

/// Gives each source its path. Two sources may not have the same: the later one would replace the first.
fn name_outputs(sources: Vec<Result<Source, BadInput>>, job: &Job) -> Vec<Task> {
    let mut taken: HashMap<PathBuf, String> = HashMap::new();
    let mut name = |source: Source| {
        let Some(path) = job.destination.path_for(&source, job.container.extension()) else {
            return Ok((source, None));
        };
        if let Some(other) = taken.get(&path) {
            let failure = Failure::SameOutput { path, other: other.clone() };
            return Err(BadInput { label: source.label, failure });
        }
        taken.insert(path.clone(), source.label.clone());
        Ok((source, Some(path)))
    };
    sources.into_iter().map(|source| source.and_then(&mut name)).collect()
}

/// What all files of one command have in common.
struct Job {
    decoder: Decoder,
    options: DecodeOptions,
    container: Container,
    destination: Destination,
    quiet: bool,
}

impl Job {
    fn run(&self, tasks: Vec<Task>, threads: usize) -> Result<Verdict, Stop> {
        let count = tasks.len();
        let transcript = Transcript::new(count);
        let tally = Tally::default();
        let work = |(index, task)| {
            let (verdict, entry) = self.one(task);
            tally.count(verdict);
            transcript.put(index, entry);
        };
        if count == 1 {
            tasks.into_iter().enumerate().for_each(work);
        } else {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
            pool.install(|| tasks.into_par_iter().with_max_len(1).enumerate().for_each(work));
        }
        transcript.finish()?;
        if count > 1 {
            let entry = Entry { err: vec![tally.summary()], ..Entry::default() };
            let summary = Transcript::new(1);
            summary.put(0, entry);
            summary.finish()?;
        }
        Ok(tally.verdict())
    }

    fn one(&self, task: Task) -> (Verdict, Entry) {
        let (label, result) = match task {
            Ok((source, path)) => {
                let result = self.decode(&source, path.as_deref());
                (source.label, result.map(|image| (image, path)))
            }
            Err(BadInput { label, failure }) => (label, Err(failure)),
        };
        match result {
            Err(failure) => (Verdict::Failed, Entry { err: vec![failure.line(&label)], ..Entry::default() }),
            Ok((image, path)) => {
                let out = match path {
                    Some(path) if !self.quiet => vec![format!("{label} -> {}: {}", path.display(), describe(&image))],
                    _ => Vec::new(),
                };
                let err = report_lines(&label, &image.report);
                (Verdict::of_warnings(&image.report.warnings), Entry { out, err })
            }
        }
    }

    fn decode(&self, source: &Source, path: Option<&Path>) -> Result<Image, Failure> {
        let bytes = source.read()?;
        let image = self.decoder.decode(&bytes, &self.options)?;
        let format = image.report.layout.format();
        // FormatRequest::Source is known only now.
        if !self.container.takes(format) {
            return Err(Failure::Unwritable { container: self.container, format });
        }
        let profile = match self.container {
            Container::Png => Codestream::parse_header(&bytes, &self.options.limits)?.icc_profile(),
            _ => None,
        };
        drop(bytes);
        self.destination.put(path, |out| self.container.write(&image, profile.as_deref(), out))?;
        Ok(image)
    }
}

/// What a reader of the pixels has to know, such as `450x600 rgb8, at 1/2, turned: rotate 90° clockwise`, and who made them
/// if it was not the CPU.
fn describe(image: &Image) -> String {
    let report = &image.report;
    let format = report.layout.format();
    let mut text = format!("{} {format}", image.size());
    if format == PixelFormat::ComponentPlanes {
        let sizes: Vec<_> = report.layout.planes().iter().map(|plane| plane.size.to_string()).collect();
        text += &format!(", planes {}", sizes.join(", "));
    }
    if report.scale != Scale::Full {
        text += &format!(", at {}", report.scale);
    }
    if report.orientation.to_exif() != 1 {
        text += &format!(", turned: {}", report.orientation);
    }
    if report.route != Route::Cpu {
        text += &format!(" ({})", report.route);
    }
    text
}

/// Counts files by what came of them.
#[derive(Debug, Default)]
struct Tally([AtomicUsize; 3]);

impl Tally {
    fn count(&self, verdict: Verdict) {
        self.0[verdict as usize].fetch_add(1, Ordering::Relaxed);
    }

    fn of(&self, verdict: Verdict) -> usize {
        self.0[verdict as usize].load(Ordering::Relaxed)
    }

    fn verdict(&self) -> Verdict {
        let found = |verdict: &Verdict| self.of(*verdict) > 0;
        [Verdict::Failed, Verdict::Warned].into_iter().find(found).unwrap_or(Verdict::Clean)
    }

    fn summary(&self) -> String {
        let [clean, warned, failed] =
            [Verdict::Clean, Verdict::Warned, Verdict::Failed].map(|verdict| self.of(verdict));
        format!("{} files: {clean} decoded, {warned} decoded with warnings, {failed} failed", clean + warned + failed)
    }
}
