use super::*;
use crate::codestream::Codestream;
use crate::entropy::{Block, decode_coefficients};
use crate::limits::Limits;
use crate::options::DecodeOptions;

fn sample(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/../samples/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// Decodes a whole scan in waves of so many pieces.
fn all_pieces(plan: &DecodePlan, count: usize, per_wave: usize) -> Option<PlacedPieces> {
    let (mut placed, mut pending) = begin_pieces(plan, count, per_wave)?;
    while !pending.is_done() {
        let decoded = pending.decode_wave()?;
        pending.place(decoded, &mut placed)?;
    }
    Some(placed)
}

/// All blocks of a plan, in order.
fn blocks(plan: &DecodePlan, row: &McuRow, blocks: &mut Vec<Block>) {
    for (index, component) in plan.components().iter().enumerate().filter(|(_, component)| component.needed) {
        let vertical = u32::from(component.sampling.vertical);
        let rows = row.index() * vertical..((row.index() + 1) * vertical).min(component.plane.height.div_ceil(8));
        for block_row in rows {
            for column in 0..component.plane.width.div_ceil(8) {
                blocks.push(row.block(index, block_row, column));
            }
        }
    }
}

#[test]
fn any_number_of_pieces_gives_the_serial_decoder_s_coefficients() {
    for name in ["photo.jpg", "gray.jpg", "portrait-exif6.jpg"] {
        let bytes = sample(name);
        let codestream = Codestream::parse(&bytes, &Limits::default()).unwrap();
        let plan = DecodePlan::new(&codestream, &DecodeOptions::default()).unwrap();
        let mut serial = Vec::new();
        decode_coefficients(&plan, |row| blocks(&plan, &row, &mut serial)).unwrap();
        let mut joined = 0;
        for count in (2..20).chain([40, 77]) {
            let Some(pieces) = all_pieces(&plan, count, 1 + count % 5) else { continue };
            joined += 1;
            let mut parallel = Vec::new();
            pieces.rows(&plan, |row| blocks(&plan, &row, &mut parallel));
            assert!(parallel == serial, "{name} in {count} pieces");
        }
        assert!(joined >= 15, "{name}: only {joined} joined");
    }
}

#[test]
fn files_that_are_damaged_anywhere_are_left_to_the_serial_decoder() {
    let original = sample("photo.jpg");
    let scan = Codestream::parse(&original, &Limits::default()).unwrap().scans()[0].data.clone();
    let refused = |bytes: &[u8]| {
        let codestream = Codestream::parse(bytes, &Limits::default()).unwrap();
        let plan = DecodePlan::new(&codestream, &DecodeOptions::default()).unwrap();
        all_pieces(&plan, 6, 4).is_none()
    };
    assert!(!refused(&original));
    for tenth in 1..10 {
        let place = scan.start + scan.len() * tenth / 10;
        let mut marked = original.clone();
        marked[place..place + 2].copy_from_slice(&[0xFF, 0xD3]);
        assert!(refused(&marked), "a marker at {tenth} tenths");
        let mut cut = original.clone();
        cut.drain(place..place + 500);
        assert!(refused(&cut), "500 bytes less at {tenth} tenths");
        let mut long = original.clone();
        long.splice(scan.end..scan.end, original[place..place + 600].iter().copied());
        assert!(refused(&long), "600 bytes more");
    }
}

/// Two blocks, of which the second takes bits that are not there.
#[test]
fn a_last_block_beyond_the_data_is_left_to_the_serial_decoder() {
    let mut bytes = sample("gray.jpg");
    let frame = bytes.windows(2).position(|pair| pair == [0xFF, 0xC0]).unwrap();
    bytes[frame + 5..frame + 9].copy_from_slice(&[0, 8, 0, 16]);
    let scan = Codestream::parse(&bytes, &Limits::default()).unwrap().scans()[0].data.clone();
    for len in 1..12 {
        let cut = [&bytes[..scan.start], &[0x28, 0x50, 0x28, 0xA1, 3, 0x0A, 0x14, 0x28, 0x50, 5, 6, 7][..len]].concat();
        let codestream = Codestream::parse(&cut, &Limits::default()).unwrap();
        let plan = DecodePlan::new(&codestream, &DecodeOptions::default()).unwrap();
        let damaged = decode_coefficients(&plan, |_| ()).unwrap().warnings != codestream.warnings();
        for count in 2..10 {
            assert!(!damaged || all_pieces(&plan, count, 3).is_none(), "{len} bytes in {count} pieces");
        }
    }
}
