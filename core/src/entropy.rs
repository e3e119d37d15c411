//! Entropy decoding: a scan's bytes to quantised coefficients of the planned MCUs.
//!
//! Input: a plan. Output: [`CoefficientPlane`]s, for sequential single-scan images one MCU row at a time, for
//! all others whole. Damage is filled as libjpeg-turbo fills it and reported as warnings.

mod baseline;
mod bit_reader;
mod cursor;
mod huffman;
mod progressive;
mod smoothing;

pub(crate) use baseline::SequentialScan;
pub(crate) use smoothing::Smoother;

use std::ops::Range;

use crate::codestream::Scan;
use crate::error::FormatError;
use crate::plan::{DecodePlan, McuWindow};
use crate::warning::Warnings;

/// The quantised coefficients of one block, in natural (row-major) order.
pub type Block = [i16; 64];

/// Coefficients of one component for a window of its blocks.
#[derive(Debug, Clone, Default)]
pub struct CoefficientPlane {
    /// Block columns held.
    pub columns: Range<u32>,
    /// Block rows held.
    pub rows: Range<u32>,
    /// The blocks, row by row.
    pub blocks: Vec<Block>,
    /// For each block the zigzag index of its last coefficient that is not 0, or 0.
    pub last_nonzero: Vec<u8>,
}

impl CoefficientPlane {
    fn new(columns: Range<u32>, rows: Range<u32>) -> Self {
        let count = columns.len() * rows.len();
        CoefficientPlane { columns, rows, blocks: vec![[0; 64]; count], last_nonzero: vec![0; count] }
    }

    /// Index into `blocks` of a block of the window.
    #[inline]
    pub(crate) fn index(&self, row: u32, column: u32) -> usize {
        (row - self.rows.start) as usize * self.columns.len() + (column - self.columns.start) as usize
    }

    #[inline]
    fn contains(&self, row: u32, column: u32) -> bool {
        self.rows.contains(&row) && self.columns.contains(&column)
    }

    /// Moves a window of one MCU row to other rows. The blocks must have been cleared.
    pub(crate) fn move_to_rows(&mut self, rows: Range<u32>) {
        debug_assert_eq!(rows.len(), self.rows.len());
        self.rows = rows;
    }
}

/// All coefficients of a plan's window, and how far the file's data went.
pub(crate) struct Coefficients {
    pub(crate) planes: Vec<CoefficientPlane>,
    pub(crate) extent: DataExtent,
}

/// How far intact data went.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DataExtent {
    /// Interleaved MCU rows from the top that all scans brought undamaged.
    pub(crate) valid_mcu_rows: u32,
    /// The MCU row that the last scan reached before its data ended (libjpeg's `last_good_iMCU_row`).
    pub(crate) last_good_row: u32,
}

/// Decodes all scans of an image that has several, for the plan's window.
pub(crate) fn decode_scans(plan: &DecodePlan, warnings: &mut Warnings) -> Result<Coefficients, FormatError> {
    let mut planes = empty_planes(plan, plan.stored_mcus());
    let codestream = plan.codestream();
    let frame = codestream.frame();
    let mut extent = DataExtent { valid_mcu_rows: frame.mcus().height, last_good_row: frame.mcus().height };
    if frame.is_progressive() {
        progressive::decode_scans(plan, &mut planes, &mut extent, warnings)?;
    } else {
        for scan in scans_needed(plan) {
            let mut sequential = SequentialScan::new(codestream, scan);
            sequential.decode_rows_into(&mut planes, plan.stored_mcus().rows.end, warnings);
            extent.valid_mcu_rows = extent.valid_mcu_rows.min(sequential.valid_mcu_rows());
        }
    }
    Ok(Coefficients { planes, extent })
}

/// Planes for the components that the plan needs; the others hold nothing.
pub(crate) fn empty_planes(plan: &DecodePlan, mcus: &McuWindow) -> Vec<CoefficientPlane> {
    let blocks = |mcus: &Range<u32>, factor: u8| mcus.start * u32::from(factor)..mcus.end * u32::from(factor);
    plan.components()
        .iter()
        .map(|component| {
            if !component.needed {
                return CoefficientPlane::default();
            }
            let columns = blocks(&mcus.columns, component.sampling.horizontal);
            CoefficientPlane::new(columns, blocks(&mcus.rows, component.sampling.vertical))
        })
        .collect()
}

/// The scans with a component that the plan needs. Smoothing asks how far the very last scan went, so then
/// all are.
fn scans_needed<'a>(plan: &DecodePlan<'a>) -> impl Iterator<Item = &'a Scan> {
    let needed: Vec<bool> = plan.components().iter().map(|component| component.needed).collect();
    let all = plan.smooths_blocks();
    plan.codestream()
        .scans()
        .iter()
        .filter(move |scan| all || scan.components.iter().any(|part| needed[part.component]))
}
