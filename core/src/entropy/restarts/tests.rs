use super::*;
use crate::codestream::Codestream;
use crate::entropy::{Block, decode_coefficients};
use crate::limits::Limits;
use crate::options::DecodeOptions;

fn sample() -> Vec<u8> {
    std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../samples/restart.jpg")).unwrap()
}

/// All blocks of a row of MCUs.
fn blocks(plan: &DecodePlan, row: &McuRow) -> Vec<Block> {
    let mut blocks = Vec::new();
    for (index, component) in plan.components().iter().enumerate() {
        let vertical = u32::from(component.sampling.vertical);
        let rows = row.index() * vertical..((row.index() + 1) * vertical).min(component.plane.height.div_ceil(8));
        let columns = 0..component.plane.width.div_ceil(8);
        blocks.extend(rows.flat_map(|y| columns.clone().map(move |x| (y, x))).map(|(y, x)| row.block(index, y, x)));
    }
    blocks
}

fn with_plan<T>(bytes: &[u8], then: impl FnOnce(&DecodePlan) -> T) -> T {
    let codestream = Codestream::parse(bytes, &Limits::default()).unwrap();
    then(&DecodePlan::new(&codestream, &DecodeOptions::default()).unwrap())
}

#[test]
fn any_number_of_parts_gives_the_serial_decoder_s_coefficients() {
    with_plan(&sample(), |plan| {
        let mut serial = Vec::new();
        decode_coefficients(plan, |row| serial.push(blocks(plan, &row))).unwrap();
        for count in [2, 3, 7, 20, 75, 1000] {
            let parts = RestartParts::decode_parts(plan, count).expect("every row begins with a restart");
            assert!(parts.parts.len() > 1);
            let mut parallel = Vec::new();
            parts.rows(plan, |row| parallel.push(blocks(plan, &row)));
            assert!(parallel == serial, "{count} parts");
        }
    });
}

#[test]
fn files_that_are_damaged_anywhere_are_left_to_the_serial_decoder() {
    let original = sample();
    let scan = Codestream::parse(&original, &Limits::default()).unwrap().scans()[0].data.clone();
    let markers: Vec<usize> = (scan.start..scan.end - 1)
        .filter(|&at| original[at] == 0xFF && (0xD0..=0xD7).contains(&original[at + 1]))
        .collect();
    let refused = |bytes: &[u8]| with_plan(bytes, |plan| RestartParts::decode_parts(plan, 6).is_none());
    for &marker in markers.iter().step_by(7) {
        let mut wrong = original.clone();
        wrong[marker + 1] ^= 1;
        assert!(refused(&wrong), "a marker out of order at {marker}");
        let mut long = original.clone();
        long.splice(marker..marker, [0x12; 40]);
        assert!(refused(&long), "bytes left over before {marker}");
        let mut short = original.clone();
        short.drain(marker - 20..marker);
        assert!(refused(&short), "bytes missing before {marker}");
    }
    assert!(!refused(&original));
}

#[test]
fn scans_without_restarts_are_not_cut() {
    let photo = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../samples/photo.jpg")).unwrap();
    assert!(with_plan(&photo, |plan| RestartParts::decode_parts(plan, 4).is_none()));
}
