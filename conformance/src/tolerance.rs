//! How far each route may be from libjpeg-turbo's pixels. The one place where such numbers are.

use crate::compare::Difference;

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
];

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
