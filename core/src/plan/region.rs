//! From a region of pixels to the MCUs under it, stage by stage backwards.

use std::ops::Range;

use super::mcu_grid::McuWindow;
use super::output::{SampleGrid, Upsampling};
use crate::geometry::StoredRect;

/// The MCUs that hold the region's pixels and what the upsampling of each needed component reads around it.
pub(super) fn mcus_for(grids: &[SampleGrid], upsamplings: &[Option<Upsampling>], region: StoredRect) -> McuWindow {
    let window = |(grid, upsampling): (&SampleGrid, &Option<Upsampling>)| {
        let context = upsampling.as_ref()?.context();
        Some(grid.mcus_around(grid.samples_under(region), context))
    };
    let windows = grids.iter().zip(upsamplings).filter_map(window);
    let both =
        |a: McuWindow, b: McuWindow| McuWindow { columns: hull(a.columns, b.columns), rows: hull(a.rows, b.rows) };
    windows.reduce(both).expect("every format needs a component")
}

fn hull(a: Range<u32>, b: Range<u32>) -> Range<u32> {
    a.start.min(b.start)..a.end.max(b.end)
}
