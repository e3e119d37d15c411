//! WebAssembly's 128-bit vectors. What compilers vectorise well is the plain code compiled with them.

use std::arch::wasm32::*;

use crate::codestream::ColorModel;
use crate::cpu::reduced_idct::{DESCALE_TO_2, ODD_TO_2, SCALE_TO_2};
use crate::cpu::{color, upsample};
use crate::entropy::{BlockSink, McuRun};
use crate::pixels::PixelFormat;

pub(super) fn decode_mcus<S: BlockSink>(run: McuRun<S>) -> u32 {
    run.decode()
}

pub(super) fn triangle_h2v1(row: &[u8], out: &mut [u8]) {
    let width = row.len();
    if width < LANES + 2 {
        return upsample::triangle_h2v1(row, out);
    }
    // The first and last samples have one neighbour only.
    upsample::triangle_h2v1(&row[..2], &mut out[..4]);
    upsample::triangle_h2v1(&row[width - 2..], &mut out[2 * width - 4..]);
    for at in steps(LANES, 1, width - 1) {
        let [before, here, after] = [at - 1, at, at + 1].map(|start| load_widened(&row[start..start + LANES]));
        let here = i16x8_mul(here, i16x8_splat(3));
        let filtered = |neighbour, bias| u16x8_shr(i16x8_add(i16x8_add(here, neighbour), i16x8_splat(bias)), 2);
        store_pairs(&mut out[2 * at..2 * (at + LANES)], filtered(before, 1), filtered(after, 2));
    }
}

pub(super) fn triangle_h1v2(near: &[u8], far: &[u8], upper_half: bool, out: &mut [u8]) {
    upsample::triangle_h1v2(near, far, upper_half, out);
}

pub(super) fn triangle_h2v2(near: &[u8], far: &[u8], sums: &mut [u16], out: &mut [u8]) {
    let width = near.len();
    if width < LANES {
        return upsample::triangle_h2v2(near, far, sums, out);
    }
    let sums = &mut sums[..width + 2];
    for at in steps(LANES, 0, width) {
        let [near, far] = [near, far].map(|row| load_widened(&row[at..at + LANES]));
        store_lanes(&mut sums[at + 1..at + 1 + LANES], i16x8_add(i16x8_mul(near, i16x8_splat(3)), far));
    }
    sums[0] = sums[1];
    sums[width + 1] = sums[width];
    for at in steps(LANES, 0, width) {
        let [before, here, after] = [at, at + 1, at + 2].map(|start| load_lanes(&sums[start..start + LANES]));
        let here = i16x8_mul(here, i16x8_splat(3));
        let filtered = |neighbour, bias| u16x8_shr(i16x8_add(i16x8_add(here, neighbour), i16x8_splat(bias)), 4);
        store_pairs(&mut out[2 * at..2 * (at + LANES)], filtered(before, 8), filtered(after, 7));
    }
}

/// 16-bit lanes of a vector.
const LANES: usize = 8;
/// Pixels that the written-out conversions make at a time.
const STEP: usize = 16;

/// Where steps of this length begin that cover `start..end`; the last one overlaps the one before, if need be. There
/// must be room for one.
fn steps(length: usize, start: usize, end: usize) -> impl Iterator<Item = usize> {
    let last = end - length;
    (start..last).step_by(length).chain([last])
}

pub(super) fn convert_row(color: ColorModel, format: PixelFormat, components: &[&[u8]], out: &mut [&mut [u8]]) {
    let [luma, cb, cr] = *components else { return color::convert_row(color, format, components, out) };
    if color != ColorModel::YCbCr || luma.len() < STEP {
        return color::convert_row(color, format, components, out);
    }
    let rgb_at = |at: usize| rgb([luma, cb, cr].map(|row| load(&row[at..at + STEP])));
    match (format, out) {
        (PixelFormat::Rgb8, [out]) => {
            for at in steps(STEP, 0, luma.len()) {
                store(&mut out[3 * at..3 * (at + STEP)], interleaved3(rgb_at(at)));
            }
        }
        (PixelFormat::Bgr8, [out]) => {
            for at in steps(STEP, 0, luma.len()) {
                let [red, green, blue] = rgb_at(at);
                store(&mut out[3 * at..3 * (at + STEP)], interleaved3([blue, green, red]));
            }
        }
        (PixelFormat::Rgba8, [out]) => {
            for at in steps(STEP, 0, luma.len()) {
                store(&mut out[4 * at..4 * (at + STEP)], with_alpha(rgb_at(at)));
            }
        }
        (format, out) => color::convert_row(color, format, components, out),
    }
}

