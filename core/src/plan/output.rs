//! The output's format and layout, and how each component gets there.

use super::mcu_grid::McuWindow;
use super::{source_format, unsupported_conversion};
use crate::codestream::{Codestream, ColorModel, Component, Frame};
use crate::error::{Error, Unsupported};
use crate::geometry::{Rect, Size, StoredRect};
use crate::orientation::Orientation;
use crate::pixels::{FormatRequest, PixelFormat, PixelLayout};
use crate::scale::Scale;

/// How a component's samples become one sample per pixel, by libjpeg-turbo's rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upsampling {
    /// As many samples as pixels, or none wanted.
    None,
    /// Triangle filter, horizontal 2:1.
    TriangleH2V1,
    /// Triangle filter, vertical 2:1.
    TriangleH1V2,
    /// Triangle filter, 2:1 both ways.
    TriangleH2V2,
    /// Replication by any integral factors.
    Box {
        /// Pixels per sample in x.
        horizontal: u8,
        /// Pixels per sample in y.
        vertical: u8,
    },
}

impl Upsampling {
    /// Pixels per sample in x and y.
    pub fn factors(self) -> (u32, u32) {
        match self {
            Upsampling::None => (1, 1),
            Upsampling::TriangleH2V1 => (2, 1),
            Upsampling::TriangleH1V2 => (1, 2),
            Upsampling::TriangleH2V2 => (2, 2),
            Upsampling::Box { horizontal, vertical } => (u32::from(horizontal), u32::from(vertical)),
        }
    }

    /// Samples that the filter reads beside the nearest one, in x and y.
    pub fn context(self) -> (u32, u32) {
        match self {
            Upsampling::TriangleH2V1 => (1, 0),
            Upsampling::TriangleH1V2 => (0, 1),
            Upsampling::TriangleH2V2 => (1, 1),
            Upsampling::None | Upsampling::Box { .. } => (0, 0),
        }
    }
}

pub(super) fn resolve_format(codestream: &Codestream, request: FormatRequest) -> Result<PixelFormat, Error> {
    let count = codestream.frame().components.len();
    let color = codestream.color_model();
    let format = match request {
        FormatRequest::Exactly(format) => format,
        FormatRequest::Source => source_format(count).ok_or(Unsupported::Components { count: count as u8 })?,
    };
    match format {
        PixelFormat::ComponentPlanes => Ok(format),
        _ if color == ColorModel::Unknown => Err(Unsupported::Components { count: count as u8 }.into()),
        PixelFormat::Cmyk8 if !matches!(color, ColorModel::Cmyk | ColorModel::Ycck) => {
            Err(unsupported_conversion(color, format))
        }
        _ => Ok(format),
    }
}

/// A component's samples against the pixels of the scaled picture.
#[derive(Debug, Clone, Copy)]
pub(super) struct SampleGrid {
    /// Samples along each side of a block.
    pub(super) block_size: u32,
    /// Samples and pixels in an MCU, across and down.
    samples: (u32, u32),
    pixels: (u32, u32),
    /// Size in samples of the whole plane.
    pub(super) plane: Size,
}

impl SampleGrid {
    /// The grids of all components. Where samples become pixels, a component with fewer of them gets larger blocks as
    /// long as that takes it towards one sample per pixel both ways (libjpeg's `jpeg_calc_output_dimensions`).
    /// Component planes keep the file's sampling.
    pub(super) fn all(frame: &Frame, scale: Scale, format: PixelFormat) -> Vec<Self> {
        let (max, smallest) = (frame.max_sampling(), scale.block_size());
        let grid = |component: &Component| {
            let sampling = component.sampling;
            let leaves_room = |factor: u8, max: u8, size: u32| {
                (u32::from(max) * smallest).is_multiple_of(u32::from(factor) * size * 2)
            };
            let mut block_size = smallest;
            while format != PixelFormat::ComponentPlanes
                && block_size < 8
                && leaves_room(sampling.horizontal, max.horizontal, block_size)
                && leaves_room(sampling.vertical, max.vertical, block_size)
            {
                block_size *= 2;
            }
            let samples = (u32::from(sampling.horizontal) * block_size, u32::from(sampling.vertical) * block_size);
            let whole = |pixels: u32, samples: u32, max: u8| (pixels * samples).div_ceil(8 * u32::from(max));
            SampleGrid {
                block_size,
                samples,
                pixels: (u32::from(max.horizontal) * smallest, u32::from(max.vertical) * smallest),
                plane: Size::new(
                    whole(frame.size.width, samples.0, max.horizontal),
                    whole(frame.size.height, samples.1, max.vertical),
                ),
            }
        };
        frame.components.iter().map(grid).collect()
    }

