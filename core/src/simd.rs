//! Kernels for the vector units of processors, chosen at run time. Each gives the bytes of the plain code beside it.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_feature = "simd128"))]
mod convert;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod simd128;
#[cfg(target_arch = "x86_64")]
mod sse41;
pub(crate) mod stuffing;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_feature = "simd128"))]
mod transform;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_feature = "simd128"))]
mod vector;

use std::sync::OnceLock;

use crate::codestream::ColorModel;
use crate::cpu::{color, dequant_idct, reduced_idct, upsample};
#[cfg(not(target_arch = "wasm32"))]
use crate::entropy::PieceDecoder;
use crate::entropy::{BandRun, BlockSink, McuRun};
use crate::pixels::PixelFormat;

/// Vector instructions that may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    /// What every processor of the target has.
    Plain,
    /// SSE4.1 of x86-64. Only made where it is present.
    #[cfg(target_arch = "x86_64")]
    Sse41,
    /// AVX2, BMI and POPCNT of x86-64. Only made where they are present.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// NEON of AArch64, which all have.
    #[cfg(target_arch = "aarch64")]
    Neon,
    /// The 128-bit vectors of WebAssembly. A module that has them runs only where they are.
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    Simd128,
}

impl Level {
    /// The best one here, or what the environment variable `ISOPEL_CPU` names: `plain`, `sse4.1`, `avx2`, `neon`. Names of
    /// what is not there, or not known, change nothing.
    pub(crate) fn detected() -> Self {
        static DETECTED: OnceLock<Level> = OnceLock::new();
        *DETECTED.get_or_init(|| {
            let wanted = std::env::var("ISOPEL_CPU").unwrap_or_default();
            let available = Level::available();
            let named = available.iter().find(|level| level.name() == wanted);
            *named.unwrap_or(available.last().expect("plain code runs everywhere"))
        })
    }

    /// All that this processor has, the best last.
    pub(crate) fn available() -> Vec<Self> {
        #[cfg_attr(
            not(any(target_arch = "x86_64", target_arch = "aarch64", target_feature = "simd128")),
            expect(unused_mut, reason = "there is no more")
        )]
        let mut levels = vec![Level::Plain];
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            if has!("sse4.1") {
                levels.push(Level::Sse41);
            }
            if has!("avx2") && has!("bmi1") && has!("bmi2") && has!("popcnt") {
                levels.push(Level::Avx2);
            }
        }
        #[cfg(target_arch = "aarch64")]
        levels.push(Level::Neon);
        #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
        levels.push(Level::Simd128);
        levels
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Level::Plain => "plain",
            #[cfg(target_arch = "x86_64")]
            Level::Sse41 => "sse4.1",
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => "avx2",
            #[cfg(target_arch = "aarch64")]
            Level::Neon => "neon",
            #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
            Level::Simd128 => "simd128",
        }
    }
}

/// Defines functions that run a kernel compiled for a level.
macro_rules! at_level {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? = $plain:path;)*) => {$(
        $(#[$doc])*
        #[inline]
        pub(crate) fn $name(level: Level, $($argument: $type),*) $(-> $result)? {
            match level {
                Level::Plain => $plain($($argument),*),
                // SAFETY: `available`, which makes the levels, has seen that the processor has their features.
                #[cfg(target_arch = "x86_64")]
                Level::Sse41 => unsafe { sse41::$name($($argument),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                Level::Avx2 => unsafe { avx2::$name($($argument),*) },
                #[cfg(target_arch = "aarch64")]
                Level::Neon => neon::$name($($argument),*),
                #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
                Level::Simd128 => simd128::$name($($argument),*),
            }
        }
    )*};
}

at_level! {
    /// [`upsample::triangle_h2v1`].
    fn triangle_h2v1(row: &[u8], out: &mut [u8]) = upsample::triangle_h2v1;
    /// [`upsample::triangle_h1v2`].
    fn triangle_h1v2(near: &[u8], far: &[u8], upper_half: bool, out: &mut [u8]) = upsample::triangle_h1v2;
    /// [`upsample::triangle_h2v2`].
    fn triangle_h2v2(near: &[u8], far: &[u8], sums: &mut [u16], out: &mut [u8]) = upsample::triangle_h2v2;
    /// [`color::convert_row`].
    fn convert_row(color: ColorModel, format: PixelFormat, components: &[&[u8]], out: &mut [&mut [u8]])
        = color::convert_row;
    /// [`dequant_idct::transform_pair`].
    fn transform_pair(products: &[[i16; 16]; 8], samples: &mut [u8], places: [usize; 2], stride: usize)
        = dequant_idct::transform_pair;
    /// [`reduced_idct::transform_pair_to_4`].
    fn transform_pair_to_4(products: &[[i16; 16]; 8], samples: &mut [u8], places: [usize; 2], stride: usize)
        = reduced_idct::transform_pair_to_4;
    /// [`reduced_idct::transform_pair_to_2`].
    fn transform_pair_to_2(products: &[[i16; 16]; 8], samples: &mut [u8], places: [usize; 2], stride: usize)
        = reduced_idct::transform_pair_to_2;
}

/// [`McuRun::decode`].
#[inline]
pub(crate) fn decode_mcus<S: BlockSink>(level: Level, run: McuRun<S>) -> u32 {
    match level {
        Level::Plain => run.decode(),
        // SAFETY: `available`, which makes the levels, has seen that the processor has their features.
        #[cfg(target_arch = "x86_64")]
        Level::Sse41 => unsafe { sse41::decode_mcus(run) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { avx2::decode_mcus(run) },
        #[cfg(target_arch = "aarch64")]
        Level::Neon => neon::decode_mcus(run),
        #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
        Level::Simd128 => simd128::decode_mcus(run),
    }
}

/// [`BandRun::decode`]. Only BMI makes a difference to it.
#[inline]
pub(crate) fn decode_band(level: Level, run: BandRun) -> u32 {
    match level {
        // SAFETY: `available`, which makes the levels, has seen that the processor has their features.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { avx2::decode_band(run) },
        _ => run.decode(),
    }
}

/// [`PieceDecoder::decode`].
#[cfg(not(target_arch = "wasm32"))]
#[inline]
pub(crate) fn decode_piece(level: Level, decoder: &mut PieceDecoder) {
    match level {
        Level::Plain => decoder.decode(),
        // SAFETY: `available`, which makes the levels, has seen that the processor has their features.
        #[cfg(target_arch = "x86_64")]
        Level::Sse41 => unsafe { sse41::decode_piece(decoder) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { avx2::decode_piece(decoder) },
        #[cfg(target_arch = "aarch64")]
        Level::Neon => neon::decode_piece(decoder),
    }
}

#[cfg(test)]
mod tests;
