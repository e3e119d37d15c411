//! Where the rows of MCUs of a sequential scan begin, so that a region costs only its own rows.

use super::baseline::SequentialScan;
use super::bit_reader::BitPosition;
use super::packed::{BlockSink, ROOM, RowPlace};
use crate::codestream::Codestream;
use crate::warning::Warnings;

/// Where each row of MCUs of a file begins, and what its decoder knows there.
///
/// Entropy coding has no landmarks: a region far down costs the decoding of all rows above it. With an index, built once
/// and kept beside the file, it costs its own rows. For files with one sequential scan that is not damaged.
///
/// ```
/// use isopel_core::{Codestream, CodestreamIndex, DecodeOptions, DecodePlan, DisplayRect, Limits, cpu};
/// # let bytes = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../samples/photo.jpg")).unwrap();
/// let codestream = Codestream::parse(&bytes, &Limits::default())?;
/// let index = CodestreamIndex::build(&codestream).expect("one sound sequential scan");
/// let stored = index.to_bytes();                                      // beside the file
///
/// let index = CodestreamIndex::from_bytes(&stored).expect("made by to_bytes");
/// let options = DecodeOptions::default().region(DisplayRect::new(600, 700, 64, 64));
/// let plan = DecodePlan::new(&codestream, &options)?.with_index(&index)?;
/// let image = cpu::decode(&plan)?;
/// # assert!(image.pixels == cpu::decode(&DecodePlan::new(&codestream, &options)?)?.pixels);
/// # Ok::<(), isopel_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodestreamIndex {
    fingerprint: u64,
    rows: Vec<RowStart>,
}

/// The state of a decoder at the start of a row of MCUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RowStart {
    pub(super) position: BitPosition,
    pub(super) predictors: [i32; 4],
    /// MCUs before the next restart, if the scan has restarts.
    pub(super) until_restart: u32,
    pub(super) next_restart: u8,
}

/// How a serialised index begins; the last byte is the version.
const MAGIC: [u8; 8] = *b"isopel\x00\x01";
const ROW_BYTES: usize = 30;

impl CodestreamIndex {
    /// Reads through a file's scan. `None` if there are several scans, or if it is damaged.
    pub fn build(codestream: &Codestream) -> Option<Self> {
        if codestream.has_multiple_scans() || codestream.warnings_so_far().first_damage().is_some() {
            return None;
        }
        let mut warnings = Warnings::default();
        let mut scan = SequentialScan::new(codestream, &codestream.scans()[0]);
        let mut discard = Discard([0; ROOM]);
        let rows = (0..codestream.frame().mcus().height)
            .map(|row| {
                let start = scan.row_start();
                scan.decode_rows(&mut discard, row + 1, &mut warnings);
                start
            })
            .collect();
        let sound = warnings.first_damage().is_none();
        sound.then(|| CodestreamIndex { fingerprint: fingerprint(codestream), rows })
    }

    /// Whether the index was made for this file: length, headers and samples of the data are compared.
    pub fn matches(&self, codestream: &Codestream) -> bool {
        !codestream.has_multiple_scans()
            && self.rows.len() == codestream.frame().mcus().height as usize
            && self.fingerprint == fingerprint(codestream)
    }

    pub(super) fn row(&self, row: u32) -> RowStart {
        self.rows[row as usize]
    }

    /// The index as bytes to keep, 30 for each row of MCUs and 16 before them.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.fingerprint.to_le_bytes());
        for row in &self.rows {
            bytes.extend((row.position.offset as u64).to_le_bytes());
            bytes.push(row.position.bit);
            bytes.push(row.next_restart);
            bytes.extend(row.until_restart.to_le_bytes());
            bytes.extend(row.predictors.iter().flat_map(|predictor| predictor.to_le_bytes()));
        }
        bytes
    }

    /// The index that [`to_bytes`](Self::to_bytes) wrote; `None` if the bytes are none.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (fingerprint, rows) = bytes.strip_prefix(&MAGIC)?.split_first_chunk()?;
        let (rows, rest) = rows.as_chunks::<ROW_BYTES>();
        let rows = rows.iter().map(RowStart::from_bytes).collect::<Option<_>>()?;
        rest.is_empty().then_some(CodestreamIndex { fingerprint: u64::from_le_bytes(*fingerprint), rows })
    }
}

impl RowStart {
    fn from_bytes(bytes: &[u8; ROW_BYTES]) -> Option<Self> {
        let (offset, rest) = bytes.split_first_chunk()?;
        let ([bit, next_restart], rest) = rest.split_first_chunk()?;
        let (until_restart, rest) = rest.split_first_chunk()?;
        let (predictors, _) = rest.as_chunks::<4>();
        let offset = usize::try_from(u64::from_le_bytes(*offset)).ok()?;
        (*bit < 8 && *next_restart < 8).then_some(RowStart {
            position: BitPosition { offset, bit: *bit },
            next_restart: *next_restart,
            until_restart: u32::from_le_bytes(*until_restart),
            predictors: std::array::from_fn(|part| i32::from_le_bytes(predictors[part])),
        })
    }
}

/// FNV-1a of a file's length, its bytes before the scan's data, and 64 pieces of the data.
fn fingerprint(codestream: &Codestream) -> u64 {
    const PIECES: usize = 64;
    const PIECE_BYTES: usize = 16;
    let file = codestream.bytes();
    let data = codestream.scans()[0].data.clone();
    let pieces = (0..PIECES).flat_map(|index| {
        let start = data.start + data.len() * index / PIECES;
        &file[start..data.end.min(start + PIECE_BYTES)]
    });
    let length = (file.len() as u64).to_le_bytes();
    length
        .iter()
        .chain(&file[..data.start])
        .chain(pieces)
        .fold(0xCBF2_9CE4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3))
}

/// Takes blocks that nobody wants.
struct Discard([u32; ROOM]);

impl BlockSink for Discard {
    #[inline(always)]
    fn room(&mut self) -> &mut [u32; ROOM] {
        &mut self.0
    }

    fn row_place(&self, _: usize, _: u32) -> RowPlace {
        RowPlace::default()
    }

    fn end_block(&mut self, _: &RowPlace, _: u32, _: usize) {}
}

#[cfg(test)]
mod tests;
