//! Dequantisation and the 8x8 inverse DCT: coefficients to samples.
//!
//! The arithmetic is that of libjpeg-turbo's SIMD kernels for x86-64 with its "islow" DCT: 16-bit wrapping
//! products of coefficient and quantizer, 32-bit wrapping sums, 16-bit saturation after each pass. Written on
//! rows of eight lanes so that compilers turn it into vector code; `i16 * i16` products stay visible as such.

use super::reduced_idct;
use crate::codestream::ZIGZAG;
use crate::entropy::{Block, unpacked};
use crate::simd::{self, Level};

pub(super) type Lanes = [i16; 8];

/// Bits of the fixed-point constants.
const CONSTANT_BITS: u32 = 13;
/// Fractional bits kept between the passes.
const PASS1_BITS: u32 = 2;

/// Where a component's samples go: rows `stride` bytes apart.
pub(crate) struct SamplePlane<'s> {
    pub(crate) samples: &'s mut [u8],
    pub(crate) stride: usize,
}

/// Reconstructs blocks, two at a time where the processor has vectors of that length. `SIZE` is what each side of a block
/// becomes: 8 samples, or 4, 2 or 1. It is the same from one [`finish`](Self::finish) to the next.
pub(crate) struct BlockTransformer {
    level: Level,
    /// Dequantised coefficients of two blocks, side by side.
    products: [[i16; 16]; 8],
    /// Where the first of them goes, if it waits for the second.
    waiting: Option<usize>,
}

impl BlockTransformer {
    pub(crate) fn new(level: Level) -> Self {
        BlockTransformer { level, products: [[0; 16]; 8], waiting: None }
    }

    /// Reconstructs a block from those of its coefficients that are not 0. Its samples begin at `place`.
    #[inline]
    pub(crate) fn packed_block<const SIZE: usize>(
        &mut self,
        symbols: &[u32],
        quantizers: &ZigzagQuantizers,
        plane: &mut SamplePlane,
        place: usize,
    ) {
        match SIZE {
            1 => {
                let dc = symbols.iter().map(|&symbol| unpacked(symbol)).find(|&(_, zigzag)| zigzag == 0);
                plane.samples[place] = reduced_idct::single_sample(dc.map_or(0, |(dc, _)| dc), quantizers.dc());
                return;
            }
            8 if self.level == Level::Plain => {
                return packed_block(symbols, quantizers, &mut plane.samples[place..], plane.stride);
            }
            _ => {}
        }
        if symbols.len() <= 1 {
            // What most blocks of smooth parts are.
            let (dc, zigzag) = symbols.first().map_or((0, 0), |&symbol| unpacked(symbol));
            if zigzag == 0 {
                let product = dc.wrapping_mul(quantizers.0[0].value);
                return fill_block::<SIZE>(product, &mut plane.samples[place..], plane.stride);
            }
        }
        let lane = self.start_block();
        let flat = self.products.as_flattened_mut();
        let mut used = 0;
        for &symbol in symbols {
            let (value, zigzag) = unpacked(symbol);
            let quantizer = quantizers.0[zigzag];
            flat[usize::from(quantizer.paired & 0x77) + lane] = value.wrapping_mul(quantizer.value);
            used |= quantizer.natural;
        }
        // Bits 3 to 5 are those of rows. A transform to 4 samples does not read row 4.
        let first_row_only = used & if SIZE == 4 { 0o30 } else { 0o70 } == 0;
        self.end_block::<SIZE>(used == 0, first_row_only, plane, place);
    }

    /// Reconstructs a block. `last_nonzero` is the zigzag index of the last coefficient that is not 0, or anything
    /// above it.
    #[inline]
    pub(crate) fn block<const SIZE: usize>(
        &mut self,
        block: &Block,
        last_nonzero: u8,
        quant: &[u16; 64],
        plane: &mut SamplePlane,
        place: usize,
    ) {
        match SIZE {
            1 => {
                plane.samples[place] = reduced_idct::single_sample(block[0], quant[0]);
                return;
            }
            8 if self.level == Level::Plain => {
                return dequant_idct(block, last_nonzero, quant, &mut plane.samples[place..], plane.stride);
            }
            _ => {}
        }
        let lane = self.start_block();
        let (coefficients, _) = block.as_chunks::<8>();
        let (quant, _) = quant.as_chunks::<8>();
        for ((products, coefficients), quant) in self.products.iter_mut().zip(coefficients).zip(quant) {
            let products = products[lane..].iter_mut();
            for ((product, coefficient), &quant) in products.zip(coefficients).zip(quant) {
                *product = coefficient.wrapping_mul(quant as i16);
            }
        }
        let any = |coefficients: &[i16]| coefficients.iter().fold(0, |any, &coefficient| any | coefficient) != 0;
        let first_row_only = !any(&block[8..32]) && !any(&block[40..]) && (SIZE == 4 || !any(&block[32..40]));
        self.end_block::<SIZE>(last_nonzero == 0, first_row_only, plane, place);
    }

