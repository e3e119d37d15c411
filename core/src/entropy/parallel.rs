//! One sequential scan by several threads.
//!
//! Huffman codes synchronise themselves: a decoder that starts anywhere soon takes the same codes as one that came
//! from the start. So the scan is cut into pieces that are decoded at once, each from its first byte on as if an MCU
//! began there. Then each decoder goes on into the next piece until it stands at the start of a block where that
//! piece's decoder stood too, at the same block of an MCU. From there on both would do the same, so what the next one
//! decoded is right, but for DC coefficients, which are off by the same amount throughout. What comes out is exact by
//! construction; anything irregular is left to the serial decoder.

use rayon::prelude::*;

use super::baseline::{BlockDecoder, ScanShape};
use super::cursor::ScanCursor;
use super::packed::{BlockSink, PackedCoefficients, ROOM, RowPlace, unpacked};
use super::{McuRow, RowCoefficients};
use crate::codestream::Scan;
use crate::plan::{DecodePlan, McuWindow};
use crate::simd::{self, Level};

/// Bytes of a piece at least: joining costs some hundred blocks.
const MIN_PIECE: usize = 32 << 10;
/// Pieces for each thread, so that all end at about the same time.
const PIECES_PER_THREAD: usize = 3;
/// Blocks at the start of a piece among which the decoder before must join it.
const JOINABLE: usize = 4096;
/// Places of blocks that are kept at the end of the last piece: behind the last block only bits of padding are read.
const LAST_STARTS: usize = 16;

/// The coefficients of a whole scan, in pieces.
pub(crate) struct ScanPieces {
    pieces: Vec<Piece>,
    shape: ScanShape,
}

impl ScanPieces {
    /// Decodes a plan's only scan on the threads of this pool. `None` if the plan or the file is one for the serial
    /// decoder.
    pub(crate) fn decode(plan: &DecodePlan) -> Option<Self> {
        let codestream = plan.codestream();
        let scan = &codestream.scans()[0];
        let threads = rayon::current_num_threads();
        let len = scan.data.len();
        let count = (len / MIN_PIECE).min(threads * PIECES_PER_THREAD);
        if threads < 2 { None } else { Self::decode_pieces(plan, count) }
    }

    pub(crate) fn decode_pieces(plan: &DecodePlan, count: usize) -> Option<Self> {
        let codestream = plan.codestream();
        let scan = &codestream.scans()[0];
        let len = scan.data.len();
        let whole = *plan.mcus() == McuWindow::whole(codestream.frame().mcus());
        if codestream.has_multiple_scans() || scan.restart_interval > 0 || count < 2 || !whole {
            return None;
        }
        let shape = ScanShape::new(codestream, scan);
        let starts: Vec<usize> =
            (0..count).map(|index| piece_start(codestream.bytes(), scan, len * index / count)).collect();
        let mut decoders: Vec<PieceDecoder> = starts
            .par_iter()
            .enumerate()
            .map(|(index, &start)| {
                let mut decoder = PieceDecoder::new(codestream.bytes(), scan, &shape, start, starts.get(index + 1))?;
                simd::decode_piece(decoder.level, &mut decoder);
                Some(decoder)
            })
            .collect::<Option<_>>()?;
        let joinable: Vec<Vec<u64>> =
            decoders.iter_mut().skip(1).map(|decoder| std::mem::take(&mut decoder.first_starts)).collect();
        let joints: Vec<usize> = decoders
            .par_iter_mut()
            .zip(&joinable)
            .map(|(decoder, next_starts)| decoder.join(next_starts))
            .collect::<Option<_>>()?;
        let pieces = place_pieces(decoders, &joints, &shape)?;
        Some(ScanPieces { pieces, shape })
    }

    /// Calls `use_row` with each row of MCUs of a plan for the same file, top to bottom.
    pub(crate) fn rows(&self, plan: &DecodePlan, mut use_row: impl FnMut(McuRow)) {
        let mcus = plan.mcus();
        let mut packed = PackedCoefficients::default();
        packed.reset(plan, &McuWindow { columns: mcus.columns.clone(), rows: mcus.rows.start..mcus.rows.start + 1 });
        // A scan of one component has MCUs of its own, one block each.
        let columns = match self.shape.rows_per_mcu_row {
            1 if self.shape.blocks.len() > 1 => mcus.columns.clone(),
            _ => 0..self.shape.mcus.width,
        };
        for index in mcus.rows.clone() {
            packed.start_row(plan, index);
            let first = index * self.shape.rows_per_mcu_row;
            for row in first..(first + self.shape.rows_per_mcu_row).min(self.shape.mcus.height) {
                self.pack_row(row, columns.clone(), &mut packed);
            }
            use_row(McuRow { index, coefficients: RowCoefficients::Packed(&packed) });
        }
    }

