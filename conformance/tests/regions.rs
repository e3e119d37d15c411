//! A region's pixels are the crop of the whole picture's, to the byte, in both coordinate spaces, all
//! orientations, all formats, at full size and smaller, on every backend.

use std::sync::Arc;

use isopel_conformance::backends::{self, ConformanceBackend};
use isopel_conformance::corpus;
use isopel_conformance::naive::{self, Picture};
use isopel_conformance::random::{self, Random};
use isopel_conformance::tolerance::check_golden;
use isopel_core::{
    Codestream, DecodeOptions, DisplayRect, Error, Image, Limits, MisuseError, Orientation, OrientationPolicy,
    PixelFormat, Rect, Region, RegionError, Scale, Size, Space, StoredRect,
};
use rayon::prelude::*;

#[test]
fn listed_crops_have_the_listed_hashes() {
    let rows = corpus::crop_rows().unwrap();
    assert!(rows.len() > 190, "{} rows", rows.len());
    for backend in backends::present() {
        for row in &rows {
            let jpeg = corpus::hazard(&row.file).unwrap();
            let codestream = Codestream::parse(&jpeg, &Limits::default()).unwrap();
            let display = codestream.display_size();
            assert_eq!((display.width, display.height), row.display_size, "{}", row.file);
            let [x, y, width, height] = row.rect;
            let format = if row.channels == 1 { PixelFormat::Gray8 } else { PixelFormat::Rgb8 };
            let options = DecodeOptions::default().format(format).region(DisplayRect::new(x, y, width, height));
            let image = backend.decode(&jpeg, &options).unwrap();
            check_golden(backend.name(), &jpeg, &options, &image, &row.sha256)
                .unwrap_or_else(|error| panic!("{} {:?} on {}: {error}", row.file, row.rect, backend.name()));
        }
    }
}

/// A file to cut regions from.
struct Subject {
    name: String,
    jpeg: Arc<[u8]>,
    /// Random rectangles per orientation and space, besides the fixed ones.
    random_rects: usize,
}

/// The generated files with many rectangles, all hazards with few, and damaged ones: progressive files cut off,
/// whose missing coefficients are guessed from neighbours, and restart intervals that are not there.
fn subjects() -> Vec<Subject> {
    let mut subjects = Vec::new();
    for (row, jpeg) in corpus::decodable_shared(200 * 200).unwrap() {
        let generated = row.path.contains("/generated/");
        if generated {
            for percent in [35, 70] {
                let cut = jpeg[..jpeg.len() * percent / 100].into();
                let name = format!("{} cut to {percent} %", row.name());
                subjects.push(Subject { name, jpeg: cut, random_rects: 1 });
            }
        }
        let name = row.name().to_owned();
        subjects.push(Subject { name, jpeg, random_rects: if generated { 8 } else { 1 } });
    }
    assert!(subjects.len() > 200, "{} subjects", subjects.len());
    subjects
}

/// Corners, edges, lines on both sides of MCU boundaries, and random rectangles.
fn rects(size: Size, mcu: (u32, u32), random_rects: usize, random: &mut Random) -> Vec<Rect> {
    let Size { width, height } = size;
    let mut rects = vec![
        Rect::new(0, 0, width, height),
        Rect::new(0, 0, 1, 1),
        Rect::new(width - 1, 0, 1, 1),
        Rect::new(0, height - 1, 1, 1),
        Rect::new(width - 1, height - 1, 1, 1),
        Rect::new(0, random.below_u32(height), width, 1),
        Rect::new(random.below_u32(width), 0, 1, height),
        Rect::new(width - 1, 0, 1, height),
        Rect::new(0, height - 1, width, 1),
    ];
    // One pixel before, at and after a boundary, in x, y and both.
    for offset in [0, 1, 2] {
        let near = |mcu: u32, length: u32, random: &mut Random| {
            let boundary = mcu * (1 + random.below_u32(length.div_ceil(mcu)));
            (boundary + offset).saturating_sub(1).min(length - 1)
        };
        let (x, y) = (near(mcu.0, width, random), near(mcu.1, height, random));
        rects.push(Rect::new(x, y, width - x, height - y));
        rects.push(Rect::new(0, 0, x + 1, y + 1));
        rects.push(Rect::new(x, y, 1, 1));
    }
    for _ in 0..random_rects {
        let (x, y) = (random.below_u32(width), random.below_u32(height));
        rects.push(Rect::new(x, y, 1 + random.below_u32(width - x), 1 + random.below_u32(height - y)));
    }
    rects
}

