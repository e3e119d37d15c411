//! Marker codes (T.81 table B.1).

use std::fmt;

/// The second byte of a marker; the first is FF. Displays as the standard's symbol, such as `SOF0`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Marker(pub u8);

impl Marker {
    /// Temporary, for arithmetic coding; has no segment.
    pub const TEM: Marker = Marker(0x01);
    /// Baseline DCT frame.
    pub const SOF0: Marker = Marker(0xC0);
    /// Extended sequential DCT frame.
    pub const SOF1: Marker = Marker(0xC1);
    /// Progressive DCT frame.
    pub const SOF2: Marker = Marker(0xC2);
    /// Huffman tables.
    pub const DHT: Marker = Marker(0xC4);
    /// Arithmetic coding conditioning.
    pub const DAC: Marker = Marker(0xCC);
    /// Start of image.
    pub const SOI: Marker = Marker(0xD8);
    /// End of image.
    pub const EOI: Marker = Marker(0xD9);
    /// Start of scan.
    pub const SOS: Marker = Marker(0xDA);
    /// Quantization tables.
    pub const DQT: Marker = Marker(0xDB);
    /// Number of lines.
    pub const DNL: Marker = Marker(0xDC);
    /// Restart interval.
    pub const DRI: Marker = Marker(0xDD);
    /// Comment.
    pub const COM: Marker = Marker(0xFE);

    /// The restart number, 0..=7, of a restart marker.
    pub fn restart_number(self) -> Option<u8> {
        (0xD0..=0xD7).contains(&self.0).then(|| self.0 - 0xD0)
    }

    /// The number, 0..=15, of an application segment.
    pub fn app_number(self) -> Option<u8> {
        (0xE0..=0xEF).contains(&self.0).then(|| self.0 - 0xE0)
    }

    /// Codes below SOF0 are reserved (or TEM) and have no meaning inside scan data.
    pub(crate) fn is_below_sof(self) -> bool {
        self.0 < 0xC0
    }
}

impl fmt::Display for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Marker::TEM => f.write_str("TEM"),
            Marker::DHT => f.write_str("DHT"),
            Marker::DAC => f.write_str("DAC"),
            Marker::SOI => f.write_str("SOI"),
            Marker::EOI => f.write_str("EOI"),
            Marker::SOS => f.write_str("SOS"),
            Marker::DQT => f.write_str("DQT"),
            Marker::DNL => f.write_str("DNL"),
            Marker::DRI => f.write_str("DRI"),
            Marker::COM => f.write_str("COM"),
            Marker(0xC8) => f.write_str("JPG"),
            Marker(0xDE) => f.write_str("DHP"),
            Marker(0xDF) => f.write_str("EXP"),
            Marker(0xF7) => f.write_str("SOF55"),
            Marker(code @ 0xC0..=0xCF) => write!(f, "SOF{}", code - 0xC0),
            Marker(code @ 0xD0..=0xD7) => write!(f, "RST{}", code - 0xD0),
            Marker(code @ 0xE0..=0xEF) => write!(f, "APP{}", code - 0xE0),
            Marker(code) => write!(f, "marker FF {code:02X}"),
        }
    }
}

impl fmt::Debug for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
