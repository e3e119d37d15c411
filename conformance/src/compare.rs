//! The comparer: two buffers of pixels of the same layout, and how far they are apart.

use isopel_core::{Error, Image, PixelLayout};

/// How far two buffers of pixels are apart. Bytes between rows do not count.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The largest difference of two samples.
    pub max: u8,
    /// The mean difference over all samples.
    pub mean: f64,
    /// The share of samples that differ, 0 to 1.
    pub share_differing: f64,
    /// The first sample that differs, plane by plane and row by row.
    pub first: Option<FirstDifference>,
}

/// Where two buffers differ first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FirstDifference {
    /// Column, in pixels of the plane.
    pub x: u32,
    /// Row.
    pub y: u32,
    /// Which channel: the byte within the pixel, or for planar formats the plane.
    pub channel: usize,
    /// The sample of the left buffer.
    pub left: u8,
    /// The sample of the right buffer.
    pub right: u8,
}

/// Why two buffers can't be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    /// The layouts are not the same.
    #[error("the layouts differ: {left} on the left, {right} on the right")]
    Layout {
        /// The left layout, described.
        left: String,
        /// The right layout, described.
        right: String,
    },
    /// A buffer is shorter than its layout.
    #[error("a buffer of {len} bytes is shorter than its layout, which needs {needed}")]
    TooShort {
        /// Bytes in the buffer.
        len: usize,
        /// Bytes in the layout.
        needed: usize,
    },
}

/// Compares two buffers that both have this layout.
///
/// # Errors
/// [`CompareError::TooShort`] if one of them is shorter than the layout.
pub fn compare(left: &[u8], right: &[u8], layout: &PixelLayout) -> Result<Difference, CompareError> {
    let needed = layout.required_len();
    if let Some(short) = [left, right].into_iter().find(|buffer| buffer.len() < needed) {
        return Err(CompareError::TooShort { len: short.len(), needed });
    }
    let pixel_bytes = layout.format().bytes_per_pixel();
    let (mut max, mut sum, mut differing, mut samples) = (0, 0_u64, 0_u64, 0_u64);
    let mut first = None;
    for (plane_index, plane) in layout.planes().iter().enumerate() {
        let row_bytes = plane.size.width as usize * pixel_bytes;
        for y in 0..plane.size.height {
            let start = plane.offset + y as usize * plane.stride;
            let row = start..start + row_bytes;
            for (index, (&left, &right)) in left[row.clone()].iter().zip(&right[row]).enumerate() {
                let difference = left.abs_diff(right);
                samples += 1;
                sum += u64::from(difference);
                differing += u64::from(difference > 0);
                max = max.max(difference);
                if difference > 0 && first.is_none() {
                    let channel = if pixel_bytes == 1 { plane_index } else { index % pixel_bytes };
                    first = Some(FirstDifference { x: (index / pixel_bytes) as u32, y, channel, left, right });
                }
            }
        }
    }
    let share = |part: u64| if samples == 0 { 0.0 } else { part as f64 / samples as f64 };
    Ok(Difference { max, mean: share(sum), share_differing: share(differing), first })
}

/// Compares two decoded images.
///
/// # Errors
/// [`CompareError`] if their layouts differ.
pub fn compare_images(left: &Image, right: &Image) -> Result<Difference, CompareError> {
    let (left_layout, right_layout) = (&left.report.layout, &right.report.layout);
    if left_layout != right_layout {
        return Err(CompareError::Layout { left: describe(left_layout), right: describe(right_layout) });
    }
    compare(&left.pixels, &right.pixels, left_layout)
}

/// Whether two decodes of the same file have the same outcome, the route aside: pixels and report, or error.
///
/// # Errors
/// What is different.
pub fn compare_outcomes(left: &Result<Image, Error>, right: &Result<Image, Error>) -> Result<(), String> {
    match (left, right) {
        (Ok(left), Ok(right)) => {
            let difference = compare_images(left, right).map_err(|error| error.to_string())?;
            if difference.first.is_some() {
                return Err(format!("{difference:?}"));
            }
            let mut report = right.report.clone();
            report.route = left.report.route;
            if report != left.report {
                return Err(format!("the reports differ: {:?} and {report:?}", left.report));
            }
            Ok(())
        }
        (Err(left), Err(right)) if left == right => Ok(()),
        (left, right) => {
            let in_words = |result: &Result<Image, Error>| match result {
                Ok(_) => "a picture".to_owned(),
                Err(error) => format!("{} ({error})", error.code()),
            };
            Err(format!("{} on the left, {} on the right", in_words(left), in_words(right)))
        }
    }
}

fn describe(layout: &PixelLayout) -> String {
    let strides: Vec<usize> = layout.planes().iter().map(|plane| plane.stride).collect();
    format!("{} {} with strides {strides:?}", layout.format(), layout.size())
}
