//! What a file may cost. Everything here is checked before memory is allocated or scans are read.

use crate::error::LimitError;

/// Upper bounds on what one image may cost, with defaults that are safe for untrusted files.
///
/// ```
/// use isopel_core::Limits;
/// // A trusted scanner that makes gigapixel files:
/// let limits = Limits { max_pixels: 4_000_000_000, max_memory: 64 << 30, ..Limits::default() };
/// # assert!(limits.max_work > 0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Width times height of the stored image. Default: 268,435,456 (2^28).
    pub max_pixels: u64,
    /// Bytes of working memory and of output that isopel allocates for one image; a buffer of the caller's
    /// own is not counted. Default: 1 GiB.
    pub max_memory: u64,
    /// Sum over all scans of the blocks each visits. A progressive file may have thousands of empty scans.
    /// Default: 134,217,728 (2^27).
    pub max_work: u64,
    /// Bytes in APPn and COM segments. Default: 64 MiB.
    pub max_metadata: u64,
    /// Pixels per byte of file, for images above 16 megapixels. A whole Huffman-coded image has at least one
    /// bit per 8x8 block, hence at most 512 pixels per byte; more means that nearly all data is missing.
    /// Default: 512.
    pub max_pixels_per_byte: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_pixels: 1 << 28,
            max_memory: 1 << 30,
            max_work: 1 << 27,
            max_metadata: 64 << 20,
            max_pixels_per_byte: 512,
        }
    }
}

impl Limits {
    /// Images up to this size are decoded however little data they have.
    const ALWAYS_AFFORDABLE_PIXELS: u64 = 1 << 24;

    /// No limits at all, for trusted files.
    pub fn none() -> Self {
        Limits {
            max_pixels: u64::MAX,
            max_memory: u64::MAX,
            max_work: u64::MAX,
            max_metadata: u64::MAX,
            max_pixels_per_byte: u64::MAX,
        }
    }

    pub(crate) fn check_pixels(&self, pixels: u64, file_bytes: u64) -> Result<(), LimitError> {
        if pixels > self.max_pixels {
            return Err(LimitError::Pixels { pixels, limit: self.max_pixels });
        }
        let codable = file_bytes.saturating_mul(self.max_pixels_per_byte);
        if pixels > Self::ALWAYS_AFFORDABLE_PIXELS && pixels > codable {
            return Err(LimitError::PixelsPerByte { pixels, bytes: file_bytes });
        }
        Ok(())
    }

    /// For backends that allocate the output: an error if decoding needs more than [`Limits::max_memory`].
    ///
    /// # Errors
    /// [`LimitError::Memory`].
    pub fn check_memory(&self, bytes: u64) -> Result<(), LimitError> {
        if bytes > self.max_memory {
            return Err(LimitError::Memory { bytes, limit: self.max_memory });
        }
        Ok(())
    }

    pub(crate) fn check_work(&self, scans: usize, blocks: u64) -> Result<(), LimitError> {
        if blocks > self.max_work {
            return Err(LimitError::Work { scans, blocks, limit: self.max_work });
        }
        Ok(())
    }

    pub(crate) fn check_metadata(&self, bytes: u64) -> Result<(), LimitError> {
        if bytes > self.max_metadata {
            return Err(LimitError::Metadata { bytes, limit: self.max_metadata });
        }
        Ok(())
    }
}