    /// Empties the half that the next block takes; returns its first lane.
    #[inline(always)]
    fn start_block(&mut self) -> usize {
        let lane = if self.waiting.is_some() { 8 } else { 0 };
        self.products.iter_mut().for_each(|row| row[lane..lane + 8].fill(0));
        lane
    }

    #[inline(always)]
    fn end_block<const SIZE: usize>(
        &mut self,
        dc_only: bool,
        first_row_only: bool,
        plane: &mut SamplePlane,
        place: usize,
    ) {
        let lane = if self.waiting.is_some() { 8 } else { 0 };
        if dc_only {
            return fill_block::<SIZE>(self.products[0][lane], &mut plane.samples[place..], plane.stride);
        }
        if SIZE != 2 && first_row_only {
            // The short way wraps; where nothing is large enough for that, the long way is the same.
            let row: &[i16; 8] = self.products[0][lane..].first_chunk().expect("a lane has eight values");
            if row.iter().any(|value| !(-8192..8192).contains(value)) {
                if SIZE == 4 {
                    return reduced_idct::transform_flat_to_4(row, plane.samples, place, plane.stride);
                }
                let mut products = [[0; 8]; 8];
                products[0] = *row;
                return transform::<1>(&products, &mut plane.samples[place..], plane.stride);
            }
        }
        match self.waiting.take() {
            None => self.waiting = Some(place),
            Some(first) => self.transform_pair::<SIZE>(plane, [first, place]),
        }
    }

    /// Reconstructs the block that still waits.
    pub(crate) fn finish<const SIZE: usize>(&mut self, plane: &mut SamplePlane) {
        if let Some(place) = self.waiting.take() {
            self.products.iter_mut().for_each(|row| row.copy_within(..8, 8));
            self.transform_pair::<SIZE>(plane, [place, place]);
        }
    }

    #[inline(always)]
    fn transform_pair<const SIZE: usize>(&mut self, plane: &mut SamplePlane, places: [usize; 2]) {
        let transform = match SIZE {
            2 => simd::transform_pair_to_2,
            4 => simd::transform_pair_to_4,
            _ => simd::transform_pair,
        };
        transform(self.level, &self.products, plane.samples, places, plane.stride);
    }
}

/// Transforms two dequantised blocks side by side; their samples begin at `places`.
pub(crate) fn transform_pair(products: &[[i16; 16]; 8], samples: &mut [u8], places: [usize; 2], stride: usize) {
    for (place, lane) in places.into_iter().zip([0, 8]) {
        let block = products.each_ref().map(|row| std::array::from_fn(|column| row[lane + column]));
        transform::<8>(&block, &mut samples[place..], stride);
    }
}

/// Quantizers in zigzag order: what packed coefficients need.
pub(crate) struct ZigzagQuantizers([ZigzagQuantizer; 64]);

#[derive(Clone, Copy)]
struct ZigzagQuantizer {
    value: i16,
    /// Natural index, and the index in a pair of blocks.
    natural: u8,
    paired: u8,
}

impl ZigzagQuantizers {
    /// From quantizers in natural order.
    pub(crate) fn new(quant: &[u16; 64]) -> Self {
        ZigzagQuantizers(ZIGZAG.map(|natural| ZigzagQuantizer {
            value: quant[usize::from(natural)] as i16,
            natural,
            paired: natural + (natural & 0o70),
        }))
    }

    /// That of the DC coefficient.
    fn dc(&self) -> u16 {
        self.0[0].value as u16
    }
}

