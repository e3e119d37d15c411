//! WebGPU's default limits suffice, and pictures larger than a binding are decoded in bands.

use std::sync::Arc;

use isopel_conformance::backends::{SENTINEL, decode_on_gpu, on_cpu};
use isopel_conformance::compare::compare_outcomes;
use isopel_conformance::random::{self, Random};
use isopel_conformance::writer::Baseline;
use isopel_conformance::{corpus, gpu};
use isopel_core::cpu::{HostBuffer, HostTarget};
use isopel_core::{
    Backend, Codestream, DecodeOptions, DecodePlan, DisplayRect, FormatRequest, Job, Limits, Orientation,
    OrientationPolicy, PixelFormat, Size, StoredRect,
};
use isopel_wgpu::{WgpuAfter, WgpuBackend, WgpuOptions, WgpuTarget, wgpu};

fn open() -> Option<WgpuBackend> {
    gpu::open_or_explain(&WgpuOptions::default().webgpu_defaults())
}

fn check(backend: &WgpuBackend, jpeg: &[u8], options: &DecodeOptions, what: &str) {
    let (expected, found) = (on_cpu(jpeg, options), backend.decode(jpeg, options));
    compare_outcomes(&expected, &found).unwrap_or_else(|error| panic!("{what}: {error}"));
}

/// As one batch.
fn check_all(backend: &WgpuBackend, files: Vec<(String, Vec<u8>, DecodeOptions)>) {
    let (names, files): (Vec<_>, Vec<_>) =
        files.into_iter().map(|(name, jpeg, options)| (name, (Arc::from(jpeg), options))).unzip();
    for ((name, (jpeg, options)), found) in names.iter().zip(&files).zip(decode_on_gpu(backend, &files)) {
        compare_outcomes(&on_cpu(jpeg, options), &found).unwrap_or_else(|error| panic!("{name}: {error}, {options:?}"));
    }
}

fn turned(orientation: Orientation) -> DecodeOptions {
    DecodeOptions::default().orientation(OrientationPolicy::Set(orientation))
}

#[test]
fn hazards_within_the_webgpu_defaults() {
    let Some(backend) = open() else { return };
    let mut files = Vec::new();
    for row in corpus::hazard_rows().unwrap() {
        for options in [
            DecodeOptions::default(),
            DecodeOptions::default().format(FormatRequest::Source).orientation(OrientationPolicy::Ignore),
            turned(Orientation::Rotate90).format(PixelFormat::Rgba8),
        ] {
            files.push((row.file.clone(), row.bytes().unwrap(), options));
        }
    }
    check_all(&backend, files);
}

/// With bindings of half a megabyte, small have several bands.
#[test]
fn many_bands_in_all_orientations_and_formats() {
    const BINDING: u64 = 1 << 19;
    let limits = wgpu::Limits { max_storage_buffer_binding_size: BINDING, ..wgpu::Limits::default() };
    let Some((device, queue)) = gpu::callers_device_or_explain(limits) else { return };
    let backend = gpu::on_callers_device(&device, &queue);
    let mut random = Random::new(random::seed(7));
    let mut files = Vec::new();
    let samplings: [&[(u8, u8)]; 6] = [
        &[(1, 1)],
        &[(1, 1), (1, 1), (1, 1)],
        &[(2, 1), (1, 1), (1, 1)],
        &[(1, 2), (1, 1), (1, 1)],
        &[(2, 2), (1, 1), (1, 1)],
        &[(4, 2), (2, 1), (1, 1)],
    ];
    for sampling in samplings {
        let size = Size::new(301 + random.below_u32(64), 277 + random.below_u32(64));
        let whole = Baseline { size, sampling, quantizer: 8 }.write(pattern);
        let mut damaged = whole.clone();
        let at = damaged.len() / 3 + random.below(damaged.len() / 2);
        damaged[at..at + 20].fill(0);
        for (state, jpeg) in [("whole", whole), ("damaged", damaged)] {
            let name = format!("{size} {sampling:?}, {state}");
            for (orientation, format) in Orientation::ALL.into_iter().zip(PixelFormat::ALL.into_iter().cycle()) {
                files.push((name.clone(), jpeg.clone(), turned(orientation).format(format)));
            }
            for (format, orientation) in PixelFormat::ALL.into_iter().zip(Orientation::ALL.into_iter().rev()) {
                let (x, y) = (random.below_u32(20), random.below_u32(20));
                let rect = DisplayRect::new(x, y, 240 + random.below_u32(40), 230 + random.below_u32(40));
                files.push((name.clone(), jpeg.clone(), turned(orientation).format(format).region(rect)));
            }
        }
    }
    check_all(&backend, files);
}

