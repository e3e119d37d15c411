//! The `Decoder` and the command on a GPU: the CPU's pixels, reports, errors and messages.
//!
//! Without an adapter the tests say so and pass, unless ISOPEL_REQUIRE names wgpu.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use isopel::wgpu::{WgpuBackend, WgpuOptions};
use isopel::{
    BackendChoice, BackendUnavailable, BatchItem, DecodeOptions, Decoder, DisplayRect, Error, Image, Limits,
    Orientation, OrientationPolicy, PixelFormat, Route, Scale,
};
use serde_json::Value;
use tempfile::TempDir;

const SAMPLES: [&str; 7] =
    ["photo.jpg", "portrait-exif6.jpg", "gray.jpg", "cmyk.jpg", "progressive.jpg", "restart.jpg", "truncated.jpg"];
const SENTINEL: u8 = 0xA5;

fn sample_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples").join(name)
}

fn sample(name: &str) -> Vec<u8> {
    fs::read(sample_path(name)).unwrap()
}

/// The backend, if there is an adapter.
fn backend() -> Option<WgpuBackend> {
    match WgpuBackend::new() {
        Ok(backend) => Some(backend),
        Err(reason) => {
            let required = std::env::var("ISOPEL_REQUIRE").unwrap_or_default();
            assert!(!required.split(',').any(|name| name.trim() == "wgpu"), "ISOPEL_REQUIRE names wgpu: {reason}");
            eprintln!("wgpu: not run: {reason}");
            None
        }
    }
}

fn cpu() -> Decoder {
    Decoder::with_backend(BackendChoice::Cpu, 1).unwrap()
}

/// Equal but for the route, which has to be the GPU's: of coefficients, or at a smaller scale of pixels.
#[track_caller]
fn assert_gpu_equals_cpu(gpu: Result<Image, Error>, cpu: Result<Image, Error>) {
    match (gpu, cpu) {
        (Ok(mut gpu), Ok(cpu)) => {
            let full = gpu.report.scale == Scale::Full;
            assert_eq!(gpu.report.route, if full { Route::WgpuFromCoefficients } else { Route::WgpuUpload });
            gpu.report.route = Route::Cpu;
            assert_eq!(gpu.report, cpu.report);
            assert!(gpu.pixels == cpu.pixels);
        }
        (gpu, cpu) => assert_eq!(gpu, cpu),
    }
}

#[test]
fn single_images_equal_the_cpus() {
    let Some(backend) = backend() else { return };
    let (gpu, cpu) = (Decoder::with_wgpu(backend), cpu());
    assert_eq!(gpu.backend(), "wgpu");
    let options = DecodeOptions::default();
    let requests = [
        options,
        options.format(PixelFormat::Rgb8Planar).region(DisplayRect::new(33, 17, 101, 59)),
        options.format(PixelFormat::ComponentPlanes).orientation(OrientationPolicy::Set(Orientation::Rotate90)),
        options.scale(Scale::Half),
        options.scale(Scale::Eighth).format(PixelFormat::Rgba8).region(DisplayRect::new(9, 5, 31, 20)),
        options.region(DisplayRect::new(0, 0, 1, 100_000)),
        options.limits(Limits { max_memory: 100_000, ..Limits::default() }),
    ];
    for name in SAMPLES {
        for options in &requests {
            let bytes = sample(name);
            assert_gpu_equals_cpu(gpu.decode(&bytes, options), cpu.decode(&bytes, options));
        }
    }
    assert_eq!(gpu.decode(b"garbage", &options).unwrap_err().code(), "not-jpeg");
}

