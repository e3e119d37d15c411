//! Sequential scans: baseline and 8-bit extended (T.81 F.2).

use std::ops::Range;

use super::ac_table::{AcEntry, AcTable, END};
use super::bit_reader::{BitReader, Bits};
use super::cursor::ScanCursor;
use super::huffman::{HuffmanTable, LOOKAHEAD};
use super::index::McuStart;
use super::packed::{BlockSink, ROOM, RowPlace};
use crate::codestream::{Codestream, HuffmanSpec, Scan, ZIGZAG};
use crate::geometry::Size;
use crate::plan::DecodePlan;
use crate::simd::{self, Level};
use crate::warning::Warnings;

/// Decodes one sequential scan row of MCUs by row of MCUs.
pub(crate) struct SequentialScan<'a> {
    level: Level,
    cursor: ScanCursor<'a>,
    shape: ScanShape,
    predictors: [i32; 4],
    next_row: u32,
}

/// What an MCU of a sequential scan is made of, and how many there are.
pub(super) struct ScanShape {
    /// The blocks of an MCU, in the scan's order.
    pub(super) blocks: Vec<McuBlock>,
    pub(super) tables: Tables,
    pub(super) mcus: Size,
    /// Rows of this scan's MCUs in one interleaved MCU row: more than one for a single component.
    pub(super) rows_per_mcu_row: u32,
    /// The same of columns.
    columns_per_mcu_column: u32,
}

impl ScanShape {
    pub(super) fn new(codestream: &Codestream, scan: &Scan) -> Self {
        let frame = codestream.frame();
        let mut tables = Tables::default();
        let mut blocks = Vec::new();
        for (index, part) in scan.components.iter().enumerate() {
            let sampling = frame.components[part.component].sampling;
            let (columns, rows) =
                if scan.is_interleaved() { (sampling.horizontal.into(), sampling.vertical.into()) } else { (1, 1) };
            let (dc, ac) = (tables.dc(codestream, part.dc_table), tables.ac(codestream, part.ac_table));
            for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
                let (component, place) = (part.component, RowPlace::default());
                blocks.push(McuBlock { component, part: index, dc, ac, columns, rows, column, row, place });
            }
        }
        let rows_per_mcu_row = match scan.components.as_slice() {
            [only] => u32::from(frame.components[only.component].sampling.vertical),
            _ => 1,
        };
        let columns_per_mcu_column = match scan.components.as_slice() {
            [only] => u32::from(frame.components[only.component].sampling.horizontal),
            _ => 1,
        };
        ScanShape { blocks, tables, mcus: scan.mcus(frame), rows_per_mcu_row, columns_per_mcu_column }
    }

    /// The columns of this scan's MCUs under columns of interleaved MCUs.
    fn columns_under(&self, columns: &Range<u32>) -> Range<u32> {
        let scaled = |column: u32| (column * self.columns_per_mcu_column).min(self.mcus.width);
        scaled(columns.start)..scaled(columns.end)
    }
}

/// One block of each MCU.
pub(super) struct McuBlock {
    pub(super) component: usize,
    /// Which of the scan's components it is.
    pub(super) part: usize,
    /// Indices into the tables of each kind.
    pub(super) dc: usize,
    pub(super) ac: usize,
    /// Blocks of the component in an MCU, and which of them this is.
    pub(super) columns: u32,
    pub(super) rows: u32,
    pub(super) column: u32,
    pub(super) row: u32,
    /// Where the blocks of the current row go.
    pub(super) place: RowPlace,
}

/// Decoding tables, each once, with the index of its definition.
#[derive(Default)]
pub(super) struct Tables {
    pub(super) dc: Vec<(usize, HuffmanTable)>,
    pub(super) ac: Vec<(usize, AcTable)>,
}

impl Tables {
    fn dc(&mut self, codestream: &Codestream, index: Option<usize>) -> usize {
        position_or_push(&mut self.dc, codestream, index, HuffmanTable::without_values)
    }

    fn ac(&mut self, codestream: &Codestream, index: Option<usize>) -> usize {
        position_or_push(&mut self.ac, codestream, index, AcTable::new)
    }
}

