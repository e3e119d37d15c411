use super::*;

/// The contract of the arithmetic, one sample at a time and in 64 bits, as an independent check.
fn reference(block: &Block, quant: &[u16; 64]) -> [u8; 64] {
    let w16 = |value: i64| value as i16 as i64;
    let dequantised: Vec<i64> =
        (0..64).map(|index| w16(i64::from(block[index]) * i64::from(quant[index] as i16))).collect();
    let one = |v: [i64; 8], bits: u32| -> [i64; 8] {
        let w32 = |value: i64| value as i32 as i64;
        let down = |value: i64| ((w32(w32(value) + (1 << (bits - 1)))) >> bits).clamp(-32768, 32767);
        let (t0, t1) = (w16(v[0] + v[4]) << 13, w16(v[0] - v[4]) << 13);
        let t3 = v[2] * 10703 + v[6] * 4433;
        let t2 = v[2] * 4433 - v[6] * 10704;
        let (z3, z4) = (w16(v[7] + v[3]), w16(v[5] + v[1]));
        let (s3, s4) = (z3 * -6436 + z4 * 9633, z3 * 9633 + z4 * 6437);
        let a = v[7] * -4927 - v[1] * 7373 + s3;
        let b = v[5] * -4176 - v[3] * 20995 + s4;
        let c = v[5] * -20995 + v[3] * 4177 + s3;
        let d = v[7] * -7373 + v[1] * 4926 + s4;
        [
            down(t0 + t3 + d),
            down(t1 + t2 + c),
            down(t1 - t2 + b),
            down(t0 - t3 + a),
            down(t0 - t3 - a),
            down(t1 - t2 - b),
            down(t1 + t2 - c),
            down(t0 + t3 - d),
        ]
    };
    let mut columns = [[0; 8]; 8];
    let flat = block[8..].iter().all(|&coefficient| coefficient == 0);
    for x in 0..8 {
        let column = std::array::from_fn(|y| dequantised[y * 8 + x]);
        let done = if flat { [w16(column[0] << 2); 8] } else { one(column, 11) };
        (0..8).for_each(|y| columns[y][x] = done[y]);
    }
    let mut samples = [0; 64];
    for (y, row) in columns.iter().enumerate() {
        for (x, value) in one(*row, 18).into_iter().enumerate() {
            samples[y * 8 + x] = (value.clamp(-128, 127) + 128) as u8;
        }
    }
    samples
}

fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mixed = (*state ^ *state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed ^ mixed >> 27
}

fn last_nonzero(block: &Block) -> u8 {
    let zigzag = &ZIGZAG;
    (0..64).rev().find(|&k| block[usize::from(zigzag[k])] != 0).unwrap_or(0) as u8
}

fn transformed(block: &Block, last: u8, quant: &[u16; 64]) -> [u8; 64] {
    let mut out = [0; 64];
    dequant_idct(block, last, quant, &mut out, 8);
    out
}

/// A block's packed coefficients, in any order.
fn symbols(block: &Block) -> Vec<u32> {
    let coefficient = |zigzag: u32| (block[usize::from(ZIGZAG[zigzag as usize])] as u16, zigzag);
    (0..64)
        .rev()
        .map(coefficient)
        .filter(|&(value, _)| value != 0)
        .map(|(value, zigzag)| u32::from(value) << 16 | zigzag)
        .collect()
}

fn transformed_packed(block: &Block, quant: &[u16; 64]) -> [u8; 64] {
    let mut out = [0; 64];
    packed_block(&symbols(block), &ZigzagQuantizers::new(quant), &mut out, 8);
    out
}

#[test]
fn equals_the_contract_on_random_blocks_of_every_density_and_size() {
    let mut state = 7;
    for round in 0..20_000u32 {
        let count = random(&mut state) % 65;
        let magnitude_bits = random(&mut state) % 16;
        let mut block = [0; 64];
        for k in 0..count as usize {
            let value = (random(&mut state) as i16) >> (15 - magnitude_bits);
            block[usize::from(ZIGZAG[k])] = value;
        }
        let quant_bits = random(&mut state) % 17;
        let quant: [u16; 64] =
            std::array::from_fn(|_| (random(&mut state) as u32 & ((1 << quant_bits) - 1)).min(65535) as u16);
        let last = last_nonzero(&block);
        let expected = reference(&block, &quant);
        assert_eq!(transformed(&block, last, &quant), expected, "round {round}, seed 7");
        assert_eq!(transformed_packed(&block, &quant), expected, "round {round}, seed 7");
        // A later end never changes the samples.
        assert_eq!(transformed(&block, 63, &quant), expected, "round {round}, seed 7");
    }
}

#[test]
fn the_flat_shortcut_wraps_where_the_full_way_saturates() {
    let mut block = [0; 64];
    block[0] = 16383;
    let quant = [1; 64];
    let flat = transformed(&block, 0, &quant);
    assert_eq!(flat, reference(&block, &quant));
    assert_eq!(transformed_packed(&block, &quant), flat);
    // 16383 << 2 wraps to -4: the sample is not white.
    assert_eq!(flat[0], 128);
    block[8] = 1;
    assert_eq!(transformed(&block, 63, &quant)[0], 255);
}

#[test]
fn writes_only_its_eight_by_eight_samples() {
    let mut block = [0; 64];
    block[0] = 100;
    for last in [0, 5, 63] {
        let mut out = [9; 20 * 8];
        dequant_idct(&block, last, &[1; 64], &mut out[3..], 20);
        for (index, &sample) in out.iter().enumerate() {
            let inside = (3..11).contains(&(index % 20));
            assert_eq!(sample == 9, !inside, "index {index}");
        }
    }
}

/// Both ways into a transformer, block after block.
#[test]
fn transformers_give_the_same_samples_at_every_level() {
    let mut state = 11;
    let quant: [u16; 64] = std::array::from_fn(|index| 1 + 3 * index as u16);
    let quantizers = ZigzagQuantizers::new(&quant);
    let blocks: Vec<Block> = (0..501)
        .map(|_| {
            let (count, magnitude_bits) = (random(&mut state) % 12, random(&mut state) % 16);
            let mut block = [0; 64];
            for _ in 0..count {
                let natural = random(&mut state) % if count < 4 { 8 } else { 64 };
                block[natural as usize] = (random(&mut state) as i16) >> (15 - magnitude_bits);
            }
            block
        })
        .collect();
    let stride = 8 * blocks.len();
    let expected: Vec<[u8; 64]> = blocks.iter().map(|block| reference(block, &quant)).collect();
    for level in Level::available() {
        for packed in [false, true] {
            let mut samples = vec![0; 8 * stride];
            let mut plane = SamplePlane { samples: &mut samples, stride };
            let mut transformer = BlockTransformer::new(level);
            for (index, block) in blocks.iter().enumerate() {
                if packed {
                    transformer.packed_block::<8>(&symbols(block), &quantizers, &mut plane, 8 * index);
                } else {
                    transformer.block::<8>(block, last_nonzero(block), &quant, &mut plane, 8 * index);
                }
            }
            transformer.finish::<8>(&mut plane);
            for (index, expected) in expected.iter().enumerate() {
                let found: Vec<u8> =
                    (0..8).flat_map(|row| &samples[row * stride + 8 * index..][..8]).copied().collect();
                assert!(found == expected, "{level:?}, packed {packed}, block {index}, seed 11");
            }
        }
    }
}
