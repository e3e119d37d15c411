//! The wgpu backend's row.

use isopel_core::{Backend, DecodeOptions, Error, Image, Job};
use isopel_wgpu::{BufferTarget, WgpuAfter, WgpuBackend, WgpuTarget};

use super::one_buffer::{File, Spacing, decode_in_parts};
use super::{Budget, ConformanceBackend, SENTINEL};
use crate::gpu;

/// A word of sentinels at least, and offsets that targets take.
const SPACING: Spacing = Spacing { gap: 4, alignment: 4, max_bytes: 64 << 20 };

pub(super) fn open() -> Result<Box<dyn ConformanceBackend>, String> {
    gpu::shared().map(|backend| Box::new(Wgpu(backend)) as Box<dyn ConformanceBackend>)
}

struct Wgpu(&'static WgpuBackend);

impl ConformanceBackend for Wgpu {
    fn name(&self) -> &'static str {
        "wgpu"
    }

    fn describe(&self) -> String {
        self.0.adapter_name()
    }

    fn budget(&self) -> Budget {
        if gpu::is_software(self.0) {
            Budget { cases: 2_500, pixels: 200 * 200, real_pixels: 4 << 20 }
        } else {
            Budget { cases: 40_000, ..Budget::ALL }
        }
    }

    /// Into memory of the host.
    fn decode(&self, jpeg: &[u8], options: &DecodeOptions) -> Result<Image, Error> {
        self.0.decode(jpeg, options)
    }

    fn decode_batch(&self, files: &[File]) -> Vec<Result<Image, Error>> {
        decode_on_gpu(self.0, files)
    }
}

/// Decodes files as one submission, or several if they are large, into one buffer of the device, which holds
/// sentinels before and between the pixels of the files.
pub fn decode_on_gpu(backend: &WgpuBackend, files: &[File]) -> Vec<Result<Image, Error>> {
    decode_in_parts(files, &SPACING, |part| {
        let (device, queue) = (backend.device(), backend.queue());
        let buffer = gpu::buffer(device, &vec![SENTINEL; part.len]);
        let jobs = part.files.iter().zip(&part.offsets).map(|((jpeg, options), &offset)| Job {
            jpeg: jpeg.clone(),
            options: *options,
            target: WgpuTarget::Buffer(BufferTarget { buffer: buffer.clone(), offset: offset as u64, stride: None }),
        });
        let outcomes = backend.submit(jobs.collect(), WgpuAfter::Queue).wait();
        (outcomes, gpu::read(device, queue, &buffer))
    })
}
