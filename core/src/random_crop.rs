//! The random crop that image classifiers are trained with, as a pure function.
//!
//! Step: before the plan. Input: an image's displayed size and a seed. Output: a [`DisplayRect`] to decode.
//!
//! The same seed gives the same rectangle on every platform. Only operations that IEEE 754 rounds correctly are used
//! (sums, products, quotients, square roots), never a logarithm or an exponential, whose last bits differ from one
//! mathematics library to the next.

use std::ops::RangeInclusive;

use crate::geometry::{DisplayRect, Rect, Size};

/// Tries to place a random crop before it settles for the central one, as training pipelines commonly do.
const ATTEMPTS: u32 = 10;

/// Chooses a random rectangle of a random area and aspect ratio: the crop known as `RandomResizedCrop` (torchvision)
/// or `random_resized_crop` (DALI), without the resizing.
///
/// The area is drawn uniformly as a fraction of the image's, the aspect ratio (width / height) uniformly on a
/// logarithmic scale, so that 1:2 is as likely as 2:1, and the position uniformly among all that fit. If 10 draws give
/// nothing that fits, the crop is the largest central one whose aspect ratio is in range.
///
/// The distribution is torchvision's; the individual crops are not, since the random generator is this crate's own.
///
/// ```
/// use isopel_core::{RandomResizedCrop, Region, Size};
///
/// let crop = RandomResizedCrop::new()
///     .with_area(0.25..=1.0)?
///     .with_aspect(0.5..=2.0)?;
/// let display = Size::new(640, 480);
///
/// let rect = crop.sample(display, 7)?;
/// assert!(rect.rect().fits_in(display));
/// assert_eq!(rect, crop.sample(display, 7)?);
///
/// let region = Region::from(rect);
/// # let _ = region;
/// # Ok::<(), isopel_core::RandomCropError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RandomResizedCrop {
    area: Range,
    aspect: Range,
}

impl RandomResizedCrop {
    /// The usual ranges: area 0.08 to 1, aspect ratio 3:4 to 4:3.
    pub const fn new() -> Self {
        Self { area: Range { min: 0.08, max: 1.0 }, aspect: Range { min: 3.0 / 4.0, max: 4.0 / 3.0 } }
    }

    /// Takes the area from `range`, as a fraction of the image's area.
    ///
    /// # Errors
    ///
    /// [`RandomCropError::AreaRange`] unless 0 <= min <= max <= 1 and max > 0.
    pub fn with_area(self, range: RangeInclusive<f32>) -> Result<Self, RandomCropError> {
        let (min, max) = range.into_inner();
        // A NaN fails each of these, as it should.
        if !(0.0 <= min && min <= max && 0.0 < max && max <= 1.0) {
            return Err(RandomCropError::AreaRange { min, max });
        }
        Ok(Self { area: Range { min, max }, ..self })
    }

    /// Takes the aspect ratio, width / height as displayed, from `range`.
    ///
    /// # Errors
    ///
    /// [`RandomCropError::AspectRange`] unless 0 < min <= max and both are finite.
    pub fn with_aspect(self, range: RangeInclusive<f32>) -> Result<Self, RandomCropError> {
        let (min, max) = range.into_inner();
        if !(0.0 < min && min <= max && max < f32::INFINITY) {
            return Err(RandomCropError::AspectRange { min, max });
        }
        Ok(Self { aspect: Range { min, max }, ..self })
    }

    /// The crop that `seed` gives for an image displayed as `display`: never empty, always inside the image.
    ///
    /// Any seeds will do, consecutive ones too: they give unrelated crops.
    ///
    /// # Errors
    ///
    /// [`RandomCropError::EmptyImage`] if `display` has no pixel.
    pub fn sample(&self, display: Size, seed: u64) -> Result<DisplayRect, RandomCropError> {
        if display.is_empty() {
            return Err(RandomCropError::EmptyImage { size: display });
        }
        let mut random = Random { state: seed };
        let rect =
            (0..ATTEMPTS).find_map(|_| self.attempt(display, &mut random)).unwrap_or_else(|| self.central(display));
        Ok(DisplayRect::from_rect(rect))
    }

    fn attempt(&self, display: Size, random: &mut Random) -> Option<Rect> {
        let area = display.pixels() as f64 * random.uniform(self.area);
        let aspect = random.log_uniform(self.aspect);
        let width = whole_side((area * aspect).sqrt(), display.width)?;
        let height = whole_side((area / aspect).sqrt(), display.height)?;
        let x = random.up_to(display.width - width);
        let y = random.up_to(display.height - height);
        Some(Rect::new(x, y, width, height))
    }

