//! How far each route may be from libjpeg-turbo's pixels. The one place where such numbers are.

use isopel_core::{DecodeOptions, Image};

use crate::backends::on_cpu;
use crate::compare::{Difference, compare_images};

/// What one route of one backend is held to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tolerance {
    /// The backend's name.
    pub backend: &'static str,
    /// The route that the result reports.
    pub route: &'static str,
    /// The largest difference of a sample that is allowed.
    pub max_difference: u8,
    /// Why that much, and no less.
    pub reason: &'static str,
}

/// One row per backend and route.
pub const TOLERANCES: &[Tolerance] = &[
    Tolerance {
        backend: "cpu",
        route: "cpu",
        max_difference: 0,
        reason: "the exact decoder: libjpeg-turbo's arithmetic, step by step",
    },
    Tolerance {
        backend: "wgpu",
        route: "wgpu, from coefficients",
        max_difference: 0,
        reason: "the CPU's coefficients, and its integer arithmetic step by step in shaders",
    },
    Tolerance {
        backend: "wgpu",
        route: "wgpu, whole",
        max_difference: 0,
        reason: "as above, with coefficients of the shaders' own; what they flag is the CPU's",
    },
    Tolerance {
        backend: "wgpu",
        route: "wgpu, cpu and upload",
        max_difference: 0,
        reason: "the exact decoder's pixels, copied",
    },
    Tolerance {
        backend: "cuda",
        route: "cuda, exact",
        max_difference: 0,
        reason: "the CPU's integer arithmetic step by step in kernels; what they flag is decoded on the CPU",
    },
    Tolerance {
        backend: "cuda",
        route: "cuda, cpu and upload",
        max_difference: 0,
        reason: "the exact decoder's pixels, copied",
    },
    Tolerance {
        backend: "nvjpeg",
        route: "cuda, engines",
        max_difference: 1,
        reason: "the engines' upsampling rounds otherwise in less than 1 of 10,000 samples; without it they are exact",
    },
    Tolerance {
        backend: "nvjpeg",
        route: "cuda, gpu hybrid",
        max_difference: 3,
        reason: "nvJPEG's own inverse DCT and colour conversion, in floating point",
    },
    Tolerance {
        backend: "nvjpeg",
        route: "cuda, hybrid",
        max_difference: 3,
        reason: "nvJPEG's own inverse DCT and colour conversion, in floating point",
    },
    Tolerance {
        backend: "nvjpeg",
        route: "cuda, cpu and upload",
        max_difference: 0,
        reason: "the exact decoder's pixels, copied",
    },
];

/// Checks pixels against the hash of exact ones: by the hash where the route is exact, else by their distance from
/// the CPU's, which then must have that hash.
///
/// # Errors
/// What is wrong, in a sentence.
pub fn check_golden(
    backend: &str,
    jpeg: &[u8],
    options: &DecodeOptions,
    image: &Image,
    golden: &str,
) -> Result<(), String> {
    let row = tolerance(backend, &image.report.route.to_string()).map_err(|error| error.to_string())?;
    let has_hash = |pixels: &[u8]| {
        let found = crate::sha256(pixels);
        if found == golden { Ok(()) } else { Err(format!("pixels {found}, expected {golden}")) }
    };
    if row.max_difference == 0 {
        return has_hash(&image.pixels);
    }
    let exact = on_cpu(jpeg, options).map_err(|error| error.to_string())?;
    has_hash(&exact.pixels).map_err(|error| format!("the CPU's own {error}"))?;
    let difference = compare_images(&exact, image).map_err(|error| error.to_string())?;
    row.check(difference).map_err(|error| error.to_string())
}

/// The largest difference that a backend's routes allow between two pictures of the same pixels.
///
/// # Errors
/// [`ToleranceError::NoRow`].
pub fn slack(backend: &str, images: &[&Image]) -> Result<u8, ToleranceError> {
    let rows = images.iter().map(|image| tolerance(backend, &image.report.route.to_string()));
    rows.map(|row| row.map(|row| row.max_difference)).sum()
}

/// Why pixels are not good enough.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ToleranceError {
    /// The table has no such row; a route without a bound is held to nothing.
    #[error("no tolerance is stated for route {route} of backend {backend}")]
    NoRow {
        /// The backend's name.
        backend: String,
        /// The route.
        route: String,
    },
    /// The difference is larger than allowed.
    #[error(
        "route {} of backend {} may differ by {} ({}), but: {difference:?}",
        tolerance.route, tolerance.backend, tolerance.max_difference, tolerance.reason
    )]
    Exceeded {
        /// The row of the table.
        tolerance: Tolerance,
        /// What was measured.
        difference: Difference,
    },
}

/// The row for a route.
///
/// # Errors
/// [`ToleranceError::NoRow`] if there is none.
pub fn tolerance(backend: &str, route: &str) -> Result<&'static Tolerance, ToleranceError> {
    TOLERANCES
        .iter()
        .find(|row| row.backend == backend && row.route == route)
        .ok_or_else(|| ToleranceError::NoRow { backend: backend.to_owned(), route: route.to_owned() })
}

impl Tolerance {
    /// Checks a measured difference.
    ///
    /// # Errors
    /// [`ToleranceError::Exceeded`] if it is larger than allowed.
    pub fn check(&self, difference: Difference) -> Result<(), ToleranceError> {
        if difference.max > self.max_difference {
            return Err(ToleranceError::Exceeded { tolerance: *self, difference });
        }
        Ok(())
    }
}