/// YCbCr to RGB of 16 pixels; see [`color`] for the factors.
#[inline(always)]
fn rgb(components: [v128; 3]) -> [v128; 3] {
    let low = rgb_of_widened(components.map(|bytes| u16x8_extend_low_u8x16(bytes)));
    let high = rgb_of_widened(components.map(|bytes| u16x8_extend_high_u8x16(bytes)));
    std::array::from_fn(|channel| u8x16_narrow_i16x8(low[channel], high[channel]))
}

#[inline(always)]
fn rgb_of_widened([y, cb, cr]: [v128; 3]) -> [v128; 3] {
    let half = i16x8_splat(128);
    let (cb, cr) = (i16x8_sub(cb, half), i16x8_sub(cr, half));
    let green = rounded(add(products(cb, -22554), products(cr, 18734)));
    let red_offset = i16x8_add(cr, rounded(products(cr, 26345)));
    let green_offset = i16x8_sub(green, cr);
    let blue_offset = i16x8_add(i16x8_add(cb, cb), rounded(products(cb, -14942)));
    [red_offset, green_offset, blue_offset].map(|offset| i16x8_add(y, offset))
}

/// The 32-bit products of the lower and the upper four lanes.
#[inline(always)]
fn products(value: v128, factor: i16) -> [v128; 2] {
    let factor = i16x8_splat(factor);
    [i32x4_extmul_low_i16x8(value, factor), i32x4_extmul_high_i16x8(value, factor)]
}

#[inline(always)]
fn add(a: [v128; 2], b: [v128; 2]) -> [v128; 2] {
    [i32x4_add(a[0], b[0]), i32x4_add(a[1], b[1])]
}

/// Rounds to the upper 16 bits of each lane.
#[inline(always)]
fn rounded(sums: [v128; 2]) -> v128 {
    let [low, high] = sums.map(|sum| i32x4_add(sum, i32x4_splat(1 << 15)));
    i16x8_shuffle::<1, 3, 5, 7, 9, 11, 13, 15>(low, high)
}

/// 16 pixels of red, green, blue and 255.
#[inline(always)]
fn with_alpha([red, green, blue]: [v128; 3]) -> [v128; 4] {
    let opaque = u8x16_splat(255);
    let low = [interleaved_low8(red, green), interleaved_low8(blue, opaque)];
    let high = [interleaved_high8(red, green), interleaved_high8(blue, opaque)];
    [
        interleaved_low16(low[0], low[1]),
        interleaved_high16(low[0], low[1]),
        interleaved_low16(high[0], high[1]),
        interleaved_high16(high[0], high[1]),
    ]
}

/// 16 pixels of three bytes.
#[inline(always)]
fn interleaved3(channels: [v128; 3]) -> [v128; 3] {
    std::array::from_fn(|part| {
        let [first, second, third] =
            std::array::from_fn(|channel| u8x16_swizzle(channels[channel], load(&INTERLEAVE3[part][channel])));
        v128_or(v128_or(first, second), third)
    })
}

/// Indices by part and channel; one above 15 gives 0. Byte i of part n is byte (16 n + i) / 3 of channel
/// (16 n + i) % 3.
const INTERLEAVE3: [[[u8; 16]; 3]; 3] = {
    let mut indices = [[[0xFF; 16]; 3]; 3];
    let mut byte = 0;
    while byte < 48 {
        indices[byte / 16][byte % 3][byte % 16] = byte as u8 / 3;
        byte += 1;
    }
    indices
};

pub(super) fn transform_pair(products: &[[i16; 16]; 8], samples: &mut [u8], places: [usize; 2], stride: usize) {
    for (place, lane) in places.into_iter().zip([0, 8]) {
        let columns = one_dimension::<11>(products.each_ref().map(|row| load_signed(&row[lane..lane + LANES])));
        let rows = transposed(one_dimension::<18>(transposed(columns)));
        for pair in 0..4 {
            let both = i8x16_narrow_i16x8(rows[2 * pair], rows[2 * pair + 1]);
            let both = v128_xor(both, i8x16_splat(-128));
            let upper = place + 2 * pair * stride;
            samples[upper..upper + 8].copy_from_slice(&u64x2_extract_lane::<0>(both).to_le_bytes());
            let lower = upper + stride;
            samples[lower..lower + 8].copy_from_slice(&u64x2_extract_lane::<1>(both).to_le_bytes());
        }
    }
}

