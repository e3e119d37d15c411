//! The `isopel` command as users run it: output files, messages and exit codes, on the sample pictures.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use isopel::{
    DecodeOptions, DisplayRect, FormatRequest, Orientation, OrientationPolicy, PixelFormat, Scale, StoredRect,
};
use serde_json::Value;
use tempfile::TempDir;

fn sample(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples").join(name);
    assert!(path.exists(), "{} is missing", path.display());
    path
}

fn decode(name: &str, options: DecodeOptions) -> isopel::Image {
    isopel::decode(&fs::read(sample(name)).unwrap(), &options).unwrap()
}

/// A command that runs in a folder of its own.
struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(TempDir::new().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Brings samples here under names that messages can be checked against.
    fn with(names: &[&str]) -> Folder {
        let folder = Folder::new();
        for name in names {
            fs::copy(sample(name), folder.path(name)).unwrap();
        }
        folder
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_isopel"));
        command.current_dir(self.0.path()).args(args);
        command
    }

    fn run(&self, args: &[&str]) -> Run {
        Run::from(self.command(args).output().unwrap())
    }

    /// All files, with their folders.
    fn files(&self) -> Vec<String> {
        let (mut files, mut folders) = (Vec::new(), vec![self.0.path().to_owned()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    files.push(path.strip_prefix(self.0.path()).unwrap().to_str().unwrap().replace('\\', "/"));
                }
            }
        }
        files.sort();
        files
    }
}

#[derive(Debug)]
struct Run {
    code: Option<i32>,
    stdout: Vec<u8>,
    stderr: String,
}

impl From<Output> for Run {
    fn from(output: Output) -> Run {
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(!stderr.contains("panicked"), "{stderr}");
        Run { code: output.status.code(), stdout: output.stdout, stderr }
    }
}

impl Run {
    #[track_caller]
    fn expect(self, code: i32) -> Run {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }

    #[track_caller]
    fn says(self, text: &str) -> Run {
        assert!(self.stderr.contains(text), "stderr does not say '{text}': {}", self.stderr);
        self
    }

