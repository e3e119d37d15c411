//! Progressive scans: spectral selection and successive approximation (T.81 Annex G).
//!
//! Each block has a mask of its coefficients that are not 0. Refinement needs to know no more than that of
//! blocks outside the plan's window, so only the blocks inside hold coefficients.

use super::baseline::{NATURAL, decode_dc};
use super::bit_reader::Bits;
use super::cursor::ScanCursor;
use super::huffman::HuffmanTable;
use super::{Block, CoefficientPlane, DataExtent, scans_needed};
use crate::codestream::{Codestream, Frame, Scan};
use crate::error::{FormatError, FormatErrorKind};
use crate::plan::DecodePlan;
use crate::simd::{self, Level};
use crate::warning::Warnings;

/// Decodes all scans into the planes.
pub(super) fn decode_scans(
    plan: &DecodePlan,
    planes: &mut [CoefficientPlane],
    extent: &mut DataExtent,
    warnings: &mut Warnings,
) -> Result<(), FormatError> {
    let codestream = plan.codestream();
    let frame = codestream.frame();
    // Smoothing asks where the data of the last scan ended; otherwise nothing below the window matters.
    let end_mcu_row = if plan.smooths_blocks() { frame.mcus().height } else { plan.stored_mcus().rows.end };
    let mut masks: Vec<NonzeroMasks> =
        (0..frame.components.len()).map(|index| NonzeroMasks::new(frame, index, end_mcu_row)).collect();
    let mut tables = TableCache::new(codestream);
    for scan in scans_needed(plan) {
        let mcus = scan.mcus(frame);
        let mut decoder = ScanDecoder {
            cursor: ScanCursor::new(codestream.bytes(), scan, mcus.pixels()),
            scan,
            frame,
            mcus_per_row: mcus.width,
            rows: rows_to_read(scan, frame, end_mcu_row),
            last_good_row: extent.last_good_row,
        };
        match (scan.spectral_start, scan.approximation_high) {
            (0, 0) => decoder.dc_first(planes, &mut tables, warnings)?,
            (0, _) => decoder.dc_refine(planes, warnings)?,
            (_, 0) => {
                let component = scan.components[0].component;
                let kind = BandKind::First(tables.with_values(scan.components[0].ac_table));
                decoder.band(&mut planes[component], &mut masks[component], kind, warnings)?;
            }
            _ => {
                let component = scan.components[0].component;
                let kind = BandKind::Refinement(tables.without_values(scan.components[0].ac_table));
                decoder.band(&mut planes[component], &mut masks[component], kind, warnings)?;
            }
        }
        if decoder.rows == mcus.height {
            decoder.cursor.end_scan(true, warnings);
        }
        extent.last_good_row = decoder.last_good_row;
        if let Some(mcu) = decoder.cursor.first_damaged_mcu() {
            let row = (mcu / u64::from(mcus.width)) as u32;
            extent.valid_mcu_rows = extent.valid_mcu_rows.min(decoder.interleaved_row(row));
        }
    }
    for (plane, masks) in planes.iter_mut().zip(&masks) {
        masks.fill_last_nonzero(plane);
    }
    Ok(())
}

/// For each block of a component, without padding: bit k is set if zigzag coefficient k, k > 0, is not 0.
struct NonzeroMasks {
    columns: u32,
    rows: u32,
    masks: Vec<u64>,
}

impl NonzeroMasks {
    fn new(frame: &Frame, index: usize, end_mcu_row: u32) -> Self {
        let blocks = frame.blocks(index);
        let rows = blocks.height.min(end_mcu_row * u32::from(frame.components[index].sampling.vertical));
        NonzeroMasks { columns: blocks.width, rows, masks: vec![0; blocks.width as usize * rows as usize] }
    }

    fn row(&mut self, row: u32) -> &mut [u64] {
        let columns = self.columns as usize;
        &mut self.masks[row as usize * columns..][..columns]
    }