pub(super) fn transform_pair_to_4(products: &[[i16; 16]; 8], samples: &mut [u8], places: [usize; 2], stride: usize) {
    for (place, lane) in places.into_iter().zip([0, 8]) {
        let rows = columns_to_4(products.each_ref().map(|row| load_signed(&row[lane..lane + LANES])));
        // Pairs of columns, four rows of each: 0 and 1, 2 and 3, and so on.
        let (low01, high01) = (interleaved_low16(rows[0], rows[1]), interleaved_high16(rows[0], rows[1]));
        let (low23, high23) = (interleaved_low16(rows[2], rows[3]), interleaved_high16(rows[2], rows[3]));
        let done = rows_to_4([
            interleaved_low32(low01, low23),
            interleaved_high32(low01, low23),
            interleaved_low32(high01, high23),
            interleaved_high32(high01, high23),
        ]);
        // Back to rows: samples 0 and 1 of all four rows, samples 2 and 3, then two rows whole.
        let (even, odd) = (i16x8_narrow_i32x4(done[0], done[2]), i16x8_narrow_i32x4(done[1], done[3]));
        let (left, right) = (interleaved_low16(even, odd), interleaved_high16(even, odd));
        let bytes = i8x16_narrow_i16x8(interleaved_low32(left, right), interleaved_high32(left, right));
        let bytes = v128_xor(bytes, i8x16_splat(-128));
        let rows = [
            u32x4_extract_lane::<0>(bytes),
            u32x4_extract_lane::<1>(bytes),
            u32x4_extract_lane::<2>(bytes),
            u32x4_extract_lane::<3>(bytes),
        ];
        for (row, four) in rows.into_iter().enumerate() {
            let start = place + row * stride;
            samples[start..start + 4].copy_from_slice(&four.to_le_bytes());
        }
    }
}

/// The first pass of a transform to 4 samples: eight columns to four rows.
#[inline(always)]
fn columns_to_4(v: [v128; 8]) -> [v128; 4] {
    let half = |interleaved: fn(v128, v128) -> v128| {
        let dc = interleaved(i16x8_splat(0), v[0]);
        outputs_of_4::<12>(dc, interleaved(v[2], v[6]), interleaved(v[1], v[3]), interleaved(v[5], v[7]))
    };
    let (low, high) = (half(interleaved_low16), half(interleaved_high16));
    std::array::from_fn(|row| i16x8_narrow_i32x4(low[row], high[row]))
}

/// The second pass: four rows, given as pairs of columns, to four 32-bit samples.
#[inline(always)]
fn rows_to_4([c01, c23, c45, c67]: [v128; 4]) -> [v128; 4] {
    outputs_of_4::<19>(
        interleaved_low16(i16x8_splat(0), c01),
        interleaved_low16(c23, c67),
        interleaved_high16(c01, c23),
        interleaved_high16(c45, c67),
    )
}

/// Four transforms of one dimension to 4 samples, from coefficient 0 in the upper 16 bits and pairs of others; as the
/// plain code's `one_dimension_to_4`.
#[inline(always)]
fn outputs_of_4<const DESCALE: u32>(dc: v128, second_sixth: v128, first_third: v128, fifth_seventh: v128) -> [v128; 4] {
    let add = |a, b| i32x4_add(a, b);
    let sub = |a, b| i32x4_sub(a, b);
    let product = |both, factors| i32x4_dot_i16x8(both, factors);
    let dc = i32x4_shr(dc, 2);
    let even = product(second_sixth, pair(15137, -6270));
    let (outer, inner) = (add(dc, even), sub(dc, even));
    let outer_odd = add(product(first_third, pair(20995, 7373)), product(fifth_seventh, pair(-4926, -4176)));
    let inner_odd = add(product(first_third, pair(8697, -17799)), product(fifth_seventh, pair(11893, -1730)));
    let rounding = i32x4_splat(1 << (DESCALE - 1));
    [add(outer, outer_odd), add(inner, inner_odd), sub(inner, inner_odd), sub(outer, outer_odd)]
        .map(|sum| i32x4_shr(add(sum, rounding), DESCALE))
}

