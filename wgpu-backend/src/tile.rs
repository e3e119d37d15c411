//! Tiles: a picture, or a band of display rows of one that is too large for a single binding.

use isopel_core::{
    BlockWindow, Codestream, CoefficientReport, ColorModel, DecodeOptions, DecodePlan, DisplayRect, Error, Orientation,
    PackedCoefficients, PixelFormat, PixelLayout, Rect, Report, Route, Size, StoredRect, Upsampling, ZIGZAG,
    block_windows, pack_coefficients,
};

use crate::layout::{CHANNEL_LUMA, CHANNEL_OPAQUE, Color, Component, Filter, Output};
use crate::pack_memory::PackMemory;

/// What one tile may take, so that no buffer of a wave of tiles exceeds a binding.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TileLimits {
    pub(crate) blocks: u64,
    pub(crate) output_bytes: u64,
}

impl TileLimits {
    /// A block's samples take 64 bytes and its coefficients at most 256, so this fills at most half a binding.
    pub(crate) fn for_binding(max_binding: u64) -> Self {
        TileLimits { blocks: max_binding / 512, output_bytes: max_binding / 2 }
    }
}

/// A job with its coefficients, ready to be recorded.
pub(crate) struct PreparedJob {
    pub(crate) tiles: Vec<Tile>,
    pub(crate) layout: PixelLayout,
    pub(crate) report: Report,
}

/// One tile: coefficients, and what becomes of them.
pub(crate) struct Tile {
    pub(crate) packed: PackedCoefficients,
    /// The needed components, with block and plane positions counted from the tile's own first ones.
    pub(crate) components: Vec<Component>,
    /// Quantizers of each, 64 words in zigzag order: natural index << 16 | quantizer.
    pub(crate) quant: Vec<u32>,
    /// Words of samples.
    pub(crate) plane_words: u32,
    /// Planes of pixels, with bytes counted from the layout's first.
    pub(crate) outputs: Vec<Output>,
}

/// Parses, plans and entropy-decodes a job. `stride` is that of its target.
pub(crate) fn prepare(
    jpeg: &[u8],
    options: &DecodeOptions,
    stride: impl FnOnce(&PixelLayout) -> Option<usize>,
    mut limits: TileLimits,
    memory: &PackMemory,
) -> Result<PreparedJob, Error> {
    let codestream = Codestream::parse(jpeg, &options.limits)?;
    let plan = DecodePlan::new(&codestream, options)?;
    let layout = match stride(plan.layout()) {
        Some(stride) => plan.layout().clone().with_stride(stride)?,
        None => plan.layout().clone(),
    };
    let (tiles, found) = loop {
        let mut tiles: Vec<Tile> = Vec::new();
        let mut found: Vec<(StoredRect, CoefficientReport)> = Vec::new();
        for rows in bands(&plan, &layout, limits) {
            let band = band_plan(&plan, options, rows)?;
            let (tile, report) = Tile::new(&plan, &band, &layout, memory)?;
            tiles.push(tile);
            found.push((band.region(), report));
        }
        if tiles.iter().all(|tile| tile.packed.symbols().len() < PackedCoefficients::MAX_SYMBOLS) {
            break (tiles, found);
        }
        // A rare picture, large and full of detail; large bindings would let it have one tile.
        limits.blocks = (limits.blocks / 2).min(PackedCoefficients::MAX_SYMBOLS as u64 / 128).max(1);
    };
    let report = Report::new(&plan, &layout, Route::WgpuFromCoefficients, merged(found, plan.region()));
    Ok(PreparedJob { tiles, layout, report })
}

/// Display rows of each band: all in one unless the picture is too large.
fn bands(plan: &DecodePlan, layout: &PixelLayout, limits: TileLimits) -> Vec<std::ops::Range<u32>> {
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

/// The plan of a band: the same request for fewer display rows.
fn band_plan<'a>(
    plan: &DecodePlan<'a>,
    options: &DecodeOptions,
    rows: std::ops::Range<u32>,
) -> Result<DecodePlan<'a>, Error> {
    let stored = plan.codestream().stored_size();
    let whole = plan.orientation().map_rect(plan.region(), stored).rect();
    let band = DisplayRect::new(whole.x, whole.y + rows.start, whole.width, rows.len() as u32);
    let options = options.orientation(isopel_core::OrientationPolicy::Set(plan.orientation())).region(band);
    DecodePlan::new(plan.codestream(), &options)
}

/// Reports of bands as one: all warnings of the band that read furthest, valid rows of all together.
fn merged(mut found: Vec<(StoredRect, CoefficientReport)>, region: StoredRect) -> CoefficientReport {
    found.sort_by_key(|(band, _)| (band.rect().y, band.rect().x));
    let mut valid_rows = 0;
    for (band, report) in &found {
        let band = band.rect();
        if band.height == region.rect().height {
            // Bands beside each other: all have all rows.
            valid_rows = found.iter().map(|(_, report)| report.valid_rows).min().unwrap_or(0);
            break;
        }
        valid_rows += report.valid_rows;
        if report.valid_rows < band.height {
            break;
        }
    }
    let warnings = found.pop().map(|(_, report)| report.warnings).unwrap_or_default();
    CoefficientReport { warnings, valid_rows }
}

