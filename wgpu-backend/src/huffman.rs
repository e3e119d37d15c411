//! Entropy decoding on the GPU: what a wave of pictures uploads for it, its buffers, and its dispatches.

use std::collections::HashMap;
use std::sync::Arc;

use isopel_core::subsequences::{CANDIDATES, GROUP, LookupTable, PHASES, StagedScan, Synchronisation, symbol_slots};

use crate::layout::{McuBlock, NO_SUBSEQUENCE, SEGMENT_BEGINS, Scan, Segment};
use crate::staged::StagedPicture;
use crate::wave::Section;

/// Subsequences per workgroup of `huffman_recount` and `huffman_write`.
const LANES: u32 = 64;
/// Groups per workgroup of `huffman_join`.
const JOINED: u32 = 32;

/// Invocations per workgroup of a stage.
#[cfg(test)]
pub(crate) fn lanes(stage: &str) -> u32 {
    match stage {
        "huffman_recount" | "huffman_write" => LANES,
        "huffman_join" => JOINED,
        _ => GROUP as u32,
    }
}

/// The scans of a wave's pictures one behind the other.
#[derive(Default)]
pub(crate) struct WaveScans<'t> {
    pub(crate) scans: Vec<Scan>,
    pub(crate) segments: Vec<Segment>,
    /// Per subsequence: its segment, and whether that begins there.
    pub(crate) subsequences: Vec<u32>,
    pub(crate) data: Vec<&'t [u8]>,
    /// Entries of the tables, two a word; they follow the data.
    pub(crate) tables: Vec<u32>,
    known_tables: HashMap<*const LookupTable, u32>,
    data_words: u32,
    pub(crate) symbol_words: u64,
    pub(crate) pictures: u32,
    /// Whether any scan's tables do not tell the blocks of an MCU apart.
    pub(crate) recounts: bool,
    /// Whether any scan's tables tell more blocks apart than are guessed.
    has_long_period: bool,
}

impl<'t> WaveScans<'t> {
    /// None yet; this memory is for the table of subsequences.
    pub(crate) fn new(subsequences: Vec<u32>) -> Self {
        WaveScans { subsequences, ..WaveScans::default() }
    }

    /// Appends a picture whose first header has this index; gives the first symbol of each of its scans.
    pub(crate) fn append(&mut self, picture: &'t StagedPicture, first_header: u32) -> Vec<u32> {
        let first_symbols = (0..picture.plan.scans.len()).map(|scan| self.append_scan(picture, scan, first_header));
        let first_symbols = first_symbols.collect();
        self.data.push(picture.data());
        self.data_words += (picture.data().len() / 4) as u32;
        self.pictures += 1;
        first_symbols
    }

    fn append_scan(&mut self, picture: &StagedPicture, index: usize, first_header: u32) -> u32 {
        let (staged, context) = (&picture.plan.scans[index], &picture.scans[index]);
        let first_symbol = self.symbol_words as u32;
        let mut scan = Scan {
            first_subsequence: self.subsequences.len() as u32,
            subsequence_bits: picture.plan.subsequence_bytes * 8,
            first_symbol,
            symbol_slots: symbol_slots(picture.plan.subsequence_bytes),
            mcu_blocks: staged.blocks.len() as u32,
            period: staged.period,
            mcus_across: staged.mcus_across,
            picture: self.pictures,
            blocks: bytemuck::Zeroable::zeroed(),
        };
        let tables: Vec<(u32, u32)> =
            context.tables.iter().map(|table| (self.append_table(table), table.direct_from)).collect();
        for (words, block) in scan.blocks.iter_mut().zip(&staged.blocks) {
            let window = &picture.plan.windows[block.component];
            *words = McuBlock {
                dc_table: tables[block.dc].0,
                dc_direct_from: tables[block.dc].1,
                ac_table: tables[block.ac].0,
                ac_direct_from: tables[block.ac].1,
                part: block.part as u32,
                columns: block.columns,
                rows: block.rows,
                column: block.column.wrapping_sub(window.first_column),
                row: block.row.wrapping_sub(window.first_row),
                window_columns: window.columns,
                window_rows: window.rows,
                first_header: first_header + window.first_header as u32,
            };
        }
        self.append_segments(staged, context.wanted_blocks, scan.first_subsequence);
        self.has_long_period |= scan.period > PHASES as u32;
        self.recounts |= scan.period != scan.mcu_blocks;
        self.scans.push(scan);
        self.symbol_words += picture.symbol_words_of(staged);
        first_symbol
    }