pub(super) fn transform_pair_to_2(products: &[[i16; 16]; 8], samples: &mut [u8], places: [usize; 2], stride: usize) {
    let rounded = |sums, bits: u32| i32x4_shr(i32x4_add(sums, i32x4_splat(1 << (bits - 1))), bits);
    let [first_pass, second_pass] = DESCALE_TO_2;
    let [_, f1, _, f3, _, f5, _, f7] = ODD_TO_2;
    for (place, lane) in places.into_iter().zip([0, 8]) {
        let v = products.each_ref().map(|row| load_signed(&row[lane..lane + LANES]));
        // Columns 0 to 3, then columns 4 to 7.
        let half = |interleaved: fn(v128, v128) -> v128| {
            // In the upper 16 bits, then moved down to 15 fractional ones.
            let even = i32x4_shr(interleaved(i16x8_splat(0), v[0]), 1);
            let odd = i32x4_add(
                i32x4_dot_i16x8(interleaved(v[1], v[3]), pair(f1, f3)),
                i32x4_dot_i16x8(interleaved(v[5], v[7]), pair(f5, f7)),
            );
            [i32x4_add(even, odd), i32x4_sub(even, odd)].map(|sums| rounded(sums, first_pass))
        };
        let rows = [half(interleaved_low16), half(interleaved_high16)];
        // Each row of samples is a sum over columns.
        let factors = load_signed(&ODD_TO_2);
        let odd = |row: usize| i32x4_dot_i16x8(i16x8_narrow_i32x4(rows[0][row], rows[1][row]), factors);
        let (upper, lower) = (odd(0), odd(1));
        // Of both rows by turns: two halves of their sums, then the sums.
        let halves = i32x4_add(interleaved_low32(upper, lower), interleaved_high32(upper, lower));
        let odd = i32x4_add(halves, i64x2_shuffle::<1, 0>(halves, halves));
        // Column 0 keeps 32 bits between the passes.
        let even = i32x4_shl(interleaved_low32(rows[0][0], rows[0][1]), SCALE_TO_2);
        let four = rounded(interleaved_low32(i32x4_add(even, odd), i32x4_sub(even, odd)), second_pass);
        let four = i16x8_narrow_i32x4(four, four);
        let four = v128_xor(i8x16_narrow_i16x8(four, four), i8x16_splat(-128));
        let [a, b, c, d] = u32x4_extract_lane::<0>(four).to_le_bytes();
        samples[place..place + 2].copy_from_slice(&[a, b]);
        samples[place + stride..place + stride + 2].copy_from_slice(&[c, d]);
    }
}

/// Eight one-dimensional transforms side by side; as the plain code's `one_dimension`.
#[inline(always)]
fn one_dimension<const DESCALE: u32>(v: [v128; 8]) -> [v128; 8] {
    let low = half_of_one_dimension::<DESCALE>(v, interleaved_low16);
    let high = half_of_one_dimension::<DESCALE>(v, interleaved_high16);
    std::array::from_fn(|index| i16x8_narrow_i32x4(low[index], high[index]))
}

/// Half of the lanes, widened to 32 bits by interleaving pairs of inputs.
#[inline(always)]
fn half_of_one_dimension<const DESCALE: u32>(v: [v128; 8], interleaved: impl Fn(v128, v128) -> v128) -> [v128; 8] {
    let add = |a, b| i32x4_add(a, b);
    let sub = |a, b| i32x4_sub(a, b);
    let product = |both, factors| i32x4_dot_i16x8(both, factors);
    // In the upper 16 bits, then moved down to 13 fractional ones.
    let scaled = |value| i32x4_shr(interleaved(i16x8_splat(0), value), 3);

    let even = interleaved(v[2], v[6]);
    let (t3, t2) = (product(even, pair(10703, 4433)), product(even, pair(4433, -10704)));
    let (t0, t1) = (scaled(i16x8_add(v[0], v[4])), scaled(i16x8_sub(v[0], v[4])));
    let (t10, t13, t11, t12) = (add(t0, t3), sub(t0, t3), add(t1, t2), sub(t1, t2));

    let sums = interleaved(i16x8_add(v[7], v[3]), i16x8_add(v[5], v[1]));
    let (sum3, sum4) = (product(sums, pair(-6436, 9633)), product(sums, pair(9633, 6437)));
    let (outer, inner) = (interleaved(v[7], v[1]), interleaved(v[5], v[3]));
    let a = add(product(outer, pair(-4927, -7373)), sum3);
    let b = add(product(inner, pair(-4176, -20995)), sum4);
    let c = add(product(inner, pair(-20995, 4177)), sum3);
    let d = add(product(outer, pair(-7373, 4926)), sum4);

    let rounding = i32x4_splat(1 << (DESCALE - 1));
    [add(t10, d), add(t11, c), add(t12, b), add(t13, a), sub(t13, a), sub(t12, b), sub(t11, c), sub(t10, d)]
        .map(|sum| i32x4_shr(add(sum, rounding), DESCALE))
}

