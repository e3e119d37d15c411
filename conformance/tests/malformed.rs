//! No file panics, hangs or costs more than its limits: what comes back is a picture of full size or a typed
//! error.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use isopel_conformance::backends::{self, ConformanceBackend};
use isopel_conformance::corpus;
use isopel_conformance::naive::Picture;
use isopel_conformance::random::{self, Random};
use isopel_core::{
    Codestream, DecodeOptions, DecodePlan, Error, Image, LimitError, Limits, OrientationPolicy, PixelFormat, Rect,
    StoredRect, Strictness, cpu,
};
use rayon::prelude::*;

/// Keeps a mutated size from making one test out of 200 take as long as all others.
fn small_limits() -> Limits {
    Limits { max_pixels: 1 << 18, max_work: 1 << 18, ..Limits::default() }
}

fn options(strictness: Strictness) -> DecodeOptions {
    DecodeOptions::default().strictness(strictness).limits(small_limits())
}

/// Collects what went wrong, so that one run names all bad files.
#[derive(Default)]
struct Failures(Mutex<Vec<String>>);

impl Failures {
    fn push(&self, failure: String) {
        self.0.lock().unwrap().push(failure);
    }

    fn assert_none(self) {
        let failures = self.0.into_inner().unwrap();
        let shown: Vec<&str> = failures.iter().take(20).map(String::as_str).collect();
        assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), shown.join("\n"));
    }
}

/// Decodes files leniently and strictly, and checks what every file must keep to. `name` tells which file it was.
fn check(backend: &dyn ConformanceBackend, files: Vec<Arc<[u8]>>, name: impl Fn(usize) -> String, failures: &Failures) {
    let requests: Vec<_> = files
        .iter()
        .flat_map(|jpeg| {
            [Strictness::Lenient, Strictness::Strict].map(|strictness| (jpeg.clone(), options(strictness)))
        })
        .collect();
    let decode_all = |requests| catch_unwind(AssertUnwindSafe(|| backend.decode_all(requests)));
    // After a panic, one by one, to find the file.
    let results = decode_all(&requests).unwrap_or_else(|_| {
        let one_by_one = requests.chunks(2).enumerate().flat_map(|(index, pair)| {
            decode_all(pair).unwrap_or_else(|_| {
                failures.push(format!("{} on {}: panicked", name(index), backend.name()));
                vec![Err(Error::Internal(String::new())), Err(Error::Internal(String::new()))]
            })
        });
        one_by_one.collect()
    });
    for (index, (jpeg, results)) in files.iter().zip(results.chunks(2)).enumerate() {
        if let Err(problem) = contract(jpeg, &results[0], &results[1]) {
            failures.push(format!("{} on {}: {problem}", name(index), backend.name()));
        }
    }
}

fn contract(jpeg: &[u8], lenient: &Result<Image, Error>, strict: &Result<Image, Error>) -> Result<(), &'static str> {
    match lenient {
        Ok(image) => {
            let size = Codestream::parse(jpeg, &small_limits()).map_err(|_| "no codestream")?.display_size();
            if image.size() != size || image.pixels.len() as u64 != 3 * size.pixels() {
                return Err("the picture does not have its full size");
            }
            if image.report.valid_rows > image.report.region.rect().height {
                return Err("more valid rows than rows");
            }
            match strict {
                Ok(strict) if image.report.is_damaged() || strict != image => Err("strict decoding took damage"),
                Err(error) if !image.report.is_damaged() || error.code() != "damaged" => Err("strict differs"),
                _ => Ok(()),
            }
        }
        Err(error) if error.to_string().is_empty() => Err("an error without a message"),
        Err(error) if error.offset().is_some_and(|offset| offset > jpeg.len()) => Err("an offset outside the file"),
        Err(error) if strict.as_ref().err() == Some(error) => Ok(()),
        // Damage of the header's may be found before what makes lenient decoding fail.
        Err(_) if matches!(strict, Err(Error::Damaged(_))) => Ok(()),
        Err(_) => Err("strict decoding took what lenient decoding refuses"),
    }
}