    fn fill_last_nonzero(&self, plane: &mut CoefficientPlane) {
        for row in plane.rows.start..plane.rows.end.min(self.rows) {
            for column in plane.columns.start..plane.columns.end.min(self.columns) {
                let mask = self.masks[row as usize * self.columns as usize + column as usize];
                let index = plane.index(row, column);
                plane.last_nonzero[index] = 63 - (mask | 1).leading_zeros() as u8;
            }
        }
    }
}

/// Decoding tables, built once for each definition: a file may have thousands of scans.
struct TableCache<'c, 'a> {
    codestream: &'c Codestream<'a>,
    built: Vec<[Option<HuffmanTable>; 2]>,
}

impl<'c, 'a> TableCache<'c, 'a> {
    fn new(codestream: &'c Codestream<'a>) -> Self {
        let built = codestream.huffman_tables().iter().map(|_| [None, None]).collect();
        TableCache { codestream, built }
    }

    fn with_values(&mut self, index: Option<usize>) -> &HuffmanTable {
        self.table(index, 0, HuffmanTable::with_values)
    }

    fn without_values(&mut self, index: Option<usize>) -> &HuffmanTable {
        self.table(index, 1, HuffmanTable::without_values)
    }

    fn table(
        &mut self,
        index: Option<usize>,
        kind: usize,
        build: impl FnOnce(&crate::codestream::HuffmanSpec) -> HuffmanTable,
    ) -> &HuffmanTable {
        let index = index.expect("the parser resolves the tables that the scan's kind needs");
        self.built[index][kind].get_or_insert_with(|| build(&self.codestream.huffman_tables()[index]))
    }
}

/// Rows of the scan's own MCUs that cover the first `end_mcu_row` interleaved MCU rows.
fn rows_to_read(scan: &Scan, frame: &Frame, end_mcu_row: u32) -> u32 {
    let rows = scan.mcus(frame).height;
    match scan.components.as_slice() {
        [only] => rows.min(end_mcu_row * u32::from(frame.components[only.component].sampling.vertical)),
        _ => rows.min(end_mcu_row),
    }
}

struct ScanDecoder<'s, 'a> {
    cursor: ScanCursor<'a>,
    scan: &'s Scan,
    frame: &'s Frame,
    mcus_per_row: u32,
    rows: u32,
    last_good_row: u32,
}

impl ScanDecoder<'_, '_> {
    /// The interleaved MCU row of a row of the scan's own MCUs.
    fn interleaved_row(&self, row: u32) -> u32 {
        match self.scan.components.as_slice() {
            [only] => row / u32::from(self.frame.components[only.component].sampling.vertical),
            _ => row,
        }
    }

    /// Notes that data reached this row.
    #[inline]
    fn mark_good(&mut self, row: u32) {
        if self.cursor.has_data() {
            self.last_good_row = self.interleaved_row(row);
        }
    }

    /// Calls `decode` with runs of MCUs that have data, each in one row and without a restart in it. It decodes at least
    /// one of them and none after one that is damaged, and returns how many.
    fn for_each_run(
        &mut self,
        warnings: &mut Warnings,
        mut decode: impl FnMut(&mut ScanCursor, &McuPlaces) -> Result<u32, FormatError>,
    ) -> Result<(), FormatError> {
        let mut restarted = false;
        for row in 0..self.rows {
            if self.cursor.is_exhausted() {
                break;
            }
            let mut column = 0;
            while column < self.mcus_per_row {
                self.mark_good(row);
                restarted |= self.cursor.restart_if_due(warnings);
                let rest_of_row = self.mcus_per_row - column;
                column += if self.cursor.has_data() {
                    let count = self.cursor.before_restart(rest_of_row);
                    let decoded = decode(&mut self.cursor, &McuPlaces { row, column, count, restarted })?;
                    restarted = false;
                    if decoded > 1 {
                        self.mark_good(row);
                    }
                    self.cursor.end_mcus(decoded, warnings);
                    decoded
                } else {
                    self.cursor.pass(rest_of_row)
                };
            }
        }
        Ok(())
    }

