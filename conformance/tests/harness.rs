//! Tests of the tests: the comparer, the tolerances and the requirements must fail when they should.

use isopel_conformance::backends::{self, Presence, RequireError, Required};
use isopel_conformance::compare::{
    CompareError, Difference, FirstDifference, compare, compare_images, compare_outcomes,
};
use isopel_conformance::corpus;
use isopel_conformance::naive;
use isopel_conformance::tolerance::{TOLERANCES, ToleranceError, tolerance};
use isopel_core::{DecodeOptions, Error, Image, PixelFormat, Rect, Route, StoredRect};

fn decoded(options: &DecodeOptions) -> Image {
    let jpeg = corpus::hazard("container-base-420.jpg").unwrap();
    backends::present()[0].decode(&jpeg, options).unwrap()
}

#[test]
fn equal_pixels_have_no_difference() {
    for format in PixelFormat::ALL.into_iter().filter(|&format| format != PixelFormat::Cmyk8) {
        let image = decoded(&DecodeOptions::default().format(format));
        let difference = compare_images(&image, &image).unwrap();
        assert_eq!(difference, Difference { max: 0, mean: 0.0, share_differing: 0.0, first: None });
    }
}

#[test]
fn one_wrong_sample_is_found_where_it_is() {
    let image = decoded(&DecodeOptions::default());
    let samples = image.pixels.len();
    for (x, y, channel) in [(0, 0, 0), (44, 36, 2), (17, 5, 1), (44, 0, 2), (0, 36, 0)] {
        let mut wrong = image.clone();
        let at = (y as usize * 45 + x as usize) * 3 + channel;
        wrong.pixels[at] ^= 1;
        let difference = compare_images(&image, &wrong).unwrap();
        let (left, right) = (image.pixels[at], wrong.pixels[at]);
        assert_eq!(difference.first, Some(FirstDifference { x, y, channel, left, right }));
        assert_eq!(difference.max, 1);
        assert_eq!(difference.mean, 1.0 / samples as f64);
        assert_eq!(difference.share_differing, 1.0 / samples as f64);
        let row = tolerance("cpu", "cpu").unwrap();
        assert!(matches!(row.check(difference), Err(ToleranceError::Exceeded { .. })));
    }
}

#[test]
fn a_wrong_sample_of_a_plane_is_found_in_its_plane() {
    let image = decoded(&DecodeOptions::default().format(PixelFormat::ComponentPlanes));
    let mut wrong = image.clone();
    let plane = image.report.layout.planes()[2];
    wrong.pixels[plane.offset + 3 * plane.stride + 4] ^= 0x80;
    let first = compare_images(&image, &wrong).unwrap().first.unwrap();
    assert_eq!((first.x, first.y, first.channel), (4, 3, 2));
    assert_eq!(first.left.abs_diff(first.right), 128);
}

#[test]
fn bytes_between_rows_do_not_count() {
    let packed = decoded(&DecodeOptions::default());
    let layout = packed.report.layout.clone().with_stride(140).unwrap();
    let left = vec![7; layout.required_len()];
    let mut right = left.clone();
    right[135..140].fill(0);
    assert_eq!(compare(&left, &right, &layout).unwrap().first, None);
    right[140] = 0;
    let first = compare(&left, &right, &layout).unwrap().first.unwrap();
    assert_eq!((first.x, first.y, first.channel), (0, 1, 0));
}

#[test]
fn different_layouts_and_short_buffers_are_errors() {
    let image = decoded(&DecodeOptions::default());
    let bgr = decoded(&DecodeOptions::default().format(PixelFormat::Bgr8));
    let region = decoded(&DecodeOptions::default().region(StoredRect::new(0, 0, 44, 37)));
    for other in [bgr, region] {
        assert!(matches!(compare_images(&image, &other), Err(CompareError::Layout { .. })));
    }
    let short = &image.pixels[..image.pixels.len() - 1];
    let expected = CompareError::TooShort { len: short.len(), needed: image.pixels.len() };
    assert_eq!(compare(&image.pixels, short, &image.report.layout), Err(expected.clone()));
    assert_eq!(compare(short, &image.pixels, &image.report.layout), Err(expected));
}

