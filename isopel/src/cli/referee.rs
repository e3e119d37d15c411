//! The independent referee: `zune-jpeg`, a decoder that shares no code with isopel.

use std::panic::{self, AssertUnwindSafe};

use isopel::{DecodeOptions, Image, OrientationPolicy, PixelFormat, Size};
use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;

/// How reports name it.
pub(crate) const NAME: &str = "zune-jpeg";

/// Pixels as the referee gives them: packed, as stored.
pub(crate) struct Opinion {
    pub(crate) size: Size,
    pub(crate) pixels: Vec<u8>,
}

/// The format in which both decoders give a file of so many components.
pub(crate) fn shared_format(components: usize) -> PixelFormat {
    if components == 1 { PixelFormat::Gray8 } else { PixelFormat::Rgb8 }
}

/// What to ask isopel for: the referee doesn't turn pictures.
pub(crate) fn shared_options(format: PixelFormat) -> DecodeOptions {
    DecodeOptions::default().orientation(OrientationPolicy::Ignore).format(format)
}

/// Decodes with the referee.
///
/// # Errors
/// Why it could not, in its own words. That is no verdict on the file: it refuses valid ones, too.
pub(crate) fn decode(bytes: &[u8], format: PixelFormat) -> Result<Opinion, String> {
    let color = if format == PixelFormat::Gray8 { ColorSpace::Luma } else { ColorSpace::RGB };
    let options = DecoderOptions::default()
        .set_max_width(usize::from(u16::MAX))
        .set_max_height(usize::from(u16::MAX))
        .jpeg_set_out_colorspace(color);
    let decode = || {
        let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
        let pixels = decoder.decode().map_err(|error| format!("{error:?}"))?;
        let (width, height) = decoder.dimensions().ok_or("it gave no size")?;
        let side = |length| u32::try_from(length).map_err(|_| "it gave an impossible size".to_owned());
        Ok(Opinion { size: Size::new(side(width)?, side(height)?), pixels })
    };
    silently(|| panic::catch_unwind(AssertUnwindSafe(decode))).unwrap_or_else(|_| Err("it panicked".into()))
}

/// Checks that both decoders speak of the same pixels.
///
/// # Errors
/// How the referee's differ in size.
pub(crate) fn check_size(image: &Image, opinion: &Opinion) -> Result<(), String> {
    if opinion.size != image.size() {
        return Err(format!("it decoded {} pixels instead of {}", opinion.size, image.size()));
    }
    if opinion.pixels.len() != image.pixels.len() {
        return Err(format!("it gave {} bytes instead of {}", opinion.pixels.len(), image.pixels.len()));
    }
    Ok(())
}

/// A panic of the referee's is reported as its failure, not also on stderr.
fn silently<T>(work: impl FnOnce() -> T) -> T {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let result = work();
    panic::set_hook(hook);
    result
}
