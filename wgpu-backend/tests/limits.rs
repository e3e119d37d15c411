//! WebGPU's default limits suffice, and pictures larger than a binding are decoded in bands.

use isopel_conformance::backends::on_cpu;
use isopel_conformance::compare::compare_outcomes;
use isopel_conformance::corpus;
use isopel_conformance::gpu;
use isopel_conformance::writer::Baseline;
use isopel_core::{
    DecodeOptions, DisplayRect, FormatRequest, Limits, Orientation, OrientationPolicy, PixelFormat, Size, StoredRect,
};
use isopel_wgpu::{WgpuBackend, WgpuOptions};

fn open() -> Option<WgpuBackend> {
    gpu::open_or_explain(&WgpuOptions::default().webgpu_defaults())
}

fn check(backend: &WgpuBackend, jpeg: &[u8], options: &DecodeOptions, what: &str) {
    let (expected, found) = (on_cpu(jpeg, options), backend.decode(jpeg, options));
    compare_outcomes(&expected, &found).unwrap_or_else(|error| panic!("{what}: {error}"));
}

#[test]
fn hazards_within_the_webgpu_defaults() {
    let Some(backend) = open() else { return };
    for row in corpus::hazard_rows().unwrap() {
        let jpeg = row.bytes().unwrap();
        for options in [
            DecodeOptions::default(),
            DecodeOptions::default().format(FormatRequest::Source).orientation(OrientationPolicy::Ignore),
            DecodeOptions::default()
                .format(PixelFormat::Rgba8)
                .orientation(OrientationPolicy::Set(Orientation::Rotate90)),
        ] {
            check(&backend, &jpeg, &options, &row.file);
        }
    }
}

/// Different in every block, with energy in a few coefficients.
fn pattern(component: usize, column: u32, row: u32, block: &mut [i16; 64]) {
    let mixed = (column.wrapping_mul(2_654_435_761) ^ row.wrapping_mul(40_503)).wrapping_add(component as u32);
    block[0] = (mixed >> 8) as i16 % 60;
    block[1] = (mixed >> 3) as i16 % 16;
    block[2] = (mixed >> 13) as i16 % 16;
    block[9] = (mixed >> 17) as i16 % 8;
}

#[test]
fn gray_of_108_megapixels() {
    let Some(backend) = open() else { return };
    let file = Baseline { size: Size::new(12_000, 9_000), sampling: &[(1, 1)], quantizer: 8 };
    let jpeg = file.write(pattern);
    let gray = DecodeOptions::default().format(PixelFormat::Gray8);
    check(&backend, &jpeg, &gray, "12000x9000 gray");
    let region = gray.region(StoredRect::new(3, 1_234, 11_990, 4_000));
    check(&backend, &jpeg, &region, "a region of 12000x9000 gray");
}

#[test]
fn colour_of_24_megapixels_in_all_directions() {
    let Some(backend) = open() else { return };
    let file = Baseline { size: Size::new(6_001, 4_003), sampling: &[(2, 2), (1, 1), (1, 1)], quantizer: 8 };
    let jpeg = file.write(pattern);
    for orientation in [Orientation::Normal, Orientation::Rotate90, Orientation::Rotate180, Orientation::Transpose] {
        let options = DecodeOptions::default().orientation(OrientationPolicy::Set(orientation));
        check(&backend, &jpeg, &options, &format!("6001x4003, {orientation}"));
    }
    let planes = DecodeOptions::default().format(PixelFormat::ComponentPlanes);
    check(&backend, &jpeg, &planes, "6001x4003 as planes");
    let region = DecodeOptions::default()
        .orientation(OrientationPolicy::Set(Orientation::Rotate270))
        .region(DisplayRect::new(5, 7, 3_991, 5_001));
    check(&backend, &jpeg, &region, "a region of 6001x4003");
}

/// What is told about a damaged picture must not depend on the bands.
#[test]
fn damage_in_one_of_several_bands() {
    let Some(backend) = open() else { return };
    let file = Baseline { size: Size::new(6_000, 4_000), sampling: &[(2, 1), (1, 1), (1, 1)], quantizer: 8 };
    let mut jpeg = file.write(pattern);
    for (percent, zeros) in [(60, 400), (80, 0)] {
        let at = jpeg.len() * percent / 100;
        jpeg[at..at + zeros].fill(0);
        if zeros == 0 {
            jpeg.truncate(at);
        }
        for orientation in [Orientation::Normal, Orientation::Rotate90, Orientation::Rotate180] {
            let options = DecodeOptions::default().orientation(OrientationPolicy::Set(orientation));
            check(&backend, &jpeg, &options, &format!("damaged at {percent} %, {orientation}"));
        }
    }
}

/// 48 million coefficients, none of them 0: more than a block header can count to.
#[test]
fn more_coefficients_than_headers_count() {
    // On all the adapter has: with the default limits the bands are too small for it.
    let Some(backend) = gpu::shared_or_explain() else { return };
    let file = Baseline { size: Size::new(8_000, 6_000), sampling: &[(1, 1)], quantizer: 1 };
    let jpeg = file.write(|_, column, row, block| {
        for (index, value) in (0u32..).zip(block) {
            let mixed = (column ^ row.wrapping_mul(31) ^ index).wrapping_mul(2_654_435_761) >> 24;
            *value = if mixed.is_multiple_of(2) { 1 } else { -2 };
        }
    });
    let options = DecodeOptions::default().format(PixelFormat::Gray8).limits(Limits::none());
    check(backend, &jpeg, &options, "8000x6000 of noise");
}
