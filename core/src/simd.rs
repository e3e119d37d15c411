//! Kernels for the vector units of processors, chosen at run time. Each gives the bytes of the plain code beside it.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod simd128;

use std::sync::OnceLock;

use crate::codestream::ColorModel;
use crate::cpu::{color, dequant_idct, reduced_idct, upsample};
#[cfg(not(target_arch = "wasm32"))]
use crate::entropy::PieceDecoder;
use crate::entropy::{BlockSink, McuRun};
use crate::pixels::PixelFormat;

/// Vector instructions that may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    /// What every processor of the target has.
    Plain,
    /// AVX2 and BMI of x86-64. Only made where they are present.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// The 128-bit vectors of WebAssembly. A module that has them runs only where they are.
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    Simd128,
}

impl Level {
    /// The best one here, or what the environment variable `ISOPEL_CPU` names: `plain`, `avx2`. Names of what is not
    /// there, or not known, change nothing.
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
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2")
            && std::arch::is_x86_feature_detected!("bmi1")
            && std::arch::is_x86_feature_detected!("bmi2")
        {
            return vec![Level::Plain, Level::Avx2];
        }
        #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
        return vec![Level::Plain, Level::Simd128];
        #[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
        vec![Level::Plain]
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Level::Plain => "plain",
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => "avx2",
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
                // SAFETY: Level::Avx2 is only made by `available`, which has seen that the processor has the features.
                #[cfg(target_arch = "x86_64")]
                Level::Avx2 => unsafe { avx2::$name($($argument),*) },
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
        // SAFETY: Level::Avx2 is only made by `available`, which has seen that the processor has the features.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { avx2::decode_mcus(run) },
        #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
        Level::Simd128 => simd128::decode_mcus(run),
    }
}

/// [`PieceDecoder::decode`].
#[cfg(not(target_arch = "wasm32"))]
#[inline]
pub(crate) fn decode_piece(level: Level, decoder: &mut PieceDecoder) {
    match level {
        Level::Plain => decoder.decode(),
        // SAFETY: Level::Avx2 is only made by `available`, which has seen that the processor has the features.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { avx2::decode_piece(decoder) },
    }
}

#[cfg(test)]
mod tests;
