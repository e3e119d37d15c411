//! DQT, DHT and DRI segments (T.81 B.2.4), and the default Huffman tables of T.81 Annex K.

use super::reader::Segment;
use crate::error::{FormatError, FormatErrorKind};

/// Zigzag index to natural (row-major) index (T.81 figure A.6).
pub const ZIGZAG: [u8; 64] = [
    0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21,
    28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54,
    47, 55, 62, 63,
];

/// A quantization table in natural order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuantTable {
    /// Quantizer step sizes, row-major.
    pub values: [u16; 64],
}

/// A Huffman table as a DHT segment defines it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HuffmanSpec {
    /// Number of codes of each length 1..=16 (BITS).
    pub counts: [u8; 16],
    /// Symbols in order of their codes (HUFFVAL).
    pub symbols: Vec<u8>,
}

/// DC or AC tables: the two classes have separate selectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HuffmanClass {
    /// For DC differences.
    Dc,
    /// For AC runs and sizes.
    Ac,
}

impl HuffmanClass {
    pub(crate) fn table_name(self) -> &'static str {
        match self {
            HuffmanClass::Dc => "DC Huffman",
            HuffmanClass::Ac => "AC Huffman",
        }
    }
}

impl HuffmanSpec {
    /// Whether the counts describe a prefix code that leaves the all-ones code free (T.81 C.2), and, for DC,
    /// whether the symbols are possible sizes.
    pub(crate) fn is_valid(&self, class: HuffmanClass) -> bool {
        let mut code = 0u32;
        for (index, &count) in self.counts.iter().enumerate() {
            code += u32::from(count);
            // One more than the last code of this length must still have this length.
            if count > 0 && code >= 1 << (index + 1) {
                return false;
            }
            code <<= 1;
        }
        class == HuffmanClass::Ac || self.symbols.iter().all(|&size| size <= 15)
    }
}

/// Reads a DQT segment and calls `define` with each selector and table.
pub(crate) fn read_dqt(segment: &Segment, mut define: impl FnMut(usize, QuantTable)) -> Result<(), FormatError> {
    let mut rest = segment.contents;
    while let Some((&precision_and_selector, table)) = rest.split_first() {
        let selector = precision_and_selector & 15;
        if selector > 3 {
            return Err(segment.error(FormatErrorKind::BadTableSelector { selector }));
        }
        let bytes_per_value = if precision_and_selector >> 4 == 0 { 1 } else { 2 };
        let table_bytes = 64 * bytes_per_value;
        let (table, after) =
            table.split_at_checked(table_bytes).ok_or_else(|| segment.error(FormatErrorKind::BadLength))?;
        let mut values = [0; 64];
        for (&natural, value) in ZIGZAG.iter().zip(table.chunks_exact(bytes_per_value)) {
            values[usize::from(natural)] = value.iter().fold(0, |value, &byte| value << 8 | u16::from(byte));
        }
        define(usize::from(selector), QuantTable { values });
        rest = after;
    }
    Ok(())
}

/// Reads a DHT segment and calls `define` with each class, selector and table.
pub(crate) fn read_dht(
    segment: &Segment,
    mut define: impl FnMut(HuffmanClass, usize, HuffmanSpec),
) -> Result<(), FormatError> {
    let mut rest = segment.contents;
    // A definition has at least its class byte and 16 counts.
    while rest.len() > 16 {
        let (header, symbols) = rest.split_at(17);
        let mut counts = [0; 16];
        counts.copy_from_slice(&header[1..]);
        let total: usize = counts.iter().map(|&count| usize::from(count)).sum();
        if total > 256 || total > symbols.len() {
            return Err(segment.error(FormatErrorKind::BadHuffmanTable));
        }
        let (symbols, after) = symbols.split_at(total);
        let class = if header[0] & 0x10 == 0 { HuffmanClass::Dc } else { HuffmanClass::Ac };
        let selector = header[0] & !0x10;
        if selector > 3 {
            return Err(segment.error(FormatErrorKind::BadTableSelector { selector }));
        }
        define(class, usize::from(selector), HuffmanSpec { counts, symbols: symbols.to_vec() });
        rest = after;
    }
    if rest.is_empty() { Ok(()) } else { Err(segment.error(FormatErrorKind::BadLength)) }
}

/// Reads a DRI segment: MCUs per restart interval, 0 for none.
pub(crate) fn read_dri(segment: &Segment) -> Result<u16, FormatError> {
    match segment.contents {
        &[high, low] => Ok(u16::from_be_bytes([high, low])),
        _ => Err(segment.error(FormatErrorKind::BadLength)),
    }
}

/// The typical table of T.81 Annex K.3 that frames of Motion JPEG leave out: selector 0 is for luminance,
/// 1 for chrominance; there are no others.
pub(crate) fn default_huffman(class: HuffmanClass, selector: usize) -> Option<HuffmanSpec> {
    let (counts, symbols): ([u8; 16], Vec<u8>) = match (class, selector) {
        (HuffmanClass::Dc, 0) => ([0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0], (0..12).collect()),
        (HuffmanClass::Dc, 1) => ([0, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0], (0..12).collect()),
        (HuffmanClass::Ac, 0) => {
            ([0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 125], default_ac_symbols(&LUMA_AC_HEAD))
        }
        (HuffmanClass::Ac, 1) => {
            ([0, 2, 1, 2, 4, 4, 3, 4, 7, 5, 4, 4, 0, 1, 2, 119], default_ac_symbols(&CHROMA_AC_HEAD))
        }
        _ => return None,
    };
    Some(HuffmanSpec { counts, symbols })
}

/// Symbols of table K.5 with codes shorter than 16 bits, and the first ones of 16 bits.
const LUMA_AC_HEAD: [u8; 37] = [
    0x01, 0x02, 0x03, 0x00, 0x04, 0x11, 0x05, 0x12, 0x21, 0x31, 0x41, 0x06, 0x13, 0x51, 0x61, 0x07, 0x22, 0x71, 0x14,
    0x32, 0x81, 0x91, 0xA1, 0x08, 0x23, 0x42, 0xB1, 0xC1, 0x15, 0x52, 0xD1, 0xF0, 0x24, 0x33, 0x62, 0x72, 0x82,
];

/// Symbols of table K.6 with codes shorter than 16 bits.
const CHROMA_AC_HEAD: [u8; 43] = [
    0x00, 0x01, 0x02, 0x03, 0x11, 0x04, 0x05, 0x21, 0x31, 0x06, 0x12, 0x41, 0x51, 0x07, 0x61, 0x71, 0x13, 0x22, 0x32,
    0x81, 0x08, 0x14, 0x42, 0x91, 0xA1, 0xB1, 0xC1, 0x09, 0x23, 0x33, 0x52, 0xF0, 0x15, 0x62, 0x72, 0xD1, 0x0A, 0x16,
    0x24, 0x34, 0xE1, 0x25, 0xF1,
];

/// Both AC tables end with all remaining symbols in ascending order.
fn default_ac_symbols(head: &[u8]) -> Vec<u8> {
    let rest = (0x01..=0xFAu8).filter(|&symbol| (1..=10).contains(&(symbol & 15)) && !head.contains(&symbol));
    head.iter().copied().chain(rest).collect()
}

#[cfg(test)]
mod tests;
