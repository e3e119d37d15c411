//! Mistakes that were made once, each as the smallest file that shows it.

use isopel_conformance::backends::{self, ConformanceBackend};
use isopel_conformance::compare::compare_images;
use isopel_conformance::corpus;
use isopel_conformance::tolerance::slack;
use isopel_core::{DecodeOptions, Image, Strictness};

fn decode(backend: &dyn ConformanceBackend, jpeg: &[u8]) -> Image {
    backend.decode(jpeg, &DecodeOptions::default()).unwrap()
}

fn find(jpeg: &[u8], bytes: &[u8]) -> usize {
    jpeg.windows(bytes.len()).position(|window| window == bytes).expect("the file has these bytes")
}

/// Only the first 64 warnings are kept. Damage after them was forgotten, and the report called the picture whole.
#[test]
fn damage_after_many_warnings_is_still_damage() {
    let jpeg = corpus::hazard("container-base-420.jpg").unwrap();
    let mut many = jpeg[..2].to_vec();
    for _ in 0..70 {
        many.extend_from_slice(&[0x00, 0xFF, 0xFE, 0x00, 0x02]); // a stray byte and an empty comment
    }
    many.extend_from_slice(&jpeg[2..jpeg.len() * 6 / 10]);
    for backend in backends::present() {
        let image = decode(&*backend, &many);
        assert!(image.report.valid_rows < 37);
        assert!(image.report.is_damaged(), "{:?}", image.report.warnings.last());
        let strict = backend.decode(&many, &DecodeOptions::default().strictness(Strictness::Strict));
        assert_eq!(strict.unwrap_err().code(), "damaged");
    }
}

/// Data left over after the last MCU was only noticed up to the next restart marker.
#[test]
fn restart_intervals_after_the_last_mcu_are_noticed() {
    let jpeg = corpus::hazard("restart-dri1.jpg").unwrap();
    let eoi = jpeg.len() - 2;
    let last_restart = jpeg.windows(2).rposition(|bytes| bytes[0] == 0xFF && (0xD0..=0xD7).contains(&bytes[1]));
    let number = jpeg[last_restart.unwrap() + 1] & 7;
    let mut extra = jpeg[..eoi].to_vec();
    extra.extend_from_slice(&[0xFF, 0xD0 | (number + 1) & 7]);
    extra.extend_from_slice(&[0x12; 40]);
    extra.extend_from_slice(&jpeg[eoi..]);
    for backend in backends::present() {
        let (image, plain) = (decode(&*backend, &extra), decode(&*backend, &jpeg));
        let difference = compare_images(&image, &plain).unwrap();
        assert!(difference.max <= slack(backend.name(), &[&image, &plain]).unwrap(), "{difference:?}");
        assert!(!image.report.warnings.is_empty(), "40 bytes of scan data were left over");
    }
}

/// The frame header's height may be 0 and be defined after the first scan (T.81 B.2.5), which libjpeg refuses.
#[test]
fn a_height_defined_by_dnl_gives_the_same_pixels() {
    for file in ["container-base-420.jpg", "coding-progressive-420.jpg", "coding-noninterleaved-420.jpg"] {
        let jpeg = corpus::hazard(file).unwrap();
        let sof = find(&jpeg, &[0x00, 0x11, 0x08, 0x00, 37, 0x00, 45, 3]);
        let first_scan = find(&jpeg, &[0xFF, 0xDA]);
        let after_header = first_scan + 2 + usize::from(jpeg[first_scan + 3]);
        let data_len = jpeg[after_header..].windows(2).position(|bytes| bytes[0] == 0xFF && bytes[1] != 0).unwrap();
        let mut with_dnl = jpeg.clone();
        with_dnl[sof + 4] = 0;
        let end = after_header + data_len;
        with_dnl.splice(end..end, [0xFF, 0xDC, 0x00, 0x04, 0x00, 37]);
        for backend in backends::present() {
            let (dnl, plain) = (decode(&*backend, &with_dnl), decode(&*backend, &jpeg));
            assert_eq!(dnl.report.layout, plain.report.layout, "{file}");
            assert!(dnl.pixels == plain.pixels, "{file}");
            assert_eq!(dnl.report.warnings, plain.report.warnings, "{file}");
        }
    }
}
