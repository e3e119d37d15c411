//! What is uploaded: a scan's data without stuffing, segment by segment, and how its blocks follow each other.

use std::ops::Range;

use crate::codestream::stuffing::Unstuffed;
use crate::codestream::{Codestream, HuffmanClass, Scan};
use crate::entropy::{BlockWindow, block_windows};
use crate::plan::DecodePlan;
use crate::simd::Level;
use crate::simd::stuffing::unstuff;

/// Zero bytes behind the data: kernels read ahead.
const PADDING: usize = 16;
/// Data bytes that are taken at most, so that bits can be counted in 32 bits with room to spare.
const MAX_DATA: usize = 1 << 28;

/// Why a plan can't be decoded by subsequences; such images are for the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Irregular {
    /// The file is progressive.
    #[error("progressive scans depend on earlier ones")]
    Progressive,
    /// A component that the plan needs is in no scan or in several.
    #[error("component {component} is not in exactly one scan")]
    Component {
        /// Index in the frame.
        component: usize,
    },
    /// A marker in the data that is not the restart marker that is due there, or none where one is due.
    #[error("restart markers at byte {offset} are not as they should be")]
    Restart {
        /// Byte offset in the file.
        offset: usize,
    },
    /// Bytes FF in a row, which only encoders of one kind fill in.
    #[error("fill bytes at byte {offset}")]
    Fill {
        /// Byte offset in the file.
        offset: usize,
    },
    /// A restart interval, or the whole scan, without data.
    #[error("no data at byte {offset}")]
    Empty {
        /// Byte offset in the file.
        offset: usize,
    },
    /// More data than can be addressed.
    #[error("{bytes} bytes of data are too many")]
    Large {
        /// Bytes of the scan.
        bytes: usize,
    },
}

/// Data between two restarts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Index of its first 32-bit word in the scan's data.
    pub first_word: u32,
    /// Bits of data; a multiple of 8.
    pub bits: u32,
    /// Index of its first subsequence in the scan.
    pub first_subsequence: u32,
    /// Index of its first block in the scan, in decoding order.
    pub first_block: u32,
    /// Blocks that should be in it.
    pub blocks: u32,
}

/// One block of each MCU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct McuBlock {
    /// Its component's index in the frame.
    pub component: usize,
    /// Its component's index in the scan.
    pub part: usize,
    /// Its DC table's index in [`StagedScan::tables`].
    pub dc: usize,
    /// Its AC table's index there.
    pub ac: usize,
    /// Blocks of the component across an MCU.
    pub columns: u32,
    /// Blocks of the component down an MCU.
    pub rows: u32,
    /// Which of the columns it is in.
    pub column: u32,
    /// Which of the rows it is in.
    pub row: u32,
}

/// A scan laid out for kernels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StagedScan {
    /// Where its data lies in the staged bytes: in the order of the file, without stuffing, each segment from a
    /// multiple of 4 on, zeros behind the last.
    pub data: Range<usize>,
    /// Its segments, up to the last that the plan needs.
    pub segments: Vec<Segment>,
    /// The segment of each subsequence.
    pub segment_of: Vec<u32>,
    /// Huffman tables: class and index into [`Codestream::huffman_tables`]. Tables of the same content are one.
    pub tables: Vec<(HuffmanClass, usize)>,
    /// The blocks of an MCU, in the order of the scan: 1 to 10.
    pub blocks: Vec<McuBlock>,
    /// After how many blocks the tables repeat. Data only tells blocks apart up to that: if it is less than the blocks
    /// of an MCU, [`recount`](super::Model::recount) is needed.
    pub period: u32,
    /// MCUs across.
    pub mcus_across: u32,
}

/// All scans that a plan needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StagedPlan {
    /// Bytes of a subsequence.
    pub subsequence_bytes: u32,
    /// Bytes of memory that were filled.
    pub data_len: usize,
    /// The scans.
    pub scans: Vec<StagedScan>,
    /// Where the blocks of each component go, as in [`PackedCoefficients`](crate::PackedCoefficients).
    pub windows: Vec<BlockWindow>,
}

