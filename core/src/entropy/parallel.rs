//! One sequential scan by several threads.
//!
//! Huffman codes synchronise themselves: a decoder that starts anywhere soon takes the same codes as one that came
//! from the start. So the scan is cut into pieces that are decoded at once, each from its first byte on as if an MCU
//! began there. Then each decoder goes on into the next piece until it stands at the start of a block where that
//! piece's decoder stood too, at the same block of an MCU. From there on both would do the same, so what the next one
//! decoded is right, but for DC coefficients, which are off by the same amount throughout. What comes out is exact by
//! construction; anything irregular is left to the serial decoder.
//!
//! Pieces are decoded in waves: the rows of one are reconstructed while the next is decoded, in the memory of those that
//! are done with.

mod piece;

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::baseline::{McuBlock, ScanShape};
use super::packed::{BlockSink, PackedCoefficients, RowPlace};
use super::{McuRow, RowCoefficients};
use crate::codestream::{Codestream, Scan};
use crate::plan::{DecodePlan, McuWindow};
use crate::simd;
use piece::Piece;
pub(crate) use piece::PieceDecoder;

/// Bytes of a piece at least: joining costs some hundred blocks. And at most, in scans of several waves.
const PIECE_BYTES: Range<usize> = 32 << 10..128 << 10;
/// Pieces of a wave for each thread, so that all end at about the same time.
const PIECES_PER_THREAD: usize = 4;
/// The same in a scan of one wave.
const FEWEST_PER_THREAD: usize = 3;

/// Pieces of a scan that are decoded and placed, top to bottom.
pub(crate) struct PlacedPieces {
    pieces: Vec<Piece>,
    shape: Arc<ScanShape>,
}

/// What is still to be decoded of a scan.
pub(crate) struct PendingPieces<'a> {
    file: &'a [u8],
    scan: &'a Scan,
    shape: Arc<ScanShape>,
    /// Offsets of the pieces to come, and of the scan's end.
    starts: Vec<usize>,
    per_wave: usize,
    /// The last one of the wave before, which is to join the next.
    waiting: Option<PieceDecoder<'a>>,
    /// Memory of pieces that are done with.
    spare: Vec<Piece>,
}

/// The way to decode a plan's only scan on the threads of this pool. `None` if the plan or the file is one for the serial
/// decoder.
pub(crate) fn begin<'a>(plan: &DecodePlan<'a>) -> Option<(PlacedPieces, PendingPieces<'a>)> {
    let threads = rayon::current_num_threads();
    let len = plan.codestream().scans()[0].data.len();
    let waves = len.div_ceil(threads * PIECES_PER_THREAD * PIECE_BYTES.end);
    let per_wave = match waves {
        0 | 1 => (len / PIECE_BYTES.start).min(threads * FEWEST_PER_THREAD),
        _ => threads * PIECES_PER_THREAD,
    };
    if threads < 2 { None } else { begin_pieces(plan, waves * per_wave, per_wave) }
}

/// The same in so many pieces, so many of them at a time.
pub(crate) fn begin_pieces<'a>(
    plan: &DecodePlan<'a>,
    count: usize,
    per_wave: usize,
) -> Option<(PlacedPieces, PendingPieces<'a>)> {
    let codestream: &'a Codestream<'a> = plan.codestream();
    let scan = &codestream.scans()[0];
    let (file, len) = (codestream.bytes(), scan.data.len());
    let whole = *plan.mcus() == McuWindow::whole(codestream.frame().mcus());
    if codestream.has_multiple_scans() || scan.restart_interval > 0 || count < 2 || !whole {
        return None;
    }
    let shape = Arc::new(ScanShape::new(codestream, scan));
    let starts = (0..count).map(|index| piece_start(file, scan, len * index / count)).chain([scan.data.end]).collect();
    let placed = PlacedPieces { pieces: Vec::new(), shape: shape.clone() };
    Some((placed, PendingPieces { file, scan, shape, starts, per_wave, waiting: None, spare: Vec::new() }))
}

