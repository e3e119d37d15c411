//! Entropy decoding: a scan's bytes to quantised coefficients of the planned MCUs.
//!
//! Input: a plan. Output: its window's rows of MCUs, top to bottom. Damage is filled as libjpeg-turbo fills it and reported as warnings.

mod ac_table;
mod baseline;
mod bit_reader;
mod cursor;
mod huffman;
mod index;
mod packed;
#[cfg(not(target_arch = "wasm32"))]
mod parallel;
mod progressive;
#[cfg(not(target_arch = "wasm32"))]
mod restarts;
mod scan_data;
mod smoothing;
#[cfg(test)]
mod test_scan;

use std::borrow::Cow;
use std::ops::Range;

use crate::codestream::{Scan, ZIGZAG};
use crate::error::Error;
use crate::memory::ask_for_huge_pages;
use crate::options::Strictness;
use crate::plan::{DecodePlan, McuWindow};
use crate::warning::{Warning, Warnings};
pub(crate) use baseline::McuRun;
use baseline::SequentialScan;
pub use index::CodestreamIndex;
pub(crate) use packed::{BlockSink, unpacked};
pub use packed::{BlockWindow, PackedCoefficients, block_windows};
use packed::{PackedRow, PlaneSink};
#[cfg(not(target_arch = "wasm32"))]
pub(crate) use parallel::PieceDecoder;
pub(crate) use progressive::BandRun;
use smoothing::Smoother;

/// One interleaved row of MCUs of a plan's window: the coefficients of every component that the plan needs.
pub struct McuRow<'r> {
    index: u32,
    coefficients: RowCoefficients<'r>,
}

enum RowCoefficients<'r> {
    /// Of a single sequential scan.
    Packed(&'r PackedCoefficients),
    /// The same, of which only these columns are wanted.
    #[cfg(not(target_arch = "wasm32"))]
    Part { packed: &'r PackedCoefficients, columns: &'r [BlockWindow] },
    /// Headers that point to symbols elsewhere.
    #[cfg(not(target_arch = "wasm32"))]
    Elsewhere { headers: &'r PackedCoefficients, symbols: &'r [u32] },
    /// Of several scans.
    Planes { planes: &'r [CoefficientPlane], smoother: Option<&'r Smoother> },
}

/// A row of blocks of one component.
pub(crate) enum BlockRow<'r> {
    Packed(PackedRow<'r>),
    Plane(PlaneRow<'r>),
}

/// A row of blocks of several scans.
pub(crate) struct PlaneRow<'r> {
    component: usize,
    plane: &'r CoefficientPlane,
    smoother: Option<&'r Smoother>,
    row: u32,
}

impl PlaneRow<'_> {
    /// A block and the zigzag index of its last coefficient that is not 0, or anything above it.
    pub(crate) fn block(&self, column: u32) -> (Cow<'_, Block>, u8) {
        match self.smoother {
            Some(smoother) => (Cow::Owned(smoother.block(self.component, self.plane, self.row, column)), 63),
            None => {
                let index = self.plane.index(self.row, column);
                (Cow::Borrowed(&self.plane.blocks[index]), self.plane.last_nonzero[index])
            }
        }
    }
}

impl McuRow<'_> {
    /// Which row of MCUs, counted in the whole image.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// The coefficients of a block. Row and column count the component's blocks in the whole image; the block
    /// must be in the plan's window and in this row of MCUs; padding of MCUs beyond the image may read as 0.
    pub fn block(&self, component: usize, row: u32, column: u32) -> Block {
        match self.block_row(component, row) {
            BlockRow::Plane(blocks) => *blocks.block(column).0,
            BlockRow::Packed(blocks) => {
                let mut block = [0; 64];
                for &symbol in blocks.block(column) {
                    let (value, zigzag) = unpacked(symbol);
                    block[usize::from(ZIGZAG[zigzag])] = value;
                }
                block
            }
        }
    }

    pub(crate) fn block_row(&self, component: usize, row: u32) -> BlockRow<'_> {
        match self.coefficients {
            RowCoefficients::Packed(packed) => BlockRow::Packed(packed.row(component, row)),
            #[cfg(not(target_arch = "wasm32"))]
            RowCoefficients::Part { packed, columns } => {
                BlockRow::Packed(packed.row_within(component, row, &columns[component]))
            }
            #[cfg(not(target_arch = "wasm32"))]
            RowCoefficients::Elsewhere { headers, symbols } => {
                BlockRow::Packed(headers.row_elsewhere(component, row, symbols))
            }
            RowCoefficients::Planes { planes, smoother } => {
                BlockRow::Plane(PlaneRow { component, plane: &planes[component], smoother, row })
            }
        }
    }
}

