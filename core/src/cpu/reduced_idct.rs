//! Inverse DCTs of blocks to 4x4, 2x2 and 1x1 samples, for decoding at a smaller scale.
//!
//! A smaller transform leaves the highest frequencies out; what remains is that of libjpeg-turbo: its SIMD kernels for
//! x86-64 with 4x4 and 2x2 samples (16-bit wrapping products of coefficient and quantizer, 32-bit wrapping sums, 16-bit
//! saturation after the first pass, samples that saturate), and its portable code with 1x1, whose samples wrap.

use super::dequant_idct::{Lanes, to_sample};
use crate::entropy::Block;

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
    rounded::<BITS>(value).clamp(i32::from(i16::MIN), i32::from(i16::MAX)) as i16
}

#[inline(always)]
fn rounded<const BITS: u32>(value: i32) -> i32 {
    value.wrapping_add(1 << (BITS - 1)) >> BITS
}

/// The first pass of a transform to 2x2 samples: what the coefficients of each column add up to, the first one and the odd
/// ones apart. A coefficient has a part in one sum, so that few coefficients cost little. Columns 2, 4 and 6 mean nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ColumnSums {
    pub(crate) even: [i32; 8],
    pub(crate) odd: [i32; 8],
}

/// For the coefficients of eight: their parts in half the difference of two outputs.
pub(crate) const ODD: [i16; 8] = [0, 29692, 0, -10426, 0, 6967, 0, -5906];
/// Rounded away after each pass.
pub(crate) const PASS1_DESCALE_TO_2: u32 = CONSTANT_BITS - PASS1_BITS + 2;
pub(crate) const PASS2_DESCALE_TO_2: u32 = CONSTANT_BITS + PASS1_BITS + 3 + 2;
/// What the even part is shifted by, to have the fractional bits of products.
pub(crate) const SCALE_TO_2: u32 = CONSTANT_BITS + 2;

/// By natural index, which sum a coefficient adds to and what it is multiplied by. Those of rows 2, 4 and 6 have no part;
/// they go by turns to sums that mean nothing.
const PARTS: [(u8, i32); 64] = {
    let mut parts = [(0, 0); 64];
    let mut natural = 0;
    while natural < 64 {
        let (row, column) = (natural / 8, natural % 8);
        parts[natural] = match row {
            0 => (column as u8, 1 << SCALE_TO_2),
            1 | 3 | 5 | 7 => (8 + column as u8, ODD[row] as i32),
            _ => ([2, 4, 6, 10, 12, 14][column % 6], 0),
        };
        natural += 1;
    }
    parts
};

impl ColumnSums {
    /// Adds a dequantised coefficient.
    #[inline(always)]
    pub(super) fn add(&mut self, natural: u8, product: i16) {
        let (sum, factor) = PARTS[usize::from(natural & 63)];
        let sums = if sum < 8 { &mut self.even } else { &mut self.odd };
        let sum = &mut sums[usize::from(sum & 7)];
        *sum = sum.wrapping_add(i32::from(product).wrapping_mul(factor));
    }

    /// The sums of a whole block.
    #[inline(always)]
    pub(crate) fn of_block(block: &Block, quant: &[u16; 64]) -> Self {
        let product = |row: usize, column: usize| {
            let index = 8 * row + column;
            i32::from(block[index].wrapping_mul(quant[index] as i16))
        };
        let mut sums = ColumnSums::default();
        for column in 0..8 {
            sums.even[column] = product(0, column) << SCALE_TO_2;
            sums.odd[column] = [1, 3, 5, 7]
                .iter()
                .fold(0, |sum: i32, &row| sum.wrapping_add(product(row, column) * i32::from(ODD[row])));
        }
        sums
    }
}

/// The second pass of a transform to 2x2 samples.
#[inline(always)]
pub(crate) fn finish_2(sums: &ColumnSums, out: &mut [u8], stride: usize) {
    let rows: [[i32; 8]; 2] = [
        std::array::from_fn(|column| sums.even[column].wrapping_add(sums.odd[column])),
        std::array::from_fn(|column| sums.even[column].wrapping_sub(sums.odd[column])),
    ];
    for (row, values) in rows.iter().enumerate() {
        // Column 0 keeps 32 bits between the passes.
        let even = rounded::<PASS1_DESCALE_TO_2>(values[0]).wrapping_shl(SCALE_TO_2);
        let odd = values.iter().zip(ODD).fold(0i32, |sum, (&value, factor)| {
            sum.wrapping_add(i32::from(descale::<PASS1_DESCALE_TO_2>(value)) * i32::from(factor))
        });
        let pair = [even.wrapping_add(odd), even.wrapping_sub(odd)];
        out[row * stride..row * stride + 2].copy_from_slice(&pair.map(descale::<PASS2_DESCALE_TO_2>).map(to_sample));
    }
}

/// Reconstructs a block to 2x2 samples.
#[inline(always)]
pub(crate) fn block_to_2(block: &Block, quant: &[u16; 64], out: &mut [u8], stride: usize) {
    finish_2(&ColumnSums::of_block(block, quant), out, stride);
}

/// The samples of a block with nothing but DC reduced to 2x2: all the same.
pub(super) fn flat_sample_of_2(product: i16) -> u8 {
    let even = (i32::from(product) << PASS1_BITS).wrapping_shl(SCALE_TO_2);
    to_sample(descale::<PASS2_DESCALE_TO_2>(even))
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
