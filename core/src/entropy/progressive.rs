//! Progressive scans: spectral selection and successive approximation (T.81 Annex G).
//!
//! Each block has a mask of its coefficients that are not 0. Refinement needs to know no more than that of
//! blocks outside the plan's window, so only the blocks inside hold coefficients.

use super::baseline::{NATURAL, decode_dc};
use super::bit_reader::BitReader;
use super::cursor::ScanCursor;
use super::huffman::HuffmanTable;
use super::{Block, CoefficientPlane, DataExtent, scans_needed};
use crate::codestream::{Codestream, Frame, Scan};
use crate::error::{FormatError, FormatErrorKind};
use crate::plan::DecodePlan;
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
                decoder.ac_first(&mut planes[component], &mut masks[component], &mut tables, warnings)?;
            }
            _ => {
                let component = scan.components[0].component;
                decoder.ac_refine(&mut planes[component], &mut masks[component], &mut tables, warnings)?;
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

    #[inline]
    fn at(&mut self, row: u32, column: u32) -> &mut u64 {
        &mut self.masks[row as usize * self.columns as usize + column as usize]
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

    /// Calls `decode` with each MCU that has data: (cursor, row, column, whether it is the first behind a restart).
    /// It returns how many MCUs behind it have no bits of their own before the next restart.
    fn for_each_mcu(
        &mut self,
        warnings: &mut Warnings,
        mut decode: impl FnMut(&mut ScanCursor, u32, u32, bool) -> Result<u32, FormatError>,
    ) -> Result<(), FormatError> {
        let mut without_bits = 0;
        let mut restarted = false;
        for row in 0..self.rows {
            if self.cursor.is_exhausted() {
                break;
            }
            let mut column = 0;
            while column < self.mcus_per_row {
                self.mark_good(row);
                if self.cursor.restart_if_due(warnings) {
                    without_bits = 0;
                    restarted = true;
                }
                let rest_of_row = self.mcus_per_row - column;
                column += if !self.cursor.has_data() {
                    self.cursor.pass(rest_of_row)
                } else if without_bits > 0 {
                    let passed = self.cursor.pass(rest_of_row.min(without_bits));
                    without_bits -= passed;
                    passed
                } else {
                    without_bits = decode(&mut self.cursor, row, column, restarted)?;
                    restarted = false;
                    self.cursor.end_mcu(warnings);
                    1
                };
            }
        }
        Ok(())
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
            Ok(0)
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
            Ok(0)
        })
    }

    /// First scan of a band of AC coefficients (T.81 G.1.2.2).
    fn ac_first(
        &mut self,
        plane: &mut CoefficientPlane,
        masks: &mut NonzeroMasks,
        tables: &mut TableCache,
        warnings: &mut Warnings,
    ) -> Result<(), FormatError> {
        let table = tables.with_values(self.scan.components[0].ac_table);
        let band = Band::of(self.scan);
        self.for_each_mcu(warnings, |cursor, row, column, _| {
            let (block, mask) = (plane.block_mut(row, column), masks.at(row, column));
            Ok(ac_first_block(&band, table, &mut cursor.reader, &mut cursor.bad_codes, block, mask))
        })
    }

    /// Refinement of a band of AC coefficients (T.81 G.1.2.3).
    fn ac_refine(
        &mut self,
        plane: &mut CoefficientPlane,
        masks: &mut NonzeroMasks,
        tables: &mut TableCache,
        warnings: &mut Warnings,
    ) -> Result<(), FormatError> {
        let table = tables.without_values(self.scan.components[0].ac_table);
        let band = Band::of(self.scan);
        let mut end_of_band_run = 0u32;
        self.for_each_mcu(warnings, |cursor, row, column, restarted| {
            if restarted {
                end_of_band_run = 0;
            }
            let (block, mask) = (plane.block_mut(row, column), masks.at(row, column));
            let mut refinement = Refinement { band: &band, reader: &mut cursor.reader, block, mask };
            refinement.block(table, &mut end_of_band_run, &mut cursor.bad_codes);
            Ok(0)
        })
    }
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

