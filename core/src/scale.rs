//! Decoding at a fraction of the file's size.

use std::fmt;
use std::str::FromStr;

use crate::geometry::Size;

/// The size to decode at, as a fraction of the file's own. Smaller ones come from smaller inverse DCTs, which cost less
/// than decoding all and throwing pixels away, and look better. The pixels are libjpeg-turbo's at the same scale.
///
/// Sides are rounded up: 1/8 of 1921x1080 is 241x135. Regions count the pixels of the scaled picture.
///
/// ```
/// use isopel_core::{Codestream, DecodeOptions, DecodePlan, DisplayRect, Scale, Size, cpu};
/// # let bytes = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../samples/photo.jpg")).unwrap();
/// let options = DecodeOptions::default().scale(Scale::Quarter);
/// let codestream = Codestream::parse(&bytes, &options.limits)?;
/// assert_eq!(codestream.stored_size(), Size::new(1920, 1280));
/// let image = cpu::decode(&DecodePlan::new(&codestream, &options)?)?;
/// assert_eq!(image.size(), Size::new(480, 320));
///
/// // The lower right corner of the scaled picture.
/// let corner = options.region(DisplayRect::new(470, 310, 10, 10));
/// assert_eq!(cpu::decode(&DecodePlan::new(&codestream, &corner)?)?.size(), Size::new(10, 10));
/// # Ok::<(), isopel_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Scale {
    /// As large as the file says.
    #[default]
    Full,
    /// 1/2 of width and height.
    Half,
    /// 1/4 of width and height.
    Quarter,
    /// 1/8 of width and height: one pixel for each 8x8 block.
    Eighth,
}

impl Scale {
    /// All scales, the largest first.
    pub const ALL: [Scale; 4] = [Scale::Full, Scale::Half, Scale::Quarter, Scale::Eighth];

    /// How many times smaller each side becomes: 1, 2, 4 or 8.
    pub const fn denominator(self) -> u32 {
        match self {
            Scale::Full => 1,
            Scale::Half => 2,
            Scale::Quarter => 4,
            Scale::Eighth => 8,
        }
    }

    /// The size that a picture of `size` has at this scale.
    ///
    /// ```
    /// use isopel_core::{Scale, Size};
    /// assert_eq!(Scale::Half.of(Size::new(101, 50)), Size::new(51, 25));
    /// ```
    pub const fn of(self, size: Size) -> Size {
        Size::new(size.width.div_ceil(self.denominator()), size.height.div_ceil(self.denominator()))
    }

    /// The smallest scale at which a picture of `size` still covers `wanted`, for thumbnails that are resampled to their
    /// exact size afterwards. [`Scale::Full`] if even that does not.
    ///
    /// ```
    /// use isopel_core::{Scale, Size};
    /// assert_eq!(Scale::covering(Size::new(4000, 3000), Size::new(640, 480)), Scale::Quarter);
    /// ```
    pub fn covering(size: Size, wanted: Size) -> Scale {
        let covers = |scale: &Scale| {
            let scaled = scale.of(size);
            scaled.width >= wanted.width && scaled.height >= wanted.height
        };
        Scale::ALL.into_iter().rev().find(covers).unwrap_or_default()
    }

    /// The name used on the command line and in messages: `1`, `1/2`, `1/4` or `1/8`.
    pub const fn name(self) -> &'static str {
        match self {
            Scale::Full => "1",
            Scale::Half => "1/2",
            Scale::Quarter => "1/4",
            Scale::Eighth => "1/8",
        }
    }

    /// Samples along each side that a block becomes, where nothing is subsampled.
    pub(crate) const fn block_size(self) -> u32 {
        8 / self.denominator()
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text that names no scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a scale is 1, 1/2, 1/4 or 1/8")]
pub struct ParseScaleError;

impl FromStr for Scale {
    type Err = ParseScaleError;

    fn from_str(text: &str) -> Result<Self, ParseScaleError> {
        Scale::ALL.into_iter().find(|scale| scale.name() == text).ok_or(ParseScaleError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for scale in Scale::ALL {
            assert_eq!(scale.to_string().parse(), Ok(scale));
        }
        for wrong in ["", "0", "2", "1/3", "1/16", "0.5", " 1/2", "half"] {
            assert_eq!(wrong.parse::<Scale>(), Err(ParseScaleError), "{wrong}");
        }
    }

    #[test]
    fn sides_are_rounded_up() {
        for (scale, width) in Scale::ALL.into_iter().zip([65535, 32768, 16384, 8192]) {
            assert_eq!(scale.of(Size::new(65535, 1)), Size::new(width, 1));
        }
    }

    #[test]
    fn covering_takes_the_smallest_that_is_large_enough() {
        let size = Size::new(801, 600);
        let cases = [((101, 75), Scale::Eighth), ((102, 75), Scale::Quarter), ((401, 300), Scale::Half)];
        for ((width, height), scale) in cases {
            assert_eq!(Scale::covering(size, Size::new(width, height)), scale);
        }
        assert_eq!(Scale::covering(size, Size::new(402, 1)), Scale::Full);
        assert_eq!(Scale::covering(size, Size::new(2000, 2000)), Scale::Full);
    }
}
