//! Files found in the wild, in the folder that `ISOPEL_CORPUS` names: libjpeg-turbo's pixels for all that it
//! decodes, typed errors for the rest. Not part of the repository; without the folder the summary says so.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use isopel_conformance::backends::{self, Budget, ConformanceBackend, Required};
use isopel_conformance::corpus::{self, RealRow};
use isopel_conformance::summary;
use isopel_conformance::tolerance::check_golden;
use isopel_core::{Codestream, DecodeOptions, Error, FormatRequest, Image, OrientationPolicy};
use rayon::prelude::*;

#[test]
fn real_files_decode_as_libjpeg_turbo_decodes_them() {
    let folder = match summary::real_corpus() {
        Ok(folder) => folder,
        Err(reason) => {
            println!("real corpus: not run, {reason}");
            let required = Required::from_env().unwrap_or_else(|error| panic!("{error}"));
            assert!(!required.contains(Required::CORPUS), "the real corpus is required, but {reason}");
            return;
        }
    };
    let mut rows = corpus::real_rows(&folder).unwrap();
    rows.retain(|row| row.split == "open");
    assert!(!rows.is_empty(), "no rows");
    for backend in backends::present() {
        let verdicts: Vec<(&RealRow, Result<&'static str, String>)> =
            rows.par_iter().map(|row| (row, check(&*backend, &folder, row, backend.budget()))).collect();
        let mut counts = BTreeMap::new();
        let mut failures = Vec::new();
        for (row, verdict) in verdicts {
            match verdict {
                Ok(kind) => *counts.entry(kind).or_insert(0) += 1,
                Err(problem) => failures.push(format!("{}: {problem}", row.path)),
            }
        }
        println!("real corpus on {}:", backend.name());
        counts.iter().for_each(|(kind, count)| println!("{count:6} {kind}"));
        let shown: Vec<&str> = failures.iter().take(40).map(String::as_str).collect();
        assert!(failures.is_empty(), "{} of {} files:\n{}", failures.len(), rows.len(), shown.join("\n"));
    }
}

/// What was right about a file, or what was wrong.
fn check(
    backend: &dyn ConformanceBackend,
    folder: &Path,
    row: &RealRow,
    budget: Budget,
) -> Result<&'static str, String> {
    let jpeg = corpus::read(&folder.join(&row.path)).map_err(|error| error.to_string())?;
    let options = DecodeOptions::default().format(FormatRequest::Source).orientation(OrientationPolicy::Ignore);
    let size = Codestream::parse_header(&jpeg, &options.limits).map(|header| header.stored_size());
    if size.is_ok_and(|size| size.pixels() > budget.real_pixels) {
        return Ok("SKIPPED: too large for this backend's budget");
    }
    let result = catch_unwind(AssertUnwindSafe(|| backend.decode(&jpeg, &options))).map_err(|_| "panicked")?;
    let comparable = matches!(row.format.as_deref(), Some("gray8" | "rgb8" | "cmyk8"));
    match (row.status.as_str(), &result) {
        ("ok", Ok(image)) if row.is_huffman_dct_8_bit() && comparable => {
            check_pixels(backend, &jpeg, &options, image, row)?;
            Ok("valid, equal")
        }
        ("warn", Ok(image)) if row.is_huffman_dct_8_bit() && comparable => {
            check_pixels(backend, &jpeg, &options, image, row)?;
            if image.report.warnings.is_empty() {
                return Err("libjpeg warns, we do not".to_owned());
            }
            Ok("damaged, equal, with a warning")
        }
        ("ok" | "warn", Err(error)) if row.is_huffman_dct_8_bit() && comparable => {
            Err(format!("{} ({error})", error.code()))
        }
        ("ok" | "warn", Err(Error::Unsupported(_))) => Ok("another coding process or colour: unsupported"),
        ("ok" | "warn", Err(Error::Limit(_))) => Ok("another coding process or colour: over a limit"),
        ("ok" | "warn", Err(error)) => Err(format!("should be unsupported: {} ({error})", error.code())),
        ("ok" | "warn", Ok(_)) => Err("decoded, although nobody knows its pixels".to_owned()),
        ("toobig", Err(_)) => Ok("too big for libjpeg's run, refused"),
        ("toobig", Ok(_)) => Ok("too big for libjpeg's run, decoded"),
        ("error", Err(_)) => Ok("libjpeg refuses, we refuse"),
        // T.81 B.2.5 lets DNL define the height; libjpeg can't do that.
        ("error", Ok(_)) if row.message.contains("DNL not supported") => Ok("libjpeg can't do DNL, we decode"),
        ("error", Ok(image)) if image.report.warnings.is_empty() => {
            Err("libjpeg refuses, we decode without a warning".to_owned())
        }
        ("error", Ok(_)) => Ok("libjpeg refuses, we decode with a warning"),
        (status, _) => Err(format!("unknown status {status}")),
    }
}

fn check_pixels(
    backend: &dyn ConformanceBackend,
    jpeg: &[u8],
    options: &DecodeOptions,
    image: &Image,
    row: &RealRow,
) -> Result<(), String> {
    let golden = row.pixels_sha256.as_deref().ok_or("no hash in the manifest")?;
    let format = image.report.layout.format().name();
    if Some(format) != row.format.as_deref() {
        return Err(format!("{format} instead of {:?}", row.format));
    }
    check_golden(backend.name(), jpeg, options, image, golden)
}
