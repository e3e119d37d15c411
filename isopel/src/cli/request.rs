//! Options that become a request to the library, and how their values are read.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use isopel::{
    BackendChoice, DisplayRect, FormatRequest, Limits, Orientation, OrientationPolicy, PixelFormat, Rect, Region,
    Scale, StoredRect,
};

/// What a file may cost.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits (what one file may cost)")]
pub(crate) struct LimitArgs {
    /// Largest width times height. Default: 268435456 pixels
    #[arg(long, value_name = "PIXELS", conflicts_with = "no_limits")]
    max_pixels: Option<u64>,
    /// Most memory for one image, working memory and pixels, in bytes; K, M and G stand for KiB, MiB and GiB.
    /// Default: 1G
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, conflicts_with = "no_limits")]
    max_memory: Option<u64>,
    /// Most 8x8 blocks to visit over all scans; a progressive file visits each block many times.
    /// Default: 134217728 blocks
    #[arg(long, value_name = "BLOCKS", conflicts_with = "no_limits")]
    max_work: Option<u64>,
    /// No limits at all, for files that you trust
    #[arg(long)]
    no_limits: bool,
}

impl LimitArgs {
    pub(crate) fn limits(&self) -> Limits {
        if self.no_limits {
            return Limits::none();
        }
        let defaults = Limits::default();
        Limits {
            max_pixels: self.max_pixels.unwrap_or(defaults.max_pixels),
            max_memory: self.max_memory.unwrap_or(defaults.max_memory),
            max_work: self.max_work.unwrap_or(defaults.max_work),
            ..defaults
        }
    }
}

/// The grid that a region on the command line is counted in.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum SpaceChoice {
    /// The picture as shown, after its orientation
    Display,
    /// The picture as stored in the file
    Stored,
}

impl SpaceChoice {
    pub(crate) fn region(self, rect: Option<Rect>) -> Region {
        match (self, rect) {
            (_, None) => Region::Full,
            (SpaceChoice::Display, Some(rect)) => DisplayRect::from_rect(rect).into(),
            (SpaceChoice::Stored, Some(rect)) => StoredRect::from_rect(rect).into(),
        }
    }
}

pub(crate) fn parse_region(text: &str) -> Result<Rect, String> {
    let numbers: Option<Vec<u32>> = text.split(',').map(|number| number.trim().parse().ok()).collect();
    match numbers.as_deref() {
        Some(&[x, y, width, height]) => Ok(Rect::new(x, y, width, height)),
        _ => Err("a region is four whole numbers of pixels, X,Y,WIDTH,HEIGHT, such as 100,50,640,480".into()),
    }
}

pub(crate) fn parse_orientation(text: &str) -> Result<OrientationPolicy, String> {
    match text {
        "apply" => Ok(OrientationPolicy::Apply),
        "ignore" => Ok(OrientationPolicy::Ignore),
        _ => text
            .parse()
            .ok()
            .and_then(Orientation::from_exif)
            .map(OrientationPolicy::Set)
            .ok_or_else(|| "an orientation is apply, ignore or an EXIF value, 1 to 8".into()),
    }
}

pub(crate) fn format_parser() -> impl TypedValueParser<Value = FormatRequest> {
    let names = PixelFormat::ALL.map(PixelFormat::name);
    PossibleValuesParser::new(names.into_iter().chain(["source"])).map(|name| {
        let exactly = PixelFormat::ALL.into_iter().find(|format| format.name() == name);
        exactly.map_or(FormatRequest::Source, FormatRequest::Exactly)
    })
}

pub(crate) fn scale_parser() -> impl TypedValueParser<Value = Scale> {
    PossibleValuesParser::new(Scale::ALL.map(Scale::name)).try_map(|name| name.parse::<Scale>())
}

pub(crate) fn backend_parser() -> impl TypedValueParser<Value = BackendChoice> {
    PossibleValuesParser::new(BackendChoice::ALL.map(BackendChoice::name)).try_map(|name| name.parse::<BackendChoice>())
}

fn parse_bytes(text: &str) -> Result<u64, String> {
    let (number, shift) = match text.as_bytes().last() {
        Some(b'K' | b'k') => (&text[..text.len() - 1], 10),
        Some(b'M' | b'm') => (&text[..text.len() - 1], 20),
        Some(b'G' | b'g') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let number: Option<u64> = number.parse().ok();
    number
        .and_then(|number| number.checked_mul(1 << shift))
        .ok_or_else(|| "a size is a whole number of bytes, or of KiB, MiB or GiB with K, M or G behind it".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions() {
        assert_eq!(parse_region("1,2,30,40"), Ok(Rect::new(1, 2, 30, 40)));
        assert_eq!(parse_region("1, 2, 30, 40"), Ok(Rect::new(1, 2, 30, 40)));
        for wrong in ["", "1,2,3", "1,2,3,4,5", "-1,2,3,4", "1,2,3,x", "1,2,3,4294967296", "1.5,2,3,4"] {
            assert!(parse_region(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn orientations() {
        assert_eq!(parse_orientation("apply"), Ok(OrientationPolicy::Apply));
        assert_eq!(parse_orientation("ignore"), Ok(OrientationPolicy::Ignore));
        assert_eq!(parse_orientation("6"), Ok(OrientationPolicy::Set(Orientation::Rotate90)));
        for wrong in ["", "0", "9", "-1", "Apply", "90"] {
            assert!(parse_orientation(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn byte_sizes() {
        assert_eq!(parse_bytes("123"), Ok(123));
        assert_eq!(parse_bytes("2K"), Ok(2048));
        assert_eq!(parse_bytes("3m"), Ok(3 << 20));
        assert_eq!(parse_bytes("1G"), Ok(1 << 30));
        for wrong in ["", "G", "1.5G", "-1", "1T", "18446744073709551615K", "1é"] {
            assert!(parse_bytes(wrong).is_err(), "{wrong}");
        }
    }
}
