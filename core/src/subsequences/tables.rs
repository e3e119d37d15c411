//! Huffman tables for kernels: one look-up a symbol, two in memory for the few codes that are longer than 10 bits.

use crate::codestream::{HuffmanClass, HuffmanSpec};

/// Bits of the first look-up.
const LOOKAHEAD: u32 = 10;

/// A Huffman table as the kernels read it.
///
/// Of the next 16 bits `w`, the entry is `entries[w >> 6]` if `w < direct_from`, else
/// `entries[1024 + w - direct_from]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookupTable {
    /// The first 16 bits that are looked up whole; 65536 if there are no codes of more than 10 bits.
    pub direct_from: u32,
    /// 1024 entries by the first 10 bits, then one for each `w` from `direct_from` on.
    pub entries: Vec<Entry>,
}

/// What a code stands for: bits (5) | advance << 5 (7) | size << 12 (4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Entry(pub u16);

impl Entry {
    /// Bits that are no code. A decoder that is not synchronised goes on one bit further.
    pub const BAD: Entry = Entry(1);

    fn new(class: HuffmanClass, length: u32, symbol: u8) -> Self {
        let (run, size) = (u32::from(symbol >> 4), u32::from(symbol & 15));
        let advance = match (class, size, run) {
            (HuffmanClass::Dc, ..) => 1,
            (HuffmanClass::Ac, 0, 15) => 16,
            (HuffmanClass::Ac, 0, _) => 64,
            (HuffmanClass::Ac, ..) => run + 1,
        };
        Entry(((length + size) | advance << 5 | size << 12) as u16)
    }

    /// Bits of the code and of the value behind it, 1 to 31.
    pub fn bits(self) -> u32 {
        u32::from(self.0 & 31)
    }

    /// By how much the zigzag index grows: 1 for DC, 64 at the end of a block, 0 for bits that are no code.
    pub fn advance(self) -> u32 {
        u32::from(self.0 >> 5 & 127)
    }

    /// Bits of the value.
    pub fn size(self) -> u32 {
        u32::from(self.0 >> 12)
    }
}

impl LookupTable {
    /// The table for a spec, whose code was validated by the parser.
    pub fn new(class: HuffmanClass, spec: &HuffmanSpec) -> Self {
        let mut table = LookupTable { direct_from: 1 << 16, entries: vec![Entry::BAD; 1 << LOOKAHEAD] };
        // Codes in their order fill the 16-bit numbers from 0 up.
        let mut start = 0u32;
        let mut symbols = spec.symbols.iter();
        for (length, &count) in (1..=16u32).zip(&spec.counts) {
            let span = 1 << (16 - length);
            if length > LOOKAHEAD && count > 0 && table.direct_from == 1 << 16 {
                table.direct_from = start;
                table.entries.resize((1 << LOOKAHEAD) + (1 << 16) - start as usize, Entry::BAD);
            }
            for &symbol in symbols.by_ref().take(usize::from(count)) {
                let places = match length <= LOOKAHEAD {
                    true => start >> (16 - LOOKAHEAD)..(start + span) >> (16 - LOOKAHEAD),
                    false => {
                        start - table.direct_from + (1 << LOOKAHEAD)
                            ..start + span - table.direct_from + (1 << LOOKAHEAD)
                    }
                };
                table.entries[places.start as usize..places.end as usize].fill(Entry::new(class, length, symbol));
                start += span;
            }
        }
        table
    }

    /// The entry for the next 16 bits.
    pub fn entry(&self, bits: u32) -> Entry {
        let index = match bits < self.direct_from {
            true => bits >> (16 - LOOKAHEAD),
            false => bits - self.direct_from + (1 << LOOKAHEAD),
        };
        self.entries[index as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The entry for 16 bits, code by code.
    fn by_search(class: HuffmanClass, spec: &HuffmanSpec, bits: u32) -> Entry {
        let (mut code, mut index) = (0, 0);
        for length in 1..=16 {
            let count = u32::from(spec.counts[length as usize - 1]);
            if let Some(offset) = (bits >> (16 - length)).checked_sub(code).filter(|&offset| offset < count) {
                return Entry::new(class, length, spec.symbols[index + offset as usize]);
            }
            index += count as usize;
            code = (code + count) << 1;
        }
        Entry::BAD
    }

    fn assert_finds_every_code(
        class: HuffmanClass,
        counts: [u8; 16],
        symbols: impl Iterator<Item = u8>,
    ) -> LookupTable {
        let symbols = symbols.take(counts.iter().map(|&count| usize::from(count)).sum()).collect();
        let spec = HuffmanSpec { counts, symbols };
        assert!(spec.is_valid(class));
        let table = LookupTable::new(class, &spec);
        for bits in 0..1 << 16 {
            assert_eq!(table.entry(bits), by_search(class, &spec, bits), "{bits:016b}");
        }
        table
    }

    #[test]
    fn finds_every_code() {
        let dc = assert_finds_every_code(HuffmanClass::Dc, [0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0], 0..=11);
        assert_eq!((dc.direct_from, dc.entries.len()), (1 << 16, 1024));
        // Lengths of T.81's table K.5, and symbols of any kind.
        let counts = [0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 125];
        let ac = assert_finds_every_code(HuffmanClass::Ac, counts, (0..=255).rev());
        assert!(ac.entries.len() < 4096, "{} entries", ac.entries.len());
        assert_finds_every_code(HuffmanClass::Ac, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255], 0..=255);
        assert_finds_every_code(HuffmanClass::Ac, [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], 0..=255);
        assert_finds_every_code(HuffmanClass::Ac, [0; 16], 0..=255);
    }

    #[test]
    fn an_entry_says_how_far_a_symbol_goes() {
        let advance = |class, symbol| Entry::new(class, 4, symbol).advance();
        assert_eq!(advance(HuffmanClass::Dc, 5), 1);
        assert_eq!(advance(HuffmanClass::Ac, 0x00), 64);
        assert_eq!(advance(HuffmanClass::Ac, 0xF0), 16);
        assert_eq!(advance(HuffmanClass::Ac, 0x53), 6);
        // Codes of other runs without a value end the block, as libjpeg has it.
        assert_eq!(advance(HuffmanClass::Ac, 0x50), 64);
        let longest = Entry::new(HuffmanClass::Ac, 16, 0xFF);
        assert_eq!((longest.bits(), longest.advance(), longest.size()), (31, 16, 15));
    }
}
