use super::*;
use crate::cpu::{dequant_idct, reduced_idct};

fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mixed = (*state ^ *state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed ^ mixed >> 27
}

/// Samples with runs of extremes among random ones.
fn row(width: usize, state: &mut u64) -> Vec<u8> {
    (0..width)
        .map(|_| match random(state) % 4 {
            0 => 0,
            1 => 255,
            _ => random(state) as u8,
        })
        .collect()
}

/// Levels to hold against the plain code.
fn levels() -> Vec<Level> {
    Level::available().into_iter().filter(|&level| level != Level::Plain).collect()
}

#[test]
fn upsampling_equals_the_plain_code() {
    let mut state = 1;
    for level in levels() {
        for width in (1..100).chain([255, 256, 1000]) {
            let (near, far) = (row(width, &mut state), row(width, &mut state));
            let both = |run: &dyn Fn(Level, &mut [u8])| {
                let outputs = [Level::Plain, level].map(|level| {
                    let mut out = vec![7; 2 * width];
                    run(level, &mut out);
                    out
                });
                assert!(outputs[0] == outputs[1], "{} width {width}", level.name());
            };
            both(&|level, out| triangle_h2v1(level, &near, out));
            both(&|level, out| triangle_h2v2(level, &near, &far, &mut vec![0; width + 2], out));
            for upper_half in [false, true] {
                both(&|level, out| triangle_h1v2(level, &near, &far, upper_half, &mut out[..width]));
            }
        }
    }
}

#[test]
fn color_conversion_equals_the_plain_code() {
    use PixelFormat::*;
    let mut state = 2;
    for level in levels() {
        for width in (1..130).chain([1000]) {
            let components: [Vec<u8>; 3] = std::array::from_fn(|_| row(width, &mut state));
            let components = components.each_ref().map(Vec::as_slice);
            for format in [Rgb8, Bgr8, Rgba8, Gray8, Rgb8Planar] {
                let outputs = [Level::Plain, level].map(|level| {
                    let mut planes =
                        vec![vec![9; width * format.bytes_per_pixel()]; if format == Rgb8Planar { 3 } else { 1 }];
                    let mut out: Vec<&mut [u8]> = planes.iter_mut().map(Vec::as_mut_slice).collect();
                    convert_row(level, ColorModel::YCbCr, format, &components, &mut out);
                    planes
                });
                assert!(outputs[0] == outputs[1], "{} {format:?} width {width}", level.name());
            }
        }
    }
}

#[test]
fn color_conversion_equals_the_plain_code_for_all_chroma() {
    for level in levels() {
        let cr: Vec<u8> = (0..=255).collect();
        for (luma, cb) in [0, 1, 127, 128, 254, 255].into_iter().flat_map(|luma| (0..=255).map(move |cb| (luma, cb))) {
            let components = [&[luma; 256][..], &[cb; 256], &cr];
            let outputs = [Level::Plain, level].map(|level| {
                let mut out = [0; 768];
                convert_row(level, ColorModel::YCbCr, PixelFormat::Rgb8, &components, &mut [&mut out]);
                out
            });
            assert!(outputs[0] == outputs[1], "{} luma {luma} cb {cb}", level.name());
        }
    }
}

#[test]
fn transforms_equal_the_plain_code_on_blocks_of_every_density_and_size() {
    let mut state = 3;
    for level in levels() {
        for round in 0..20_000 {
            let shift = random(&mut state) % 16;
            let density = random(&mut state) % 65;
            let products: [[i16; 16]; 8] = std::array::from_fn(|_| {
                std::array::from_fn(|_| {
                    let value = random(&mut state) as i16 >> shift;
                    if random(&mut state) % 64 < density { value } else { 0 }
                })
            });
            for transform in [transform_pair, transform_pair_to_4, transform_pair_to_2] {
                let outputs = [Level::Plain, level].map(|level| {
                    let mut samples = [5; 20 * 8 + 3];
                    transform(level, &products, &mut samples, [3, 12], 20);
                    samples
                });
                assert!(outputs[0] == outputs[1], "{} round {round}, seed 3", level.name());
            }
        }
        let extremes = [[i16::MIN; 16], [i16::MAX; 16]].map(|row| [row; 8]);
        for products in extremes {
            let mut out = [[0; 16 * 8]; 2];
            dequant_idct::transform_pair(&products, &mut out[0], [0, 8], 16);
            transform_pair(level, &products, &mut out[1], [0, 8], 16);
            assert!(out[0] == out[1], "{}", level.name());
            let (to_4, to_2) = (reduced_idct::transform_pair_to_4, reduced_idct::transform_pair_to_2);
            let mut out = [[0; 16 * 8]; 2];
            to_4(&products, &mut out[0], [0, 4], 16);
            transform_pair_to_4(level, &products, &mut out[1], [0, 4], 16);
            assert!(out[0] == out[1], "{} to 4", level.name());
            to_2(&products, &mut out[0], [0, 4], 16);
            transform_pair_to_2(level, &products, &mut out[1], [0, 4], 16);
            assert!(out[0] == out[1], "{} to 2", level.name());
        }
    }
}
