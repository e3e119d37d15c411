//! Pieces of a scan, each decoded from an arbitrary byte on.

use std::ops::Range;
use std::sync::Arc;

use super::super::baseline::{BlockDecoder, ScanShape};
use super::super::cursor::ScanCursor;
use super::super::packed::{BlockSink, PackedCoefficients, ROOM, RowPlace, unpacked};
use crate::codestream::Scan;
use crate::simd::Level;

/// Blocks at the start of a piece among which the decoder before must join it.
const JOINABLE: usize = 4096;
/// Places of blocks that are kept at the end of a piece: behind the scan's last block only bits of padding are read.
const LAST_STARTS: usize = 16;

/// Blocks that were decoded from a place in the middle of a scan, and what is right about them.
#[derive(Default)]
pub(super) struct Piece {
    symbols: Vec<u32>,
    used: usize,
    /// Per block: index of its first symbol << 7 | number of symbols. DC always has one.
    headers: Vec<u32>,
    /// Blocks before the first that is right, and its index in the scan.
    skipped: usize,
    first_block: usize,
    /// By component of the scan: the DC coefficient that the next difference counts from.
    last_dc: [i16; 4],
}

impl Piece {
    /// Empties it; its memory is used again.
    pub(super) fn emptied(self) -> Self {
        let Piece { symbols, mut headers, .. } = self;
        headers.clear();
        Piece { symbols, headers, ..Piece::default() }
    }

    /// Index in the scan behind the last block.
    pub(super) fn end(&self) -> usize {
        self.first_block + self.headers.len() - self.skipped
    }

    /// All symbols, to which headers point.
    pub(super) fn symbols(&self) -> &[u32] {
        &self.symbols
    }

    /// The header of a block, by its index in the scan.
    #[inline(always)]
    pub(super) fn header(&self, index: usize) -> u32 {
        self.headers[index - self.first_block + self.skipped]
    }

    /// Copies the symbols of a block. Returns how many.
    #[inline(always)]
    pub(super) fn copy_block(&self, index: usize, room: &mut [u32; ROOM]) -> usize {
        /// Most blocks are shorter; a constant number of words needs no call.
        const AT_ONCE: usize = 16;
        let header = self.header(index);
        let (first, count) = ((header >> 7) as usize, (header & 127) as usize);
        let dc = unpacked(self.symbols[first]).0;
        room[0] = u32::from(dc as u16) << 16;
        let kept = usize::from(dc != 0);
        // Symbols have room behind them, so that whole steps can be copied.
        let ac = &self.symbols[first + 1..];
        for step in (0..count.saturating_sub(1)).step_by(AT_ONCE) {
            let from: &[u32; AT_ONCE] = ac[step..].first_chunk().expect("a piece ends with room");
            room[kept + step..][..AT_ONCE].copy_from_slice(from);
        }
        kept + count - 1
    }

    /// DC coefficients of the last blocks before one, by component of the scan; 0 where there is none.
    fn dc_before(&self, block: usize, shape: &ScanShape) -> [i16; 4] {
        let mut dc = [0; 4];
        let start = block.saturating_sub(shape.blocks.len());
        for (index, &header) in (start..block).zip(&self.headers[start..block]) {
            let part = shape.blocks[index % shape.blocks.len()].part;
            dc[part] = unpacked(self.symbols[(header >> 7) as usize]).0;
        }
        dc
    }

    /// Makes DC coefficients right, given what the first difference that counts is counted from.
    fn correct_dc(&mut self, right: [i16; 4], shape: &ScanShape) {
        let own = self.dc_before(self.skipped, shape);
        let offsets: [i16; 4] = std::array::from_fn(|part| right[part].wrapping_sub(own[part]));
        let last = self.dc_before(self.headers.len(), shape);
        self.last_dc = std::array::from_fn(|part| last[part].wrapping_add(offsets[part]));
        let parts = shape.blocks.iter().map(|block| block.part).cycle().skip(self.skipped % shape.blocks.len());
        for (&header, part) in self.headers[self.skipped..].iter().zip(parts) {
            let symbol = &mut self.symbols[(header >> 7) as usize];
            *symbol = symbol.wrapping_add(u32::from(offsets[part] as u16) << 16);
        }
    }
}

