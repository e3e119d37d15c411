//! Other backends against the CPU, with files in batches.

use std::panic::{AssertUnwindSafe, catch_unwind};

use isopel_core::{Codestream, DecodeOptions, DecodePlan, Error, Image, Route};

use super::Generated;
use super::check::Failure;
use super::tally::Tally;
use crate::backends::{ConformanceBackend, on_cpu};
use crate::compare::compare_outcomes;

/// The counts of requests whose data a device can be given, and of those among them that it gave back.
pub(super) const FIT: &str = "requests, fit for entropy decoding there";
pub(super) const FLAGGED: &str = "requests, fit, but flagged and decoded on the CPU";

/// A file, and what the CPU makes of it.
pub struct Expected {
    file: Generated,
    /// Of each of its requests.
    images: Vec<Result<Image, Error>>,
}

impl Expected {
    /// Decodes on one thread of the CPU, for all backends.
    pub fn of(mut file: Generated) -> Self {
        let images = file.requests.iter().map(|options| on_cpu(&file.jpeg, options)).collect();
        // Only the CPU is asked for coefficients.
        file.planes.clear();
        Expected { file, images }
    }

    /// The CPU's results, in the order of the file's requests.
    pub fn images(&self) -> &[Result<Image, Error>] {
        &self.images
    }

    /// Bytes that decodes of all requests take.
    pub fn bytes(&self) -> usize {
        self.images.iter().flatten().map(|image| image.pixels.len()).sum()
    }
}

/// Checks another backend: the CPU's pixels for all requests of all files, which go to it as one batch.
pub fn check_on(backend: &dyn ConformanceBackend, files: &[&Expected]) -> (Tally, Vec<Failure>) {
    let (mut tally, mut failures) = (Tally::default(), Vec::new());
    let requests: Vec<(&Generated, DecodeOptions, &Result<Image, Error>)> = files
        .iter()
        .flat_map(|Expected { file, images }| {
            file.requests.iter().zip(images).map(move |(options, image)| (file, *options, image))
        })
        .collect();
    let jobs: Vec<_> = requests.iter().map(|(file, options, _)| (file.jpeg.clone(), *options)).collect();
    let Ok(found) = catch_unwind(AssertUnwindSafe(|| backend.decode_batch(&jobs))) else {
        let in_batch =
            |expected: &&Expected| expected.file.failure(&format!("{}: a panic in its batch", backend.name()));
        return (tally, files.iter().map(in_batch).collect());
    };
    for ((file, options, exact), found) in requests.into_iter().zip(found) {
        match compare_outcomes(exact, &found) {
            Ok(()) => count(backend, (file, &options), &found, &mut tally),
            Err(error) => {
                failures.push(file.failure(&format!("{}: {error}, with {options:?}", backend.name())));
            }
        }
    }
    (tally, failures)
}

fn count(
    backend: &dyn ConformanceBackend,
    (file, options): (&Generated, &DecodeOptions),
    found: &Result<Image, Error>,
    tally: &mut Tally,
) {
    let name = backend.name();
    let Ok(image) = found else {
        tally.count(format!("{name}: requests refused, as they should be"));
        return;
    };
    let route = image.report.route;
    tally.count(format!("{name}: requests"));
    tally.count(format!("{name}: requests, by {route}"));
    tally.add(format!("{name}: bytes of pixels equal"), image.pixels.len() as u64);
    if is_fit(backend, &file.jpeg, options) {
        let flagged = !matches!(route, Route::WgpuWhole | Route::CudaExact);
        tally.count(format!("{name}: {FIT}"));
        tally.add(format!("{name}: {FLAGGED}"), u64::from(flagged));
    }
}

/// Whether entropy decoding is for the device.
fn is_fit(backend: &dyn ConformanceBackend, jpeg: &[u8], options: &DecodeOptions) -> bool {
    let Ok(codestream) = Codestream::parse(jpeg, &options.limits) else { return false };
    DecodePlan::new(&codestream, options).is_ok_and(|plan| backend.decodes_entropy_of(&plan))
}
