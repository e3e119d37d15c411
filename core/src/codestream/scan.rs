//! The scan header, SOS (T.81 B.2.3), and what a progressive scan does to the coefficients' precision.

use std::ops::Range;

use super::frame::Frame;
use super::marker::Marker;
use super::reader::Segment;
use super::tables::HuffmanClass;
use crate::error::{FormatError, FormatErrorKind};
use crate::warning::{Warning, Warnings};

/// One component's part in a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanComponent {
    /// Index of the component in the frame.
    pub component: usize,
    /// Tdj, the DC table's selector.
    pub dc_selector: u8,
    /// Taj, the AC table's selector.
    pub ac_selector: u8,
    /// The DC table in force at this scan, as an index into
    /// [`Codestream::huffman_tables`](crate::Codestream::huffman_tables); `None` if the scan needs none.
    pub dc_table: Option<usize>,
    /// The AC table in force at this scan.
    pub ac_table: Option<usize>,
}

/// One scan: its header with the tables in force, and where its data lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scan {
    /// Byte offset of the SOS marker.
    pub offset: usize,
    /// One to four components, in the frame's order.
    pub components: Vec<ScanComponent>,
    /// Ss: first zigzag index of the band.
    pub spectral_start: u8,
    /// Se: last zigzag index of the band.
    pub spectral_end: u8,
    /// Ah: bits known before this scan, 0 for a first scan.
    pub approximation_high: u8,
    /// Al: bits still missing after this scan.
    pub approximation_low: u8,
    /// Ri in MCUs, 0 for none.
    pub restart_interval: u16,
    /// The entropy-coded bytes, restart markers included, up to the next other marker.
    pub data: Range<usize>,
    /// The marker that ends the data; `None` at the end of the file.
    pub end: Option<Marker>,
}

impl Scan {
    /// Reads the segment's own fields; tables and data are resolved by the parser.
    pub(crate) fn read(segment: &Segment, frame: &Frame) -> Result<Scan, FormatError> {
        let bad_length = || segment.error(FormatErrorKind::BadLength);
        let (&count, rest) = segment.contents.split_first().ok_or_else(bad_length)?;
        let count = usize::from(count);
        if !(1..=4).contains(&count) || rest.len() != 2 * count + 3 {
            return Err(bad_length());
        }
        let (named, parameters) = rest.split_at(2 * count);
        let mut components = Vec::with_capacity(count);
        for pair in named.chunks_exact(2) {
            // T.81 B.2.3: the order is the frame's. Identifiers may repeat in broken files, so each place
            // in the frame from here on is tried.
            let component = (components.len()..frame.components.len())
                .find(|&index| frame.components[index].id == pair[0])
                .filter(|&index| components.iter().all(|earlier: &ScanComponent| earlier.component != index))
                .ok_or_else(|| segment.error(FormatErrorKind::BadComponent { id: pair[0] }))?;
            components.push(ScanComponent {
                component,
                dc_selector: pair[1] >> 4,
                ac_selector: pair[1] & 15,
                dc_table: None,
                ac_table: None,
            });
        }
        Ok(Scan {
            offset: segment.offset,
            components,
            spectral_start: parameters[0],
            spectral_end: parameters[1],
            approximation_high: parameters[2] >> 4,
            approximation_low: parameters[2] & 15,
            restart_interval: 0,
            data: 0..0,
            end: None,
        })
    }

    /// Whether the scan has several components, with their blocks interleaved in MCUs.
    pub fn is_interleaved(&self) -> bool {
        self.components.len() > 1
    }

    /// Columns and rows of MCUs. A scan of one component has one block per MCU and no padding
    /// (T.81 A.2.2).
    pub fn mcus(&self, frame: &Frame) -> crate::geometry::Size {
        match self.components.as_slice() {
            [only] => frame.blocks(only.component),
            _ => frame.mcus(),
        }
    }

    /// Blocks that the scan visits.
    pub fn block_count(&self, frame: &Frame) -> u64 {
        self.mcus(frame).pixels() * u64::from(self.blocks_per_mcu(frame))
    }

    /// Blocks per MCU.
    pub fn blocks_per_mcu(&self, frame: &Frame) -> u32 {
        match self.components.as_slice() {
            [_] => 1,
            several => several
                .iter()
                .map(|part| {
                    let sampling = frame.components[part.component].sampling;
                    u32::from(sampling.horizontal) * u32::from(sampling.vertical)
                })
                .sum(),
        }
    }

    /// Which table classes the scan decodes with.
    pub(crate) fn needs(&self, class: HuffmanClass, progressive: bool) -> bool {
        if !progressive {
            return true;
        }
        match class {
            // DC refinement reads bare bits (T.81 G.1.2.1.2).
            HuffmanClass::Dc => self.spectral_start == 0 && self.approximation_high == 0,
            HuffmanClass::Ac => self.spectral_start > 0,
        }
    }

    /// Checks the parameters of a progressive scan (T.81 G.1.1.1).
    pub(crate) fn check_progressive(&self) -> Result<(), FormatErrorKind> {
        let Scan { spectral_start: ss, spectral_end: se, approximation_high: ah, approximation_low: al, .. } = *self;
        let band_ok = if ss == 0 { se == 0 } else { ss <= se && se <= 63 && !self.is_interleaved() };
        let approximation_ok = al <= 13 && (ah == 0 || al + 1 == ah);
        if band_ok && approximation_ok { Ok(()) } else { Err(FormatErrorKind::BadProgression { ss, se, ah, al }) }
    }
}

/// How many low bits of each of a component's coefficients are still unknown, -1 where nothing is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CoefficientPrecision {
    /// After the scans so far, by zigzag index.
    pub(crate) unknown_bits: [i8; 64],
    /// Before the last scan of this component; only the indices that block smoothing asks about.
    pub(crate) before_last_scan: [i8; 10],
}

impl CoefficientPrecision {
    pub(crate) fn nothing_known() -> Self {
        CoefficientPrecision { unknown_bits: [-1; 64], before_last_scan: [-1; 10] }
    }

    /// Records a scan of `component`, the file's `scan_number`-th from 1, and warns of repeated or
    /// skipped bits.
    pub(crate) fn record(&mut self, scan: &Scan, component: usize, scan_number: usize, warnings: &mut Warnings) {
        let mut warn = |coefficient: u8| {
            warnings.push(Warning::ProgressionOrder { component: component as u8, coefficient, offset: scan.offset });
        };
        if scan.spectral_start > 0 && self.unknown_bits[0] < 0 {
            warn(0);
        }
        for (before, &now) in self.before_last_scan.iter_mut().zip(&self.unknown_bits) {
            *before = if scan_number > 1 { now } else { 0 };
        }
        for coefficient in scan.spectral_start..=scan.spectral_end {
            let unknown = &mut self.unknown_bits[usize::from(coefficient)];
            if i8::try_from(scan.approximation_high) != Ok((*unknown).max(0)) {
                warn(coefficient);
            }
            *unknown = scan.approximation_low as i8;
        }
    }
}
