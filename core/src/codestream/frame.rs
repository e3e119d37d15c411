//! The frame header, SOFn (T.81 B.2.2).

use std::fmt;

use super::marker::Marker;
use super::reader::Segment;
use crate::error::{Error, FormatErrorKind, Unsupported, UnsupportedProcess};
use crate::geometry::Size;

/// How coefficients are coded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CodingProcess {
    /// SOF0: baseline sequential DCT, Huffman coding.
    Baseline,
    /// SOF1: extended sequential DCT, Huffman coding.
    ExtendedSequential,
    /// SOF2: progressive DCT, Huffman coding.
    Progressive,
}

impl fmt::Display for CodingProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CodingProcess::Baseline => "baseline",
            CodingProcess::ExtendedSequential => "extended sequential",
            CodingProcess::Progressive => "progressive",
        })
    }
}

/// Sampling factors of a component: samples per MCU, relative to the other components.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sampling {
    /// Hi, 1..=4.
    pub horizontal: u8,
    /// Vi, 1..=4.
    pub vertical: u8,
}

impl fmt::Display for Sampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.horizontal, self.vertical)
    }
}

/// One component of the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Component {
    /// Ci, the identifier by which scans name it.
    pub id: u8,
    /// Hi and Vi.
    pub sampling: Sampling,
    /// Tqi, which quantization table it uses.
    pub quant_selector: u8,
}

/// The frame: size, coding process and components.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Byte offset of the SOFn marker.
    pub offset: usize,
    /// The coding process.
    pub process: CodingProcess,
    /// Bits per sample; 8.
    pub precision: u8,
    /// Width and height in pixels, as stored. A height that SOFn leaves to DNL is filled in.
    pub size: Size,
    /// One to four components.
    pub components: Vec<Component>,
}

impl Frame {
    /// Recognises a frame header among markers, or a frame type that isopel does not decode.
    pub(crate) fn process_of(marker: Marker, offset: usize) -> Option<Result<CodingProcess, Unsupported>> {
        let unsupported = |process| Some(Err(Unsupported::Process { process, marker, offset }));
        match marker.0 {
            0xC0 => Some(Ok(CodingProcess::Baseline)),
            0xC1 => Some(Ok(CodingProcess::ExtendedSequential)),
            0xC2 => Some(Ok(CodingProcess::Progressive)),
            0xC3 | 0xCB => unsupported(UnsupportedProcess::Lossless),
            0xC9 | 0xCA => unsupported(UnsupportedProcess::Arithmetic),
            0xC5..=0xC7 | 0xCD..=0xCF | 0xDE => unsupported(UnsupportedProcess::Hierarchical),
            0xF7 => unsupported(UnsupportedProcess::JpegLs),
            0xC8 | 0xDF | 0xF0..=0xF6 | 0xF8..=0xFD => unsupported(UnsupportedProcess::Reserved),
            _ => None,
        }
    }

    /// Reads the segment. A height of 0 is let through: DNL may define it.
    pub(crate) fn read(segment: &Segment, process: CodingProcess) -> Result<Frame, Error> {
        let bad_length = || segment.error(FormatErrorKind::BadLength);
        let (header, components) = segment.contents.split_at_checked(6).ok_or_else(bad_length)?;
        let precision = header[0];
        let height = u32::from(u16::from_be_bytes([header[1], header[2]]));
        let width = u32::from(u16::from_be_bytes([header[3], header[4]]));
        let count = header[5];
        if width == 0 || count == 0 {
            return Err(segment.error(FormatErrorKind::ZeroDimension).into());
        }
        if components.len() != 3 * usize::from(count) {
            return Err(bad_length().into());
        }
        if precision != 8 {
            return Err(Unsupported::Precision { bits: precision, offset: segment.offset }.into());
        }
        if count > 4 {
            return Err(Unsupported::Components { count }.into());
        }
        let components = components
            .chunks_exact(3)
            .map(|bytes| Component {
                id: bytes[0],
                sampling: Sampling { horizontal: bytes[1] >> 4, vertical: bytes[1] & 15 },
                quant_selector: bytes[2],
            })
            .collect::<Vec<_>>();
        let allowed = 1..=4;
        if components.iter().any(|component| {
            !allowed.contains(&component.sampling.horizontal) || !allowed.contains(&component.sampling.vertical)
        }) {
            return Err(segment.error(FormatErrorKind::BadSampling).into());
        }
        let size = Size::new(width, height);
        Ok(Frame { offset: segment.offset, process, precision, size, components })
    }

    /// Whether scans refine each other.
    pub fn is_progressive(&self) -> bool {
        self.process == CodingProcess::Progressive
    }

    /// The largest Hi and Vi of all components.
    pub fn max_sampling(&self) -> Sampling {
        let largest = |factor: fn(&Component) -> u8| self.components.iter().map(factor).max().unwrap_or(1);
        Sampling {
            horizontal: largest(|component| component.sampling.horizontal),
            vertical: largest(|component| component.sampling.vertical),
        }
    }

    /// Size in samples of a component's plane: ceil(X * Hi / Hmax) by ceil(Y * Vi / Vmax) (T.81 A.1.1).
    pub fn plane_size(&self, component: usize) -> Size {
        let (max, sampling) = (self.max_sampling(), self.components[component].sampling);
        Size::new(
            (self.size.width * u32::from(sampling.horizontal)).div_ceil(u32::from(max.horizontal)),
            (self.size.height * u32::from(sampling.vertical)).div_ceil(u32::from(max.vertical)),
        )
    }

    /// Size in 8x8 blocks of a component's plane, without the padding of interleaved MCUs.
    pub fn blocks(&self, component: usize) -> Size {
        let plane = self.plane_size(component);
        Size::new(plane.width.div_ceil(8), plane.height.div_ceil(8))
    }

    /// Size of the image in interleaved MCUs.
    pub fn mcus(&self) -> Size {
        let max = self.max_sampling();
        Size::new(
            self.size.width.div_ceil(8 * u32::from(max.horizontal)),
            self.size.height.div_ceil(8 * u32::from(max.vertical)),
        )
    }
}
