//! File formats that pixels are written in: PNG, PNM and bare bytes.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};
use std::path::Path;

use isopel::{FormatRequest, Image, PixelFormat};

/// What a file holds besides the pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Container {
    /// PNG; rgb8, rgba8 or gray8
    Png,
    /// Binary portable pixmap; rgb8 or gray8
    Ppm,
    /// Binary portable graymap; gray8
    Pgm,
    /// Portable anymap: as ppm
    Pnm,
    /// The bytes of the pixels, nothing else; any format
    Raw,
}

impl Container {
    /// By the path's extension.
    pub(crate) fn of_path(path: &Path) -> Option<Container> {
        let extension = path.extension()?;
        let all = [Container::Png, Container::Ppm, Container::Pgm, Container::Pnm, Container::Raw];
        all.into_iter().find(|container| extension.eq_ignore_ascii_case(container.extension()))
    }

    pub(crate) fn extension(self) -> &'static str {
        match self {
            Container::Png => "png",
            Container::Ppm => "ppm",
            Container::Pgm => "pgm",
            Container::Pnm => "pnm",
            Container::Raw => "raw",
        }
    }

    pub(crate) fn default_format(self) -> FormatRequest {
        match self {
            Container::Png | Container::Ppm | Container::Pnm => PixelFormat::Rgb8.into(),
            Container::Pgm => PixelFormat::Gray8.into(),
            Container::Raw => FormatRequest::Source,
        }
    }

    pub(crate) fn takes(self, format: PixelFormat) -> bool {
        self.formats().contains(&format)
    }

    fn formats(self) -> &'static [PixelFormat] {
        match self {
            Container::Png => &[PixelFormat::Rgb8, PixelFormat::Rgba8, PixelFormat::Gray8],
            Container::Ppm | Container::Pnm => &[PixelFormat::Rgb8, PixelFormat::Gray8],
            Container::Pgm => &[PixelFormat::Gray8],
            Container::Raw => &PixelFormat::ALL,
        }
    }

    /// Why it does not take a format, and what to do.
    pub(crate) fn refusal(self, format: PixelFormat) -> String {
        let names: Vec<_> = self.formats().iter().map(|format| format.name()).collect();
        let names = names.join(", ");
        match format {
            PixelFormat::Cmyk8 => {
                format!("{self} has no CMYK; it takes {names}: give --format rgb8 to convert, or write a .raw file")
            }
            _ => format!("{self} can't hold {format} pixels; it takes {names}, and raw takes every format"),
        }
    }

    /// Writes the image. `icc_profile` goes where there is a place for it and it fits the pixels.
    pub(crate) fn write(self, image: &Image, icc_profile: Option<&[u8]>, out: &mut dyn Write) -> io::Result<()> {
        let (format, size) = (image.report.layout.format(), image.size());
        match self {
            Container::Raw => out.write_all(&image.pixels),
            Container::Png => {
                let color = match format {
                    PixelFormat::Gray8 => png::ColorType::Grayscale,
                    PixelFormat::Rgba8 => png::ColorType::Rgba,
                    _ => png::ColorType::Rgb,
                };
                let profile = icc_profile.filter(|profile| profile_fits(profile, color));
                write_png(out, (size.width, size.height), color, &image.pixels, profile)
            }
            Container::Ppm | Container::Pgm | Container::Pnm => {
                let magic = if format == PixelFormat::Gray8 { "P5" } else { "P6" };
                write!(out, "{magic}\n{} {}\n255\n", size.width, size.height)?;
                out.write_all(&image.pixels)
            }
        }
    }
}

impl fmt::Display for Container {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.extension())
    }
}

/// Writes 8-bit pixels as a PNG file.
pub(crate) fn write_png(
    out: &mut dyn Write,
    (width, height): (u32, u32),
    color: png::ColorType,
    pixels: &[u8],
    icc_profile: Option<&[u8]>,
) -> io::Result<()> {
    let mut info = png::Info::with_size(width, height);
    info.color_type = color;
    info.bit_depth = png::BitDepth::Eight;
    info.icc_profile = icc_profile.map(Cow::Borrowed);
    let mut encoder = png::Encoder::with_info(out, info)?;
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    Ok(writer.finish()?)
}

/// Whether the profile describes pixels of this colour. A CMYK file's does not once they are RGB.
fn profile_fits(profile: &[u8], color: png::ColorType) -> bool {
    // ICC.1 7.2.6: the data colour space is at bytes 16 to 19.
    let expected = if color == png::ColorType::Grayscale { b"GRAY" } else { b"RGB " };
    profile.get(16..20) == Some(expected)
}
