//! Coefficients to pixels, one row of MCUs at a time.
//!
//! Samples live in a ring of two MCU rows per component: the triangle filter reads one sample row above and
//! below, so the last pixel rows of an MCU row wait for the next one.

use std::ops::Range;

use super::dequant_idct::{BlockTransformer, SamplePlane, ZigzagQuantizers};
use super::rows::RowWriter;
use super::upsample;
use crate::codestream::ColorModel;
use crate::entropy::{BlockRow, McuRow};
use crate::geometry::Rect;
use crate::pixels::{PixelFormat, PixelLayout};
use crate::plan::{ComponentPlan, DecodePlan, Upsampling};
use crate::simd::{self, Level};

/// Reconstructs the rows of a plan, top to bottom.
pub(super) struct Reconstruction<'p, 'a> {
    plan: &'p DecodePlan<'a>,
    color: ColorModel,
    level: Level,
    transformer: BlockTransformer,
    components: Vec<Samples>,
    writer: RowWriter,
    /// The next pixel row to write, or for component planes nothing.
    next_row: u32,
}

/// Samples of one component, and what makes them.
struct Samples {
    quantizers: ZigzagQuantizers,
    ring: Vec<u8>,
    stride: usize,
    ring_rows: u32,
    /// First sample column held, and how many are real ones.
    first_column: u32,
    width: usize,
    /// One upsampled row, for pixels from `first_column * factor` on, and column sums.
    upsampled: Vec<u8>,
    sums: Vec<u16>,
}

impl Samples {
    fn new(component: &ComponentPlan) -> Self {
        let first_column = component.block_columns.start * component.block_size;
        let stride = component.block_columns.len() * component.block_size as usize;
        let width = stride.min((component.plane.width - first_column) as usize);
        let ring_rows = 2 * component.block_size * u32::from(component.sampling.vertical);
        let factor = component.upsampling.factors().0 as usize;
        Samples {
            quantizers: ZigzagQuantizers::new(&component.quant),
            ring: vec![0; stride * ring_rows as usize],
            stride,
            ring_rows,
            first_column,
            width,
            upsampled: vec![0; width * factor],
            sums: vec![0; width + 2],
        }
    }

    /// The rows of blocks with samples that the region's pixels are made of.
    fn block_rows(component: &ComponentPlan) -> Range<u32> {
        let (rows, context) = (component.samples, component.upsampling.context().1);
        let end = rows.y + rows.height + context;
        rows.y.saturating_sub(context) / component.block_size..end.div_ceil(component.block_size)
    }

    /// The real samples of row `y` of the plane.
    fn row(&self, y: u32) -> &[u8] {
        let start = (y % self.ring_rows) as usize * self.stride;
        &self.ring[start..start + self.width]
    }
}

impl<'p, 'a> Reconstruction<'p, 'a> {
    pub(super) fn new(plan: &'p DecodePlan<'a>, layout: &PixelLayout) -> Self {
        let components = plan
            .components()
            .iter()
            .map(|component| if component.needed { Samples::new(component) } else { Samples::none() })
            .collect();
        let level = Level::detected();
        Reconstruction {
            plan,
            color: plan.codestream().color_model(),
            level,
            transformer: BlockTransformer::new(level),
            components,
            writer: RowWriter::new(plan, layout),
            next_row: plan.region().rect().y,
        }
    }

    /// Transforms the blocks of an MCU row to samples; blocks of nothing but padding, and rows of them that no pixel of the
    /// region is made of, are left out.
    pub(super) fn transform(&mut self, mcu_row: &McuRow) {
        for index in 0..self.components.len() {
            match self.plan.components()[index].block_size {
                1 => self.transform_component::<1>(mcu_row, index),
                2 => self.transform_component::<2>(mcu_row, index),
                4 => self.transform_component::<4>(mcu_row, index),
                _ => self.transform_component::<8>(mcu_row, index),
            }
        }
    }

    /// Transforms a component's blocks to `SIZE` samples along each side.
    fn transform_component<const SIZE: usize>(&mut self, mcu_row: &McuRow, index: usize) {
        let (component, samples) = (&self.plan.components()[index], &mut self.components[index]);
        if !component.needed {
            return;
        }
        let rows_per_mcu = u32::from(component.sampling.vertical);
        let first_row = mcu_row.index() * rows_per_mcu;
        let ring_rows = samples.ring_rows;
        let mut plane = SamplePlane { samples: &mut samples.ring, stride: samples.stride };
        let read = Samples::block_rows(component);
        for row in first_row.max(read.start)..(first_row + rows_per_mcu).min(component.blocks.height).min(read.end) {
            let top = (row * SIZE as u32 % ring_rows) as usize * plane.stride;
            match mcu_row.block_row(index, row) {
                BlockRow::Packed(blocks) => {
                    for (place, symbols) in (top..).step_by(SIZE).zip(blocks.blocks()) {
                        self.transformer.packed_block::<SIZE>(symbols, &samples.quantizers, &mut plane, place);
                    }
                }
                BlockRow::Plane(blocks) => {
                    let columns = &component.block_columns;
                    let columns = columns.start..columns.end.min(component.blocks.width);
                    for (place, column) in (top..).step_by(SIZE).zip(columns) {
                        let (block, last_nonzero) = blocks.block(column);
                        self.transformer.block::<SIZE>(&block, last_nonzero, &component.quant, &mut plane, place);
                    }
                }
            }
        }
        self.transformer.finish::<SIZE>(&mut plane);
    }

