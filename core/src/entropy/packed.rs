//! Coefficients in packed form: only those that are not 0. It is what sequential scans decode to and what goes to
//! GPUs.

use super::{Block, CoefficientPlane};
use crate::codestream::ZIGZAG;
use crate::plan::{DecodePlan, McuWindow};

/// The coefficients of a plan's window that are not 0, block by block.
///
/// The memory of one is used again by the next: keep it for the next picture.
#[derive(Debug, Clone, Default)]
pub struct PackedCoefficients {
    windows: Vec<BlockWindow>,
    headers: Vec<u32>,
    /// Room for symbols; `used` of it are there.
    symbols: Vec<u32>,
    used: usize,
}

/// The blocks of a component in a plan's window, without the padding of MCUs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BlockWindow {
    /// Index of the first block's header.
    pub first_header: usize,
    /// First block column, counted in the whole image.
    pub first_column: u32,
    /// First block row, counted in the whole image.
    pub first_row: u32,
    /// Blocks across; 0 if the plan does not need the component.
    pub columns: u32,
    /// Blocks down.
    pub rows: u32,
}

impl BlockWindow {
    /// Blocks in the window.
    pub fn count(&self) -> usize {
        self.columns as usize * self.rows as usize
    }

    /// Where a row of blocks goes.
    fn row_place(&self, component: usize, row: u32) -> RowPlace {
        let row = row.wrapping_sub(self.first_row);
        RowPlace {
            component,
            first_index: self.first_header + row.min(self.rows) as usize * self.columns as usize,
            first_column: self.first_column,
            columns: if row < self.rows { self.columns } else { 0 },
        }
    }
}

/// Where a row of a component's blocks goes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RowPlace {
    component: usize,
    /// Index of the first block that is wanted, its column, and how many are.
    first_index: usize,
    first_column: u32,
    columns: u32,
}

impl RowPlace {
    /// Index of a block, if it is wanted.
    #[inline(always)]
    fn index(&self, column: u32) -> Option<usize> {
        let column = column.wrapping_sub(self.first_column);
        (column < self.columns).then_some(self.first_index + column as usize)
    }
}

/// The block windows of all components of a plan.
pub fn block_windows(plan: &DecodePlan) -> Vec<BlockWindow> {
    windows_of(plan, plan.mcus())
}

fn windows_of(plan: &DecodePlan, mcus: &McuWindow) -> Vec<BlockWindow> {
    let mut first_header = 0;
    plan.components()
        .iter()
        .map(|component| {
            if !component.needed {
                return BlockWindow::default();
            }
            let vertical = u32::from(component.sampling.vertical);
            let columns = &component.block_columns;
            let window = BlockWindow {
                first_header,
                first_column: columns.start,
                first_row: mcus.rows.start * vertical,
                columns: columns.end.min(component.blocks.width) - columns.start,
                rows: (mcus.rows.end * vertical).min(component.blocks.height) - mcus.rows.start * vertical,
            };
            first_header += window.count();
            window
        })
        .collect()
}

impl PackedCoefficients {
    /// The most symbols that headers can point to; those of more have no meaning.
    pub const MAX_SYMBOLS: usize = 1 << 25;

    /// Symbols to begin with: photographs have 5 to 10 coefficients per block.
    const SYMBOLS_PER_BLOCK: usize = 8;

    /// The blocks of each component of the frame.
    pub fn windows(&self) -> &[BlockWindow] {
        &self.windows
    }

    /// Per block of the windows, row by row: index of its first symbol << 7 | number of symbols (0..=64).
    pub fn headers(&self) -> &[u32] {
        &self.headers
    }

    /// Coefficients that are not 0: value << 16 | zigzag index.
    pub fn symbols(&self) -> &[u32] {
        &self.symbols[..self.used]
    }

    /// Words of memory held, used or not.
    pub fn capacity(&self) -> usize {
        self.headers.capacity() + self.symbols.capacity()
    }

