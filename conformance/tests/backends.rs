//! Every file of the corpus on every backend: libjpeg-turbo's pixels, warnings where they are due, and errors of
//! the right kind.

use std::sync::Arc;

use isopel_conformance::backends::{self, ConformanceBackend, on_cpu};
use isopel_conformance::compare::{compare_images, compare_outcomes};
use isopel_conformance::corpus::{self, Expected, GoldenRow, HazardRow};
use isopel_conformance::random::{self, Random};
use isopel_conformance::tolerance::{check_golden, slack, tolerance};
use isopel_core::{
    Codestream, DecodeOptions, DisplayRect, Error, FormatRequest, Image, Limits, Orientation, OrientationPolicy,
    PixelFormat, Strictness,
};
use rayon::prelude::*;

/// Where INDEX.tsv leaves the choice: what isopel does, and why.
const CHOICES: &[(&str, Choice, &str)] = &[
    (
        "tables-all-ones-code.jpg",
        Choice::Error("bad-huffman-table"),
        "T.81 C.2 reserves the code of all ones, and libjpeg-turbo refuses such a table",
    ),
    (
        "coding-scan-order-cr-cb-y-interleaved.jpg",
        Choice::Error("bad-component"),
        "T.81 B.2.3 wants the frame's order, and libjpeg-turbo refuses another",
    ),
    (
        "coding-progressive-ac-before-dc.jpg",
        Choice::DecodedWithWarning,
        "libjpeg-turbo decodes it with a warning; what is there can be shown",
    ),
    (
        "coding-progressive-dup-scan.jpg",
        Choice::DecodedWithWarning,
        "libjpeg-turbo decodes it with a warning; the pixels are whole",
    ),
    ("coding-arithmetic-seq.jpg", Choice::Error("unsupported-arithmetic"), "arithmetic coding is not built yet"),
];

