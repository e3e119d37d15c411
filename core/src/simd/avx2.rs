//! AVX2. What compilers vectorise well is the plain code compiled for it; the rest is written out.

use std::arch::x86_64::*;

use crate::codestream::ColorModel;
use crate::cpu::reduced_idct::{DESCALE_TO_2, ODD_TO_2, SCALE_TO_2};
use crate::cpu::{color, upsample};
use crate::entropy::{BlockSink, McuRun, PieceDecoder};
use crate::pixels::PixelFormat;

/// Shifts by variable amounts take fewer instructions with BMI2.
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

/// Pixels that the written-out conversions make at a time.
const STEP: usize = 32;

#[target_feature(enable = "avx2,bmi1,bmi2")]
pub(super) fn convert_row(color: ColorModel, format: PixelFormat, components: &[&[u8]], out: &mut [&mut [u8]]) {
    let [luma, cb, cr] = *components else { return color::convert_row(color, format, components, out) };
    if color != ColorModel::YCbCr || luma.len() < STEP {
        return color::convert_row(color, format, components, out);
    }
    match (format, out) {
        (PixelFormat::Rgb8, [out]) => in_steps(luma, cb, cr, |at, [red, green, blue]| {
            store(&mut out[3 * at..3 * (at + STEP)], interleaved3(red, green, blue));
        }),
        (PixelFormat::Bgr8, [out]) => in_steps(luma, cb, cr, |at, [red, green, blue]| {
            store(&mut out[3 * at..3 * (at + STEP)], interleaved3(blue, green, red));
        }),
        (PixelFormat::Rgba8, [out]) => in_steps(luma, cb, cr, |at, [red, green, blue]| {
            store(&mut out[4 * at..4 * (at + STEP)], interleaved4(red, green, blue, _mm256_set1_epi8(-1)));
        }),
        (PixelFormat::Rgb8Planar, [red_out, green_out, blue_out]) => {
            in_steps(luma, cb, cr, |at, [red, green, blue]| {
                store(&mut red_out[at..at + STEP], [red]);
                store(&mut green_out[at..at + STEP], [green]);
                store(&mut blue_out[at..at + STEP], [blue]);
            })
        }
        (format, out) => color::convert_row(color, format, components, out),
    }
}

/// Hands red, green and blue of each 32 pixels to `write`. The last step overlaps the one before, if need be.
#[inline]
#[target_feature(enable = "avx2")]
fn in_steps(luma: &[u8], cb: &[u8], cr: &[u8], mut write: impl FnMut(usize, [__m256i; 3])) {
    let width = luma.len();
    let mut at = 0;
    loop {
        let pixels = at..at + STEP;
        write(at, rgb(load(&luma[pixels.clone()]), load(&cb[pixels.clone()]), load(&cr[pixels])));
        if at + STEP == width {
            return;
        }
        at = (at + STEP).min(width - STEP);
    }
}

/// YCbCr to RGB of 32 pixels; see [`color`] for the factors.
#[inline]
#[target_feature(enable = "avx2")]
fn rgb(luma: __m256i, cb: __m256i, cr: __m256i) -> [__m256i; 3] {
    let zero = _mm256_setzero_si256();
    let half = _mm256_set1_epi16(128);
    // Bytes 0 to 7 and 16 to 23, then the others: packing brings them back in order.
    let widened = |bytes| [_mm256_unpacklo_epi8(bytes, zero), _mm256_unpackhi_epi8(bytes, zero)];
    let (luma, cb, cr) = (widened(luma), widened(cb), widened(cr));
    let mut channels = [[zero; 2]; 3];
    for part in 0..2 {
        let (y, cb, cr) = (luma[part], _mm256_sub_epi16(cb[part], half), _mm256_sub_epi16(cr[part], half));
        let (cb2, cr2) = (_mm256_add_epi16(cb, cb), _mm256_add_epi16(cr, cr));
        channels[0][part] = _mm256_add_epi16(y, _mm256_add_epi16(cr, rounded_half_product(cr2, 26345)));
        channels[2][part] = _mm256_add_epi16(y, _mm256_add_epi16(cb2, rounded_half_product(cb2, -14942)));
        let factors = pair(-22554, 18734);
        let rounding = _mm256_set1_epi32(1 << 15);
        let sum = |both| _mm256_srai_epi32::<16>(_mm256_add_epi32(_mm256_madd_epi16(both, factors), rounding));
        let offset = _mm256_packs_epi32(sum(_mm256_unpacklo_epi16(cb, cr)), sum(_mm256_unpackhi_epi16(cb, cr)));
        channels[1][part] = _mm256_add_epi16(y, _mm256_sub_epi16(offset, cr));
    }
    channels.map(|[low, high]| _mm256_packus_epi16(low, high))
}

