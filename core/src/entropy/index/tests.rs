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
            // Down the diagonal, and down the middle of the longer side.
            for (x, y) in (0..side - 40).step_by(37).flat_map(|place| [(place, place), (size.width / 2, place)]) {
                let shown = orientation.map_size(size);
                let options = DecodeOptions::default()
                    .orientation(OrientationPolicy::Set(orientation))
                    .region(DisplayRect::new(x.min(shown.width - 40), y.min(shown.height - 33), 40, 33));
                let plan = DecodePlan::new(&codestream, &options).unwrap();
                let without = cpu::decode(&plan).unwrap();
                let with = cpu::decode(&plan.with_index(&index).unwrap()).unwrap();
                assert!(with.pixels == without.pixels, "{name} {orientation:?} at {x}, {y}");
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
    assert!(CodestreamIndex::from_bytes(&index).is_ok());
    for len in (0..index.len()).filter(|&len| len < HEADER_BYTES || !(len - HEADER_BYTES).is_multiple_of(PLACE_BYTES)) {
        let expected = if len <= MAGIC.len() { IndexError::NotAnIndex } else { IndexError::Cut { len } };
        assert_eq!(CodestreamIndex::from_bytes(&index[..len]), Err(expected));
    }
    let second = HEADER_BYTES + PLACE_BYTES;
    for (place, expected) in [
        (0, IndexError::NotAnIndex),
        (7, IndexError::Version { found: VERSION ^ 0x88, supported: VERSION }),
        (second + 8, IndexError::Impossible { offset: second }),
        (second + 9, IndexError::Impossible { offset: second }),
    ] {
        let mut wrong = index.clone();
        wrong[place] ^= 0x88;
        assert_eq!(CodestreamIndex::from_bytes(&wrong), Err(expected), "byte {place}");
    }
}

/// The first version had 30 bytes for each row.
#[test]
fn an_index_of_the_first_version_is_refused_as_such() {
    let old = [&b"isopel\x00\x01"[..], &[7; 8 + 60 * 30]].concat();
    let refused = CodestreamIndex::from_bytes(&old).unwrap_err();
    assert_eq!(refused, IndexError::Version { found: 1, supported: 2 });
    assert!(refused.to_string().contains("build it anew"));
}

#[test]
fn places_are_close_together() {
    for (name, between) in [("photo.jpg", 32), ("gray.jpg", 192), ("cmyk.jpg", 48)] {
        let bytes = sample(name);
        let codestream = Codestream::parse(&bytes, &Limits::default()).unwrap();
        let mcus = codestream.scans()[0].mcus(codestream.frame());
        let index = CodestreamIndex::build(&codestream).unwrap();
        assert_eq!(mcus_between(&codestream), between, "{name}");
        assert_eq!(index.places.len() as u32, mcus.height * mcus.width.div_ceil(between), "{name}");
        let (column, place) = index.place(&codestream, 1, mcus.width - 1);
        assert!(column % between == 0 && mcus.width - column <= between, "{name}");
        assert!(place.position.offset > index.place(&codestream, 1, 0).1.position.offset || column == 0, "{name}");
    }
}

#[test]
fn places_that_lie_are_no_danger() {
    let bytes = sample("photo.jpg");
    let codestream = Codestream::parse(&bytes, &Limits::default()).unwrap();
    let index = CodestreamIndex::build(&codestream).unwrap();
    let options = DecodeOptions::default().region(DisplayRect::new(600, 300, 64, 64));
    for offset in [0, 1, bytes.len() - 1, bytes.len(), usize::MAX / 2, usize::MAX] {
        let mut lying = index.clone();
        lying.places.iter_mut().for_each(|place| {
            place.position.offset = offset;
            place.until_restart = u32::MAX;
            place.predictors = [i16::MAX; 4];
        });
        let plan = DecodePlan::new(&codestream, &options).unwrap().with_index(&lying).unwrap();
        let image = cpu::decode(&plan).unwrap();
        assert_eq!(image.pixels.len(), 64 * 64 * 3);
    }
}