    fn json_lines(&self) -> Vec<Value> {
        let text = std::str::from_utf8(&self.stdout).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

#[track_caller]
fn read_png(path: &Path) -> (u32, u32, png::ColorType, Vec<u8>) {
    let mut reader = png::Decoder::new(std::io::BufReader::new(File::open(path).unwrap())).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!(pixels.len(), info.buffer_size());
    (info.width, info.height, info.color_type, pixels)
}

fn pnm(magic: &str, image: &isopel::Image) -> Vec<u8> {
    let mut bytes = format!("{magic}\n{} {}\n255\n", image.size().width, image.size().height).into_bytes();
    bytes.extend_from_slice(&image.pixels);
    bytes
}

#[test]
fn files_hold_the_librarys_pixels() {
    let folder = Folder::with(&["portrait-exif6.jpg", "gray.jpg", "cmyk.jpg", "progressive.jpg"]);
    let rgb = decode("portrait-exif6.jpg", DecodeOptions::default());
    let gray = decode("gray.jpg", DecodeOptions::default().format(PixelFormat::Gray8));

    folder.run(&["decode", "portrait-exif6.jpg", "-o", "out.png"]).expect(0);
    let (width, height, color, pixels) = read_png(&folder.path("out.png"));
    assert_eq!((width, height, color), (900, 1200, png::ColorType::Rgb));
    assert!(pixels == rgb.pixels);

    folder.run(&["decode", "gray.jpg", "-o", "gray.png", "--format", "source"]).expect(0);
    let (.., color, pixels) = read_png(&folder.path("gray.png"));
    assert!(color == png::ColorType::Grayscale && pixels == gray.pixels);

    folder.run(&["decode", "gray.jpg", "-o", "alpha.png", "--format", "rgba8"]).expect(0);
    let (.., color, pixels) = read_png(&folder.path("alpha.png"));
    let rgba = decode("gray.jpg", DecodeOptions::default().format(PixelFormat::Rgba8));
    assert!(color == png::ColorType::Rgba && pixels == rgba.pixels);

    folder.run(&["decode", "portrait-exif6.jpg", "-o", "out.ppm"]).expect(0);
    assert!(fs::read(folder.path("out.ppm")).unwrap() == pnm("P6", &rgb));
    folder.run(&["decode", "gray.jpg", "-o", "out.pgm"]).expect(0);
    assert!(fs::read(folder.path("out.pgm")).unwrap() == pnm("P5", &gray));

    folder.run(&["decode", "cmyk.jpg", "-o", "out.raw"]).expect(0);
    let cmyk = decode("cmyk.jpg", DecodeOptions::default().format(FormatRequest::Source));
    assert!(cmyk.report.layout.format() == PixelFormat::Cmyk8);
    assert!(fs::read(folder.path("out.raw")).unwrap() == cmyk.pixels);

    for format in PixelFormat::ALL.into_iter().filter(|&format| format != PixelFormat::Cmyk8) {
        folder.run(&["decode", "progressive.jpg", "-o", "out.raw", "--format", format.name()]).expect(0);
        let expected = decode("progressive.jpg", DecodeOptions::default().format(format));
        assert!(fs::read(folder.path("out.raw")).unwrap() == expected.pixels, "{format}");
    }
}

#[test]
fn png_keeps_the_icc_profile_only_where_it_fits_the_pixels() {
    let folder = Folder::new();
    let gray = fs::read(sample("gray.jpg")).unwrap();
    // ICC.1 7.2.6: the colour space that the profile describes is at bytes 16 to 19.
    let profile = [&[7; 16][..], b"GRAY", &[7; 108]].concat();
    let segment = [b"\xFF\xE2\x00\xA0ICC_PROFILE\0\x01\x01"[..].to_vec(), profile.clone()].concat();
    let [high, low] = (segment.len() as u16 - 2).to_be_bytes();
    let mut file = [&gray[..2], &segment, &gray[2..]].concat();
    file[4..6].copy_from_slice(&[high, low]);
    fs::write(folder.path("in.jpg"), file).unwrap();

    let profile_in = |name: &str| {
        let reader = std::io::BufReader::new(File::open(folder.path(name)).unwrap());
        png::Decoder::new(reader).read_info().unwrap().info().icc_profile.as_deref().map(<[u8]>::to_vec)
    };
    folder.run(&["decode", "in.jpg", "-o", "gray.png", "--format", "gray8"]).expect(0);
    assert_eq!(profile_in("gray.png"), Some(profile));
    folder.run(&["decode", "in.jpg", "-o", "rgb.png"]).expect(0);
    assert_eq!(profile_in("rgb.png"), None);
}

#[test]
fn regions_are_counted_in_the_space_asked_for() {
    let folder = Folder::with(&["portrait-exif6.jpg"]);
    let args = ["decode", "portrait-exif6.jpg", "-o", "out.ppm", "--region", "10,1000,300,200"];
    folder.run(&args).expect(0);
    let options = DecodeOptions::default().region(DisplayRect::new(10, 1000, 300, 200));
    assert!(fs::read(folder.path("out.ppm")).unwrap() == pnm("P6", &decode("portrait-exif6.jpg", options)));

    // Stored, the picture has 900 rows only.
    let outside = folder.run(&[&args[..], &["--space", "stored"]].concat());
    outside.expect(1).says("portrait-exif6.jpg: error[region-out-of-bounds]: ");

    folder.run(&["decode", "portrait-exif6.jpg", "-o", "s.ppm", "--region", "1000,10,200,300", "--space", "stored"]);
    let options = DecodeOptions::default().region(StoredRect::new(1000, 10, 200, 300));
    assert!(fs::read(folder.path("s.ppm")).unwrap() == pnm("P6", &decode("portrait-exif6.jpg", options)));
}

#[test]
fn scales_give_the_librarys_pixels_and_regions_lie_in_the_scaled_picture() {
    let folder = Folder::with(&["portrait-exif6.jpg"]);
    for scale in Scale::ALL {
        let args = ["decode", "portrait-exif6.jpg", "-o", "out.ppm", "--scale", scale.name()];
        let expected = decode("portrait-exif6.jpg", DecodeOptions::default().scale(scale));
        let said = folder.run(&args).expect(0).stdout;
        assert!(fs::read(folder.path("out.ppm")).unwrap() == pnm("P6", &expected), "{scale}");
        let said = String::from_utf8(said).unwrap();
        assert_eq!(said.contains(&format!(", at {scale}")), scale != Scale::Full, "{said}");
    }
    // At 1/8 it is 113x150 as displayed.
    let region =
        |rect| folder.run(&["decode", "portrait-exif6.jpg", "-o", "r.ppm", "--scale", "1/8", "--region", rect]);
    region("100,140,13,10").expect(0);
    let options = DecodeOptions::default().scale(Scale::Eighth).region(DisplayRect::new(100, 140, 13, 10));
    assert!(fs::read(folder.path("r.ppm")).unwrap() == pnm("P6", &decode("portrait-exif6.jpg", options)));
    region("100,140,14,10").expect(1).says("error[region-out-of-bounds]: ");
}

#[test]
fn each_orientation_turns_the_picture() {
    let folder = Folder::with(&["portrait-exif6.jpg"]);
    let orient = |value: &str| {
        folder.run(&["decode", "portrait-exif6.jpg", "-o", "out.ppm", "--orientation", value]).expect(0);
        fs::read(folder.path("out.ppm")).unwrap()
    };
    for orientation in Orientation::ALL {
        let options = DecodeOptions::default().orientation(OrientationPolicy::Set(orientation));
        let expected = decode("portrait-exif6.jpg", options);
        let upright = if orientation.swaps_axes() { (900, 1200) } else { (1200, 900) };
        assert_eq!((expected.size().width, expected.size().height), upright);
        assert!(orient(&orientation.to_exif().to_string()) == pnm("P6", &expected), "{orientation}");
    }
    assert!(orient("apply") == orient("6"));
    assert!(orient("ignore") == orient("1"));
}

#[test]
fn damage_is_a_warning_and_with_strict_an_error() {
    let folder = Folder::with(&["truncated.jpg"]);
    let run = folder.run(&["decode", "truncated.jpg", "-o", "out.ppm"]).expect(2);
    let image = decode("truncated.jpg", DecodeOptions::default());
    assert!(!image.report.warnings.is_empty());
    for warning in &image.report.warnings {
        assert!(run.stderr.contains(&format!("truncated.jpg: warning: {warning}\n")), "{}", run.stderr);
    }
    let run = run.says(&format!("truncated.jpg: warning: valid rows: {} of 480\n", image.report.valid_rows));
    assert_eq!(run.stderr.lines().count(), image.report.warnings.len() + 1);
    assert!(fs::read(folder.path("out.ppm")).unwrap() == pnm("P6", &image));

    folder
        .run(&["decode", "truncated.jpg", "-o", "strict.ppm", "--strict"])
        .expect(1)
        .says("truncated.jpg: error[damaged]: ");
    assert_eq!(folder.files(), ["out.ppm", "truncated.jpg"]);
}

#[test]
fn what_fails_leaves_nothing_behind_and_keeps_what_was_there() {
    let folder = Folder::with(&["cmyk.jpg"]);
    fs::write(folder.path("text.jpg"), "This is not a picture.").unwrap();
    fs::write(folder.path("out.png"), "precious").unwrap();
    folder.run(&["decode", "text.jpg", "-o", "out.png"]).expect(1).says("text.jpg: error[not-jpeg]: ");
    folder.run(&["decode", "missing.jpg", "-o", "out.png"]).expect(1).says("missing.jpg: error[cannot-read]: ");
    folder.run(&["decode", "cmyk.jpg", "-o", "out.png", "--format", "source"]).expect(1).says("png has no CMYK");
    folder.run(&["decode", "cmyk.jpg", "-o", "none/out.png"]).expect(1).says("the folder 'none' does not exist");
    folder.run(&["decode", "cmyk.jpg", "-o", "out.png", "--max-pixels", "100"]).expect(1).says("--max-pixels");
    folder.run(&["decode", "cmyk.jpg", "-o", "out.png", "--max-memory", "1K"]).expect(1).says("--max-memory");
    folder.run(&["decode", "cmyk.jpg", "-o", "out.png", "--max-work", "1"]).expect(1).says("--max-work");
    assert_eq!(folder.files(), ["cmyk.jpg", "out.png", "text.jpg"]);
    assert_eq!(fs::read(folder.path("out.png")).unwrap(), b"precious");

    folder.run(&["decode", "cmyk.jpg", "-o", "out.png", "--no-limits"]).expect(0);
    assert_eq!(read_png(&folder.path("out.png")).0, 320);
}

#[test]
fn wrong_usage_is_1_and_help_is_0() {
    let folder = Folder::with(&["gray.jpg", "cmyk.jpg"]);
    let wrong: &[(&[&str], &str)] = &[
        (&[], "Usage: isopel"),
        (&["decode"], "IN"),
        (&["decode", "gray.jpg"], "--output"),
        (&["decode", "gray.jpg", "-o", "out.bmp"], "--to"),
        (&["decode", "gray.jpg", "-o", "-"], "--to"),
        (&["decode", "gray.jpg", "-o", "out.png", "--frmat", "rgb8"], "--format"),
        (&["decode", "gray.jpg", "-o", "out.png", "--format", "rgb"], "rgb8-planar"),
        (&["decode", "gray.jpg", "-o", "out.png", "--format", "cmyk8"], "rgb8, rgba8, gray8"),
        (&["decode", "gray.jpg", "-o", "out.png", "--format", "bgr8"], "rgb8, rgba8, gray8"),
        (&["decode", "gray.jpg", "-o", "out.ppm", "--format", "rgb8-planar"], "rgb8, gray8"),
        (&["decode", "gray.jpg", "-o", "out.pgm", "--format", "rgb8"], "gray8"),
        (&["decode", "gray.jpg", "-o", "out.png", "--region", "1,2,3"], "X,Y,WIDTH,HEIGHT"),
        (&["decode", "gray.jpg", "-o", "out.png", "--orientation", "9"], "1 to 8"),
        (&["decode", "gray.jpg", "-o", "out.png", "--scale", "1/3"], "1, 1/2, 1/4, 1/8"),
        (&["compare", "gray.jpg", "--scale", "1/2"], "--scale needs a --backend"),
        #[cfg(not(feature = "cuda"))]
        (&["decode", "gray.jpg", "-o", "out.png", "--backend", "cuda"], "build with --features cuda"),
        (&["decode", "gray.jpg", "cmyk.jpg", "-o", "out.png"], "need a folder"),
        (&["compare", "gray.jpg", "--heatmap", "-"], "heat map needs a file"),
    ];
    for (args, text) in wrong {
        let run = folder.run(args).expect(1).says(text);
        assert!(run.stdout.is_empty(), "{args:?}");
    }
    assert_eq!(folder.files(), ["cmyk.jpg", "gray.jpg"]);
    for args in [&["--help"][..], &["--version"], &["decode", "--help"], &["help", "compare"], &["bench", "-h"]] {
        assert!(!folder.run(args).expect(0).stdout.is_empty());
    }
}

#[test]
fn folders_are_mirrored_and_one_bad_file_does_not_stop_the_others() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("in/a/b")).unwrap();
    fs::create_dir(folder.path("in/empty")).unwrap();
    fs::copy(sample("gray.jpg"), folder.path("in/gray.JPG")).unwrap();
    fs::copy(sample("progressive.jpg"), folder.path("in/a/b/progressive.jpeg")).unwrap();
    fs::write(folder.path("in/a/notes.txt"), "not to be read").unwrap();
    let outputs = |folder: &Folder, extension: &str| {
        let files = folder.files();
        files.into_iter().filter(|file| file.ends_with(extension)).collect::<Vec<_>>()
    };

