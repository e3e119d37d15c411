//! How backends with kernels of their own write a plane of pixels.

use super::DecodePlan;
use crate::codestream::ColorModel;
use crate::pixels::PixelFormat;

/// One plane of a plan's pixels: which stored samples go where, and what becomes of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlaneWriting {
    /// The stored sample of the plane's first pixel, x and y.
    pub origin: (i32, i32),
    /// The step to the stored sample of the next pixel in a row.
    pub across: (i32, i32),
    /// The step to that of the same pixel in the next row.
    pub down: (i32, i32),
    /// What is made of the components' samples.
    pub conversion: Conversion,
    /// What each byte of a pixel holds, the first first: a channel of the conversion, [`PlaneWriting::OPAQUE`] or
    /// [`PlaneWriting::LUMA`].
    pub channels: [u8; 4],
    /// The first component that is read.
    pub component: usize,
}

/// Conversions of component samples to channels. The numbers are those of the kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Conversion {
    /// Three components as they are.
    Copy3 = 0,
    /// YCbCr to red, green and blue.
    Ycc = 1,
    /// One component as all channels.
    Gray = 2,
    /// Inverted inks to red, green and blue.
    CmykToRgb = 3,
    /// YCCK to red, green and blue.
    YcckToRgb = 4,
    /// YCCK to inks.
    YcckToCmyk = 5,
    /// Four components as they are.
    Copy4 = 6,
}

impl PlaneWriting {
    /// A byte of 255.
    pub const OPAQUE: u8 = 4;
    /// The luma of red, green and blue.
    pub const LUMA: u8 = 5;

    /// The writing of one plane of a plan.
    pub fn new(plan: &DecodePlan, plane: usize) -> Self {
        let (conversion, channels) = conversion(plan.format(), plan.codestream().color_model(), plane);
        let (region, orientation) = (plan.plane_region(plane), plan.orientation());
        let stored = |x: u32, y: u32| {
            let (x, y) = orientation.unmap_point(x, y, region.size());
            (region.x.wrapping_add(x) as i32, region.y.wrapping_add(y) as i32)
        };
        let origin = stored(0, 0);
        let step = |(x, y): (i32, i32)| (x.wrapping_sub(origin.0), y.wrapping_sub(origin.1));
        let component = if plan.format() == PixelFormat::ComponentPlanes { plane } else { 0 };
        PlaneWriting { origin, across: step(stored(1, 0)), down: step(stored(0, 1)), conversion, channels, component }
    }
}

fn conversion(format: PixelFormat, color: ColorModel, plane: usize) -> (Conversion, [u8; 4]) {
    const LUMA: u8 = PlaneWriting::LUMA;
    let rgb = match color {
        ColorModel::Gray => Conversion::Gray,
        ColorModel::YCbCr => Conversion::Ycc,
        ColorModel::Cmyk => Conversion::CmykToRgb,
        ColorModel::Ycck => Conversion::YcckToRgb,
        _ => Conversion::Copy3,
    };
    match format {
        PixelFormat::Gray8 if matches!(color, ColorModel::Gray | ColorModel::YCbCr) => (Conversion::Gray, [0; 4]),
        PixelFormat::Gray8 => (rgb, [LUMA, 0, 0, 0]),
        PixelFormat::Bgr8 => (rgb, [2, 1, 0, 0]),
        PixelFormat::Rgba8 => (rgb, [0, 1, 2, PlaneWriting::OPAQUE]),
        PixelFormat::Rgb8Planar => (rgb, [plane as u8, 0, 0, 0]),
        PixelFormat::ComponentPlanes => (Conversion::Gray, [0; 4]),
        PixelFormat::Cmyk8 if color == ColorModel::Ycck => (Conversion::YcckToCmyk, [0, 1, 2, 3]),
        PixelFormat::Cmyk8 => (Conversion::Copy4, [0, 1, 2, 3]),
        PixelFormat::Rgb8 => (rgb, [0, 1, 2, 0]),
    }
}