    /// A row of blocks; empty if it is none of the window.
    pub(crate) fn row(&self, component: usize, row: u32) -> PackedRow<'_> {
        let place = self.windows[component].row_place(component, row);
        let headers = &self.headers[place.first_index..place.first_index + place.columns as usize];
        PackedRow { headers, first_column: place.first_column, symbols: self.symbols() }
    }

    /// A row of blocks whose headers point to symbols elsewhere.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn row_elsewhere<'p>(&'p self, component: usize, row: u32, symbols: &'p [u32]) -> PackedRow<'p> {
        PackedRow { symbols, ..self.row(component, row) }
    }

    /// Gives a block a header, if it is one that is wanted.
    #[cfg(not(target_arch = "wasm32"))]
    #[inline(always)]
    pub(super) fn set_header(&mut self, place: &RowPlace, column: u32, header: u32) {
        if let Some(index) = place.index(column) {
            self.headers[index] = header;
        }
    }

    /// A row of blocks within narrower columns.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn row_within(&self, component: usize, row: u32, columns: &BlockWindow) -> PackedRow<'_> {
        let place = self.windows[component].row_place(component, row);
        let first = place.first_index + (columns.first_column - place.first_column) as usize;
        let count = if place.columns == 0 { 0 } else { columns.columns as usize };
        let headers = &self.headers[first..first + count];
        PackedRow { headers, first_column: columns.first_column, symbols: self.symbols() }
    }

    /// Empties it for a plan's window.
    pub(super) fn reset(&mut self, plan: &DecodePlan, mcus: &McuWindow) {
        self.windows = windows_of(plan, mcus);
        let blocks: usize = self.windows.iter().map(BlockWindow::count).sum();
        self.headers.clear();
        self.headers.resize(blocks, 0);
        self.used = 0;
        if self.symbols.len() < blocks * Self::SYMBOLS_PER_BLOCK {
            self.symbols.resize(blocks * Self::SYMBOLS_PER_BLOCK, 0);
        }
    }

    /// Empties it and moves its windows to another row of MCUs.
    pub(super) fn start_row(&mut self, plan: &DecodePlan, row: u32) {
        for (window, component) in self.windows.iter_mut().zip(plan.components()).filter(|(w, _)| w.columns > 0) {
            let vertical = u32::from(component.sampling.vertical);
            window.first_row = row * vertical;
            window.rows = vertical.min(component.blocks.height - row * vertical);
        }
        self.headers.fill(0);
        self.used = 0;
    }

    /// Packs a block of coefficients.
    pub(super) fn push_block(&mut self, place: &RowPlace, column: u32, block: &Block) {
        let symbols = self.room();
        let mut count = 0;
        // Four coefficients at a time: most are 0.
        let (quads, _) = block.as_chunks::<4>();
        for (first, quad) in (0usize..).step_by(4).zip(quads) {
            if *quad == [0; 4] {
                continue;
            }
            for (natural, &value) in (first..).zip(quad) {
                symbols[count & (ROOM - 1)] = u32::from(value as u16) << 16 | u32::from(ZIGZAG_INDEX[natural & 63]);
                count += usize::from(value != 0);
            }
        }
        self.end_block(place, column, count);
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.symbols.resize((self.used + self.used / 2).max(self.used + 2 * ROOM), 0);
    }
}

/// A row of packed blocks.
pub(crate) struct PackedRow<'p> {
    headers: &'p [u32],
    first_column: u32,
    symbols: &'p [u32],
}

impl PackedRow<'_> {
    /// The symbols of each block.
    #[inline(always)]
    pub(crate) fn blocks(&self) -> impl Iterator<Item = &[u32]> {
        self.headers.iter().map(|&header| self.symbols_of(header))
    }

    /// The symbols of one block; none of blocks that are not held, such as the padding of MCUs.
    pub(crate) fn block(&self, column: u32) -> &[u32] {
        let header = self.headers.get(column.wrapping_sub(self.first_column) as usize);
        header.map_or(&[], |&header| self.symbols_of(header))
    }

    #[inline(always)]
    fn symbols_of(&self, header: u32) -> &[u32] {
        &self.symbols[(header >> 7) as usize..][..(header & 127) as usize]
    }
}

/// Words that a block may write: 64 symbols, one that does not count, and more for cheap index checks.
pub(crate) const ROOM: usize = 128;

/// Value and zigzag index of a packed coefficient.
#[inline(always)]
pub(crate) fn unpacked(symbol: u32) -> (i16, usize) {
    ((symbol >> 16) as i16, (symbol & 63) as usize)
}

/// Takes the blocks of sequential scans.
pub(crate) trait BlockSink {
    /// Whether a DC coefficient of 0 takes a symbol too.
    const KEEPS_ZERO_DC: bool = false;

    /// Memory for the next block's symbols.
    fn room(&mut self) -> &mut [u32; ROOM];

    /// Where a row of blocks goes.
    fn row_place(&self, component: usize, row: u32) -> RowPlace;

    /// Keeps the first `count` symbols as a block, if it is one that is wanted.
    fn end_block(&mut self, place: &RowPlace, column: u32, count: usize);
}

