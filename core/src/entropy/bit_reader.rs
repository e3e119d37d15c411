//! Bits of a scan, up to the next marker.
//!
//! Beyond the data's end all bits are 0, as libjpeg-turbo has them; [`BitReader::overdrawn`] tells afterwards
//! whether any of those were taken.

use super::scan_data::ScanData;
use crate::codestream::Scan;
use crate::warning::Warnings;

/// Reads a scan's bits, most significant first.
pub(crate) struct BitReader<'a> {
    data: ScanData<'a>,
    bits: Bits,
}

/// A bit of a file, counted from a byte's highest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BitPosition {
    pub(crate) offset: usize,
    pub(crate) bit: u8,
}

/// The part of a reader that changes with every symbol. Inner loops take it out of the reader, which keeps it in
/// registers, and put it back.
#[derive(Clone, Copy, Default)]
pub(crate) struct Bits {
    /// The next bits, left-aligned. Bits below `available` are either 0 or already right.
    window: u64,
    /// Bits that may be taken; negative when zeros beyond the end were taken.
    available: i32,
    /// Index in the reader's chunk of the byte that is read next.
    position: usize,
}

impl Bits {
    /// The next `count` bits, 1..=32, without taking them.
    #[inline(always)]
    pub(crate) fn peek(&self, count: u32) -> u32 {
        (self.window >> (64 - count)) as u32
    }

    /// Takes as many bits as the lowest 6 bits of `count` say, that a refill made available.
    #[inline(always)]
    pub(crate) fn consume(&mut self, count: u32) {
        self.window <<= count & 63;
        self.available -= (count & 63) as i32;
    }

    /// Takes the next `count` bits, 1..=16.
    #[inline(always)]
    pub(crate) fn take(&mut self, count: u32) -> u32 {
        let bits = self.peek(count);
        self.consume(count);
        bits
    }

    /// The `size` bits, 1..=15, behind the next `skipped`, 0..=16, with their sign extended (T.81 F.2.2.1, EXTEND).
    /// Anything if `size` is 0.
    #[inline(always)]
    pub(crate) fn peek_signed(&self, skipped: u32, size: u32) -> i32 {
        let bits = self.window << (skipped & 63);
        // Negative values are the magnitude's complement.
        let negative = !(bits as i64 >> 63);
        let magnitude = (bits ^ negative as u64) >> (size.wrapping_neg() & 63);
        (magnitude as i32 ^ negative as i32).wrapping_sub(negative as i32)
    }

    /// Takes `size` bits, 0..=15, as [`peek_signed`](Self::peek_signed) gives them; no bits are 0.
    #[inline(always)]
    pub(crate) fn take_signed(&mut self, size: u32) -> i32 {
        let value = self.peek_signed(0, size);
        self.consume(size);
        if size == 0 { 0 } else { value }
    }

    /// Whether bits beyond the end of the data were taken.
    #[inline(always)]
    pub(crate) fn overdrawn(&self) -> bool {
        self.available < 0
    }

    /// Takes in the first `count` of the bytes that come next.
    #[inline(always)]
    fn append(&mut self, next: u64, count: usize) {
        self.window |= next >> self.available;
        self.position += count;
        self.available += 8 * count as i32;
    }

    /// Whole bytes that there is room for.
    #[inline(always)]
    fn room(&self) -> usize {
        (63 - self.available) as usize >> 3
    }
}

impl<'a> BitReader<'a> {
    pub(crate) fn new(bytes: &'a [u8], scan: &Scan) -> Self {
        BitReader { data: ScanData::new(bytes, scan), bits: Bits::default() }
    }

    /// What inner loops take out, and put back with [`set_bits`](Self::set_bits).
    #[inline(always)]
    pub(crate) fn bits(&self) -> Bits {
        self.bits
    }

    #[inline(always)]
    pub(crate) fn set_bits(&mut self, bits: Bits) {
        self.bits = bits;
    }