    /// Calls `decode` with each MCU that has data: (cursor, row, column, whether it is the first behind a restart).
    fn for_each_mcu(
        &mut self,
        warnings: &mut Warnings,
        mut decode: impl FnMut(&mut ScanCursor, u32, u32, bool) -> Result<(), FormatError>,
    ) -> Result<(), FormatError> {
        self.for_each_run(warnings, |cursor, mcus| {
            decode(cursor, mcus.row, mcus.column, mcus.restarted)?;
            Ok(1)
        })
    }

    /// First scan of the DC coefficients (T.81 G.1.2.1.1).
    fn dc_first(
        &mut self,
        planes: &mut [CoefficientPlane],
        tables: &mut TableCache,
        warnings: &mut Warnings,
    ) -> Result<(), FormatError> {
        let (scan, frame) = (self.scan, self.frame);
        for part in &scan.components {
            tables.with_values(part.dc_table);
        }
        let built: Vec<&HuffmanTable> = scan
            .components
            .iter()
            .map(|part| part.dc_table.and_then(|index| tables.built[index][0].as_ref()).expect("built above"))
            .collect();
        let mut predictors = [0i32; 4];
        self.for_each_mcu(warnings, |cursor, row, column, restarted| {
            if restarted {
                predictors = [0; 4];
            }
            for_each_block(scan, frame, row, column, |part, block_row, block_column| {
                let difference = decode_dc(built[part], &mut cursor.reader, &mut cursor.bad_codes);
                let overflow = || FormatError::new(FormatErrorKind::DcOverflow, cursor.reader.offset(), None);
                predictors[part] = predictors[part].checked_add(difference).ok_or_else(overflow)?;
                let plane = &mut planes[scan.components[part].component];
                if let Some(block) = plane.block_mut(block_row, block_column) {
                    block[0] = (predictors[part] << scan.approximation_low) as i16;
                }
                Ok(())
            })?;
            Ok(())
        })
    }

    /// Refinement of the DC coefficients: one bare bit per block (T.81 G.1.2.1.2).
    fn dc_refine(&mut self, planes: &mut [CoefficientPlane], warnings: &mut Warnings) -> Result<(), FormatError> {
        let (scan, frame) = (self.scan, self.frame);
        let bit = 1i16 << scan.approximation_low;
        self.for_each_mcu(warnings, |cursor, row, column, _| {
            for_each_block(scan, frame, row, column, |part, block_row, block_column| {
                cursor.reader.refill();
                let set = cursor.reader.take(1) != 0;
                let plane = &mut planes[scan.components[part].component];
                if set && let Some(block) = plane.block_mut(block_row, block_column) {
                    block[0] |= bit;
                }
                Ok(())
            })?;
            Ok(())
        })
    }

    /// A band of AC coefficients of one component.
    fn band(
        &mut self,
        plane: &mut CoefficientPlane,
        masks: &mut NonzeroMasks,
        kind: BandKind,
        warnings: &mut Warnings,
    ) -> Result<(), FormatError> {
        let band = Band::of(self.scan);
        let level = Level::detected();
        let mut end_of_band_run = 0;
        self.for_each_run(warnings, |cursor, mcus| {
            if mcus.restarted {
                end_of_band_run = 0;
            }
            let first_column = plane.columns.start;
            let run = BandRun {
                cursor,
                band: &band,
                kind,
                first_column: mcus.column,
                masks: &mut masks.row(mcus.row)[mcus.column as usize..][..mcus.count as usize],
                blocks: plane.row_mut(mcus.row),
                first_block: first_column,
                end_of_band_run: &mut end_of_band_run,
            };
            Ok(simd::decode_band(level, run))
        })
    }
}

/// MCUs of one row.
struct McuPlaces {
    row: u32,
    column: u32,
    count: u32,
    /// Whether the first is the first behind a restart.
    restarted: bool,
}