fn position_or_push<T>(
    tables: &mut Vec<(usize, T)>,
    codestream: &Codestream,
    index: Option<usize>,
    build: impl FnOnce(&HuffmanSpec) -> T,
) -> usize {
    let index = index.expect("the parser resolves both tables of sequential scans");
    tables.iter().position(|(built, _)| *built == index).unwrap_or_else(|| {
        tables.push((index, build(&codestream.huffman_tables()[index])));
        tables.len() - 1
    })
}

impl<'a> SequentialScan<'a> {
    pub(super) fn new(codestream: &Codestream<'a>, scan: &Scan) -> Self {
        let shape = ScanShape::new(codestream, scan);
        let cursor = ScanCursor::new(codestream.bytes(), scan, shape.mcus.pixels());
        SequentialScan { level: Level::detected(), cursor, shape, predictors: [0; 4], next_row: 0 }
    }

    /// Decodes interleaved MCU row `row` of a plan's window. What comes before it and was not asked for is read over, or
    /// with an index mostly passed over, as is then what lies right of the window.
    pub(super) fn decode_window_row(
        &mut self,
        sink: &mut impl BlockSink,
        plan: &DecodePlan,
        row: u32,
        warnings: &mut Warnings,
    ) {
        let Some(index) = plan.index() else { return self.decode_rows(sink, row + 1, warnings) };
        let mcus = self.shape.mcus;
        let wanted = self.shape.columns_under(&plan.mcus().columns);
        let first = row * self.shape.rows_per_mcu_row;
        for row in first..(first + self.shape.rows_per_mcu_row).min(mcus.height) {
            if self.cursor.is_exhausted() {
                break;
            }
            let (column, place) = index.place(plan.codestream(), row, wanted.start);
            self.start_at(row, column, place);
            // The last row is read to its end: something may be left over behind it.
            let end = if row + 1 == mcus.height { mcus.width } else { wanted.end };
            self.decode_row(sink, column..end, warnings);
        }
        self.end_rows(row + 1, warnings);
    }

    /// Goes on at an MCU of a row of the scan, where the state was this.
    pub(super) fn start_at(&mut self, row: u32, column: u32, start: &McuStart) {
        self.next_row = row;
        self.predictors = start.predictors.map(i32::from);
        self.cursor.resume(start, u64::from(row) * u64::from(self.shape.mcus.width) + u64::from(column));
    }

