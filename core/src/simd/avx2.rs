//! AVX2, with BMI for shifts by variable amounts. What compilers vectorise well is the plain code compiled for it.

#![expect(
    clippy::undocumented_unsafe_blocks,
    reason = "one reason for all is given with the implementation of `Vector`"
)]

use std::arch::x86_64::*;

use super::sse41::{self, Sse41};
use super::vector::Vector;
use super::{convert, transform};
use crate::codestream::ColorModel;
use crate::cpu::upsample;
use crate::entropy::{BlockSink, McuRun, PieceDecoder};
use crate::pixels::PixelFormat;

#[target_feature(enable = "avx2,bmi1,bmi2")]
pub(super) fn decode_mcus<S: BlockSink>(run: McuRun<S>) -> u32 {
    run.decode()
}

#[target_feature(enable = "avx2,bmi1,bmi2")]
pub(super) fn decode_piece(decoder: &mut PieceDecoder) {
    decoder.decode();
}

#[target_feature(enable = "avx2,bmi1,bmi2")]
pub(super) fn triangle_h2v1(row: &[u8], out: &mut [u8]) {
    upsample::triangle_h2v1(row, out);
}

#[target_feature(enable = "avx2,bmi1,bmi2")]
pub(super) fn triangle_h1v2(near: &[u8], far: &[u8], upper_half: bool, out: &mut [u8]) {
    upsample::triangle_h1v2(near, far, upper_half, out);
}

#[target_feature(enable = "avx2,bmi1,bmi2")]
pub(super) fn triangle_h2v2(near: &[u8], far: &[u8], sums: &mut [u16], out: &mut [u8]) {
    upsample::triangle_h2v2(near, far, sums, out);
}

#[target_feature(enable = "avx2,bmi1,bmi2")]
pub(super) fn convert_row(color: ColorModel, format: PixelFormat, components: &[&[u8]], out: &mut [&mut [u8]]) {
    convert::convert_row::<Avx2>(color, format, components, out);
}

#[target_feature(enable = "avx2,bmi1,bmi2")]
pub(super) fn transform_pair(products: &[[i16; 16]; 8], samples: &mut [u8], places: [usize; 2], stride: usize) {
    transform::transform_pair::<Avx2>(products, samples, places, stride);
}

/// Blocks of 4x4 samples would leave half of the longer vectors empty; 2x2 as well.
#[target_feature(enable = "avx2,bmi1,bmi2")]
pub(super) fn transform_pair_to_4(products: &[[i16; 16]; 8], samples: &mut [u8], places: [usize; 2], stride: usize) {
    transform::transform_pair_to_4::<Sse41>(products, samples, places, stride);
}

#[target_feature(enable = "avx2,bmi1,bmi2")]
pub(super) fn transform_pair_to_2(products: &[[i16; 16]; 8], samples: &mut [u8], places: [usize; 2], stride: usize) {
    transform::transform_pair_to_2::<Sse41>(products, samples, places, stride);
}

/// Two halves of eight lanes.
#[derive(Clone, Copy)]
struct Avx2(__m256i);

// SAFETY, of all calls here: only functions of this level use the type, see `Vector`. Loads and stores need no
// alignment, and their slices were checked to have the length of a vector.
impl Vector for Avx2 {
    /// The lower four lanes of each half, and the upper four.
    type Wide = [__m256i; 2];
    type Bytes = __m256i;
    const LANES: usize = 16;