/// Reconstructs a block from those of its coefficients that are not 0.
fn packed_block(symbols: &[u32], quantizers: &ZigzagQuantizers, out: &mut [u8], stride: usize) {
    let mut products = [[0; 8]; 8];
    let flat = products.as_flattened_mut();
    let mut used = 0;
    for &symbol in symbols {
        let (value, zigzag) = unpacked(symbol);
        let quantizer = quantizers.0[zigzag];
        flat[usize::from(quantizer.natural & 63)] = value.wrapping_mul(quantizer.value);
        used |= quantizer.natural;
    }
    // Bits of the natural indices: 0 to 2 are columns, 3 to 5 rows.
    match used {
        0 => fill_block::<8>(products[0][0], out, stride),
        1..8 => transform::<1>(&products, out, stride),
        _ if used & 0b100_100 == 0 => transform::<4>(&products, out, stride),
        _ => transform::<8>(&products, out, stride),
    }
}

/// Reconstructs a block into `out`, whose rows are `stride` bytes apart. `last_nonzero` is the zigzag index
/// of the last coefficient that is not 0, or anything above it.
fn dequant_idct(block: &Block, last_nonzero: u8, quant: &[u16; 64], out: &mut [u8], stride: usize) {
    match last_nonzero {
        0 => fill_block::<8>(block[0].wrapping_mul(quant[0] as i16), out, stride),
        // Zigzag order fills corners: up to index 9 it stays within 4x4.
        1..=9 => transform_block::<4>(block, quant, out, stride),
        _ => transform_block::<8>(block, quant, out, stride),
    }
}

/// Dequantises and transforms a block whose coefficients outside the upper left `USED` x `USED` are 0.
#[inline(always)]
fn transform_block<const USED: usize>(block: &Block, quant: &[u16; 64], out: &mut [u8], stride: usize) {
    let (coefficients, _) = block.as_chunks::<8>();
    let (quant, _) = quant.as_chunks::<8>();
    let mut products = [[0; 8]; 8];
    for row in 0..USED {
        for column in 0..8 {
            products[row][column] = coefficients[row][column].wrapping_mul(quant[row][column] as i16);
        }
    }
    // The coefficients are tested, not the products.
    let first_row_only = block[8..8 * USED].iter().fold(0, |any, &coefficient| any | coefficient) == 0;
    if first_row_only {
        transform::<1>(&products, out, stride);
    } else {
        transform::<USED>(&products, out, stride);
    }
}

/// Transforms dequantised coefficients, of which those outside the upper left `USED` x `USED` are 0; with 1, those
/// outside the first row.
#[inline(always)]
fn transform<const USED: usize>(products: &[Lanes; 8], out: &mut [u8], stride: usize) {
    // The kernels' short way for first rows wraps where the long way saturates.
    let columns_done = match USED {
        1 => [products[0].map(|value| value.wrapping_shl(PASS1_BITS)); 8],
        _ => one_dimension::<{ CONSTANT_BITS - PASS1_BITS }, USED>(products),
    };
    let transposed_columns = transposed(&columns_done);
    let samples = match USED {
        4 => one_dimension::<{ CONSTANT_BITS + PASS1_BITS + 3 }, 4>(&transposed_columns),
        _ => one_dimension::<{ CONSTANT_BITS + PASS1_BITS + 3 }, 8>(&transposed_columns),
    };
    let samples = transposed(&samples);
    for (row, lanes) in samples.iter().enumerate() {
        let out: &mut [u8; 8] = (&mut out[row * stride..row * stride + 8]).try_into().expect("eight samples");
        for (out, &value) in out.iter_mut().zip(lanes) {
            *out = to_sample(value);
        }
    }
}

/// All samples of a block with nothing but DC are the same.
fn fill_block<const SIZE: usize>(product: i16, out: &mut [u8], stride: usize) {
    let sample = if SIZE == 2 {
        reduced_idct::flat_sample_of_2(product)
    } else {
        // Second pass with one input: (dc << 13) descaled by 18 bits, or with 4 samples (dc << 14) by 19.
        let dc = product.wrapping_shl(PASS1_BITS);
        to_sample(((i32::from(dc) + 16) >> 5) as i16)
    };
    for row in 0..SIZE {
        out[row * stride..row * stride + SIZE].fill(sample);
    }
}

