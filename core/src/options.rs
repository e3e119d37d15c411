//! What the caller asks for.

use crate::geometry::Region;
use crate::limits::Limits;
use crate::orientation::OrientationPolicy;
use crate::pixels::{FormatRequest, PixelFormat};
use crate::scale::Scale;

/// What to decode and how. Start from `DecodeOptions::default()` (the whole image, upright, as RGB) and
/// change what differs.
///
/// ```
/// use isopel_core::{DecodeOptions, DisplayRect, PixelFormat};
/// let options = DecodeOptions::default()
///     .region(DisplayRect::new(10, 20, 300, 200))
///     .format(PixelFormat::Rgba8);
/// # let _ = options;
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct DecodeOptions {
    /// Which part of the image; coordinates are in the space that the variant names, and count the pixels of the
    /// picture at [`scale`](Self::scale). Default: all of it.
    pub region: Region,
    /// The size to decode at. Default: the file's own.
    pub scale: Scale,
    /// What to do with the EXIF orientation. Default: apply it.
    pub orientation: OrientationPolicy,
    /// The pixel format. Default: [`PixelFormat::Rgb8`].
    pub format: FormatRequest,
    /// What to do with damaged files. Default: lenient.
    pub strictness: Strictness,
    /// What the image may cost.
    pub limits: Limits,
}

impl DecodeOptions {
    /// Decodes only this part: a [`StoredRect`](crate::StoredRect), a [`DisplayRect`](crate::DisplayRect)
    /// or a [`Region`]. With a [`scale`](Self::scale) it is a part of the scaled picture: of a picture of 1000x800
    /// at 1/2 the lower right quarter is `DisplayRect::new(250, 200, 250, 200)`.
    pub fn region(mut self, region: impl Into<Region>) -> Self {
        self.region = region.into();
        self
    }

    /// Decodes at a fraction of the file's size.
    pub fn scale(mut self, scale: Scale) -> Self {
        self.scale = scale;
        self
    }

    /// Sets what happens with the EXIF orientation.
    pub fn orientation(mut self, policy: OrientationPolicy) -> Self {
        self.orientation = policy;
        self
    }

    /// Sets the pixel format.
    pub fn format(mut self, format: impl Into<FormatRequest>) -> Self {
        self.format = format.into();
        self
    }

    /// Sets what happens with damaged files.
    pub fn strictness(mut self, strictness: Strictness) -> Self {
        self.strictness = strictness;
        self
    }

    /// Sets what the image may cost.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}

/// What to do with files whose pixels are damaged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Strictness {
    /// Full-size pixels, filled as libjpeg-turbo fills them, with warnings and the count of valid rows.
    #[default]
    Lenient,
    /// An error for the first warning that [means damage](crate::Warning::is_damage).
    Strict,
}

impl From<PixelFormat> for FormatRequest {
    fn from(format: PixelFormat) -> Self {
        FormatRequest::Exactly(format)
    }
}
