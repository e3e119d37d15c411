use super::*;
use crate::cpu;
use crate::error::MisuseError;
use crate::geometry::DisplayRect;
use crate::limits::Limits;
use crate::options::DecodeOptions;
use crate::orientation::{Orientation, OrientationPolicy};
use crate::plan::DecodePlan;

fn sample(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/../samples/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

#[test]
fn regions_are_the_same_with_an_index() {
    for name in ["photo.jpg", "gray.jpg", "restart.jpg", "portrait-exif6.jpg", "cmyk.jpg"] {
        let bytes = sample(name);
        let codestream = Codestream::parse(&bytes, &Limits::default()).unwrap();
        let index = CodestreamIndex::build(&codestream).unwrap();
        let index = CodestreamIndex::from_bytes(&index.to_bytes()).unwrap();
        let size = codestream.stored_size();
        let side = size.width.min(size.height);
        for orientation in [Orientation::Normal, Orientation::FlipVertical, Orientation::Rotate90] {
            for place in (0..side - 40).step_by(37) {
                let options = DecodeOptions::default()
                    .orientation(OrientationPolicy::Set(orientation))
                    .region(DisplayRect::new(place, place, 40, 33));
                let plan = DecodePlan::new(&codestream, &options).unwrap();
                let without = cpu::decode(&plan).unwrap();
                let with = cpu::decode(&plan.with_index(&index).unwrap()).unwrap();
                assert!(with.pixels == without.pixels, "{name} {orientation:?} at {place}");
                assert_eq!(with.report, without.report);
            }
        }
    }
}

#[test]
fn files_without_one_sound_scan_have_no_index() {
    for name in ["progressive.jpg", "truncated.jpg"] {
        let bytes = sample(name);
        let codestream = Codestream::parse(&bytes, &Limits::default()).unwrap();
        assert_eq!(CodestreamIndex::build(&codestream), None, "{name}");
    }
}

#[test]
fn an_index_of_another_file_is_refused() {
    let (photo, gray) = (sample("photo.jpg"), sample("gray.jpg"));
    let mut changed = photo.clone();
    let last = changed.len() - 1;
    changed.insert(last - 1, 0);
    let parsed = [&photo, &gray, &changed].map(|bytes| Codestream::parse(bytes, &Limits::default()).unwrap());
    let index = CodestreamIndex::build(&parsed[0]).unwrap();
    assert!(index.matches(&parsed[0]));
    for codestream in &parsed[1..] {
        let plan = DecodePlan::new(codestream, &DecodeOptions::default()).unwrap();
        assert_eq!(plan.with_index(&index).unwrap_err(), MisuseError::IndexMismatch);
    }
}

#[test]
fn bytes_that_are_no_index_are_refused() {
    let bytes = sample("gray.jpg");
    let index = CodestreamIndex::build(&Codestream::parse(&bytes, &Limits::default()).unwrap()).unwrap().to_bytes();
    assert!(CodestreamIndex::from_bytes(&index).is_some());
    for len in (0..index.len()).filter(|&len| len < 16 || (len - 16) % ROW_BYTES != 0) {
        assert_eq!(CodestreamIndex::from_bytes(&index[..len]), None, "{len} bytes");
    }
    for place in [0, 7, 16 + 8, 16 + 9] {
        let mut wrong = index.clone();
        wrong[place] ^= 0x88;
        assert_eq!(CodestreamIndex::from_bytes(&wrong), None, "byte {place}");
    }
}

#[test]
fn places_that_lie_are_no_danger() {
    let bytes = sample("photo.jpg");
    let codestream = Codestream::parse(&bytes, &Limits::default()).unwrap();
    let index = CodestreamIndex::build(&codestream).unwrap();
    let options = DecodeOptions::default().region(DisplayRect::new(0, 300, 64, 64));
    for offset in [0, 1, bytes.len() - 1, bytes.len(), usize::MAX / 2, usize::MAX] {
        let mut lying = index.clone();
        lying.rows.iter_mut().for_each(|row| {
            row.position.offset = offset;
            row.until_restart = u32::MAX;
            row.predictors = [i32::MAX; 4];
        });
        let plan = DecodePlan::new(&codestream, &options).unwrap().with_index(&lying).unwrap();
        let image = cpu::decode(&plan).unwrap();
        assert_eq!(image.pixels.len(), 64 * 64 * 3);
    }
}
