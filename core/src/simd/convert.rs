//! YCbCr to pixels, a vector of each component at a time.

use super::vector::Vector;
use crate::codestream::ColorModel;
use crate::cpu::color;
use crate::pixels::PixelFormat;

/// [`color::convert_row`], of which the usual cases are written out.
#[inline(always)]
pub(super) fn convert_row<V: Vector>(
    model: ColorModel,
    format: PixelFormat,
    components: &[&[u8]],
    out: &mut [&mut [u8]],
) {
    let step = 2 * V::LANES;
    let [luma, cb, cr] = *components else { return color::convert_row(model, format, components, out) };
    if model != ColorModel::YCbCr || luma.len() < step {
        return color::convert_row(model, format, components, out);
    }
    match (format, out) {
        (PixelFormat::Rgb8, [out]) => {
            for at in steps(step, luma.len()) {
                V::store3(&mut out[3 * at..3 * (at + step)], rgb::<V>([luma, cb, cr], at));
            }
        }
        (PixelFormat::Bgr8, [out]) => {
            for at in steps(step, luma.len()) {
                let [red, green, blue] = rgb::<V>([luma, cb, cr], at);
                V::store3(&mut out[3 * at..3 * (at + step)], [blue, green, red]);
            }
        }
        (PixelFormat::Rgba8, [out]) => {
            for at in steps(step, luma.len()) {
                V::store_opaque(&mut out[4 * at..4 * (at + step)], rgb::<V>([luma, cb, cr], at));
            }
        }
        (PixelFormat::Rgb8Planar, [red_out, green_out, blue_out]) => {
            for at in steps(step, luma.len()) {
                let [red, green, blue] = rgb::<V>([luma, cb, cr], at);
                V::store_bytes(&mut red_out[at..at + step], red);
                V::store_bytes(&mut green_out[at..at + step], green);
                V::store_bytes(&mut blue_out[at..at + step], blue);
            }
        }
        (format, out) => color::convert_row(model, format, components, out),
    }
}

/// Where steps of this length begin that cover `width`, which has room for one; the last overlaps the one before, if need
/// be.
#[inline(always)]
fn steps(length: usize, width: usize) -> impl Iterator<Item = usize> {
    let last = width - length;
    (0..last).step_by(length).chain([last])
}

/// Red, green and blue of the pixels from `at` on; see [`color`] for the factors.
#[inline(always)]
fn rgb<V: Vector>(components: [&[u8]; 3], at: usize) -> [V::Bytes; 3] {
    let [luma, cb, cr] = components;
    let step = 2 * V::LANES;
    let y = V::widened(V::load_bytes(&luma[at..at + step]));
    let cb = V::widened(V::load_bytes(&cb[at..at + step]));
    let cr = V::widened(V::load_bytes(&cr[at..at + step]));
    let [low, high] = [rgb_of_widened([y[0], cb[0], cr[0]]), rgb_of_widened([y[1], cb[1], cr[1]])];
    [V::narrowed([low[0], high[0]]), V::narrowed([low[1], high[1]]), V::narrowed([low[2], high[2]])]
}

#[inline(always)]
fn rgb_of_widened<V: Vector>([y, cb, cr]: [V; 3]) -> [V; 3] {
    let half = V::splat(128);
    let (cb, cr) = (cb.sub(half), cr.sub(half));
    let red_offset = cr.add(cr.rounded_product(26345));
    let green_offset = V::descaled::<16>(cb.products(-22554, cr, 18734)).sub(cr);
    let blue_offset = cb.add(cb).add(cb.rounded_product(-14942));
    [y.add(red_offset), y.add(green_offset), y.add(blue_offset)]
}
