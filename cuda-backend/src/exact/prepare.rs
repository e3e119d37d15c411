//! What one image adds to a wave: its staged data or coefficients, components and outputs, counted from its own beginnings.

use std::sync::Arc;

use isopel_core::subsequences::{StagedPlan, StagedScan, symbol_slots};
use isopel_core::{
    Codestream, CoefficientReport, DecodePlan, PackedCoefficients, PixelLayout, PlaneWriting, Report, Route, Scale,
    Upsampling, Warning, ZIGZAG,
};

use super::layout::{Component, IDCT_BLOCKS, McuBlock, Output, Scan, TILE_HEIGHT, TILE_WIDTH};
use super::tables::{KnownTables, ScanTables};

/// An image that the kernels take.
#[derive(Debug)]
pub(super) struct StagedImage {
    pub(super) staged: StagedPlan,
    /// By scan: what its kernels need to know, but for places in the wave.
    pub(super) scans: Vec<ImageScan>,
    /// Those that the plan needs, with headers and planes counted from the image's first.
    pub(super) components: Vec<Component>,
    pub(super) quant: Vec<u32>,
    /// With targets counted from the target's first byte.
    pub(super) outputs: Vec<Output>,
    /// Headers that the kernels write.
    pub(super) header_count: usize,
    pub(super) plane_bytes: usize,
    /// Where its symbols begin in its data, behind its headers, if the CPU has read its scans.
    pub(super) first_symbol_byte: Option<usize>,
    pub(super) report: Report,
}

#[derive(Debug)]
pub(super) struct ImageScan {
    pub(super) scan: Scan,
    /// Tables of the pairs, DC and AC by turns.
    pub(super) tables: Arc<ScanTables>,
}

/// Bytes of a block's header: first symbol and number of symbols.
const HEADER_BYTES: usize = 8;
/// What a plan without scans says of subsequences.
const SHORTEST_SUBSEQUENCE: u32 = 16;

/// Planes begin at multiples of this.
const PLANE_ALIGNMENT: usize = 256;

impl StagedImage {
    /// Stages a plan's data in `data`. `None` if the image is one for the CPU.
    pub(super) fn new(
        plan: &DecodePlan,
        layout: &PixelLayout,
        subsequence_bytes: u32,
        data: &mut [u8],
        known: &KnownTables,
    ) -> Option<Self> {
        let is_whole_size = plan.scale() == Scale::Full;
        // Where damage is an error, the CPU says so.
        let is_damaged = plan.codestream().warnings().iter().any(Warning::is_damage);
        if !is_whole_size || is_damaged || StagedPlan::max_data_len(plan) > data.len() {
            return None;
        }
        let staged = StagedPlan::stage(plan, subsequence_bytes, data).ok()?;
        let scan = |scan| image_scan(plan.codestream(), &staged, scan, known);
        let scans = staged.scans.iter().map(scan).collect::<Option<_>>()?;
        let found =
            CoefficientReport { warnings: plan.codestream().warnings(), valid_rows: plan.region().rect().height };
        let header_count = staged.windows.iter().map(|window| window.count()).sum();
        Some(StagedImage { scans, header_count, ..Self::with_pixels(plan, layout, staged, found) })
    }

    /// Bytes of an image's data that is made of coefficients.
    pub(super) fn packed_len(packed: &PackedCoefficients) -> usize {
        HEADER_BYTES * packed.headers().len() + 4 * packed.symbols().len()
    }

