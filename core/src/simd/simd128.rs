//! WebAssembly's 128-bit vectors. What compilers vectorise well is the plain code compiled with them.

use std::arch::wasm32::*;

use super::vector::{EightLanes, Vector};
use super::{convert, transform};
use crate::codestream::ColorModel;
use crate::cpu::upsample;
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
/// Where steps of this length begin that cover `start..end`; the last one overlaps the one before, if need be. There
/// must be room for one.
fn steps(length: usize, start: usize, end: usize) -> impl Iterator<Item = usize> {
    let last = end - length;
    (start..last).step_by(length).chain([last])
}

pub(super) fn convert_row(color: ColorModel, format: PixelFormat, components: &[&[u8]], out: &mut [&mut [u8]]) {
    convert::convert_row::<Simd128>(color, format, components, out);
}

pub(super) fn transform_pair(products: &[[i16; 16]; 8], samples: &mut [u8], places: [usize; 2], stride: usize) {
    transform::transform_pair::<Simd128>(products, samples, places, stride);
}

pub(super) fn transform_pair_to_4(products: &[[i16; 16]; 8], samples: &mut [u8], places: [usize; 2], stride: usize) {
    transform::transform_pair_to_4::<Simd128>(products, samples, places, stride);
}

pub(super) fn transform_pair_to_2(products: &[[i16; 16]; 8], samples: &mut [u8], places: [usize; 2], stride: usize) {
    transform::transform_pair_to_2::<Simd128>(products, samples, places, stride);
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

/// Eight lanes.
#[derive(Clone, Copy)]
struct Simd128(v128);

impl Vector for Simd128 {
    /// The lower four lanes and the upper four.
    type Wide = [v128; 2];
    type Bytes = v128;
    const LANES: usize = LANES;

    #[inline(always)]
    fn splat(value: i16) -> Self {
        Simd128(i16x8_splat(value))
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Simd128(i16x8_add(self.0, other.0))
    }

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Simd128(i16x8_sub(self.0, other.0))
    }

    #[inline(always)]
    fn interleaved(self, other: Self) -> [Self; 2] {
        [
            Simd128(i16x8_shuffle::<0, 8, 1, 9, 2, 10, 3, 11>(self.0, other.0)),
            Simd128(i16x8_shuffle::<4, 12, 5, 13, 6, 14, 7, 15>(self.0, other.0)),
        ]
    }

    #[inline(always)]
    fn products(self, factor: i16, other: Self, other_factor: i16) -> Self::Wide {
        let factors = i32x4_splat(i32::from(other_factor) << 16 | i32::from(factor as u16));
        let [low, high] = self.interleaved(other);
        [i32x4_dot_i16x8(low.0, factors), i32x4_dot_i16x8(high.0, factors)]
    }

    #[inline(always)]
    fn scaled(self) -> Self::Wide {
        // In the upper 16 bits, then moved down.
        let [low, high] = Self::splat(0).interleaved(self);
        [i32x4_shr(low.0, 3), i32x4_shr(high.0, 3)]
    }

    #[inline(always)]
    fn wide_add(a: Self::Wide, b: Self::Wide) -> Self::Wide {
        [i32x4_add(a[0], b[0]), i32x4_add(a[1], b[1])]
    }

    #[inline(always)]
    fn wide_sub(a: Self::Wide, b: Self::Wide) -> Self::Wide {
        [i32x4_sub(a[0], b[0]), i32x4_sub(a[1], b[1])]
    }

    #[inline(always)]
    fn descaled<const BITS: i32>(wide: Self::Wide) -> Self {
        let half = i32x4_splat(1 << (BITS - 1));
        let [low, high] = Self::wide_add(wide, [half, half]);
        Simd128(i16x8_narrow_i32x4(i32x4_shr(low, BITS as u32), i32x4_shr(high, BITS as u32)))
    }

    #[inline(always)]
    fn rounded_product(self, factor: i16) -> Self {
        let factor = i16x8_splat(factor);
        let products = [i32x4_extmul_low_i16x8(self.0, factor), i32x4_extmul_high_i16x8(self.0, factor)];
        let [low, high] = Self::wide_add(products, [i32x4_splat(1 << 15); 2]);
        // The upper 16 bits of each.
        Simd128(i16x8_shuffle::<1, 3, 5, 7, 9, 11, 13, 15>(low, high))
    }

    #[inline(always)]
    fn load(row: &[i16; 16], first_lane: usize) -> Self {
        let lanes: &[i16; LANES] = row[first_lane..].first_chunk().expect("a row has two times eight lanes");
        // SAFETY: 16 bytes are readable behind the reference, and the load needs no alignment.
        Simd128(unsafe { v128_load(lanes.as_ptr().cast()) })
    }

    #[inline(always)]
    fn store_rows(upper: Self, lower: Self, samples: &mut [u8], places: &[usize], stride: usize) {
        let both = v128_xor(i8x16_narrow_i16x8(upper.0, lower.0), i8x16_splat(-128));
        let place = places[0];
        samples[place..place + 8].copy_from_slice(&u64x2_extract_lane::<0>(both).to_le_bytes());
        samples[place + stride..place + stride + 8].copy_from_slice(&u64x2_extract_lane::<1>(both).to_le_bytes());
    }

    #[inline(always)]
    fn load_bytes(bytes: &[u8]) -> Self::Bytes {
        let bytes: &[u8; 16] = bytes.try_into().expect("callers pass 16 bytes");
        // SAFETY: 16 bytes are readable behind the reference, and the load needs no alignment.
        unsafe { v128_load(bytes.as_ptr().cast()) }
    }

    #[inline(always)]
    fn widened(bytes: Self::Bytes) -> [Self; 2] {
        [Simd128(u16x8_extend_low_u8x16(bytes)), Simd128(u16x8_extend_high_u8x16(bytes))]
    }

    #[inline(always)]
    fn narrowed(lanes: [Self; 2]) -> Self::Bytes {
        u8x16_narrow_i16x8(lanes[0].0, lanes[1].0)
    }

    #[inline(always)]
    fn store_bytes(out: &mut [u8], bytes: Self::Bytes) {
        let out: &mut [u8; 16] = out.try_into().expect("callers pass room for 16 bytes");
        // SAFETY: 16 bytes are writable behind the reference, and the store needs no alignment.
        unsafe { v128_store(out.as_mut_ptr().cast(), bytes) }
    }

    #[inline(always)]
    fn store3(out: &mut [u8], channels: [Self::Bytes; 3]) {
        let (parts, _) = out.as_chunks_mut::<16>();
        for (part, indices) in parts.iter_mut().zip(&INTERLEAVE3) {
            let [first, second, third] =
                std::array::from_fn(|channel| u8x16_swizzle(channels[channel], Self::load_bytes(&indices[channel])));
            Self::store_bytes(part, v128_or(v128_or(first, second), third));
        }
    }

    #[inline(always)]
    fn store_opaque(out: &mut [u8], [red, green, blue]: [Self::Bytes; 3]) {
        let opaque = u8x16_splat(255);
        let low = [interleaved_low8(red, green), interleaved_low8(blue, opaque)].map(Simd128);
        let high = [interleaved_high8(red, green), interleaved_high8(blue, opaque)].map(Simd128);
        let (parts, _) = out.as_chunks_mut::<16>();
        let vectors = [low[0].interleaved(low[1]), high[0].interleaved(high[1])];
        for (part, vector) in parts.iter_mut().zip(vectors.as_flattened()) {
            Self::store_bytes(part, vector.0);
        }
    }
}