    fn append_segments(&mut self, staged: &StagedScan, wanted_blocks: u64, first_subsequence: u32) {
        let (first_segment, scan) = (self.segments.len() as u32, self.scans.len() as u32);
        let first_word = self.data_words + (staged.data.start / 4) as u32;
        self.segments.extend(staged.segments.iter().map(|segment| Segment {
            first_word: first_word + segment.first_word,
            bits: segment.bits,
            first_subsequence: first_subsequence + segment.first_subsequence,
            first_block: segment.first_block,
            blocks: segment.blocks,
            wanted_blocks: wanted_blocks.saturating_sub(segment.first_block.into()).min(segment.blocks.into()) as u32,
            scan,
        }));
        self.subsequences.extend(staged.segment_of.iter().map(|segment| first_segment + segment));
        for segment in &staged.segments {
            self.subsequences[(first_subsequence + segment.first_subsequence) as usize] |= SEGMENT_BEGINS;
        }
        self.subsequences.resize(self.subsequences.len().next_multiple_of(GROUP), NO_SUBSEQUENCE);
    }

    /// Index of a table's first entry, from the first of all.
    fn append_table(&mut self, table: &Arc<LookupTable>) -> u32 {
        *self.known_tables.entry(Arc::as_ptr(table)).or_insert_with(|| {
            let first = self.tables.len() as u32 * 2;
            let (pairs, _) = table.entries.as_chunks::<2>();
            self.tables.extend(pairs.iter().map(|[low, high]| u32::from(low.0) | u32::from(high.0) << 16));
            first
        })
    }

    /// When all pictures are there: points the blocks to the tables behind the data.
    pub(crate) fn finish(&mut self) {
        for scan in &mut self.scans {
            for block in &mut scan.blocks {
                block.dc_table += self.data_words * 2;
                block.ac_table += self.data_words * 2;
            }
        }
    }

    /// How the scans can be synchronised, of what is wanted.
    pub(crate) fn synchronisation(&self, wanted: Option<Synchronisation>) -> Synchronisation {
        match self.has_long_period {
            true => Synchronisation::Rounds,
            false => wanted
                .unwrap_or_else(|| Synchronisation::for_data(self.pictures as usize, self.data_words as usize * 4)),
        }
    }

    pub(crate) fn groups(&self) -> u32 {
        (self.subsequences.len() / GROUP) as u32
    }
}

/// Sections of a buffer that only the GPU fills.
pub(crate) struct Sections {
    pub(crate) len: u64,
    alignment: u64,
}

impl Sections {
    pub(crate) fn new(alignment: u64) -> Self {
        Sections { len: 0, alignment }
    }

    /// Room for some bytes, at least a word.
    pub(crate) fn append(&mut self, bytes: u64) -> Section {
        let offset = self.len.next_multiple_of(self.alignment.max(16));
        let size = bytes.max(4);
        self.len = offset + size;
        Section { offset, size }
    }
}

/// Bytes of a subsequence's candidates, in the shaders' words: records, states, links, and a count with what aligns it.
pub(crate) const CANDIDATES_BYTES: u64 = (16 + 4 + 4) * CANDIDATES as u64 + 16;

/// Workgroups of a stage.
pub(crate) fn workgroups(stage: &str, groups: u32) -> u32 {
    match stage {
        "huffman_recount" | "huffman_write" => groups * (GROUP as u32 / LANES),
        "huffman_join" => groups.div_ceil(JOINED),
        "huffman_guess" | "huffman_follow" => groups * PHASES as u32,
        _ => groups,
    }
}

/// The stages of each of the four passes: states within groups, between groups, what lies before each subsequence, and
/// coefficients.
pub(crate) fn passes(synchronisation: Synchronisation, recounts: bool) -> [&'static [&'static str]; 4] {
    let [within, between]: [&[&str]; 2] = match synchronisation {
        Synchronisation::Rounds => [&["huffman_synchronise"], &["huffman_join"]],
        Synchronisation::Candidates => [&["huffman_guess", "huffman_follow"], &["huffman_link", "huffman_choose"]],
    };
    let before: &[&str] = match recounts {
        true => &["huffman_reduce", "huffman_scan", "huffman_recount", "huffman_reduce", "huffman_scan"],
        false => &["huffman_reduce", "huffman_scan"],
    };
    [within, between, before, &["huffman_write"]]
}
