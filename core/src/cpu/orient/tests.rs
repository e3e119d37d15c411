use super::*;

/// Writes a 5x37 image in pieces and compares every pixel with where `map_point` says it goes.
fn check<const BYTES: usize>(orientation: Orientation) {
    let stored = Size::new(5, 37);
    let display = orientation.map_size(stored);
    let stride = display.width as usize * BYTES + 3;
    let plane = OrientedPlane {
        layout: PlaneLayout { offset: 2, size: display, stride },
        stored,
        orientation,
        bytes_per_pixel: BYTES,
    };
    let pixel = |x: u32, y: u32| std::array::from_fn::<u8, BYTES, _>(|byte| (x * 50 + y * 3 + byte as u32) as u8);
    let mut output = vec![0xAA; 2 + stride * display.height as usize];
    let mut y = 0;
    while y < stored.height {
        let count = (stored.height - y).min(ROWS_AT_ONCE as u32);
        let rows: Vec<u8> = (y..y + count).flat_map(|y| (0..stored.width).flat_map(move |x| pixel(x, y))).collect();
        plane.write_rows(y, &rows, &mut output);
        y += count;
    }
    let mut expected = vec![0xAA; output.len()];
    for y in 0..stored.height {
        for x in 0..stored.width {
            let (to_x, to_y) = orientation.map_point(x, y, stored);
            let start = 2 + to_y as usize * stride + to_x as usize * BYTES;
            expected[start..start + BYTES].copy_from_slice(&pixel(x, y));
        }
    }
    assert_eq!(output, expected, "{orientation:?}");
}

#[test]
fn every_pixel_goes_where_the_orientation_maps_it_and_padding_stays() {
    for orientation in Orientation::ALL {
        check::<1>(orientation);
        check::<3>(orientation);
        check::<4>(orientation);
    }
}
