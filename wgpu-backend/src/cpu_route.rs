//! Images that the shaders don't take: isopel decodes them on the CPU, and the last stages copy the pixels to the target. So
//! they are in the same submission as the others, behind the same edges, whatever the target is.

use isopel_core::{CoefficientReport, DecodePlan, Error, Image, PackedCoefficients, Route, cpu};

use crate::layout::{Component, Filter};
use crate::output::TileOutput;
use crate::target::WgpuTarget;
use crate::tile::{Coefficients, PreparedJob, Tile, TileLimits, bands};

/// Decodes a plan on this thread, ready to be recorded beside jobs that the GPU decodes.
///
/// # Errors
/// As [`cpu::decode`], and of a target that can't take the plan's pixels.
pub(crate) fn prepare(plan: &DecodePlan, target: WgpuTarget, limits: TileLimits) -> Result<PreparedJob, Error> {
    let layout = target.layout(plan.layout())?;
    target.check(&layout)?;
    let image = cpu::decode(plan)?;
    let on_device = target.device_layout(plan.layout())?;
    let tile = |rows| tile_of(plan, &plan.band(rows)?, &target, &image);
    let tiles = bands(plan, &on_device, limits).into_iter().map(tile).collect::<Result<_, Error>>()?;
    let mut report = image.report;
    (report.layout, report.route) = (layout, Route::WgpuUpload);
    Ok(PreparedJob { target, tiles, report })
}

/// A tile that has samples from the start: a component for each plane of pixels, whose samples are the bytes of its rows.
fn tile_of(whole: &DecodePlan, band: &DecodePlan, target: &WgpuTarget, image: &Image) -> Result<Tile, Error> {
    let own_layout = !matches!(target, WgpuTarget::Buffer(_));
    let layout = target.device_layout(if own_layout { band.layout() } else { whole.layout() })?;
    let (mut samples, mut components, mut outputs) = (Vec::new(), Vec::new(), Vec::new());
    for (index, plane) in image.report.layout.planes().iter().enumerate() {
        let output = TileOutput::new(whole, band, &layout, own_layout, index).copied_from(index as u32);
        let row_bytes = output.row_bytes() as usize;
        components.push(Component {
            first_block: 0,
            first_symbol: 0,
            first_group: 0,
            block_columns: 0,
            block_rows: 0,
            plane: samples.len() as u32 / 4,
            plane_stride: row_bytes.div_ceil(4) as u32,
            quant: 0,
            first_column: 0,
            first_row: 0,
            plane_width: row_bytes as u32,
            plane_height: output.rows.len() as u32,
            filter_kind: Filter::None as u32,
            factor_x: 1,
            factor_y: 1,
        });
        for row in output.rows.clone() {
            let start = plane.offset + row as usize * plane.stride;
            samples.extend_from_slice(&image.pixels[start..start + row_bytes]);
            samples.resize(samples.len().next_multiple_of(4), 0);
        }
        outputs.push(output);
    }
    Ok(Tile {
        coefficients: Coefficients::Packed(PackedCoefficients::default()),
        header_count: 0,
        scan_of: vec![0; components.len()],
        components,
        quant: Vec::new(),
        plane_words: samples.len() as u32 / 4,
        samples,
        layout,
        outputs,
        area: band.region(),
        found: CoefficientReport { warnings: Vec::new(), valid_rows: 0 },
    })
}

#[cfg(test)]
mod tests;
