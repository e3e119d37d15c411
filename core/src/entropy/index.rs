//! Places in a sequential scan from which it can be decoded, so that a region costs little but its own MCUs.

use super::baseline::SequentialScan;
use super::bit_reader::BitPosition;
use super::packed::{BlockSink, ROOM, RowPlace};
use crate::codestream::{Codestream, ScanComponent};
use crate::error::IndexError;
use crate::warning::Warnings;

/// Places in a file's scan where decoding can begin, and what the decoder knows there.
///
/// Entropy coding has no landmarks: a region costs the decoding of all that comes before it. With an index, built once
/// and kept beside the file, it costs its own MCUs and some to the left of them. There is a place at the start of each
/// row of MCUs and after every 192 blocks of it. For files with one sequential scan that is not damaged.
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
    /// Row by row.
    places: Vec<McuStart>,
}

/// The state of a decoder before an MCU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct McuStart {
    pub(super) position: BitPosition,
    /// By component of the scan, in the 16 bits that matter.
    pub(super) predictors: [i16; 4],
    /// MCUs before the next restart, if the scan has restarts.
    pub(super) until_restart: u32,
    pub(super) next_restart: u8,
}

/// How a serialised index begins; the version follows.
const MAGIC: [u8; 7] = *b"isopel\x00";
/// 1 had a place for each row of MCUs only.
const VERSION: u8 = 2;
const HEADER_BYTES: usize = 16;
const PLACE_BYTES: usize = 22;
/// Blocks from one place of a row to the next. Each takes 2 bits at least, so an index has less than half the bytes of
/// its file; it has 1 % of those of a photograph.
const BLOCKS_BETWEEN: u32 = 192;

impl CodestreamIndex {
    /// Reads through a file's scan. `None` if there are several scans, or if it is damaged.
    pub fn build(codestream: &Codestream) -> Option<Self> {
        if codestream.has_multiple_scans() || codestream.warnings_so_far().first_damage().is_some() {
            return None;
        }
        let (mut places, mut warnings) = (Vec::new(), Warnings::default());
        let mut scan = SequentialScan::new(codestream, &codestream.scans()[0]);
        scan.read_through(&mut Discard([0; ROOM]), mcus_between(codestream), &mut warnings, |place| places.push(place));
        let sound = warnings.first_damage().is_none();
        sound.then(|| CodestreamIndex { fingerprint: fingerprint(codestream), places })
    }

    /// Whether the index was made for this file: length, headers and samples of the data are compared.
    pub fn matches(&self, codestream: &Codestream) -> bool {
        if codestream.has_multiple_scans() {
            return false;
        }
        let mcus = codestream.scans()[0].mcus(codestream.frame());
        let places = u64::from(mcus.width.div_ceil(mcus_between(codestream))) * u64::from(mcus.height);
        self.places.len() as u64 == places && self.fingerprint == fingerprint(codestream)
    }

    /// The last place in a row of the scan's MCUs that is not behind `column`, and its column.
    pub(super) fn place(&self, codestream: &Codestream, row: u32, column: u32) -> (u32, &McuStart) {
        let (width, between) = (codestream.scans()[0].mcus(codestream.frame()).width, mcus_between(codestream));
        let place = column.min(width - 1) / between;
        (place * between, &self.places[row as usize * width.div_ceil(between) as usize + place as usize])
    }

    /// The index as bytes to keep: 22 for each place and 16 before them.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES + PLACE_BYTES * self.places.len());
        bytes.extend(MAGIC);
        bytes.push(VERSION);
        bytes.extend(self.fingerprint.to_le_bytes());
        for place in &self.places {
            bytes.extend((place.position.offset as u64).to_le_bytes());
            bytes.push(place.position.bit);
            bytes.push(place.next_restart);
            bytes.extend(place.until_restart.to_le_bytes());
            bytes.extend(place.predictors.iter().flat_map(|predictor| predictor.to_le_bytes()));
        }
        bytes
    }

    /// The index that [`to_bytes`](Self::to_bytes) wrote.
    ///
    /// # Errors
    /// [`IndexError`] if the bytes are no index, one of another version, or not whole.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, IndexError> {
        let (&version, rest) =
            bytes.strip_prefix(&MAGIC).and_then(<[u8]>::split_first).ok_or(IndexError::NotAnIndex)?;
        if version != VERSION {
            return Err(IndexError::Version { found: version, supported: VERSION });
        }
        let (fingerprint, places) = rest.split_first_chunk().ok_or(IndexError::Cut { len: bytes.len() })?;
        let (places, []) = places.as_chunks::<PLACE_BYTES>() else {
            return Err(IndexError::Cut { len: bytes.len() });
        };
        let offsets = (HEADER_BYTES..).step_by(PLACE_BYTES);
        let read = |(offset, place)| McuStart::from_bytes(place).ok_or(IndexError::Impossible { offset });
        let places = offsets.zip(places).map(read).collect::<Result<_, _>>()?;
        Ok(CodestreamIndex { fingerprint: u64::from_le_bytes(*fingerprint), places })
    }
}

impl McuStart {
    fn from_bytes(bytes: &[u8; PLACE_BYTES]) -> Option<Self> {
        let (offset, rest) = bytes.split_first_chunk()?;
        let ([bit, next_restart], rest) = rest.split_first_chunk()?;
        let (until_restart, rest) = rest.split_first_chunk()?;
        let (predictors, _) = rest.as_chunks::<2>();
        let offset = usize::try_from(u64::from_le_bytes(*offset)).ok()?;
        (*bit < 8 && *next_restart < 8).then_some(McuStart {
            position: BitPosition { offset, bit: *bit },
            next_restart: *next_restart,
            until_restart: u32::from_le_bytes(*until_restart),
            predictors: std::array::from_fn(|part| i16::from_le_bytes(predictors[part])),
        })
    }
}

/// MCUs of the scan from one place of a row to the next.
fn mcus_between(codestream: &Codestream) -> u32 {
    let scan = &codestream.scans()[0];
    let blocks = |part: &ScanComponent| {
        let sampling = codestream.frame().components[part.component].sampling;
        u32::from(sampling.horizontal) * u32::from(sampling.vertical)
    };
    let blocks_per_mcu = if scan.is_interleaved() { scan.components.iter().map(blocks).sum() } else { 1 };
    (BLOCKS_BETWEEN / blocks_per_mcu).max(1)
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
