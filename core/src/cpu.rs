//! The CPU backend: the exact decoder, and the oracle for all others.

mod allocation;
mod backend;
pub(crate) mod color;
pub(crate) mod dequant_idct;
mod fence;
mod orient;
#[cfg(not(target_arch = "wasm32"))]
mod parallel;
mod reconstruct;
pub(crate) mod reduced_idct;
mod rows;
mod stage;
pub(crate) mod upsample;

#[cfg(not(target_arch = "wasm32"))]
pub use backend::install_and_wait;
pub use backend::{CpuBackend, HostBuffer, HostTarget};
pub use fence::{CpuFence, CpuSignal};
#[cfg(not(target_arch = "wasm32"))]
pub use parallel::{decode_in_pieces, decode_parallel, decode_parallel_into};
pub use stage::StageTimes;

use std::time::Duration;

use crate::entropy::decode_coefficients;
use crate::error::{Error, MisuseError};
use crate::outcome::{Image, Report, Route};
use crate::pixels::PixelLayout;
use crate::plan::DecodePlan;
use crate::simd::Level;
use allocation::allocate;
use reconstruct::Reconstruction;
use stage::{Stage, StageClock, system_clock};

/// Decodes a plan on this thread into memory allocated for it.
///
/// ```
/// use isopel_core::{Codestream, DecodeOptions, DecodePlan, Limits, cpu};
/// # let bytes = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../samples/gray.jpg")).unwrap();
/// let codestream = Codestream::parse(&bytes, &Limits::default())?;
/// let plan = DecodePlan::new(&codestream, &DecodeOptions::default())?;
/// let image = cpu::decode(&plan)?;
/// assert_eq!(image.pixels.len(), 640 * 480 * 3);
/// # Ok::<(), isopel_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Limit`] if output and working memory exceed the limit, [`Error::Damaged`] for damaged files when
/// the plan is strict, [`Error::Format`] for the rare damage that has no defined pixels.
pub fn decode(plan: &DecodePlan) -> Result<Image, Error> {
    let mut pixels = allocate(plan)?;
    let report = decode_into(plan, plan.layout(), &mut pixels)?;
    Ok(Image { pixels, report })
}

/// Decodes a plan on this thread into the caller's memory. `layout` is the plan's, possibly with another
/// stride; bytes of `output` between rows are left alone.
///
/// # Errors
/// [`MisuseError::BufferTooShort`], [`MisuseError::LayoutMismatch`]; otherwise as [`decode`]. After an
/// error the contents of `output` are unspecified.
pub fn decode_into(plan: &DecodePlan, layout: &PixelLayout, output: &mut [u8]) -> Result<Report, Error> {
    decode_with_clock(plan, layout, output, &mut StageClock::off())
}

/// Decodes like [`decode`] and measures the stages. wasm32 has no clock of its own, see [`decode_timed_by`].
///
/// # Errors
/// As [`decode`].
pub fn decode_timed(plan: &DecodePlan) -> Result<(Image, StageTimes), Error> {
    decode_timed_by(plan, system_clock)
}

/// Decodes like [`decode`] and measures the stages by a clock of the caller's: the time since some moment, such as
/// `performance.now()` in a browser.
///
/// # Errors
/// As [`decode`].
pub fn decode_timed_by(plan: &DecodePlan, now: fn() -> Duration) -> Result<(Image, StageTimes), Error> {
    let mut pixels = allocate(plan)?;
    let mut clock = StageClock::started(now);
    let report = decode_with_clock(plan, plan.layout(), &mut pixels, &mut clock)?;
    Ok((Image { pixels, report }, clock.times()))
}

/// The name of the kernels in use: `plain`, or the vector instructions that they are written for, such as `avx2`. The
/// environment variable `ISOPEL_CPU` chooses among those that this processor has, when the first image is decoded.
pub fn kernels() -> &'static str {
    Level::detected().name()
}

fn decode_with_clock(
    plan: &DecodePlan,
    layout: &PixelLayout,
    output: &mut [u8],
    clock: &mut StageClock,
) -> Result<Report, Error> {
    check_output(plan, layout, output)?;
    let mut reconstruction = Reconstruction::new(plan, layout);
    let found = decode_coefficients(plan, |row| {
        clock.lap(Stage::Entropy);
        reconstruction.transform(&row);
        clock.lap(Stage::DequantIdct);
        reconstruction.write_rows(row.index(), output);
        clock.lap(Stage::UpsampleColor);
    })?;
    Ok(Report::new(plan, layout, Route::Cpu, found))
}

fn check_output(plan: &DecodePlan, layout: &PixelLayout, output: &[u8]) -> Result<(), MisuseError> {
    let needed = layout.required_len();
    if !layout.has_pixels_of(plan.layout()) {
        return Err(MisuseError::LayoutMismatch);
    }
    if output.len() < needed {
        return Err(MisuseError::BufferTooShort { len: output.len(), needed });
    }
    Ok(())
}