    folder.run(&["decode", "in", "-o", "out"]).expect(0).says("2 files: 2 decoded, 0 decoded with warnings, 0 failed");
    assert_eq!(outputs(&folder, ".png"), ["out/a/b/progressive.png", "out/gray.png"]);

    fs::copy(sample("truncated.jpg"), folder.path("in/a/truncated.jpg")).unwrap();
    folder.run(&["decode", "in", "-o", "out", "--to", "ppm", "--threads", "2"]).expect(2);
    assert_eq!(outputs(&folder, ".ppm"), ["out/a/b/progressive.ppm", "out/a/truncated.ppm", "out/gray.ppm"]);
    let progressive = pnm("P6", &decode("progressive.jpg", DecodeOptions::default()));
    assert!(fs::read(folder.path("out/a/b/progressive.ppm")).unwrap() == progressive);

    fs::write(folder.path("in/a/bad.jpg"), "not a picture").unwrap();
    let run = folder.run(&["decode", "in", "-o", "third", "--to", "raw"]).expect(1);
    let run = run.says("error[not-jpeg]").says("4 files: 2 decoded, 1 decoded with warnings, 1 failed");
    assert_eq!(outputs(&folder, ".raw"), ["third/a/b/progressive.raw", "third/a/truncated.raw", "third/gray.raw"]);
    let lines: Vec<_> = std::str::from_utf8(&run.stdout).unwrap().lines().collect();
    assert_eq!(lines.len(), 3);
    assert!(lines[0].starts_with("in/gray.JPG -> third/gray.raw: 640x480 gray8"), "{lines:?}");

