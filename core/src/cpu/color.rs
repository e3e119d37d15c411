//! Colour conversion: rows of component samples, one per pixel, to pixels.
//!
//! The conversions and their rounding are libjpeg-turbo's.

use std::ops::Range;

use crate::codestream::ColorModel;
use crate::pixels::PixelFormat;

/// Pixels converted at a time: long enough for vector code, short enough for the first-level cache.
const CHUNK: usize = 64;

type Channel = [u8; CHUNK];

/// Converts one row. `components` holds the needed components' samples, one per pixel; `out` gets
/// `components[0].len()` pixels, in each plane for planar formats.
#[inline(always)]
pub(crate) fn convert_row(color: ColorModel, format: PixelFormat, components: &[&[u8]], out: &mut [&mut [u8]]) {
    match (format, color) {
        (PixelFormat::Gray8, ColorModel::Gray | ColorModel::YCbCr) => out[0].copy_from_slice(components[0]),
        (PixelFormat::Gray8, _) => in_chunks(color, components, |pixels, [red, green, blue]| {
            for (index, out) in out[0][pixels].iter_mut().enumerate() {
                *out = luma(red[index], green[index], blue[index]);
            }
        }),
        (PixelFormat::Rgb8, ColorModel::Gray) => interleave(out[0], [components[0]; 3]),
        (PixelFormat::Rgb8, _) => in_chunks(color, components, |pixels, [red, green, blue]| {
            pack3(&mut out[0][3 * pixels.start..3 * pixels.end], red, green, blue);
        }),
        (PixelFormat::Bgr8, _) => in_chunks(color, components, |pixels, [red, green, blue]| {
            pack3(&mut out[0][3 * pixels.start..3 * pixels.end], blue, green, red);
        }),
        (PixelFormat::Rgba8, _) => in_chunks(color, components, |pixels, [red, green, blue]| {
            let (pixels, _) = out[0][4 * pixels.start..4 * pixels.end].as_chunks_mut::<4>();
            for (index, pixel) in pixels.iter_mut().enumerate() {
                *pixel = [red[index], green[index], blue[index], 255];
            }
        }),
        (PixelFormat::Rgb8Planar, _) => in_chunks(color, components, |pixels, channels| {
            for (out, channel) in out.iter_mut().zip(channels) {
                out[pixels.clone()].copy_from_slice(&channel[..pixels.len()]);
            }
        }),
        (PixelFormat::Cmyk8, _) => cmyk_row(color, components, out[0]),
        (PixelFormat::ComponentPlanes, _) => {
            for (out, component) in out.iter_mut().zip(components) {
                out.copy_from_slice(component);
            }
        }
    }
}

/// Converts a row to red, green and blue in chunks and hands each to `write` with the pixels that it is.
#[inline(always)]
fn in_chunks(color: ColorModel, components: &[&[u8]], mut write: impl FnMut(Range<usize>, [&Channel; 3])) {
    let width = components[0].len();
    let (mut red, mut green, mut blue) = ([0; CHUNK], [0; CHUNK], [0; CHUNK]);
    for start in (0..width).step_by(CHUNK) {
        let pixels = start..(start + CHUNK).min(width);
        let mut samples = [[0; CHUNK]; 4];
        for (samples, component) in samples.iter_mut().zip(components) {
            samples[..pixels.len()].copy_from_slice(&component[pixels.clone()]);
        }
        to_rgb(color, &samples, &mut red, &mut green, &mut blue);
        write(pixels, [&red, &green, &blue]);
    }
}

#[inline(always)]
fn to_rgb(color: ColorModel, samples: &[Channel; 4], red: &mut Channel, green: &mut Channel, blue: &mut Channel) {
    let [first, second, third, fourth] = samples;
    match color {
        ColorModel::YCbCr => ycc_to_rgb(first, second, third, red, green, blue),
        ColorModel::Gray => {
            (*red, *green, *blue) = (*first, *first, *first);
        }
        ColorModel::Rgb | ColorModel::Unknown => {
            (*red, *green, *blue) = (*first, *second, *third);
        }
        ColorModel::Cmyk => {
            for index in 0..CHUNK {
                red[index] = under_black(first[index], fourth[index]);
                green[index] = under_black(second[index], fourth[index]);
                blue[index] = under_black(third[index], fourth[index]);
            }
        }
        ColorModel::Ycck => {
            ycc_to_rgb(first, second, third, red, green, blue);
            for index in 0..CHUNK {
                red[index] = under_black(255 - red[index], fourth[index]);
                green[index] = under_black(255 - green[index], fourth[index]);
                blue[index] = under_black(255 - blue[index], fourth[index]);
            }
        }
    }
}