#[test]
fn decode_into_leaves_the_bytes_between_rows_alone() {
    let Some(backend) = backend() else { return };
    let (gpu, bytes, options) = (Decoder::with_wgpu(backend), sample("portrait-exif6.jpg"), DecodeOptions::default());
    let decode = |decoder: &Decoder, stride, len| {
        let mut output = vec![SENTINEL; len];
        let report = decoder.decode_into(&bytes, &options, &mut output, stride);
        (report.map(|report| report.layout), output)
    };
    for (stride, len) in [(Some(3000), 3000 * 1200), (None, 2700 * 1200), (None, 2700 * 1200 + 77)] {
        let (expected, found) = (decode(&cpu(), stride, len), decode(&gpu, stride, len));
        assert!(expected.0.is_ok() && expected == found, "{stride:?} {len}");
    }
    for (stride, len) in [(Some(2699), 3000 * 1200), (None, 2700 * 1200 - 1), (Some(usize::MAX), 3000 * 1200)] {
        let (expected, found) = (decode(&cpu(), stride, len), decode(&gpu, stride, len));
        assert_eq!(expected.0, found.0);
        assert!(found.0.is_err() && found.1.iter().all(|&byte| byte == SENTINEL), "{stride:?} {len}");
    }
}

#[test]
fn batches_give_one_result_per_image_whatever_the_others_are() {
    let Some(backend) = backend() else { return };
    let gpu = Decoder::with_wgpu(backend);
    let mut files: Vec<Vec<u8>> = SAMPLES.into_iter().map(sample).collect();
    files.insert(1, b"garbage".to_vec());
    files.insert(4, Vec::new());
    files.push(sample("photo.jpg")[..300].to_vec());
    let files: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
    let options = DecodeOptions::default();
    let (found, expected) = (gpu.decode_batch(&files, &options), cpu().decode_batch(&files, &options));
    assert_eq!(found.len(), files.len());
    assert_eq!(found.iter().filter(|result| result.is_err()).count(), 3);
    for (found, expected) in found.into_iter().zip(expected) {
        assert_gpu_equals_cpu(found, expected);
    }
    assert!(gpu.decode_batch(&[], &options).is_empty());
}

#[test]
fn batches_into_write_each_items_own_region_and_stride() {
    let Some(backend) = backend() else { return };
    let gpu = Decoder::with_wgpu(backend);
    let (photo, gray) = (sample("photo.jpg"), sample("gray.jpg"));
    let crop = DecodeOptions::default().region(DisplayRect::new(33, 17, 100, 50));
    let decode = |decoder: &Decoder| {
        let mut outputs = [320 * 50, 64, 10, 3 * 5000].map(|len| vec![SENTINEL; len]);
        let [strided, untouched, short, planar] = &mut outputs;
        let items = vec![
            BatchItem { jpeg: &photo, options: crop, output: strided, stride: Some(320) },
            BatchItem { jpeg: b"garbage", options: crop, output: untouched, stride: None },
            BatchItem { jpeg: &gray, options: crop.format(PixelFormat::Gray8), output: short, stride: None },
            BatchItem { jpeg: &photo, options: crop.format(PixelFormat::Rgb8Planar), output: planar, stride: None },
        ];
        let results = decoder.decode_batch_into(items);
        let results: Vec<_> = results.into_iter().map(|result| result.map(|report| report.layout)).collect();
        (results, outputs)
    };
    let (found, expected) = (decode(&gpu), decode(&cpu()));
    assert_eq!(found.0, expected.0);
    assert!(found.1 == expected.1);
}

#[test]
fn a_named_backend_never_gives_way() {
    let Some(backend) = backend() else { return };
    backend.device().destroy();
    let gpu = Decoder::with_wgpu(backend);
    let error = gpu.decode(&sample("gray.jpg"), &DecodeOptions::default()).unwrap_err();
    assert!(matches!(&error, Error::Backend(error) if error.backend == "wgpu"), "{error:?}");
}

#[test]
fn an_adapter_that_is_not_there_is_named() {
    let unavailable = WgpuBackend::with_options(&WgpuOptions::default().adapter("no such adapter")).unwrap_err();
    let error = BackendUnavailable::from(unavailable);
    assert_eq!(error.backend(), BackendChoice::Wgpu);
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.contains("no such adapter"), "{source}");
}

/// Runs the command; gives the exit code, the standard output and stderr.
fn run(folder: &Path, args: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_isopel")).current_dir(folder).args(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn folder_with(names: &[&str]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for name in names {
        fs::copy(sample_path(name), folder.path().join(name)).unwrap();
    }
    folder
}

