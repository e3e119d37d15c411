//! The wgpu backend's row.

use isopel_core::{Backend, DecodeOptions, DecodePlan, Error, Image, Job};
use isopel_wgpu::{BufferTarget, EntropyDecoding, WgpuAfter, WgpuBackend, WgpuTarget};

use super::one_buffer::{File, Spacing, decode_in_parts};
use super::{Budget, ConformanceBackend, SENTINEL, is_fit};
use crate::gpu;

/// A word of sentinels at least, and offsets that targets take.
const SPACING: Spacing = Spacing { gap: 4, alignment: 4, max_bytes: 64 << 20 };

pub(super) fn open() -> Result<Box<dyn ConformanceBackend>, String> {
    gpu::shared().map(|backend| {
        Box::new(Wgpu { name: "wgpu", entropy: EntropyDecoding::Auto, backend }) as Box<dyn ConformanceBackend>
    })
}

/// The wgpu backend twice: with entropy decoding on the CPU, and on the GPU for all files that are fit for it.
///
/// # Errors
/// Why there is none.
pub fn wgpu_both_ways() -> Result<Vec<Box<dyn ConformanceBackend>>, String> {
    let ways = [("wgpu, entropy on the CPU", EntropyDecoding::Cpu), ("wgpu, entropy on the GPU", EntropyDecoding::Gpu)];
    let open = |(name, entropy)| {
        let backend = gpu::shared_with(entropy)?;
        Ok(Box::new(Wgpu { name, entropy, backend }) as Box<dyn ConformanceBackend>)
    };
    ways.into_iter().map(open).collect()
}

struct Wgpu {
    name: &'static str,
    entropy: EntropyDecoding,
    backend: &'static WgpuBackend,
}

impl ConformanceBackend for Wgpu {
    fn name(&self) -> &'static str {
        self.name
    }

    fn describe(&self) -> String {
        self.backend.adapter_name()
    }

    fn budget(&self) -> Budget {
        if gpu::is_software(self.backend) {
            Budget { cases: 2_500, pixels: 200 * 200, real_pixels: 4 << 20 }
        } else {
            Budget { cases: 40_000, ..Budget::ALL }
        }
    }

    /// Not of regions of several scans, of which the CPU reads more.
    fn decodes_entropy_of(&self, plan: &DecodePlan) -> bool {
        let frame_end = plan.codestream().frame().mcus().height;
        let is_whole = plan.codestream().scans().len() == 1 || plan.mcus().rows.end == frame_end;
        self.entropy == EntropyDecoding::Gpu && is_whole && is_fit(plan)
    }

    /// Into memory of the host.
    fn decode(&self, jpeg: &[u8], options: &DecodeOptions) -> Result<Image, Error> {
        self.backend.decode(jpeg, options)
    }

    fn decode_batch(&self, files: &[File]) -> Vec<Result<Image, Error>> {
        decode_on_gpu(self.backend, files)
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
