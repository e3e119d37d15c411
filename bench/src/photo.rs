//! Photos of any size and kind, from one that is at hand.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// The photo to make.
#[derive(Args)]
pub struct Photo {
    /// The JPEG file to start from.
    source: PathBuf,
    /// The JPEG file to write.
    output: PathBuf,
    /// Width in pixels.
    width: usize,
    /// Height in pixels.
    height: usize,
    /// JPEG quality, 1 to 100.
    #[arg(long, default_value_t = 85)]
    quality: i32,
    /// Chroma subsampling.
    #[arg(long, value_enum, default_value_t = Sampling::S420)]
    sampling: Sampling,
    /// Progressive coding.
    #[arg(long)]
    progressive: bool,
}

/// How many samples chroma has.
#[derive(Clone, Copy, ValueEnum)]
pub enum Sampling {
    /// As many as luma.
    #[value(name = "444")]
    S444,
    /// Half as many across.
    #[value(name = "422")]
    S422,
    /// Half as many across and down.
    #[value(name = "420")]
    S420,
    /// None: gray.
    Gray,
}

#[cfg(feature = "libjpeg-turbo")]
pub fn run(photo: &Photo) -> Result<(), String> {
    use turbojpeg::{Compressor, Image, PixelFormat, Subsamp};
    let Photo { width, height, .. } = *photo;
    let source =
        turbojpeg::decompress(&crate::read(&photo.source)?, PixelFormat::RGB).map_err(|error| error.to_string())?;
    // Mirrored tiles join without edges.
    let mirrored = |position: usize, size: usize| match (position / size % 2, position % size) {
        (0, offset) => offset,
        (_, offset) => size - 1 - offset,
    };
    let mut pixels = vec![0; width * height * 3];
    for (y, row) in pixels.chunks_exact_mut(width * 3).enumerate() {
        let from = mirrored(y, source.height) * source.pitch;
        for (x, pixel) in row.chunks_exact_mut(3).enumerate() {
            let from = from + mirrored(x, source.width) * 3;
            pixel.copy_from_slice(&source.pixels[from..from + 3]);
        }
    }
    let image = Image { pixels: pixels.as_slice(), width, pitch: width * 3, height, format: PixelFormat::RGB };
    let sampling = match photo.sampling {
        Sampling::S444 => Subsamp::None,
        Sampling::S422 => Subsamp::Sub2x1,
        Sampling::S420 => Subsamp::Sub2x2,
        Sampling::Gray => Subsamp::Gray,
    };
    let compress = || {
        let mut compressor = Compressor::new()?;
        compressor.set_quality(photo.quality)?;
        compressor.set_subsamp(sampling)?;
        compressor.set_progressive(photo.progressive)?;
        compressor.compress_to_vec(image)
    };
    let jpeg = compress().map_err(|error: turbojpeg::Error| error.to_string())?;
    std::fs::write(&photo.output, jpeg).map_err(|error| format!("{}: {error}", photo.output.display()))
}

#[cfg(not(feature = "libjpeg-turbo"))]
pub fn run(_: &Photo) -> Result<(), String> {
    Err("making photos needs an encoder; build with --features libjpeg-turbo".into())
}