#[test]
fn the_command_names_what_is_missing() {
    let folder = folder_with(&["gray.jpg"]);
    let decode = |args: &[&str]| run(folder.path(), &[&["decode", "gray.jpg", "-o", "out.ppm"], args].concat());
    let (code, _, stderr) = decode(&["--backend", "wgpu", "--adapter", "no such adapter"]);
    assert!(code == 1 && stderr.contains("no such adapter"), "{code} {stderr}");
    let (code, _, stderr) = decode(&["--adapter", "any"]);
    assert!(code == 1 && stderr.contains("--backend wgpu"), "{code} {stderr}");
    let (code, stdout, _) = run(folder.path(), &["backends", "--adapter", "no such adapter"]);
    assert!(code == 0 && stdout.contains("no such adapter"), "{code} {stdout}");
    assert!(!folder.path().join("out.ppm").exists());
}

#[test]
fn the_command_decodes_the_cpus_pixels() {
    if backend().is_none() {
        return;
    }
    let folder = folder_with(&SAMPLES);
    for (backend, out) in [("cpu", "a"), ("wgpu", "b")] {
        let args = ["decode", ".", "-o", out, "--to", "ppm", "--backend", backend, "--threads", "2"];
        let (code, stdout, stderr) = run(folder.path(), &args);
        assert!(code == 2 && stderr.contains("truncated.jpg: warning: "), "{code} {stderr}");
        assert_eq!(stdout.contains("(wgpu, from coefficients)"), backend == "wgpu", "{stdout}");
    }
    for name in SAMPLES {
        let read = |out: &str| fs::read(folder.path().join(out).join(name).with_extension("ppm")).unwrap();
        assert!(read("a") == read("b"), "{name}");
    }
}

#[test]
fn the_command_compares_the_backends() {
    if backend().is_none() {
        return;
    }
    let folder = folder_with(&SAMPLES);
    let args = ["compare", ".", "--backend", "cpu,wgpu", "--heatmap", "maps", "--json"];
    let (code, stdout, stderr) = run(folder.path(), &args);
    assert_eq!(code, 0, "{stderr}");
    let lines: Vec<Value> = stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), SAMPLES.len());
    for line in &lines {
        let wgpu = &line["backends"][0];
        assert_eq!((&wgpu["backend"], &wgpu["route"]), (&"wgpu".into(), &"wgpu, from coefficients".into()));
        assert_eq!((&wgpu["max_difference"], &wgpu["first_difference"]), (&0.into(), &Value::Null));
        assert!(wgpu["broken_promise"].is_null() && wgpu["heatmap"].as_str().unwrap().ends_with(".wgpu.png"));
    }
    assert!(folder.path().join("maps/gray.png").exists() && folder.path().join("maps/gray.wgpu.png").exists());
    let (_, table, _) = run(folder.path(), &["compare", "photo.jpg", "--backend", "wgpu"]);
    assert!(table.lines().any(|line| line.contains("wgpu, from coefficients") && line.contains("equal")), "{table}");
}

#[test]
fn the_command_times_and_lists_the_gpu() {
    let Some(backend) = backend() else { return };
    let folder = folder_with(&["gray.jpg"]);
    let (code, stdout, stderr) =
        run(folder.path(), &["bench", "gray.jpg", "--rounds", "1", "--backend", "wgpu", "--json"]);
    assert_eq!(code, 0, "{stderr}");
    let batches = &serde_json::from_str::<Value>(&stdout).unwrap()["batches"];
    assert_eq!(batches["adapter"], backend.adapter_name());
    for (figures, images) in [("single", 1), ("batch", 16), ("cpu_batch", 16)] {
        assert_eq!(batches[figures]["images"], images);
        assert!(batches[figures]["images_per_second"].as_f64().unwrap() > 0.0);
    }
    let (code, table, _) = run(folder.path(), &["backends"]);
    let row = table.lines().find(|line| line.starts_with("wgpu")).unwrap();
    assert!(code == 0 && row.contains("yes") && row.contains(&backend.adapter_name()), "{table}");
    assert!(table.contains("self-test: passed") && table.contains("storage bindings"), "{table}");
}