/// Level shift of a sample that saturates, never wraps.
#[inline(always)]
pub(super) fn to_sample(value: i16) -> u8 {
    value.clamp(-128, 127) as i8 as u8 ^ 0x80
}

/// Eight one-dimensional transforms side by side: `input[k][lane]` is coefficient k of each. Coefficients
/// from `USED` on are 0.
#[inline(always)]
fn one_dimension<const DESCALE: u32, const USED: usize>(input: &[Lanes; 8]) -> [Lanes; 8] {
    let mut output = [[0; 8]; 8];
    // One loop over the lanes: compilers vectorise it as a whole.
    for lane in 0..8 {
        let mut v = [0i16; 8];
        for k in 0..USED {
            v[k] = input[k][lane];
        }

        // Even part.
        let t3 = mul2(v[2], 10703, v[6], 4433);
        let t2 = mul2(v[2], 4433, v[6], -10704);
        let t0 = i32::from(v[0].wrapping_add(v[4])) << CONSTANT_BITS;
        let t1 = i32::from(v[0].wrapping_sub(v[4])) << CONSTANT_BITS;
        let (t10, t13) = (t0.wrapping_add(t3), t0.wrapping_sub(t3));
        let (t11, t12) = (t1.wrapping_add(t2), t1.wrapping_sub(t2));

        // Odd part.
        let (z3, z4) = (v[7].wrapping_add(v[3]), v[5].wrapping_add(v[1]));
        let sum3 = mul2(z3, -6436, z4, 9633);
        let sum4 = mul2(z3, 9633, z4, 6437);
        let a = mul2(v[7], -4927, v[1], -7373).wrapping_add(sum3);
        let b = mul2(v[5], -4176, v[3], -20995).wrapping_add(sum4);
        let c = mul2(v[5], -20995, v[3], 4177).wrapping_add(sum3);
        let d = mul2(v[7], -7373, v[1], 4926).wrapping_add(sum4);

        output[0][lane] = descale::<DESCALE>(t10.wrapping_add(d));
        output[7][lane] = descale::<DESCALE>(t10.wrapping_sub(d));
        output[1][lane] = descale::<DESCALE>(t11.wrapping_add(c));
        output[6][lane] = descale::<DESCALE>(t11.wrapping_sub(c));
        output[2][lane] = descale::<DESCALE>(t12.wrapping_add(b));
        output[5][lane] = descale::<DESCALE>(t12.wrapping_sub(b));
        output[3][lane] = descale::<DESCALE>(t13.wrapping_add(a));
        output[4][lane] = descale::<DESCALE>(t13.wrapping_sub(a));
    }
    output
}

#[inline(always)]
fn mul2(x: i16, cx: i16, y: i16, cy: i16) -> i32 {
    (i32::from(x) * i32::from(cx)).wrapping_add(i32::from(y) * i32::from(cy))
}

/// Rounds `BITS` fractional bits away and saturates to 16 bits.
#[inline(always)]
fn descale<const BITS: u32>(value: i32) -> i16 {
    let rounded = value.wrapping_add(1 << (BITS - 1)) >> BITS;
    rounded.clamp(i32::from(i16::MIN), i32::from(i16::MAX)) as i16
}

/// Three perfect shuffles of the rows; each interleaving is one instruction of most vector units.
#[inline(always)]
fn transposed(rows: &[Lanes; 8]) -> [Lanes; 8] {
    shuffled(&shuffled(&shuffled(rows)))
}

#[inline(always)]
fn shuffled(r: &[Lanes; 8]) -> [Lanes; 8] {
    [
        interleaved_low(r[0], r[4]),
        interleaved_high(r[0], r[4]),
        interleaved_low(r[1], r[5]),
        interleaved_high(r[1], r[5]),
        interleaved_low(r[2], r[6]),
        interleaved_high(r[2], r[6]),
        interleaved_low(r[3], r[7]),
        interleaved_high(r[3], r[7]),
    ]
}

#[inline(always)]
fn interleaved_low(a: Lanes, b: Lanes) -> Lanes {
    [a[0], b[0], a[1], b[1], a[2], b[2], a[3], b[3]]
}

#[inline(always)]
fn interleaved_high(a: Lanes, b: Lanes) -> Lanes {
    [a[4], b[4], a[5], b[5], a[6], b[6], a[7], b[7]]
}

#[cfg(test)]
mod tests;
