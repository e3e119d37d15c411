//! A cursor over the file that finds markers and cuts out their segments.

use super::marker::Marker;
use crate::error::{FormatError, FormatErrorKind};

/// Reads a JPEG file marker by marker. Never reads past the end.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    position: usize,
}

/// A marker found by [`Reader::next_marker`].
pub(crate) struct FoundMarker {
    pub(crate) marker: Marker,
    /// Offset of the code byte's FF.
    pub(crate) offset: usize,
    /// Bytes before it that belong to no segment; FF fill bytes (T.81 B.1.1.2) are not counted.
    pub(crate) stray_bytes: usize,
}

/// The parameters of a marker segment.
#[derive(Clone, Copy)]
pub(crate) struct Segment<'a> {
    pub(crate) marker: Marker,
    /// Offset of the marker.
    pub(crate) offset: usize,
    /// Contents after the length field.
    pub(crate) contents: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8], position: usize) -> Self {
        Reader { bytes, position }
    }

    pub(crate) fn position(&self) -> usize {
        self.position
    }

    pub(crate) fn seek(&mut self, position: usize) {
        self.position = position;
    }

    /// Skips to the next marker; `None` at the end of the file.
    pub(crate) fn next_marker(&mut self) -> Option<FoundMarker> {
        let mut stray_bytes = 0;
        loop {
            let rest = self.bytes.get(self.position..)?;
            let to_ff = memchr::memchr(0xFF, rest)?;
            stray_bytes += to_ff;
            let fill = rest[to_ff..].iter().take_while(|&&byte| byte == 0xFF).count();
            let code = *rest.get(to_ff + fill)?;
            self.position += to_ff + fill + 1;
            if code != 0 {
                let offset = self.position - 2;
                return Some(FoundMarker { marker: Marker(code), offset, stray_bytes });
            }
            // FF 00 is a data byte of a scan; outside scans it is junk.
            stray_bytes += 2;
        }
    }

    /// Cuts out the segment of the marker just found. A length below 2 counts as an empty segment, as
    /// libjpeg takes it.
    pub(crate) fn segment(&mut self, marker: Marker, offset: usize) -> Result<Segment<'a>, FormatError> {
        let truncated = || FormatError::new(FormatErrorKind::Truncated, offset, Some(marker));
        let length = self.bytes.get(self.position..self.position + 2).ok_or_else(truncated)?;
        let length = usize::from(u16::from_be_bytes([length[0], length[1]]));
        let start = self.position + 2;
        let end = start + length.saturating_sub(2);
        let contents = self.bytes.get(start..end).ok_or_else(truncated)?;
        self.position = end;
        Ok(Segment { marker, offset, contents })
    }
}

impl Segment<'_> {
    pub(crate) fn error(&self, kind: FormatErrorKind) -> FormatError {
        FormatError::new(kind, self.offset, Some(self.marker))
    }
}