fn files() -> Vec<(String, Vec<u8>)> {
    let hazards = corpus::hazard_rows().unwrap().into_iter().map(|row| {
        let bytes = row.bytes().unwrap();
        (row.file, bytes)
    });
    let generated = corpus::decodable(200 * 200).unwrap().into_iter();
    let generated = generated.filter(|(row, _)| row.path.contains("/generated/"));
    hazards.chain(generated.map(|(row, bytes)| (row.path, bytes))).collect()
}

#[test]
fn truncated_files() {
    let seed = random::seed(1);
    let failures = Failures::default();
    for backend in backends::present() {
        let files = files();
        let most = backend.budget().per_file(files.len());
        files.par_iter().for_each(|(name, jpeg)| {
            let mut random = Random::for_name(seed, name);
            let cuts: Vec<usize> = if jpeg.len() < 1500 {
                (0..jpeg.len()).collect()
            } else {
                (0..200).map(|_| random.below(jpeg.len())).collect()
            };
            let cuts = random.pick(cuts, most);
            let cut_files = cuts.iter().map(|&cut| jpeg[..cut].into()).collect();
            check(&*backend, cut_files, |index| format!("{name} cut to {} bytes", cuts[index]), &failures);
        });
    }
    failures.assert_none();
}

#[test]
fn mutated_files() {
    let seed = random::seed(2);
    let failures = Failures::default();
    for backend in backends::present() {
        let files = files();
        let rounds = backend.budget().per_file(files.len()).min(200) as u64;
        files.par_iter().filter(|(_, jpeg)| !jpeg.is_empty()).for_each(|(name, jpeg)| {
            let mutated = (0..rounds).map(|round| {
                let mut random = Random::for_name(seed.wrapping_add(round), name);
                mutate(jpeg, &mut random).into()
            });
            check(&*backend, mutated.collect(), |round| format!("{name}, seed {seed}, round {round}"), &failures);
        });
    }
    failures.assert_none();
}

/// Changes one to eight places: other bytes, flipped bits, markers, removed and repeated pieces.
fn mutate(jpeg: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = jpeg.to_vec();
    for _ in 0..1 + random.below(8) {
        let at = random.below(bytes.len());
        match random.below(6) {
            0 => bytes[at] = random.byte(),
            1 => bytes[at] ^= 1 << random.below(8),
            2 => bytes[at] = [0x00, 0x01, 0x7F, 0x80, 0xFE, 0xFF][random.below(6)],
            3 if at + 1 < bytes.len() => {
                bytes[at] = 0xFF;
                bytes[at + 1] = 0xC0 | random.byte();
            }
            4 if bytes.len() > 16 => {
                let end = (at + 1 + random.below(8)).min(bytes.len());
                bytes.drain(at..end);
            }
            _ => {
                let end = (at + 1 + random.below(32)).min(bytes.len());
                let piece = bytes[at..end].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, piece);
            }
        }
    }
    bytes
}

/// A mutated file's region is still the crop of its whole, or both fail.
#[test]
fn regions_of_mutated_files_are_crops() {
    let seed = random::seed(3);
    let failures = Failures::default();
    for backend in backends::present() {
        let files = corpus::decodable(200 * 200).unwrap();
        let rounds = backend.budget().per_file(files.len()).min(60) as u64;
        files.par_iter().for_each(|(row, jpeg)| {
            let verdict = catch_unwind(AssertUnwindSafe(|| {
                let wrong = regions_that_are_no_crops(&*backend, jpeg, &row.path, seed, rounds);
                for round in wrong {
                    failures.push(format!("{}, seed {seed}, round {round}: not the crop", row.path));
                }
            }));
            if verdict.is_err() {
                failures.push(format!("{}, seed {seed}: panicked", row.path));
            }
        });
    }
    failures.assert_none();
}