#[derive(Debug, Clone, Copy)]
enum Choice {
    Error(&'static str),
    DecodedWithWarning,
}

/// Files whose expected result is `ok` and that are right to come with a warning.
const WARNED_ALTHOUGH_OK: &[(&str, &str)] = &[
    ("colour-icc-chunk-missing.jpg", "its note asks for a warning: there is no whole profile"),
    ("colour-icc-seq-0-of-0.jpg", "the profile's segments count from 1, so there is no whole profile"),
];

fn source(strictness: Strictness) -> DecodeOptions {
    DecodeOptions::default().format(FormatRequest::Source).orientation(OrientationPolicy::Ignore).strictness(strictness)
}

/// Checks pixels against a hash of exact ones, within the tolerance of their route.
fn check_pixels(
    backend: &dyn ConformanceBackend,
    name: &str,
    jpeg: &[u8],
    options: &DecodeOptions,
    image: &Image,
    golden: &str,
) {
    check_golden(backend.name(), jpeg, options, image, golden)
        .unwrap_or_else(|error| panic!("{name} on {}, {}: {error}", backend.name(), image.report.layout.format()));
}

fn for_each<R: Sync>(rows: &[R], check: impl Fn(&dyn ConformanceBackend, &R) + Sync) {
    for backend in backends::present() {
        rows.par_iter().for_each(|row| check(&*backend, row));
    }
}

#[test]
fn source_pixels_are_those_of_libjpeg_turbo() {
    let rows = corpus::decodable(u64::MAX).unwrap();
    assert!(rows.len() > 150, "{} rows", rows.len());
    for_each(&rows, |backend, (row, jpeg): &(GoldenRow, Vec<u8>)| {
        let options = source(Strictness::Lenient);
        let image = backend.decode(jpeg, &options).unwrap_or_else(|error| panic!("{}: {error}", row.path));
        assert_eq!(image.report.layout.format().name(), row.format, "{}", row.path);
        assert_eq!((image.size().width, image.size().height), (row.width, row.height), "{}", row.path);
        check_pixels(backend, &row.path, jpeg, &options, &image, row.pixels_sha256.as_ref().unwrap());
        // Where libjpeg sees damage, so must we; we may see more than it does.
        let has_warning = !image.report.warnings.is_empty();
        assert!(row.warnings == 0 || has_warning, "{}: libjpeg warns {:?}", row.path, row.message);
    });
}

#[test]
fn hazards_end_as_the_index_says() {
    let rows = corpus::hazard_rows().unwrap();
    assert_eq!(rows.len(), 169);
    for_each(&rows, |backend, row| {
        let jpeg = row.bytes().unwrap();
        let result = backend.decode(&jpeg, &source(Strictness::Lenient));
        check_expected(row, &row.expected, &result);
        let strict = backend.decode(&jpeg, &source(Strictness::Strict));
        check_strict(row, &result, &strict);
    });
}

fn check_expected(row: &HazardRow, expected: &Expected, result: &Result<Image, Error>) {
    let name = &row.file;
    let image = || result.as_ref().unwrap_or_else(|error| panic!("{name}: {error}"));
    match expected {
        Expected::Ok => {
            let warnings = &image().report.warnings;
            let allowed = WARNED_ALTHOUGH_OK.iter().any(|(file, _)| file == name);
            assert_eq!(!warnings.is_empty(), allowed, "{name}: {warnings:?}");
        }
        Expected::OkWithWarning => assert!(!image().report.warnings.is_empty(), "{name}: no warning"),
        Expected::Partial => {
            let image = image();
            let size = image.size();
            let bytes = size.pixels() as usize * image.report.layout.format().bytes_per_pixel();
            assert_eq!(image.pixels.len(), bytes, "{name}");
            if !row.djpeg_text.is_empty() {
                assert!(!image.report.warnings.is_empty(), "{name}: libjpeg says {:?}, we nothing", row.djpeg_text);
            }
        }
        Expected::Error(code) => {
            let error = result.as_ref().err().unwrap_or_else(|| panic!("{name}: decoded, expected {code}"));
            let as_named = error.code() == code || (code == "limit" && error.code().starts_with("limit-"));
            assert!(as_named, "{name}: {}, expected {code} ({error})", error.code());
        }
        Expected::OkOrLimit => {
            if let Err(error) = result {
                assert!(error.code().starts_with("limit-"), "{name}: {error}");
            }
        }
        Expected::Policy => {
            let choice = CHOICES.iter().find(|(file, ..)| file == name);
            match choice.unwrap_or_else(|| panic!("{name}: no choice stated")).1 {
                Choice::Error(code) => check_expected(row, &Expected::Error(code.to_owned()), result),
                Choice::DecodedWithWarning => check_expected(row, &Expected::OkWithWarning, result),
            }
        }
    }
}

/// Strict decoding gives an error for damage, and else the same as lenient decoding.
fn check_strict(row: &HazardRow, lenient: &Result<Image, Error>, strict: &Result<Image, Error>) {
    let name = &row.file;
    match lenient {
        Err(error) => assert_eq!(strict.as_ref().err(), Some(error), "{name}"),
        Ok(image) if image.report.is_damaged() => {
            let error = strict.as_ref().err().unwrap_or_else(|| panic!("{name}: strict decoding took damage"));
            assert_eq!(error.code(), "damaged", "{name}: {error}");
        }
        Ok(image) => assert_eq!(strict.as_ref().ok(), Some(image), "{name}"),
    }
    if row.expected == Expected::Partial && !row.djpeg_text.is_empty() {
        assert!(strict.is_err(), "{name}: libjpeg says {:?}, strict decoding nothing", row.djpeg_text);
    }
    let whole = matches!(row.expected, Expected::Ok | Expected::OkWithWarning);
    // An encoder that writes junk before a restart marker loses nothing, but nobody can tell.
    if whole && name != "restart-extra-bytes-before-rst.jpg" {
        assert!(strict.is_ok(), "{name}: strict decoding refuses a whole image: {strict:?}");
    }
}

#[test]
fn djpeg_pixels_as_stored_and_as_shown() {
    let rows = corpus::hazard_rows().unwrap();
    for_each(&rows, |backend, row| {
        let (Some(stored), Some(shown)) = (&row.djpeg_sha256, &row.display_sha256) else { return };
        if corpus::NOT_DECODED.contains(&row.file.as_str()) {
            return;
        }
        let jpeg = row.bytes().unwrap();
        let format = if row.channels == Some(1) { PixelFormat::Gray8 } else { PixelFormat::Rgb8 };
        for (policy, golden) in [(OrientationPolicy::Ignore, stored), (OrientationPolicy::Apply, shown)] {
            let options = DecodeOptions::default().format(format).orientation(policy);
            let image = backend.decode(&jpeg, &options).unwrap_or_else(|error| panic!("{}: {error}", row.file));
            check_pixels(backend, &row.file, &jpeg, &options, &image, golden);
        }
        if let Some(golden) = &row.cmyk_sha256 {
            let options = DecodeOptions::default().format(PixelFormat::Cmyk8).orientation(OrientationPolicy::Ignore);
            let image = backend.decode(&jpeg, &options).unwrap_or_else(|error| panic!("{}: {error}", row.file));
            check_pixels(backend, &row.file, &jpeg, &options, &image, golden);
        }
    });
}

#[test]
fn twins_have_equal_pixels() {
    let rows = corpus::hazard_rows().unwrap();
    let twins: Vec<_> = rows.iter().filter(|row| row.must_equal.is_some()).collect();
    assert!(twins.len() > 50, "{} twins", twins.len());
    for_each(&twins, |backend, row| {
        if corpus::NOT_DECODED.contains(&row.file.as_str()) {
            return;
        }
        let twin = corpus::hazard(row.must_equal.as_ref().unwrap()).unwrap();
        let decode = |jpeg: &[u8]| backend.decode(jpeg, &source(Strictness::Lenient)).unwrap();
        let (image, twin) = (decode(&row.bytes().unwrap()), decode(&twin));
        let difference = compare_images(&image, &twin).unwrap();
        // On the same route the same pixels; on two, within both their tolerances.
        let same_route = image.report.route == twin.report.route;
        let allowed = if same_route { 0 } else { slack(backend.name(), &[&image, &twin]).unwrap() };
        assert!(difference.max <= allowed, "{} on {}: {difference:?}", row.file, backend.name());
    });
}

/// All backends against the CPU: all files, orientations and formats, wholes and regions, in batches of several
/// sizes. Reports and errors are the same, and so are pixels within the tolerance of their route.
#[test]
fn backends_are_the_cpus_equals() {
    let seed = random::seed(0xE9A1);
    for backend in backends::present().into_iter().filter(|backend| backend.name() != "cpu") {
        let budget = backend.budget();
        let mut random = Random::new(seed);
        let mut cases = Vec::new();
        for (name, jpeg) in files_for_equality(budget.pixels) {
            for format in PixelFormat::ALL {
                for orientation in Orientation::ALL {
                    let whole =
                        DecodeOptions::default().format(format).orientation(OrientationPolicy::Set(orientation));
                    let start = |random: &mut Random| random.below_u32(20);
                    let length = |random: &mut Random| 1 + random.below_u32(30);
                    let (x, y, width, height) =
                        (start(&mut random), start(&mut random), length(&mut random), length(&mut random));
                    // Some lie outside, and then both must say so.
                    let region = whole.region(DisplayRect::new(x, y, width, height));
                    cases.extend([whole, region].map(|options| (name.clone(), (jpeg.clone(), options))));
                }
            }
        }
        let cases = random.pick(cases, budget.cases);
        println!("{}: {} cases", backend.name(), cases.len());
        let mut rest = &cases[..];
        for size in [1, 3, 64].into_iter().cycle() {
            let (batch, later) = rest.split_at(size.min(rest.len()));
            if batch.is_empty() {
                break;
            }
            let requests: Vec<_> = batch.iter().map(|(_, request)| request.clone()).collect();
            for ((name, (jpeg, options)), found) in batch.iter().zip(backend.decode_batch(&requests)) {
                compare_with_cpu(&*backend, &on_cpu(jpeg, options), &found).unwrap_or_else(|error| {
                    panic!("{name} with {options:?} on {}, in a batch of {size}: {error}", backend.name())
                });
            }
            rest = later;
        }
    }
}

fn compare_with_cpu(
    backend: &dyn ConformanceBackend,
    exact: &Result<Image, Error>,
    found: &Result<Image, Error>,
) -> Result<(), String> {
    let (Ok(exact_image), Ok(image)) = (exact, found) else { return compare_outcomes(exact, found) };
    let row = tolerance(backend.name(), &image.report.route.to_string()).map_err(|error| error.to_string())?;
    let difference = compare_images(exact_image, image).map_err(|error| error.to_string())?;
    row.check(difference).map_err(|error| error.to_string())?;
    // With the pixels seen to, all else has to be the same.
    let mut image = image.clone();
    image.pixels.clone_from(&exact_image.pixels);
    compare_outcomes(exact, &Ok(image))
}

/// Whole files, files cut off, and the file of extreme coefficients once more than its turn.
fn files_for_equality(max_pixels: u64) -> Vec<(String, Arc<[u8]>)> {
    let mut files = Vec::new();
    for (row, jpeg) in corpus::decodable_shared(max_pixels).unwrap() {
        if row.path.contains("/generated/") {
            files.push((format!("{} cut off", row.path), jpeg[..jpeg.len() * 2 / 3].into()));
        }
        if row.name() == "damage-extreme-coefs.jpg" {
            files.extend((0..4).map(|_| (row.path.clone(), jpeg.clone())));
        }
        files.push((row.path, jpeg));
    }
    assert!(files.iter().any(|(name, _)| name.ends_with("damage-extreme-coefs.jpg")));
    files
}

#[test]
fn exif_orientation_is_the_one_in_the_index() {
    for row in corpus::hazard_rows().unwrap() {
        let jpeg = row.bytes().unwrap();
        if let Ok(codestream) = Codestream::parse(&jpeg, &Limits::default()) {
            assert_eq!(codestream.orientation().to_exif(), row.exif_orientation, "{}: {}", row.file, row.note);
        }
    }
}

/// Only where the two libraries' own tables contradict each other could both tests above pass on wrong rows.
#[test]
fn manifest_and_index_agree() {
    let golden = corpus::golden_rows().unwrap();
    for row in corpus::hazard_rows().unwrap() {
        let path = format!("conformance/corpus/hazards/{}", row.file);
        let manifest = golden.iter().find(|golden| golden.path == path).unwrap();
        if let (Some(index), Some(manifest_sha)) = (&row.djpeg_sha256, &manifest.pixels_sha256) {
            match manifest.format.as_str() {
                "cmyk8" => assert_eq!(row.cmyk_sha256.as_ref(), Some(manifest_sha), "{path}"),
                _ => assert_eq!(index, manifest_sha, "{path}"),
            }
        }
    }
}
