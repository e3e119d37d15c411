use crate::codestream::ZIGZAG;
use crate::cpu::dequant_idct::{BlockTransformer, SamplePlane, ZigzagQuantizers};
use crate::entropy::Block;
use crate::simd::Level;

fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mixed = (*state ^ *state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed ^ mixed >> 27
}

fn w16(value: i64) -> i64 {
    i64::from(value as i16)
}

/// Rounding in 32 bits that wrap.
fn down(value: i64, bits: u32) -> i64 {
    i64::from((value as i32).wrapping_add(1 << (bits - 1))) >> bits
}

fn sat16(value: i64) -> i64 {
    value.clamp(-32768, 32767)
}

fn sample(value: i64) -> u8 {
    (value.clamp(-128, 127) + 128) as u8
}

/// The contract of 4x4 samples, one number at a time and in 64 bits, as an independent check.
fn reference_4(block: &Block, quant: &[u16; 64]) -> Vec<u8> {
    let product =
        |row: usize, column: usize| w16(i64::from(block[8 * row + column]) * i64::from(quant[8 * row + column]));
    let one = |v: [i64; 8], bits: u32| -> [i64; 4] {
        let (t0, t2) = (v[0] << 14, v[2] * 15137 - v[6] * 6270);
        let a = v[7] * -1730 + v[5] * 11893 + v[3] * -17799 + v[1] * 8697;
        let b = v[7] * -4176 + v[5] * -4926 + v[3] * 7373 + v[1] * 20995;
        [t0 + t2 + b, t0 - t2 + a, t0 - t2 - a, t0 + t2 - b].map(|sum| sat16(down(sum, bits)))
    };
    let flat = [1, 2, 3, 5, 6, 7].iter().all(|row| block[8 * row..8 * row + 8].iter().all(|&value| value == 0));
    let columns: [[i64; 4]; 8] = std::array::from_fn(|column| {
        if flat {
            return [w16(product(0, column) << 2); 4];
        }
        one(std::array::from_fn(|row| product(row, column)), 12)
    });
    (0..4).flat_map(|row| one(std::array::from_fn(|column| columns[column][row]), 19).map(sample)).collect()
}

/// The contract of 2x2 samples.
fn reference_2(block: &Block, quant: &[u16; 64]) -> Vec<u8> {
    let product =
        |row: usize, column: usize| w16(i64::from(block[8 * row + column]) * i64::from(quant[8 * row + column]));
    let odd = |v: &dyn Fn(usize) -> i64| v(7) * -5906 + v(5) * 6967 + v(3) * -10426 + v(1) * 29692;
    let columns: [[i64; 2]; 8] = std::array::from_fn(|column| {
        let (even, odd) = (product(0, column) << 15, odd(&|row| product(row, column)));
        [even + odd, even - odd].map(|sum| down(sum, 13))
    });
    (0..2)
        .flat_map(|row| {
            let (even, odd) = (columns[0][row] << 15, odd(&|column| sat16(columns[column][row])));
            [even + odd, even - odd].map(|sum| sample(down(sum, 20)))
        })
        .collect()
}

/// The contract of a single sample, by a table as libjpeg has it.
fn reference_1(block: &Block, quant: &[u16; 64]) -> Vec<u8> {
    let mean = (i64::from(block[0]) * i64::from(quant[0] as i16) + 4) >> 3;
    let sample = match mean & 1023 {
        index @ 0..=127 => index + 128,
        128..=511 => 255,
        512..=895 => 0,
        index => index - 896,
    };
    vec![sample as u8]
}

/// Blocks of every density and size, some with nothing below the first row, some with only row 4 there.
fn blocks(count: usize, state: &mut u64) -> Vec<(Block, [u16; 64])> {
    let block = |_| {
        let (density, magnitude_bits, quant_bits) = (random(state) % 65, random(state) % 16, random(state) % 17);
        let rows = [0xFF, 0xFF, 0x01, 0x11][random(state) as usize % 4];
        let mut block = [0; 64];
        for _ in 0..density {
            let natural = random(state) as usize % 64;
            if rows >> (natural / 8) & 1 == 1 {
                block[natural] = (random(state) as i16) >> (15 - magnitude_bits);
            }
        }
        let quant = std::array::from_fn(|_| (random(state) as u32 & ((1 << quant_bits) - 1)) as u16);
        (block, quant)
    };
    (0..count).map(block).collect()
}

fn symbols(block: &Block) -> Vec<u32> {
    let coefficient = |zigzag: usize| u32::from(block[usize::from(ZIGZAG[zigzag])] as u16) << 16 | zigzag as u32;
    (0..64).map(coefficient).filter(|symbol| symbol >> 16 != 0).collect()
}

fn last_nonzero(block: &Block) -> u8 {
    (0..64).rev().find(|&k| block[usize::from(ZIGZAG[k])] != 0).unwrap_or(0) as u8
}

/// Both ways into a transformer, block after block, at every level; nothing is written beside the samples.
fn check<const SIZE: usize>(reference: fn(&Block, &[u16; 64]) -> Vec<u8>) {
    let mut state = 17 + SIZE as u64;
    let blocks = blocks(5_000, &mut state);
    let stride = SIZE * blocks.len() + 3;
    for level in Level::available() {
        for packed in [false, true] {
            let mut samples = vec![9; stride * SIZE];
            let mut plane = SamplePlane { samples: &mut samples, stride };
            let mut transformer = BlockTransformer::new(level);
            for (index, (block, quant)) in blocks.iter().enumerate() {
                let place = SIZE * index;
                if packed {
                    let quantizers = ZigzagQuantizers::new(quant);
                    transformer.packed_block::<SIZE>(&symbols(block), &quantizers, &mut plane, place);
                } else {
                    transformer.block::<SIZE>(block, last_nonzero(block), quant, &mut plane, place);
                }
            }
            transformer.finish::<SIZE>(&mut plane);
            for (index, (block, quant)) in blocks.iter().enumerate() {
                let rows = (0..SIZE).flat_map(|row| &samples[row * stride + SIZE * index..][..SIZE]);
                let found: Vec<u8> = rows.copied().collect();
                let expected = reference(block, quant);
                assert!(
                    found == expected,
                    "{level:?}, packed {packed}, block {index}: {found:?}, expected {expected:?}"
                );
            }
            assert!((0..SIZE).all(|row| samples[row * stride + stride - 3..][..3] == [9; 3]), "{level:?}");
        }
    }
}

#[test]
fn four_by_four_samples_equal_the_contract() {
    check::<4>(reference_4);
}

#[test]
fn two_by_two_samples_equal_the_contract() {
    check::<2>(reference_2);
}

#[test]
fn single_samples_equal_the_contract() {
    check::<1>(reference_1);
}

#[test]
fn the_flat_shortcut_wraps_where_the_full_way_saturates() {
    let quant = [1; 64];
    let mut block = [0; 64];
    (block[0], block[8 * 4]) = (16383, 5);
    // 16383 << 2 wraps to -4; row 4 has no part in it.
    assert_eq!(reference_4(&block, &quant)[0], 128);
    block[8] = 1;
    assert_eq!(reference_4(&block, &quant)[0], 255);
}