    #[inline(always)]
    fn splat(value: i16) -> Self {
        Avx2(unsafe { _mm256_set1_epi16(value) })
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Avx2(unsafe { _mm256_add_epi16(self.0, other.0) })
    }

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Avx2(unsafe { _mm256_sub_epi16(self.0, other.0) })
    }

    #[inline(always)]
    fn interleaved(self, other: Self) -> [Self; 2] {
        unsafe { [Avx2(_mm256_unpacklo_epi16(self.0, other.0)), Avx2(_mm256_unpackhi_epi16(self.0, other.0))] }
    }

    #[inline(always)]
    fn products(self, factor: i16, other: Self, other_factor: i16) -> Self::Wide {
        let [low, high] = self.interleaved(other);
        unsafe {
            let factors = _mm256_set1_epi32(sse41::pair(factor, other_factor));
            [_mm256_madd_epi16(low.0, factors), _mm256_madd_epi16(high.0, factors)]
        }
    }

    #[inline(always)]
    fn scaled(self) -> Self::Wide {
        // In the upper 16 bits, then moved down.
        let [low, high] = Self::splat(0).interleaved(self);
        unsafe { [_mm256_srai_epi32::<3>(low.0), _mm256_srai_epi32::<3>(high.0)] }
    }

    #[inline(always)]
    fn wide_add(a: Self::Wide, b: Self::Wide) -> Self::Wide {
        unsafe { [_mm256_add_epi32(a[0], b[0]), _mm256_add_epi32(a[1], b[1])] }
    }

    #[inline(always)]
    fn wide_sub(a: Self::Wide, b: Self::Wide) -> Self::Wide {
        unsafe { [_mm256_sub_epi32(a[0], b[0]), _mm256_sub_epi32(a[1], b[1])] }
    }

    #[inline(always)]
    fn descaled<const BITS: i32>(wide: Self::Wide) -> Self {
        unsafe {
            let half = _mm256_set1_epi32(1 << (BITS - 1));
            let [low, high] = Self::wide_add(wide, [half, half]);
            Avx2(_mm256_packs_epi32(_mm256_srai_epi32::<BITS>(low), _mm256_srai_epi32::<BITS>(high)))
        }
    }

    #[inline(always)]
    fn rounded_product(self, factor: i16) -> Self {
        unsafe {
            let twice = _mm256_mulhi_epi16(self.add(self).0, Self::splat(factor).0);
            Avx2(_mm256_srai_epi16::<1>(_mm256_add_epi16(twice, Self::splat(1).0)))
        }
    }

    #[inline(always)]
    fn load(row: &[i16; 16], first_lane: usize) -> Self {
        assert_eq!(first_lane, 0, "a row has 16 lanes");
        Avx2(unsafe { _mm256_loadu_si256(row.as_ptr().cast()) })
    }

    #[inline(always)]
    fn store_rows(upper: Self, lower: Self, samples: &mut [u8], places: &[usize], stride: usize) {
        unsafe {
            let both = _mm256_xor_si256(_mm256_packs_epi16(upper.0, lower.0), _mm256_set1_epi8(-128));
            sse41::store_halves(_mm256_castsi256_si128(both), samples, places[0], stride);
            sse41::store_halves(_mm256_extracti128_si256::<1>(both), samples, places[1], stride);
        }
    }

    #[inline(always)]
    fn load_bytes(bytes: &[u8]) -> Self::Bytes {
        let bytes: &[u8; 32] = bytes.try_into().expect("callers pass 32 bytes");
        unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
    }

    /// Bytes 0 to 7 and 16 to 23, then the others: narrowing brings them back in order.
    #[inline(always)]
    fn widened(bytes: Self::Bytes) -> [Self; 2] {
        unsafe {
            let zero = _mm256_setzero_si256();
            [Avx2(_mm256_unpacklo_epi8(bytes, zero)), Avx2(_mm256_unpackhi_epi8(bytes, zero))]
        }
    }

    #[inline(always)]
    fn narrowed(lanes: [Self; 2]) -> Self::Bytes {
        unsafe { _mm256_packus_epi16(lanes[0].0, lanes[1].0) }
    }

    #[inline(always)]
    fn store_bytes(out: &mut [u8], bytes: Self::Bytes) {
        let out: &mut [u8; 32] = out.try_into().expect("callers pass room for 32 bytes");
        unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), bytes) }
    }

    #[inline(always)]
    fn store3(out: &mut [u8], [first, second, third]: [Self::Bytes; 3]) {
        // In each half, byte i of part n is byte (16 n + i) / 3 of channel (16 n + i) % 3.
        let part = |part: usize| unsafe {
            let [s1, s2, s3] = sse41::INTERLEAVE3[part].each_ref();
            let shuffled = |bytes, shuffle: &[u8; 16]| {
                _mm256_shuffle_epi8(bytes, _mm256_broadcastsi128_si256(_mm_loadu_si128(shuffle.as_ptr().cast())))
            };
            _mm256_or_si256(_mm256_or_si256(shuffled(first, s1), shuffled(second, s2)), shuffled(third, s3))
        };
        let (p0, p1, p2) = (part(0), part(1), part(2));
        unsafe {
            Self::store_bytes(&mut out[..32], _mm256_permute2x128_si256::<0x20>(p0, p1));
            Self::store_bytes(&mut out[32..64], _mm256_permute2x128_si256::<0x30>(p2, p0));
            Self::store_bytes(&mut out[64..96], _mm256_permute2x128_si256::<0x31>(p1, p2));
        }
    }

    #[inline(always)]
    fn store_opaque(out: &mut [u8], [red, green, blue]: [Self::Bytes; 3]) {
        unsafe {
            let opaque = _mm256_set1_epi8(-1);
            let (low12, high12) = (_mm256_unpacklo_epi8(red, green), _mm256_unpackhi_epi8(red, green));
            let (low34, high34) = (_mm256_unpacklo_epi8(blue, opaque), _mm256_unpackhi_epi8(blue, opaque));
            // Pixels 0 to 3, 4 to 7 and so on, each with those 16 further.
            let (q0, q1) = (_mm256_unpacklo_epi16(low12, low34), _mm256_unpackhi_epi16(low12, low34));
            let (q2, q3) = (_mm256_unpacklo_epi16(high12, high34), _mm256_unpackhi_epi16(high12, high34));
            Self::store_bytes(&mut out[..32], _mm256_permute2x128_si256::<0x20>(q0, q1));
            Self::store_bytes(&mut out[32..64], _mm256_permute2x128_si256::<0x20>(q2, q3));
            Self::store_bytes(&mut out[64..96], _mm256_permute2x128_si256::<0x31>(q0, q1));
            Self::store_bytes(&mut out[96..128], _mm256_permute2x128_si256::<0x31>(q2, q3));
        }
    }
}
