//! The output's format and layout, and how each component gets there.

use super::{source_format, unsupported_conversion};
use crate::codestream::{Codestream, ColorModel, Frame};
use crate::error::{Error, Unsupported};
use crate::geometry::{Rect, Size, StoredRect};
use crate::orientation::Orientation;
use crate::pixels::{FormatRequest, PixelFormat, PixelLayout};

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

/// Each component's upsampling; `None` for components that the format does not need.
pub(super) fn upsamplings(codestream: &Codestream, format: PixelFormat) -> Result<Vec<Option<Upsampling>>, Error> {
    let frame = codestream.frame();
    let luma_is_enough = format == PixelFormat::Gray8 && codestream.color_model() == ColorModel::YCbCr;
    (0..frame.components.len())
        .map(|index| match format {
            PixelFormat::ComponentPlanes => Ok(Some(Upsampling::None)),
            _ if luma_is_enough && index > 0 => Ok(None),
            _ => upsampling(frame, index).map(Some),
        })
        .collect()
}

/// libjpeg-turbo's choice (its `jinit_upsampler`): the triangle filter for 2:1, except horizontally where
/// the plane is at most two samples wide; replication for everything else.
fn upsampling(frame: &Frame, index: usize) -> Result<Upsampling, Error> {
    let (max, sampling) = (frame.max_sampling(), frame.components[index].sampling);
    let fractional = max.horizontal % sampling.horizontal != 0 || max.vertical % sampling.vertical != 0;
    if fractional {
        return Err(Unsupported::Sampling { component: index as u8 }.into());
    }
    let factors = (max.horizontal / sampling.horizontal, max.vertical / sampling.vertical);
    let wide = frame.plane_size(index).width > 2;
    Ok(match factors {
        (1, 1) => Upsampling::None,
        (2, 1) if wide => Upsampling::TriangleH2V1,
        (1, 2) => Upsampling::TriangleH1V2,
        (2, 2) if wide => Upsampling::TriangleH2V2,
        (horizontal, vertical) => Upsampling::Box { horizontal, vertical },
    })
}

/// The packed layout of the region after orientation.
pub(super) fn packed_layout(
    frame: &Frame,
    format: PixelFormat,
    region: StoredRect,
    orientation: Orientation,
) -> Option<PixelLayout> {
    let size = orientation.map_size(region.rect().size());
    let planes: Vec<Size> = match format {
        PixelFormat::Rgb8Planar => vec![size; 3],
        PixelFormat::ComponentPlanes => (0..frame.components.len())
            .map(|index| orientation.map_size(component_region(frame, index, region).size()))
            .collect(),
        _ => vec![size],
    };
    PixelLayout::packed(format, size, &planes)
}

/// The samples of a component under a region: those whose pixels the region touches.
pub(crate) fn component_region(frame: &Frame, index: usize, region: StoredRect) -> Rect {
    let (max, sampling) = (frame.max_sampling(), frame.components[index].sampling);
    let rect = region.rect();
    let scale = |start: u32, length: u32, factor: u8, max: u8| {
        let (factor, max) = (u64::from(factor), u64::from(max));
        let first = u64::from(start) * factor / max;
        let end = ((u64::from(start) + u64::from(length)) * factor).div_ceil(max);
        (first as u32, (end - first) as u32)
    };
    let (x, width) = scale(rect.x, rect.width, sampling.horizontal, max.horizontal);
    let (y, height) = scale(rect.y, rect.height, sampling.vertical, max.vertical);
    Rect::new(x, y, width, height)
}
