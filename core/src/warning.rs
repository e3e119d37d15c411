//! What was wrong with a file whose pixels were decoded all the same.

use crate::codestream::Marker;
use crate::error::FormatErrorKind;

/// One thing that was wrong with a file that was decoded.
///
/// [`is_damage`](Warning::is_damage) tells warnings that mean wrong or missing pixels from those that are
/// only untidy. Offsets are byte offsets in the file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Warning {
    /// The file ends without an end-of-image marker.
    #[error("the file ends at byte {offset} without an end-of-image marker")]
    MissingEoi {
        /// Where the file ends.
        offset: usize,
    },
    /// Bytes that belong to no segment were skipped between segments.
    #[error("{count} stray bytes before {marker} at byte {offset}")]
    StrayBytes {
        /// Bytes skipped.
        count: usize,
        /// The marker that ended them.
        marker: Marker,
        /// Where that marker is.
        offset: usize,
    },
    /// A scan's data ended before its last MCU; what is missing was filled as libjpeg-turbo fills it.
    #[error("the scan's data ends at byte {offset}, in MCU {mcu} of {mcus}")]
    ScanDataEnded {
        /// Where the data ends.
        offset: usize,
        /// The first MCU that is not whole, counted from 0 over the scan.
        mcu: u64,
        /// MCUs in the scan.
        mcus: u64,
    },
    /// Bits that are no code of the scan's Huffman table.
    #[error("a code that the Huffman table does not have, near byte {offset} in MCU {mcu}")]
    BadHuffmanCode {
        /// Near which byte.
        offset: usize,
        /// In which MCU of the scan.
        mcu: u64,
    },
    /// Bytes were skipped to reach a restart marker: the interval before it is likely damaged.
    #[error("{count} bytes skipped before the restart marker at byte {offset}")]
    BytesBeforeRestart {
        /// Bytes skipped.
        count: usize,
        /// Where the marker is.
        offset: usize,
    },
    /// Scan data was left over after the last MCU. Some scanners code more rows than they declare, so only in
    /// progressive files does it mean damage.
    #[error("{count} bytes of scan data at byte {offset} were left over")]
    UnreadScanData {
        /// Bytes left over.
        count: usize,
        /// Where they are.
        offset: usize,
        /// Whether the file is progressive.
        progressive: bool,
    },
    /// A marker other than the expected restart marker.
    #[error("found {found} instead of RST{expected} at byte {offset}")]
    RestartMismatch {
        /// The marker found.
        found: Marker,
        /// The restart number expected, 0..=7.
        expected: u8,
        /// Where it is.
        offset: usize,
    },
    /// A component that no scan carries; its samples are 128.
    #[error("no scan carries component {component}")]
    ComponentMissing {
        /// Index of the component in the frame.
        component: u8,
    },
    /// Sequential scans whose Ss, Se, Ah, Al are not 0, 63, 0, 0 (some cameras write zeros).
    #[error("the sequential scan at byte {offset} has spectral selection parameters, which were ignored")]
    SpectralSelectionIgnored {
        /// Where the scan header is.
        offset: usize,
    },
    /// A progressive scan that repeats or skips bits of a coefficient.
    #[error("the scan at byte {offset} repeats or skips bits of component {component}, coefficient {coefficient}")]
    ProgressionOrder {
        /// Index of the component in the frame.
        component: u8,
        /// Zigzag index of the coefficient.
        coefficient: u8,
        /// Where the scan header is.
        offset: usize,
    },
    /// An Adobe transform that the component count does not allow.
    #[error("Adobe colour transform {transform} is unknown; the usual one for the component count was taken")]
    AdobeTransform {
        /// The transform in the APP14 segment.
        transform: u8,
    },
    /// A JFIF major version other than 1.
    #[error("JFIF version {major}.{minor:02} is unknown")]
    JfifVersion {
        /// Major version.
        major: u8,
        /// Minor version.
        minor: u8,
    },
    /// ICC profile segments that do not make a whole profile; there is no profile in the result.
    #[error("the ICC profile's segments are incomplete or contradict each other; no profile was read")]
    IccIncomplete,
    /// What follows the only scan of a sequential image is not valid; the image was complete.
    #[error("after the image: {kind} (at byte {offset}); ignored")]
    AfterImage {
        /// What is wrong there.
        kind: FormatErrorKind,
        /// Where.
        offset: usize,
        /// In which marker's segment.
        marker: Option<Marker>,
    },
    /// More warnings of the same image were dropped.
    #[error("{count} more warnings")]
    More {
        /// How many.
        count: u64,
    },
}