/// Two factors for every pair of lanes.
#[inline(always)]
fn pair(first: i16, second: i16) -> v128 {
    i32x4_splat(i32::from(second) << 16 | i32::from(first as u16))
}

/// Transposes a block by three perfect shuffles.
#[inline(always)]
fn transposed(rows: [v128; 8]) -> [v128; 8] {
    let shuffled = |r: [v128; 8]| -> [v128; 8] {
        std::array::from_fn(|row| match row % 2 {
            0 => interleaved_low16(r[row / 2], r[row / 2 + 4]),
            _ => interleaved_high16(r[row / 2], r[row / 2 + 4]),
        })
    };
    shuffled(shuffled(shuffled(rows)))
}

#[inline(always)]
fn interleaved_low16(a: v128, b: v128) -> v128 {
    i16x8_shuffle::<0, 8, 1, 9, 2, 10, 3, 11>(a, b)
}

#[inline(always)]
fn interleaved_high16(a: v128, b: v128) -> v128 {
    i16x8_shuffle::<4, 12, 5, 13, 6, 14, 7, 15>(a, b)
}

#[inline(always)]
fn interleaved_low32(a: v128, b: v128) -> v128 {
    i32x4_shuffle::<0, 4, 1, 5>(a, b)
}

#[inline(always)]
fn interleaved_high32(a: v128, b: v128) -> v128 {
    i32x4_shuffle::<2, 6, 3, 7>(a, b)
}

#[inline(always)]
fn interleaved_low8(a: v128, b: v128) -> v128 {
    i8x16_shuffle::<0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23>(a, b)
}

#[inline(always)]
fn interleaved_high8(a: v128, b: v128) -> v128 {
    i8x16_shuffle::<8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31>(a, b)
}

#[inline(always)]
fn load(bytes: &[u8]) -> v128 {
    let bytes: &[u8; 16] = bytes.try_into().expect("callers pass 16 bytes");
    // SAFETY: 16 bytes are readable behind the reference, and the load needs no alignment.
    unsafe { v128_load(bytes.as_ptr().cast()) }
}

/// Eight bytes as 16-bit lanes.
#[inline(always)]
fn load_widened(bytes: &[u8]) -> v128 {
    let bytes: &[u8; 8] = bytes.try_into().expect("callers pass 8 bytes");
    // SAFETY: 8 bytes are readable behind the reference, and the load needs no alignment.
    unsafe { u16x8_load_extend_u8x8(bytes.as_ptr()) }
}

#[inline(always)]
fn load_lanes(lanes: &[u16]) -> v128 {
    let lanes: &[u16; LANES] = lanes.try_into().expect("callers pass eight lanes");
    // SAFETY: 16 bytes are readable behind the reference, and the load needs no alignment.
    unsafe { v128_load(lanes.as_ptr().cast()) }
}

#[inline(always)]
fn load_signed(lanes: &[i16]) -> v128 {
    let lanes: &[i16; LANES] = lanes.try_into().expect("callers pass eight lanes");
    // SAFETY: 16 bytes are readable behind the reference, and the load needs no alignment.
    unsafe { v128_load(lanes.as_ptr().cast()) }
}

#[inline(always)]
fn store_lanes(out: &mut [u16], lanes: v128) {
    let out: &mut [u16; LANES] = out.try_into().expect("callers pass room for eight lanes");
    // SAFETY: 16 bytes are writable behind the reference, and the store needs no alignment.
    unsafe { v128_store(out.as_mut_ptr().cast(), lanes) }
}

/// Bytes of 16-bit lanes, which are below 256, by turns.
#[inline(always)]
fn store_pairs(out: &mut [u8], first: v128, second: v128) {
    store(out, [v128_or(first, i16x8_shl(second, 8))]);
}

#[inline(always)]
fn store<const COUNT: usize>(out: &mut [u8], vectors: [v128; COUNT]) {
    let (chunks, _) = out.as_chunks_mut::<16>();
    assert_eq!(chunks.len(), COUNT, "callers pass room for all");
    for (chunk, vector) in chunks.iter_mut().zip(vectors) {
        // SAFETY: 16 bytes are writable behind the reference, and the store needs no alignment.
        unsafe { v128_store(chunk.as_mut_ptr().cast(), vector) }
    }
}
