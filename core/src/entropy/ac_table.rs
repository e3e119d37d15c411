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
/// Each half is a symbol of [`PackedCoefficients`](super::PackedCoefficients) whose zigzag index counts from the
/// current one. In between, in the low half: bits to take (6 bits from bit 6) and the number of coefficients (2 bits
/// from bit 12); in the high half: by how much the zigzag index advances (7 bits from bit 6), 64 more at the block's
/// end.
#[derive(Clone, Copy)]
pub(super) struct AcEntry(u64);

/// Zigzag indices from here on are behind the block; an advance of as much ends it.
pub(super) const END: u32 = 64;

impl AcEntry {
    /// For codes or values that are longer than the look-up: no index is far enough from the end for it.
    const NONE: AcEntry = AcEntry((127 << 6) << 32);

    fn new(bits: u32, coefficients: u64, advance: u32) -> Self {
        AcEntry(u64::from(bits) << 6 | coefficients << 12 | u64::from(advance) << 38)
    }

    #[inline(always)]
    pub(super) fn bits(self) -> u32 {
        (self.0 >> 6 & 63) as u32
    }

    #[inline(always)]
    pub(super) fn coefficients(self) -> usize {
        (self.0 >> 12 & 3) as usize
    }

    #[inline(always)]
    pub(super) fn advance(self) -> u32 {
        (self.0 >> 38 & 127) as u32
    }

    /// Two symbols, of which the first [`coefficients`](Self::coefficients) count, from zigzag index `k` on.
    #[inline(always)]
    pub(super) fn symbols(self, k: u32) -> [u32; 2] {
        let both = (self.0 & 0xFFFF_003F_FFFF_003F) + u64::from(k) * 0x1_0000_0001;
        [both as u32, (both >> 32) as u32]
    }

    /// Whether an entry that brings zigzag index `k` to 64 or beyond holds no more than the block does: all its
    /// parts but the last must end before the block is full. May be false for an entry of one part.
    #[inline(always)]
    pub(super) fn ends_block_at(self, k: u32) -> bool {
        let advance = self.advance();
        let last_but_one = if advance & END != 0 { advance & 63 } else { self.steps_to_first() + 1 };
        k + last_but_one <= 63
    }

    fn steps_to_first(self) -> u32 {
        (self.0 & 63) as u32
    }

    fn of(symbol: Symbol) -> AcEntry {
        let run = symbol.run();
        if symbol.is_too_long() || symbol.size() > 0 {
            AcEntry::NONE
        } else if symbol.value() != 0 {
            let first = u64::from(symbol.value() as u16) << 16 | u64::from(run);
            AcEntry(AcEntry::new(symbol.bits(), 1, run + 1).0 | first)
        } else if run == 15 {
            AcEntry(AcEntry::new(symbol.bits(), 0, 16).0 | 15)
        } else {
            AcEntry::new(symbol.bits(), 0, END)
        }
    }

    /// This entry, which is a coefficient or two, and the symbol that follows it.
    fn then(self, next: Symbol) -> AcEntry {
        if next.value() != 0 {
            let second = u64::from(next.value() as u16) << 48 | u64::from(self.advance() + next.run()) << 32;
            AcEntry((self.0 + AcEntry::new(next.bits(), 1, next.run() + 1).0) | second)
        } else if next.run() == 15 {
            self
        } else {
            AcEntry(self.0 + AcEntry::new(next.bits(), 0, END).0)
        }
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

    /// The entry for the next [`LOOKAHEAD`] bits.
    #[inline(always)]
    pub(super) fn entry(&self, bits: u32) -> AcEntry {
        self.entries[bits as usize & ((1 << LOOKAHEAD) - 1)]
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
        AcTable::new(&spec()).entry(u32::from_str_radix(&padded, 2).unwrap())
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
