//! The core of isopel: one JPEG decoder that gives the same pixels everywhere.
//!
//! The way of a JPEG is `&[u8]` -> [`Codestream`] -> [`DecodePlan`] -> pixels. The types are the states:
//! holding one means that the checks before it have passed.
//!
//! ```
//! use isopel_core::{Codestream, DecodeOptions, DecodePlan, cpu};
//! # let bytes = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../samples/portrait-exif6.jpg")).unwrap();
//! let options = DecodeOptions::default();
//! let codestream = Codestream::parse(&bytes, &options.limits)?;
//! let plan = DecodePlan::new(&codestream, &options)?;
//! let image = cpu::decode(&plan)?;
//! assert_eq!(image.size(), codestream.display_size()); // upright
//! assert!(image.report.warnings.is_empty());
//! # Ok::<(), isopel_core::Error>(())
//! ```
//!
//! The pixels are those of libjpeg-turbo's default decode on x86-64, to the byte, at full size and at each smaller
//! [`Scale`].

#![deny(unsafe_code)]

mod backend;
mod codestream;
pub mod cpu;
mod entropy;
mod error;
mod geometry;
mod limits;
mod memory;
mod options;
mod orientation;
mod outcome;
mod pixels;
mod plan;
mod random_crop;
mod scale;
mod simd;
pub mod subsequences;
mod warning;

pub use backend::{Backend, Capabilities, Fence, Job, Outcome, OutcomeSlots, Submission, contained};
pub use codestream::{
    Adobe, Codestream, CodingProcess, ColorModel, Component, Frame, HuffmanClass, HuffmanSpec, Jfif, Marker,
    QuantTable, RestartIndex, Sampling, Scan, ScanComponent, ZIGZAG,
};
pub use entropy::{
    Block, BlockWindow, CodestreamIndex, CoefficientReport, McuRow, PackedCoefficients, block_windows,
    decode_coefficients, pack_coefficients,
};
pub use error::{
    BackendError, BackendErrorKind, Error, FormatError, FormatErrorKind, IndexError, LimitError, MisuseError,
    Unsupported, UnsupportedProcess,
};
pub use geometry::{DisplayRect, Rect, Region, RegionError, Size, Space, StoredRect};
pub use limits::Limits;
pub use options::{DecodeOptions, Strictness};
pub use orientation::{Orientation, OrientationPolicy};
pub use outcome::{Image, Report, Route};
pub use pixels::{FormatRequest, PixelFormat, PixelLayout, PlaneLayout};
pub use plan::{ComponentPlan, Conversion, DecodePlan, McuWindow, PlaneWriting, Upsampling};
pub use random_crop::{RandomCropError, RandomResizedCrop};
pub use scale::{ParseScaleError, Scale};
pub use warning::Warning;