/// Calls `visit` with each block of an MCU: (part of the scan, block row, block column).
#[inline]
fn for_each_block(
    scan: &Scan,
    frame: &Frame,
    row: u32,
    column: u32,
    mut visit: impl FnMut(usize, u32, u32) -> Result<(), FormatError>,
) -> Result<(), FormatError> {
    if !scan.is_interleaved() {
        return visit(0, row, column);
    }
    for (index, part) in scan.components.iter().enumerate() {
        let sampling = frame.components[part.component].sampling;
        let (columns, rows) = (u32::from(sampling.horizontal), u32::from(sampling.vertical));
        for block_row in 0..rows {
            for block_column in 0..columns {
                visit(index, row * rows + block_row, column * columns + block_column)?;
            }
        }
    }
    Ok(())
}

/// The coefficients that a scan codes.
struct Band {
    start: u32,
    /// Last index, included.
    end: u32,
    low: u8,
    /// Bits of the band in a mask of coefficients.
    mask: u64,
}

impl Band {
    fn of(scan: &Scan) -> Self {
        let (start, end) = (u32::from(scan.spectral_start), u32::from(scan.spectral_end));
        Band { start, end, low: scan.approximation_low, mask: (u64::MAX << start) & (u64::MAX >> (63 - end)) }
    }
}

