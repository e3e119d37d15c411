//! One image by several threads: coefficients first, then pixels band by band.

use std::cell::Cell;

use rayon::prelude::*;

use super::allocation::allocate;
use super::reconstruct::Reconstruction;
use super::{check_output, decode_into};
use crate::entropy::SharedCoefficients;
use crate::error::Error;
use crate::outcome::{Image, Report, Route};
use crate::pixels::PixelLayout;
use crate::plan::DecodePlan;

/// Pixels of images from which several threads are worth it.
const MIN_PIXELS: u64 = 256 << 10;
/// Rows of a band at least, at full size: each also transforms the MCUs that its edges take chroma from.
const MIN_ROWS: usize = 64;
/// Bands for each thread, so that all end at about the same time.
const BANDS_PER_THREAD: usize = 2;

/// Held while this thread waits for the others' parts of an image.
///
/// A thread of a pool that waits takes up whatever else is queued, which may be another image. That one it decodes by
/// itself: if it waited again, images would pile up on its stack.
struct Waits;

thread_local!(static WAITS: Cell<bool> = const { Cell::new(false) });

impl Waits {
    /// `None` if this thread waits already.
    fn begin() -> Option<Self> {
        (!WAITS.replace(true)).then_some(Waits)
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        WAITS.set(false);
    }
}

/// Decodes a plan into memory allocated for it, on the threads of the current rayon pool. The pixels and the report are
/// those of [`decode`](super::decode).
///
/// ```
/// use isopel_core::cpu::{self, CpuBackend};
/// use isopel_core::{Codestream, DecodeOptions, DecodePlan, Limits};
/// # let bytes = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../samples/photo.jpg")).unwrap();
/// let codestream = Codestream::parse(&bytes, &Limits::default())?;
/// let plan = DecodePlan::new(&codestream, &DecodeOptions::default())?;
/// let image = CpuBackend::new(2).install(|| cpu::decode_parallel(&plan))?;
/// assert!(image.pixels == cpu::decode(&plan)?.pixels);
/// # Ok::<(), isopel_core::Error>(())
/// ```
///
/// # Errors
/// As [`decode`](super::decode).
pub fn decode_parallel(plan: &DecodePlan) -> Result<Image, Error> {
    let mut pixels = allocate(plan)?;
    let report = decode_parallel_into(plan, plan.layout(), &mut pixels)?;
    Ok(Image { pixels, report })
}

/// Decodes a plan into the caller's memory, on the threads of the current rayon pool. The pixels and the report are
/// those of [`decode_into`].
///
/// What several threads can share: sequential scans that are decoded whole, those with restart intervals if rows of MCUs
/// begin with one; and the reconstruction of everything, in formats of one plane. The rest, damaged files, and images that a pool takes up while
/// another waits for its parts, are decoded by one thread.
/// Coefficients of the whole image are held meanwhile: some eight times the size of the file; if the memory limit does
/// not allow that, one thread decodes.
///
/// # Errors
/// As [`decode_into`].
pub fn decode_parallel_into(plan: &DecodePlan, layout: &PixelLayout, output: &mut [u8]) -> Result<Report, Error> {
    check_output(plan, layout, output)?;
    let threads = rayon::current_num_threads();
    let coefficients = 8 * plan.codestream().bytes().len() as u64;
    let memory = plan.working_memory().saturating_mul(threads as u64).saturating_add(coefficients);
    let waits = Waits::begin();
    let worth_it = waits.is_some() && threads > 1 && layout.planes().len() == 1 && plan.file_pixels() >= MIN_PIXELS;
    if !worth_it || plan.limits().check_memory(memory).is_err() {
        return decode_into(plan, layout, output);
    }
    let Some((coefficients, found)) = SharedCoefficients::decode(plan)? else {
        return decode_into(plan, layout, output);
    };
    let height = plan.output_size().height as usize;
    let rows = height.div_ceil(threads * BANDS_PER_THREAD).max(MIN_ROWS / plan.scale().denominator() as usize);
    write_bands(plan, layout, &coefficients, rows, output)?;
    Ok(Report::new(plan, layout, Route::Cpu, found))
}

/// Decodes in so many pieces and bands of so many rows whatever the size, for tests. `None` if the plan is one for a
/// single thread.
///
/// # Errors
/// As [`decode`](super::decode).
#[doc(hidden)]
pub fn decode_in_pieces(plan: &DecodePlan, pieces: usize, rows: usize) -> Result<Option<Image>, Error> {
    let layout = plan.layout();
    if plan.codestream().has_multiple_scans() || layout.planes().len() != 1 {
        return Ok(None);
    }
    let Some((coefficients, found)) = SharedCoefficients::decode_pieces(plan, pieces)? else { return Ok(None) };
    let mut pixels = allocate(plan)?;
    write_bands(plan, layout, &coefficients, rows, &mut pixels)?;
    Ok(Some(Image { pixels, report: Report::new(plan, layout, Route::Cpu, found) }))
}

fn write_bands(
    plan: &DecodePlan,
    layout: &PixelLayout,
    coefficients: &SharedCoefficients,
    rows: usize,
    output: &mut [u8],
) -> Result<(), Error> {
    let stride = layout.planes()[0].stride;
    let height = plan.output_size().height as usize;
    output[..layout.required_len()].par_chunks_mut(rows * stride).enumerate().try_for_each(|(index, output)| {
        let first = index * rows;
        let band = plan.band(first as u32..height.min(first + rows) as u32)?;
        let layout = band.layout().clone().with_stride(stride)?;
        let mut reconstruction = Reconstruction::new(&band, &layout);
        coefficients.rows(&band, |row| {
            reconstruction.transform(&row);
            reconstruction.write_rows(row.index(), output);
        });
        Ok(())
    })
}
