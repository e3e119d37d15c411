//! Decoding at 1/2, 1/4 and 1/8: libjpeg-turbo's pixels at that scale, and all promises of decodes at full size.

use std::collections::HashMap;
use std::sync::Arc;

use isopel_conformance::backends::{self, ConformanceBackend, on_cpu};
use isopel_conformance::corpus::{self, ScaledRow};
use isopel_conformance::naive::Picture;
use isopel_conformance::random::{self, Random};
use isopel_conformance::tolerance::check_golden;
use isopel_core::{DecodeOptions, Error, FormatRequest, OrientationPolicy, PixelFormat, Scale, Size};
use rayon::prelude::*;

/// Files with their rows, each read once.
fn files() -> Vec<(Arc<[u8]>, Vec<ScaledRow>)> {
    let mut files: HashMap<String, (Arc<[u8]>, Vec<ScaledRow>)> = HashMap::new();
    for row in corpus::scaled_rows().unwrap() {
        let file = files.entry(row.path.clone()).or_insert_with(|| (row.bytes().unwrap().into(), Vec::new()));
        file.1.push(row);
    }
    files.into_values().collect()
}

fn options(row: &ScaledRow) -> DecodeOptions {
    DecodeOptions::default().scale(row.scale).format(FormatRequest::Source).orientation(OrientationPolicy::Ignore)
}

#[test]
fn source_pixels_are_those_of_libjpeg_turbo_at_every_scale() {
    let files = files();
    let count: usize = files.iter().map(|(_, rows)| rows.len()).sum();
    assert!(count > 500, "{count} rows");
    for backend in backends::present() {
        let problems: Vec<String> = files
            .par_iter()
            .flat_map_iter(|(jpeg, rows)| rows.iter().filter_map(|row| problem(&*backend, jpeg, row)))
            .collect();
        let shown = problems.iter().take(40).map(String::as_str).collect::<Vec<_>>().join("\n");
        assert!(problems.is_empty(), "{} of {count} on {}:\n{shown}", problems.len(), backend.name());
    }
}

/// What is wrong about a file at a scale.
fn problem(backend: &dyn ConformanceBackend, jpeg: &[u8], row: &ScaledRow) -> Option<String> {
    let options = options(row);
    let of_row = |problem: String| Some(format!("{} at {}: {problem}", row.path, row.scale));
    let image = match backend.decode(jpeg, &options) {
        Ok(image) => image,
        Err(Error::Limit(_)) if row.size.pixels() * 64 > backend.budget().real_pixels => return None,
        Err(error) => return of_row(error.to_string()),
    };
    if image.report.layout.format().name() != row.format || image.size() != row.size || image.report.scale != row.scale
    {
        return of_row(format!("{:?} instead of {} {}", image.report, row.size, row.format));
    }
    if row.warnings > 0 && image.report.warnings.is_empty() {
        return of_row("libjpeg warns, we do not".into());
    }
    check_golden(backend.name(), jpeg, &options, &image, &row.pixels_sha256).err().and_then(of_row)
}

/// Damage, formats and backends mixed in one batch.
#[test]
fn batches_of_all_scales_give_what_single_decodes_on_the_cpu_give() {
    let mut random = Random::new(random::seed(0x5CA1E));
    let files: Vec<_> = corpus::decodable_shared(200 * 200).unwrap();
    let requests: Vec<(Arc<[u8]>, DecodeOptions)> = files
        .into_iter()
        .map(|(_, jpeg)| {
            let scale = Scale::ALL[random.below(4)];
            let format = PixelFormat::ALL[random.below(PixelFormat::ALL.len())];
            (jpeg, DecodeOptions::default().scale(scale).format(format))
        })
        .collect();
    for backend in backends::present().iter().filter(|backend| backend.name() != "cuda") {
        for (image, (jpeg, options)) in backend.decode_batch(&requests).into_iter().zip(&requests) {
            match (image, on_cpu(jpeg, options)) {
                (Ok(image), Ok(alone)) => {
                    assert!(image.pixels == alone.pixels, "{options:?} on {}", backend.name());
                    assert_eq!(image.report.valid_rows, alone.report.valid_rows, "{options:?}");
                    assert_eq!(image.report.warnings, alone.report.warnings, "{options:?}");
                }
                (image, alone) => assert_eq!(image.err(), alone.err(), "{options:?}"),
            }
        }
    }
}

/// The planes of files with halved chroma keep half its size at every scale, as those of libjpeg-turbo's YUV decodes do,
/// and the first is what gray decodes give.
#[test]
fn component_planes_keep_the_files_sampling() {
    let jpeg = corpus::hazard("container-base-420.jpg").unwrap(); // 45x37
    for backend in backends::present() {
        let decode =
            |format, scale| backend.decode(&jpeg, &DecodeOptions::default().format(format).scale(scale)).unwrap();
        for (scale, chroma) in [(Scale::Half, (12, 10)), (Scale::Quarter, (6, 5)), (Scale::Eighth, (3, 3))] {
            let image = decode(PixelFormat::ComponentPlanes, scale);
            let sizes: Vec<Size> = image.report.layout.planes().iter().map(|plane| plane.size).collect();
            let chroma = Size::new(chroma.0, chroma.1);
            assert_eq!(sizes, [scale.of(Size::new(45, 37)), chroma, chroma]);
            assert!(Picture::planes(&image)[0] == Picture::planes(&decode(PixelFormat::Gray8, scale))[0]);
        }
    }
}
