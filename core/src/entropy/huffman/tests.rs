use super::*;
use crate::entropy::test_scan::scan;

/// A code with symbols of every length that leaves the all-ones code free.
fn one_code_of_each_length() -> HuffmanSpec {
    let symbols = (0..16).map(|index| if index % 3 == 0 { index << 4 | 1 } else { index << 4 | (index % 11) });
    HuffmanSpec { counts: [1; 16], symbols: symbols.collect() }
}

/// Bits as bytes, with FF stuffed.
fn pack(bits: &str) -> Vec<u8> {
    let mut padded = bits.to_string();
    while !padded.len().is_multiple_of(8) {
        padded.push('0');
    }
    (0..padded.len() / 8)
        .map(|index| u8::from_str_radix(&padded[index * 8..index * 8 + 8], 2).unwrap())
        .flat_map(|byte| if byte == 0xFF { vec![0xFF, 0] } else { vec![byte] })
        .collect()
}

/// The code of length n in `one_code_of_each_length`: n - 1 ones and a zero.
fn code(length: usize) -> String {
    format!("{}0", "1".repeat(length - 1))
}

#[test]
fn codes_of_all_lengths_decode_with_and_without_values() {
    let spec = one_code_of_each_length();
    for length in 1..=16usize {
        let symbol = spec.symbols[length - 1];
        let size = u32::from(symbol & 15);
        // Extra bits 1000... are the smallest positive value of their size.
        let extra = if size > 0 { format!("1{}", "0".repeat(size as usize - 1)) } else { String::new() };
        let bytes = pack(&format!("{}{extra}{}", code(length), "01".repeat(20)));

        let mut bad_codes = 0;
        let mut reader = BitReader::new(&bytes, &scan(bytes.len(), None));
        reader.refill();
        let decoded = HuffmanTable::with_values(&spec).decode(&mut reader, &mut bad_codes);
        let value = match (decoded.value(), decoded.size()) {
            (0, 0) => 0,
            (0, size) => reader.take_signed(size),
            (value, _) => value,
        };
        assert_eq!(decoded.run(), u32::from(symbol >> 4), "length {length}");
        assert_eq!(value, if size > 0 { 1 << (size - 1) } else { 0 }, "length {length}");
        assert_eq!(reader.take(16), 0b0101_0101_0101_0101, "length {length}");

        let mut reader = BitReader::new(&bytes, &scan(bytes.len(), None));
        reader.refill();
        let decoded = HuffmanTable::without_values(&spec).decode(&mut reader, &mut bad_codes);
        assert_eq!((decoded.run(), decoded.size(), decoded.value()), (u32::from(symbol >> 4), size, 0));
        assert_eq!(bad_codes, 0);
    }
}

#[test]
fn bits_that_are_no_code_count_as_symbol_0_of_17_bits() {
    let bytes = pack(&format!("{}{}", "1".repeat(17), "01".repeat(8)));
    let mut reader = BitReader::new(&bytes, &scan(bytes.len(), None));
    reader.refill();
    let mut bad_codes = 0;
    let decoded = HuffmanTable::with_values(&one_code_of_each_length()).decode(&mut reader, &mut bad_codes);
    assert_eq!((bad_codes, decoded.size(), decoded.run()), (1, 0, 0));
    assert_eq!(reader.take(8), 0b0101_0101);
}

#[test]
fn an_empty_table_has_only_bad_codes() {
    let spec = HuffmanSpec { counts: [0; 16], symbols: Vec::new() };
    let bytes = [0; 8];
    let mut reader = BitReader::new(&bytes, &scan(8, None));
    reader.refill();
    let mut bad_codes = 0;
    HuffmanTable::with_values(&spec).decode(&mut reader, &mut bad_codes);
    assert_eq!(bad_codes, 1);
}
