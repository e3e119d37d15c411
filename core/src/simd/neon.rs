//! NEON, which every processor of the target has. Upsampling is the plain code: compilers vectorise it well.

#![expect(
    clippy::undocumented_unsafe_blocks,
    reason = "one reason for all is given with the implementation of `Vector`"
)]

use std::arch::aarch64::*;

use super::vector::{EightLanes, Vector};
use super::{convert, transform};
use crate::codestream::ColorModel;
pub(super) use crate::cpu::upsample::{triangle_h1v2, triangle_h2v1, triangle_h2v2};
use crate::entropy::{BlockSink, McuRun, PieceDecoder};
use crate::pixels::PixelFormat;

pub(super) fn decode_mcus<S: BlockSink>(run: McuRun<S>) -> u32 {
    run.decode()
}

pub(super) fn decode_piece(decoder: &mut PieceDecoder) {
    decoder.decode();
}

pub(super) fn convert_row(color: ColorModel, format: PixelFormat, components: &[&[u8]], out: &mut [&mut [u8]]) {
    convert::convert_row::<Neon>(color, format, components, out);
}

pub(super) fn transform_pair(products: &[[i16; 16]; 8], samples: &mut [u8], places: [usize; 2], stride: usize) {
    transform::transform_pair::<Neon>(products, samples, places, stride);
}

pub(super) fn transform_pair_to_4(products: &[[i16; 16]; 8], samples: &mut [u8], places: [usize; 2], stride: usize) {
    transform::transform_pair_to_4::<Neon>(products, samples, places, stride);
}

pub(super) fn transform_pair_to_2(products: &[[i16; 16]; 8], samples: &mut [u8], places: [usize; 2], stride: usize) {
    transform::transform_pair_to_2::<Neon>(products, samples, places, stride);
}

/// Eight lanes.
#[derive(Clone, Copy)]
struct Neon(int16x8_t);

// SAFETY, of all calls here: every processor of the target has NEON. The slices of loads and stores were checked to have
// the length of what is moved.
impl Vector for Neon {
    /// The lower four lanes and the upper four.
    type Wide = [int32x4_t; 2];
    type Bytes = uint8x16_t;
    const LANES: usize = 8;