/// Different in every block, with energy in a few coefficients.
fn pattern(component: usize, column: u32, row: u32, block: &mut [i16; 64]) {
    let mixed = (column.wrapping_mul(2_654_435_761) ^ row.wrapping_mul(40_503)).wrapping_add(component as u32);
    block[0] = (mixed >> 8) as i16 % 60;
    block[1] = (mixed >> 3) as i16 % 16;
    block[2] = (mixed >> 13) as i16 % 16;
    block[9] = (mixed >> 17) as i16 % 8;
}

/// Too large for the default limits: 108 megapixels, and the least that is, where the driver computes on the CPU.
#[test]
fn large_gray_pictures() {
    let Some(backend) = open() else { return };
    let size = if gpu::is_software(&backend) { Size::new(4_100, 4_200) } else { Size::new(12_000, 9_000) };
    let jpeg = Baseline { size, sampling: &[(1, 1)], quantizer: 8 }.write(pattern);
    let gray = DecodeOptions::default().format(PixelFormat::Gray8);
    check(&backend, &jpeg, &gray, "gray");
    check(&backend, &jpeg, &gray.region(StoredRect::new(3, 1_234, 4_000, 1_000)), "a region of gray");
}

#[test]
fn large_pictures_in_colour() {
    let Some(backend) = open() else { return };
    let size = if gpu::is_software(&backend) { Size::new(3_601, 3_303) } else { Size::new(9_001, 7_003) };
    let jpeg = Baseline { size, sampling: &[(2, 2), (1, 1), (1, 1)], quantizer: 8 }.write(pattern);
    check(&backend, &jpeg, &turned(Orientation::Rotate90), "colour");
    let region = turned(Orientation::Rotate180).region(DisplayRect::new(5, 700, 3_591, 900));
    check(&backend, &jpeg, &region, "a region of colour");
}

/// A device whose buffers are small.
fn open_small(max_buffer_size: u64) -> Option<WgpuBackend> {
    let limits =
        wgpu::Limits { max_storage_buffer_binding_size: max_buffer_size, max_buffer_size, ..wgpu::Limits::default() };
    let (device, queue) = gpu::callers_device_or_explain(limits)?;
    Some(gpu::on_callers_device(&device, &queue))
}

/// Host memory takes what no buffer of the device can.
#[test]
fn a_picture_larger_than_the_largest_buffer() {
    let Some(backend) = open_small(1 << 20) else { return };
    let size = Size::new(1_001, 903);
    for sampling in [&[(1, 1)][..], &[(2, 2), (1, 1), (1, 1)]] {
        let jpeg = Baseline { size, sampling, quantizer: 8 }.write(pattern);
        for (format, orientation) in PixelFormat::ALL.into_iter().zip(Orientation::ALL) {
            let what = format!("{sampling:?}, {format}, {orientation}");
            check(&backend, &jpeg, &turned(orientation).format(format), &what);
        }
    }
}

/// The default limits' largest buffer has 256 MiB, less than these pixels.
#[test]
fn host_memory_larger_than_the_default_largest_buffer() {
    let Some(backend) = open() else { return };
    let size = Size::new(8_200, 8_193);
    assert!(u64::from(size.width) * u64::from(size.height) * 4 > backend.device().limits().max_buffer_size);
    let jpeg = Baseline { size, sampling: &[(1, 1)], quantizer: 8 }.write(pattern);
    let options = DecodeOptions::default().format(PixelFormat::Rgba8).limits(Limits::none());
    check(&backend, &jpeg, &options, "269 megabytes");
}

