//! isopel decodes JPEG files to libjpeg-turbo's pixels, to the byte: any region, any EXIF orientation, alone or in
//! batches, into memory of your own or of isopel's.
//!
//! ```
//! use isopel::{DecodeOptions, DisplayRect};
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../samples/photo.jpg");
//! let bytes = std::fs::read(path)?;
//! println!("{}", isopel::probe(&bytes)?.display_size()); // reads the header only
//!
//! let options = DecodeOptions::default().region(DisplayRect::new(600, 400, 320, 200));
//! let image = isopel::decode(&bytes, &options)?;
//! assert_eq!(image.pixels.len(), 320 * 200 * 3); // upright RGB
//! for warning in &image.report.warnings {
//!     eprintln!("{warning}"); // damaged files are decoded as far as they go
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`decode`] is all that most programs need. A [`Decoder`] adds the choice of a backend, decoding into the caller's
//! memory and batches on several threads. Everything that [`isopel_core`] exports is here too, for those who want
//! the steps apart: [`Codestream`] -> [`DecodePlan`] -> pixels.
//!
//! [`DecodeOptions::scale`] decodes at 1/2, 1/4 or 1/8 of the size, for thumbnails and previews; [`Scale::covering`] finds
//! the one for a wanted size. Regions then count the pixels of the smaller picture.
//!
//! With the feature `wgpu`, a [`Decoder`] also decodes on any GPU, to the same bytes, and `isopel::wgpu` has the backend
//! for pixels that stay there: buffers, textures and command encoders of the caller's.
//!
//! With the feature `cuda`, a [`Decoder`] decodes with nvJPEG on NVIDIA GPUs, within a level or three of the same pixels
//! by route, and `isopel::cuda_backend` has the backend for pixels that stay there, ordered by the caller's streams.
//!
//! The package also holds the `isopel` command, behind the feature `cli`, which is on by default. Libraries depend
//! on isopel with `default-features = false`.

#![forbid(unsafe_code)]

mod auto;
mod backend_choice;
#[cfg_attr(not(all(feature = "cuda", not(target_arch = "wasm32"))), path = "no_cuda.rs")]
mod cuda;
mod decoder;
mod device;
#[cfg_attr(not(all(feature = "wgpu", not(target_arch = "wasm32"))), path = "no_gpu.rs")]
mod gpu;
#[cfg(all(any(feature = "cuda", feature = "wgpu"), not(target_arch = "wasm32")))]
mod host_memory;

pub use auto::{AUTO_GPU_IMAGES, AUTO_GPU_PIXELS};
pub use backend_choice::{BackendChoice, BackendUnavailable, UnknownBackend};
pub use decoder::{BatchItem, Decoder};
pub use isopel_core::*;
/// The CUDA backend, for pixels that stay on an NVIDIA GPU: its own crate under another name.
#[cfg(feature = "cuda")]
pub use isopel_cuda as cuda_backend;
/// The wgpu backend, for pixels that stay on the GPU: its own crate under another name.
#[cfg(feature = "wgpu")]
pub use isopel_wgpu as wgpu;

/// Decodes one image on this thread into memory allocated for it.
///
/// ```
/// use isopel::{DecodeOptions, PixelFormat, Size};
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../samples/portrait-exif6.jpg");
/// let bytes = std::fs::read(path)?;
/// let image = isopel::decode(&bytes, &DecodeOptions::default().format(PixelFormat::Gray8))?;
/// assert_eq!(image.size(), Size::new(900, 1200)); // upright; it is stored as 1200x900
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Format`] for what is no JPEG, [`Error::Unsupported`] for what isopel does not decode, [`Error::Limit`]
/// for what would cost more than [`DecodeOptions::limits`] allow, [`Error::Misuse`] for a region outside the image,
/// [`Error::Damaged`] for damaged files if [`DecodeOptions::strictness`] asks for it.
pub fn decode(bytes: &[u8], options: &DecodeOptions) -> Result<Image, Error> {
    let codestream = Codestream::parse(bytes, &options.limits)?;
    cpu::decode(&DecodePlan::new(&codestream, options)?)
}

/// Reads the header only, in microseconds: size, coding process, components, orientation, colour model. The limits
/// are the default ones.
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../samples/portrait-exif6.jpg");
/// let bytes = std::fs::read(path)?;
/// let header = isopel::probe(&bytes)?;
/// assert_eq!(header.stored_size().to_string(), "1200x900");
/// assert_eq!(header.orientation().to_exif(), 6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Format`], [`Error::Unsupported`] and [`Error::Limit`], for what comes before the image data.
pub fn probe(bytes: &[u8]) -> Result<Codestream<'_>, Error> {
    Codestream::parse_header(bytes, &Limits::default())
}
