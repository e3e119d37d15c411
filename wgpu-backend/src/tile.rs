//! Tiles: a picture, or a band of display rows of one that is too large for a single binding.

use isopel_core::{
    BlockWindow, Codestream, CoefficientReport, DecodeOptions, DecodePlan, Error, PackedCoefficients, PixelLayout,
    Report, Route, Scale, StoredRect, Upsampling, ZIGZAG, block_windows, pack_coefficients,
};

use crate::cpu_route;
use crate::layout::{Component, Filter};
use crate::output::TileOutput;
use crate::pack_memory::PackMemory;
use crate::staged::{StagedMemory, StagedPicture};
use crate::target::{Place, WgpuTarget};

/// What one tile may take, so that no buffer of a wave of tiles exceeds a binding.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TileLimits {
    pub(crate) blocks: u64,
    pub(crate) output_bytes: u64,
    /// For symbols that the GPU decodes.
    pub(crate) symbol_bytes: u64,
}

impl TileLimits {
    /// A block's samples take 64 bytes and its coefficients at most 256, so this fills at most half a binding.
    pub(crate) fn for_binding(max_binding: u64) -> Self {
        TileLimits { blocks: max_binding / 512, output_bytes: max_binding / 2, symbol_bytes: max_binding }
    }
}

/// A job with its coefficients, ready to be recorded.
pub(crate) struct PreparedJob {
    pub(crate) target: WgpuTarget,
    pub(crate) tiles: Vec<Tile>,
    pub(crate) report: Report,
}

/// A tile's coefficients.
pub(crate) enum Coefficients {
    /// The CPU has decoded them.
    Packed(PackedCoefficients),
    /// The GPU will.
    Staged(Box<StagedPicture>),
}

/// Entropy decoding on the GPU, for pictures that are fit for it.
pub(crate) struct Staging<'m> {
    pub(crate) memory: &'m StagedMemory,
    pub(crate) subsequence_bytes: u32,
}

/// One tile: coefficients, and what becomes of them.
pub(crate) struct Tile {
    pub(crate) coefficients: Coefficients,
    /// Blocks of all components.
    pub(crate) header_count: u32,
    /// The scan of each component, of several that the GPU decodes.
    pub(crate) scan_of: Vec<usize>,
    /// The needed components, with block and plane positions counted from the tile's own first ones.
    pub(crate) components: Vec<Component>,
    /// Quantizers of each, 64 words in zigzag order: natural index << 16 | quantizer.
    pub(crate) quant: Vec<u32>,
    /// Words of samples.
    pub(crate) plane_words: u32,
    /// The samples, if they need not be made of coefficients.
    pub(crate) samples: Vec<u8>,
    /// The layout that the outputs count bytes in: the whole picture's if the target is a buffer of the device's,
    /// and else that of a buffer of the tile's own.
    pub(crate) layout: PixelLayout,
    /// Planes of pixels.
    pub(crate) outputs: Vec<TileOutput>,
    pub(crate) area: StoredRect,
    pub(crate) found: CoefficientReport,
}

/// Parses, plans, checks the target, and entropy-decodes a job, or lays its data out for the GPU to decode.
pub(crate) fn prepare(
    jpeg: &[u8],
    options: &DecodeOptions,
    place: Place,
    mut limits: TileLimits,
    memory: &PackMemory,
    staging: Option<&Staging>,
) -> Result<PreparedJob, Error> {
    let codestream = Codestream::parse(jpeg, &options.limits)?;
    let plan = DecodePlan::new(&codestream, options)?;
    let target = place.target_for(&plan)?;
    if plan.scale() != Scale::Full {
        return cpu_route::prepare(&plan, target, limits);
    }
    let layout = target.layout(plan.layout())?;
    target.check(&layout)?;
    let staged = staging.map(|staging| Tile::staged(&plan, &target, limits, staging)).transpose()?.flatten();
    if let Some(tile) = staged {
        let report = Report::new(&plan, &layout, Route::WgpuWhole, StagedPicture::report(&plan));
        return Ok(PreparedJob { target, tiles: vec![tile], report });
    }
    let tiles = loop {
        let tiles = tiles(&plan, &target, limits, memory)?;
        if tiles.iter().all(Tile::can_be_addressed) {
            break tiles;
        }
        // A rare picture, large and full of detail; large bindings would let it have one tile.
        limits.blocks = (limits.blocks / 2).min(PackedCoefficients::MAX_SYMBOLS as u64 / 128).max(1);
    };
    let report = Report::new(&plan, &layout, Route::WgpuFromCoefficients, merged(&tiles, plan.region()));
    Ok(PreparedJob { target, tiles, report })
}

/// The tiles of a plan.
pub(crate) fn tiles(
    plan: &DecodePlan,
    target: &WgpuTarget,
    limits: TileLimits,
    memory: &PackMemory,
) -> Result<Vec<Tile>, Error> {
    let on_device = target.device_layout(plan.layout())?;
    let tile = |rows| Tile::packed(plan, &plan.band(rows)?, target, memory);
    bands(plan, &on_device, limits).into_iter().map(tile).collect()
}

/// Display rows of each band: all in one unless the picture is too large.
pub(crate) fn bands(plan: &DecodePlan, layout: &PixelLayout, limits: TileLimits) -> Vec<std::ops::Range<u32>> {
    let height = layout.size().height;
    let blocks: u64 = block_windows(plan).iter().map(|window| window.count() as u64).sum();
    let bytes = layout.required_len() as u64;
    let parts = blocks.div_ceil(limits.blocks).max(bytes.div_ceil(limits.output_bytes)).max(1);
    if parts == 1 {
        return std::iter::once(0..height).collect();
    }
    // Chroma context and MCU borders add a little to each band, so they are cut smaller.
    let rows = (u64::from(height) / (parts + parts / 8 + 1)).max(1) as u32;
    (0..height).step_by(rows as usize).map(|first| first..(first + rows).min(height)).collect()
}

