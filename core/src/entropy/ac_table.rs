//! AC coefficients by look-up, up to two of them and the end of their block at once.

use super::huffman::{HuffmanTable, LOOKAHEAD, Symbol};
use crate::codestream::HuffmanSpec;

/// A table for sequential scans.
pub(super) struct AcTable {
    entries: Box<[AcEntry; 1 << LOOKAHEAD]>,
    /// Takes the symbols that have no entry, and those after which a block may be full.
    pub(super) single: HuffmanTable,
}

/// What the next bits hold: no coefficient (a run of 16 zeros, or the block's end), one, or two.
///
/// Little-endian: bits to take (6 bits) and number of coefficients (2 bits); steps from the current zigzag index to the
/// first coefficient; by how much the index advances, 64 more at the block's end; the first value (2 bytes); steps to
/// the second coefficient; nothing; the second value, which is short. Shifts look at 6 bits of the count alone, so the
/// next look-up waits for a load and a shift and nothing more.
#[derive(Clone, Copy)]
#[repr(align(8))]
pub(super) struct AcEntry([u8; 8]);

/// Zigzag indices from here on are behind the block; an advance of as much ends it.
pub(super) const END: u32 = 64;

impl AcEntry {
    /// Advance of entries for what is longer than the look-up: no index is far enough from the end for it.
    const TOO_FAR: u8 = 127;
    /// For codes that are longer than the look-up.
    const NONE: AcEntry = AcEntry([0, 0, AcEntry::TOO_FAR, 0, 0, 0, 0, 0]);

    /// Bits to take in the lowest 6 bits, and anything above them.
    #[inline(always)]
    pub(super) fn shift(&self) -> u32 {
        self.word() as u32
    }

    #[inline(always)]
    pub(super) fn coefficients(&self) -> usize {
        (self.word() >> 6 & 3) as usize
    }

    #[inline(always)]
    pub(super) fn advance(&self) -> u32 {
        self.0[2].into()
    }

    /// Two symbols of [`PackedCoefficients`](super::PackedCoefficients), of which the first
    /// [`coefficients`](Self::coefficients) count, from zigzag index `k` on.
    #[inline(always)]
    pub(super) fn symbols(&self, k: u32) -> [u32; 2] {
        // The second value's sign goes with the shift.
        let steps_and_values = (self.word() as i64 >> 8) as u64 & 0xFFFF_003F_FFFF_003F;
        let both = steps_and_values + u64::from(k) * 0x1_0000_0001;
        [both as u32, (both >> 32) as u32]
    }

    #[inline(always)]
    fn word(&self) -> u64 {
        u64::from_le_bytes(self.0)
    }

    /// Whether an entry that brings zigzag index `k` to 64 or beyond holds no more than the block does: all its
    /// parts but the last must end before the block is full. May be false for an entry of one part.
    #[inline(always)]
    pub(super) fn ends_block_at(&self, k: u32) -> bool {
        let advance = self.advance();
        let last_but_one = if advance & END != 0 { advance & 63 } else { self.steps_to_first() + 1 };
        k + last_but_one <= 63
    }

    /// Of an entry for a code whose value is longer than the look-up: run, size and bits of the code.
    #[inline(always)]
    pub(super) fn code_alone(&self) -> Option<(u32, u32, u32)> {
        let [bits, run, advance, size, ..] = self.0;
        (advance == AcEntry::TOO_FAR && bits > 0).then_some((run.into(), size.into(), bits.into()))
    }

    fn bits(&self) -> u32 {
        (self.0[0] & 63).into()
    }

    fn steps_to_first(&self) -> u32 {
        self.0[1].into()
    }

    fn of(symbol: Symbol) -> AcEntry {
        let (bits, run) = (symbol.bits() as u8, symbol.run() as u8);
        if symbol.is_too_long() {
            AcEntry::NONE
        } else if symbol.size() > 0 {
            AcEntry([bits, run, AcEntry::TOO_FAR, symbol.size() as u8, 0, 0, 0, 0])
        } else if symbol.value() != 0 {
            let [low, high] = (symbol.value() as i16).to_le_bytes();
            AcEntry([1 << 6 | bits, run, run + 1, low, high, 0, 0, 0])
        } else if run == 15 {
            AcEntry([bits, 15, 16, 0, 0, 0, 0, 0])
        } else {
            AcEntry([bits, 0, END as u8, 0, 0, 0, 0, 0])
        }
    }