/// Decodes a random region of each of `rounds` mutations of a file; tells the rounds that went wrong.
fn regions_that_are_no_crops(
    backend: &dyn ConformanceBackend,
    jpeg: &[u8],
    name: &str,
    seed: u64,
    rounds: u64,
) -> Vec<usize> {
    let options = options(Strictness::Lenient).orientation(OrientationPolicy::Ignore);
    let mut randoms: Vec<Random> = (0..rounds).map(|round| Random::for_name(seed.wrapping_add(round), name)).collect();
    let wholes: Vec<_> = randoms.iter_mut().map(|random| (Arc::from(mutate(jpeg, random)), options)).collect();
    let (mut regions, mut expected) = (Vec::new(), Vec::new());
    for (round, full) in backend.decode_all(&wholes).into_iter().enumerate() {
        let (Ok(full), random) = (full, &mut randoms[round]) else { continue };
        let size = full.size();
        let (x, y) = (random.below_u32(size.width), random.below_u32(size.height));
        let rect = Rect::new(x, y, 1 + random.below_u32(size.width - x), 1 + random.below_u32(size.height - y));
        regions.push((wholes[round].0.clone(), options.region(StoredRect::from_rect(rect))));
        expected.push((round, Picture::planes(&full)[0].crop(rect)));
    }
    let found = backend.decode_all(&regions);
    let wrong = expected.into_iter().zip(found).filter(|((_, crop), found)| match found {
        Ok(image) => Picture::planes(image)[0] != *crop,
        Err(_) => true,
    });
    wrong.map(|((round, _), _)| round).collect()
}

#[test]
fn bombs_are_refused_or_decoded_exactly() {
    for backend in backends::present() {
        for row in corpus::hazard_rows().unwrap().iter().filter(|row| row.file.starts_with("bomb-")) {
            let jpeg = row.bytes().unwrap();
            let started = Instant::now();
            let result = backend.decode(&jpeg, &DecodeOptions::default().format(PixelFormat::Gray8));
            let (elapsed, name) = (started.elapsed(), &row.file);
            match result {
                Ok(image) => {
                    let sha256 = isopel_conformance::sha256(&image.pixels);
                    assert_eq!(Some(sha256), row.djpeg_sha256, "{name}");
                    println!("{name} on {}: decoded in {elapsed:?}", backend.name());
                }
                Err(Error::Limit(error)) => println!("{name} on {}: {error} after {elapsed:?}", backend.name()),
                Err(error) => panic!("{name}: {error}"),
            }
        }
    }
}

/// The file's limits at which it is just decoded, and one less.
fn just_enough(jpeg: &[u8], limited: impl Fn(u64) -> Limits, needed: impl Fn(&LimitError) -> u64) -> LimitError {
    let decode = |limits: Limits| {
        let options = DecodeOptions::default().limits(limits);
        let codestream = Codestream::parse(jpeg, &options.limits)?;
        cpu::decode(&DecodePlan::new(&codestream, &options)?)
    };
    let limit_error = |limit| match decode(limited(limit)) {
        Err(Error::Limit(error)) => Some(error),
        Err(error) => panic!("{error}"),
        Ok(_) => None,
    };
    let mut enough = 0;
    // The error names what it needs; working memory and output are asked for one after the other.
    for _ in 0..4 {
        match limit_error(enough) {
            Some(error) => enough = needed(&error).max(enough + 1),
            None => break,
        }
    }
    assert_eq!(limit_error(enough), None, "what the error names is enough");
    limit_error(enough - 1).expect("one less is not enough")
}

#[test]
fn limit_on_pixels() {
    let jpeg = corpus::hazard("container-base-420.jpg").unwrap();
    let error = just_enough(
        &jpeg,
        |max_pixels| Limits { max_pixels, ..Limits::default() },
        |error| if let LimitError::Pixels { pixels, .. } = error { *pixels } else { panic!("{error}") },
    );
    assert_eq!(error, LimitError::Pixels { pixels: 45 * 37, limit: 45 * 37 - 1 });
}

#[test]
fn limit_on_memory() {
    for file in ["container-base-420.jpg", "coding-progressive-420.jpg"] {
        let jpeg = corpus::hazard(file).unwrap();
        let error = just_enough(
            &jpeg,
            |max_memory| Limits { max_memory, ..Limits::default() },
            |error| if let LimitError::Memory { bytes, .. } = error { *bytes } else { panic!("{error}") },
        );
        assert_eq!(Error::from(error).code(), "limit-memory", "{file}");
    }
}