    /// libjpeg-turbo's choice (its `jinit_upsampler`): the triangle filter for 2:1, except horizontally where the plane is
    /// at most two samples wide, and at 1/8; replication for everything else. `None` if a sample is no whole number of
    /// pixels.
    fn upsampling(&self, scale: Scale) -> Option<Upsampling> {
        if !self.pixels.0.is_multiple_of(self.samples.0) || !self.pixels.1.is_multiple_of(self.samples.1) {
            return None;
        }
        let factors = (self.pixels.0 / self.samples.0, self.pixels.1 / self.samples.1);
        let filtered = scale != Scale::Eighth;
        let wide = self.plane.width > 2;
        Some(match factors {
            (1, 1) => Upsampling::None,
            (2, 1) if filtered && wide => Upsampling::TriangleH2V1,
            (1, 2) if filtered => Upsampling::TriangleH1V2,
            (2, 2) if filtered && wide => Upsampling::TriangleH2V2,
            (horizontal, vertical) => Upsampling::Box { horizontal: horizontal as u8, vertical: vertical as u8 },
        })
    }

    /// The samples whose pixels a region touches.
    pub(super) fn samples_under(&self, region: StoredRect) -> Rect {
        let rect = region.rect();
        let under = |start: u32, length: u32, samples: u32, pixels: u32, plane: u32| {
            let (samples, pixels) = (u64::from(samples), u64::from(pixels));
            let first = u64::from(start) * samples / pixels;
            // The last pixel may reach beyond the plane, where the size was rounded up and then again.
            let end = ((u64::from(start) + u64::from(length)) * samples).div_ceil(pixels).min(u64::from(plane));
            (first as u32, (end - first) as u32)
        };
        let (x, width) = under(rect.x, rect.width, self.samples.0, self.pixels.0, self.plane.width);
        let (y, height) = under(rect.y, rect.height, self.samples.1, self.pixels.1, self.plane.height);
        Rect::new(x, y, width, height)
    }

    /// The MCUs that hold samples and `context` more around them, across and down.
    pub(super) fn mcus_around(&self, samples: Rect, context: (u32, u32)) -> McuWindow {
        let mcus = |start: u32, length: u32, context: u32, plane: u32, samples_per_mcu: u32| {
            let first = start.saturating_sub(context);
            let end = (start + length + context).min(plane);
            first / samples_per_mcu..end.div_ceil(samples_per_mcu)
        };
        McuWindow {
            columns: mcus(samples.x, samples.width, context.0, self.plane.width, self.samples.0),
            rows: mcus(samples.y, samples.height, context.1, self.plane.height, self.samples.1),
        }
    }
}

/// Each component's upsampling; `None` for components that the format does not need.
pub(super) fn upsamplings(
    codestream: &Codestream,
    format: PixelFormat,
    scale: Scale,
    grids: &[SampleGrid],
) -> Result<Vec<Option<Upsampling>>, Error> {
    let luma_is_enough = format == PixelFormat::Gray8 && codestream.color_model() == ColorModel::YCbCr;
    let upsampling = |(index, grid): (usize, &SampleGrid)| match format {
        PixelFormat::ComponentPlanes => Ok(Some(Upsampling::None)),
        _ if luma_is_enough && index > 0 => Ok(None),
        _ => match grid.upsampling(scale) {
            None => Err(Unsupported::Sampling { component: index as u8 }.into()),
            known => Ok(known),
        },
    };
    grids.iter().enumerate().map(upsampling).collect()
}

/// The packed layout of the region after orientation.
pub(super) fn packed_layout(
    grids: &[SampleGrid],
    format: PixelFormat,
    region: StoredRect,
    orientation: Orientation,
) -> Option<PixelLayout> {
    let size = orientation.map_size(region.rect().size());
    let planes: Vec<Size> = match format {
        PixelFormat::Rgb8Planar => vec![size; 3],
        PixelFormat::ComponentPlanes => {
            grids.iter().map(|grid| orientation.map_size(grid.samples_under(region).size())).collect()
        }
        _ => vec![size],
    };
    PixelLayout::packed(format, size, &planes)
}