impl BlockSink for Piece {
    const KEEPS_ZERO_DC: bool = true;

    #[inline(always)]
    fn room(&mut self) -> &mut [u32; ROOM] {
        // A little at a time: what is cleared is still in the cache when it is written.
        if self.symbols.len() < self.used + ROOM {
            self.symbols.resize(self.used + 32 * ROOM, 0);
        }
        self.symbols[self.used..].first_chunk_mut().expect("grown if too short")
    }

    fn row_place(&self, _: usize, _: u32) -> RowPlace {
        RowPlace::default()
    }

    #[inline(always)]
    fn end_block(&mut self, _: &RowPlace, _: u32, count: usize) {
        self.headers.push((self.used as u32) << 7 | count as u32);
        self.used += count;
    }
}

/// Decodes a piece.
pub(crate) struct PieceDecoder<'a> {
    pub(super) level: Level,
    shape: Arc<ScanShape>,
    cursor: ScanCursor<'a>,
    predictors: [i32; 4],
    piece: Piece,
    /// Data bits of the piece.
    bits: u64,
    /// Where the first blocks begin, in data bits from the piece's start.
    pub(super) first_starts: Vec<u64>,
    /// Where the last blocks begin, by their index modulo the length.
    last_starts: [u64; LAST_STARTS],
    /// Blocks with bits that are no code.
    bad: Vec<usize>,
}

impl<'a> PieceDecoder<'a> {
    /// A decoder of the bytes from `start` to `end`, into memory of a piece that is done with. `None` if a marker lies
    /// in them.
    pub(super) fn new(
        file: &'a [u8],
        scan: &Scan,
        shape: &Arc<ScanShape>,
        Range { start, end }: Range<usize>,
        memory: Piece,
    ) -> Option<Self> {
        let mut from_start = scan.clone();
        from_start.data.start = start;
        let bits = 8 * data_bytes(&file[start..end])? as u64;
        let mut piece = memory.emptied();
        // Photographs have 5 bits or more for each symbol.
        let wanted = bits as usize / 5 + ROOM;
        piece.symbols.reserve(wanted.saturating_sub(piece.symbols.len()));
        Some(PieceDecoder {
            level: Level::detected(),
            shape: shape.clone(),
            cursor: ScanCursor::new(file, &from_start, shape.mcus.pixels()),
            predictors: [0; 4],
            piece,
            bits,
            first_starts: Vec::with_capacity(JOINABLE),
            last_starts: [0; LAST_STARTS],
            bad: Vec::new(),
        })
    }

    /// Decodes blocks up to the first that begins behind the piece.
    #[inline(always)]
    pub(crate) fn decode(&mut self) {
        self.decode_until(|decoder, start, _| {
            if decoder.first_starts.len() < JOINABLE {
                decoder.first_starts.push(start);
            }
            decoder.last_starts[decoder.piece.headers.len() % LAST_STARTS] = start;
            start >= decoder.bits
        });
        if self.cursor.reader.overdrawn() {
            // No block could begin behind the last.
            self.last_starts[self.piece.headers.len() % LAST_STARTS] = u64::MAX;
        }
    }

    /// Goes on until it stands where the next piece's decoder stood, and returns at which of its blocks.
    pub(super) fn join(&mut self, next_starts: &[u64]) -> Option<usize> {
        let mut next = 0;
        let mut joint = None;
        self.decode_until(|decoder, start, block| {
            let Some(start) = start.checked_sub(decoder.bits) else { return false };
            while next_starts.get(next).is_some_and(|&next_start| next_start < start) {
                next += 1;
            }
            let same = next_starts.get(next) == Some(&start) && next % decoder.shape.blocks.len() == block;
            joint = same.then_some(next);
            same || next == next_starts.len()
        });
        joint
    }