/// YCbCr to RGB (JFIF). Factors have 16 fractional bits: 1.402, 0.344136, 0.714136, 1.772; each is split into
/// a whole number and a 16-bit rest, which keeps the products in what 16-bit multipliers can do.
#[inline(always)]
fn ycc_to_rgb(luma: &Channel, cb: &Channel, cr: &Channel, red: &mut Channel, green: &mut Channel, blue: &mut Channel) {
    const HALF: i32 = 1 << 15;
    // 91881 = 65536 + 26345; 116130 = 2 * 65536 - 14942; -46802 = -65536 + 18734; -22554.
    for index in 0..CHUNK {
        let y = i16::from(luma[index]);
        let cb = i16::from(cb[index]) - 128;
        let cr = i16::from(cr[index]) - 128;
        let scaled = |value: i16, factor: i16| i32::from(value) * i32::from(factor);
        let red_offset = cr + ((scaled(cr, 26345) + HALF) >> 16) as i16;
        let blue_offset = 2 * cb + ((scaled(cb, -14942) + HALF) >> 16) as i16;
        let green_offset = ((scaled(cb, -22554) + scaled(cr, 18734) + HALF) >> 16) as i16 - cr;
        red[index] = (y + red_offset).clamp(0, 255) as u8;
        green[index] = (y + green_offset).clamp(0, 255) as u8;
        blue[index] = (y + blue_offset).clamp(0, 255) as u8;
    }
}

/// A channel of Adobe's inverted CMYK under black: the rounded product, as djpeg makes RGB from CMYK.
#[inline(always)]
fn under_black(ink: u8, black: u8) -> u8 {
    ((2 * u32::from(ink) * u32::from(black) + 255) / 510) as u8
}

/// Luma of an RGB pixel: 0.299, 0.587, 0.114 with 16 fractional bits.
#[inline(always)]
fn luma(red: u8, green: u8, blue: u8) -> u8 {
    ((19595 * u32::from(red) + 38470 * u32::from(green) + 7471 * u32::from(blue) + 32768) >> 16) as u8
}

#[inline(always)]
fn cmyk_row(color: ColorModel, components: &[&[u8]], out: &mut [u8]) {
    let (pixels, _) = out.as_chunks_mut::<4>();
    if color == ColorModel::Ycck {
        let (mut red, mut green, mut blue) = ([0; CHUNK], [0; CHUNK], [0; CHUNK]);
        for (chunk, pixels) in pixels.chunks_mut(CHUNK).enumerate() {
            let mut samples = [[0; CHUNK]; 3];
            for (samples, component) in samples.iter_mut().zip(components) {
                let part = &component[chunk * CHUNK..chunk * CHUNK + pixels.len()];
                samples[..part.len()].copy_from_slice(part);
            }
            ycc_to_rgb(&samples[0], &samples[1], &samples[2], &mut red, &mut green, &mut blue);
            for (index, pixel) in pixels.iter_mut().enumerate() {
                let black = components[3][chunk * CHUNK + index];
                *pixel = [255 - red[index], 255 - green[index], 255 - blue[index], black];
            }
        }
    } else {
        for (index, pixel) in pixels.iter_mut().enumerate() {
            *pixel = std::array::from_fn(|component| components[component][index]);
        }
    }
}

/// Interleaves three channels into `out`, which has 3 bytes for each of its pixels, at most a chunk.
#[inline(always)]
fn pack3(out: &mut [u8], first: &Channel, second: &Channel, third: &Channel) {
    if let Ok(out) = <&mut [u8; 3 * CHUNK]>::try_from(&mut *out) {
        for index in 0..CHUNK {
            out[3 * index] = first[index];
            out[3 * index + 1] = second[index];
            out[3 * index + 2] = third[index];
        }
    } else {
        interleave(out, [first, second, third]);
    }
}

#[inline(always)]
fn interleave(out: &mut [u8], channels: [&[u8]; 3]) {
    let (pixels, _) = out.as_chunks_mut::<3>();
    for (index, pixel) in pixels.iter_mut().enumerate() {
        *pixel = [channels[0][index], channels[1][index], channels[2][index]];
    }
}

#[cfg(test)]
mod tests;
