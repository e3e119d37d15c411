//! The decoders: each turns a file into packed RGB, or gray for gray files, in memory that it allocates.

use std::path::Path;
use std::sync::OnceLock;

use isopel_core::cpu::{self, CpuBackend};
use isopel_core::{Codestream, DecodeOptions, DecodePlan, Error, FormatRequest, Image, OrientationPolicy};

/// A decoder and its name.
pub struct Contestant {
    pub name: &'static str,
    pub decode: fn(&[u8]) -> Result<Vec<u8>, String>,
}

/// The threads of [`isopel_parallel`].
static POOL: OnceLock<CpuBackend> = OnceLock::new();

/// [`all`], and isopel with this many threads on each image, if it is more than one.
pub fn all_and_parallel(threads: usize) -> Vec<Contestant> {
    let mut contestants = all();
    if threads > 1 {
        POOL.get_or_init(|| CpuBackend::new(threads));
        contestants.insert(1, Contestant { name: "isopel parallel", decode: isopel_parallel });
    }
    contestants
}

/// All decoders that were built in, with one thread; isopel comes first.
pub fn all() -> Vec<Contestant> {
    vec![
        Contestant { name: "isopel", decode: isopel },
        #[cfg(feature = "libjpeg-turbo")]
        Contestant { name: "libjpeg-turbo", decode: libjpeg_turbo },
        Contestant { name: "zune-jpeg", decode: zune_jpeg },
        #[cfg(feature = "others")]
        Contestant { name: "libjpeg-turbo-rs", decode: libjpeg_turbo_rs },
        #[cfg(feature = "others")]
        Contestant { name: "jpeg-decoder", decode: jpeg_decoder },
    ]
}

/// The decoder of this name.
pub fn named(name: &str) -> Result<Contestant, String> {
    let names = || all().iter().map(|contestant| contestant.name).collect::<Vec<_>>().join(", ");
    let found = all().into_iter().find(|contestant| contestant.name == name);
    found.ok_or_else(|| format!("no decoder is called {name}; there are {}", names()))
}

/// Decodes a file so many times.
pub fn decode(name: &str, file: &Path, times: usize) -> Result<(), String> {
    let (contestant, bytes) = (named(name)?, crate::read(file)?);
    for _ in 0..times {
        std::hint::black_box((contestant.decode)(std::hint::black_box(&bytes))?);
    }
    Ok(())
}

fn isopel(bytes: &[u8]) -> Result<Vec<u8>, String> {
    isopel_with(bytes, cpu::decode)
}

fn isopel_parallel(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let pool = POOL.get().expect("started with the contestant");
    isopel_with(bytes, |plan| pool.install(|| cpu::decode_parallel(plan)))
}

fn isopel_with(bytes: &[u8], decode: impl FnOnce(&DecodePlan) -> Result<Image, Error>) -> Result<Vec<u8>, String> {
    let options = DecodeOptions::default().orientation(OrientationPolicy::Ignore).format(FormatRequest::Source);
    let image = Codestream::parse(bytes, &options.limits)
        .and_then(|codestream| DecodePlan::new(&codestream, &options).and_then(|plan| decode(&plan)));
    image.map(|image| image.pixels).map_err(|error| error.to_string())
}

fn zune_jpeg(bytes: &[u8]) -> Result<Vec<u8>, String> {
    use zune_core::bytestream::ZCursor;
    use zune_core::colorspace::ColorSpace;
    use zune_core::options::DecoderOptions;
    let mut decoder = zune_jpeg::JpegDecoder::new(ZCursor::new(bytes));
    decoder.decode_headers().map_err(|error| error.to_string())?;
    let gray = decoder.input_colorspace() == Some(ColorSpace::Luma);
    let out = if gray { ColorSpace::Luma } else { ColorSpace::RGB };
    decoder.set_options(DecoderOptions::default().jpeg_set_out_colorspace(out).set_strict_mode(false));
    decoder.decode().map_err(|error| error.to_string())
}

#[cfg(feature = "libjpeg-turbo")]
fn libjpeg_turbo(bytes: &[u8]) -> Result<Vec<u8>, String> {
    use turbojpeg::{Colorspace, PixelFormat};
    let header = turbojpeg::read_header(bytes).map_err(|error| error.to_string())?;
    let format = if header.colorspace == Colorspace::Gray { PixelFormat::GRAY } else { PixelFormat::RGB };
    turbojpeg::decompress(bytes, format).map(|image| image.pixels).map_err(|error| error.to_string())
}

#[cfg(feature = "others")]
fn libjpeg_turbo_rs(bytes: &[u8]) -> Result<Vec<u8>, String> {
    use libjpeg_turbo_rs::PixelFormat;
    let header = Codestream::parse_header(bytes, &Default::default()).map_err(|error| error.to_string())?;
    let format = if header.frame().components.len() == 1 { PixelFormat::Grayscale } else { PixelFormat::Rgb };
    libjpeg_turbo_rs::decompress_to(bytes, format).map(|image| image.data).map_err(|error| error.to_string())
}

#[cfg(feature = "others")]
fn jpeg_decoder(bytes: &[u8]) -> Result<Vec<u8>, String> {
    jpeg_decoder::Decoder::new(bytes).decode().map_err(|error| error.to_string())
}