#[test]
fn limit_on_memory_counts_the_output_that_is_allocated() {
    let jpeg = corpus::hazard("container-base-420.jpg").unwrap();
    let codestream = Codestream::parse(&jpeg, &Limits::default()).unwrap();
    let working = DecodePlan::new(&codestream, &DecodeOptions::default()).unwrap().working_memory();
    let limits = Limits { max_memory: working, ..Limits::default() };
    let plan = DecodePlan::new(&codestream, &DecodeOptions::default().limits(limits)).unwrap();
    assert_eq!(cpu::decode(&plan).unwrap_err().code(), "limit-memory");
    // Memory of the caller's own is the caller's business.
    cpu::decode_into(&plan, plan.layout(), &mut vec![0; plan.layout().required_len()]).unwrap();
}

#[test]
fn limit_on_work() {
    let jpeg = corpus::hazard("bomb-882-valid-scans.jpg").unwrap();
    let limits = Limits { max_work: 100 * 16384, ..Limits::default() };
    match Codestream::parse(&jpeg, &limits).unwrap_err() {
        Error::Limit(LimitError::Work { scans, blocks, limit }) => {
            assert_eq!((scans, blocks, limit), (101, 101 * 16384, 100 * 16384));
        }
        error => panic!("{error}"),
    }
    let jpeg = corpus::hazard("coding-progressive-420.jpg").unwrap();
    let error = Codestream::parse(&jpeg, &Limits { max_work: 0, ..Limits::default() }).unwrap_err();
    assert_eq!(error.code(), "limit-work");
}

#[test]
fn limit_on_metadata() {
    let jpeg = corpus::hazard("exif-xmp-first.jpg").unwrap();
    let error = just_enough_metadata(&jpeg);
    assert_eq!(error.code(), "limit-metadata");
}

/// Walks up to the smallest limit under which the file is parsed; segments are charged one by one.
fn just_enough_metadata(jpeg: &[u8]) -> Error {
    let mut limit = 0;
    let mut last = None;
    loop {
        match Codestream::parse(jpeg, &Limits { max_metadata: limit, ..Limits::default() }) {
            Err(Error::Limit(LimitError::Metadata { bytes, .. })) => {
                assert!(bytes > limit, "{bytes} > {limit}");
                last = Some(Error::Limit(LimitError::Metadata { bytes, limit }));
                limit = bytes;
            }
            Err(error) => panic!("{error}"),
            Ok(_) => return last.expect("the file has metadata"),
        }
    }
}

#[test]
fn limit_on_pixels_per_byte() {
    // 6000x4000 pixels from 1334 bytes: hardly any of it is there.
    let mut jpeg = corpus::hazard("container-base-420.jpg").unwrap();
    let sof = jpeg.windows(4).position(|bytes| bytes == [0xFF, 0xC0, 0x00, 17]).unwrap();
    jpeg[sof + 5..sof + 9].copy_from_slice(&[0x0F, 0xA0, 0x17, 0x70]);
    let error = Codestream::parse(&jpeg, &Limits::default()).unwrap_err();
    assert_eq!(error, LimitError::PixelsPerByte { pixels: 24_000_000, bytes: jpeg.len() as u64 }.into());
    let enough = 24_000_000_u64.div_ceil(jpeg.len() as u64);
    let limits = |max_pixels_per_byte| Limits { max_pixels_per_byte, ..Limits::default() };
    assert!(Codestream::parse(&jpeg, &limits(enough - 1)).is_err());
    assert!(Codestream::parse(&jpeg, &limits(enough)).is_ok());
}

#[test]
fn limits_can_be_lifted() {
    let jpeg = corpus::hazard("bomb-65500x65500-gray.jpg").unwrap();
    let codestream = Codestream::parse(&jpeg, &Limits::none()).unwrap();
    assert_eq!(codestream.stored_size().pixels(), 65_500 * 65_500);
    // A region of it costs what the region costs, not what the picture would.
    let options = DecodeOptions::default()
        .limits(Limits { max_memory: 64 << 20, ..Limits::none() })
        .format(PixelFormat::Gray8)
        .region(StoredRect::new(100, 0, 10, 10));
    let image = cpu::decode(&DecodePlan::new(&codestream, &options).unwrap()).unwrap();
    assert_eq!(image.pixels.len(), 100);
}