#[test]
fn regions_are_crops_of_the_whole() {
    let seed = random::seed(0x1507E1);
    let subjects = subjects();
    for backend in backends::present() {
        let regions: usize = subjects
            .par_iter()
            .map(|subject| {
                let most = backend.budget().per_file(2 * subjects.len());
                let scale = Scale::ALL[1 + Random::for_name(seed, &subject.name).below(3)];
                let check = |scale| check_subject(&*backend, subject, scale, seed, most);
                check(Scale::Full) + check(scale)
            })
            .sum();
        println!("{}: {regions} regions of {} files", backend.name(), subjects.len());
    }
}

fn check_subject(backend: &dyn ConformanceBackend, subject: &Subject, scale: Scale, seed: u64, most: usize) -> usize {
    let Ok(codestream) = Codestream::parse(&subject.jpeg, &Limits::default()) else {
        assert!(subject.name.contains("cut to"), "{}", subject.name);
        return 0;
    };
    let frame = codestream.frame();
    let (size, max, block) = (scale.of(frame.size), frame.max_sampling(), 8 / scale.denominator());
    let mcu = (block * u32::from(max.horizontal), block * u32::from(max.vertical));
    let sampling: Vec<(u32, u32)> = frame
        .components
        .iter()
        .map(|component| (component.sampling.horizontal.into(), component.sampling.vertical.into()))
        .collect();
    let mut random = Random::for_name(seed, &subject.name);
    let whole = |format| DecodeOptions::default().format(format).scale(scale).orientation(OrientationPolicy::Ignore);
    let fulls = backend.decode_all(&PixelFormat::ALL.map(|format| (subject.jpeg.clone(), whole(format))));
    let mut cases = Vec::new();
    for (format, full) in PixelFormat::ALL.into_iter().zip(&fulls) {
        let full = match full {
            Ok(full) => full,
            Err(error) => {
                let impossible = format == PixelFormat::Cmyk8 && sampling.len() < 4;
                assert!(impossible, "{} as {format}: {error}", subject.name);
                continue;
            }
        };
        for orientation in Orientation::ALL {
            let exif = orientation.to_exif();
            let (shown_width, shown_height) = naive::shown_size(exif, size.width, size.height);
            let shown_mcu = if exif >= 5 { (mcu.1, mcu.0) } else { mcu };
            let shown = rects(Size::new(shown_width, shown_height), shown_mcu, subject.random_rects, &mut random);
            let shown = shown.into_iter().map(|rect| {
                (Region::from(DisplayRect::from_rect(rect)), naive::stored_rect(exif, rect, size.width, size.height))
            });
            let stored = rects(size, mcu, subject.random_rects, &mut random);
            let stored = stored.into_iter().map(|rect| (Region::from(StoredRect::from_rect(rect)), rect));
            for (region, rect) in shown.chain(stored) {
                let options = whole(format).orientation(OrientationPolicy::Set(orientation)).region(region);
                cases.push(Case { full, orientation, rect, options });
            }
        }
    }
    let cases = random.pick(cases, most);
    for cases in cases.chunks(64) {
        let requests: Vec<_> = cases.iter().map(|case| (subject.jpeg.clone(), case.options)).collect();
        for (case, image) in cases.iter().zip(backend.decode_all(&requests)) {
            let image = image.unwrap();
            let expected = naive::expected_planes(case.full, case.rect, case.orientation.to_exif(), &sampling);
            check_image(&image, &expected, || {
                format!("{} with {:?} on {}", subject.name, case.options, backend.name())
            });
            assert_eq!(image.report.region.rect(), case.rect);
            assert_eq!(image.report.orientation, case.orientation);
        }
    }
    cases.len()
}