/// What reading a plan's coefficients found.
#[derive(Debug, Clone, PartialEq)]
pub struct CoefficientReport {
    /// What was wrong with the file, parsing included.
    pub warnings: Vec<Warning>,
    /// Rows of the region, in stored order from its top, before the first damage that was noticed.
    pub valid_rows: u32,
}

/// Entropy-decodes what a plan needs and calls `use_row` with each row of MCUs of its window, top to bottom.
/// This is the first half of every backend that reconstructs pixels itself.
///
/// One sequential scan is streamed: each row is handed on before the next is read, and reading stops after the
/// window's last row. Several scans are read whole first.
///
/// ```
/// use isopel_core::{Codestream, DecodeOptions, DecodePlan, Limits, decode_coefficients};
/// # let bytes = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../samples/gray.jpg")).unwrap();
/// let codestream = Codestream::parse(&bytes, &Limits::default())?;
/// let plan = DecodePlan::new(&codestream, &DecodeOptions::default())?;
/// let mut mean_dc = Vec::new();
/// decode_coefficients(&plan, |row| {
///     let sum: i32 = (0..80).map(|column| i32::from(row.block(0, row.index(), column)[0])).sum();
///     mean_dc.push(sum / 80);
/// })?;
/// assert_eq!(mean_dc.len(), 480 / 8);
/// # Ok::<(), isopel_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Damaged`] for damaged files when the plan is strict, [`Error::Format`] for the rare damage that
/// has no defined pixels.
pub fn decode_coefficients(plan: &DecodePlan, mut use_row: impl FnMut(McuRow)) -> Result<CoefficientReport, Error> {
    with_damage_refused(plan, |warnings| {
        if plan.codestream().has_multiple_scans() {
            read_all_scans(plan, warnings, &mut use_row)
        } else {
            Ok(stream_one_scan(plan, warnings, &mut use_row))
        }
    })
}

/// Entropy-decodes what a plan needs into packed form, which replaces what `packed` held. This is the first half
/// of backends that reconstruct pixels from a whole picture's coefficients.
///
/// # Errors
/// As [`decode_coefficients`].
pub fn pack_coefficients(plan: &DecodePlan, packed: &mut PackedCoefficients) -> Result<CoefficientReport, Error> {
    packed.reset(plan, plan.mcus());
    with_damage_refused(plan, |warnings| {
        let codestream = plan.codestream();
        if !codestream.has_multiple_scans() {
            let mut scan = SequentialScan::new(codestream, &codestream.scans()[0]);
            for row in plan.mcus().rows.clone() {
                scan.decode_window_row(packed, plan, row, warnings);
            }
            return Ok(scan.valid_mcu_rows());
        }
        let (scans, valid_mcu_rows) = CollectedScans::read(plan, warnings)?;
        scans.pack(packed);
        Ok(valid_mcu_rows)
    })
}

/// Runs `read`, which returns the rows of MCUs from the top that are undamaged, and reports what it found.
fn with_damage_refused(
    plan: &DecodePlan,
    read: impl FnOnce(&mut Warnings) -> Result<u32, Error>,
) -> Result<CoefficientReport, Error> {
    let mut warnings = plan.codestream().warnings_so_far().clone();
    refuse_damage(plan, &warnings)?;
    let valid_mcu_rows = read(&mut warnings)?;
    refuse_damage(plan, &warnings)?;
    Ok(CoefficientReport { warnings: warnings.into_vec(), valid_rows: valid_rows(plan, valid_mcu_rows) })
}