    /// The largest central crop with an aspect ratio in range: the whole image, if its own is.
    fn central(&self, display: Size) -> Rect {
        let image_width = f64::from(display.width);
        let image_height = f64::from(display.height);
        let min = f64::from(self.aspect.min);
        let max = f64::from(self.aspect.max);
        let aspect = image_width / image_height;
        let mut size = display;
        if aspect < min {
            size.height = nearest_side(image_width / min, display.height);
        } else if aspect > max {
            size.width = nearest_side(image_height * max, display.width);
        }
        Rect::new((display.width - size.width) / 2, (display.height - size.height) / 2, size.width, size.height)
    }
}

impl Default for RandomResizedCrop {
    fn default() -> Self {
        Self::new()
    }
}

/// Why no crop could be drawn.
///
/// ```
/// use isopel_core::{RandomCropError, RandomResizedCrop, Size};
///
/// let crop = RandomResizedCrop::default();
/// assert_eq!(
///     crop.with_area(0.0..=1.5).unwrap_err().to_string(),
///     "crop area 0 to 1.5 is not usable: give fractions of the image with \
///      0 <= min <= max <= 1 and max > 0",
/// );
/// assert_eq!(
///     crop.sample(Size::new(0, 480), 7),
///     Err(RandomCropError::EmptyImage { size: Size::new(0, 480) }),
/// );
/// ```
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RandomCropError {
    /// The image has no pixel to crop.
    #[error("cannot crop the {size} image: width and height must be at least 1")]
    EmptyImage {
        /// The displayed size that was given.
        size: Size,
    },
    /// The range of areas is empty, not a number, or not within the image.
    #[error(
        "crop area {min} to {max} is not usable: give fractions of the image with \
         0 <= min <= max <= 1 and max > 0"
    )]
    AreaRange {
        /// The lower end that was given.
        min: f32,
        /// The upper end that was given.
        max: f32,
    },
    /// The range of aspect ratios is empty, not a number, not positive or not finite.
    #[error(
        "crop aspect ratio {min} to {max} is not usable: give width / height with \
         0 < min <= max, both finite"
    )]
    AspectRange {
        /// The lower end that was given.
        min: f32,
        /// The upper end that was given.
        max: f32,
    },
}

/// A range that has been checked, ends included.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Range {
    min: f32,
    max: f32,
}

/// The side in whole pixels, if the image has that many.
fn whole_side(side: f64, limit: u32) -> Option<u32> {
    let side = side.round_ties_even();
    (1.0..=f64::from(limit)).contains(&side).then_some(side as u32)
}

/// The side in whole pixels, at least 1 and at most what the image has.
fn nearest_side(side: f64, limit: u32) -> u32 {
    side.round_ties_even().clamp(1.0, f64::from(limit)) as u32
}

/// SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014): the state is a mere
/// counter, so every seed is a good one, 0 included.
struct Random {
    state: u64,
}

impl Random {
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    fn uniform(&mut self, range: Range) -> f64 {
        // 53 bits are what an f64 holds, so neither the conversion nor the scaling rounds.
        let fraction = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        let min = f64::from(range.min);
        let max = f64::from(range.max);
        min + fraction * (max - min)
    }

    /// Halves the range at its geometric mean, which is its middle on a logarithmic scale, and keeps the half that a
    /// random bit names; 32 times. A square root per step takes the place of `exp(uniform(ln(min), ln(max)))`.
    fn log_uniform(&mut self, range: Range) -> f64 {
        // The product of two f32 values can neither overflow nor vanish in an f64.
        let mut low = f64::from(range.min);
        let mut high = f64::from(range.max);
        let bits = self.next();
        for step in 0..32 {
            let middle = (low * high).sqrt();
            if (bits >> (63 - step)) & 1 == 0 {
                high = middle;
            } else {
                low = middle;
            }
        }
        low
    }

    /// A whole number from 0 to `last`, both included.
    fn up_to(&mut self, last: u32) -> u32 {
        // The top of a 64 x 33 bit product. It favours no value by more than 2^-31 of its share, and unlike a
        // remainder it takes the generator's high bits.
        let count = u128::from(last) + 1;
        ((u128::from(self.next()) * count) >> 64) as u32
    }
}

#[cfg(test)]
mod tests;
