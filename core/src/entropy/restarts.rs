//! One sequential scan with restart markers by several threads: what lies between two markers needs nothing from before.
//!
//! Only scans whose markers are all there, in order, and stand where rows of MCUs begin. Anything that the serial decoder
//! would warn of is left to it.

use rayon::prelude::*;

use super::baseline::SequentialScan;
use super::bit_reader::BitPosition;
use super::index::McuStart;
use super::packed::{PackedCoefficients, block_windows};
use super::{McuRow, RowCoefficients};
use crate::plan::{DecodePlan, McuWindow};
use crate::warning::Warnings;

/// Parts for each thread, so that all end at about the same time.
const PARTS_PER_THREAD: usize = 3;

/// The coefficients of a whole scan, in parts of whole rows of MCUs.
pub(crate) struct RestartParts {
    /// Rows of all parts but the last.
    rows: u32,
    parts: Vec<PackedCoefficients>,
}

impl RestartParts {
    /// Decodes a plan's only scan on the threads of this pool. `None` if the plan or the file is one for the serial
    /// decoder.
    pub(crate) fn decode(plan: &DecodePlan) -> Option<Self> {
        let threads = rayon::current_num_threads();
        if threads < 2 { None } else { Self::decode_parts(plan, threads * PARTS_PER_THREAD) }
    }

    /// Decodes in about so many parts.
    pub(crate) fn decode_parts(plan: &DecodePlan, count: usize) -> Option<Self> {
        let codestream = plan.codestream();
        let [scan] = codestream.scans() else { return None };
        let mcus = scan.mcus(codestream.frame());
        let (interval, width) = (u32::from(scan.restart_interval), mcus.width);
        let whole = *plan.mcus() == McuWindow::whole(codestream.frame().mcus());
        // A scan of one component may have several rows of blocks in a row of MCUs.
        if codestream.has_multiple_scans() || interval == 0 || !whole || mcus != codestream.frame().mcus() {
            return None;
        }
        let rows_between = if width.is_multiple_of(interval) { 1 } else { interval / width };
        if rows_between == 0 || !(rows_between * width).is_multiple_of(interval) {
            return None;
        }
        let index = codestream.restart_index(scan);
        if !index.in_order || index.segments.len() as u64 != mcus.pixels().div_ceil(interval.into()) {
            return None;
        }
        let rows = mcus.height.div_ceil(count as u32).max(1).next_multiple_of(rows_between);
        let starts: Vec<u32> = (0..mcus.height).step_by(rows as usize).collect();
        if starts.len() < 2 {
            return None;
        }
        let parts = starts.into_par_iter().map(|row| {
            let segment = (u64::from(row) * u64::from(width) / u64::from(interval)) as usize;
            let start = McuStart {
                position: BitPosition { offset: index.segments[segment].start, bit: 0 },
                predictors: [0; 4],
                until_restart: interval,
                next_restart: (segment % 8) as u8,
            };
            decode_part(plan, row..(row + rows).min(mcus.height), &start)
        });
        Some(RestartParts { rows, parts: parts.collect::<Option<_>>()? })
    }

    /// Calls `use_row` with each row of MCUs of a plan for the same file, top to bottom.
    pub(crate) fn rows(&self, plan: &DecodePlan, mut use_row: impl FnMut(McuRow)) {
        let columns = &block_windows(plan);
        for index in plan.mcus().rows.clone() {
            let packed = &self.parts[(index / self.rows) as usize];
            use_row(McuRow { index, coefficients: RowCoefficients::Part { packed, columns } });
        }
    }
}

/// `None` if there is anything to warn of.
fn decode_part(plan: &DecodePlan, rows: std::ops::Range<u32>, start: &McuStart) -> Option<PackedCoefficients> {
    let codestream = plan.codestream();
    let (mut packed, mut warnings) = (PackedCoefficients::default(), Warnings::default());
    packed.reset(plan, &McuWindow { columns: plan.mcus().columns.clone(), rows: rows.clone() });
    let mut scan = SequentialScan::new(codestream, &codestream.scans()[0]);
    scan.start_at(rows.start, 0, start);
    scan.decode_rows(&mut packed, rows.end, &mut warnings);
    scan.end_interval(&mut warnings);
    let fits = packed.symbols().len() <= PackedCoefficients::MAX_SYMBOLS;
    (warnings.into_vec().is_empty() && fits).then_some(packed)
}

#[cfg(test)]
mod tests;