    /// Where a restart interval has been decoded to its end: passes the marker, and reports what is not as it should be.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn end_interval(&mut self, warnings: &mut Warnings) {
        if self.next_row < self.shape.mcus.height {
            self.cursor.restart_if_due(warnings);
        }
    }

    /// Decodes the scan's rows up to interleaved MCU row `end`.
    pub(super) fn decode_rows(&mut self, sink: &mut impl BlockSink, end: u32, warnings: &mut Warnings) {
        let end_row = (end * self.shape.rows_per_mcu_row).min(self.shape.mcus.height);
        while self.next_row < end_row && !self.cursor.is_exhausted() {
            self.decode_row(sink, 0..self.shape.mcus.width, warnings);
        }
        self.end_rows(end, warnings);
    }

    /// Decodes the whole scan. `use_place` gets the state at the start of each row and after every `mcus` of it.
    pub(super) fn read_through(
        &mut self,
        sink: &mut impl BlockSink,
        mcus: u32,
        warnings: &mut Warnings,
        mut use_place: impl FnMut(McuStart),
    ) {
        let Size { width, height } = self.shape.mcus;
        for row in 0..height {
            for column in (0..width).step_by(mcus as usize) {
                use_place(self.cursor.mcu_start(self.predictors));
                self.next_row = row;
                self.decode_row(sink, column..(column + mcus).min(width), warnings);
            }
        }
        self.cursor.end_scan(false, warnings);
    }

    /// Ends rows up to interleaved MCU row `end`.
    fn end_rows(&mut self, end: u32, warnings: &mut Warnings) {
        self.next_row = (end * self.shape.rows_per_mcu_row).min(self.shape.mcus.height);
        if self.next_row == self.shape.mcus.height {
            self.cursor.end_scan(false, warnings);
        }
    }

    /// Interleaved MCU rows from the top that are undamaged.
    pub(super) fn valid_mcu_rows(&self) -> u32 {
        match self.cursor.first_damaged_mcu() {
            None => u32::MAX,
            Some(mcu) => (mcu / u64::from(self.shape.mcus.width)) as u32 / self.shape.rows_per_mcu_row,
        }
    }

    /// Decodes MCUs of the next row, of which those before were decoded or are not wanted.
    fn decode_row(&mut self, sink: &mut impl BlockSink, columns: Range<u32>, warnings: &mut Warnings) {
        let row = self.next_row;
        self.next_row += 1;
        for block in &mut self.shape.blocks {
            block.place = sink.row_place(block.component, row * block.rows + block.row);
        }
        let mut column = columns.start;
        while column < columns.end {
            if self.cursor.restart_if_due(warnings) {
                self.predictors = [0; 4];
            }
            let count = self.cursor.before_restart(columns.end - column);
            column += if self.cursor.has_data() {
                let decoded = self.decode_mcus(sink, column, count);
                self.cursor.end_mcus(decoded, warnings);
                decoded
            } else {
                self.cursor.pass(count)
            };
        }
    }

    fn decode_mcus(&mut self, sink: &mut impl BlockSink, first_column: u32, count: u32) -> u32 {
        simd::decode_mcus(self.level, McuRun { scan: self, sink, first_column, count })
    }
}

/// MCUs of one row, without a restart between them.
pub(crate) struct McuRun<'r, 'a, S> {
    scan: &'r mut SequentialScan<'a>,
    sink: &'r mut S,
    first_column: u32,
    count: u32,
}

impl<S: BlockSink> McuRun<'_, '_, S> {
    /// Decodes them, at least one and none after one that is damaged. Returns how many.
    #[inline(always)]
    pub(crate) fn decode(self) -> u32 {
        let SequentialScan { cursor, shape: ScanShape { blocks, tables, .. }, predictors, .. } = self.scan;
        let mut bits = cursor.reader.bits();
        let mut decoded = 0;
        while decoded < self.count && !bits.overdrawn() && cursor.bad_codes == 0 {
            for block in blocks.iter() {
                let (dc, ac) = (&tables.dc[block.dc].1, &tables.ac[block.ac].1);
                let mut decoder = BlockDecoder { dc, ac, cursor, bits };
                let symbols = decoder.block::<S>(&mut predictors[block.part], self.sink.room());
                bits = decoder.bits;
                let column = (self.first_column + decoded) * block.columns + block.column;
                self.sink.end_block(&block.place, column, symbols);
            }
            decoded += 1;
        }
        cursor.reader.set_bits(bits);
        decoded
    }
}

/// A refill makes 56 bits available.
const LOOKUPS_PER_REFILL: u32 = 56 / LOOKAHEAD;

/// Decodes blocks of one component, the reader's bits in registers.
pub(super) struct BlockDecoder<'d, 'a> {
    pub(super) dc: &'d HuffmanTable,
    pub(super) ac: &'d AcTable,
    pub(super) cursor: &'d mut ScanCursor<'a>,
    pub(super) bits: Bits,
}

