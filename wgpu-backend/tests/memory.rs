//! Thousands of submissions leave memory as it was. A process of its own, so that nothing else allocates.

use isopel_conformance::{corpus, gpu};
use isopel_core::cpu::{HostBuffer, HostTarget};
use isopel_core::{Backend, DecodeOptions, Job, PixelFormat};
use isopel_wgpu::wgpu::{self, TextureFormat, TextureUsages};
use isopel_wgpu::{BufferTarget, WgpuAfter, WgpuTarget};

/// Kilobytes of this process in memory; `None` where the system does not say.
fn resident_kilobytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[test]
fn two_thousand_submissions_leave_memory_flat() {
    let Some(backend) = gpu::shared_or_explain() else { return };
    let files: Vec<std::sync::Arc<[u8]>> =
        ["container-base-420.jpg", "coding-progressive-420.jpg", "dims-16x16-420.jpg"]
            .map(|file| corpus::hazard(file).unwrap().into())
            .into();
    let options = DecodeOptions::default().format(PixelFormat::Rgba8);
    let buffer = gpu::buffer(backend.device(), &vec![0; 45 * 37 * 4]);
    let texture = backend.device().create_texture(&wgpu::TextureDescriptor {
        label: None,
        size: wgpu::Extent3d { width: 45, height: 37, depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format: TextureFormat::Rgba8Unorm,
        usage: TextureUsages::COPY_DST,
        view_formats: &[],
    });
    let host = HostBuffer::new(vec![0; 45 * 37 * 4]);
    let target = |index: usize| match index % 3 {
        0 => WgpuTarget::Host(HostTarget::packed(host.clone())),
        1 => WgpuTarget::Buffer(BufferTarget::packed(buffer.clone())),
        _ => WgpuTarget::Texture(texture.clone()),
    };
    let run = |submissions: usize| {
        for index in 0..submissions {
            let jobs = (0..1 + index % 4).map(|job| Job {
                jpeg: files[(index + job) % files.len()].clone(),
                options,
                target: target(index + job),
            });
            let outcomes = backend.submit(jobs.collect(), WgpuAfter::Queue).wait();
            assert!(outcomes.iter().all(|outcome| outcome.result.is_ok()), "submission {index}");
        }
    };
    run(300);
    let before = resident_kilobytes();
    run(2_000);
    let (Some(before), Some(after)) = (before, resident_kilobytes()) else {
        println!("memory: not measured: there is no /proc/self/status");
        return;
    };
    println!("{before} kB before, {after} kB after");
    assert!(after < before + 20_000, "{before} kB before, {after} kB after");
}
