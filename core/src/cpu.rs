//! The CPU backend: the exact decoder, and the oracle for all others.

mod backend;
mod color;
mod dequant_idct;
mod fence;
mod orient;
mod reconstruct;
mod rows;
mod stage;
mod upsample;

pub use backend::{CpuBackend, HostBuffer, HostTarget};
pub use fence::{CpuFence, CpuSignal};
pub use stage::StageTimes;

use crate::entropy::{self, DataExtent, SequentialScan, Smoother};
use crate::error::{Error, MisuseError};
use crate::options::Strictness;
use crate::outcome::{Image, Report, Route};
use crate::pixels::PixelLayout;
use crate::plan::{DecodePlan, McuWindow};
use crate::warning::Warnings;
use reconstruct::Reconstruction;
use stage::{Stage, StageClock};

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
    let len = plan.layout().required_len();
    plan.limits().check_memory(plan.working_memory().saturating_add(len as u64))?;
    let mut pixels = vec![0; len];
    let report = decode_into(plan, plan.layout(), &mut pixels)?;
    Ok(Image { pixels, report })
}

/// Decodes a plan on this thread into the caller's memory. `layout` is the plan's, possibly with another
/// stride; bytes of `output` between rows are left alone.
///
/// # Errors
/// [`MisuseError::BufferTooShort`]; otherwise as [`decode`]. After an error the contents of `output` are
/// unspecified.
pub fn decode_into(plan: &DecodePlan, layout: &PixelLayout, output: &mut [u8]) -> Result<Report, Error> {
    decode_with_clock(plan, layout, output, &mut StageClock::off())
}

/// Decodes like [`decode`] and measures the stages. Not available on targets without a clock.
///
/// # Errors
/// As [`decode`].
pub fn decode_timed(plan: &DecodePlan) -> Result<(Image, StageTimes), Error> {
    let mut pixels = vec![0; plan.layout().required_len()];
    let mut clock = StageClock::started();
    let report = decode_with_clock(plan, plan.layout(), &mut pixels, &mut clock)?;
    Ok((Image { pixels, report }, clock.times()))
}

fn decode_with_clock(
    plan: &DecodePlan,
    layout: &PixelLayout,
    output: &mut [u8],
    clock: &mut StageClock,
) -> Result<Report, Error> {
    let needed = layout.required_len();
    if output.len() < needed {
        return Err(MisuseError::BufferTooShort { len: output.len(), needed }.into());
    }
    let mut warnings = plan.codestream().warnings_so_far().clone();
    refuse_damage(plan, &warnings)?;
    let extent = if plan.codestream().has_multiple_scans() {
        decode_stored(plan, layout, output, &mut warnings, clock)?
    } else {
        decode_streamed(plan, layout, output, &mut warnings, clock)
    };
    refuse_damage(plan, &warnings)?;
    Ok(Report {
        layout: layout.clone(),
        color: plan.codestream().color_model(),
        orientation: plan.orientation(),
        region: plan.region(),
        route: Route::Cpu,
        warnings: warnings.into_vec(),
        valid_rows: valid_rows(plan, extent.valid_mcu_rows),
        complete: plan.codestream().is_complete(),
    })
}

fn refuse_damage(plan: &DecodePlan, warnings: &Warnings) -> Result<(), Error> {
    match warnings.first_damage() {
        Some(damage) if plan.strictness() == Strictness::Strict => Err(Error::Damaged(damage.clone())),
        _ => Ok(()),
    }
}

/// One sequential scan: each row of MCUs goes from bits to pixels before the next is read.
fn decode_streamed(
    plan: &DecodePlan,
    layout: &PixelLayout,
    output: &mut [u8],
    warnings: &mut Warnings,
    clock: &mut StageClock,
) -> DataExtent {
    let mcus = plan.mcus();
    let codestream = plan.codestream();
    let one_row = McuWindow { columns: mcus.columns.clone(), rows: mcus.rows.start..mcus.rows.start + 1 };
    let mut planes = entropy::empty_planes(plan, &one_row);
    let mut scan = SequentialScan::new(codestream, &codestream.scans()[0]);
    let mut reconstruction = Reconstruction::new(plan, layout);
    for row in mcus.rows.clone() {
        for (plane, component) in planes.iter_mut().zip(plan.components()).filter(|(_, component)| component.needed) {
            let factor = u32::from(component.sampling.vertical);
            plane.move_to_rows(row * factor..(row + 1) * factor);
        }
        scan.decode_mcu_row(&mut planes, row, warnings);
        clock.lap(Stage::Entropy);
        reconstruction.transform_and_clear(&mut planes, row);
        clock.lap(Stage::DequantIdct);
        reconstruction.write_rows(row, output);
        clock.lap(Stage::UpsampleColor);
    }
    DataExtent { valid_mcu_rows: scan.valid_mcu_rows(), last_good_row: 0 }
}

/// Several scans: all coefficients of the window first, then its rows of MCUs.
fn decode_stored(
    plan: &DecodePlan,
    layout: &PixelLayout,
    output: &mut [u8],
    warnings: &mut Warnings,
    clock: &mut StageClock,
) -> Result<DataExtent, Error> {
    let coefficients = entropy::decode_scans(plan, warnings)?;
    clock.lap(Stage::Entropy);
    let smoother = plan.smooths_blocks().then(|| Smoother::new(plan, &coefficients.extent));
    let mut reconstruction = Reconstruction::new(plan, layout);
    for row in plan.mcus().rows.clone() {
        reconstruction.transform(&coefficients.planes, row, smoother.as_ref());
        clock.lap(Stage::DequantIdct);
        reconstruction.write_rows(row, output);
        clock.lap(Stage::UpsampleColor);
    }
    Ok(coefficients.extent)
}

/// Rows of the region above the first damaged row of MCUs, less the one that takes chroma from below.
fn valid_rows(plan: &DecodePlan, valid_mcu_rows: u32) -> u32 {
    let (region, frame) = (plan.region().rect(), plan.codestream().frame());
    let rows_per_mcu = 8 * u32::from(frame.max_sampling().vertical);
    let rows = if valid_mcu_rows >= frame.mcus().height {
        frame.size.height
    } else {
        let context = plan.components().iter().any(|component| component.upsampling.context().1 > 0);
        (valid_mcu_rows * rows_per_mcu).saturating_sub(u32::from(context))
    };
    rows.saturating_sub(region.y).min(region.height)
}
