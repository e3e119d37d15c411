//! The device of a decoder, of whichever kind: files in, pixels in the host's memory out.

use isopel_core::{DecodeOptions, Error, Image, Report};

use crate::cuda::Cuda;
use crate::decoder::BatchItem;
use crate::gpu::Gpu;

/// An open device. Kinds that are not built in have no values.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "it is always boxed")]
pub(crate) enum Device {
    Wgpu(Gpu),
    Cuda(Cuda),
}

impl Device {
    pub(crate) fn decode(&self, bytes: &[u8], options: &DecodeOptions) -> Result<Image, Error> {
        match self {
            Device::Wgpu(gpu) => gpu.decode(bytes, options),
            Device::Cuda(cuda) => cuda.decode(bytes, options),
        }
    }

    pub(crate) fn decode_into(&self, item: &mut BatchItem<'_>) -> Result<Report, Error> {
        match self {
            Device::Wgpu(gpu) => gpu.decode_into(item),
            Device::Cuda(cuda) => cuda.decode_into(item),
        }
    }

    pub(crate) fn decode_batch(&self, files: &[&[u8]], options: &DecodeOptions) -> Vec<Result<Image, Error>> {
        match self {
            Device::Wgpu(gpu) => gpu.decode_batch(files, options),
            Device::Cuda(cuda) => cuda.decode_batch(files, options),
        }
    }

    pub(crate) fn decode_batch_into(&self, items: &mut [BatchItem<'_>]) -> Vec<Result<Report, Error>> {
        match self {
            Device::Wgpu(gpu) => gpu.decode_batch_into(items),
            Device::Cuda(cuda) => cuda.decode_batch_into(items),
        }
    }
}
