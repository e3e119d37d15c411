//! The CUDA backend's row.

use std::sync::Arc;

use isopel_core::{Backend, DecodeOptions, Error, Image, Job};
use isopel_cuda::{CudaAfter, CudaBackend, CudaTarget};

use super::{Budget, ConformanceBackend, SENTINEL, packed_len};
use crate::cuda;

type File = (Arc<[u8]>, DecodeOptions);

/// Sentinels between the pixels of a batch; odd, so that pixels begin at all addresses.
const GAP: usize = 5;
/// A batch is split where its pixels would take more than this.
const MAX_BATCH_BYTES: usize = 256 << 20;

pub(super) fn open() -> Result<Box<dyn ConformanceBackend>, String> {
    cuda::shared().map(|backend| Box::new(Cuda(backend)) as Box<dyn ConformanceBackend>)
}

struct Cuda(&'static CudaBackend);

impl ConformanceBackend for Cuda {
    fn name(&self) -> &'static str {
        "cuda"
    }

    fn describe(&self) -> String {
        let engines = match self.0.engines() {
            Ok((engines, _)) => format!("{engines} JPEG engines"),
            Err(reason) => format!("no engines: {reason}"),
        };
        format!("{}, nvJPEG {}, {engines}", self.0.device_name(), self.0.nvjpeg_version())
    }

    fn budget(&self) -> Budget {
        Budget { cases: 40_000, ..Budget::ALL }
    }

    fn decode(&self, jpeg: &[u8], options: &DecodeOptions) -> Result<Image, Error> {
        self.0.decode(jpeg, options)
    }

    fn decode_batch(&self, files: &[File]) -> Vec<Result<Image, Error>> {
        let mut images = Vec::with_capacity(files.len());
        let mut rest = files;
        while !rest.is_empty() {
            let (offsets, len) = offsets(rest);
            let (part, later) = rest.split_at(offsets.len());
            images.extend(decode_part(self.0, part, &offsets, len));
            rest = later;
        }
        images
    }
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
        end += len + GAP;
    }
    (offsets, end)
}

/// One submission into one buffer of the device, which holds sentinels before and between the pixels of the files.
fn decode_part(backend: &CudaBackend, files: &[File], offsets: &[usize], len: usize) -> Vec<Result<Image, Error>> {
    let stream = cuda::stream(backend);
    let buffer = cuda::slice(&stream, &vec![SENTINEL; len]);
    let jobs = files.iter().zip(offsets).map(|((jpeg, options), &offset)| Job {
        jpeg: jpeg.clone(),
        options: *options,
        target: CudaTarget::slice(buffer.clone()).offset(offset).expect("the offset is in the buffer"),
    });
    let outcomes = backend.submit(jobs.collect(), CudaAfter::Stream(stream.clone().into())).wait();
    assert_eq!(outcomes.len(), files.len(), "one outcome per job");
    let bytes = cuda::read(&stream, &buffer);
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
