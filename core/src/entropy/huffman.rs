//! Huffman decoding by look-up (T.81 Annex C and F.2.2.3).

use super::bit_reader::{BitReader, Bits};
use crate::codestream::HuffmanSpec;

/// Bits looked up at once. Nearly all codes of real files are shorter.
pub(super) const LOOKAHEAD: u32 = 10;

/// A table that decodes most symbols, and for AC their values too, in one look-up.
pub(crate) struct HuffmanTable {
    lookup: Box<[Symbol; 1 << LOOKAHEAD]>,
    /// Largest code of each length, -1 if there is none.
    max_code: [i32; 17],
    /// Index of a length's first symbol minus its first code.
    first_symbol: [i32; 17],
    symbols: [u8; 256],
}

/// A decoded symbol: run, size, and the bits it takes.
///
/// Packed for the look-up table: value (16 bits), run (4), size (4), bits (8). If `value` is not 0, the extra
/// bits were short enough to be in the look-up, `size` is 0 and `bits` covers them.
#[derive(Clone, Copy)]
pub(crate) struct Symbol(u32);

impl Symbol {
    /// Marks codes longer than the look-up.
    const TOO_LONG: Symbol = Symbol(0);

    fn new(bits: u32, symbol: u8) -> Self {
        Symbol(bits | u32::from(symbol & 15) << 8 | u32::from(symbol >> 4) << 12)
    }

    fn with_value(bits: u32, symbol: u8, value: i32) -> Self {
        Symbol(bits | u32::from(symbol >> 4) << 12 | (value as u32) << 16)
    }

    /// Whether the code has more bits than are looked up at once.
    #[inline(always)]
    pub(crate) fn is_too_long(self) -> bool {
        self.0 == Self::TOO_LONG.0
    }

    /// Bits to take, the value's included if it came with the look-up.
    #[inline(always)]
    pub(crate) fn bits(self) -> u32 {
        self.0 & 0xFF
    }

    /// The value, if it came with the look-up, else 0.
    #[inline(always)]
    pub(crate) fn value(self) -> i32 {
        self.0 as i32 >> 16
    }

    /// Extra bits still to be taken.
    #[inline(always)]
    pub(crate) fn size(self) -> u32 {
        self.0 >> 8 & 15
    }

    /// Zeros before the coefficient (high nibble of RS).
    #[inline(always)]
    pub(crate) fn run(self) -> u32 {
        self.0 >> 12 & 15
    }
}

impl HuffmanTable {
    /// A table that gives symbols with their values. The spec's code was validated by the parser.
    pub(crate) fn with_values(spec: &HuffmanSpec) -> Self {
        Self::build(spec, true)
    }

    /// A table that gives bare symbols, for refinement scans, where a size says nothing of the bits behind.
    pub(crate) fn without_values(spec: &HuffmanSpec) -> Self {
        Self::build(spec, false)
    }

    fn build(spec: &HuffmanSpec, values: bool) -> Self {
        let mut table = HuffmanTable {
            lookup: Box::new([Symbol::TOO_LONG; 1 << LOOKAHEAD]),
            max_code: [-1; 17],
            first_symbol: [0; 17],
            symbols: [0; 256],
        };
        table.symbols[..spec.symbols.len()].copy_from_slice(&spec.symbols);
        let (mut code, mut index) = (0i32, 0i32);
        for length in 1..=16u32 {
            let count = i32::from(spec.counts[length as usize - 1]);
            if count > 0 {
                table.first_symbol[length as usize] = index - code;
                for offset in 0..count {
                    table.enter(length, (code + offset) as u32, spec.symbols[(index + offset) as usize], values);
                }
                code += count;
                index += count;
                table.max_code[length as usize] = code - 1;
            }
            code <<= 1;
        }
        table
    }

    fn enter(&mut self, length: u32, code: u32, symbol: u8, values: bool) {
        let Some(spare) = LOOKAHEAD.checked_sub(length) else { return };
        let size = u32::from(symbol & 15);
        let first = (code << spare) as usize;
        for (suffix, entry) in self.lookup[first..first + (1 << spare)].iter_mut().enumerate() {
            *entry = match spare.checked_sub(size) {
                Some(unused) if values && size > 0 => {
                    let magnitude = (suffix as u32 >> unused) as i32;
                    let negative = magnitude < 1 << (size - 1);
                    let value = if negative { magnitude + 1 - (1 << size) } else { magnitude };
                    Symbol::with_value(length + size, symbol, value)
                }
                _ => Symbol::new(length, symbol),
            };
        }
    }

    /// Takes the next symbol. The reader must have been refilled. `bad_codes` counts bits that are no code:
    /// they are taken as symbol 0 of 17 bits, as libjpeg does.
    #[inline(always)]
    pub(crate) fn decode(&self, reader: &mut BitReader, bad_codes: &mut u32) -> Symbol {
        let mut bits = reader.bits();
        let symbol = self.decode_bits(&mut bits, bad_codes);
        reader.set_bits(bits);
        symbol
    }

    /// As [`decode`](Self::decode), with the bits taken out of their reader.
    #[inline(always)]
    pub(crate) fn decode_bits(&self, bits: &mut Bits, bad_codes: &mut u32) -> Symbol {
        let symbol = self.short_symbol(bits.peek(LOOKAHEAD) as usize);
        let symbol = if symbol.is_too_long() { self.long_symbol(bits.peek(16), bad_codes) } else { symbol };
        bits.consume(symbol.bits());
        symbol
    }

    /// The symbol that the next [`LOOKAHEAD`] bits begin with, or one that is [too long](Symbol::is_too_long).
    #[inline(always)]
    pub(crate) fn short_symbol(&self, bits: usize) -> Symbol {
        self.lookup[bits & ((1 << LOOKAHEAD) - 1)]
    }

    /// The symbol with a long code that the next 16 bits begin with.
    #[cold]
    #[inline(never)]
    fn long_symbol(&self, bits: u32, bad_codes: &mut u32) -> Symbol {
        for length in LOOKAHEAD + 1..=16 {
            let code = (bits >> (16 - length)) as i32;
            if code <= self.max_code[length as usize] {
                let index = (code + self.first_symbol[length as usize]) & 0xFF;
                return Symbol::new(length, self.symbols[index as usize]);
            }
        }
        *bad_codes += 1;
        Symbol::new(17, 0)
    }
}

#[cfg(test)]
mod tests;
