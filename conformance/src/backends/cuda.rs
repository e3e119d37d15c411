//! The CUDA backend's rows: isopel's own kernels, and nvJPEG.

use isopel_core::{Backend, DecodeOptions, DecodePlan, Error, Image, Job};
use isopel_cuda::{CudaAfter, CudaBackend, CudaTarget};

use super::one_buffer::{File, Spacing, decode_in_parts};
use super::{Budget, ConformanceBackend, SENTINEL, is_fit};
use crate::cuda;

/// An odd gap, so that pixels begin at all addresses.
const SPACING: Spacing = Spacing { gap: 5, alignment: 1, max_bytes: 256 << 20 };

/// The CUDA backend with isopel's own kernels.
///
/// # Errors
/// Why there is none.
pub fn cuda_alone() -> Result<Box<dyn ConformanceBackend>, String> {
    cuda::shared().map(|backend| Box::new(Cuda { name: "cuda", backend }) as Box<dyn ConformanceBackend>)
}

pub(super) fn open_nvjpeg() -> Result<Box<dyn ConformanceBackend>, String> {
    cuda::shared_nvjpeg().map(|backend| Box::new(Cuda { name: "nvjpeg", backend }) as Box<dyn ConformanceBackend>)
}

struct Cuda {
    name: &'static str,
    backend: &'static CudaBackend,
}

impl ConformanceBackend for Cuda {
    fn name(&self) -> &'static str {
        self.name
    }

    fn describe(&self) -> String {
        let Some(version) = self.backend.nvjpeg_version() else { return self.backend.device_name().to_owned() };
        let engines = match self.backend.engines() {
            Ok((engines, _)) => format!("{engines} JPEG engines"),
            Err(reason) => format!("no engines: {reason}"),
        };
        format!("{}, nvJPEG {version}, {engines}", self.backend.device_name())
    }

    fn budget(&self) -> Budget {
        Budget { cases: 40_000, ..Budget::ALL }
    }

    fn decodes_entropy_of(&self, plan: &DecodePlan) -> bool {
        self.name == "cuda" && is_fit(plan)
    }

    fn decode(&self, jpeg: &[u8], options: &DecodeOptions) -> Result<Image, Error> {
        self.backend.decode(jpeg, options)
    }

    fn decode_batch(&self, files: &[File]) -> Vec<Result<Image, Error>> {
        let backend = self.backend;
        decode_in_parts(files, &SPACING, |part| {
            let stream = cuda::stream(backend);
            let buffer = cuda::slice(&stream, &vec![SENTINEL; part.len]);
            let jobs = part.files.iter().zip(&part.offsets).map(|((jpeg, options), &offset)| Job {
                jpeg: jpeg.clone(),
                options: *options,
                target: CudaTarget::slice(buffer.clone()).offset(offset).expect("the offset is in the buffer"),
            });
            let outcomes = backend.submit(jobs.collect(), CudaAfter::Stream(stream.clone().into())).wait();
            (outcomes, cuda::read(&stream, &buffer))
        })
    }
}
