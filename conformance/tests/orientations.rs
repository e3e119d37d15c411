//! An orientation is a turn of the stored pixels, in every format, on every backend.

use isopel_conformance::naive::Picture;
use isopel_conformance::{backends, corpus};
use isopel_core::{DecodeOptions, Orientation, OrientationPolicy, PixelFormat};
use rayon::prelude::*;

#[test]
fn set_orientations_turn_the_stored_pixels() {
    let files = corpus::decodable(700 * 700).unwrap();
    for backend in backends::present() {
        files.par_iter().for_each(|(row, jpeg)| {
            for format in PixelFormat::ALL {
                let options = DecodeOptions::default().format(format);
                let Ok(stored) = backend.decode(jpeg, &options.orientation(OrientationPolicy::Ignore)) else {
                    assert!(format == PixelFormat::Cmyk8 && row.format != "cmyk8", "{} as {format}", row.path);
                    continue;
                };
                assert_eq!(stored.report.orientation, Orientation::Normal);
                let stored = Picture::planes(&stored);
                for orientation in Orientation::ALL {
                    let turned = options.orientation(OrientationPolicy::Set(orientation));
                    let turned = backend.decode(jpeg, &turned).unwrap();
                    let exif = orientation.to_exif();
                    let expected: Vec<Picture> = stored.iter().map(|plane| plane.shown_with(exif)).collect();
                    assert!(
                        Picture::planes(&turned) == expected,
                        "{} as {format}, orientation {exif} on {}",
                        row.path,
                        backend.name()
                    );
                    assert_eq!(turned.report.orientation, orientation);
                }
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
