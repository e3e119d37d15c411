//! Coefficients in the form in which they go to the GPU: only those that are not 0.

use std::sync::Mutex;

use isopel_core::{Block, CoefficientReport, DecodePlan, Error, decode_coefficients};

/// A block's header has 25 bits for the index of its first symbol.
pub(crate) const MAX_SYMBOLS: usize = 1 << 25;

/// The coefficients of a plan's window.
pub(crate) struct PackedCoefficients {
    /// Per block, component by component: index of its first symbol << 7 | number of symbols.
    pub(crate) headers: Vec<u32>,
    /// Coefficients that are not 0: value << 16 | natural index.
    pub(crate) symbols: Vec<u32>,
    /// The blocks of each component of the frame; none for those that are not needed.
    pub(crate) components: Vec<BlockWindow>,
}

/// The blocks of a component in a plan's window, without the padding of MCUs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct BlockWindow {
    /// Index of the first block's header.
    pub(crate) first_header: usize,
    /// First block column and row, counted in the whole image.
    pub(crate) first_column: u32,
    pub(crate) first_row: u32,
    pub(crate) columns: u32,
    pub(crate) rows: u32,
}

impl BlockWindow {
    pub(crate) fn count(&self) -> usize {
        self.columns as usize * self.rows as usize
    }
}

/// The block windows of all components of a plan.
pub(crate) fn block_windows(plan: &DecodePlan) -> Vec<BlockWindow> {
    let mut first_header = 0;
    plan.components()
        .iter()
        .map(|component| {
            if !component.needed {
                return BlockWindow::default();
            }
            let vertical = u32::from(component.sampling.vertical);
            let rows = &plan.mcus().rows;
            let columns = &component.block_columns;
            let window = BlockWindow {
                first_header,
                first_column: columns.start,
                first_row: rows.start * vertical,
                columns: columns.end.min(component.plane.width.div_ceil(8)) - columns.start,
                rows: (rows.end * vertical).min(component.plane.height.div_ceil(8)) - rows.start * vertical,
            };
            first_header += window.count();
            window
        })
        .collect()
}

/// Memory of packed coefficients that is used again: fresh pages of megabytes per picture cost more than the
/// entropy decoding that fills them, once many threads ask for them.
#[derive(Default)]
pub(crate) struct PackMemory(Mutex<Vec<(Vec<u32>, Vec<u32>)>>);

impl PackMemory {
    /// Kept at most: a chunk's pictures of moderate size, and some being packed.
    const KEPT: usize = 96;
    const LARGEST: usize = 4 << 20;

    fn take(&self) -> (Vec<u32>, Vec<u32>) {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).pop().unwrap_or_default()
    }

    /// Takes back what has been copied to the GPU.
    pub(crate) fn put(&self, packed: PackedCoefficients) {
        let mut kept = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if kept.len() < Self::KEPT && packed.symbols.capacity() <= Self::LARGEST {
            kept.push((packed.headers, packed.symbols));
        }
    }
}

/// Entropy-decodes a plan's window and packs it.
pub(crate) fn pack(plan: &DecodePlan, memory: &PackMemory) -> Result<(PackedCoefficients, CoefficientReport), Error> {
    let components = block_windows(plan);
    let blocks: usize = components.iter().map(BlockWindow::count).sum();
    let (mut headers, mut symbols) = memory.take();
    headers.clear();
    headers.resize(blocks, 0);
    symbols.clear();
    // Photographs have 5 to 10 coefficients per block.
    symbols.reserve(blocks * 8);
    let report = decode_coefficients(plan, |row| {
        for (index, (window, component)) in components.iter().zip(plan.components()).enumerate() {
            let vertical = u32::from(component.sampling.vertical);
            let block_rows = row.index() * vertical..(row.index() + 1) * vertical;
            for block_row in block_rows.start..block_rows.end.min(window.first_row + window.rows) {
                let header = window.first_header + (block_row - window.first_row) as usize * window.columns as usize;
                for column in 0..window.columns {
                    let (block, last_nonzero) = row.block(index, block_row, window.first_column + column);
                    let first = symbols.len() as u32;
                    push_symbols(&block, last_nonzero, &mut symbols);
                    headers[header + column as usize] = first << 7 | (symbols.len() as u32 - first);
                }
            }
        }
    })?;
    Ok((PackedCoefficients { headers, symbols, components }, report))
}

/// Appends the coefficients of a block that are not 0, in natural order.
#[inline]
fn push_symbols(block: &Block, last_nonzero: u8, symbols: &mut Vec<u32>) {
    if last_nonzero == 0 {
        if block[0] != 0 {
            symbols.push((block[0] as u32) << 16);
        }
        return;
    }
    let mut found = [0u32; 64];
    let mut count = 0;
    // Four coefficients at a time: most are 0.
    let quads: [u64; 16] = bytemuck::cast(block.map(i16::to_le));
    for (quad, mut rest) in (0..).zip(quads.map(u64::from_le)) {
        while rest != 0 {
            let lane = rest.trailing_zeros() / 16;
            let value = (rest >> (16 * lane)) as u16;
            found[count & 63] = u32::from(value) << 16 | (4 * quad + lane);
            count += 1;
            rest &= !(0xFFFF << (16 * lane));
        }
    }
    symbols.extend_from_slice(&found[..count]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_the_coefficients_that_are_not_0() {
        let mut block = [0i16; 64];
        let mut symbols = Vec::new();
        push_symbols(&block, 0, &mut symbols);
        push_symbols(&block, 63, &mut symbols);
        assert!(symbols.is_empty());
        let coefficients = [(0, -1i16), (1, i16::MIN), (7, i16::MAX), (8, 3), (62, -300), (63, 1)];
        coefficients.iter().for_each(|&(natural, value)| block[natural] = value);
        push_symbols(&block, 63, &mut symbols);
        let read: Vec<(usize, i16)> =
            symbols.iter().map(|symbol| ((symbol & 63) as usize, (symbol >> 16) as u16 as i16)).collect();
        assert_eq!(read, coefficients);

        let full = std::array::from_fn(|natural| natural as i16 - 70);
        symbols.clear();
        push_symbols(&full, 63, &mut symbols);
        assert_eq!(symbols.len(), 64);
    }
}
