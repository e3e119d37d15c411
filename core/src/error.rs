//! Errors by the actor that has to act: the file ([`FormatError`]), this decoder ([`Unsupported`]),
//! the configured limits ([`LimitError`]) or the caller ([`MisuseError`]).

use std::fmt;

use crate::codestream::Marker;
use crate::geometry::RegionError;
use crate::pixels::PixelFormat;
use crate::warning::Warning;

/// Why an image was not decoded.
///
/// Every error has a short stable [`code`](Error::code) and, where bytes of the file are to blame, the
/// byte offset.
///
/// ```
/// use isopel_core::{Codestream, Error, Limits};
/// let error = Codestream::parse(b"GIF89a", &Limits::default()).unwrap_err();
/// assert_eq!(error.code(), "not-jpeg");
/// assert_eq!(error.offset(), Some(0));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes are not a valid JPEG file.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// The file is valid, but uses a part of the standard that isopel does not decode.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// The file would cost more than the configured [`Limits`](crate::Limits) allow.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// The request does not fit the image or the buffer.
    #[error(transparent)]
    Misuse(#[from] MisuseError),
    /// The pixels were damaged and [`Strictness::Strict`](crate::Strictness) was asked for.
    #[error("{0}; decode with Strictness::Lenient to keep what can be read")]
    Damaged(Warning),
    /// The backend's device failed; the file may be fine. Another backend can still decode it.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// A bug in isopel: decoding panicked. Other images of the batch are not affected.
    #[error("isopel failed: {0}; please report this with the file")]
    Internal(String),
}

impl Error {
    /// A short stable name of the kind of error, such as `bad-huffman-table` or `limit-pixels`.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Format(error) => error.kind.code(),
            Error::Unsupported(error) => error.code(),
            Error::Limit(error) => error.code(),
            Error::Misuse(error) => error.code(),
            Error::Damaged(_) => "damaged",
            Error::Backend(error) => error.kind.code(),
            Error::Internal(_) => "internal",
        }
    }

    /// The byte offset in the file, where one byte or marker is to blame.
    pub fn offset(&self) -> Option<usize> {
        match self {
            Error::Format(error) => Some(error.offset),
            Error::Damaged(warning) => warning.offset(),
            Error::Unsupported(error) => error.offset(),
            Error::Limit(_) | Error::Misuse(_) | Error::Backend(_) | Error::Internal(_) => None,
        }
    }

    /// The marker whose segment is to blame, if any.
    pub fn marker(&self) -> Option<Marker> {
        match self {
            Error::Format(error) => error.marker,
            Error::Damaged(warning) => warning.marker(),
            Error::Unsupported(error) => error.marker(),
            Error::Limit(_) | Error::Misuse(_) | Error::Backend(_) | Error::Internal(_) => None,
        }
    }
}

impl From<RegionError> for Error {
    fn from(error: RegionError) -> Self {
        Error::Misuse(MisuseError::Region(error))
    }
}

/// What is wrong in the file, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatError {
    kind: FormatErrorKind,
    offset: usize,
    marker: Option<Marker>,
}

impl FormatError {
    pub(crate) fn new(kind: FormatErrorKind, offset: usize, marker: Option<Marker>) -> Self {
        FormatError { kind, offset, marker }
    }

    /// What is wrong.
    pub fn kind(&self) -> &FormatErrorKind {
        &self.kind
    }

    /// Byte offset in the file of the marker or byte to blame.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The marker whose segment is to blame.
    pub fn marker(&self) -> Option<Marker> {
        self.marker
    }
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at byte {}", self.kind, self.offset)?;
        if let Some(marker) = self.marker {
            write!(f, ", in {marker}")?;
        }
        f.write_str(")")
    }
}

impl std::error::Error for FormatError {}

