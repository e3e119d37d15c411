//! An orientation is a turn of the stored pixels, in every format, at full size and smaller, on every backend.

use isopel_conformance::naive::Picture;
use isopel_conformance::random::{self, Random};
use isopel_conformance::{backends, corpus};
use isopel_core::{DecodeOptions, Orientation, OrientationPolicy, PixelFormat, Scale};
use rayon::prelude::*;

#[test]
fn set_orientations_turn_the_stored_pixels() {
    let seed = random::seed(0x0E1F);
    for backend in backends::present() {
        let budget = backend.budget();
        let files = corpus::decodable_shared(budget.pixels).unwrap();
        files.par_iter().for_each(|(row, jpeg)| {
            let mut random = Random::for_name(seed, &row.path);
            let scale = Scale::ALL[1 + random.below(3)];
            let request = |(format, scale), policy| {
                (jpeg.clone(), DecodeOptions::default().format(format).scale(scale).orientation(policy))
            };
            let kinds = [Scale::Full, scale].map(|scale| PixelFormat::ALL.map(|format| (format, scale)));
            let stored: Vec<_> =
                kinds.as_flattened().iter().map(|&kind| request(kind, OrientationPolicy::Ignore)).collect();
            let stored = backend.decode_all(&stored);
            let mut cases = Vec::new();
            for (&(format, scale), stored) in kinds.as_flattened().iter().zip(&stored) {
                let Ok(stored) = stored else {
                    assert!(format == PixelFormat::Cmyk8 && row.format != "cmyk8", "{} as {format}", row.path);
                    continue;
                };
                assert_eq!(stored.report.orientation, Orientation::Normal);
                cases.extend(Orientation::ALL.map(|orientation| ((format, scale), stored, orientation)));
            }
            let cases = random.pick(cases, budget.per_file(files.len()));
            let turned = cases.iter().map(|&(kind, _, orientation)| request(kind, OrientationPolicy::Set(orientation)));
            let turned = backend.decode_all(&turned.collect::<Vec<_>>());
            for (((format, scale), stored, orientation), turned) in cases.into_iter().zip(turned) {
                let turned = turned.unwrap();
                let exif = orientation.to_exif();
                let expected: Vec<Picture> =
                    Picture::planes(stored).iter().map(|plane| plane.shown_with(exif)).collect();
                assert!(
                    Picture::planes(&turned) == expected,
                    "{} as {format} at {scale}, orientation {exif} on {}",
                    row.path,
                    backend.name()
                );
                assert_eq!(turned.report.orientation, orientation);
            }
        });
    }
}

#[test]
fn the_files_own_orientation_is_applied_unless_told_otherwise() {
    for backend in backends::present() {
        for row in corpus::hazard_rows().unwrap().iter().filter(|row| row.file.starts_with("orient-")) {
            let jpeg = row.bytes().unwrap();
            let orientation = Orientation::from_exif(row.exif_orientation.into()).unwrap();
            let by_default = backend.decode(&jpeg, &DecodeOptions::default()).unwrap();
            let set = DecodeOptions::default().orientation(OrientationPolicy::Set(orientation));
            assert_eq!(by_default, backend.decode(&jpeg, &set).unwrap(), "{}", row.file);
            assert_eq!(by_default.report.orientation, orientation, "{}", row.file);
        }
    }
}
