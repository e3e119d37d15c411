use super::*;
use crate::entropy::test_scan::scan;

/// Data bytes of several chunks, with FF at many distances, and the same with stuffing and the offset of each.
fn stuffed(fill: usize) -> (Vec<u8>, Vec<u8>, Vec<usize>) {
    let plain: Vec<u8> =
        (0..3 * CHUNK + 5).map(|index| if index * index % 97 < 9 { 0xFF } else { index as u8 & 0x7F }).collect();
    let (mut file, mut offsets) = (Vec::new(), Vec::new());
    for &byte in &plain {
        offsets.push(file.len());
        file.push(byte);
        if byte == 0xFF {
            file.extend(vec![0xFF; fill]);
            file.push(0);
        }
    }
    (plain, file, offsets)
}

#[test]
fn chunks_are_the_data_without_stuffing_and_know_their_offsets() {
    for (fill, step) in [(0, 1), (0, 8), (1, 3), (3, 7)] {
        let (plain, file, offsets) = stuffed(fill);
        let mut data = ScanData::new(&file, &scan(file.len(), None));
        let mut position = 0;
        let mut read = Vec::new();
        loop {
            if data.eight_bytes(position).is_none() {
                position = data.load_more(position);
            }
            let rest = data.rest(position);
            if rest.is_empty() {
                break;
            }
            let count = rest.len().min(step);
            assert_eq!(data.offset(position), offsets[read.len()], "fill {fill}, byte {}", read.len());
            read.extend_from_slice(&rest[..count]);
            position += count;
        }
        assert!(read == plain, "fill {fill}");
        assert_eq!(data.offset(position), file.len());
    }
}

#[test]
fn restarts_are_found_from_anywhere_in_a_chunk() {
    let (plain, mut file, _) = stuffed(0);
    let first_interval = file.len();
    file.extend([0xFF, 0xD0, 1, 2, 3, 0xFF, 0xD1, 4]);
    for position in [0, 1, 100, CHUNK - 1] {
        let mut data = ScanData::new(&file, &scan(file.len(), None));
        data.load_more(0);
        let mut warnings = Warnings::default();
        assert!(data.restart(position, 0, 0, &mut warnings));
        assert_eq!(warnings.into_vec().len(), 1);
        assert_eq!(data.load_more(0), 0);
        assert_eq!((data.rest(0), data.offset(0)), (&[1, 2, 3][..], first_interval + 2));
    }
    assert!(plain.len() > CHUNK);
}