impl Warning {
    /// Whether pixels are wrong or missing. [`Strictness::Strict`](crate::Strictness) makes these errors.
    pub fn is_damage(&self) -> bool {
        match self {
            Warning::ScanDataEnded { .. }
            | Warning::BadHuffmanCode { .. }
            | Warning::BytesBeforeRestart { .. }
            | Warning::RestartMismatch { .. }
            | Warning::ComponentMissing { .. } => true,
            Warning::UnreadScanData { progressive, .. } => *progressive,
            Warning::MissingEoi { .. }
            | Warning::StrayBytes { .. }
            | Warning::SpectralSelectionIgnored { .. }
            | Warning::ProgressionOrder { .. }
            | Warning::AdobeTransform { .. }
            | Warning::JfifVersion { .. }
            | Warning::IccIncomplete
            | Warning::AfterImage { .. }
            | Warning::More { .. } => false,
        }
    }

    /// The byte offset in the file, where there is one.
    pub fn offset(&self) -> Option<usize> {
        match self {
            Warning::MissingEoi { offset }
            | Warning::StrayBytes { offset, .. }
            | Warning::ScanDataEnded { offset, .. }
            | Warning::BadHuffmanCode { offset, .. }
            | Warning::BytesBeforeRestart { offset, .. }
            | Warning::UnreadScanData { offset, .. }
            | Warning::RestartMismatch { offset, .. }
            | Warning::SpectralSelectionIgnored { offset }
            | Warning::ProgressionOrder { offset, .. }
            | Warning::AfterImage { offset, .. } => Some(*offset),
            Warning::ComponentMissing { .. }
            | Warning::AdobeTransform { .. }
            | Warning::JfifVersion { .. }
            | Warning::IccIncomplete
            | Warning::More { .. } => None,
        }
    }

    /// The marker concerned, where there is one.
    pub fn marker(&self) -> Option<Marker> {
        match self {
            Warning::StrayBytes { marker, .. } => Some(*marker),
            Warning::RestartMismatch { found, .. } => Some(*found),
            Warning::AfterImage { marker, .. } => *marker,
            _ => None,
        }
    }
}

/// Collects warnings; keeps the first [`Warnings::KEPT`] and counts the rest.
#[derive(Debug, Clone, Default)]
pub(crate) struct Warnings {
    kept: Vec<Warning>,
    dropped: u64,
    first_damage: Option<Warning>,
}

impl Warnings {
    /// Enough to see what is wrong; a hostile file could cause millions.
    const KEPT: usize = 64;

    pub(crate) fn push(&mut self, warning: Warning) {
        let first_damage = self.first_damage.is_none() && warning.is_damage();
        if first_damage {
            self.first_damage = Some(warning.clone());
        }
        // Any number of untidy things must not hide that there is damage.
        if self.kept.len() < Self::KEPT || first_damage {
            self.kept.push(warning);
        } else {
            self.dropped += 1;
        }
    }

    /// The first warning that means wrong pixels.
    pub(crate) fn first_damage(&self) -> Option<&Warning> {
        self.first_damage.as_ref()
    }

    pub(crate) fn into_vec(mut self) -> Vec<Warning> {
        if self.dropped > 0 {
            self.kept.push(Warning::More { count: self.dropped });
        }
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_kept_however_many_other_warnings_there_are() {
        let mut warnings = Warnings::default();
        (0..1000).for_each(|offset| warnings.push(Warning::MissingEoi { offset }));
        let damage = Warning::ScanDataEnded { offset: 5, mcu: 1, mcus: 2 };
        warnings.push(damage.clone());
        assert_eq!(warnings.first_damage(), Some(&damage));
        let kept = warnings.into_vec();
        assert!(kept.contains(&damage));
        assert_eq!(kept.last(), Some(&Warning::More { count: 936 }));
    }
}
