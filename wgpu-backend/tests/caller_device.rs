//! A device of the caller's own, with no more than the default limits and no features.

use std::sync::Arc;

use isopel_conformance::backends::{decode_on_gpu, on_cpu};
use isopel_conformance::compare::compare_outcomes;
use isopel_conformance::{corpus, gpu};
use isopel_core::{Backend, DecodeOptions, FormatRequest, Job, Orientation, OrientationPolicy};
use isopel_wgpu::{BufferTarget, WgpuAfter, WgpuTarget, wgpu};

#[test]
fn pixels_stay_on_the_callers_device() {
    let Some((device, queue)) = gpu::callers_device_or_explain(wgpu::Limits::default()) else { return };
    let backend = gpu::on_callers_device(&device, &queue);
    assert_eq!(*backend.device(), device);
    let jpeg = corpus::hazard("container-base-420.jpg").unwrap();
    // The buffer comes from the caller's handle, not from the backend's.
    let buffer = gpu::buffer(&device, &[0; 4_996]);
    let target = WgpuTarget::Buffer(BufferTarget::packed(buffer.clone()));
    let job = Job { jpeg: jpeg.as_slice().into(), options: DecodeOptions::default(), target };
    assert!(backend.submit(vec![job], WgpuAfter::Queue).wait()[0].result.is_ok());
    let expected = on_cpu(&jpeg, &DecodeOptions::default()).unwrap().pixels;
    assert!(gpu::read(&device, &queue, &buffer)[..expected.len()] == expected);
}

#[test]
fn default_limits_decode_the_corpus() {
    let Some((device, queue)) = gpu::callers_device_or_explain(wgpu::Limits::default()) else { return };
    check_corpus(&device, &queue);
}

/// Fewer: what WebGPU's compatibility mode and old GPUs have.
#[test]
fn downlevel_limits_decode_the_corpus() {
    let Some((device, queue)) = gpu::callers_device_or_explain(wgpu::Limits::downlevel_defaults()) else { return };
    match gpu::try_on_callers_device(&device, &queue) {
        Ok(_) => check_corpus(&device, &queue),
        // Too few is allowed to be an error, as long as it is one.
        Err(reason) => println!("downlevel limits: {reason}"),
    }
}

fn check_corpus(device: &wgpu::Device, queue: &wgpu::Queue) {
    let backend = gpu::on_callers_device(device, queue);
    let files: Vec<_> = corpus::decodable(700 * 700)
        .unwrap()
        .into_iter()
        .flat_map(|(_, jpeg)| {
            let jpeg: Arc<[u8]> = jpeg.into();
            [
                (jpeg.clone(), DecodeOptions::default().format(FormatRequest::Source)),
                (jpeg, DecodeOptions::default().orientation(OrientationPolicy::Set(Orientation::Transpose))),
            ]
        })
        .collect();
    for (index, ((jpeg, options), found)) in files.iter().zip(decode_on_gpu(&backend, &files)).enumerate() {
        let expected = on_cpu(jpeg, options);
        compare_outcomes(&expected, &found).unwrap_or_else(|error| panic!("file {index}: {error}"));
    }
}

/// Errors of the caller's own go to the caller's own scopes and handlers.
#[test]
fn the_callers_error_scopes_are_left_alone() {
    let Some((device, queue)) = gpu::callers_device_or_explain(wgpu::Limits::default()) else { return };
    let backend = gpu::on_callers_device(&device, &queue);
    let scope = device.push_error_scope(wgpu::ErrorFilter::Validation);
    let jpeg = corpus::hazard("container-base-420.jpg").unwrap();
    assert!(backend.decode(&jpeg, &DecodeOptions::default()).is_ok());
    // A mistake of the caller's: a buffer with usages that exclude each other.
    let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::STORAGE;
    let _ = device.create_buffer(&wgpu::BufferDescriptor { label: None, size: 4, usage, mapped_at_creation: false });
    assert!(backend.decode(&jpeg, &DecodeOptions::default()).is_ok());
    assert!(gpu::block_on(scope.pop()).is_some());
}
