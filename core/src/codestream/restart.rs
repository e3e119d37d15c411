//! Where scan data ends, and the restart markers in it, found without decoding.

use std::ops::Range;

use super::marker::Marker;
use crate::simd::Level;
use crate::simd::stuffing::find_marker;

/// Finds the end of the entropy-coded data that starts at `start`: the first marker that is neither a
/// restart marker nor, where restarts are in use, a reserved code, which resynchronisation skips.
///
/// Gives the data's range and the marker that ends it (`None`: the file ends).
pub(crate) fn find_scan_end(bytes: &[u8], start: usize, restart_interval: u16) -> (Range<usize>, Option<Marker>) {
    for (offset, marker) in markers(bytes, start) {
        let skipped = restart_interval > 0 && marker.is_below_sof();
        if marker.restart_number().is_none() && !skipped {
            return (start..offset, Some(marker));
        }
    }
    (start..bytes.len(), None)
}

/// The restart intervals of a scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestartIndex {
    /// The bytes of each interval, without the markers between them.
    pub segments: Vec<Range<usize>>,
    /// Whether the markers between them count RST0, RST1, ... RST7, RST0 as they should.
    pub in_order: bool,
}

impl RestartIndex {
    /// Indexes the scan data at `data`.
    pub(crate) fn new(bytes: &[u8], data: Range<usize>) -> Self {
        let mut segments = Vec::new();
        let mut in_order = true;
        let mut start = data.start;
        for (offset, marker) in markers(&bytes[..data.end], data.start) {
            in_order &= marker.restart_number().map(usize::from) == Some(segments.len() % 8);
            segments.push(start..offset);
            start = offset + 2;
        }
        segments.push(start..data.end);
        RestartIndex { segments, in_order }
    }
}

/// All markers in entropy-coded data, with the offset of their last FF.
fn markers(bytes: &[u8], start: usize) -> impl Iterator<Item = (usize, Marker)> {
    let (level, mut at) = (Level::detected(), start);
    std::iter::from_fn(move || {
        let offset = find_marker(level, bytes, at)?;
        at = offset + 2;
        Some((offset, Marker(bytes[offset + 1])))
    })
}