impl StagedPlan {
    /// Bytes that [`stage`](Self::stage) fills at most.
    pub fn max_data_len(plan: &DecodePlan) -> usize {
        let codestream = plan.codestream();
        // A restart marker makes room for two bytes of up to three that align what follows.
        let max_len = |scan: &Scan| scan.data.len() + segment_count(codestream, scan) as usize + 3 + PADDING;
        codestream.scans().iter().map(|scan| max_len(scan).next_multiple_of(4)).sum()
    }

    /// Lays out the data of all scans that a plan needs, in `data`, which should have
    /// [`max_data_len`](Self::max_data_len) bytes. Subsequences have `subsequence_bytes` bytes, a multiple of 16.
    ///
    /// # Errors
    /// [`Irregular`] says why the plan is one for the CPU.
    ///
    /// # Panics
    /// If `data` is too short or `subsequence_bytes` is no multiple of 16 from 16 to 1024.
    pub fn stage(plan: &DecodePlan, subsequence_bytes: u32, data: &mut [u8]) -> Result<Self, Irregular> {
        assert!(subsequence_bytes.is_multiple_of(16) && (16..=1024).contains(&subsequence_bytes));
        let codestream = plan.codestream();
        if codestream.frame().is_progressive() {
            return Err(Irregular::Progressive);
        }
        let mut staged = StagedPlan { subsequence_bytes, data_len: 0, scans: Vec::new(), windows: block_windows(plan) };
        for scan in needed_scans(plan)? {
            let mut stager = Stager { data: &mut *data, at: staged.data_len, subsequence_bytes };
            let scan = stager.stage(plan, scan)?;
            staged.data_len = scan.data.end;
            staged.scans.push(scan);
        }
        Ok(staged)
    }
}

/// The scans with components that the plan needs, each of which must be in one.
fn needed_scans<'a>(plan: &DecodePlan<'a>) -> Result<Vec<&'a Scan>, Irregular> {
    let scans = plan.codestream().scans();
    let has = |scan: &Scan, component| scan.components.iter().any(|part| part.component == component);
    for (component, _) in plan.components().iter().enumerate().filter(|(_, component)| component.needed) {
        if scans.iter().filter(|scan| has(scan, component)).count() != 1 {
            return Err(Irregular::Component { component });
        }
    }
    let needed = |scan: &&Scan| plan.components().iter().enumerate().any(|(index, c)| c.needed && has(scan, index));
    Ok(scans.iter().filter(needed).collect())
}

fn segment_count(codestream: &Codestream, scan: &Scan) -> u64 {
    let mcus = scan.mcus(codestream.frame()).pixels();
    if scan.restart_interval == 0 { 1 } else { mcus.div_ceil(scan.restart_interval.into()) }
}

/// Lays out one scan.
struct Stager<'d> {
    data: &'d mut [u8],
    /// Where the next byte goes.
    at: usize,
    subsequence_bytes: u32,
}

