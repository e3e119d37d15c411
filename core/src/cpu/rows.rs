//! Hands out the memory that rows are converted into: the output itself where the orientation keeps rows
//! whole, else a few rows of scratch that are then written oriented.

use super::orient::{OrientedPlane, ROWS_AT_ONCE};
use crate::pixels::PixelLayout;
use crate::plan::DecodePlan;

pub(super) struct RowWriter {
    planes: Vec<OrientedPlane>,
    /// Rows of each plane that wait to be written oriented.
    pending: Vec<PendingRows>,
}

#[derive(Default)]
struct PendingRows {
    bytes: Vec<u8>,
    first: u32,
    count: usize,
}

impl RowWriter {
    pub(super) fn new(plan: &DecodePlan, layout: &PixelLayout) -> Self {
        let planes: Vec<OrientedPlane> = layout
            .planes()
            .iter()
            .enumerate()
            .map(|(index, &plane)| OrientedPlane {
                layout: plane,
                stored: plan.plane_region(index).size(),
                orientation: plan.orientation(),
                bytes_per_pixel: layout.format().bytes_per_pixel(),
            })
            .collect();
        let pending = planes.iter().map(|_| PendingRows::default()).collect();
        RowWriter { planes, pending }
    }

    /// Has `convert` fill row `y` (in stored order) of all planes.
    pub(super) fn write(&mut self, y: u32, output: &mut [u8], convert: impl FnOnce(&mut [&mut [u8]])) {
        if self.planes[0].row_range(y).is_some() {
            let mut rest = output;
            let mut passed = 0;
            let mut rows: [&mut [u8]; 3] = Default::default();
            for (row, plane) in rows.iter_mut().zip(&self.planes) {
                // Planes follow each other, so their rows can be split off in order.
                let range = plane.row_range(y).expect("all planes have the same orientation");
                let (_, from_row) = rest.split_at_mut(range.start - passed);
                let (this, after) = from_row.split_at_mut(range.len());
                *row = this;
                rest = after;
                passed = range.end;
            }
            return convert(&mut rows[..self.planes.len()]);
        }
        let mut rows: [&mut [u8]; 3] = Default::default();
        let count = self.planes.len();
        for ((row, pending), plane) in rows.iter_mut().zip(&mut self.pending).zip(&self.planes) {
            *row = pending.next_row(y, plane);
        }
        convert(&mut rows[..count]);
        if self.pending[0].count == ROWS_AT_ONCE {
            self.finish(output);
        }
    }

    /// Writes row `y` (in stored order) of one plane.
    pub(super) fn write_plane_row(&mut self, plane: usize, y: u32, output: &mut [u8], row: &[u8]) {
        let (oriented, pending) = (&self.planes[plane], &mut self.pending[plane]);
        if let Some(range) = oriented.row_range(y) {
            return output[range].copy_from_slice(row);
        }
        pending.next_row(y, oriented).copy_from_slice(row);
        if pending.count == ROWS_AT_ONCE {
            pending.flush(oriented, output);
        }
    }

    /// Writes the rows that still wait.
    pub(super) fn finish(&mut self, output: &mut [u8]) {
        for (pending, plane) in self.pending.iter_mut().zip(&self.planes) {
            pending.flush(plane, output);
        }
    }
}

impl PendingRows {
    fn next_row(&mut self, y: u32, plane: &OrientedPlane) -> &mut [u8] {
        let row_bytes = plane.stored.width as usize * plane.bytes_per_pixel;
        if self.count == 0 {
            self.first = y;
        }
        let start = self.count * row_bytes;
        self.count += 1;
        if self.bytes.len() < start + row_bytes {
            self.bytes.resize(start + row_bytes, 0);
        }
        &mut self.bytes[start..start + row_bytes]
    }

    fn flush(&mut self, plane: &OrientedPlane, output: &mut [u8]) {
        if self.count > 0 {
            let row_bytes = plane.stored.width as usize * plane.bytes_per_pixel;
            plane.write_rows(self.first, &self.bytes[..self.count * row_bytes], output);
            self.count = 0;
        }
    }
}