/// The kinds of invalid file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatErrorKind {
    /// No bytes at all.
    #[error("the file is empty")]
    Empty,
    /// The first two bytes are not FF D8.
    #[error("not a JPEG file: it does not start with FF D8")]
    NotJpeg,
    /// The file ends inside the header.
    #[error("the file ends before the image data; was it downloaded completely?")]
    Truncated,
    /// A second SOI inside the image.
    #[error("a second start-of-image marker inside the image")]
    DuplicateSoi,
    /// A second frame header.
    #[error("a second frame header (SOF); an image has one")]
    DuplicateSof,
    /// EOI came before any scan.
    #[error("the file holds no image, only tables")]
    NoImage,
    /// A scan before the frame header.
    #[error("a scan (SOS) before the frame header (SOF)")]
    ScanBeforeFrame,
    /// A segment's length does not fit its contents.
    #[error("the segment's length does not fit its contents")]
    BadLength,
    /// Width, height or component count is 0.
    #[error("the image has a zero width or height")]
    ZeroDimension,
    /// A Huffman table that is not a prefix code.
    #[error("the Huffman table is not a valid prefix code")]
    BadHuffmanTable,
    /// A table selector outside 0..=3.
    #[error("table selector {selector} is out of range; 0 to 3 are allowed")]
    BadTableSelector {
        /// The selector in the file.
        selector: u8,
    },
    /// A scan uses a table that no segment defined.
    #[error("the scan uses {class} table {selector}, which the file does not define")]
    MissingTable {
        /// "quantization", "DC Huffman" or "AC Huffman".
        class: &'static str,
        /// The selector in the file.
        selector: u8,
    },
    /// A sampling factor outside 1..=4.
    #[error("sampling factors must be 1 to 4")]
    BadSampling,
    /// More than 10 blocks in an interleaved MCU.
    #[error("an interleaved scan may have at most 10 blocks per MCU, this one has {blocks}")]
    McuTooLarge {
        /// Blocks per MCU of the scan.
        blocks: u32,
    },
    /// A scan names a component that the frame does not have, or in another order.
    #[error("the scan names component {id}, which the frame does not have at this place")]
    BadComponent {
        /// The component identifier in the scan header.
        id: u8,
    },
    /// Spectral selection or successive approximation parameters that T.81 does not allow.
    #[error("progressive parameters Ss={ss} Se={se} Ah={ah} Al={al} are not allowed")]
    BadProgression {
        /// Start of spectral selection.
        ss: u8,
        /// End of spectral selection.
        se: u8,
        /// Successive approximation, high.
        ah: u8,
        /// Successive approximation, low.
        al: u8,
    },
    /// A DC predictor left the 32-bit range.
    #[error("the DC coefficients grow without bound")]
    DcOverflow,
    /// A marker that has no meaning in a JPEG image.
    #[error("unexpected marker")]
    UnexpectedMarker,
}

impl FormatErrorKind {
    fn code(&self) -> &'static str {
        match self {
            FormatErrorKind::Empty => "empty",
            FormatErrorKind::NotJpeg => "not-jpeg",
            FormatErrorKind::Truncated => "truncated",
            FormatErrorKind::DuplicateSoi => "duplicate-soi",
            FormatErrorKind::DuplicateSof => "duplicate-sof",
            FormatErrorKind::NoImage => "no-image",
            FormatErrorKind::ScanBeforeFrame => "bad-order",
            FormatErrorKind::BadLength => "bad-length",
            FormatErrorKind::ZeroDimension => "zero-dimension",
            FormatErrorKind::BadHuffmanTable => "bad-huffman-table",
            FormatErrorKind::BadTableSelector { .. } => "bad-table-selector",
            FormatErrorKind::MissingTable { .. } => "missing-table",
            FormatErrorKind::BadSampling | FormatErrorKind::McuTooLarge { .. } => "bad-sampling",
            FormatErrorKind::BadComponent { .. } => "bad-component",
            FormatErrorKind::BadProgression { .. } => "bad-progression",
            FormatErrorKind::DcOverflow => "dc-overflow",
            FormatErrorKind::UnexpectedMarker => "unexpected-marker",
        }
    }
}

/// A part of the standard that isopel does not decode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unsupported {
    /// A coding process other than Huffman-coded baseline, extended sequential or progressive.
    #[error(
        "{process} is not supported (frame header {marker} at byte {offset}); convert the file with its own tool first"
    )]
    Process {
        /// The coding process, named.
        process: UnsupportedProcess,
        /// The frame header's marker.
        marker: Marker,
        /// Byte offset of the marker.
        offset: usize,
    },
    /// A sample precision other than 8 bits.
    #[error("{bits} bits per sample are not supported, only 8 (frame header at byte {offset})")]
    Precision {
        /// Bits per sample.
        bits: u8,
        /// Byte offset of the frame header.
        offset: usize,
    },
    /// A component count that has no colour.
    #[error("{count} components are not supported as pixels; 1, 3 and 4 are, and PixelFormat::ComponentPlanes gives 2")]
    Components {
        /// Components in the frame.
        count: u8,
    },
    /// Sampling factors that do not divide each other.
    #[error(
        "component {component}'s sampling factors do not divide the largest ones; only PixelFormat::ComponentPlanes can give such an image"
    )]
    Sampling {
        /// Index of the component in the frame.
        component: u8,
    },
    /// A conversion between colour models that would have to be invented.
    #[error("{format} pixels can't be made from a {color} image")]
    Conversion {
        /// The colour model of the file, named.
        color: &'static str,
        /// The format asked for.
        format: PixelFormat,
    },
}