/// Decodes one block of a first scan. Returns the blocks after it that end with it (EOBRUN).
#[inline(always)]
fn ac_first_block(
    band: &Band,
    table: &HuffmanTable,
    reader: &mut BitReader,
    bad_codes: &mut u32,
    mut block: Option<&mut Block>,
    mask: &mut u64,
) -> u32 {
    let mut k = band.start;
    while k <= band.end {
        reader.refill();
        let symbol = table.decode(reader, bad_codes);
        let mut value = symbol.value();
        if value == 0 {
            match (symbol.size(), symbol.run()) {
                (0, 15) => {
                    k += 16;
                    continue;
                }
                (0, 0) => return 0,
                (0, run) => {
                    reader.refill();
                    return (1 << run) + reader.take(run) - 1;
                }
                (size, _) => value = reader.take_signed(size),
            }
        }
        k += symbol.run();
        let stored = (value << band.low) as i16;
        let index = k.min(63);
        // A repeated scan overwrites; a shift out of 16 bits leaves 0.
        *mask = *mask & !(1 << index) | u64::from(stored != 0) << index;
        if let Some(block) = &mut block {
            block[usize::from(NATURAL[(k & 127) as usize] & 63)] = stored;
        }
        k += 1;
    }
    0
}

/// One block of a refinement scan.
struct Refinement<'r, 'a> {
    band: &'r Band,
    reader: &'r mut BitReader<'a>,
    block: Option<&'r mut Block>,
    mask: &'r mut u64,
}

impl Refinement<'_, '_> {
    #[inline(always)]
    fn block(&mut self, table: &HuffmanTable, end_of_band_run: &mut u32, bad_codes: &mut u32) {
        let mut k = self.band.start;
        if *end_of_band_run == 0 {
            while k <= self.band.end {
                self.reader.refill();
                let symbol = table.decode(self.reader, bad_codes);
                let mut new_value = 0;
                if symbol.size() != 0 {
                    // Only size 1 is right; libjpeg takes any as 1 and warns.
                    *bad_codes += u32::from(symbol.size() != 1);
                    new_value = if self.reader.take(1) != 0 { 1i32 } else { -1 } << self.band.low;
                } else if symbol.run() != 15 {
                    let run = symbol.run();
                    *end_of_band_run = 1 << run;
                    if run > 0 {
                        self.reader.refill();
                        *end_of_band_run += self.reader.take(run);
                    }
                    break;
                }
                k = self.correct_and_skip(k, symbol.run());
                if new_value != 0 {
                    let index = k.min(63);
                    *self.mask |= 1 << index;
                    if let Some(block) = &mut self.block {
                        block[usize::from(NATURAL[k as usize] & 63)] = new_value as i16;
                    }
                }
                k += 1;
            }
        }
        if *end_of_band_run > 0 {
            self.correct_rest(k);
            *end_of_band_run -= 1;
        }
    }

    /// Corrects nonzero coefficients from `k` on and passes `zeros` zero ones; returns the index of the
    /// zero after those, or the one after the band.
    #[inline(always)]
    fn correct_and_skip(&mut self, mut k: u32, mut zeros: u32) -> u32 {
        while k <= self.band.end {
            if *self.mask >> k & 1 != 0 {
                self.correct(k);
            } else if zeros == 0 {
                break;
            } else {
                zeros -= 1;
            }
            k += 1;
        }
        k
    }

    /// Corrects all nonzero coefficients from `k` to the end of the band.
    #[inline(always)]
    fn correct_rest(&mut self, k: u32) {
        let from_k = u64::MAX.checked_shl(k).unwrap_or(0);
        let mut nonzero = *self.mask & self.band.mask & from_k;
        while nonzero != 0 {
            self.correct(nonzero.trailing_zeros());
            nonzero &= nonzero - 1;
        }
    }

    #[inline(always)]
    fn correct(&mut self, k: u32) {
        self.reader.refill();
        if self.reader.take(1) == 0 {
            return;
        }
        if let Some(block) = &mut self.block {
            let coefficient = &mut block[usize::from(NATURAL[k as usize] & 63)];
            let bit = 1i16 << self.band.low;
            // A repeated scan must not add the bit twice.
            if *coefficient & bit == 0 {
                let step = if *coefficient >= 0 { bit } else { bit.wrapping_neg() };
                *coefficient = coefficient.wrapping_add(step);
            }
        }
    }
}