    /// Puts what the CPU has read into `data`, of [`packed_len`](Self::packed_len) bytes: headers as the kernels read
    /// them, then symbols. `None` if there are more symbols than headers can point to.
    pub(super) fn from_packed(
        plan: &DecodePlan,
        layout: &PixelLayout,
        packed: &PackedCoefficients,
        found: CoefficientReport,
        data: &mut [u8],
    ) -> Option<Self> {
        if packed.symbols().len() >= PackedCoefficients::MAX_SYMBOLS {
            return None;
        }
        let (headers, symbols) = data.split_at_mut(HEADER_BYTES * packed.headers().len());
        for (place, header) in headers.as_chunks_mut::<HEADER_BYTES>().0.iter_mut().zip(packed.headers()) {
            let (first, count) = (header >> 7, header & 127);
            *place = (u64::from(count) << 32 | u64::from(first)).to_ne_bytes();
        }
        symbols.copy_from_slice(super::layout::bytes_of(packed.symbols()));
        let staged = StagedPlan {
            subsequence_bytes: SHORTEST_SUBSEQUENCE,
            data_len: data.len(),
            scans: Vec::new(),
            windows: packed.windows().to_vec(),
        };
        let first_symbol_byte = Some(HEADER_BYTES * packed.headers().len());
        Some(StagedImage { first_symbol_byte, ..Self::with_pixels(plan, layout, staged, found) })
    }

    /// Components and outputs, without scans.
    fn with_pixels(plan: &DecodePlan, layout: &PixelLayout, staged: StagedPlan, found: CoefficientReport) -> Self {
        let (mut components, mut quant) = (Vec::new(), Vec::new());
        let mut plane_bytes: usize = 0;
        for (component, window) in plan.components().iter().zip(&staged.windows) {
            if !component.needed {
                continue;
            }
            let (factor_x, factor_y) = component.upsampling.factors();
            let plane_stride = window.columns * 8;
            components.push(Component {
                headers: window.first_header as u64,
                symbols: 0,
                plane: plane_bytes as u64,
                plane_stride,
                first_group: 0,
                block_columns: window.columns,
                block_rows: window.rows,
                quant: quant.len() as u32,
                image: 0,
                first_column: window.first_column * 8,
                first_row: window.first_row * 8,
                plane_width: component.plane.width,
                plane_height: component.plane.height,
                filter: filter(component.upsampling),
                factor_x,
                factor_y,
                reserved: 0,
            });
            quant.extend(
                ZIGZAG.map(|natural| u32::from(natural) << 16 | u32::from(component.quant[usize::from(natural)])),
            );
            plane_bytes += (plane_stride as usize * window.rows as usize * 8).next_multiple_of(PLANE_ALIGNMENT);
        }
        StagedImage {
            scans: Vec::new(),
            components,
            quant,
            outputs: (0..layout.planes().len()).map(|plane| output(plan, layout, plane)).collect(),
            header_count: 0,
            plane_bytes,
            first_symbol_byte: None,
            report: Report::new(plan, layout, Route::CudaExact, found),
            staged,
        }
    }

    /// Bytes of device memory that decoding takes, but for what is uploaded.
    pub(super) fn work_bytes(&self) -> usize {
        let subsequences: usize = self.staged.scans.iter().map(|scan| scan.segment_of.len()).sum();
        let slots = symbol_slots(self.staged.subsequence_bytes) as usize;
        subsequences * (16 + 4 * slots) + 8 * self.header_count + self.plane_bytes
    }
}

fn filter(upsampling: Upsampling) -> u32 {
    match upsampling {
        Upsampling::None => 0,
        Upsampling::TriangleH2V1 => 1,
        Upsampling::TriangleH1V2 => 2,
        Upsampling::TriangleH2V2 => 3,
        Upsampling::Box { .. } => 4,
    }
}

fn output(plan: &DecodePlan, layout: &PixelLayout, plane: usize) -> Output {
    let writing = PlaneWriting::new(plan, plane);
    let place = layout.planes()[plane];
    let needed_before = plan.components()[..writing.component].iter().filter(|component| component.needed).count();
    Output {
        target: place.offset as u64,
        stride: place.stride as u64,
        first_tile: 0,
        tiles_across: place.size.width.div_ceil(TILE_WIDTH),
        width: place.size.width,
        rows: place.size.height,
        bytes_per_pixel: layout.format().bytes_per_pixel() as u32,
        origin_x: writing.origin.0,
        origin_y: writing.origin.1,
        across_x: writing.across.0,
        across_y: writing.across.1,
        down_x: writing.down.0,
        down_y: writing.down.1,
        color: writing.conversion as u32,
        channels: u32::from_le_bytes(writing.channels),
        component: needed_before as u32,
        image: 0,
        reserved: 0,
    }
}