fn refuse_damage(plan: &DecodePlan, warnings: &Warnings) -> Result<(), Error> {
    match warnings.first_damage() {
        Some(damage) if plan.strictness() == Strictness::Strict => Err(Error::Damaged(damage.clone())),
        _ => Ok(()),
    }
}

/// Returns the rows of MCUs from the top that are undamaged.
fn stream_one_scan(plan: &DecodePlan, warnings: &mut Warnings, use_row: &mut impl FnMut(McuRow)) -> u32 {
    let (codestream, mcus) = (plan.codestream(), plan.mcus());
    let one_row = McuWindow { columns: mcus.columns.clone(), rows: mcus.rows.start..mcus.rows.start + 1 };
    let mut packed = PackedCoefficients::default();
    packed.reset(plan, &one_row);
    let mut scan = SequentialScan::new(codestream, &codestream.scans()[0]);
    for index in mcus.rows.clone() {
        packed.start_row(plan, index);
        scan.decode_window_row(&mut packed, plan, index, warnings);
        use_row(McuRow { index, coefficients: RowCoefficients::Packed(&packed) });
    }
    scan.valid_mcu_rows()
}

/// Returns the rows of MCUs from the top that all scans brought undamaged.
fn read_all_scans(plan: &DecodePlan, warnings: &mut Warnings, use_row: &mut impl FnMut(McuRow)) -> Result<u32, Error> {
    let (scans, valid_mcu_rows) = CollectedScans::read(plan, warnings)?;
    scans.rows(plan, use_row);
    Ok(valid_mcu_rows)
}

/// The coefficients that several scans brought together.
pub(crate) struct CollectedScans {
    planes: Vec<CoefficientPlane>,
    smoother: Option<Smoother>,
}

impl CollectedScans {
    /// Also returns the rows of MCUs from the top that all scans brought undamaged.
    fn read(plan: &DecodePlan, warnings: &mut Warnings) -> Result<(Self, u32), Error> {
        let mut planes = empty_planes(plan, plan.stored_mcus());
        let codestream = plan.codestream();
        let frame = codestream.frame();
        let mut extent = DataExtent { valid_mcu_rows: frame.mcus().height, last_good_row: frame.mcus().height };
        if frame.is_progressive() {
            progressive::decode_scans(plan, &mut planes, &mut extent, warnings)?;
        } else {
            for scan in scans_needed(plan) {
                let mut sequential = SequentialScan::new(codestream, scan);
                sequential.decode_rows(&mut PlaneSink::new(&mut planes), plan.stored_mcus().rows.end, warnings);
                extent.valid_mcu_rows = extent.valid_mcu_rows.min(sequential.valid_mcu_rows());
            }
        }
        let smoother = plan.smooths_blocks().then(|| Smoother::new(plan, &extent));
        Ok((CollectedScans { planes, smoother }, extent.valid_mcu_rows))
    }

    /// Packs the blocks of the windows that `packed` has.
    fn pack(&self, packed: &mut PackedCoefficients) {
        for (component, window) in packed.windows().to_vec().into_iter().enumerate() {
            for row in window.first_row..window.first_row + window.rows {
                let (plane, smoother) = (&self.planes[component], self.smoother.as_ref());
                let blocks = PlaneRow { component, plane, smoother, row };
                let place = packed.row_place(component, row);
                for column in window.first_column..window.first_column + window.columns {
                    packed.push_block(&place, column, &blocks.block(column).0);
                }
            }
        }
    }

    /// Calls `use_row` with each row of MCUs of a plan whose window lies in that of the plan that was read.
    fn rows(&self, plan: &DecodePlan, use_row: &mut impl FnMut(McuRow)) {
        for index in plan.mcus().rows.clone() {
            let coefficients = RowCoefficients::Planes { planes: &self.planes, smoother: self.smoother.as_ref() };
            use_row(McuRow { index, coefficients });
        }
    }
}

/// The coefficients of a whole plan, from which several threads can take rows, some of them while others are decoded.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) struct SharedCoefficients<'a> {
    collected: Collected,
    pending: Option<parallel::PendingPieces<'a>>,
}

