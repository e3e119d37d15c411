//! Bits of a scan, up to the next marker, and libjpeg's way across restart markers.
//!
//! Beyond the data's end all bits are 0, as libjpeg-turbo has them; [`BitReader::overdrawn`] tells afterwards
//! whether any of those were taken.

use crate::codestream::{Marker, Scan};
use crate::warning::{Warning, Warnings};

/// Reads a scan's bits, most significant first, with FF 00 unstuffed.
pub(crate) struct BitReader<'a> {
    /// The file up to the scan's end.
    data: &'a [u8],
    position: usize,
    /// What ends the scan: its marker, or EOI at the end of the file as libjpeg supposes.
    end: Marker,
    /// The marker that stopped the reading; the next restart deals with it.
    marker: Option<Marker>,
    /// The next bits, left-aligned. Bits below `available` are either 0 or already right.
    bits: u64,
    /// Bits that may be taken; negative when zeros beyond the end were taken.
    available: i32,
}

impl<'a> BitReader<'a> {
    pub(crate) fn new(bytes: &'a [u8], scan: &Scan) -> Self {
        BitReader {
            data: &bytes[..scan.data.end],
            position: scan.data.start,
            end: scan.end.unwrap_or(Marker::EOI),
            marker: None,
            bits: 0,
            available: 0,
        }
    }

    /// Makes at least 32 bits available, as far as the data goes. One call suffices for a Huffman code and
    /// its extra bits (16 + 15).
    #[inline(always)]
    pub(crate) fn refill(&mut self) {
        if self.available < 32 {
            self.fill();
        }
    }

    #[inline]
    fn fill(&mut self) {
        if self.marker.is_none()
            && let Some(Ok(next)) = self.data.get(self.position..self.position + 8).map(<[u8; 8]>::try_from)
        {
            let next = u64::from_be_bytes(next);
            if !has_ff_byte(next) {
                self.bits |= next >> self.available;
                let bytes = (63 - self.available) >> 3;
                self.position += bytes as usize;
                self.available += bytes * 8;
                return;
            }
        }
        self.fill_near_marker();
    }

    #[cold]
    #[inline(never)]
    fn fill_near_marker(&mut self) {
        while self.available <= 56 && self.marker.is_none() {
            let Some(&byte) = self.data.get(self.position) else {
                self.marker = Some(self.end);
                return;
            };
            self.position += 1;
            if byte == 0xFF {
                // Any number of FF before a 00 counts as one data byte FF, as libjpeg takes it.
                let fill = self.data[self.position..].iter().take_while(|&&byte| byte == 0xFF).count();
                self.position += fill;
                match self.data.get(self.position) {
                    Some(0) => self.position += 1,
                    Some(&code) => {
                        self.position += 1;
                        self.marker = Some(Marker(code));
                        return;
                    }
                    None => {
                        self.marker = Some(self.end);
                        return;
                    }
                }
            }
            self.bits |= u64::from(byte) << (56 - self.available);
            self.available += 8;
        }
    }

    /// The next `count` bits, 1..=32, without taking them.
    #[inline(always)]
    pub(crate) fn peek(&self, count: u32) -> u32 {
        (self.bits >> (64 - count)) as u32
    }

    /// Takes bits that [`refill`](Self::refill) made available.
    #[inline(always)]
    pub(crate) fn consume(&mut self, count: u32) {
        self.bits <<= count;
        self.available -= count as i32;
    }

    /// Takes the next `count` bits, 1..=16.
    #[inline(always)]
    pub(crate) fn take(&mut self, count: u32) -> u32 {
        let bits = self.peek(count);
        self.consume(count);
        bits
    }

    /// Takes `size` bits, 1..=15, and extends their sign (T.81 F.2.2.1, EXTEND).
    #[inline(always)]
    pub(crate) fn take_signed(&mut self, size: u32) -> i32 {
        let negative = !((self.bits as i64) >> 63) as i32;
        let value = self.take(size) as i32;
        value + (negative & (1 - (1 << size)))
    }

    /// Whether bits beyond the end of the data were taken.
    #[inline(always)]
    pub(crate) fn overdrawn(&self) -> bool {
        self.available < 0
    }

    /// Byte offset of what is read next, to within the 8 bytes that are read ahead.
    pub(crate) fn offset(&self) -> usize {
        self.position
    }

    /// Bytes from here to the scan's end that were not even read ahead; markers and fill bytes are not counted.
    pub(crate) fn unread_bytes(&self) -> usize {
        let rest = &self.data[self.position.min(self.data.len())..];
        let is_data = |(index, &byte): (usize, &u8)| match byte {
            0xFF => rest.get(index + 1) == Some(&0),
            _ => index == 0 || rest[index - 1] != 0xFF,
        };
        rest.iter().enumerate().filter(|&entry| is_data(entry)).count()
    }

    /// Skips to the expected restart marker, or resynchronises as libjpeg's `jpeg_resync_to_restart` does.
    /// Returns whether there is data to read: if not, a marker lies ahead that only a later restart (or
    /// nothing) can pass.
    pub(crate) fn restart(&mut self, expected: u8, warnings: &mut Warnings) -> bool {
        let unread_bytes = self.available.max(0) as usize / 8;
        self.bits = 0;
        self.available = 0;
        let mut marker = match self.marker {
            Some(marker) => {
                if unread_bytes > 0 {
                    warnings.push(Warning::BytesBeforeRestart { count: unread_bytes, offset: self.position });
                }
                marker
            }
            None => self.next_marker(unread_bytes, warnings),
        };
        if marker.restart_number() == Some(expected) {
            self.marker = None;
            return true;
        }
        warnings.push(Warning::RestartMismatch { found: marker, expected, offset: self.position.saturating_sub(2) });
        loop {
            let ahead = marker.restart_number().map(|number| (number + 8 - expected) % 8);
            match ahead {
                // Not a marker of a scan at all: look further.
                None if marker.is_below_sof() => {}
                // The scan is over, or one or two restarts were lost: this interval stays empty.
                None | Some(1 | 2) => {
                    self.marker = Some(marker);
                    return false;
                }
                // An earlier one again: look further.
                Some(6 | 7) => {}
                // The expected one, or too far off to believe: read on behind it.
                Some(_) => {
                    self.marker = None;
                    return true;
                }
            }
            marker = self.next_marker(0, warnings);
        }
    }

    /// Skips bytes to the next marker.
    fn next_marker(&mut self, already_skipped: usize, warnings: &mut Warnings) -> Marker {
        let mut skipped = already_skipped;
        let marker = loop {
            let rest = &self.data[self.position..];
            let Some(to_ff) = memchr::memchr(0xFF, rest) else {
                skipped += rest.len();
                self.position = self.data.len();
                break self.end;
            };
            let fill = rest[to_ff..].iter().take_while(|&&byte| byte == 0xFF).count();
            skipped += to_ff;
            self.position += to_ff + fill;
            match self.data.get(self.position) {
                None => break self.end,
                Some(0) => {
                    self.position += 1;
                    skipped += 2;
                }
                Some(&code) => {
                    self.position += 1;
                    break Marker(code);
                }
            }
        };
        if skipped > 0 {
            warnings.push(Warning::BytesBeforeRestart { count: skipped, offset: self.position.saturating_sub(2) });
        }
        marker
    }
}

/// Whether any of the eight bytes is FF.
#[inline(always)]
fn has_ff_byte(bytes: u64) -> bool {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    (!bytes).wrapping_sub(LOW) & bytes & HIGH != 0
}

#[cfg(test)]
mod tests;