    #[inline(always)]
    fn splat(value: i16) -> Self {
        Neon(unsafe { vdupq_n_s16(value) })
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Neon(unsafe { vaddq_s16(self.0, other.0) })
    }

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Neon(unsafe { vsubq_s16(self.0, other.0) })
    }

    #[inline(always)]
    fn interleaved(self, other: Self) -> [Self; 2] {
        unsafe { [Neon(vzip1q_s16(self.0, other.0)), Neon(vzip2q_s16(self.0, other.0))] }
    }

    #[inline(always)]
    fn products(self, factor: i16, other: Self, other_factor: i16) -> Self::Wide {
        unsafe {
            let low = vmull_n_s16(vget_low_s16(self.0), factor);
            let high = vmull_high_n_s16(self.0, factor);
            [vmlal_n_s16(low, vget_low_s16(other.0), other_factor), vmlal_high_n_s16(high, other.0, other_factor)]
        }
    }

    #[inline(always)]
    fn scaled(self) -> Self::Wide {
        unsafe { [vshll_n_s16::<13>(vget_low_s16(self.0)), vshll_high_n_s16::<13>(self.0)] }
    }

    #[inline(always)]
    fn wide_add(a: Self::Wide, b: Self::Wide) -> Self::Wide {
        unsafe { [vaddq_s32(a[0], b[0]), vaddq_s32(a[1], b[1])] }
    }

    #[inline(always)]
    fn wide_sub(a: Self::Wide, b: Self::Wide) -> Self::Wide {
        unsafe { [vsubq_s32(a[0], b[0]), vsubq_s32(a[1], b[1])] }
    }

    /// Not by instructions that round: they do not wrap.
    #[inline(always)]
    fn descaled<const BITS: i32>(wide: Self::Wide) -> Self {
        unsafe {
            let half = vdupq_n_s32(1 << (BITS - 1));
            let [low, high] = Self::wide_add(wide, [half, half]);
            Neon(vqmovn_high_s32(vqmovn_s32(vshrq_n_s32::<BITS>(low)), vshrq_n_s32::<BITS>(high)))
        }
    }

    #[inline(always)]
    fn rounded_product(self, factor: i16) -> Self {
        unsafe {
            let low = vrshrn_n_s32::<16>(vmull_n_s16(vget_low_s16(self.0), factor));
            Neon(vrshrn_high_n_s32::<16>(low, vmull_high_n_s16(self.0, factor)))
        }
    }

    #[inline(always)]
    fn load(row: &[i16; 16], first_lane: usize) -> Self {
        let lanes: &[i16; 8] = row[first_lane..].first_chunk().expect("a row has two times eight lanes");
        Neon(unsafe { vld1q_s16(lanes.as_ptr()) })
    }

    #[inline(always)]
    fn store_rows(upper: Self, lower: Self, samples: &mut [u8], places: &[usize], stride: usize) {
        for (row, place) in [(upper, places[0]), (lower, places[0] + stride)] {
            let out: &mut [u8; 8] = samples[place..].first_chunk_mut().expect("callers pass room for the row");
            unsafe {
                let shifted = veor_u8(vreinterpret_u8_s8(vqmovn_s16(row.0)), vdup_n_u8(0x80));
                vst1_u8(out.as_mut_ptr(), shifted);
            }
        }
    }

    #[inline(always)]
    fn load_bytes(bytes: &[u8]) -> Self::Bytes {
        let bytes: &[u8; 16] = bytes.try_into().expect("callers pass 16 bytes");
        unsafe { vld1q_u8(bytes.as_ptr()) }
    }

    #[inline(always)]
    fn widened(bytes: Self::Bytes) -> [Self; 2] {
        unsafe {
            [
                Neon(vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(bytes)))),
                Neon(vreinterpretq_s16_u16(vmovl_high_u8(bytes))),
            ]
        }
    }

    #[inline(always)]
    fn narrowed(lanes: [Self; 2]) -> Self::Bytes {
        unsafe { vqmovun_high_s16(vqmovun_s16(lanes[0].0), lanes[1].0) }
    }

    #[inline(always)]
    fn store_bytes(out: &mut [u8], bytes: Self::Bytes) {
        let out: &mut [u8; 16] = out.try_into().expect("callers pass room for 16 bytes");
        unsafe { vst1q_u8(out.as_mut_ptr(), bytes) }
    }

    #[inline(always)]
    fn store3(out: &mut [u8], [first, second, third]: [Self::Bytes; 3]) {
        let out: &mut [u8; 48] = out.try_into().expect("callers pass room for 16 pixels");
        unsafe { vst3q_u8(out.as_mut_ptr(), uint8x16x3_t(first, second, third)) }
    }

    #[inline(always)]
    fn store_opaque(out: &mut [u8], [red, green, blue]: [Self::Bytes; 3]) {
        let out: &mut [u8; 64] = out.try_into().expect("callers pass room for 16 pixels");
        unsafe { vst4q_u8(out.as_mut_ptr(), uint8x16x4_t(red, green, blue, vdupq_n_u8(255))) }
    }
}

// SAFETY, of the calls here: as above.
impl EightLanes for Neon {
    #[inline(always)]
    fn rounded_lanes<const BITS: i32>(wide: Self::Wide) -> [i32; 8] {
        let mut lanes = [0; 8];
        let (low, high) = lanes.split_at_mut(4);
        unsafe {
            let half = vdupq_n_s32(1 << (BITS - 1));
            let [first, second] = Self::wide_add(wide, [half, half]);
            vst1q_s32(low.as_mut_ptr(), vshrq_n_s32::<BITS>(first));
            vst1q_s32(high.as_mut_ptr(), vshrq_n_s32::<BITS>(second));
        }
        lanes
    }
}