impl Tile {
    fn new(
        whole: &DecodePlan,
        band: &DecodePlan,
        layout: &PixelLayout,
        memory: &PackMemory,
    ) -> Result<(Tile, CoefficientReport), Error> {
        let mut packed = memory.take();
        let report = pack_coefficients(band, &mut packed)?;
        let mut components = Vec::new();
        let mut quant = Vec::new();
        let mut plane_words = 0;
        let needed = band.components().iter().zip(packed.windows()).filter(|(component, _)| component.needed);
        for (component, window) in needed {
            components.push(component_words(component, window, quant.len() as u32, plane_words));
            quant.extend(
                ZIGZAG.map(|natural| u32::from(natural) << 16 | u32::from(component.quant[usize::from(natural)])),
            );
            plane_words += window.columns * 2 * window.rows * 8;
        }
        let outputs = (0..layout.planes().len()).map(|plane| output_words(whole, band, layout, plane)).collect();
        Ok((Tile { packed, components, quant, plane_words, outputs }, report))
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

/// One plane of a band, in the layout of the whole.
fn output_words(whole: &DecodePlan, band: &DecodePlan, layout: &PixelLayout, plane: usize) -> Output {
    let (format, color_model) = (layout.format(), whole.codestream().color_model());
    let (color, channels) = conversion(format, color_model, plane);
    let (region, orientation) = (whole.plane_region(plane), whole.orientation());
    let rows = band_rows(region, band.plane_region(plane), orientation);
    let place = layout.planes()[plane];
    let bytes_per_pixel = format.bytes_per_pixel() as u32;
    let row_bytes = place.size.width * bytes_per_pixel;
    let start = place.offset as i32;
    let first_byte = place.offset + rows.start as usize * place.stride;
    let end_byte = place.offset + (rows.end - 1) as usize * place.stride + row_bytes as usize;
    let stored = |x: u32, y: u32| {
        let (x, y) = orientation.unmap_point(x, y, region.size());
        (region.x.wrapping_add(x) as i32, region.y.wrapping_add(y) as i32)
    };
    let (origin_x, origin_y) = stored(0, 0);
    let step = |(x, y): (i32, i32)| (x.wrapping_sub(origin_x), y.wrapping_sub(origin_y));
    let (across_x, across_y) = step(stored(1, 0));
    let (down_x, down_y) = step(stored(0, 1));
    Output {
        first_group: 0,
        first_word: (first_byte / 4) as u32,
        words: (end_byte.div_ceil(4) - first_byte / 4) as u32,
        start,
        stride: place.stride as u32,
        row_bytes,
        bytes_per_pixel,
        first_row: rows.start,
        end_row: rows.end,
        origin_x,
        origin_y,
        across_x,
        across_y,
        down_x,
        down_y,
        color: color as u32,
        channels: u32::from_le_bytes(channels),
        component: if format == PixelFormat::ComponentPlanes { plane as u32 } else { 0 },
    }
}

/// Display rows of a band within the whole, for one plane.
fn band_rows(whole: Rect, band: Rect, orientation: Orientation) -> std::ops::Range<u32> {
    let within = StoredRect::new(band.x - whole.x, band.y - whole.y, band.width, band.height);
    let display = orientation.map_rect(within, Size::new(whole.width, whole.height)).rect();
    display.y..display.y + display.height
}

/// How pixels of a format are made from a colour model: conversion, and what each byte of a pixel holds.
fn conversion(format: PixelFormat, color: ColorModel, plane: usize) -> (Color, [u8; 4]) {
    let rgb = match color {
        ColorModel::Gray => Color::Gray,
        ColorModel::YCbCr => Color::Ycc,
        ColorModel::Cmyk => Color::CmykToRgb,
        ColorModel::Ycck => Color::YcckToRgb,
        _ => Color::Copy3,
    };
    match format {
        PixelFormat::Gray8 if matches!(color, ColorModel::Gray | ColorModel::YCbCr) => (Color::Gray, [0; 4]),
        PixelFormat::Gray8 => (rgb, [CHANNEL_LUMA, 0, 0, 0]),
        PixelFormat::Bgr8 => (rgb, [2, 1, 0, 0]),
        PixelFormat::Rgba8 => (rgb, [0, 1, 2, CHANNEL_OPAQUE]),
        PixelFormat::Rgb8Planar => (rgb, [plane as u8, 0, 0, 0]),
        PixelFormat::ComponentPlanes => (Color::Gray, [0; 4]),
        PixelFormat::Cmyk8 if color == ColorModel::Ycck => (Color::YcckToCmyk, [0, 1, 2, 3]),
        PixelFormat::Cmyk8 => (Color::Copy4, [0, 1, 2, 3]),
        _ => (rgb, [0, 1, 2, 0]),
    }
}