    folder.run(&["decode", "in/empty", "-o", "third"]).expect(1).says("error[no-jpeg-files]");
}

#[test]
fn two_files_never_share_an_output() {
    let folder = Folder::with(&["gray.jpg"]);
    fs::copy(sample("cmyk.jpg"), folder.path("gray.jpeg")).unwrap();
    let run = folder.run(&["decode", "gray.jpg", "gray.jpeg", "-o", "out/"]).expect(1);
    run.says("gray.jpeg: error[same-output]: ");
    assert_eq!(read_png(&folder.path("out/gray.png")).0, 640);
}

#[test]
fn standard_input_and_output() {
    let folder = Folder::new();
    let pipe = |args: &[&str], input: &[u8]| {
        let mut command = folder.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        Run::from(child.wait_with_output().unwrap())
    };
    let gray = fs::read(sample("gray.jpg")).unwrap();
    let run = pipe(&["decode", "-", "-o", "-", "--to", "pgm"], &gray).expect(0);
    assert!(run.stdout == pnm("P5", &decode("gray.jpg", DecodeOptions::default().format(PixelFormat::Gray8))));
    assert_eq!(run.stderr, "");

    let truncated = fs::read(sample("truncated.jpg")).unwrap();
    let run = pipe(&["decode", "-", "-o", "-", "--to", "ppm"], &truncated).expect(2).says("stdin: warning: ");
    assert!(run.stdout == pnm("P6", &decode("truncated.jpg", DecodeOptions::default())));

    let run = pipe(&["decode", "-", "-o", "-", "--to", "ppm"], b"nothing").expect(1).says("stdin: error[not-jpeg]: ");
    assert!(run.stdout.is_empty());

    pipe(&["decode", "-", "-o", "here.png"], &gray).expect(0);
    assert_eq!(folder.files(), ["here.png"]);
}