/// A region to decode.
struct Case<'f> {
    /// The whole picture as stored.
    full: &'f Image,
    orientation: Orientation,
    /// The region in stored coordinates.
    rect: Rect,
    options: DecodeOptions,
}

fn check_image(image: &Image, expected: &[Picture], what: impl Fn() -> String) {
    let planes = Picture::planes(image);
    assert_eq!(planes.len(), expected.len(), "{}", what());
    for (index, (plane, expected)) in planes.iter().zip(expected).enumerate() {
        assert_eq!((plane.width, plane.height), (expected.width, expected.height), "{}, plane {index}", what());
        if let Some(at) = plane.bytes.iter().zip(&expected.bytes).position(|(found, expected)| found != expected) {
            let pixel = at / plane.depth;
            let (x, y) = (pixel % plane.width as usize, pixel / plane.width as usize);
            panic!("{}: plane {index} differs first at ({x}, {y})", what());
        }
    }
}

/// How many rows are intact is told per region, as the whole picture's count cut to it.
#[test]
fn valid_rows_of_a_region_are_those_of_the_whole() {
    let jpeg = corpus::hazard("damage-truncated-50.jpg").unwrap();
    for backend in backends::present() {
        let valid_rows = |region: Region| {
            let options = DecodeOptions::default().region(region);
            backend.decode(&jpeg, &options).unwrap().report.valid_rows
        };
        let whole = valid_rows(Region::Full);
        assert!(whole > 0 && whole < 37, "{whole}");
        for (y, height) in [(0, 37), (0, 1), (0, whole), (5, 20), (whole, 37 - whole), (36, 1)] {
            let expected = whole.saturating_sub(y).min(height);
            let found = valid_rows(StoredRect::new(0, y, 45, height).into());
            // A region that ends before the damage can't know of it, and has all its rows.
            assert_eq!(found, expected, "rows {y} to {}", y + height);
        }
    }
}

#[test]
fn empty_and_outside_regions_are_typed_errors() {
    let jpeg = corpus::hazard("orient-6-420.jpg").unwrap(); // stored 42x26, shown 26x42
    let max = u32::MAX;
    let stored = |x, y, width, height| (Region::from(StoredRect::new(x, y, width, height)), Space::Stored);
    let shown = |x, y, width, height| (Region::from(DisplayRect::new(x, y, width, height)), Space::Display);
    let empty = [stored(0, 0, 0, 5), stored(0, 0, 5, 0), shown(3, 3, 0, 0), shown(max, max, 0, 1)];
    let outside = [
        stored(0, 0, 43, 26),
        stored(0, 0, 42, 27),
        stored(42, 0, 1, 1),
        stored(0, 26, 1, 1),
        stored(1, 0, 42, 1),
        stored(max, 0, 1, 1),
        stored(max, max, max, max),
        stored(1, 1, max, 1),
        shown(0, 0, 42, 26),
        shown(26, 0, 1, 1),
        shown(0, 42, 1, 1),
        shown(25, 41, 2, 1),
        shown(2, 2, max, max),
        shown(max, max, 1, 1),
    ];
    for backend in backends::present() {
        for (region, space) in empty {
            match backend.decode(&jpeg, &DecodeOptions::default().region(region)) {
                Err(Error::Misuse(MisuseError::Region(RegionError::Empty { space: found, .. }))) => {
                    assert_eq!(found, space, "{region:?}");
                }
                other => panic!("{region:?}: {other:?}"),
            }
        }
        for (region, space) in outside {
            let result = backend.decode(&jpeg, &DecodeOptions::default().region(region));
            match &result {
                Err(Error::Misuse(MisuseError::Region(RegionError::OutOfBounds { space: found, bounds, .. }))) => {
                    assert_eq!(*found, space, "{region:?}");
                    let size = if space == Space::Stored { Size::new(42, 26) } else { Size::new(26, 42) };
                    assert_eq!(*bounds, size, "{region:?}");
                }
                other => panic!("{region:?}: {other:?}"),
            }
            assert_eq!(result.unwrap_err().code(), "region-out-of-bounds");
        }
    }
}
