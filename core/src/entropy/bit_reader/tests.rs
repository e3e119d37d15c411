use super::*;
use crate::codestream::Marker;
use crate::entropy::test_scan::scan;
use crate::warning::Warning;

fn bits(reader: &mut BitReader, count: usize) -> Vec<u32> {
    (0..count)
        .map(|_| {
            reader.refill();
            reader.take(1)
        })
        .collect()
}

#[test]
fn reads_all_bits_of_any_bytes_and_then_zeros() {
    // FF bytes at every distance, so that each path of the refill is taken.
    for gap in 1..12 {
        let plain: Vec<u8> =
            (0..64u8).map(|index| if usize::from(index).is_multiple_of(gap) { 0xFF } else { index }).collect();
        let stuffed: Vec<u8> =
            plain.iter().flat_map(|&byte| if byte == 0xFF { vec![0xFF, 0] } else { vec![byte] }).collect();
        let mut reader = BitReader::new(&stuffed, &scan(stuffed.len(), None));
        for &byte in &plain {
            reader.refill();
            assert_eq!(reader.take(8), u32::from(byte), "gap {gap}");
        }
        assert!(!reader.overdrawn());
        assert_eq!(bits(&mut reader, 100), vec![0; 100]);
        assert!(reader.overdrawn());
    }
}

#[test]
fn several_ff_before_zero_are_one_data_byte() {
    let bytes = [0xFF, 0xFF, 0xFF, 0x00, 0x12];
    let mut reader = BitReader::new(&bytes, &scan(5, None));
    reader.refill();
    assert_eq!(reader.take(16), 0xFF12);
    assert!(!reader.overdrawn());
}

#[test]
fn signed_values_extend_as_t81_figure_f12_says() {
    for size in 1..=15u32 {
        for magnitude in [0, 1, (1 << (size - 1)) - 1, 1 << (size - 1), (1 << size) - 1] {
            let magnitude = magnitude & ((1 << size) - 1);
            let bytes = ((magnitude as u64) << (64 - size)).to_be_bytes();
            let stuffed: Vec<u8> =
                bytes.iter().flat_map(|&byte| if byte == 0xFF { vec![0xFF, 0] } else { vec![byte] }).collect();
            let mut reader = BitReader::new(&stuffed, &scan(stuffed.len(), None));
            reader.refill();
            let expected = if magnitude < 1 << (size - 1) { magnitude - (1 << size) + 1 } else { magnitude };
            assert_eq!(reader.take_signed(size), expected, "size {size}");
        }
    }
}

/// Reads up to the first marker of `bytes`, asks for RST0, and tells whether data follows and where.
fn restart(bytes: &[u8]) -> (bool, usize, Vec<Warning>) {
    let mut reader = BitReader::new(bytes, &scan(bytes.len(), Some(Marker::EOI)));
    bits(&mut reader, 8);
    let mut warnings = Warnings::default();
    let has_data = reader.restart(0, &mut warnings);
    (has_data, reader.offset(), warnings.into_vec())
}

#[test]
fn the_expected_restart_marker_is_passed_silently() {
    assert_eq!(restart(&[1, 0xFF, 0xD0, 2]), (true, 3, vec![]));
    // Fill bytes are legal before markers.
    assert_eq!(restart(&[1, 0xFF, 0xFF, 0xD0, 2]), (true, 4, vec![]));
}

#[test]
fn resynchronises_like_libjpeg() {
    let after = |code: u8| restart(&[1, 0xFF, code, 2, 3, 0xFF, 0xD0, 4]);
    // The next two restarts: the data before them was lost, they stay for later.
    for code in [0xD1, 0xD2] {
        assert!(!after(code).0);
    }
    // Earlier restarts and reserved codes: look further, and find RST0.
    for code in [0xD6, 0xD7, 0x05] {
        assert_eq!((after(code).0, after(code).1), (true, 7));
    }
    // Far-off restarts: read on behind them.
    for code in [0xD3, 0xD4, 0xD5] {
        assert_eq!((after(code).0, after(code).1), (true, 3));
    }
    assert!(after(0xD1).2.iter().any(|warning| matches!(warning, Warning::RestartMismatch { expected: 0, .. })));
}

#[test]
fn restart_at_the_end_of_the_scan_finds_no_data() {
    let (has_data, _, warnings) = restart(&[1, 2, 3]);
    assert!(!has_data);
    assert_eq!(warnings.len(), 2, "{warnings:?}");
}

#[test]
fn unread_bytes_are_data_up_to_the_end_of_the_scan() {
    let mut bytes = vec![1; 40];
    bytes.extend([0xFF, 0x00, 0xFF, 0xFF, 0xD3, 9]);
    let mut reader = BitReader::new(&bytes, &scan(bytes.len(), None));
    bits(&mut reader, 8);
    // The other 1s, the stuffed FF, and the 9 behind RST3.
    assert_eq!(reader.unread_bytes(), 39 + 2);
}