#[test]
fn outcomes_that_differ_are_told_apart() {
    let image = decoded(&DecodeOptions::default());
    let mut elsewhere = image.clone();
    elsewhere.report.route = Route::WgpuFromCoefficients;
    assert_eq!(compare_outcomes(&Ok(image.clone()), &Ok(elsewhere)), Ok(()));
    let mut pixel = image.clone();
    pixel.pixels[4_000] ^= 0x10;
    let mut rows = image.clone();
    rows.report.valid_rows -= 1;
    let [empty, lost] = [Error::Internal("a".into()), Error::Internal("b".into())];
    for other in [Ok(pixel), Ok(rows), Ok(decoded(&DecodeOptions::default().format(PixelFormat::Bgr8))), Err(lost)] {
        assert!(compare_outcomes(&Ok(image.clone()), &other).is_err());
        assert!(compare_outcomes(&other, &Ok(image.clone())).is_err());
        assert!(compare_outcomes(&other, &Err(empty.clone())).is_err());
    }
    assert_eq!(compare_outcomes(&Err(empty.clone()), &Err(empty)), Ok(()));
}

#[test]
fn every_tolerance_is_respected_to_the_level() {
    for row in TOLERANCES {
        let difference = |max| Difference { max, mean: 0.0, share_differing: 0.0, first: None };
        assert!(row.check(difference(row.max_difference)).is_ok());
        assert!(row.check(difference(row.max_difference + 1)).is_err());
        assert!(!row.reason.is_empty());
    }
}

#[test]
fn a_route_without_a_tolerance_is_an_error() {
    assert!(matches!(tolerance("cpu", "guess"), Err(ToleranceError::NoRow { .. })));
    assert!(matches!(tolerance("", "cpu"), Err(ToleranceError::NoRow { .. })));
}

#[test]
fn requirements_are_parsed() {
    for list in ["", ",", " , "] {
        assert_eq!(Required::parse(list), Ok(Required::default()));
    }
    let required = Required::parse(" cpu,wgpu , corpus").unwrap();
    for name in ["cpu", "wgpu", "corpus"] {
        assert!(required.contains(name));
    }
    assert!(!required.contains("cuda"));
    for list in ["cpu,wpgu", "CPU", "cpu wgpu"] {
        assert!(matches!(Required::parse(list), Err(RequireError::Unknown { .. })), "{list}");
    }
}

#[test]
fn a_required_backend_that_is_absent_is_a_failure() {
    let absent = || {
        let mut all = backends::all();
        all.retain(|presence| presence.name == "cpu");
        all.push(Presence { name: "wgpu", backend: Err("no adapter".to_owned()) });
        all
    };
    assert_eq!(Required::parse("cpu").unwrap().check(&absent()), Ok(()));
    assert_eq!(Required::parse("").unwrap().check(&absent()), Ok(()));
    let expected = RequireError::Absent { name: "wgpu", reason: "no adapter".to_owned() };
    assert_eq!(Required::parse("cpu,wgpu").unwrap().check(&absent()), Err(expected));
}

#[test]
fn naive_turns_are_the_pictures_in_the_standard() {
    // The letter F, the usual drawing of the eight orientations: what is stored, and how it is shown upright.
    let upright = ["xxxx", "x...", "xxx.", "x...", "x..."];
    let stored: [(u8, &[&str]); 8] = [
        (1, &["xxxx", "x...", "xxx.", "x...", "x..."]),
        (2, &["xxxx", "...x", ".xxx", "...x", "...x"]),
        (3, &["...x", "...x", ".xxx", "...x", "xxxx"]),
        (4, &["x...", "x...", "xxx.", "x...", "xxxx"]),
        (5, &["xxxxx", "x.x..", "x.x..", "x...."]),
        (6, &["x....", "x.x..", "x.x..", "xxxxx"]),
        (7, &["....x", "..x.x", "..x.x", "xxxxx"]),
        (8, &["xxxxx", "..x.x", "..x.x", "....x"]),
    ];
    let picture = |rows: &[&str]| naive::Picture {
        width: rows[0].len() as u32,
        height: rows.len() as u32,
        depth: 1,
        bytes: rows.concat().into_bytes(),
    };
    for (exif, rows) in stored {
        assert_eq!(picture(rows).shown_with(exif), picture(&upright), "orientation {exif}");
    }
}

#[test]
fn naive_rectangles_hold_the_pixels_that_are_shown() {
    let (width, height) = (7, 5);
    for exif in 1..=8 {
        let (shown_width, shown_height) = naive::shown_size(exif, width, height);
        let shown = Rect::new(1, 2, shown_width - 2, shown_height - 3);
        let rect = naive::stored_rect(exif, shown, width, height);
        let bytes = (0..width * height).map(|index| index as u8).collect();
        let picture = naive::Picture { width, height, depth: 1, bytes };
        assert_eq!(picture.crop(rect).shown_with(exif), picture.shown_with(exif).crop(shown), "orientation {exif}");
    }
}
