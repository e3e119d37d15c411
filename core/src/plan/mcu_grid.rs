//! Windows of MCUs and of blocks.

use std::ops::Range;

use super::output::{SampleGrid, Upsampling};
use crate::codestream::{Codestream, Sampling, ZIGZAG};
use crate::geometry::{Rect, Size, StoredRect};

/// A rectangle of interleaved MCUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McuWindow {
    /// MCU columns.
    pub columns: Range<u32>,
    /// MCU rows.
    pub rows: Range<u32>,
}

impl McuWindow {
    pub(crate) fn whole(mcus: Size) -> Self {
        McuWindow { columns: 0..mcus.width, rows: 0..mcus.height }
    }

    /// `margin` more on each side, within an image of `mcus`.
    pub(crate) fn grown(&self, margin: u32, mcus: Size) -> Self {
        let grow = |range: &Range<u32>, end: u32| range.start.saturating_sub(margin)..(range.end + margin).min(end);
        McuWindow { columns: grow(&self.columns, mcus.width), rows: grow(&self.rows, mcus.height) }
    }
}

/// What one component contributes to a plan.
#[derive(Debug, Clone)]
pub struct ComponentPlan {
    /// Whether the output needs this component at all.
    pub needed: bool,
    /// Hi and Vi.
    pub sampling: Sampling,
    /// Samples along each side that a block becomes: 8 at full size. At a smaller scale 4, 2 or 1; components with
    /// fewer samples than pixels make up for that with larger blocks where they can, as in libjpeg.
    pub block_size: u32,
    /// Size in blocks of the whole plane, without the padding of MCUs.
    pub blocks: Size,
    /// Size in samples of the whole plane; beyond it lies only the padding of MCUs.
    pub plane: Size,
    /// The samples under the plan's region.
    pub samples: Rect,
    /// Block columns that are reconstructed.
    pub block_columns: Range<u32>,
    /// How samples become pixels.
    pub upsampling: Upsampling,
    /// Quantizer steps in natural order; zeros for a component that no scan carries.
    pub quant: [u16; 64],
}

impl ComponentPlan {
    pub(super) fn new(
        codestream: &Codestream,
        index: usize,
        grid: &SampleGrid,
        upsampling: Option<Upsampling>,
        region: StoredRect,
        mcus: &McuWindow,
    ) -> Self {
        let frame = codestream.frame();
        let sampling = frame.components[index].sampling;
        let horizontal = u32::from(sampling.horizontal);
        ComponentPlan {
            needed: upsampling.is_some(),
            sampling,
            block_size: grid.block_size,
            blocks: frame.blocks(index),
            plane: grid.plane,
            samples: grid.samples_under(region),
            block_columns: mcus.columns.start * horizontal..mcus.columns.end * horizontal,
            upsampling: upsampling.unwrap_or(Upsampling::None),
            quant: codestream.quant_table(index).map_or([0; 64], |table| table.values),
        }
    }
}

/// libjpeg's `smoothing_ok`: a progressive file, DC known everywhere, and some of the first nine AC
/// coefficients not fully known. Quantizers of 0 there would divide by zero.
pub(super) fn smoothing_applies(codestream: &Codestream) -> bool {
    let frame = codestream.frame();
    if !frame.is_progressive() {
        return false;
    }
    let mut useful = false;
    for index in 0..frame.components.len() {
        let precision = codestream.precision(index);
        let Some(table) = codestream.quant_table(index) else { return false };
        let divisible = ZIGZAG[..10].iter().all(|&natural| table.values[usize::from(natural)] != 0);
        if !divisible || precision.unknown_bits[0] < 0 {
            return false;
        }
        useful |= precision.unknown_bits[1..10].iter().any(|&bits| bits != 0);
    }
    useful
}
