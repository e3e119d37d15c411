//! Which work goes to a GPU: all of it, none, or what is large enough.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use isopel_core::{BackendErrorKind, Codestream, DecodeOptions, DecodePlan, Error, Scale};

use crate::device::Device;
use crate::gpu::Gpu;

/// [`BackendChoice::Auto`](crate::BackendChoice::Auto) gives a batch of so many images to a GPU.
///
/// A GPU has to be fed and read back, and entropy decoding stays on the CPU: with fewer images it waits more than
/// it works. Images at a smaller [`Scale`] are none of its work and don't count.
pub const AUTO_GPU_IMAGES: usize = 8;

/// [`BackendChoice::Auto`](crate::BackendChoice::Auto) gives a single image to a GPU if so many pixels of it are
/// asked for, at full size.
pub const AUTO_GPU_PIXELS: u64 = 4_000_000;

/// Whether there is a GPU, and when to use it.
#[derive(Debug)]
pub(crate) enum GpuUse {
    Never,
    Always(Box<Device>),
    WhenWorthIt(AutoGpu),
}

impl Default for GpuUse {
    fn default() -> Self {
        GpuUse::WhenWorthIt(AutoGpu::default())
    }
}

impl GpuUse {
    /// The GPU, if this image is for it.
    pub(crate) fn for_image(&self, bytes: &[u8], options: &DecodeOptions, threads: usize) -> Option<&Device> {
        match self {
            GpuUse::Never => None,
            GpuUse::Always(gpu) => Some(gpu),
            GpuUse::WhenWorthIt(auto) => {
                let full = options.scale == Scale::Full;
                let worth_it = Gpu::BUILT_IN && full && pixels_of(bytes, options) >= AUTO_GPU_PIXELS;
                if worth_it { auto.open(threads) } else { None }
            }
        }
    }

    /// The GPU, if a batch of so many images at full size is for it.
    pub(crate) fn for_batch(&self, images: usize, threads: usize) -> Option<&Device> {
        match self {
            GpuUse::Never => None,
            GpuUse::Always(gpu) => Some(gpu),
            GpuUse::WhenWorthIt(auto) => {
                let worth_it = Gpu::BUILT_IN && images >= AUTO_GPU_IMAGES;
                if worth_it { auto.open(threads) } else { None }
            }
        }
    }

    /// Whether the CPU is to decode what the GPU gave this result for.
    pub(crate) fn gives_way<T>(&self, result: &Result<T, Error>) -> bool {
        let (GpuUse::WhenWorthIt(auto), Err(Error::Backend(error))) = (self, result) else {
            return false;
        };
        if error.kind == BackendErrorKind::DeviceLost {
            auto.lost.store(true, Ordering::Relaxed);
        }
        true
    }
}

/// A GPU that is opened with the first work for it.
#[derive(Debug, Default)]
pub(crate) struct AutoGpu {
    gpu: OnceLock<Option<Box<Device>>>,
    /// Lost devices don't come back.
    lost: AtomicBool,
}

impl AutoGpu {
    fn open(&self, threads: usize) -> Option<&Device> {
        let gpu = self.gpu.get_or_init(|| Gpu::open_hardware(threads).map(Device::Wgpu).map(Box::new)).as_deref();
        gpu.filter(|_| !self.lost.load(Ordering::Relaxed))
    }

    #[cfg(all(test, feature = "wgpu"))]
    pub(crate) fn opened(gpu: Gpu) -> AutoGpu {
        AutoGpu { gpu: Some(Box::new(Device::Wgpu(gpu))).into(), lost: AtomicBool::new(false) }
    }
}

/// Pixels to decode; none if the image can't be decoded at all.
fn pixels_of(bytes: &[u8], options: &DecodeOptions) -> u64 {
    let size = Codestream::parse_header(bytes, &options.limits)
        .and_then(|codestream| Ok(DecodePlan::new(&codestream, options)?.output_size()));
    size.map_or(0, |size| size.pixels())
}
