//! The last write: rows of stored pixels into the output, oriented.

use crate::geometry::Size;
use crate::orientation::Orientation;
use crate::pixels::PlaneLayout;

/// One output plane being written from rows in stored order.
pub(crate) struct OrientedPlane {
    pub(crate) layout: PlaneLayout,
    /// Size of the stored pixels of this plane.
    pub(crate) stored: Size,
    pub(crate) orientation: Orientation,
    pub(crate) bytes_per_pixel: usize,
}

/// Stored rows that orientations which swap axes write at once: a column of them fills a cache line.
pub(crate) const ROWS_AT_ONCE: usize = 16;

impl OrientedPlane {
    /// Where stored row `y` goes as it is, if the orientation leaves rows alone.
    pub(crate) fn row_range(&self, y: u32) -> Option<std::ops::Range<usize>> {
        let y = match self.orientation {
            Orientation::Normal => y,
            Orientation::FlipVertical => self.stored.height - 1 - y,
            _ => return None,
        };
        let start = self.layout.offset + y as usize * self.layout.stride;
        Some(start..start + self.stored.width as usize * self.bytes_per_pixel)
    }

    /// Writes stored rows `y..` from `rows`, which holds them one after the other.
    pub(crate) fn write_rows(&self, y: u32, rows: &[u8], output: &mut [u8]) {
        match self.bytes_per_pixel {
            1 => self.write::<1>(y, rows, output),
            3 => self.write::<3>(y, rows, output),
            _ => self.write::<4>(y, rows, output),
        }
    }

    fn write<const BYTES: usize>(&self, y: u32, rows: &[u8], output: &mut [u8]) {
        let row_bytes = self.stored.width as usize * BYTES;
        if self.orientation.swaps_axes() {
            return self.write_columns::<BYTES>(y, rows, output);
        }
        for (y, row) in (y..).zip(rows.chunks_exact(row_bytes)) {
            let (_, display_y) = self.orientation.map_point(0, y, self.stored);
            let start = self.layout.offset + display_y as usize * self.layout.stride;
            let output = &mut output[start..start + row_bytes];
            match self.orientation {
                Orientation::Normal | Orientation::FlipVertical => output.copy_from_slice(row),
                _ => {
                    let (pixels, _) = output.as_chunks_mut::<BYTES>();
                    let (row, _) = row.as_chunks::<BYTES>();
                    for (pixel, &stored) in pixels.iter_mut().rev().zip(row) {
                        *pixel = stored;
                    }
                }
            }
        }
    }

    /// Stored rows become columns: each stored x is one output row, in which these rows lie side by side.
    fn write_columns<const BYTES: usize>(&self, y: u32, rows: &[u8], output: &mut [u8]) {
        let width = self.stored.width as usize;
        let (pixels, _) = rows.as_chunks::<BYTES>();
        let count = pixels.len() / width;
        let last_y = y + count as u32 - 1;
        let (first_x, _) = self.orientation.map_point(0, y, self.stored);
        let (last_x, _) = self.orientation.map_point(0, last_y, self.stored);
        let leftmost = first_x.min(last_x) as usize * BYTES;
        let reversed = last_x < first_x;
        for x in 0..width {
            let (_, display_y) = self.orientation.map_point(x as u32, y, self.stored);
            let start = self.layout.offset + display_y as usize * self.layout.stride + leftmost;
            let (out, _) = output[start..start + count * BYTES].as_chunks_mut::<BYTES>();
            for (index, pixel) in out.iter_mut().enumerate() {
                let row = if reversed { count - 1 - index } else { index };
                *pixel = pixels[row * width + x];
            }
        }
    }
}

#[cfg(test)]
mod tests;
