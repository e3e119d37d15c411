//! Pictures whose entropy decoding is the GPU's: their scans as kernels read them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use isopel_core::subsequences::{LookupTable, StagedPlan, StagedScan, symbol_slots};
use isopel_core::{CoefficientReport, DecodePlan, PackedCoefficients};

use crate::table_cache::TableCache;

/// What is uploaded of a picture instead of coefficients.
pub(crate) struct StagedPicture {
    pub(crate) plan: StagedPlan,
    pub(crate) scans: Vec<ScanContext>,
    data: Vec<u8>,
}

/// What a scan needs besides its layout.
pub(crate) struct ScanContext {
    /// The tables that the scan's layout numbers.
    pub(crate) tables: Vec<Arc<LookupTable>>,
    /// Blocks from its first on, in decoding order, with all that are wanted.
    pub(crate) wanted_blocks: u64,
}

/// Memory of staged data that is used again.
#[derive(Default)]
pub(crate) struct StagedMemory {
    free: Mutex<FreeMemory>,
    tables: TableCache,
}

#[derive(Default)]
struct FreeMemory {
    parts: Vec<Vec<u8>>,
    /// Capacity of all parts.
    bytes: usize,
}

impl StagedMemory {
    /// Bytes that are kept at most: a few submissions of 256 pictures of 1080p.
    const KEPT: usize = 256 << 20;

    fn free(&self) -> MutexGuard<'_, FreeMemory> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Vec<u8> {
        let mut free = self.free();
        let data = free.parts.pop().unwrap_or_default();
        free.bytes -= data.capacity();
        data
    }

    fn put(&self, data: Vec<u8>) {
        let mut free = self.free();
        if free.bytes + data.capacity() <= Self::KEPT {
            free.bytes += data.capacity();
            free.parts.push(data);
        }
    }

    /// Takes back the memory of a picture that has been copied to the GPU.
    pub(crate) fn put_picture(&self, picture: StagedPicture) {
        self.put(picture.data);
    }
}

impl StagedPicture {
    /// Lays out a plan's scans. `None` if the picture is one for the CPU: irregular, damaged as far as is known without
    /// decoding, or with more data than headers can address.
    pub(crate) fn new(plan: &DecodePlan, subsequence_bytes: u32, memory: &StagedMemory) -> Option<Self> {
        let codestream = plan.codestream();
        if codestream.frame().is_progressive() || !codestream.warnings().is_empty() || !reads_what_the_cpu_reads(plan) {
            return None;
        }
        let mut data = memory.take();
        data.resize(StagedPlan::max_data_len(plan).max(data.len()), 0);
        let Ok(staged) = StagedPlan::stage(plan, subsequence_bytes, &mut data) else {
            memory.put(data);
            return None;
        };
        let context = |scan: &StagedScan| ScanContext {
            tables: scan
                .tables
                .iter()
                .map(|&(class, index)| memory.tables.table(class, &codestream.huffman_tables()[index]))
                .collect(),
            wanted_blocks: wanted_blocks(plan, scan),
        };
        let scans = staged.scans.iter().map(context).collect();
        let picture = StagedPicture { plan: staged, scans, data };
        if picture.plan.scans.iter().any(|scan| picture.symbol_words_of(scan) > PackedCoefficients::MAX_SYMBOLS as u64)
        {
            memory.put_picture(picture);
            return None;
        }
        Some(picture)
    }

    /// The data of all scans, in whole words.
    pub(crate) fn data(&self) -> &[u8] {
        &self.data[..self.plan.data_len]
    }

    /// Words for the symbols of a scan.
    pub(crate) fn symbol_words_of(&self, scan: &StagedScan) -> u64 {
        scan.segment_of.len() as u64 * u64::from(symbol_slots(self.plan.subsequence_bytes))
    }

    /// Words for all symbols.
    pub(crate) fn symbol_words(&self) -> u64 {
        self.plan.scans.iter().map(|scan| self.symbol_words_of(scan)).sum()
    }

    /// Which scan has a component of the frame.
    pub(crate) fn scan_of(&self, component: usize) -> usize {
        let has = |scan: &StagedScan| scan.blocks.iter().any(|block| block.component == component);
        self.plan.scans.iter().position(has).expect("every needed component is in a scan")
    }

    /// What decoding finds if it raises no flag: nothing wrong.
    pub(crate) fn report(plan: &DecodePlan) -> CoefficientReport {
        CoefficientReport { warnings: Vec::new(), valid_rows: plan.region().rect().height }
    }
}

/// Of several scans the CPU reads more rows than a region needs, and reports damage in them.
fn reads_what_the_cpu_reads(plan: &DecodePlan) -> bool {
    let codestream = plan.codestream();
    codestream.scans().len() == 1 || plan.mcus().rows.end == codestream.frame().mcus().height
}

/// Decoding ends with the last row of MCUs that the plan needs.
fn wanted_blocks(plan: &DecodePlan, scan: &StagedScan) -> u64 {
    let first = scan.blocks[0].component;
    let is_interleaved = scan.blocks.iter().any(|block| block.component != first);
    // MCUs of a single component are its blocks.
    let sampling = plan.codestream().frame().components[first].sampling;
    let rows_per_mcu_row = if is_interleaved { 1 } else { u64::from(sampling.vertical) };
    u64::from(plan.mcus().rows.end) * rows_per_mcu_row * u64::from(scan.mcus_across) * scan.blocks.len() as u64
}
