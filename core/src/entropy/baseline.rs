//! Sequential scans: baseline and 8-bit extended (T.81 F.2).

use super::Block;
use super::CoefficientPlane;
use super::bit_reader::BitReader;
use super::cursor::ScanCursor;
use super::huffman::HuffmanTable;
use crate::codestream::{Codestream, Scan, ZIGZAG};
use crate::geometry::Size;
use crate::warning::Warnings;

/// Decodes one sequential scan row of MCUs by row of MCUs.
pub(super) struct SequentialScan<'a> {
    cursor: ScanCursor<'a>,
    parts: Vec<Part>,
    tables: Vec<(usize, HuffmanTable)>,
    mcus: Size,
    /// Rows of this scan's MCUs in one interleaved MCU row: more than one for a single component.
    rows_per_mcu_row: u32,
    next_row: u32,
}

/// One component's blocks in each MCU.
struct Part {
    component: usize,
    /// Indices into `SequentialScan::tables`.
    dc: usize,
    ac: usize,
    /// Blocks per MCU.
    columns: u32,
    rows: u32,
    predictor: i32,
}

impl<'a> SequentialScan<'a> {
    pub(super) fn new(codestream: &Codestream<'a>, scan: &Scan) -> Self {
        let frame = codestream.frame();
        let mcus = scan.mcus(frame);
        let mut tables: Vec<(usize, HuffmanTable)> = Vec::new();
        let mut table = |index: Option<usize>| {
            let index = index.expect("the parser resolves both tables of sequential scans");
            tables.iter().position(|(built, _)| *built == index).unwrap_or_else(|| {
                tables.push((index, HuffmanTable::with_values(&codestream.huffman_tables()[index])));
                tables.len() - 1
            })
        };
        let parts = scan
            .components
            .iter()
            .map(|part| {
                let sampling = frame.components[part.component].sampling;
                let (columns, rows) =
                    if scan.is_interleaved() { (sampling.horizontal, sampling.vertical) } else { (1, 1) };
                Part {
                    component: part.component,
                    dc: table(part.dc_table),
                    ac: table(part.ac_table),
                    columns: u32::from(columns),
                    rows: u32::from(rows),
                    predictor: 0,
                }
            })
            .collect();
        let rows_per_mcu_row = match scan.components.as_slice() {
            [only] => u32::from(frame.components[only.component].sampling.vertical),
            _ => 1,
        };
        let cursor = ScanCursor::new(codestream.bytes(), scan, mcus.pixels());
        SequentialScan { cursor, parts, tables, mcus, rows_per_mcu_row, next_row: 0 }
    }

    /// Decodes the scan's rows up to interleaved MCU row `end`, storing blocks that lie in the planes.
    pub(super) fn decode_rows_into(&mut self, planes: &mut [CoefficientPlane], end: u32, warnings: &mut Warnings) {
        let end = (end * self.rows_per_mcu_row).min(self.mcus.height);
        while self.next_row < end && !self.cursor.is_exhausted() {
            self.decode_row(planes, warnings);
        }
        self.next_row = end;
        if end == self.mcus.height {
            self.cursor.end_scan(false, warnings);
        }
    }

    /// Decodes interleaved MCU row `row`, storing blocks that lie in the planes. Rows before it that were
    /// not asked for are read over.
    pub(super) fn decode_mcu_row(&mut self, planes: &mut [CoefficientPlane], row: u32, warnings: &mut Warnings) {
        self.decode_rows_into(planes, row + 1, warnings);
    }

    /// Interleaved MCU rows from the top that are undamaged.
    pub(super) fn valid_mcu_rows(&self) -> u32 {
        match self.cursor.first_damaged_mcu() {
            None => u32::MAX,
            Some(mcu) => (mcu / u64::from(self.mcus.width)) as u32 / self.rows_per_mcu_row,
        }
    }

    fn decode_row(&mut self, planes: &mut [CoefficientPlane], warnings: &mut Warnings) {
        let row = self.next_row;
        self.next_row += 1;
        let mut column = 0;
        while column < self.mcus.width {
            if self.cursor.restart_if_due(warnings) {
                self.parts.iter_mut().for_each(|part| part.predictor = 0);
            }
            if self.cursor.has_data() {
                self.decode_mcu(planes, row, column);
                self.cursor.end_mcu(warnings);
                column += 1;
            } else {
                column += self.cursor.pass(self.mcus.width - column);
            }
        }
    }

    #[inline]
    fn decode_mcu(&mut self, planes: &mut [CoefficientPlane], mcu_row: u32, mcu_column: u32) {
        let SequentialScan { cursor, parts, tables, .. } = self;
        for part in parts {
            let (dc, ac) = (&tables[part.dc].1, &tables[part.ac].1);
            let plane = &mut planes[part.component];
            for block_row in 0..part.rows {
                for block_column in 0..part.columns {
                    let (row, column) = (mcu_row * part.rows + block_row, mcu_column * part.columns + block_column);
                    part.predictor =
                        part.predictor.wrapping_add(decode_dc(dc, &mut cursor.reader, &mut cursor.bad_codes));
                    if plane.contains(row, column) {
                        let index = plane.index(row, column);
                        let block = &mut plane.blocks[index];
                        // Stored in 16 bits, as libjpeg does: damaged files wrap.
                        block[0] = part.predictor as i16;
                        let last = decode_ac(ac, &mut cursor.reader, block, &mut cursor.bad_codes);
                        // A scan that repeats a component leaves the coefficients that it does not send.
                        plane.last_nonzero[index] = plane.last_nonzero[index].max(last);
                    } else {
                        skip_ac(ac, &mut cursor.reader, &mut cursor.bad_codes);
                    }
                }
            }
        }
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

/// Decodes a block's AC coefficients (T.81 F.2.2.2) into a block whose AC coefficients are 0. Returns the
/// zigzag index of the last one.
#[inline(always)]
fn decode_ac(table: &HuffmanTable, reader: &mut BitReader, block: &mut Block, bad_codes: &mut u32) -> u8 {
    let mut last = 0;
    let mut k = 1u32;
    while k < 64 {
        reader.refill();
        let symbol = table.decode(reader, bad_codes);
        let mut value = symbol.value();
        if value == 0 {
            match (symbol.size(), symbol.run()) {
                (0, 15) => {
                    k += 16;
                    continue;
                }
                (0, _) => break,
                (size, _) => value = reader.take_signed(size),
            }
        }
        k += symbol.run();
        last = k;
        block[usize::from(NATURAL[(k & 127) as usize] & 63)] = value as i16;
        k += 1;
    }
    last.min(63) as u8
}

/// Reads over a block's AC coefficients.
#[inline(always)]
fn skip_ac(table: &HuffmanTable, reader: &mut BitReader, bad_codes: &mut u32) {
    let mut k = 1u32;
    while k < 64 {
        reader.refill();
        let symbol = table.decode(reader, bad_codes);
        if symbol.value() == 0 {
            match (symbol.size(), symbol.run()) {
                (0, 15) => {
                    k += 16;
                    continue;
                }
                (0, _) => break,
                (size, _) => reader.consume(size),
            }
        }
        k += symbol.run() + 1;
    }
}