/// Coefficients that are there.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) enum Collected {
    Pieces(parallel::PlacedPieces),
    Parts(restarts::RestartParts),
    Scans(CollectedScans),
}

#[cfg(not(target_arch = "wasm32"))]
impl<'a> SharedCoefficients<'a> {
    /// Begins to decode a plan, where that is possible on the threads of the current pool. `None` if one thread does it
    /// as well.
    pub(crate) fn begin(plan: &DecodePlan<'a>) -> Result<Option<(Self, CoefficientReport)>, Error> {
        if plan.codestream().has_multiple_scans() {
            let mut scans = None;
            let report = with_damage_refused(plan, |warnings| {
                let (read, valid_mcu_rows) = CollectedScans::read(plan, warnings)?;
                scans = Some(read);
                Ok(valid_mcu_rows)
            })?;
            let collected = scans.map(Collected::Scans);
            return Ok(collected.map(|collected| (SharedCoefficients { collected, pending: None }, report)));
        }
        Self::of_one_scan(plan, restarts::RestartParts::decode(plan), || parallel::begin(plan))
    }

    /// The same with a plan's only scan in so many pieces, so many of them at a time, for tests. `None` if it is one for
    /// the serial decoder.
    pub(crate) fn begin_pieces(
        plan: &DecodePlan<'a>,
        pieces: usize,
        per_wave: usize,
    ) -> Result<Option<(Self, CoefficientReport)>, Error> {
        let parts = restarts::RestartParts::decode_parts(plan, pieces);
        Self::of_one_scan(plan, parts, || parallel::begin_pieces(plan, pieces, per_wave))
    }