    fn pack_row(&self, row: u32, columns: std::ops::Range<u32>, packed: &mut PackedCoefficients) {
        let blocks = &self.shape.blocks;
        let places: Vec<RowPlace> =
            blocks.iter().map(|block| packed.row_place(block.component, row * block.rows + block.row)).collect();
        let mut block_index = (row as usize * self.shape.mcus.width as usize + columns.start as usize) * blocks.len();
        let mut piece = self.pieces.partition_point(|piece| piece.end() <= block_index);
        for column in columns {
            for (block, place) in blocks.iter().zip(&places) {
                while self.pieces[piece].end() <= block_index {
                    piece += 1;
                }
                let count = self.pieces[piece].copy_block(block_index, block.part, packed.room());
                packed.end_block(place, column * block.columns + block.column, count);
                block_index += 1;
            }
        }
    }
}

/// The first byte at or behind an offset in the scan that is not part of a stuffed byte or a marker.
fn piece_start(file: &[u8], scan: &Scan, offset: usize) -> usize {
    let mut start = scan.data.start + offset;
    while offset > 0 && start < scan.data.end && file[start - 1] == 0xFF {
        start += 1;
    }
    start
}

/// Blocks that were decoded from a place in the middle of a scan, and what is right about them.
#[derive(Default)]
struct Piece {
    symbols: Vec<u32>,
    used: usize,
    /// Per block: index of its first symbol << 7 | number of symbols. DC always has one.
    headers: Vec<u32>,
    /// Blocks before the first that is right, and its index in the scan.
    skipped: usize,
    first_block: usize,
    /// By component of the scan: what is to be added to DC.
    dc_offsets: [i16; 4],
}

impl Piece {
    /// Index in the scan behind the last block.
    fn end(&self) -> usize {
        self.first_block + self.headers.len() - self.skipped
    }

    /// Copies the symbols of a block, with the right DC coefficient. Returns how many.
    #[inline(always)]
    fn copy_block(&self, index: usize, part: usize, room: &mut [u32; ROOM]) -> usize {
        /// Most blocks are shorter; a constant number of words needs no call.
        const AT_ONCE: usize = 16;
        let header = self.headers[index - self.first_block + self.skipped];
        let (first, count) = ((header >> 7) as usize, (header & 127) as usize);
        let dc = unpacked(self.symbols[first]).0.wrapping_add(self.dc_offsets[part]);
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
pub(crate) struct PieceDecoder<'d, 'a> {
    level: Level,
    shape: &'d ScanShape,
    cursor: ScanCursor<'a>,
    predictors: [i32; 4],
    piece: Piece,
    /// Data bits of the piece.
    bits: u64,
    /// Where the first blocks begin, in data bits from the piece's start.
    first_starts: Vec<u64>,
    /// Where the last blocks begin, by their index modulo the length.
    last_starts: [u64; LAST_STARTS],
    /// Blocks with bits that are no code.
    bad: Vec<usize>,
}

impl<'d, 'a> PieceDecoder<'d, 'a> {
    /// `None` if a marker lies in the piece.
    fn new(file: &'a [u8], scan: &Scan, shape: &'d ScanShape, start: usize, next: Option<&usize>) -> Option<Self> {
        let end = next.copied().unwrap_or(scan.data.end);
        let mut from_start = scan.clone();
        from_start.data.start = start;
        let bits = 8 * data_bytes(&file[start..end])? as u64;
        // Photographs have 5 bits or more for each symbol.
        let piece = Piece { symbols: Vec::with_capacity(bits as usize / 5 + ROOM), ..Piece::default() };
        Some(PieceDecoder {
            level: Level::detected(),
            shape,
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
    fn join(&mut self, next_starts: &[u64]) -> Option<usize> {
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
        let shape = self.shape;
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

/// Tells pieces where they belong; `None` if anything is wrong with what they hold. `joints` has for each piece but the
/// first the block at which the one before joined it.
fn place_pieces(decoders: Vec<PieceDecoder>, joints: &[usize], shape: &ScanShape) -> Option<Vec<Piece>> {
    let total = shape.mcus.pixels() as usize * shape.blocks.len();
    let mut pieces: Vec<Piece> = Vec::with_capacity(decoders.len());
    let last = decoders.len() - 1;
    for (index, decoder) in decoders.into_iter().enumerate() {
        let PieceDecoder { mut piece, bits, last_starts, bad, .. } = decoder;
        if let Some(before) = pieces.last() {
            piece.skipped = joints[index - 1];
            piece.first_block = before.end();
            let right = before.dc_before(before.headers.len(), shape);
            let own = piece.dc_before(piece.skipped, shape);
            for part in 0..4 {
                let right = right[part].wrapping_add(before.dc_offsets[part]);
                piece.dc_offsets[part] = right.wrapping_sub(own[part]);
            }
        }
        if index == last {
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
        if damaged || piece.end() > total || piece.used > PackedCoefficients::MAX_SYMBOLS {
            return None;
        }
        pieces.push(piece);
    }
    (pieces.last()?.end() == total).then_some(pieces)
}

#[cfg(test)]
mod tests;
