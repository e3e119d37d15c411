//! Photos of any size, from one that is at hand.

use std::path::Path;

#[cfg(feature = "libjpeg-turbo")]
pub fn run(source: &Path, output: &Path, width: usize, height: usize, quality: i32) -> Result<(), String> {
    use turbojpeg::{PixelFormat, Subsamp};
    let photo = turbojpeg::decompress(&crate::read(source)?, PixelFormat::RGB).map_err(|error| error.to_string())?;
    // Mirrored tiles join without edges.
    let mirrored = |position: usize, size: usize| match (position / size % 2, position % size) {
        (0, offset) => offset,
        (_, offset) => size - 1 - offset,
    };
    let mut pixels = vec![0; width * height * 3];
    for (y, row) in pixels.chunks_exact_mut(width * 3).enumerate() {
        let from = mirrored(y, photo.height) * photo.pitch;
        for (x, pixel) in row.chunks_exact_mut(3).enumerate() {
            let from = from + mirrored(x, photo.width) * 3;
            pixel.copy_from_slice(&photo.pixels[from..from + 3]);
        }
    }
    let image =
        turbojpeg::Image { pixels: pixels.as_slice(), width, pitch: width * 3, height, format: PixelFormat::RGB };
    let jpeg = turbojpeg::compress(image, quality, Subsamp::Sub2x2).map_err(|error| error.to_string())?;
    std::fs::write(output, &*jpeg).map_err(|error| format!("{}: {error}", output.display()))
}

#[cfg(not(feature = "libjpeg-turbo"))]
pub fn run(_: &Path, _: &Path, _: usize, _: usize, _: i32) -> Result<(), String> {
    Err("making photos needs an encoder; build with --features libjpeg-turbo".into())
}