impl Unsupported {
    fn code(&self) -> &'static str {
        match self {
            Unsupported::Process { process, .. } => process.code(),
            Unsupported::Precision { .. } => "unsupported-precision",
            Unsupported::Components { .. } => "unsupported-components",
            Unsupported::Sampling { .. } => "unsupported-sampling",
            Unsupported::Conversion { .. } => "unsupported-conversion",
        }
    }

    fn offset(&self) -> Option<usize> {
        match self {
            Unsupported::Process { offset, .. } | Unsupported::Precision { offset, .. } => Some(*offset),
            _ => None,
        }
    }

    fn marker(&self) -> Option<Marker> {
        match self {
            Unsupported::Process { marker, .. } => Some(*marker),
            _ => None,
        }
    }
}

/// The coding processes of T.81 and its relatives that isopel recognises and refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnsupportedProcess {
    /// Arithmetic coding (SOF9, SOF10).
    Arithmetic,
    /// Lossless coding (SOF3, SOF11).
    Lossless,
    /// Hierarchical coding (DHP, SOF5-7, SOF13-15).
    Hierarchical,
    /// JPEG-LS (SOF55).
    JpegLs,
    /// Any other frame type or extension.
    Reserved,
}

impl UnsupportedProcess {
    fn code(self) -> &'static str {
        match self {
            UnsupportedProcess::Arithmetic => "unsupported-arithmetic",
            UnsupportedProcess::Lossless => "unsupported-lossless",
            UnsupportedProcess::Hierarchical => "unsupported-hierarchical",
            UnsupportedProcess::JpegLs | UnsupportedProcess::Reserved => "unsupported-process",
        }
    }
}

impl fmt::Display for UnsupportedProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            UnsupportedProcess::Arithmetic => "arithmetic coding",
            UnsupportedProcess::Lossless => "lossless JPEG",
            UnsupportedProcess::Hierarchical => "hierarchical JPEG",
            UnsupportedProcess::JpegLs => "JPEG-LS",
            UnsupportedProcess::Reserved => "this reserved JPEG process",
        })
    }
}

/// A limit that the file would break.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LimitError {
    /// More pixels than [`Limits::max_pixels`](crate::Limits).
    #[error("the image has {pixels} pixels, the limit is {limit}; raise Limits::max_pixels if you trust the file")]
    Pixels {
        /// Width times height.
        pixels: u64,
        /// The limit in force.
        limit: u64,
    },
    /// More working and output memory than [`Limits::max_memory`](crate::Limits).
    #[error("decoding needs {bytes} bytes, the limit is {limit}; raise Limits::max_memory if you trust the file")]
    Memory {
        /// Bytes needed.
        bytes: u64,
        /// The limit in force.
        limit: u64,
    },
    /// More blocks over all scans than [`Limits::max_work`](crate::Limits).
    #[error(
        "the {scans} scans have {blocks} blocks to visit, the limit is {limit}; raise Limits::max_work if you trust the file"
    )]
    Work {
        /// Scans in the file.
        scans: usize,
        /// Sum over the scans of their blocks.
        blocks: u64,
        /// The limit in force.
        limit: u64,
    },
    /// More metadata than [`Limits::max_metadata`](crate::Limits).
    #[error(
        "the metadata segments hold {bytes} bytes, the limit is {limit}; raise Limits::max_metadata if you trust the file"
    )]
    Metadata {
        /// Bytes in APPn and COM segments.
        bytes: u64,
        /// The limit in force.
        limit: u64,
    },
    /// A large picture from hardly any data: it claims more pixels than its bytes can code.
    #[error(
        "{pixels} pixels can't be coded in {bytes} bytes; raise Limits::max_pixels_per_byte to decode what there is"
    )]
    PixelsPerByte {
        /// Width times height.
        pixels: u64,
        /// Bytes in the file.
        bytes: u64,
    },
}