/// `value * factor / 131072`, rounded.
#[inline]
#[target_feature(enable = "avx2")]
fn rounded_half_product(value: __m256i, factor: i16) -> __m256i {
    let floor = _mm256_mulhi_epi16(value, _mm256_set1_epi16(factor));
    _mm256_srai_epi16::<1>(_mm256_add_epi16(floor, _mm256_set1_epi16(1)))
}

/// 32 pixels of three bytes.
#[inline]
#[target_feature(enable = "avx2")]
fn interleaved3(first: __m256i, second: __m256i, third: __m256i) -> [__m256i; 3] {
    // In each half, byte i of part n is byte (16 n + i) / 3 of channel (16 n + i) % 3.
    let parts: [__m256i; 3] = std::array::from_fn(|part| {
        let shuffled = |channel: usize, bytes| _mm256_shuffle_epi8(bytes, load(&INTERLEAVE3[part][channel]));
        _mm256_or_si256(_mm256_or_si256(shuffled(0, first), shuffled(1, second)), shuffled(2, third))
    });
    [
        _mm256_permute2x128_si256::<0x20>(parts[0], parts[1]),
        _mm256_permute2x128_si256::<0x30>(parts[2], parts[0]),
        _mm256_permute2x128_si256::<0x31>(parts[1], parts[2]),
    ]
}

/// Shuffles by part and channel; a byte above 127 gives 0.
const INTERLEAVE3: [[[u8; 32]; 3]; 3] = {
    let mut shuffles = [[[0xFF; 32]; 3]; 3];
    let mut byte = 0;
    while byte < 48 {
        let (part, index, channel) = (byte / 16, byte % 16, byte % 3);
        shuffles[part][channel][index] = byte as u8 / 3;
        shuffles[part][channel][index + 16] = byte as u8 / 3;
        byte += 1;
    }
    shuffles
};

/// 32 pixels of four bytes.
#[inline]
#[target_feature(enable = "avx2")]
fn interleaved4(first: __m256i, second: __m256i, third: __m256i, fourth: __m256i) -> [__m256i; 4] {
    let (low12, high12) = (_mm256_unpacklo_epi8(first, second), _mm256_unpackhi_epi8(first, second));
    let (low34, high34) = (_mm256_unpacklo_epi8(third, fourth), _mm256_unpackhi_epi8(third, fourth));
    // Pixels 0 to 3, 4 to 7 and so on, each with those 16 further.
    let quads = [
        _mm256_unpacklo_epi16(low12, low34),
        _mm256_unpackhi_epi16(low12, low34),
        _mm256_unpacklo_epi16(high12, high34),
        _mm256_unpackhi_epi16(high12, high34),
    ];
    [
        _mm256_permute2x128_si256::<0x20>(quads[0], quads[1]),
        _mm256_permute2x128_si256::<0x20>(quads[2], quads[3]),
        _mm256_permute2x128_si256::<0x31>(quads[0], quads[1]),
        _mm256_permute2x128_si256::<0x31>(quads[2], quads[3]),
    ]
}

#[target_feature(enable = "avx2,bmi1,bmi2")]
pub(super) fn transform_pair(products: &[[i16; 16]; 8], samples: &mut [u8], places: [usize; 2], stride: usize) {
    let columns = one_dimension::<11>(products.each_ref().map(|row| load16(row)));
    let rows = transposed(one_dimension::<18>(transposed(columns)));
    let ends = places.map(|place| place + 7 * stride + 8);
    assert!(ends.iter().all(|&end| end <= samples.len()), "callers pass room for both blocks");
    for pair in 0..4 {
        let both = _mm256_packs_epi16(rows[2 * pair], rows[2 * pair + 1]);
        let both = _mm256_xor_si256(both, _mm256_set1_epi8(-128));
        let halves = [_mm256_castsi256_si128(both), _mm256_extracti128_si256::<1>(both)];
        for (half, place) in halves.into_iter().zip(places) {
            // SAFETY: rows 0 to 7 of both blocks, 8 bytes each, lie before the ends that were checked above.
            unsafe {
                let upper = samples.as_mut_ptr().add(place + 2 * pair * stride);
                _mm_storel_epi64(upper.cast(), half);
                _mm_storel_epi64(upper.add(stride).cast(), _mm_unpackhi_epi64(half, half));
            }
        }
    }
}