    /// This entry, which is a coefficient or two, and the symbol that follows it.
    fn then(self, next: Symbol) -> AcEntry {
        let mut both = self;
        if next.value() != 0 {
            // Two codes leave few bits for values.
            let value = i8::try_from(next.value()).expect("a second value has a few bits");
            both.0[5] = self.0[2] + next.run() as u8;
            both.0[2] = both.0[5] + 1;
            both.0[7] = value as u8;
            both.0[0] += 1 << 6;
        } else if next.run() == 15 {
            return self;
        } else {
            both.0[2] += END as u8;
        }
        both.0[0] += next.bits() as u8;
        both
    }
}

impl AcTable {
    /// The spec's code was validated by the parser.
    pub(super) fn new(spec: &HuffmanSpec) -> Self {
        let single = HuffmanTable::with_values(spec);
        let mut entries = Box::new([AcEntry::NONE; 1 << LOOKAHEAD]);
        for (index, entry) in entries.iter_mut().enumerate() {
            *entry = AcEntry::of(single.short_symbol(index));
            // Two coefficients and the end at most.
            for coefficients in 1..=2 {
                let next = single.short_symbol(index << entry.bits());
                let complete = !next.is_too_long() && next.size() == 0 && entry.bits() + next.bits() <= LOOKAHEAD;
                if entry.coefficients() != coefficients || entry.advance() & END != 0 || !complete {
                    break;
                }
                if coefficients < 2 || next.value() == 0 {
                    *entry = entry.then(next);
                }
            }
        }
        AcTable { entries, single }
    }

    /// The entries by the next [`LOOKAHEAD`] bits.
    #[inline(always)]
    pub(super) fn entries(&self) -> &[AcEntry; 1 << LOOKAHEAD] {
        &self.entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Codes: 00 is (0,1), 01 is (1,1), 100 the block's end, 101 sixteen zeros, 1100 is (0,2), 1101 is (15,10).
    fn spec() -> HuffmanSpec {
        HuffmanSpec {
            counts: [0, 2, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            symbols: vec![0x01, 0x11, 0x00, 0xF0, 0x02, 0xFA],
        }
    }

    fn entry(bits: &str) -> AcEntry {
        let padded = format!("{bits:1<width$}", width = LOOKAHEAD as usize);
        AcTable::new(&spec()).entries()[usize::from_str_radix(&padded, 2).unwrap()]
    }

    /// Zigzag indices and values of an entry's symbols at index 1.
    fn symbols(entry: AcEntry) -> Vec<(u32, i16)> {
        let symbols = entry.symbols(1);
        symbols[..entry.coefficients()].iter().map(|symbol| (symbol & 0xFFFF, (symbol >> 16) as i16)).collect()
    }

    #[test]
    fn two_coefficients_and_the_end_come_at_once() {
        let both = entry("000011100");
        assert_eq!((both.bits(), both.advance(), symbols(both)), (9, 64 + 3, vec![(1, -1), (3, 1)]));
        assert!(both.ends_block_at(60) && !both.ends_block_at(61));
    }

    #[test]
    fn a_second_coefficient_may_fill_the_block() {
        let both = entry("0010111111");
        assert_eq!((both.bits(), both.advance(), symbols(both)), (6, 3, vec![(1, 1), (3, 1)]));
        assert!(both.ends_block_at(62) && !both.ends_block_at(63));
    }

    #[test]
    fn zeros_and_ends_hold_no_coefficient() {
        let zeros = entry("101000");
        assert_eq!((zeros.bits(), zeros.coefficients(), zeros.advance()), (3, 0, 16));
        let end = entry("100000");
        assert_eq!((end.bits(), end.coefficients(), end.advance()), (3, 0, 64));
        assert!(end.ends_block_at(63));
    }

    #[test]
    fn what_is_longer_than_the_look_up_has_no_entry() {
        for bits in ["1101", "1111"] {
            let none = entry(bits);
            assert!(none.advance() >= 64 && !none.ends_block_at(1));
        }
    }
}