    /// Writes the pixel rows that are complete once MCU row `mcu_row` is.
    pub(super) fn write_rows(&mut self, mcu_row: u32, output: &mut [u8]) {
        let last = mcu_row + 1 == self.plan.mcus().rows.end;
        if self.plan.format() == PixelFormat::ComponentPlanes {
            self.write_component_rows(mcu_row, output);
        } else {
            let region = self.plan.region().rect();
            let region_end = region.y + region.height;
            let end = if last { region_end } else { region_end.min(self.complete_rows(mcu_row)) };
            while self.next_row < end {
                self.write_row(self.next_row, region, output);
                self.next_row += 1;
            }
        }
        if last {
            self.writer.finish(output);
        }
    }

    /// Pixel rows from the top whose samples and vertical context are there after MCU row `mcu_row`.
    fn complete_rows(&self, mcu_row: u32) -> u32 {
        let needed = self.plan.components().iter().filter(|component| component.needed);
        needed
            .map(|component| {
                let rows = (mcu_row + 1) * component.block_size * u32::from(component.sampling.vertical);
                (rows - component.upsampling.context().1) * component.upsampling.factors().1
            })
            .min()
            .unwrap_or(0)
    }

    fn write_row(&mut self, y: u32, region: Rect, output: &mut [u8]) {
        for (component, samples) in self.plan.components().iter().zip(&mut self.components) {
            if component.needed {
                samples.upsample(self.level, component, y);
            }
        }
        let mut rows: [&[u8]; 4] = [&[]; 4];
        let mut count = 0;
        for (component, samples) in self.plan.components().iter().zip(&self.components) {
            if component.needed {
                let (factor, _) = component.upsampling.factors();
                let start = (region.x - samples.first_column * factor) as usize;
                let row = match component.upsampling {
                    Upsampling::None => samples.row(y),
                    _ => &samples.upsampled,
                };
                rows[count] = &row[start..start + region.width as usize];
                count += 1;
            }
        }
        let (level, color, format) = (self.level, self.color, self.plan.format());
        self.writer.write(y - region.y, output, |out| simd::convert_row(level, color, format, &rows[..count], out));
    }

    fn write_component_rows(&mut self, mcu_row: u32, output: &mut [u8]) {
        for (index, component) in self.plan.components().iter().enumerate() {
            let samples = &self.components[index];
            let region = self.plan.plane_region(index);
            let rows_per_mcu = component.block_size * u32::from(component.sampling.vertical);
            let first = (mcu_row * rows_per_mcu).max(region.y);
            let end = ((mcu_row + 1) * rows_per_mcu).min(region.y + region.height);
            for y in first..end {
                let start = (region.x - samples.first_column) as usize;
                let row = &samples.row(y)[start..start + region.width as usize];
                self.writer.write_plane_row(index, y - region.y, output, row);
            }
        }
    }
}

impl Samples {
    /// For a component that is not needed.
    fn none() -> Self {
        Samples {
            quantizers: ZigzagQuantizers::new(&[0; 64]),
            ring: Vec::new(),
            stride: 0,
            ring_rows: 1,
            first_column: 0,
            width: 0,
            upsampled: Vec::new(),
            sums: Vec::new(),
        }
    }

    /// Makes pixel row `y` in `upsampled`, unless the samples are pixels already.
    fn upsample(&mut self, level: Level, component: &ComponentPlan, y: u32) {
        let (_, factor) = component.upsampling.factors();
        let near = y / factor;
        let upper_half = y.is_multiple_of(factor);
        let far = if upper_half { near.saturating_sub(1) } else { (near + 1).min(component.plane.height - 1) };
        // Taken out so that rows of the ring can be read meanwhile.
        let mut out = std::mem::take(&mut self.upsampled);
        let mut sums = std::mem::take(&mut self.sums);
        match component.upsampling {
            Upsampling::None => {}
            Upsampling::TriangleH2V1 => simd::triangle_h2v1(level, self.row(near), &mut out),
            Upsampling::TriangleH1V2 => simd::triangle_h1v2(level, self.row(near), self.row(far), upper_half, &mut out),
            Upsampling::TriangleH2V2 => simd::triangle_h2v2(level, self.row(near), self.row(far), &mut sums, &mut out),
            Upsampling::Box { horizontal, .. } => {
                upsample::replicate(self.row(near), usize::from(horizontal), &mut out);
            }
        }
        self.upsampled = out;
        self.sums = sums;
    }
}