#[target_feature(enable = "avx2,bmi1,bmi2")]
pub(super) fn transform_pair_to_4(products: &[[i16; 16]; 8], samples: &mut [u8], places: [usize; 2], stride: usize) {
    let ends = places.map(|place| place + 3 * stride + 4);
    assert!(ends.iter().all(|&end| end <= samples.len()), "callers pass room for both blocks");
    let rows = columns_to_4(products.each_ref().map(|row| load16(row)));
    // Each half holds a block. Pairs of columns, four rows of each: 0 and 1, 2 and 3, and so on.
    let (low01, high01) = (_mm256_unpacklo_epi16(rows[0], rows[1]), _mm256_unpackhi_epi16(rows[0], rows[1]));
    let (low23, high23) = (_mm256_unpacklo_epi16(rows[2], rows[3]), _mm256_unpackhi_epi16(rows[2], rows[3]));
    let done = rows_to_4([
        _mm256_unpacklo_epi32(low01, low23),
        _mm256_unpackhi_epi32(low01, low23),
        _mm256_unpacklo_epi32(high01, high23),
        _mm256_unpackhi_epi32(high01, high23),
    ]);
    // Back to rows: samples 0 and 1 of all four rows, samples 2 and 3, then two rows whole.
    let (even, odd) = (_mm256_packs_epi32(done[0], done[2]), _mm256_packs_epi32(done[1], done[3]));
    let (left, right) = (_mm256_unpacklo_epi16(even, odd), _mm256_unpackhi_epi16(even, odd));
    let bytes = _mm256_packs_epi16(_mm256_unpacklo_epi32(left, right), _mm256_unpackhi_epi32(left, right));
    let bytes = _mm256_xor_si256(bytes, _mm256_set1_epi8(-128));
    let halves = [_mm256_castsi256_si128(bytes), _mm256_extracti128_si256::<1>(bytes)];
    for (half, place) in halves.into_iter().zip(places) {
        let rows = [
            _mm_cvtsi128_si32(half),
            _mm_extract_epi32::<1>(half),
            _mm_extract_epi32::<2>(half),
            _mm_extract_epi32::<3>(half),
        ];
        for (row, four) in rows.into_iter().enumerate() {
            let start = place + row * stride;
            samples[start..start + 4].copy_from_slice(&four.to_le_bytes());
        }
    }
}

/// The first pass of transforms to 4 samples: eight columns of each block, to four rows.
#[inline]
#[target_feature(enable = "avx2")]
fn columns_to_4(v: [__m256i; 8]) -> [__m256i; 4] {
    let zero = _mm256_setzero_si256();
    let low = outputs_of_4::<12>(
        _mm256_unpacklo_epi16(zero, v[0]),
        _mm256_unpacklo_epi16(v[2], v[6]),
        _mm256_unpacklo_epi16(v[1], v[3]),
        _mm256_unpacklo_epi16(v[5], v[7]),
    );
    let high = outputs_of_4::<12>(
        _mm256_unpackhi_epi16(zero, v[0]),
        _mm256_unpackhi_epi16(v[2], v[6]),
        _mm256_unpackhi_epi16(v[1], v[3]),
        _mm256_unpackhi_epi16(v[5], v[7]),
    );
    std::array::from_fn(|row| _mm256_packs_epi32(low[row], high[row]))
}

/// The second pass: four rows of each block, given as pairs of columns, to four 32-bit samples.
#[inline]
#[target_feature(enable = "avx2")]
fn rows_to_4(columns: [__m256i; 4]) -> [__m256i; 4] {
    let [c01, c23, c45, c67] = columns;
    outputs_of_4::<19>(
        _mm256_unpacklo_epi16(_mm256_setzero_si256(), c01),
        _mm256_unpacklo_epi16(c23, c67),
        _mm256_unpackhi_epi16(c01, c23),
        _mm256_unpackhi_epi16(c45, c67),
    )
}