/// Tiles of an output. Rows are written in pairs, of which the first and the last may be half outside.
pub(super) fn tile_count(output: &Output) -> u32 {
    output.tiles_across * (output.rows + 2).div_ceil(TILE_HEIGHT)
}

/// Blocks of threads that transform a component.
pub(super) fn idct_group_count(component: &Component) -> usize {
    (component.block_columns as usize * component.block_rows as usize).div_ceil(IDCT_BLOCKS)
}

/// `None` if the kernels can't address its tables.
fn image_scan(
    codestream: &Codestream,
    staged: &StagedPlan,
    scan: &StagedScan,
    known: &KnownTables,
) -> Option<ImageScan> {
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    let mut described = Scan {
        mcus_across: scan.mcus_across,
        blocks_per_mcu: scan.blocks.len() as u32,
        period: scan.period,
        ..Scan::default()
    };
    for (index, block) in scan.blocks.iter().enumerate() {
        let pair = pairs.iter().position(|&pair| pair == (block.dc, block.ac)).unwrap_or_else(|| {
            pairs.push((block.dc, block.ac));
            pairs.len() - 1
        });
        described.pair_of_block |= (pair as u32) << (2 * index);
        described.part_of_block |= (block.part as u32) << (2 * index);
        let window = &staged.windows[block.component];
        described.blocks[index] = McuBlock {
            columns: block.columns,
            rows: block.rows,
            column: block.column.wrapping_sub(window.first_column),
            row: block.row.wrapping_sub(window.first_row),
            window_columns: window.columns,
            window_rows: window.rows,
            first_header: window.first_header as u32,
            part: block.part as u32,
        };
    }
    described.pairs = pairs.len() as u32;
    if pairs.len() > 4 {
        return None;
    }
    let spec = |table: usize| {
        let (class, index) = scan.tables[table];
        (class, &codestream.huffman_tables()[index])
    };
    let specs: Vec<_> = pairs.iter().flat_map(|&(dc, ac)| [spec(dc), spec(ac)]).collect();
    let tables = known.get(&specs)?;
    described.tables = tables.places;
    Some(ImageScan { scan: described, tables })
}

#[cfg(test)]
mod tests {
    use isopel_conformance::corpus;
    use isopel_core::{DecodeOptions, PixelFormat, cpu};

    use super::*;

    fn is_taken(bytes: &[u8], options: &DecodeOptions) -> bool {
        let codestream = Codestream::parse(bytes, &options.limits).unwrap();
        let plan = DecodePlan::new(&codestream, options).unwrap();
        let mut data = vec![0; 2 * bytes.len() + 256];
        StagedImage::new(&plan, plan.layout(), 128, &mut data, &KnownTables::default()).is_some()
    }

    /// Gray needs luma alone, which is whole; a strict caller must hear of the rest all the same.
    #[test]
    fn files_without_a_component_are_for_the_cpu() {
        let whole = corpus::hazard("coding-noninterleaved-420.jpg").unwrap();
        let scans: Vec<usize> = (0..whole.len() - 1).filter(|&at| whole[at..at + 2] == [0xFF, 0xDA]).collect();
        let luma_alone = [&whole[..scans[1]], &[0xFF, 0xD9]].concat();
        let gray = DecodeOptions::default().format(PixelFormat::Gray8);
        assert!(is_taken(&whole, &gray));
        assert!(!is_taken(&luma_alone, &gray));
        let strict = gray.strictness(isopel_core::Strictness::Strict);
        let codestream = Codestream::parse(&luma_alone, &strict.limits).unwrap();
        assert!(cpu::decode(&DecodePlan::new(&codestream, &strict).unwrap()).is_err());
    }
}
