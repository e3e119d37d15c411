//! Inverse DCTs of blocks to 4x4, 2x2 and 1x1 samples, for decoding at a smaller scale.
//!
//! A smaller transform leaves the highest frequencies out; what remains is that of libjpeg-turbo: its SIMD kernels for
//! x86-64 with 4x4 and 2x2 samples (16-bit wrapping products of coefficient and quantizer, 32-bit wrapping sums, 16-bit
//! saturation after the first pass, samples that saturate), and its portable code with 1x1, whose samples wrap.

use super::dequant_idct::{Lanes, to_sample};

/// Bits of the fixed-point constants, and fractional bits kept between the passes.
const CONSTANT_BITS: u32 = 13;
const PASS1_BITS: u32 = 2;

/// Transforms two dequantised blocks side by side to 4x4 samples each, which begin at `places`. Row and column 4 of the
/// blocks are not read.
pub(crate) fn transform_pair_to_4(products: &[[i16; 16]; 8], samples: &mut [u8], places: [usize; 2], stride: usize) {
    let columns = [0, 8].map(|lane| {
        let block = products.each_ref().map(|row| std::array::from_fn(|column| row[lane + column]));
        one_dimension_to_4::<{ CONSTANT_BITS - PASS1_BITS + 1 }>(&block)
    });
    finish_4(&columns, samples, places, stride);
}

/// Transforms a block with nothing below its first row, or only in row 4, to 4x4 samples. The kernels' short way for these
/// wraps where the long way saturates.
pub(super) fn transform_flat_to_4(first_row: &Lanes, samples: &mut [u8], place: usize, stride: usize) {
    let columns = [first_row.map(|value| value.wrapping_shl(PASS1_BITS)); 4];
    finish_4(&[columns; 2], samples, [place; 2], stride);
}

/// The second pass over two blocks' four rows each.
fn finish_4(columns: &[[Lanes; 4]; 2], samples: &mut [u8], places: [usize; 2], stride: usize) {
    let rows: [Lanes; 8] = std::array::from_fn(|k| std::array::from_fn(|lane| columns[lane / 4][lane % 4][k]));
    let done = one_dimension_to_4::<{ CONSTANT_BITS + PASS1_BITS + 3 + 1 }>(&rows);
    for lane in 0..8 {
        let start = places[lane / 4] + lane % 4 * stride;
        let out: &mut [u8; 4] = (&mut samples[start..start + 4]).try_into().expect("four samples");
        *out = std::array::from_fn(|column| to_sample(done[column][lane]));
    }
}

/// Eight one-dimensional transforms side by side, of eight coefficients to four outputs. Coefficient 4 has no part in it.
#[inline(always)]
fn one_dimension_to_4<const DESCALE: u32>(input: &[Lanes; 8]) -> [Lanes; 4] {
    let mut output = [[0; 8]; 4];
    for lane in 0..8 {
        let v = |k: usize| i32::from(input[k][lane]);
        let sum4 = |a: i32, b: i32, c: i32, d: i32| a.wrapping_add(b).wrapping_add(c).wrapping_add(d);

        let dc = v(0) << (CONSTANT_BITS + 1);
        let even = (v(2) * 15137).wrapping_sub(v(6) * 6270);
        let (outer, inner) = (dc.wrapping_add(even), dc.wrapping_sub(even));
        let inner_odd = sum4(v(1) * 8697, v(3) * -17799, v(5) * 11893, v(7) * -1730);
        let outer_odd = sum4(v(1) * 20995, v(3) * 7373, v(5) * -4926, v(7) * -4176);

        output[0][lane] = descale::<DESCALE>(outer.wrapping_add(outer_odd));
        output[1][lane] = descale::<DESCALE>(inner.wrapping_add(inner_odd));
        output[2][lane] = descale::<DESCALE>(inner.wrapping_sub(inner_odd));
        output[3][lane] = descale::<DESCALE>(outer.wrapping_sub(outer_odd));
    }
    output
}