/// Eight transforms of one dimension to 4 samples, from coefficient 0 in the upper 16 bits and pairs of others; as the
/// plain code's `one_dimension_to_4`.
#[inline]
#[target_feature(enable = "avx2")]
fn outputs_of_4<const DESCALE: i32>(
    dc: __m256i,
    second_sixth: __m256i,
    first_third: __m256i,
    fifth_seventh: __m256i,
) -> [__m256i; 4] {
    let add = |a, b| _mm256_add_epi32(a, b);
    let sub = |a, b| _mm256_sub_epi32(a, b);
    let product = |both, factors| _mm256_madd_epi16(both, factors);
    let dc = _mm256_srai_epi32::<2>(dc);
    let even = product(second_sixth, pair(15137, -6270));
    let (outer, inner) = (add(dc, even), sub(dc, even));
    let outer_odd = add(product(first_third, pair(20995, 7373)), product(fifth_seventh, pair(-4926, -4176)));
    let inner_odd = add(product(first_third, pair(8697, -17799)), product(fifth_seventh, pair(11893, -1730)));
    let rounding = _mm256_set1_epi32(1 << (DESCALE - 1));
    [add(outer, outer_odd), add(inner, inner_odd), sub(inner, inner_odd), sub(outer, outer_odd)]
        .map(|sum| _mm256_srai_epi32::<DESCALE>(add(sum, rounding)))
}

#[target_feature(enable = "avx2,bmi1,bmi2")]
pub(super) fn transform_pair_to_2(products: &[[i16; 16]; 8], samples: &mut [u8], places: [usize; 2], stride: usize) {
    const PASS1: i32 = DESCALE_TO_2[0] as i32;
    const PASS2: i32 = DESCALE_TO_2[1] as i32;
    let [_, f1, _, f3, _, f5, _, f7] = ODD_TO_2;
    let v = products.each_ref().map(|row| load16(row));
    // Columns 0 to 3 of both blocks, then columns 4 to 7.
    let rows = [false, true].map(|high| {
        let interleaved = |a, b| if high { _mm256_unpackhi_epi16(a, b) } else { _mm256_unpacklo_epi16(a, b) };
        // In the upper 16 bits, then moved down to 15 fractional ones.
        let even = _mm256_srai_epi32::<1>(interleaved(_mm256_setzero_si256(), v[0]));
        let odd = _mm256_add_epi32(
            _mm256_madd_epi16(interleaved(v[1], v[3]), pair(f1, f3)),
            _mm256_madd_epi16(interleaved(v[5], v[7]), pair(f5, f7)),
        );
        let rounding = _mm256_set1_epi32(1 << (PASS1 - 1));
        [_mm256_add_epi32(even, odd), _mm256_sub_epi32(even, odd)]
            .map(|sums| _mm256_srai_epi32::<PASS1>(_mm256_add_epi32(sums, rounding)))
    });
    // Each row of samples is a sum over columns.
    let factors = _mm256_broadcastsi128_si256(_mm_setr_epi16(0, f1, 0, f3, 0, f5, 0, f7));
    let odd = |row: usize| _mm256_madd_epi16(_mm256_packs_epi32(rows[0][row], rows[1][row]), factors);
    let halves = _mm256_hadd_epi32(odd(0), odd(1));
    let odd = _mm256_hadd_epi32(halves, halves);
    // Column 0 keeps 32 bits between the passes.
    let even = _mm256_slli_epi32::<{ SCALE_TO_2 as i32 }>(_mm256_unpacklo_epi32(rows[0][0], rows[0][1]));
    let sums = _mm256_unpacklo_epi32(_mm256_add_epi32(even, odd), _mm256_sub_epi32(even, odd));
    let four = _mm256_srai_epi32::<PASS2>(_mm256_add_epi32(sums, _mm256_set1_epi32(1 << (PASS2 - 1))));
    let four = _mm256_packs_epi32(four, four);
    let four = _mm256_xor_si256(_mm256_packs_epi16(four, four), _mm256_set1_epi8(-128));
    let blocks =
        [_mm256_castsi256_si128(four), _mm256_extracti128_si256::<1>(four)].map(|half| _mm_cvtsi128_si32(half));
    for (block, place) in blocks.into_iter().zip(places) {
        let [a, b, c, d] = block.to_le_bytes();
        samples[place..place + 2].copy_from_slice(&[a, b]);
        samples[place + stride..place + stride + 2].copy_from_slice(&[c, d]);
    }
}

/// Sixteen one-dimensional transforms side by side, eight of each block; as the plain code's `one_dimension`.
#[inline]
#[target_feature(enable = "avx2")]
fn one_dimension<const DESCALE: i32>(v: [__m256i; 8]) -> [__m256i; 8] {
    let low = half_of_one_dimension::<DESCALE>(v, |a, b| _mm256_unpacklo_epi16(a, b));
    let high = half_of_one_dimension::<DESCALE>(v, |a, b| _mm256_unpackhi_epi16(a, b));
    std::array::from_fn(|index| _mm256_packs_epi32(low[index], high[index]))
}

