//! libjpeg-turbo as the referee.

use isopel_core::{Image, PixelFormat, Scale};
use turbojpeg::{Decompressor, Image as Target, ScalingFactor};

/// Decodes as libjpeg-turbo does by default, to the layout of an image that isopel decoded, and compares.
///
/// # Errors
/// What differs, or that libjpeg-turbo refuses the file or warns of it.
pub(super) fn compare(jpeg: &[u8], image: &Image) -> Result<(), String> {
    let format = match image.report.layout.format() {
        PixelFormat::Gray8 => turbojpeg::PixelFormat::GRAY,
        PixelFormat::Rgb8 => turbojpeg::PixelFormat::RGB,
        PixelFormat::Cmyk8 => turbojpeg::PixelFormat::CMYK,
        other => return Err(format!("no pixels of libjpeg-turbo as {other}")),
    };
    let scale = match image.report.scale {
        Scale::Half => ScalingFactor::ONE_HALF,
        Scale::Quarter => ScalingFactor::ONE_QUARTER,
        Scale::Eighth => ScalingFactor::ONE_EIGHTH,
        _ => ScalingFactor::ONE,
    };
    let (width, height) = (image.size().width as usize, image.size().height as usize);
    let pitch = width * format.size();
    let mut pixels = vec![0; pitch * height];
    let mut decode = || {
        let mut decompressor = Decompressor::new()?;
        decompressor.set_scaling_factor(scale)?;
        decompressor.decompress(jpeg, Target { pixels: pixels.as_mut_slice(), width, pitch, height, format })
    };
    decode().map_err(|error: turbojpeg::Error| format!("libjpeg-turbo says {error}"))?;
    match pixels.iter().zip(&image.pixels).position(|(theirs, ours)| theirs != ours) {
        None if pixels.len() == image.pixels.len() => Ok(()),
        None => Err(format!("{} bytes of libjpeg-turbo, {} of isopel", pixels.len(), image.pixels.len())),
        Some(at) => {
            let differing = pixels.iter().zip(&image.pixels).filter(|(theirs, ours)| theirs != ours).count();
            let (x, y) = (at % pitch / format.size(), at / pitch);
            let (theirs, ours) = (pixels[at], image.pixels[at]);
            Err(format!("{differing} bytes differ, first at ({x}, {y}): {theirs} of libjpeg-turbo, {ours} of isopel"))
        }
    }
}