/// Rounds fractional bits away and saturates to 16 bits.
#[inline(always)]
fn descale<const BITS: u32>(value: i32) -> i16 {
    saturated(rounded(value, BITS))
}

#[inline(always)]
fn rounded(value: i32, bits: u32) -> i32 {
    value.wrapping_add(1 << (bits - 1)) >> bits
}

#[inline(always)]
fn saturated(value: i32) -> i16 {
    value.clamp(i32::from(i16::MIN), i32::from(i16::MAX)) as i16
}

/// For the coefficients of eight: their parts in half the difference of two outputs.
const ODD_TO_2: [i16; 8] = [0, 29692, 0, -10426, 0, 6967, 0, -5906];
/// Rounded away after each pass of a transform to 2 samples.
const DESCALE_TO_2: [u32; 2] = [CONSTANT_BITS - PASS1_BITS + 2, CONSTANT_BITS + PASS1_BITS + 3 + 2];
/// What the even part is shifted by, to have the fractional bits of products.
const SCALE_TO_2: u32 = CONSTANT_BITS + 2;

/// Transforms two dequantised blocks side by side to 2x2 samples each, which begin at `places`. Rows and columns 2, 4 and 6
/// of the blocks are not read.
pub(crate) fn transform_pair_to_2(products: &[[i16; 16]; 8], samples: &mut [u8], places: [usize; 2], stride: usize) {
    let part = |value: i16, k: usize| i32::from(value) * i32::from(ODD_TO_2[k]);
    for (place, first_lane) in places.into_iter().zip([0, 8]) {
        let columns: [[i32; 2]; 8] = std::array::from_fn(|column| {
            let lane = first_lane + column;
            let even = i32::from(products[0][lane]) << SCALE_TO_2;
            let odd = [1, 3, 5, 7].iter().fold(0i32, |sum, &k| sum.wrapping_add(part(products[k][lane], k)));
            [even.wrapping_add(odd), even.wrapping_sub(odd)].map(|sum| rounded(sum, DESCALE_TO_2[0]))
        });
        finish_2(&[0, 1].map(|row| columns.map(|column| column[row])), samples, place, stride);
    }
}

/// The second pass over a block's two rows.
#[inline(always)]
pub(crate) fn finish_2(rows: &[[i32; 8]; 2], samples: &mut [u8], place: usize, stride: usize) {
    for (row, values) in rows.iter().enumerate() {
        // Column 0 keeps 32 bits between the passes.
        let even = values[0].wrapping_shl(SCALE_TO_2);
        let part = |k: usize| i32::from(saturated(values[k])) * i32::from(ODD_TO_2[k]);
        let odd = [1, 3, 5, 7].iter().fold(0i32, |sum, &k| sum.wrapping_add(part(k)));
        let pair = [even.wrapping_add(odd), even.wrapping_sub(odd)];
        let pair = pair.map(|sum| to_sample(saturated(rounded(sum, DESCALE_TO_2[1]))));
        samples[place + row * stride..][..2].copy_from_slice(&pair);
    }
}

/// The samples of a block with nothing but DC reduced to 2x2: all the same.
pub(super) fn flat_sample_of_2(product: i16) -> u8 {
    let even = (i32::from(product) << PASS1_BITS).wrapping_shl(SCALE_TO_2);
    to_sample(saturated(rounded(even, DESCALE_TO_2[1])))
}

/// The only sample of a block reduced to 1x1: its mean. Where it is far out of range it wraps, as libjpeg's table for limiting
/// samples does: 1024 values around the middle, of which the outer ones are black or white.
pub(super) fn single_sample(dc: i16, quant: u16) -> u8 {
    let mean = (i32::from(dc) * i32::from(quant as i16) + 4) >> 3;
    let wrapped = ((mean + 512) & 1023) - 512;
    (wrapped + 128).clamp(0, 255) as u8
}

#[cfg(test)]
mod tests;