    /// Decodes until `stop`, which is told where each block begins and which block of an MCU it is, or until the
    /// data ends.
    #[inline(always)]
    fn decode_until(&mut self, mut stop: impl FnMut(&mut Self, u64, usize) -> bool) {
        let shape = self.shape.clone();
        let mut bits = self.cursor.reader.bits();
        let mut index = self.piece.headers.len() % shape.blocks.len();
        loop {
            let start = self.cursor.reader.bits_taken(&bits);
            if bits.overdrawn() || stop(self, start, index) {
                break;
            }
            let block = &shape.blocks[index];
            let (dc, ac) = (&shape.tables.dc[block.dc].1, &shape.tables.ac[block.ac].1);
            let mut decoder = BlockDecoder { dc, ac, cursor: &mut self.cursor, bits };
            let symbols = decoder.block::<Piece>(&mut self.predictors[block.part], self.piece.room());
            bits = decoder.bits;
            if self.cursor.bad_codes > 0 {
                self.cursor.bad_codes = 0;
                self.bad.push(self.piece.headers.len());
            }
            self.piece.end_block(&block.place, 0, symbols);
            index = if index + 1 == shape.blocks.len() { 0 } else { index + 1 };
        }
        self.cursor.reader.set_bits(bits);
        self.piece.room();
    }

    /// Where the next piece's decoder was joined: what it has decoded before that is not right.
    pub(super) fn skip(&mut self, blocks: usize) {
        self.piece.skipped = blocks;
    }

    /// The piece, told where it belongs: behind the one `before`, and at the scan's end if it is the last. `None` if
    /// anything is wrong with what it holds.
    pub(super) fn placed(self, before: Option<&Piece>, is_last: bool) -> Option<Piece> {
        let PieceDecoder { mut piece, bits, last_starts, bad, shape, .. } = self;
        let total = shape.mcus.pixels() as usize * shape.blocks.len();
        if let Some(before) = before {
            piece.first_block = before.end();
        }
        piece.correct_dc(before.map_or([0; 4], |before| before.last_dc), &shape);
        if is_last {
            let wanted = piece.skipped + total.checked_sub(piece.first_block)?;
            // Where the last block ends is where one behind it would begin.
            let decoded = piece.headers.len();
            if wanted > decoded || wanted + LAST_STARTS <= decoded {
                return None;
            }
            let end = last_starts[wanted % LAST_STARTS];
            if bits.checked_sub(end)? / 8 > ScanCursor::TOLERATED_BYTES as u64 {
                return None;
            }
            piece.headers.truncate(wanted);
        }
        // All but the last have as many blocks as it takes to join.
        let damaged = bad.iter().any(|bad| (piece.skipped..piece.headers.len()).contains(bad));
        let fits = piece.end() <= total && piece.used <= PackedCoefficients::MAX_SYMBOLS;
        (fits && !damaged && (!is_last || piece.end() == total)).then_some(piece)
    }
}

/// Bytes of data in a part of a scan that begins with one; `None` if there is a marker.
fn data_bytes(part: &[u8]) -> Option<usize> {
    let mut count = part.len();
    let mut rest = part;
    while let Some(ff) = memchr::memchr(0xFF, rest) {
        let fill = rest[ff..].iter().take_while(|&&byte| byte == 0xFF).count();
        match rest.get(ff + fill) {
            Some(0) => count -= fill,
            // Filling before the marker that ends the scan.
            None => return Some(count - fill),
            Some(_) => return None,
        }
        rest = &rest[ff + fill + 1..];
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stuffing_counts_once() {
        assert_eq!(data_bytes(&[1, 0xFF, 0, 2]), Some(3));
        assert_eq!(data_bytes(&[0xFF, 0xFF, 0xFF, 0, 0xFF, 0]), Some(2));
        assert_eq!(data_bytes(&[1, 2, 0xFF]), Some(2));
        assert_eq!(data_bytes(&[1, 0xFF, 0xD0, 2]), None);
    }
}
