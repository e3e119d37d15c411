use std::sync::Arc;

use isopel_conformance::backends::{SENTINEL, on_cpu};
use isopel_conformance::random::{self, Random};
use isopel_conformance::{corpus, gpu};
use isopel_core::cpu::{HostBuffer, HostTarget};
use isopel_core::{
    Backend, Codestream, DecodeOptions, DisplayRect, Job, Orientation, OrientationPolicy, PixelFormat, Scale,
};

use super::*;
use crate::record::Memory;
use crate::submit::ReadyJob;
use crate::{BufferTarget, WgpuAfter, WgpuBackend};

fn backend() -> Option<WgpuBackend> {
    let (device, queue) = gpu::callers_device_or_explain(wgpu::Limits::default())?;
    Some(gpu::block_on(WgpuBackend::from_device(device, queue, 2)).expect("the device suffices"))
}

/// Every format and orientation, whole and in part, one tile and many, at offsets and strides that share words between
/// rows: the CPU's bytes, and no other byte of the target is written.
#[test]
fn pixels_and_nothing_else_are_copied() {
    let Some(backend) = backend() else { return };
    let mut random = Random::new(random::seed(31));
    let mut compared = 0;
    for (file, jpeg) in corpus::decodable(100 * 100).expect("the corpus is there") {
        let mut options = DecodeOptions::default()
            .format(PixelFormat::ALL[random.below(PixelFormat::ALL.len())])
            .orientation(OrientationPolicy::Set(Orientation::ALL[random.below(8)]));
        if random.below(2) == 0 {
            options = options.region(DisplayRect::new(random.below_u32(3), random.below_u32(5), 13, 10));
        }
        let codestream = Codestream::parse(&jpeg, &options.limits).expect("it is decodable");
        let Ok(plan) = DecodePlan::new(&codestream, &options) else { continue };
        let row = plan.layout().planes()[0].stride;
        let stride = [None, Some(row + 1), Some(row + 4)][random.below(3)];
        let offset = 4 * random.below(3);
        let layout = stride.map_or(plan.layout().clone(), |stride| plan.layout().clone().with_stride(stride).unwrap());
        let mut expected = vec![SENTINEL; (offset + layout.required_len() + 64).next_multiple_of(4)];
        let memory = gpu::buffer(&backend.device, &expected);
        cpu::decode_into(&plan, &layout, &mut expected[offset..]).expect("it has a plan");

        let place = BufferTarget { buffer: memory.clone(), offset: offset as u64, stride };
        let limits = TileLimits { output_bytes: [64, 1_000, 1 << 20][random.below(3)], ..backend.tile_limits() };
        let prepared = prepare(&plan, WgpuTarget::Buffer(place), limits).expect("the target suffices");
        assert_eq!((prepared.report.route, &prepared.report.layout), (Route::WgpuUpload, &layout));
        let jobs = [ReadyJob::new(0, prepared)];
        let mut encoder = backend.device.create_command_encoder(&Default::default());
        let _ = backend.record(&mut encoder, &jobs, &Memory::Own, None);
        backend.queue.submit([encoder.finish()]);
        let found = gpu::read(&backend.device, &backend.queue, &memory);
        assert!(found == expected, "{}, {}, stride {stride:?}, offset {offset}", file.name(), plan.format());
        compared += 1;
    }
    assert!(compared > 100, "only {compared} were compared");
}

/// Both kinds of jobs in one submission, to all kinds of targets.
#[test]
fn jobs_of_both_kinds_share_a_submission() {
    let Some(backend) = backend() else { return };
    let jpeg: Arc<[u8]> = corpus::hazard("container-base-420.jpg").expect("it is in the corpus").into();
    let options: Vec<DecodeOptions> = Scale::ALL
        .into_iter()
        .chain(Scale::ALL)
        .map(|scale| DecodeOptions::default().format(PixelFormat::Rgba8).scale(scale))
        .collect();
    let expected: Vec<Image> = options.iter().map(|options| on_cpu(&jpeg, options).unwrap()).collect();
    let buffers: Vec<HostBuffer> =
        expected.iter().map(|image| HostBuffer::new(vec![SENTINEL; image.pixels.len()])).collect();
    let textures: Vec<wgpu::Texture> = expected.iter().map(|image| texture(&backend, image)).collect();
    let job = |target, options: &DecodeOptions| Job { jpeg: jpeg.clone(), options: *options, target };
    let to_host = buffers.iter().map(|buffer| WgpuTarget::Host(HostTarget::packed(buffer.clone())));
    let to_textures = textures.iter().map(|texture| WgpuTarget::Texture(texture.clone()));
    let jobs = to_host.zip(&options).chain(to_textures.zip(&options)).map(|(target, options)| job(target, options));
    let outcomes = backend.submit(jobs.collect(), WgpuAfter::Queue).wait();
    for (outcome, image) in outcomes.iter().zip(expected.iter().chain(&expected)) {
        let report = outcome.result.as_ref().expect("they are sound");
        let route = if report.scale == Scale::Full { Route::WgpuFromCoefficients } else { Route::WgpuUpload };
        assert_eq!((report.route, report.scale), (route, image.report.scale));
    }
    for ((image, buffer), texture) in expected.iter().zip(buffers).zip(textures) {
        assert!(*buffer.lock() == image.pixels, "host memory, {}", image.report.scale);
        assert!(pixels_of(&backend, &texture) == image.pixels, "texture, {}", image.report.scale);
    }
}

fn texture(backend: &WgpuBackend, image: &Image) -> wgpu::Texture {
    backend.device.create_texture(&wgpu::TextureDescriptor {
        label: None,
        size: wgpu::Extent3d { width: image.size().width, height: image.size().height, depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format: wgpu::TextureFormat::Rgba8Unorm,
        usage: wgpu::TextureUsages::COPY_DST | wgpu::TextureUsages::COPY_SRC,
        view_formats: &[],
    })
}

fn pixels_of(backend: &WgpuBackend, texture: &wgpu::Texture) -> Vec<u8> {
    let row = 4 * texture.width() as usize;
    let stride = row.next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT as usize);
    let buffer = gpu::buffer(&backend.device, &vec![0; stride * texture.height() as usize]);
    let mut encoder = backend.device.create_command_encoder(&Default::default());
    let layout = wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(stride as u32), rows_per_image: None };
    let target = wgpu::TexelCopyBufferInfo { buffer: &buffer, layout };
    encoder.copy_texture_to_buffer(texture.as_image_copy(), target, texture.size());
    backend.queue.submit([encoder.finish()]);
    let bytes = gpu::read(&backend.device, &backend.queue, &buffer);
    bytes.chunks(stride).flat_map(|bytes| &bytes[..row]).copied().collect()
}
