//! A scan for tests: bytes of a file without headers.

use crate::codestream::{Marker, Scan};

/// The first `len` bytes of a file as a scan with restart markers, ended by `end`.
pub(super) fn scan(len: usize, end: Option<Marker>) -> Scan {
    Scan {
        offset: 0,
        components: Vec::new(),
        spectral_start: 0,
        spectral_end: 63,
        approximation_high: 0,
        approximation_low: 0,
        restart_interval: 1,
        data: 0..len,
        end,
    }
}