/// Half of the lanes, widened to 32 bits by interleaving pairs of inputs.
#[inline]
#[target_feature(enable = "avx2")]
fn half_of_one_dimension<const DESCALE: i32>(
    v: [__m256i; 8],
    interleaved: impl Fn(__m256i, __m256i) -> __m256i,
) -> [__m256i; 8] {
    let add = |a, b| _mm256_add_epi32(a, b);
    let sub = |a, b| _mm256_sub_epi32(a, b);
    let product = |both, factors| _mm256_madd_epi16(both, factors);
    // In the upper 16 bits, then moved down to 13 fractional ones.
    let scaled = |value| _mm256_srai_epi32::<3>(interleaved(_mm256_setzero_si256(), value));

    let even = interleaved(v[2], v[6]);
    let (t3, t2) = (product(even, pair(10703, 4433)), product(even, pair(4433, -10704)));
    let (t0, t1) = (scaled(_mm256_add_epi16(v[0], v[4])), scaled(_mm256_sub_epi16(v[0], v[4])));
    let (t10, t13, t11, t12) = (add(t0, t3), sub(t0, t3), add(t1, t2), sub(t1, t2));

    let sums = interleaved(_mm256_add_epi16(v[7], v[3]), _mm256_add_epi16(v[5], v[1]));
    let (sum3, sum4) = (product(sums, pair(-6436, 9633)), product(sums, pair(9633, 6437)));
    let (outer, inner) = (interleaved(v[7], v[1]), interleaved(v[5], v[3]));
    let a = add(product(outer, pair(-4927, -7373)), sum3);
    let b = add(product(inner, pair(-4176, -20995)), sum4);
    let c = add(product(inner, pair(-20995, 4177)), sum3);
    let d = add(product(outer, pair(-7373, 4926)), sum4);

    let rounding = _mm256_set1_epi32(1 << (DESCALE - 1));
    [add(t10, d), add(t11, c), add(t12, b), add(t13, a), sub(t13, a), sub(t12, b), sub(t11, c), sub(t10, d)]
        .map(|sum| _mm256_srai_epi32::<DESCALE>(add(sum, rounding)))
}

/// Transposes both blocks by three perfect shuffles.
#[inline]
#[target_feature(enable = "avx2")]
fn transposed(rows: [__m256i; 8]) -> [__m256i; 8] {
    let shuffled = |r: [__m256i; 8]| -> [__m256i; 8] {
        [
            _mm256_unpacklo_epi16(r[0], r[4]),
            _mm256_unpackhi_epi16(r[0], r[4]),
            _mm256_unpacklo_epi16(r[1], r[5]),
            _mm256_unpackhi_epi16(r[1], r[5]),
            _mm256_unpacklo_epi16(r[2], r[6]),
            _mm256_unpackhi_epi16(r[2], r[6]),
            _mm256_unpacklo_epi16(r[3], r[7]),
            _mm256_unpackhi_epi16(r[3], r[7]),
        ]
    };
    shuffled(shuffled(shuffled(rows)))
}

/// Two 16-bit factors for every pair of lanes.
#[inline]
#[target_feature(enable = "avx2")]
fn pair(first: i16, second: i16) -> __m256i {
    _mm256_set1_epi32(i32::from(second) << 16 | i32::from(first as u16))
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(bytes: &[u8]) -> __m256i {
    let bytes: &[u8; 32] = bytes.try_into().expect("callers pass 32 bytes");
    // SAFETY: 32 bytes are readable behind the reference, and the load needs no alignment.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load16(lanes: &[i16; 16]) -> __m256i {
    // SAFETY: 32 bytes are readable behind the reference, and the load needs no alignment.
    unsafe { _mm256_loadu_si256(lanes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store<const COUNT: usize>(out: &mut [u8], vectors: [__m256i; COUNT]) {
    let (chunks, _) = out.as_chunks_mut::<32>();
    assert_eq!(chunks.len(), COUNT, "callers pass room for all");
    for (chunk, vector) in chunks.iter_mut().zip(vectors) {
        // SAFETY: 32 bytes are writable behind the reference, and the store needs no alignment.
        unsafe { _mm256_storeu_si256(chunk.as_mut_ptr().cast(), vector) }
    }
}
