//! The position in a scan: restarts, the end of the data, and what to report of them.

use super::bit_reader::BitReader;
use super::index::McuStart;
use crate::codestream::Scan;
use crate::warning::{Warning, Warnings};

/// Reads a scan MCU by MCU with libjpeg's rules for missing data: the MCU in which the data ends is decoded
/// from zero bits to its end, and the MCUs after it stay empty until a restart.
pub(super) struct ScanCursor<'a> {
    pub(super) reader: BitReader<'a>,
    /// Codes that the tables did not have, in the current MCU.
    pub(super) bad_codes: u32,
    restart_interval: u32,
    until_restart: u32,
    next_restart: u8,
    out_of_data: bool,
    mcu: u64,
    mcus: u64,
    interval_start: u64,
    first_damaged_mcu: Option<u64>,
}

impl<'a> ScanCursor<'a> {
    pub(super) fn new(bytes: &'a [u8], scan: &Scan, mcus: u64) -> Self {
        ScanCursor {
            reader: BitReader::new(bytes, scan),
            bad_codes: 0,
            restart_interval: u32::from(scan.restart_interval),
            until_restart: u32::from(scan.restart_interval),
            next_restart: 0,
            out_of_data: false,
            mcu: 0,
            mcus,
            interval_start: 0,
            first_damaged_mcu: None,
        }
    }

    /// The state here, with the predictors of the scan's components.
    pub(super) fn mcu_start(&self, predictors: [i32; 4]) -> McuStart {
        McuStart {
            position: self.reader.bit_position(),
            // The upper bits never matter: DC coefficients have 16.
            predictors: predictors.map(|predictor| predictor as i16),
            until_restart: self.until_restart,
            next_restart: self.next_restart,
        }
    }

    /// Goes on at MCU `mcu`, where the state was this.
    pub(super) fn resume(&mut self, start: &McuStart, mcu: u64) {
        self.reader.resume(start.position);
        self.until_restart = start.until_restart.min(self.restart_interval);
        self.next_restart = start.next_restart;
        self.mcu = mcu;
        self.interval_start = mcu;
    }

    /// Passes a restart marker if one is due. Returns whether it was: predictors start anew then.
    #[inline(always)]
    pub(super) fn restart_if_due(&mut self, warnings: &mut Warnings) -> bool {
        let due = self.restart_interval > 0 && self.until_restart == 0;
        if due {
            self.restart(warnings);
        }
        due
    }

    #[cold]
    fn restart(&mut self, warnings: &mut Warnings) {
        let mut found = Warnings::default();
        if self.reader.restart(self.next_restart, &mut found) {
            self.out_of_data = false;
        }
        for warning in found.into_vec() {
            // The bytes passed over belonged to the interval before.
            self.first_damaged_mcu.get_or_insert(self.interval_start);
            warnings.push(warning);
        }
        self.interval_start = self.mcu;
        self.next_restart = (self.next_restart + 1) & 7;
        self.until_restart = self.restart_interval;
    }

    /// Whether the current MCU has data.
    #[inline(always)]
    pub(super) fn has_data(&self) -> bool {
        !self.out_of_data
    }

    /// At most `count` MCUs, and none beyond the next restart; at least 1.
    #[inline(always)]
    pub(super) fn before_restart(&self, count: u32) -> u32 {
        if self.restart_interval == 0 { count } else { count.min(self.until_restart) }
    }

    /// Passes over MCUs for which nothing is read: at most `count`, and none beyond the next restart.
    /// Returns how many, at least 1.
    pub(super) fn pass(&mut self, count: u32) -> u32 {
        let passed = self.before_restart(count);
        self.advance(passed);
        passed
    }

    fn advance(&mut self, mcus: u32) {
        self.mcu += u64::from(mcus);
        self.until_restart = self.until_restart.saturating_sub(mcus);
    }

    /// Whether all MCUs to the scan's end are empty.
    pub(super) fn is_exhausted(&self) -> bool {
        self.out_of_data && self.restart_interval == 0
    }

    /// Ends MCUs that were read, of which only the last may be damaged.
    #[inline(always)]
    pub(super) fn end_mcus(&mut self, count: u32, warnings: &mut Warnings) {
        self.advance(count - 1);
        if self.reader.overdrawn() || self.bad_codes > 0 {
            self.report_damage(warnings);
        }
        self.advance(1);
    }

    #[cold]
    fn report_damage(&mut self, warnings: &mut Warnings) {
        self.first_damaged_mcu.get_or_insert(self.mcu);
        let offset = self.reader.offset();
        if self.bad_codes > 0 {
            warnings.push(Warning::BadHuffmanCode { offset, mcu: self.mcu });
            self.bad_codes = 0;
        }
        if self.reader.overdrawn() && !self.out_of_data {
            self.out_of_data = true;
            warnings.push(Warning::ScanDataEnded { offset, mcu: self.mcu, mcus: self.mcus });
        }
    }

    /// Bytes behind the last MCU that go without a warning: libjpeg-turbo, which reads up to 7 ahead, does not always
    /// notice so few.
    pub(super) const TOLERATED_BYTES: usize = 3;

    /// Ends the scan after its last MCU: reports bytes that nobody read.
    pub(super) fn end_scan(&mut self, progressive: bool, warnings: &mut Warnings) {
        let count = self.reader.unread_bytes();
        if !self.out_of_data && count > Self::TOLERATED_BYTES {
            warnings.push(Warning::UnreadScanData { count, offset: self.reader.offset(), progressive });
        }
    }

    /// The first MCU that is not as the encoder meant it.
    pub(super) fn first_damaged_mcu(&self) -> Option<u64> {
        self.first_damaged_mcu
    }
}
