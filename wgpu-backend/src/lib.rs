//! isopel's wgpu backend: any GPU, natively or through WebGPU, gives the CPU backend's bytes.
//!
//! Entropy decoding runs on the GPU ([`isopel_core::subsequences`] says how) or, where the CPU is faster and for pictures
//! that are not fit for it, on the CPU ([`isopel_core::pack_coefficients`]). Both come to the same: packed, the
//! coefficients that are not 0. Then `dequant_idct` makes samples, and `orient_quads` upsamples, converts and writes
//! pixels in their format, orientation and place, four at a time; `orient` those that do not fill whole words. Batches
//! of mixed pictures share the dispatches.
//!
//! Submissions are ordered by the queue: [`WgpuBackend`] implements [`isopel_core::Backend`], and
//! [`WgpuBackend::encode_into`] records into an encoder of the caller's.

#![deny(unsafe_code)]

mod context;
mod cpu_route;
mod download;
mod error;
mod fence;
mod flags;
mod huffman;
mod in_flight;
mod layout;
mod output;
mod pack_memory;
mod passes;
mod pipelines;
mod pool;
mod profile;
mod read_back;
mod record;
mod staged;
mod stages;
mod submit;
mod table_cache;
mod target;
mod tile;
#[cfg(test)]
mod unfused;
mod upload;
mod wave;
mod write;

#[cfg(not(target_arch = "wasm32"))]
pub use context::adapter_names;
pub use context::{EntropyDecoding, WgpuBackend, WgpuOptions};
pub use error::WgpuUnavailable;
pub use fence::WgpuFence;
pub use profile::{GpuEntropyTimes, GpuStageTimes};
pub use submit::{SubmitOptions, WgpuAfter};
pub use target::{BufferTarget, WgpuTarget};
/// The wgpu that this backend's devices, buffers and textures belong to.
pub use wgpu;