impl LimitError {
    fn code(&self) -> &'static str {
        match self {
            LimitError::Pixels { .. } => "limit-pixels",
            LimitError::Memory { .. } => "limit-memory",
            LimitError::Work { .. } => "limit-work",
            LimitError::Metadata { .. } => "limit-metadata",
            LimitError::PixelsPerByte { .. } => "limit-pixels-per-byte",
        }
    }
}

/// A backend's device failed while it worked on a job.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the {backend} backend failed: {kind}: {message}; decode on the CPU instead")]
pub struct BackendError {
    /// The backend's name.
    pub backend: &'static str,
    /// What happened.
    pub kind: BackendErrorKind,
    /// What the driver or library said.
    pub message: String,
}

/// The ways in which a device fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BackendErrorKind {
    /// The device was lost or removed.
    DeviceLost,
    /// The device has no memory left.
    OutOfMemory,
    /// Anything else.
    Failed,
}

impl BackendErrorKind {
    fn code(self) -> &'static str {
        match self {
            BackendErrorKind::DeviceLost => "device-lost",
            BackendErrorKind::OutOfMemory => "device-out-of-memory",
            BackendErrorKind::Failed => "device-failed",
        }
    }
}

impl fmt::Display for BackendErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BackendErrorKind::DeviceLost => "the device was lost",
            BackendErrorKind::OutOfMemory => "the device is out of memory",
            BackendErrorKind::Failed => "the device reported an error",
        })
    }
}

/// A request that does not fit the image or the caller's buffer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MisuseError {
    /// The region is empty or outside the image.
    #[error(transparent)]
    Region(#[from] RegionError),
    /// The row stride is shorter than a row.
    #[error("a row stride of {stride} bytes is too short for rows of {row} bytes")]
    Stride {
        /// The caller's stride.
        stride: usize,
        /// Bytes in one row.
        row: usize,
    },
    /// The buffer would be larger than this machine can address.
    #[error("a row stride of {stride} bytes makes the buffer larger than this machine can address")]
    LayoutTooLarge {
        /// The caller's stride.
        stride: usize,
    },
    /// The layout does not come from the plan that is decoded.
    #[error("the layout is for other pixels than the plan's; start from DecodePlan::layout")]
    LayoutMismatch,
    /// The index was made for another file.
    #[error("the index was made for another file; build it anew with CodestreamIndex::build")]
    IndexMismatch,
    /// The target memory does not suit the backend or the pixels.
    #[error("the target can't take these pixels: {0}")]
    Target(String),
    /// The output buffer is too short.
    #[error("the output buffer has {len} bytes, the pixels need {needed}")]
    BufferTooShort {
        /// Length of the caller's buffer.
        len: usize,
        /// Bytes needed.
        needed: usize,
    },
}

impl MisuseError {
    fn code(&self) -> &'static str {
        match self {
            MisuseError::Region(RegionError::Empty { .. }) => "region-empty",
            MisuseError::Region(_) => "region-out-of-bounds",
            MisuseError::Stride { .. } => "stride-too-short",
            MisuseError::LayoutTooLarge { .. } => "layout-too-large",
            MisuseError::LayoutMismatch => "layout-mismatch",
            MisuseError::IndexMismatch => "index-mismatch",
            MisuseError::Target(_) => "target-unsuitable",
            MisuseError::BufferTooShort { .. } => "buffer-too-short",
        }
    }
}

/// Why bytes are no [`CodestreamIndex`](crate::CodestreamIndex) that can be used.
///
/// ```
/// use isopel_core::{CodestreamIndex, IndexError};
/// assert_eq!(CodestreamIndex::from_bytes(b"JFIF"), Err(IndexError::NotAnIndex));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// The bytes don't begin as an index does.
    #[error("the bytes are no index of a JPEG file; make one with CodestreamIndex::build")]
    NotAnIndex,
    /// The index has a form that this version of isopel does not read.
    #[error("the index has version {found}, not {supported}; build it anew with CodestreamIndex::build")]
    Version {
        /// The version of the index.
        found: u8,
        /// The version that is read.
        supported: u8,
    },
    /// The end of the index is missing, or there is something behind it.
    #[error("the index ends in the middle of an entry, after {len} bytes; build it anew with CodestreamIndex::build")]
    Cut {
        /// Bytes that there are.
        len: usize,
    },
    /// An entry that no file has.
    #[error("the index's entry at byte {offset} is damaged; build it anew with CodestreamIndex::build")]
    Impossible {
        /// Where the entry is, counted from the index's first byte.
        offset: usize,
    },
}