#[test]
fn info_tells_what_is_in_a_file() {
    let folder = Folder::with(&["portrait-exif6.jpg", "progressive.jpg", "truncated.jpg", "cmyk.jpg"]);
    fs::write(folder.path("text.jpg"), "not a picture").unwrap();
    let lines = folder.run(&["info", "--json", "portrait-exif6.jpg", "progressive.jpg"]).expect(0).json_lines();
    let portrait = &lines[0];
    assert_eq!(portrait["file"], "portrait-exif6.jpg");
    assert_eq!(portrait["stored_size"], serde_json::json!({ "width": 1200, "height": 900 }));
    assert_eq!(portrait["display_size"], serde_json::json!({ "width": 900, "height": 1200 }));
    assert_eq!(portrait["orientation"]["exif"], 6);
    assert_eq!(portrait["coding_process"], "baseline");
    assert_eq!((&portrait["sampling"], &portrait["color_model"]), (&"4:2:0".into(), &"YCbCr".into()));
    assert_eq!(portrait["components"].as_array().unwrap().len(), 3);
    assert_eq!(portrait["bytes_total"], fs::metadata(sample("portrait-exif6.jpg")).unwrap().len());
    assert_eq!(portrait["bytes_consumed"], portrait["bytes_total"]);
    assert_eq!(portrait["warnings"], serde_json::json!([]));
    let scans = lines[1]["scans"].as_array().unwrap();
    assert!(lines[1]["coding_process"] == "progressive" && scans.len() > 1);
    assert!(scans.iter().any(|scan| scan["spectral_start"] != 0 && scan["approximation_high"] != 0));

    let run = folder.run(&["info", "portrait-exif6.jpg", "cmyk.jpg"]).expect(0);
    let table = String::from_utf8(run.stdout).unwrap();
    for text in ["900x1200", "6, rotate 90° clockwise", "4:2:0 (2x2, 1x1, 1x1)", "CMYK", "1x1, 1x1, 1x1, 1x1"] {
        assert!(table.contains(text), "{text}: {table}");
    }
    folder.run(&["info", "truncated.jpg"]).expect(2).says("truncated.jpg: warning: ");
    let lines = folder.run(&["info", "--json", "text.jpg", "cmyk.jpg"]).expect(1).json_lines();
    assert_eq!((&lines[0]["error"]["code"], &lines[1]["color_model"]), (&"not-jpeg".into(), &"CMYK".into()));
}