impl Stager<'_> {
    fn stage(&mut self, plan: &DecodePlan, scan: &Scan) -> Result<StagedScan, Irregular> {
        let codestream = plan.codestream();
        if scan.data.len() > MAX_DATA {
            return Err(Irregular::Large { bytes: scan.data.len() });
        }
        let first = self.at;
        let mut staged = with_blocks(codestream, scan);
        let mcus = scan.mcus(codestream.frame());
        let blocks_per_mcu = staged.blocks.len() as u64;
        // Reading stops after the segment with the last row that the plan needs.
        let rows_per_mcu_row = match scan.components.as_slice() {
            [only] => u64::from(codestream.frame().components[only.component].sampling.vertical),
            _ => 1,
        };
        let last_row = (u64::from(plan.mcus().rows.end) * rows_per_mcu_row).min(mcus.height.into());
        let needed_mcus = last_row * u64::from(mcus.width);
        let interval = if scan.restart_interval == 0 { mcus.pixels() } else { scan.restart_interval.into() };
        let mut offset = scan.data.start;
        let mut mcu = 0;
        while mcu < needed_mcus {
            let is_last = mcu + interval >= mcus.pixels();
            let start = self.at;
            let marker = self.segment(codestream.bytes(), offset..scan.data.end)?;
            if self.at == start {
                return Err(Irregular::Empty { offset });
            }
            let expected = 0xD0 + (staged.segments.len() % 8) as u8;
            offset = match marker {
                // The parser ends the data at the marker behind the scan.
                None if is_last => scan.data.end,
                Some((code, offset)) if !is_last && code == expected => offset + 2,
                None => return Err(Irregular::Restart { offset: scan.data.end }),
                Some((_, offset)) => return Err(Irregular::Restart { offset }),
            };
            let bytes = self.at - start;
            let segment = Segment {
                first_word: ((start - first) / 4) as u32,
                bits: bytes as u32 * 8,
                first_subsequence: staged.segment_of.len() as u32,
                first_block: (mcu * blocks_per_mcu) as u32,
                blocks: (interval.min(mcus.pixels() - mcu) * blocks_per_mcu) as u32,
            };
            let subsequences = bytes.div_ceil(self.subsequence_bytes as usize);
            staged.segment_of.extend(std::iter::repeat_n(staged.segments.len() as u32, subsequences));
            staged.segments.push(segment);
            self.fill(self.at.next_multiple_of(4));
            mcu += interval;
        }
        self.fill(self.at + PADDING);
        staged.data = first..self.at;
        Ok(staged)
    }

    /// Copies data up to a marker. Returns its code and where it is, if there is one.
    fn segment(&mut self, file: &[u8], range: Range<usize>) -> Result<Option<(u8, usize)>, Irregular> {
        let bytes = &file[range.clone()];
        let Unstuffed { read, written } = unstuff(Level::detected(), bytes, &mut self.data[self.at..]);
        self.at += written;
        let offset = range.start + read;
        match bytes[read..] {
            [] => Ok(None),
            [_, code @ 0xD0..=0xD7, ..] => Ok(Some((code, offset))),
            _ => Err(Irregular::Fill { offset }),
        }
    }

    /// Writes zeros up to a place.
    fn fill(&mut self, end: usize) {
        self.data[self.at..end].fill(0);
        self.at = end;
    }
}

/// A scan's blocks and tables, yet without data.
fn with_blocks(codestream: &Codestream, scan: &Scan) -> StagedScan {
    let frame = codestream.frame();
    let mut tables = Vec::new();
    let mut table = |class, index: Option<usize>| {
        let index = index.expect("the parser resolves both tables of sequential scans");
        let specs = codestream.huffman_tables();
        let same = |&(other_class, other): &(HuffmanClass, usize)| class == other_class && specs[other] == specs[index];
        tables.iter().position(same).unwrap_or_else(|| {
            tables.push((class, index));
            tables.len() - 1
        })
    };
    let mut blocks = Vec::new();
    for (part, in_scan) in scan.components.iter().enumerate() {
        let component = in_scan.component;
        let sampling = frame.components[component].sampling;
        let (columns, rows) =
            if scan.is_interleaved() { (sampling.horizontal.into(), sampling.vertical.into()) } else { (1, 1) };
        let (dc, ac) = (table(HuffmanClass::Dc, in_scan.dc_table), table(HuffmanClass::Ac, in_scan.ac_table));
        for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
            blocks.push(McuBlock { component, part, dc, ac, columns, rows, column, row });
        }
    }
    StagedScan {
        data: 0..0,
        segments: Vec::new(),
        segment_of: Vec::new(),
        tables,
        period: period(&blocks),
        blocks,
        mcus_across: scan.mcus(frame).width,
    }
}

/// After how many blocks the tables repeat.
fn period(blocks: &[McuBlock]) -> u32 {
    let tables: Vec<(usize, usize)> = blocks.iter().map(|block| (block.dc, block.ac)).collect();
    let repeats = |&period: &usize| {
        tables.len().is_multiple_of(period) && tables.iter().zip(&tables[period..]).all(|(left, right)| left == right)
    };
    (1..=tables.len()).find(repeats).unwrap_or(1) as u32
}
