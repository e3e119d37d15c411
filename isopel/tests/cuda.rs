//! The `Decoder` and the command on an NVIDIA GPU: pixels within the routes' bounds, the CPU's reports and errors.
//!
//! Without CUDA the tests say so and pass, unless ISOPEL_REQUIRE names cuda.

use std::path::{Path, PathBuf};
use std::process::Command;

use isopel::cuda_backend::CudaBackend;
use isopel::{BackendChoice, BackendUnavailable, BatchItem, DecodeOptions, Decoder, DisplayRect, PixelFormat, Route};
use tempfile::TempDir;

const SAMPLES: [&str; 7] =
    ["photo.jpg", "portrait-exif6.jpg", "gray.jpg", "cmyk.jpg", "progressive.jpg", "restart.jpg", "truncated.jpg"];

fn sample_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples").join(name)
}

fn sample(name: &str) -> Vec<u8> {
    std::fs::read(sample_path(name)).unwrap()
}

/// A decoder, if there is a device.
fn cuda() -> Option<Decoder> {
    match CudaBackend::new() {
        Ok(backend) => Some(Decoder::with_cuda(backend)),
        Err(reason) => {
            let required = std::env::var("ISOPEL_REQUIRE").unwrap_or_default();
            assert!(!required.split(',').any(|name| name.trim() == "cuda"), "ISOPEL_REQUIRE names cuda: {reason}");
            eprintln!("cuda: not run: {reason}");
            let error = Decoder::with_backend(BackendChoice::Cuda, 0).unwrap_err();
            assert_eq!(error, BackendUnavailable::Cuda(reason));
            assert_eq!(error.backend(), BackendChoice::Cuda);
            None
        }
    }
}

fn allowed(route: Route) -> u8 {
    match route {
        Route::CudaExact | Route::CudaUpload => 0,
        Route::CudaEngines => 1,
        _ => 3,
    }
}

fn assert_close(route: Route, cpu: &[u8], cuda: &[u8]) {
    assert_eq!(cpu.len(), cuda.len());
    let difference = cpu.iter().zip(cuda).map(|(cpu, cuda)| cpu.abs_diff(*cuda)).max().unwrap();
    assert!(difference <= allowed(route), "{route}: {difference}");
}

#[test]
fn batches_are_the_cpus_within_the_bounds() {
    let Some(cuda) = cuda() else { return };
    assert_eq!(cuda.backend(), "cuda");
    let cpu = Decoder::with_backend(BackendChoice::Cpu, 2).unwrap();
    let mut files = SAMPLES.map(sample).to_vec();
    files.push(b"no picture".to_vec());
    let files: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
    for format in [PixelFormat::Rgb8, PixelFormat::Gray8, PixelFormat::Rgb8Planar, PixelFormat::ComponentPlanes] {
        let options = DecodeOptions::default().format(format);
        for (cpu, cuda) in cpu.decode_batch(&files, &options).into_iter().zip(cuda.decode_batch(&files, &options)) {
            match (cpu, cuda) {
                (Ok(cpu), Ok(mut cuda)) => {
                    assert_close(cuda.report.route, &cpu.pixels, &cuda.pixels);
                    cuda.report.route = Route::Cpu;
                    assert_eq!(cuda.report, cpu.report);
                }
                (cpu, cuda) => assert_eq!(cpu.err(), cuda.err()),
            }
        }
    }
}

#[test]
fn rows_with_gaps_leave_the_gaps_alone() {
    let Some(cuda) = cuda() else { return };
    let (jpeg, options) = (sample("photo.jpg"), DecodeOptions::default().region(DisplayRect::new(101, 50, 31, 20)));
    let expected = isopel::decode(&jpeg, &options).unwrap();
    let mut rows = vec![0xA5; 100 * 20];
    let item = BatchItem { jpeg: &jpeg, options, output: &mut rows, stride: Some(100) };
    let report = cuda.decode_batch_into(vec![item]).remove(0).unwrap();
    assert_eq!(report.layout.planes()[0].stride, 100);
    for (row, expected) in rows.chunks(100).zip(expected.pixels.chunks(93)) {
        assert_close(report.route, expected, &row[..93]);
        assert!(row[93..].iter().all(|&byte| byte == 0xA5));
    }
}

#[test]
fn the_command_decodes_compares_and_lists() {
    let is_there = cuda().is_some();
    let folder = TempDir::new().unwrap();
    for name in SAMPLES {
        std::fs::copy(sample_path(name), folder.path().join(name)).unwrap();
    }
    let run = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_isopel")).current_dir(&folder).args(args).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    };
    let (code, table, _) = run(&["backends"]);
    let row = table.lines().find(|line| line.starts_with("cuda")).unwrap();
    assert!(code == 0 && row.contains("bounded") == is_there, "{table}");
    let (code, stdout, stderr) = run(&["decode", "gray.jpg", "-o", "out.png", "--backend", "cuda"]);
    if !is_there {
        assert!(code == 1 && stderr.contains("the cuda backend can't be used"), "{stderr}");
        return;
    }
    assert!(table.contains("nvJPEG ") && table.contains("JPEG engines: ") && table.contains("routes: "), "{table}");
    assert!(code == 0 && stdout.contains("cuda"), "{stdout} {stderr}");
    let (code, stdout, stderr) = run(&["compare", "photo.jpg", "gray.jpg", "--backend", "cpu,cuda"]);
    assert!(code == 0 && stdout.contains("cuda, "), "{code} {stdout} {stderr}");
    let (code, stdout, stderr) = run(&["bench", "gray.jpg", "--rounds", "1", "--backend", "cuda"]);
    assert!(code == 0 && stdout.contains("cuda, batch 16"), "{code} {stdout} {stderr}");
}
