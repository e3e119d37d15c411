//! isopel's CUDA backend: kernels that decode from a file's bytes to exact pixels, and, if asked for, nvJPEG's engines,
//! held to the promises of the other backends.
//!
//! Whatever decodes an image - isopel's kernels, the GPU's JPEG engines, nvJPEG on the SMs, isopel on the CPU - decodes
//! into memory that only the backend owns. One kernel then writes the caller's memory: region, orientation, format and
//! pitch in one pass, behind what the caller names. So both edges hold on every route, though the engines themselves heed
//! no stream.
//!
//! Building needs nothing of CUDA; driver and nvJPEG are found at run time, and [`CudaUnavailable`] says what is missing.

#![deny(unsafe_code)]

mod allocator;
mod canonical;
mod context;
mod driver;
mod error;
mod exact;
mod fence;
mod gate;
mod kernels;
mod nvjpeg;
#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod on_host;
mod pool;
mod queue;
mod route;
mod scan_check;
mod staging;
mod submit;
mod target;
mod worker;

pub use context::{CudaBackend, CudaOptions, Ordering, ScanCheck, device_names};
/// The cudarc that this backend's contexts, streams and slices belong to.
pub use cudarc;
pub use error::CudaUnavailable;
pub use fence::CudaFence;
pub use submit::CudaAfter;
pub use target::{CallerEvent, CallerStream, CudaBuffer, CudaTarget};