/// What a scan of a band does, with its table.
#[derive(Clone, Copy)]
enum BandKind<'t> {
    /// The first scan (T.81 G.1.2.2).
    First(&'t HuffmanTable),
    /// A refinement (T.81 G.1.2.3).
    Refinement(&'t HuffmanTable),
}

/// A band of blocks that lie side by side, without a restart between them.
pub(crate) struct BandRun<'r, 'a> {
    cursor: &'r mut ScanCursor<'a>,
    band: &'r Band,
    kind: BandKind<'r>,
    /// The first block's column, and every block's mask.
    first_column: u32,
    masks: &'r mut [u64],
    /// The blocks that are kept, from column `first_block` on.
    blocks: &'r mut [Block],
    first_block: u32,
    /// Blocks that end with no more than corrections.
    end_of_band_run: &'r mut u32,
}

impl BandRun<'_, '_> {
    /// Decodes the blocks, at least one and none after one that is damaged. Returns how many.
    #[inline(always)]
    pub(crate) fn decode(self) -> u32 {
        match self.kind {
            BandKind::First(table) => self.each_block::<false>(table),
            BandKind::Refinement(table) => self.each_block::<true>(table),
        }
    }

    #[inline(always)]
    fn each_block<const REFINES: bool>(self, table: &HuffmanTable) -> u32 {
        let bits = self.cursor.reader.bits();
        let end_of_band_run = *self.end_of_band_run;
        let mut decoder = BandDecoder { cursor: self.cursor, band: self.band, bits, end_of_band_run };
        // Takes what is decoded of blocks that are not kept.
        let mut unwanted = [0; 64];
        let mut decoded = 0;
        for (column, mask) in (self.first_column..).zip(self.masks) {
            if decoder.bits.overdrawn() || decoder.cursor.bad_codes > 0 {
                break;
            }
            let index = column.wrapping_sub(self.first_block) as usize;
            let block = self.blocks.get_mut(index).unwrap_or(&mut unwanted);
            if REFINES {
                decoder.refined(table, block, mask);
            } else {
                decoder.first(table, block, mask);
            }
            decoded += 1;
        }
        *self.end_of_band_run = decoder.end_of_band_run;
        let bits = decoder.bits;
        self.cursor.reader.set_bits(bits);
        decoded
    }
}

/// Decodes the blocks of a band, the reader's bits in registers.
struct BandDecoder<'r, 'a> {
    cursor: &'r mut ScanCursor<'a>,
    band: &'r Band,
    bits: Bits,
    end_of_band_run: u32,
}

impl BandDecoder<'_, '_> {
    #[inline(always)]
    fn refill(&mut self) {
        self.bits = self.cursor.reader.refilled(self.bits);
    }

    /// One block of a first scan.
    #[inline(always)]
    fn first(&mut self, table: &HuffmanTable, block: &mut Block, mask: &mut u64) {
        if self.end_of_band_run > 0 {
            self.end_of_band_run -= 1;
            return;
        }
        let mut k = self.band.start;
        while k <= self.band.end {
            self.refill();
            let symbol = table.decode_bits(&mut self.bits, &mut self.cursor.bad_codes);
            let mut value = symbol.value();
            if value == 0 {
                match (symbol.size(), symbol.run()) {
                    (0, 15) => {
                        k += 16;
                        continue;
                    }
                    (0, run) => {
                        self.end_of_band_run = self.take_end_of_band_run(run) - 1;
                        return;
                    }
                    (size, _) => value = self.bits.take_signed(size),
                }
            }
            k += symbol.run();
            let stored = (value << self.band.low) as i16;
            let index = k.min(63);
            // A repeated scan overwrites; a shift out of 16 bits leaves 0.
            *mask = *mask & !(1 << index) | u64::from(stored != 0) << index;
            block[usize::from(NATURAL[(k & 127) as usize] & 63)] = stored;
            k += 1;
        }
    }

    /// Blocks that end with this one (EOBn).
    #[inline(always)]
    fn take_end_of_band_run(&mut self, size: u32) -> u32 {
        if size == 0 { 1 } else { (1 << size) + self.bits.take(size) }
    }

    /// One block of a refinement.
    #[inline(always)]
    fn refined(&mut self, table: &HuffmanTable, block: &mut Block, mask: &mut u64) {
        let mut k = self.band.start;
        if self.end_of_band_run == 0 {
            while k <= self.band.end {
                self.refill();
                let symbol = table.decode_bits(&mut self.bits, &mut self.cursor.bad_codes);
                let mut new_value = 0;
                if symbol.size() != 0 {
                    // Only size 1 is right; libjpeg takes any as 1 and warns.
                    self.cursor.bad_codes += u32::from(symbol.size() != 1);
                    new_value = if self.bits.take(1) != 0 { 1i32 } else { -1 } << self.band.low;
                } else if symbol.run() != 15 {
                    self.end_of_band_run = self.take_end_of_band_run(symbol.run());
                    break;
                }
                // The zero behind as many others, or what follows the band.
                let mut zeros = !*mask & self.band.from(k);
                for _ in 0..symbol.run() {
                    zeros &= zeros.wrapping_sub(1);
                }
                let end = if zeros == 0 { self.band.end + 1 } else { zeros.trailing_zeros() };
                self.correct(block, *mask & self.band.from(k) & (u64::MAX >> (64 - end)));
                k = end;
                if new_value != 0 {
                    *mask |= 1 << k.min(63);
                    block[usize::from(NATURAL[(k & 127) as usize] & 63)] = new_value as i16;
                }
                k += 1;
            }
        }
        if self.end_of_band_run > 0 {
            self.correct(block, *mask & self.band.from(k));
            self.end_of_band_run -= 1;
        }
    }

    /// Corrects the coefficients of a mask, one bit each.
    #[inline(always)]
    fn correct(&mut self, block: &mut Block, mut nonzero: u64) {
        /// A refill gives as many bits, and more.
        const AT_ONCE: u32 = 32;
        let bit = 1i16 << self.band.low;
        while nonzero != 0 {
            self.refill();
            for _ in 0..nonzero.count_ones().min(AT_ONCE) {
                let zigzag = nonzero.trailing_zeros() as usize & 63;
                let coefficient = &mut block[usize::from(NATURAL[zigzag] & 63)];
                // No branches: the bits are as good as random. A repeated scan must not add the bit twice.
                let applies = self.bits.take(1) as i16 & i16::from(*coefficient & bit == 0);
                let sign = *coefficient >> 15;
                let step = (bit ^ sign).wrapping_sub(sign);
                *coefficient = coefficient.wrapping_add(step & applies.wrapping_neg());
                nonzero &= nonzero - 1;
            }
        }
    }
}

impl Band {
    /// The band's bits of a mask from zigzag index `k` on.
    #[inline(always)]
    fn from(&self, k: u32) -> u64 {
        self.mask & u64::MAX.checked_shl(k).unwrap_or(0)
    }
}
