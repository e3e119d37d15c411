//! SSE4.1. What compilers vectorise well is the plain code compiled for it.

#![expect(
    clippy::undocumented_unsafe_blocks,
    reason = "one reason for all is given with the implementation of `Vector`"
)]

use std::arch::x86_64::*;

use super::vector::{EightLanes, Vector};
use super::{convert, transform};
use crate::codestream::ColorModel;
use crate::cpu::upsample;
use crate::entropy::{BlockSink, McuRun, PieceDecoder};
use crate::pixels::PixelFormat;

#[target_feature(enable = "sse4.1")]
pub(super) fn decode_mcus<S: BlockSink>(run: McuRun<S>) -> u32 {
    run.decode()
}

#[target_feature(enable = "sse4.1")]
pub(super) fn decode_piece(decoder: &mut PieceDecoder) {
    decoder.decode();
}

#[target_feature(enable = "sse4.1")]
pub(super) fn triangle_h2v1(row: &[u8], out: &mut [u8]) {
    upsample::triangle_h2v1(row, out);
}

#[target_feature(enable = "sse4.1")]
pub(super) fn triangle_h1v2(near: &[u8], far: &[u8], upper_half: bool, out: &mut [u8]) {
    upsample::triangle_h1v2(near, far, upper_half, out);
}

#[target_feature(enable = "sse4.1")]
pub(super) fn triangle_h2v2(near: &[u8], far: &[u8], sums: &mut [u16], out: &mut [u8]) {
    upsample::triangle_h2v2(near, far, sums, out);
}

#[target_feature(enable = "sse4.1")]
pub(super) fn convert_row(color: ColorModel, format: PixelFormat, components: &[&[u8]], out: &mut [&mut [u8]]) {
    convert::convert_row::<Sse41>(color, format, components, out);
}

#[target_feature(enable = "sse4.1")]
pub(super) fn transform_pair(products: &[[i16; 16]; 8], samples: &mut [u8], places: [usize; 2], stride: usize) {
    transform::transform_pair::<Sse41>(products, samples, places, stride);
}

#[target_feature(enable = "sse4.1")]
pub(super) fn transform_pair_to_4(products: &[[i16; 16]; 8], samples: &mut [u8], places: [usize; 2], stride: usize) {
    transform::transform_pair_to_4::<Sse41>(products, samples, places, stride);
}

#[target_feature(enable = "sse4.1")]
pub(super) fn transform_pair_to_2(products: &[[i16; 16]; 8], samples: &mut [u8], places: [usize; 2], stride: usize) {
    transform::transform_pair_to_2::<Sse41>(products, samples, places, stride);
}

/// Two 16-bit factors in a lane of 32.
#[inline(always)]
pub(super) fn pair(first: i16, second: i16) -> i32 {
    i32::from(second) << 16 | i32::from(first as u16)
}

/// Shuffles by part and channel; a byte above 127 gives 0. Byte i of part n is byte (16 n + i) / 3 of channel
/// (16 n + i) % 3.
pub(super) const INTERLEAVE3: [[[u8; 16]; 3]; 3] = {
    let mut shuffles = [[[0xFF; 16]; 3]; 3];
    let mut byte = 0;
    while byte < 48 {
        shuffles[byte / 16][byte % 3][byte % 16] = byte as u8 / 3;
        byte += 1;
    }
    shuffles
};

/// Stores the lower eight bytes at `place` and the upper eight a row below.
///
/// # Safety
/// For functions of this level or a higher one.
#[inline(always)]
pub(super) unsafe fn store_halves(bytes: __m128i, samples: &mut [u8], place: usize, stride: usize) {
    let (upper, lower) = samples[place..place + stride + 8].split_at_mut(stride);
    let upper: &mut [u8; 8] = upper.first_chunk_mut().expect("rows are eight samples apart at least");
    let lower: &mut [u8; 8] = lower.first_chunk_mut().expect("it was cut to eight");
    // SAFETY: eight bytes are writable behind both references, and the stores need no alignment.
    unsafe {
        _mm_storel_epi64(upper.as_mut_ptr().cast(), bytes);
        _mm_storel_epi64(lower.as_mut_ptr().cast(), _mm_unpackhi_epi64(bytes, bytes));
    }
}

/// Eight lanes.
#[derive(Clone, Copy)]
pub(super) struct Sse41(__m128i);

// SAFETY, of all calls here: only functions of this level or a higher one use the type, see `Vector`. Loads and stores
// need no alignment, and their slices were checked to have the length of a vector.
impl Vector for Sse41 {
    /// The lower four lanes and the upper four.
    type Wide = [__m128i; 2];
    type Bytes = __m128i;
    const LANES: usize = 8;