#[test]
fn compare_gives_figures_and_a_heat_map() {
    let folder = Folder::with(&["portrait-exif6.jpg", "gray.jpg"]);
    let run = folder.run(&["compare", "--json", "portrait-exif6.jpg", "--heatmap", "heat.png"]).expect(0);
    let figures = &run.json_lines()[0];
    assert!(figures["max_difference"].as_u64().unwrap() <= 8, "{figures}");
    assert!(figures["mean_absolute_difference"].as_f64().unwrap() < 0.5, "{figures}");
    assert_eq!(figures["samples"], 1200 * 900 * 3);
    let (width, height, color, pixels) = read_png(&folder.path("heat.png"));
    assert_eq!((width, height, color), (1200, 900, png::ColorType::Rgb));
    let black = pixels.chunks(3).filter(|pixel| **pixel == [0, 0, 4]).count();
    assert!(black > 0 && black < 1200 * 900);

    let run = folder.run(&["compare", ".", "--heatmap", "maps", "--amplify", "255"]).expect(0);
    assert!(String::from_utf8(run.stdout).unwrap().contains("gray8"));
    assert_eq!(read_png(&folder.path("maps/gray.png")).0, 640);
    fs::write(folder.path("text.jpg"), "not a picture").unwrap();
    folder.run(&["compare", "gray.jpg", "text.jpg"]).expect(1).says("text.jpg: error[not-jpeg]");
}

#[test]
fn bench_measures_both_decoders() {
    let folder = Folder::with(&["gray.jpg", "progressive.jpg"]);
    let run = folder.run(&["bench", "--rounds", "1", "--json", "gray.jpg", "progressive.jpg"]).expect(0);
    for (line, file) in run.json_lines().iter().zip(["gray.jpg", "progressive.jpg"]) {
        assert_eq!((&line["file"], &line["rounds"]), (&file.into(), &1.into()));
        let total = line["isopel"]["median_ms"].as_f64().unwrap();
        let stages = line["isopel"]["stages"].as_object().unwrap();
        let sum: f64 = stages.values().map(|stage| stage["median_ms"].as_f64().unwrap()).sum();
        assert!(total > 0.0 && (sum - total).abs() < 0.01 * total, "{line}");
        assert!(line["zune_jpeg"]["megapixels_per_second"].as_f64().unwrap() > 0.0);
        assert!(line["median_ratio"].as_f64().unwrap() > 0.0);
    }
    let run = folder.run(&["bench", "--rounds", "1", "--json", "--scale", "1/8", "gray.jpg"]).expect(0);
    let line = &run.json_lines()[0];
    assert_eq!((&line["scale"], &line["width"]), (&"1/8".into(), &640.into()));
    assert!(line["isopel"]["median_ms"].as_f64().unwrap() > 0.0 && line["median_ratio"].is_null(), "{line}");
    folder.run(&["bench", "--rounds", "0", "gray.jpg"]).expect(1);
    folder.run(&["bench", "--seconds", "nan", "gray.jpg"]).expect(1);
}

#[test]
fn backends_are_listed() {
    let table = String::from_utf8(Folder::new().run(&["backends"]).expect(0).stdout).unwrap();
    let lines: Vec<_> = table.lines().collect();
    assert!(lines[1].starts_with("cpu      yes        yes"), "{table}");
    assert!(lines[2].starts_with("wgpu     ") && lines[3].starts_with("cuda     "), "{table}");
    #[cfg(not(feature = "cuda"))]
    assert!(lines[3].starts_with("cuda     no") && lines[3].contains("--features cuda"), "{table}");
    #[cfg(not(feature = "wgpu"))]
    assert!(lines[2].starts_with("wgpu     no") && lines[2].contains("--features wgpu"), "{table}");
    assert!(lines[5].starts_with("kernels of the CPU: "), "{table}");
}

#[cfg(not(feature = "wgpu"))]
#[test]
fn a_backend_that_is_not_built_in_is_an_error() {
    let folder = Folder::with(&["gray.jpg"]);
    let message = "error: this build has no wgpu backend; build with --features wgpu\n";
    for args in [
        &["decode", "gray.jpg", "-o", "out.png", "--backend", "wgpu"][..],
        &["decode", "gray.jpg", "-o", "out.png", "--backend", "wgpu", "--adapter", "any"],
        &["compare", "gray.jpg", "--backend", "cpu,wgpu"],
        &["bench", "gray.jpg", "--backend", "wgpu"],
    ] {
        let run = folder.run(args).expect(1);
        assert_eq!((run.stdout.as_slice(), run.stderr.as_str()), (&b""[..], message), "{args:?}");
    }
    assert_eq!(folder.files(), ["gray.jpg"]);
}