impl<'d> BlockDecoder<'d, '_> {
    /// Decodes a block (T.81 F.2.2) to symbols. Returns how many.
    #[inline(always)]
    pub(super) fn block<S: BlockSink>(&mut self, predictor: &mut i32, symbols: &mut [u32; ROOM]) -> usize {
        self.refill();
        *predictor = predictor.wrapping_add(self.dc_difference());
        // Kept in 16 bits, as libjpeg does: damaged files wrap.
        symbols[0] = (*predictor as u32) << 16;
        let mut count = usize::from(S::KEEPS_ZERO_DC || symbols[0] != 0);
        // At least 25 bits are left, which is enough for two look-ups.
        let mut k = 1;
        let mut stop = self.look_up::<2>(&mut k, symbols, &mut count);
        loop {
            if let Some(entry) = stop {
                if entry.ends_block_at(k) {
                    self.take(entry, k, symbols, &mut count);
                    break;
                }
                k = self.one_symbol(entry, k, symbols, &mut count);
                if k >= END {
                    break;
                }
            }
            self.refill();
            stop = self.look_up::<LOOKUPS_PER_REFILL>(&mut k, symbols, &mut count);
        }
        // A run past the end of a damaged block hits its last coefficient.
        let last = &mut symbols[count.saturating_sub(1) & (ROOM - 1)];
        if *last & 0xFFFF > 63 {
            *last = *last & 0xFFFF_0000 | 63;
        }
        count
    }

    #[inline(always)]
    fn refill(&mut self) {
        self.bits = self.cursor.reader.refilled(self.bits);
    }

    /// Takes what so many look-ups give from zigzag index `k` on. Stops at the first that comes to the block's end or
    /// beyond and returns its entry.
    #[inline(always)]
    fn look_up<const TIMES: u32>(
        &mut self,
        k: &mut u32,
        symbols: &mut [u32; ROOM],
        count: &mut usize,
    ) -> Option<&'d AcEntry> {
        for _ in 0..TIMES {
            let entry = &self.ac.entries()[self.bits.peek(LOOKAHEAD) as usize & ((1 << LOOKAHEAD) - 1)];
            let next = *k + entry.advance();
            if next >= END {
                return Some(entry);
            }
            self.take(entry, *k, symbols, count);
            *k = next;
        }
        None
    }

    /// Takes what an entry of the look-up holds.
    #[inline(always)]
    fn take(&mut self, entry: &AcEntry, k: u32, symbols: &mut [u32; ROOM], count: &mut usize) {
        self.bits.consume(entry.shift());
        let at = *count & (ROOM / 2 - 1);
        symbols[at..at + 2].copy_from_slice(&entry.symbols(k));
        *count += entry.coefficients();
    }

    #[inline(always)]
    fn dc_difference(&mut self) -> i32 {
        let symbol = self.dc.decode_bits(&mut self.bits, &mut self.cursor.bad_codes);
        self.bits.take_signed(symbol.size())
    }

    /// Decodes one symbol, however long, at zigzag index `k`, to which the look-up gave `entry`. Returns the index after it.
    #[inline(always)]
    fn one_symbol(&mut self, entry: &AcEntry, k: u32, symbols: &mut [u32; ROOM], count: &mut usize) -> u32 {
        self.refill();
        let (run, value) = match entry.code_alone() {
            Some((run, size, code_bits)) => {
                let value = self.bits.peek_signed(code_bits, size);
                self.bits.consume(code_bits + size);
                (run, value)
            }
            None => {
                let symbol = self.ac.single.decode_bits(&mut self.bits, &mut self.cursor.bad_codes);
                match (symbol.value(), symbol.size()) {
                    (0, 0) if symbol.run() == 15 => return k + 16,
                    (0, 0) => return END,
                    (0, size) => (symbol.run(), self.bits.take_signed(size)),
                    (value, _) => (symbol.run(), value),
                }
            }
        };
        symbols[*count & (ROOM - 1)] = (value as u32) << 16 | (k + run);
        *count += 1;
        k + run + 1
    }
}

/// Decodes a DC difference (T.81 F.2.2.1).
#[inline(always)]
pub(super) fn decode_dc(table: &HuffmanTable, reader: &mut BitReader, bad_codes: &mut u32) -> i32 {
    reader.refill();
    let symbol = table.decode(reader, bad_codes);
    match symbol.size() {
        0 => symbol.value(),
        size => reader.take_signed(size),
    }
}

/// ZIGZAG, and 63 for the indices that a run past the end of a damaged block reaches.
pub(super) const NATURAL: [u8; 128] = {
    let mut natural = [63; 128];
    let mut index = 0;
    while index < 64 {
        natural[index] = ZIGZAG[index];
        index += 1;
    }
    natural
};
