//! From a region of pixels to the MCUs under it, stage by stage backwards.

use std::ops::Range;

use super::mcu_grid::McuWindow;
use super::output::{Upsampling, component_region};
use crate::codestream::Frame;
use crate::geometry::StoredRect;

/// The MCUs that hold the region's pixels and what the upsampling of each needed component reads around it.
pub(super) fn mcus_for(frame: &Frame, upsamplings: &[Option<Upsampling>], region: StoredRect) -> McuWindow {
    let mut window: Option<McuWindow> = None;
    for (index, upsampling) in upsamplings.iter().enumerate() {
        let Some(upsampling) = upsampling else { continue };
        let (sampling, plane) = (frame.components[index].sampling, frame.plane_size(index));
        let samples = component_region(frame, index, region);
        let (context_x, context_y) = upsampling.context();
        let mcus = |start: u32, length: u32, context: u32, plane: u32, factor: u8| -> Range<u32> {
            let first = start.saturating_sub(context);
            let end = (start + length + context).min(plane);
            let samples_per_mcu = 8 * u32::from(factor);
            first / samples_per_mcu..end.div_ceil(samples_per_mcu)
        };
        let columns = mcus(samples.x, samples.width, context_x, plane.width, sampling.horizontal);
        let rows = mcus(samples.y, samples.height, context_y, plane.height, sampling.vertical);
        window = Some(match window {
            None => McuWindow { columns, rows },
            Some(other) => McuWindow { columns: hull(other.columns, columns), rows: hull(other.rows, rows) },
        });
    }
    window.expect("every format needs a component")
}

fn hull(a: Range<u32>, b: Range<u32>) -> Range<u32> {
    a.start.min(b.start)..a.end.max(b.end)
}