#[test]
fn host_rows_of_a_picture_larger_than_the_largest_buffer_have_gaps() {
    let Some(backend) = open_small(1 << 19) else { return };
    let jpeg = Baseline { size: Size::new(901, 703), sampling: &[(2, 1), (1, 1), (1, 1)], quantizer: 8 }.write(pattern);
    let (offset, stride) = (5, 901 * 3 + 10);
    let host = HostBuffer::new(vec![SENTINEL; offset + stride * 703]);
    let target = WgpuTarget::Host(HostTarget { buffer: host.clone(), offset, stride: Some(stride) });
    let job = Job { jpeg: jpeg.as_slice().into(), options: DecodeOptions::default(), target };
    let outcomes = backend.submit(vec![job], WgpuAfter::Queue).wait();
    let layout = outcomes[0].result.as_ref().unwrap().layout.clone();
    assert_eq!(layout.planes()[0].stride, stride);
    let whole = on_cpu(&jpeg, &DecodeOptions::default()).unwrap().pixels;
    let mut expected = vec![SENTINEL; offset + stride * 703];
    for (row, pixels) in whole.chunks_exact(901 * 3).enumerate() {
        expected[offset + row * stride..][..pixels.len()].copy_from_slice(pixels);
    }
    assert!(*host.lock() == expected);
}

#[test]
fn a_texture_larger_than_the_largest_buffer() {
    let Some(backend) = open_small(1 << 20) else { return };
    let size = wgpu::Extent3d { width: 1_001, height: 903, depth_or_array_layers: 1 };
    let jpeg =
        Baseline { size: Size::new(903, 1_001), sampling: &[(2, 2), (1, 1), (1, 1)], quantizer: 8 }.write(pattern);
    let texture = backend.device().create_texture(&wgpu::TextureDescriptor {
        label: Some("test"),
        size,
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format: wgpu::TextureFormat::Rgba8Unorm,
        usage: wgpu::TextureUsages::COPY_DST | wgpu::TextureUsages::COPY_SRC,
        view_formats: &[],
    });
    let options = turned(Orientation::Rotate270).format(PixelFormat::Rgba8);
    let target = WgpuTarget::Texture(texture.clone());
    let outcomes = backend.submit(vec![Job { jpeg: jpeg.as_slice().into(), options, target }], WgpuAfter::Queue).wait();
    assert!(outcomes[0].result.is_ok(), "{outcomes:?}");
    let expected = on_cpu(&jpeg, &options).unwrap().pixels;
    // No buffer of the device takes the whole texture at once.
    let mut found = Vec::new();
    for top in (0..size.height).step_by(100) {
        let rows = wgpu::Extent3d { height: (size.height - top).min(100), ..size };
        found.extend(gpu::read_texture_rows(backend.device(), backend.queue(), &texture, top, rows.height));
    }
    assert!(found == expected);
}

/// Memory that is allocated for the pixels counts, as on the CPU.
#[test]
fn the_memory_limit_counts_the_output() {
    let Some(backend) = open() else { return };
    let jpeg = corpus::hazard("container-base-420.jpg").unwrap();
    let with_memory = |max_memory| DecodeOptions::default().limits(Limits { max_memory, ..Limits::default() });
    let codestream = Codestream::parse(&jpeg, &Limits::default()).unwrap();
    let plan = DecodePlan::new(&codestream, &DecodeOptions::default()).unwrap();
    let needed = plan.working_memory() + plan.layout().required_len() as u64;
    assert!(backend.decode(&jpeg, &with_memory(needed)).is_ok());
    assert_eq!(backend.decode(&jpeg, &with_memory(needed - 1)).unwrap_err().code(), "limit-memory");
}

/// 48 million coefficients, none of them 0: more than a block header can count to.
#[test]
fn more_coefficients_than_headers_count() {
    let Some(backend) = gpu::shared_or_explain() else { return };
    // Each coefficient takes four bytes of a binding, and the first to overflow is number 2^25.
    if backend.device().limits().max_storage_buffer_binding_size <= 4 << 25 {
        println!("not run: the bindings of {} are too small for a band that large", backend.adapter_name());
        return;
    }
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
