//! The straight line that is closest to some costs.

/// `start + slope * x`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Line {
    pub(super) start: f64,
    pub(super) slope: f64,
}

impl Line {
    /// The line whose relative deviations from the points (x, y) have the least sum of squares; costs differ a
    /// thousandfold, and the small ones must count as much as the large ones. `None` of fewer than two different x.
    pub(super) fn through(points: &[(f64, f64)]) -> Option<Line> {
        let sum = |term: fn(f64, f64) -> f64| points.iter().map(|&(x, y)| term(x, y) / (y * y)).sum::<f64>();
        let (ones, xs, ys) = (sum(|_, _| 1.0), sum(|x, _| x), sum(|_, y| y));
        let (xx, xy) = (sum(|x, _| x * x), sum(|x, y| x * y));
        let determinant = ones * xx - xs * xs;
        let same = points.iter().all(|&(x, _)| x == points[0].0);
        let line = Line { start: (ys * xx - xs * xy) / determinant, slope: (ones * xy - xs * ys) / determinant };
        (!same).then_some(line)
    }

    /// How far a point is above the line, in percent of what the line says.
    pub(super) fn deviation(self, x: f64, y: f64) -> f64 {
        let expected = self.start + self.slope * x;
        100.0 * (y - expected) / expected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_again() {
        let points = [20e3, 200e3, 1e6, 40e6].map(|x| (x, 0.3 + 12e-6 * x));
        let line = Line::through(&points).unwrap();
        assert!((line.start - 0.3).abs() < 1e-9 && (line.slope - 12e-6).abs() < 1e-12, "{line:?}");
        assert!(points.iter().all(|&(x, y)| line.deviation(x, y).abs() < 1e-6));
        assert!((line.deviation(0.0, 0.33) - 10.0).abs() < 1e-6);
    }

    #[test]
    fn squares_are_off_the_line() {
        let points = [1.0, 10.0, 100.0].map(|x| (x, x * x));
        let line = Line::through(&points).unwrap();
        assert!(points.iter().any(|&(x, y)| line.deviation(x, y).abs() > 30.0));
    }

    #[test]
    fn one_size_gives_no_line() {
        assert_eq!(Line::through(&[]), None);
        assert_eq!(Line::through(&[(5.0, 1.0), (5.0, 2.0)]), None);
    }
}
