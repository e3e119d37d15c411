use super::*;

/// libjpeg's formula with its 16-bit fixed-point factors, unsplit.
fn reference_rgb(y: u8, cb: u8, cr: u8) -> [u8; 3] {
    let (y, cb, cr) = (i64::from(y), i64::from(cb) - 128, i64::from(cr) - 128);
    let clamp = |value: i64| value.clamp(0, 255) as u8;
    [
        clamp(y + ((91881 * cr + 32768) >> 16)),
        clamp(y + ((-22554 * cb - 46802 * cr + 32768) >> 16)),
        clamp(y + ((116130 * cb + 32768) >> 16)),
    ]
}

fn convert(color: ColorModel, format: PixelFormat, components: &[&[u8]]) -> Vec<u8> {
    let mut out = vec![0; components[0].len() * format.bytes_per_pixel()];
    convert_row(color, format, components, &mut [&mut out]);
    out
}

#[test]
fn ycc_equals_the_formula_for_all_chroma() {
    for cb in 0..=255u8 {
        let cr: Vec<u8> = (0..=255).collect();
        for y in [0, 1, 77, 128, 200, 254, 255] {
            let rgb = convert(ColorModel::YCbCr, PixelFormat::Rgb8, &[&[y; 256], &[cb; 256], &cr]);
            for (cr, pixel) in (0..=255).zip(rgb.chunks_exact(3)) {
                assert_eq!(pixel, reference_rgb(y, cb, cr), "y {y} cb {cb} cr {cr}");
            }
        }
    }
}

#[test]
fn rows_of_any_length_convert_to_every_format_alike() {
    for width in [1, 2, 63, 64, 65, 127, 128, 200] {
        let planes: Vec<Vec<u8>> =
            (0..4).map(|plane| (0..width).map(|x| (x * 37 + plane * 91) as u8).collect()).collect();
        for color in [ColorModel::YCbCr, ColorModel::Rgb, ColorModel::Gray, ColorModel::Cmyk, ColorModel::Ycck] {
            let count = match color {
                ColorModel::Gray => 1,
                ColorModel::Cmyk | ColorModel::Ycck => 4,
                _ => 3,
            };
            let rows: Vec<&[u8]> = planes[..count].iter().map(Vec::as_slice).collect();
            let rgb = convert(color, PixelFormat::Rgb8, &rows);
            let bgr = convert(color, PixelFormat::Bgr8, &rows);
            let rgba = convert(color, PixelFormat::Rgba8, &rows);
            let mut planar = vec![vec![0; width]; 3];
            let mut parts: Vec<&mut [u8]> = planar.iter_mut().map(Vec::as_mut_slice).collect();
            convert_row(color, PixelFormat::Rgb8Planar, &rows, &mut parts);
            for x in 0..width {
                let pixel = &rgb[3 * x..3 * x + 3];
                assert_eq!(bgr[3 * x..3 * x + 3], [pixel[2], pixel[1], pixel[0]]);
                assert_eq!(rgba[4 * x..4 * x + 4], [pixel[0], pixel[1], pixel[2], 255]);
                assert_eq!([planar[0][x], planar[1][x], planar[2][x]], *pixel);
            }
        }
    }
}

#[test]
fn black_multiplies_as_rounded_floating_point_does() {
    for ink in 0..=255u8 {
        for black in 0..=255u8 {
            let expected = (f64::from(ink) * f64::from(black) / 255.0 + 0.5) as u8;
            assert_eq!(under_black(ink, black), expected);
        }
    }
}

#[test]
fn ycck_gives_inverted_colours_and_copies_black() {
    let cmyk = convert(ColorModel::Ycck, PixelFormat::Cmyk8, &[&[100], &[90], &[200], &[33]]);
    let [red, green, blue] = reference_rgb(100, 90, 200);
    assert_eq!(cmyk, [255 - red, 255 - green, 255 - blue, 33]);
    let cmyk = convert(ColorModel::Cmyk, PixelFormat::Cmyk8, &[&[1, 5], &[2, 6], &[3, 7], &[4, 8]]);
    assert_eq!(cmyk, [1, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn gray_is_luma() {
    assert_eq!(convert(ColorModel::YCbCr, PixelFormat::Gray8, &[&[7, 9]]), [7, 9]);
    assert_eq!(convert(ColorModel::Rgb, PixelFormat::Gray8, &[&[255, 0], &[255, 0], &[255, 9]]), [255, 1]);
}
