//! A scan's coefficients as the symbols that are coded, before they have codes (T.81 F.1.2, G.1.2).

use super::content::Plane;
use super::frame::Frame;
use super::scan::Scan;
use crate::writer::bits::{size_of, value_bits};

/// What is written next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Symbol {
    /// A symbol of the Huffman table in a slot, and bits behind its code.
    Coded { slot: u8, symbol: u8, count: u8, bits: u16 },
    /// Bits without a code.
    Bare { count: u8, bits: u16 },
    /// A restart marker.
    Restart,
}

/// The slot of a DC table.
pub(crate) fn dc_slot(selector: u8) -> u8 {
    selector
}

/// The slot of an AC table.
pub(crate) fn ac_slot(selector: u8) -> u8 {
    4 + selector
}

/// The symbols of a scan.
pub(crate) fn symbols(frame: &Frame, scan: &Scan, planes: &[Plane]) -> Vec<Symbol> {
    let mut coder = Coder { scan, symbols: Vec::new(), predictions: [0; 4], eob_run: 0, corrections: Vec::new() };
    let progressive = frame.process == isopel_core::CodingProcess::Progressive;
    walk(frame, scan, |step| match step {
        Step::Restart => coder.restart(),
        Step::Block { part, column, row } => {
            let block = planes[scan.components[part]].block(column, row);
            match (progressive, scan.band.0, scan.high) {
                (false, ..) => {
                    coder.dc(part, block[0]);
                    coder.ac(part, block);
                }
                (true, 0, 0) => coder.dc(part, block[0] >> scan.low),
                (true, 0, _) => {
                    let bits = (block[0] >> scan.low) as u16 & 1;
                    coder.symbols.push(Symbol::Bare { count: 1, bits });
                }
                (true, _, 0) => coder.ac_band(block),
                (true, ..) => coder.ac_refinement(block),
            }
        }
    });
    coder.end_run();
    coder.symbols
}

enum Step {
    Restart,
    /// A block of the scan's component `part`.
    Block {
        part: usize,
        column: u32,
        row: u32,
    },
}

/// Goes through a scan's blocks in their order (T.81 A.2).
fn walk(frame: &Frame, scan: &Scan, mut step: impl FnMut(Step)) {
    let (across, down) = frame.scan_mcus(&scan.components);
    let mut done = 0;
    for mcu_row in 0..down {
        for mcu_column in 0..across {
            if scan.restart_interval > 0 && done == u32::from(scan.restart_interval) {
                step(Step::Restart);
                done = 0;
            }
            done += 1;
            for (part, &component) in scan.components.iter().enumerate() {
                let alone = scan.components.len() == 1;
                let (columns, rows) = if alone { (1, 1) } else { frame.components[component].sampling };
                let (columns, rows) = (u32::from(columns), u32::from(rows));
                for row in mcu_row * rows..(mcu_row + 1) * rows {
                    for column in mcu_column * columns..(mcu_column + 1) * columns {
                        step(Step::Block { part, column, row });
                    }
                }
            }
        }
    }
}

struct Coder<'s> {
    scan: &'s Scan,
    symbols: Vec<Symbol>,
    predictions: [i16; 4],
    /// Blocks in a row whose band has ended, and whose correction bits wait.
    eob_run: u16,
    corrections: Vec<bool>,
}

impl Coder<'_> {
    fn restart(&mut self) {
        self.end_run();
        self.predictions = [0; 4];
        self.symbols.push(Symbol::Restart);
    }

    fn dc(&mut self, part: usize, value: i16) {
        let difference = value - std::mem::replace(&mut self.predictions[part], value);
        let size = size_of(difference);
        let slot = dc_slot(self.scan.dc_selectors[part]);
        self.coded(slot, size as u8, value_bits(difference, size), size);
    }

    fn ac(&mut self, part: usize, block: &[i16; 64]) {
        let slot = ac_slot(self.scan.ac_selectors[part]);
        let mut zeros = 0;
        for &value in &block[1..] {
            if value == 0 {
                zeros += 1;
                continue;
            }
            self.value(slot, &mut zeros, value);
        }
        if zeros > 0 {
            self.coded(slot, 0x00, 0, 0);
        }
    }

    /// The first scan of a band.
    fn ac_band(&mut self, block: &[i16; 64]) {
        let slot = self.band_slot();
        let mut zeros = 0;
        for index in self.band() {
            // T.81 G.1.2.1: AC coefficients are divided, towards zero.
            match block[index] / (1 << self.scan.low) {
                0 => zeros += 1,
                value => {
                    self.end_run();
                    self.value(slot, &mut zeros, value);
                }
            }
        }
        if zeros > 0 {
            self.extend_run();
        }
    }

    /// One bit more of a band (T.81 G.1.2.3).
    fn ac_refinement(&mut self, block: &[i16; 64]) {
        let slot = self.band_slot();
        let magnitude = |index: usize| block[index].unsigned_abs() >> self.scan.low;
        // Behind the last coefficient that becomes known there are no codes, only corrections.
        let last_new = self.band().filter(|&index| magnitude(index) == 1).last();
        let (mut zeros, mut corrections) = (0, Vec::new());
        for index in self.band() {
            let known = magnitude(index);
            if known == 0 {
                zeros += 1;
                continue;
            }
            while zeros > 15 && last_new >= Some(index) {
                self.end_run();
                self.coded(slot, 0xF0, 0, 0);
                self.bare(&std::mem::take(&mut corrections));
                zeros -= 16;
            }
            if known > 1 {
                corrections.push(known & 1 == 1);
                continue;
            }
            self.end_run();
            self.coded(slot, (zeros << 4 | 1) as u8, u32::from(block[index] > 0), 1);
            self.bare(&std::mem::take(&mut corrections));
            zeros = 0;
        }
        if zeros > 0 || !corrections.is_empty() {
            self.corrections.append(&mut corrections);
            self.extend_run();
        }
    }

    fn band(&self) -> impl Iterator<Item = usize> + use<> {
        usize::from(self.scan.band.0)..=usize::from(self.scan.band.1)
    }

    fn band_slot(&self) -> u8 {
        ac_slot(self.scan.ac_selectors[0])
    }

    /// A value that is not 0, behind zeros.
    fn value(&mut self, slot: u8, zeros: &mut u32, value: i16) {
        while *zeros > 15 {
            self.coded(slot, 0xF0, 0, 0);
            *zeros -= 16;
        }
        let size = size_of(value);
        self.coded(slot, (*zeros << 4 | size) as u8, value_bits(value, size), size);
        *zeros = 0;
    }

    /// One block more whose band has ended.
    fn extend_run(&mut self) {
        self.eob_run += 1;
        if self.eob_run == self.scan.max_eob_run {
            self.end_run();
        }
    }

    /// The code for the blocks whose band has ended, and their corrections (T.81 G.1.2.2).
    fn end_run(&mut self) {
        if self.eob_run > 0 {
            let size = self.eob_run.ilog2();
            let rest = u32::from(self.eob_run) - (1 << size);
            self.coded(self.band_slot(), (size << 4) as u8, rest, size);
            let corrections = std::mem::take(&mut self.corrections);
            self.bare(&corrections);
            self.eob_run = 0;
        }
    }

    fn coded(&mut self, slot: u8, symbol: u8, bits: u32, count: u32) {
        self.symbols.push(Symbol::Coded { slot, symbol, count: count as u8, bits: bits as u16 });
    }

    fn bare(&mut self, bits: &[bool]) {
        self.symbols.extend(bits.iter().map(|&bit| Symbol::Bare { count: 1, bits: u16::from(bit) }));
    }
}