impl EightLanes for Simd128 {
    #[inline(always)]
    fn rounded_lanes<const BITS: i32>(wide: Self::Wide) -> [i32; 8] {
        let half = i32x4_splat(1 << (BITS - 1));
        let [a, b] = Self::wide_add(wide, [half, half]).map(|sum| i32x4_shr(sum, BITS as u32));
        [
            i32x4_extract_lane::<0>(a),
            i32x4_extract_lane::<1>(a),
            i32x4_extract_lane::<2>(a),
            i32x4_extract_lane::<3>(a),
            i32x4_extract_lane::<0>(b),
            i32x4_extract_lane::<1>(b),
            i32x4_extract_lane::<2>(b),
            i32x4_extract_lane::<3>(b),
        ]
    }
}

#[inline(always)]
fn interleaved_low8(a: v128, b: v128) -> v128 {
    i8x16_shuffle::<0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23>(a, b)
}

#[inline(always)]
fn interleaved_high8(a: v128, b: v128) -> v128 {
    i8x16_shuffle::<8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31>(a, b)
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
fn store_lanes(out: &mut [u16], lanes: v128) {
    let out: &mut [u16; LANES] = out.try_into().expect("callers pass room for eight lanes");
    // SAFETY: 16 bytes are writable behind the reference, and the store needs no alignment.
    unsafe { v128_store(out.as_mut_ptr().cast(), lanes) }
}

/// Bytes of 16-bit lanes, which are below 256, by turns.
#[inline(always)]
fn store_pairs(out: &mut [u8], first: v128, second: v128) {
    Simd128::store_bytes(out, v128_or(first, i16x8_shl(second, 8)));
}