    /// Makes at least 32 bits available, as far as the data goes. One call suffices for a Huffman code and
    /// its extra bits (16 + 15).
    #[inline(always)]
    pub(crate) fn refill(&mut self) {
        if self.bits.available < 32 {
            self.bits = self.refilled(self.bits);
        }
    }

    /// At least 56 available bits, as far as the data goes.
    #[inline(always)]
    pub(crate) fn refilled(&mut self, mut bits: Bits) -> Bits {
        match self.data.eight_bytes(bits.position) {
            Some(next) => {
                bits.append(next, bits.room());
                bits
            }
            None => {
                // Nothing but what two registers hold goes through the call: the rest stays where it is.
                self.bits.position = bits.position;
                let (window, available) = self.refilled_at_chunk_end(bits.window, bits.available);
                Bits { window, available, position: self.bits.position }
            }
        }
    }

    /// Refills from `self.bits.position` on, and moves that.
    #[cold]
    #[inline(never)]
    fn refilled_at_chunk_end(&mut self, window: u64, available: i32) -> (u64, i32) {
        let mut bits = Bits { window, available, position: self.bits.position };
        bits.position = self.data.load_more(bits.position);
        let rest = self.data.rest(bits.position);
        if rest.is_empty() {
            return (window, available);
        }
        let count = bits.room().min(rest.len());
        let mut next = [0; 8];
        next[..count].copy_from_slice(&rest[..count]);
        bits.append(u64::from_be_bytes(next), count);
        self.bits.position = bits.position;
        (bits.window, bits.available)
    }

    /// Takes the next `count` bits, 1..=16, that [`refill`](Self::refill) made available.
    #[inline(always)]
    pub(crate) fn take(&mut self, count: u32) -> u32 {
        self.bits.take(count)
    }

    /// Takes `size` bits as [`Bits::take_signed`] does.
    #[inline(always)]
    pub(crate) fn take_signed(&mut self, size: u32) -> i32 {
        self.bits.take_signed(size)
    }

    /// Whether bits beyond the end of the data were taken.
    #[inline(always)]
    pub(crate) fn overdrawn(&self) -> bool {
        self.bits.overdrawn()
    }

    /// Bits taken since reading began, with those of `bits` taken out of this reader. Of no meaning after a restart.
    #[inline(always)]
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn bits_taken(&self, bits: &Bits) -> u64 {
        (8 * self.data.data_bytes_before(bits.position)).wrapping_add_signed(-i64::from(bits.available))
    }

    /// Where the next bit lies in the file.
    pub(crate) fn bit_position(&self) -> BitPosition {
        let bit = 8 * self.bits.position - self.bits.available.max(0) as usize;
        BitPosition { offset: self.data.data_offset(bit / 8), bit: (bit % 8) as u8 }
    }

    /// Goes on at another place, where there was a bit to read.
    pub(crate) fn resume(&mut self, position: BitPosition) {
        self.data.jump(position.offset);
        self.bits = self.refilled(Bits::default());
        self.bits.consume(u32::from(position.bit).min(self.bits.available.max(0) as u32));
    }

    /// Byte offset of what is read next, to within the 8 bytes that are read ahead.
    pub(crate) fn offset(&self) -> usize {
        self.data.offset(self.bits.position)
    }

    /// Whole bytes from here to the scan's end; markers and fill bytes are not counted.
    pub(crate) fn unread_bytes(&self) -> usize {
        self.read_ahead() + self.data.bytes_from(self.bits.position)
    }

    /// Whole bytes taken from the chunk but not used.
    fn read_ahead(&self) -> usize {
        self.bits.available.max(0) as usize / 8
    }

    /// Skips to the expected restart marker, or resynchronises as [`ScanData::restart`] does. Returns whether there
    /// is data to read.
    pub(crate) fn restart(&mut self, expected: u8, warnings: &mut Warnings) -> bool {
        let has_data = self.data.restart(self.bits.position, self.read_ahead(), expected, warnings);
        self.bits = Bits::default();
        has_data
    }
}

#[cfg(test)]
mod tests;