/// Reports of bands as one: all warnings of the band that read furthest, valid rows of all together.
fn merged(tiles: &[Tile], region: StoredRect) -> CoefficientReport {
    let mut tiles: Vec<&Tile> = tiles.iter().collect();
    tiles.sort_by_key(|tile| (tile.area.rect().y, tile.area.rect().x));
    let mut valid_rows = 0;
    for tile in &tiles {
        let area = tile.area.rect();
        if area.height == region.rect().height {
            // Bands beside each other: all have all rows.
            valid_rows = tiles.iter().map(|tile| tile.found.valid_rows).min().unwrap_or(0);
            break;
        }
        valid_rows += tile.found.valid_rows;
        if tile.found.valid_rows < area.height {
            break;
        }
    }
    let warnings = tiles.last().map(|tile| tile.found.warnings.clone()).unwrap_or_default();
    CoefficientReport { warnings, valid_rows }
}

impl Tile {
    /// A band with the coefficients that the CPU decodes.
    fn packed(whole: &DecodePlan, band: &DecodePlan, target: &WgpuTarget, memory: &PackMemory) -> Result<Tile, Error> {
        let mut packed = memory.take();
        let found = pack_coefficients(band, &mut packed)?;
        let windows = packed.windows().to_vec();
        Tile::new(whole, band, target, Coefficients::Packed(packed), &windows, found)
    }

    /// A whole picture for the GPU to decode, if it is fit for that.
    fn staged(
        plan: &DecodePlan,
        target: &WgpuTarget,
        limits: TileLimits,
        staging: &Staging,
    ) -> Result<Option<Tile>, Error> {
        if bands(plan, &target.device_layout(plan.layout())?, limits).len() > 1 {
            return Ok(None);
        }
        let Some(picture) = StagedPicture::new(plan, staging.subsequence_bytes, staging.memory) else {
            return Ok(None);
        };
        if picture.symbol_words() * 4 > limits.symbol_bytes {
            staging.memory.put_picture(picture);
            return Ok(None);
        }
        let windows = picture.plan.windows.clone();
        let found = StagedPicture::report(plan);
        Tile::new(plan, plan, target, Coefficients::Staged(Box::new(picture)), &windows, found).map(Some)
    }

    fn new(
        whole: &DecodePlan,
        band: &DecodePlan,
        target: &WgpuTarget,
        coefficients: Coefficients,
        windows: &[BlockWindow],
        found: CoefficientReport,
    ) -> Result<Tile, Error> {
        let own_layout = !matches!(target, WgpuTarget::Buffer(_));
        let layout = target.device_layout(if own_layout { band.layout() } else { whole.layout() })?;
        let mut components = Vec::new();
        let mut scan_of = Vec::new();
        let mut quant = Vec::new();
        let mut plane_words = 0;
        let needed = band.components().iter().zip(windows).enumerate().filter(|(_, (component, _))| component.needed);
        for (index, (component, window)) in needed {
            components.push(component_words(component, window, quant.len() as u32, plane_words));
            scan_of.push(match &coefficients {
                Coefficients::Packed(_) => 0,
                Coefficients::Staged(picture) => picture.scan_of(index),
            });
            quant.extend(
                ZIGZAG.map(|natural| u32::from(natural) << 16 | u32::from(component.quant[usize::from(natural)])),
            );
            plane_words += window.columns * 2 * window.rows * 8;
        }
        let output = |plane| TileOutput::new(whole, band, &layout, own_layout, plane);
        let outputs = (0..layout.planes().len()).map(output).collect();
        let header_count = windows.iter().map(|window| window.count() as u32).sum();
        let area = band.region();
        let samples = Vec::new();
        Ok(Tile {
            coefficients,
            header_count,
            scan_of,
            components,
            quant,
            plane_words,
            samples,
            layout,
            outputs,
            area,
            found,
        })
    }

    /// Whether headers can point to all symbols.
    fn can_be_addressed(&self) -> bool {
        match &self.coefficients {
            Coefficients::Packed(packed) => packed.symbols().len() < PackedCoefficients::MAX_SYMBOLS,
            Coefficients::Staged(_) => true,
        }
    }

    pub(crate) fn is_staged(&self) -> bool {
        matches!(self.coefficients, Coefficients::Staged(_))
    }
}

fn component_words(component: &isopel_core::ComponentPlan, window: &BlockWindow, quant: u32, plane: u32) -> Component {
    let (factor_x, factor_y) = component.upsampling.factors();
    let filter = match component.upsampling {
        Upsampling::None => Filter::None,
        Upsampling::TriangleH2V1 => Filter::H2V1,
        Upsampling::TriangleH1V2 => Filter::H1V2,
        Upsampling::TriangleH2V2 => Filter::H2V2,
        Upsampling::Box { .. } => Filter::Box,
    };
    Component {
        first_block: window.first_header as u32,
        first_symbol: 0,
        first_group: 0,
        block_columns: window.columns,
        block_rows: window.rows,
        plane,
        plane_stride: window.columns * 2,
        quant,
        first_column: window.first_column * 8,
        first_row: window.first_row * 8,
        plane_width: component.plane.width,
        plane_height: component.plane.height,
        filter_kind: filter as u32,
        factor_x,
        factor_y,
    }
}