impl<'a> PendingPieces<'a> {
    /// Decodes the next wave, each piece by itself. `None` if there is anything wrong with one.
    pub(crate) fn decode_wave(&mut self) -> Option<Vec<PieceDecoder<'a>>> {
        let count = self.per_wave.clamp(1, self.starts.len() - 1);
        let (file, scan, shape) = (self.file, self.scan, &self.shape);
        let memory: Vec<Piece> = (0..count).map(|_| self.spare.pop().unwrap_or_default()).collect();
        let decoded = self.starts[..=count].par_windows(2).zip(memory).with_max_len(1).map(|(ends, memory)| {
            let mut decoder = PieceDecoder::new(file, scan, shape, ends[0]..ends[1], memory)?;
            simd::decode_piece(decoder.level, &mut decoder);
            Some(decoder)
        });
        let decoded = decoded.collect();
        self.starts.drain(..count);
        decoded
    }

    /// Joins and places what a wave has decoded; its last piece waits for the next. `None` if anything is wrong.
    pub(crate) fn place(&mut self, decoded: Vec<PieceDecoder<'a>>, placed: &mut PlacedPieces) -> Option<()> {
        let mut decoders: Vec<PieceDecoder> = self.waiting.take().into_iter().chain(decoded).collect();
        let joinable: Vec<Vec<u64>> =
            decoders.iter_mut().skip(1).map(|decoder| std::mem::take(&mut decoder.first_starts)).collect();
        let joints = decoders.par_iter_mut().zip(&joinable).map(|(decoder, next_starts)| decoder.join(next_starts));
        let joints = joints.collect::<Option<Vec<usize>>>()?;
        for (decoder, joint) in decoders.iter_mut().skip(1).zip(joints) {
            decoder.skip(joint);
        }
        if !self.is_done() {
            self.waiting = decoders.pop();
        }
        let count = decoders.len();
        for (index, decoder) in decoders.into_iter().enumerate() {
            let is_last = self.is_done() && index + 1 == count;
            let piece = decoder.placed(placed.pieces.last(), is_last)?;
            placed.pieces.push(piece);
        }
        Some(())
    }

    /// Whether all pieces were decoded.
    pub(crate) fn is_done(&self) -> bool {
        self.starts.len() == 1
    }

    /// Takes back the memory of pieces that end before interleaved MCU row `row`, which nobody asks for any more.
    pub(crate) fn release(&mut self, placed: &mut PlacedPieces, row: u32) {
        let first_block = row as usize * placed.blocks_per_mcu_row();
        // The next piece is placed behind the last.
        let done = placed.pieces.iter().take_while(|piece| piece.end() <= first_block).count();
        let done = done.min(placed.pieces.len().saturating_sub(1));
        self.spare.extend(placed.pieces.drain(..done));
    }
}

impl PlacedPieces {
    /// Interleaved MCU rows from the top that are there whole.
    pub(crate) fn mcu_rows(&self) -> u32 {
        let end = self.pieces.last().map_or(0, Piece::end);
        (end / self.blocks_per_mcu_row()) as u32
    }

    fn blocks_per_mcu_row(&self) -> usize {
        let ScanShape { blocks, mcus, rows_per_mcu_row, .. } = &*self.shape;
        blocks.len() * mcus.width as usize * *rows_per_mcu_row as usize
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
            let piece = self.piece_with_row(index);
            for row in first..(first + self.shape.rows_per_mcu_row).min(self.shape.mcus.height) {
                match piece {
                    Some(piece) => self.point_to_row(piece, row, columns.clone(), &mut packed),
                    None => self.pack_row(row, columns.clone(), &mut packed),
                }
            }
            let coefficients = match piece {
                Some(piece) => RowCoefficients::Elsewhere { headers: &packed, symbols: piece.symbols() },
                None => RowCoefficients::Packed(&packed),
            };
            use_row(McuRow { index, coefficients });
        }
    }

    /// The piece that holds all of an interleaved MCU row, if one does.
    fn piece_with_row(&self, row: u32) -> Option<&Piece> {
        let first = row as usize * self.blocks_per_mcu_row();
        let last = (first + self.blocks_per_mcu_row()).min(self.shape.mcus.pixels() as usize * self.shape.blocks.len());
        let piece = &self.pieces[self.pieces.partition_point(|piece| piece.end() <= first)];
        (last <= piece.end()).then_some(piece)
    }

    /// Makes headers that point to a piece's symbols.
    fn point_to_row(&self, piece: &Piece, row: u32, columns: Range<u32>, packed: &mut PackedCoefficients) {
        let places = self.row_places(row, packed);
        let mut block_index = self.first_block(row, columns.start);
        for column in columns {
            for (block, place) in self.shape.blocks.iter().zip(&places) {
                packed.set_header(place, column * block.columns + block.column, piece.header(block_index));
                block_index += 1;
            }
        }
    }

    fn row_places(&self, row: u32, packed: &PackedCoefficients) -> Vec<RowPlace> {
        let place = |block: &McuBlock| packed.row_place(block.component, row * block.rows + block.row);
        self.shape.blocks.iter().map(place).collect()
    }

    /// Index in the scan of an MCU's first block.
    fn first_block(&self, row: u32, column: u32) -> usize {
        (row as usize * self.shape.mcus.width as usize + column as usize) * self.shape.blocks.len()
    }

    /// Copies a row's blocks from several pieces.
    fn pack_row(&self, row: u32, columns: Range<u32>, packed: &mut PackedCoefficients) {
        let places = self.row_places(row, packed);
        let mut block_index = self.first_block(row, columns.start);
        let mut piece = self.pieces.partition_point(|piece| piece.end() <= block_index);
        for column in columns {
            for (block, place) in self.shape.blocks.iter().zip(&places) {
                while self.pieces[piece].end() <= block_index {
                    piece += 1;
                }
                let count = self.pieces[piece].copy_block(block_index, packed.room());
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

#[cfg(test)]
mod tests;
