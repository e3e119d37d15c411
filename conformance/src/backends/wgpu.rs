//! The wgpu backend's row.

use std::sync::Arc;

use isopel_core::{Backend, DecodeOptions, Error, Image, Job};
use isopel_wgpu::{BufferTarget, WgpuAfter, WgpuBackend, WgpuTarget};

use super::{Budget, ConformanceBackend, SENTINEL, packed_len};
use crate::gpu;

type File = (Arc<[u8]>, DecodeOptions);

/// Sentinels between the pixels of a batch: a word at least, and as many bytes as make the next offset a multiple of 4.
const GAP: usize = 4;
/// A batch is split where its pixels would take more than this.
const MAX_BATCH_BYTES: usize = 64 << 20;

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
    let mut images = Vec::with_capacity(files.len());
    let mut rest = files;
    while !rest.is_empty() {
        let (offsets, len) = offsets(rest);
        let (part, later) = rest.split_at(offsets.len());
        images.extend(decode_part(backend, part, &offsets, len));
        rest = later;
    }
    images
}

/// Where in a buffer the pixels of the first files begin, as many as fit into it; and the buffer's length.
fn offsets(files: &[File]) -> (Vec<usize>, usize) {
    let mut offsets = Vec::new();
    let mut end = GAP;
    for (jpeg, options) in files {
        // Files without a plan need no room.
        let len = packed_len(jpeg, options).unwrap_or(0);
        if !offsets.is_empty() && end + len > MAX_BATCH_BYTES {
            break;
        }
        offsets.push(end);
        end = (end + len + GAP).next_multiple_of(4);
    }
    (offsets, end)
}

fn decode_part(backend: &WgpuBackend, files: &[File], offsets: &[usize], len: usize) -> Vec<Result<Image, Error>> {
    let (device, queue) = (backend.device(), backend.queue());
    let buffer = gpu::buffer(device, &vec![SENTINEL; len]);
    let jobs = files.iter().zip(offsets).map(|((jpeg, options), &offset)| Job {
        jpeg: jpeg.clone(),
        options: *options,
        target: WgpuTarget::Buffer(BufferTarget { buffer: buffer.clone(), offset: offset as u64, stride: None }),
    });
    let outcomes = backend.submit(jobs.collect(), WgpuAfter::Queue).wait();
    assert_eq!(outcomes.len(), files.len(), "one outcome per job");
    let bytes = gpu::read(device, queue, &buffer);
    let is_untouched = |gap: &[u8]| gap.iter().all(|&byte| byte == SENTINEL);
    let mut gap_start = 0;
    let mut images = Vec::with_capacity(files.len());
    for (index, (outcome, &offset)) in outcomes.into_iter().zip(offsets).enumerate() {
        assert_eq!(outcome.index, index, "outcomes come in the jobs' order");
        assert!(is_untouched(&bytes[gap_start..offset]), "job {index}: bytes {gap_start} to {offset} are not its");
        gap_start = match &outcome.result {
            Ok(report) => offset + report.layout.required_len(),
            // What failed may have written anything into its place.
            Err(_) => offsets.get(index + 1).copied().unwrap_or(len),
        };
        images.push(outcome.result.map(|report| Image { pixels: bytes[offset..gap_start].to_vec(), report }));
    }
    assert!(is_untouched(&bytes[gap_start..]), "bytes from {gap_start} are nobody's");
    images
}