    /// Scans that can be joined have no damage of their own.
    fn of_one_scan(
        plan: &DecodePlan<'a>,
        parts: Option<restarts::RestartParts>,
        pieces: impl FnOnce() -> Option<(parallel::PlacedPieces, parallel::PendingPieces<'a>)>,
    ) -> Result<Option<(Self, CoefficientReport)>, Error> {
        let coefficients = match parts {
            Some(parts) => SharedCoefficients { collected: Collected::Parts(parts), pending: None },
            None => match pieces() {
                Some((placed, pending)) => {
                    SharedCoefficients { collected: Collected::Pieces(placed), pending: Some(pending) }
                }
                None => return Ok(None),
            },
        };
        let report = with_damage_refused(plan, |_| Ok(u32::MAX))?;
        Ok(Some((coefficients, report)))
    }

    /// Interleaved MCU rows from the top that are there; `None` if all are.
    pub(crate) fn mcu_rows(&self) -> Option<u32> {
        match (&self.collected, &self.pending) {
            (Collected::Pieces(placed), Some(_)) => Some(placed.mcu_rows()),
            _ => None,
        }
    }

    /// Decodes more, if there is more, while `meanwhile` uses what is there. Rows above `keep_from` then need not be
    /// kept. The second result is `None` if this is a file for the serial decoder.
    pub(crate) fn advance<R: Send>(
        &mut self,
        keep_from: u32,
        meanwhile: impl FnOnce(&Collected) -> R + Send,
    ) -> (R, Option<()>) {
        let SharedCoefficients { collected, pending } = self;
        let Some(pieces) = pending else { return (meanwhile(collected), Some(())) };
        let (result, decoded) = rayon::join(|| meanwhile(collected), || pieces.decode_wave());
        let Collected::Pieces(placed) = collected else { return (result, Some(())) };
        pieces.release(placed, keep_from);
        let done = decoded.and_then(|decoded| pieces.place(decoded, placed));
        if pieces.is_done() {
            *pending = None;
        }
        (result, done)
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Collected {
    /// Calls `use_row` with each row of MCUs of a plan for a part of the same region, top to bottom.
    pub(crate) fn rows(&self, plan: &DecodePlan, mut use_row: impl FnMut(McuRow)) {
        match self {
            Collected::Pieces(pieces) => pieces.rows(plan, use_row),
            Collected::Parts(parts) => parts.rows(plan, use_row),
            Collected::Scans(scans) => scans.rows(plan, &mut use_row),
        }
    }
}

/// Rows of the region above the first damaged row of MCUs, less the one that takes chroma from below.
fn valid_rows(plan: &DecodePlan, valid_mcu_rows: u32) -> u32 {
    let (region, frame) = (plan.region().rect(), plan.codestream().frame());
    let rows_per_mcu = plan.scale().block_size() * u32::from(frame.max_sampling().vertical);
    let rows = if valid_mcu_rows >= frame.mcus().height {
        plan.stored_size().height
    } else {
        let context = plan.components().iter().any(|component| component.upsampling.context().1 > 0);
        (valid_mcu_rows * rows_per_mcu).saturating_sub(u32::from(context))
    };
    rows.saturating_sub(region.y).min(region.height)
}

/// The quantised coefficients of one block, in natural (row-major) order.
pub type Block = [i16; 64];

/// Coefficients of one component for a window of its blocks.
#[derive(Default)]
struct CoefficientPlane {
    /// Block columns and rows held.
    columns: Range<u32>,
    rows: Range<u32>,
    /// The blocks, row by row.
    blocks: Vec<Block>,
    /// For each block the zigzag index of its last coefficient that is not 0, or 0.
    last_nonzero: Vec<u8>,
}

impl CoefficientPlane {
    fn new(columns: Range<u32>, rows: Range<u32>) -> Self {
        let count = columns.len() * rows.len();
        let mut blocks = vec![[0; 64]; count];
        ask_for_huge_pages(&mut blocks);
        CoefficientPlane { columns, rows, blocks, last_nonzero: vec![0; count] }
    }

    /// Index into `blocks` of a block of the window.
    #[inline]
    fn index(&self, row: u32, column: u32) -> usize {
        (row - self.rows.start) as usize * self.columns.len() + (column - self.columns.start) as usize
    }

    #[inline]
    fn contains(&self, row: u32, column: u32) -> bool {
        self.rows.contains(&row) && self.columns.contains(&column)
    }

    /// A row of blocks; empty if the window holds none of it.
    fn row_mut(&mut self, row: u32) -> &mut [Block] {
        if !self.rows.contains(&row) {
            return &mut [];
        }
        let columns = self.columns.len();
        let first = (row - self.rows.start) as usize * columns;
        &mut self.blocks[first..first + columns]
    }

    /// A block, if the window holds it.
    #[inline]
    fn block_mut(&mut self, row: u32, column: u32) -> Option<&mut Block> {
        if !self.contains(row, column) {
            return None;
        }
        let index = self.index(row, column);
        Some(&mut self.blocks[index])
    }
}

/// How far intact data went.
#[derive(Debug, Clone, Copy)]
struct DataExtent {
    /// Interleaved MCU rows from the top that all scans brought undamaged.
    valid_mcu_rows: u32,
    /// The MCU row that the last scan reached before its data ended (libjpeg's `last_good_iMCU_row`).
    last_good_row: u32,
}

/// Planes for the components that the plan needs; the others hold nothing.
fn empty_planes(plan: &DecodePlan, mcus: &McuWindow) -> Vec<CoefficientPlane> {
    let blocks = |mcus: &Range<u32>, factor: u8| mcus.start * u32::from(factor)..mcus.end * u32::from(factor);
    plan.components()
        .iter()
        .map(|component| {
            if !component.needed {
                return CoefficientPlane::default();
            }
            let columns = blocks(&mcus.columns, component.sampling.horizontal);
            CoefficientPlane::new(columns, blocks(&mcus.rows, component.sampling.vertical))
        })
        .collect()
}

/// The scans with a component that the plan needs. Smoothing asks how far the very last scan went, so then
/// all are.
fn scans_needed<'a>(plan: &DecodePlan<'a>) -> impl Iterator<Item = &'a Scan> {
    let needed: Vec<bool> = plan.components().iter().map(|component| component.needed).collect();
    let all = plan.smooths_blocks();
    plan.codestream()
        .scans()
        .iter()
        .filter(move |scan| all || scan.components.iter().any(|part| needed[part.component]))
}