impl BlockSink for PackedCoefficients {
    #[inline(always)]
    fn room(&mut self) -> &mut [u32; ROOM] {
        if self.symbols.len() < self.used + ROOM {
            self.grow();
        }
        self.symbols[self.used..].first_chunk_mut().expect("grown if too short")
    }

    fn row_place(&self, component: usize, row: u32) -> RowPlace {
        self.windows[component].row_place(component, row)
    }

    #[inline(always)]
    fn end_block(&mut self, place: &RowPlace, column: u32, count: usize) {
        if let Some(index) = place.index(column) {
            self.headers[index] = (self.used as u32) << 7 | count as u32;
            self.used += count;
        }
    }
}

/// Puts the blocks of sequential scans into planes, for files of several scans.
pub(super) struct PlaneSink<'p> {
    planes: &'p mut [CoefficientPlane],
    symbols: [u32; ROOM],
}

impl<'p> PlaneSink<'p> {
    pub(super) fn new(planes: &'p mut [CoefficientPlane]) -> Self {
        PlaneSink { planes, symbols: [0; ROOM] }
    }
}

impl BlockSink for PlaneSink<'_> {
    #[inline(always)]
    fn room(&mut self) -> &mut [u32; ROOM] {
        &mut self.symbols
    }

    fn row_place(&self, component: usize, row: u32) -> RowPlace {
        let plane = &self.planes[component];
        let columns = plane.columns.len();
        let first_index = row.wrapping_sub(plane.rows.start) as usize * columns;
        let columns = if plane.rows.contains(&row) { columns as u32 } else { 0 };
        RowPlace { component, first_index, first_column: plane.columns.start, columns }
    }

    fn end_block(&mut self, place: &RowPlace, column: u32, count: usize) {
        let Some(index) = place.index(column) else { return };
        let plane = &mut self.planes[place.component];
        let block = &mut plane.blocks[index];
        // A scan that repeats a component leaves the AC coefficients that it does not send.
        block[0] = 0;
        let mut last = 0;
        for &symbol in &self.symbols[..count] {
            let (value, zigzag) = unpacked(symbol);
            block[usize::from(ZIGZAG[zigzag])] = value;
            last = zigzag;
        }
        plane.last_nonzero[index] = plane.last_nonzero[index].max(last as u8);
    }
}

/// Zigzag index by natural index.
const ZIGZAG_INDEX: [u8; 64] = {
    let mut inverse = [0; 64];
    let mut index = 0;
    while index < 64 {
        inverse[ZIGZAG[index] as usize] = index as u8;
        index += 1;
    }
    inverse
};

#[cfg(test)]
mod tests {
    use super::*;

    fn one_block() -> PackedCoefficients {
        let window = BlockWindow { columns: 1, rows: 1, ..BlockWindow::default() };
        PackedCoefficients { windows: vec![window], headers: vec![0], ..PackedCoefficients::default() }
    }

    fn push(packed: &mut PackedCoefficients, (component, row): (usize, u32), column: u32, block: &Block) {
        let place = packed.row_place(component, row);
        packed.push_block(&place, column, block);
    }

    #[test]
    fn symbols_are_the_coefficients_that_are_not_0() {
        let mut block = [0i16; 64];
        let coefficients = [(-1i16, 0), (i16::MIN, 1), (3, 2), (i16::MAX, 28), (-300, 62), (1, 63)];
        coefficients.iter().for_each(|&(value, zigzag)| block[usize::from(ZIGZAG[zigzag])] = value);
        let mut packed = one_block();
        push(&mut packed, (0, 0), 0, &block);
        let mut read: Vec<(i16, usize)> = packed.row(0, 0).block(0).iter().map(|&symbol| unpacked(symbol)).collect();
        read.sort_by_key(|&(_, zigzag)| zigzag);
        assert_eq!(read, coefficients);
    }

    #[test]
    fn empty_and_full_blocks_fit() {
        let mut packed = one_block();
        push(&mut packed, (0, 0), 0, &[0; 64]);
        assert!(packed.symbols().is_empty() && packed.row(0, 0).block(0).is_empty());
        for _ in 0..100 {
            push(&mut packed, (0, 0), 0, &[-7; 64]);
        }
        assert_eq!((packed.symbols().len(), packed.row(0, 0).block(0).len()), (6400, 64));
    }

    #[test]
    fn blocks_outside_the_window_leave_nothing() {
        let mut packed = one_block();
        push(&mut packed, (0, 0), 1, &[1; 64]);
        push(&mut packed, (0, 1), 0, &[1; 64]);
        assert!(packed.symbols().is_empty());
    }
}
