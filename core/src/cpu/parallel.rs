//! One image by several threads: coefficients first, then pixels band by band.

use std::cell::Cell;
use std::ops::Range;

use rayon::prelude::*;

use super::allocation::allocate;
use super::reconstruct::Reconstruction;
use super::{check_output, decode_into};
use crate::entropy::{Collected, SharedCoefficients};
use crate::error::Error;
use crate::orientation::Orientation;
use crate::outcome::{Image, Report, Route};
use crate::pixels::PixelLayout;
use crate::plan::{ComponentPlan, DecodePlan};

/// Pixels of images from which several threads are worth it.
const MIN_PIXELS: u64 = 256 << 10;
/// Rows of a band at least, at full size: each also transforms the chroma that its edges take from their neighbours.
const MIN_ROWS: u32 = 64;
/// Bands for each thread, so that all end at about the same time.
const BANDS_PER_THREAD: usize = 3;

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
/// begin with one; and the reconstruction of everything, in formats of one plane. The rest, damaged files, and images
/// that a pool takes up while another waits for its parts, are decoded by one thread.
/// Coefficients are held meanwhile, of some rows or with restart intervals of the whole image: at most eight times the
/// size of the file; if the memory limit does not allow that, one thread decodes.
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
    let Some((mut coefficients, found)) = SharedCoefficients::begin(plan)? else {
        return decode_into(plan, layout, output);
    };
    let bands =
        Bands { plan, layout, count: threads * BANDS_PER_THREAD, min_rows: MIN_ROWS / plan.scale().denominator() };
    match bands.write(&mut coefficients, output)? {
        Some(()) => Ok(Report::new(plan, layout, Route::Cpu, found)),
        None => decode_into(plan, layout, output),
    }
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
    let per_wave = 1 + pieces % 4;
    let Some((mut coefficients, found)) = SharedCoefficients::begin_pieces(plan, pieces, per_wave)? else {
        return Ok(None);
    };
    let mut pixels = allocate(plan)?;
    let bands = Bands { plan, layout, count: usize::MAX, min_rows: rows as u32 };
    let written = bands.write(&mut coefficients, &mut pixels)?;
    Ok(written.map(|()| Image { pixels, report: Report::new(plan, layout, Route::Cpu, found) }))
}

/// Writes an image band by band.
struct Bands<'p, 'a> {
    plan: &'p DecodePlan<'a>,
    layout: &'p PixelLayout,
    /// Bands at a time, and rows of each at least.
    count: usize,
    min_rows: u32,
}

impl Bands<'_, '_> {
    /// Writes all rows, as they come. `None` if the file is one for the serial decoder.
    fn write(&self, coefficients: &mut SharedCoefficients, output: &mut [u8]) -> Result<Option<()>, Error> {
        let mut written = 0;
        loop {
            let height = self.plan.region().rect().height;
            let complete = coefficients.mcu_rows().map_or(height, |rows| self.complete_rows(rows));
            // What the next rows need from above.
            let keep_from = if complete < height { self.band(complete..complete + 1)?.mcus().rows.start } else { 0 };
            let rows = written..complete;
            let write = |coefficients: &Collected| self.write_rows(rows, coefficients, output);
            let (result, advanced) = coefficients.advance(keep_from, write);
            result?;
            if advanced.is_none() || complete == height {
                return Ok(advanced);
            }
            written = complete;
        }
    }

    /// Rows of the region, in stored order from its top, that can be made of so many rows of MCUs.
    fn complete_rows(&self, mcu_rows: u32) -> u32 {
        if self.plan.orientation().swaps_axes() {
            // Rows of the output are columns.
            return 0;
        }
        let complete = |component: &ComponentPlan| {
            let samples = mcu_rows * component.block_size * u32::from(component.sampling.vertical);
            samples.saturating_sub(component.upsampling.context().1) * component.upsampling.factors().1
        };
        let region = self.plan.region().rect();
        let needed = self.plan.components().iter().filter(|component| component.needed);
        let rows = needed.map(complete).min().unwrap_or(0);
        rows.saturating_sub(region.y).min(region.height)
    }

    /// Rows of the output that rows of the region in stored order are; for orientations that swap axes only all.
    fn output_rows(&self, rows: Range<u32>) -> Range<u32> {
        let height = self.plan.output_size().height;
        match self.plan.orientation() {
            Orientation::FlipVertical | Orientation::Rotate180 => height - rows.end..height - rows.start,
            orientation if orientation.swaps_axes() => 0..height,
            _ => rows,
        }
    }

    /// The plan for rows of the region.
    fn band(&self, rows: Range<u32>) -> Result<DecodePlan<'_>, Error> {
        self.plan.band(self.output_rows(rows))
    }

    fn write_rows(&self, rows: Range<u32>, coefficients: &Collected, output: &mut [u8]) -> Result<(), Error> {
        if rows.is_empty() {
            return Ok(());
        }
        let rows = self.output_rows(rows);
        let stride = self.layout.planes()[0].stride;
        let end = self.layout.required_len().min(rows.end as usize * stride);
        let rows_each = rows.len().div_ceil(self.count).max(self.min_rows as usize).max(1);
        let parts = output[rows.start as usize * stride..end].par_chunks_mut(rows_each * stride);
        parts.enumerate().with_max_len(1).try_for_each(|(index, output)| {
            let first = rows.start + (index * rows_each) as u32;
            let band = self.plan.band(first..rows.end.min(first + rows_each as u32))?;
            let layout = band.layout().clone().with_stride(stride)?;
            let mut reconstruction = Reconstruction::new(&band, &layout);
            coefficients.rows(&band, |row| {
                reconstruction.transform(&row);
                reconstruction.write_rows(row.index(), output);
            });
            Ok(())
        })
    }
}