    #[inline(always)]
    fn splat(value: i16) -> Self {
        Sse41(unsafe { _mm_set1_epi16(value) })
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Sse41(unsafe { _mm_add_epi16(self.0, other.0) })
    }

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Sse41(unsafe { _mm_sub_epi16(self.0, other.0) })
    }

    #[inline(always)]
    fn interleaved(self, other: Self) -> [Self; 2] {
        unsafe { [Sse41(_mm_unpacklo_epi16(self.0, other.0)), Sse41(_mm_unpackhi_epi16(self.0, other.0))] }
    }

    #[inline(always)]
    fn products(self, factor: i16, other: Self, other_factor: i16) -> Self::Wide {
        let [low, high] = self.interleaved(other);
        unsafe {
            let factors = _mm_set1_epi32(pair(factor, other_factor));
            [_mm_madd_epi16(low.0, factors), _mm_madd_epi16(high.0, factors)]
        }
    }

    #[inline(always)]
    fn scaled(self) -> Self::Wide {
        // In the upper 16 bits, then moved down.
        let [low, high] = Self::splat(0).interleaved(self);
        unsafe { [_mm_srai_epi32::<3>(low.0), _mm_srai_epi32::<3>(high.0)] }
    }

    #[inline(always)]
    fn wide_add(a: Self::Wide, b: Self::Wide) -> Self::Wide {
        unsafe { [_mm_add_epi32(a[0], b[0]), _mm_add_epi32(a[1], b[1])] }
    }

    #[inline(always)]
    fn wide_sub(a: Self::Wide, b: Self::Wide) -> Self::Wide {
        unsafe { [_mm_sub_epi32(a[0], b[0]), _mm_sub_epi32(a[1], b[1])] }
    }

    #[inline(always)]
    fn descaled<const BITS: i32>(wide: Self::Wide) -> Self {
        unsafe {
            let half = _mm_set1_epi32(1 << (BITS - 1));
            let [low, high] = Self::wide_add(wide, [half, half]);
            Sse41(_mm_packs_epi32(_mm_srai_epi32::<BITS>(low), _mm_srai_epi32::<BITS>(high)))
        }
    }

    #[inline(always)]
    fn rounded_product(self, factor: i16) -> Self {
        unsafe {
            let twice = _mm_mulhi_epi16(self.add(self).0, Self::splat(factor).0);
            Sse41(_mm_srai_epi16::<1>(_mm_add_epi16(twice, Self::splat(1).0)))
        }
    }

    #[inline(always)]
    fn load(row: &[i16; 16], first_lane: usize) -> Self {
        let lanes: &[i16; 8] = row[first_lane..].first_chunk().expect("a row has two times eight lanes");
        Sse41(unsafe { _mm_loadu_si128(lanes.as_ptr().cast()) })
    }

    #[inline(always)]
    fn store_rows(upper: Self, lower: Self, samples: &mut [u8], places: &[usize], stride: usize) {
        unsafe {
            let both = _mm_xor_si128(_mm_packs_epi16(upper.0, lower.0), _mm_set1_epi8(-128));
            store_halves(both, samples, places[0], stride);
        }
    }

    #[inline(always)]
    fn load_bytes(bytes: &[u8]) -> Self::Bytes {
        let bytes: &[u8; 16] = bytes.try_into().expect("callers pass 16 bytes");
        unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
    }

    #[inline(always)]
    fn widened(bytes: Self::Bytes) -> [Self; 2] {
        unsafe {
            let zero = _mm_setzero_si128();
            [Sse41(_mm_unpacklo_epi8(bytes, zero)), Sse41(_mm_unpackhi_epi8(bytes, zero))]
        }
    }

    #[inline(always)]
    fn narrowed(lanes: [Self; 2]) -> Self::Bytes {
        unsafe { _mm_packus_epi16(lanes[0].0, lanes[1].0) }
    }

    #[inline(always)]
    fn store_bytes(out: &mut [u8], bytes: Self::Bytes) {
        let out: &mut [u8; 16] = out.try_into().expect("callers pass room for 16 bytes");
        unsafe { _mm_storeu_si128(out.as_mut_ptr().cast(), bytes) }
    }

    #[inline(always)]
    fn store3(out: &mut [u8], [first, second, third]: [Self::Bytes; 3]) {
        let (parts, _) = out.as_chunks_mut::<16>();
        for (part, shuffles) in parts.iter_mut().zip(&INTERLEAVE3) {
            let [s1, s2, s3] = shuffles.each_ref().map(|shuffle| Self::load_bytes(shuffle));
            unsafe {
                let two = _mm_or_si128(_mm_shuffle_epi8(first, s1), _mm_shuffle_epi8(second, s2));
                Self::store_bytes(part, _mm_or_si128(two, _mm_shuffle_epi8(third, s3)));
            }
        }
    }

    #[inline(always)]
    fn store_opaque(out: &mut [u8], [red, green, blue]: [Self::Bytes; 3]) {
        unsafe {
            let opaque = _mm_set1_epi8(-1);
            let (low12, high12) = (_mm_unpacklo_epi8(red, green), _mm_unpackhi_epi8(red, green));
            let (low34, high34) = (_mm_unpacklo_epi8(blue, opaque), _mm_unpackhi_epi8(blue, opaque));
            Self::store_bytes(&mut out[..16], _mm_unpacklo_epi16(low12, low34));
            Self::store_bytes(&mut out[16..32], _mm_unpackhi_epi16(low12, low34));
            Self::store_bytes(&mut out[32..48], _mm_unpacklo_epi16(high12, high34));
            Self::store_bytes(&mut out[48..64], _mm_unpackhi_epi16(high12, high34));
        }
    }
}

// SAFETY, of the calls here: as above.
impl EightLanes for Sse41 {
    #[inline(always)]
    fn rounded_lanes<const BITS: i32>(wide: Self::Wide) -> [i32; 8] {
        let mut lanes = [0; 8];
        let (low, high) = lanes.split_at_mut(4);
        unsafe {
            let half = _mm_set1_epi32(1 << (BITS - 1));
            let [first, second] = Self::wide_add(wide, [half, half]);
            _mm_storeu_si128(low.as_mut_ptr().cast(), _mm_srai_epi32::<BITS>(first));
            _mm_storeu_si128(high.as_mut_ptr().cast(), _mm_srai_epi32::<BITS>(second));
        }
        lanes
    }
}
