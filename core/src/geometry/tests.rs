use super::*;

const MAX: u32 = u32::MAX;

fn out_of_bounds(region: Rect, bounds: Size, space: Space) -> RegionError {
    RegionError::OutOfBounds { region, bounds, space }
}

#[test]
fn sums_and_products_do_not_overflow() {
    assert_eq!(Size::new(MAX, MAX).pixels(), u64::from(MAX) * u64::from(MAX));
    let rect = Rect::new(MAX, MAX, MAX, MAX);
    assert_eq!(rect.right(), 2 * u64::from(MAX));
    assert_eq!(rect.bottom(), 2 * u64::from(MAX));
    assert!(!rect.fits_in(Size::new(MAX, MAX)));
    assert_eq!(rect.intersect(rect), Some(rect));
}

#[test]
fn intersect_is_the_set_of_common_pixels() {
    let covers = |rect: Rect, x: u32, y: u32| {
        (u64::from(rect.x)..rect.right()).contains(&x.into()) && (u64::from(rect.y)..rect.bottom()).contains(&y.into())
    };
    let rects: Vec<Rect> = (0..3 * 3 * 3 * 3).map(|n| Rect::new(n % 3, n / 3 % 3, n / 9 % 3, n / 27)).collect();
    for &a in &rects {
        for &b in &rects {
            let overlap = a.intersect(b);
            assert_eq!(overlap, b.intersect(a));
            assert!(overlap.is_none_or(|rect| !rect.is_empty()));
            for (x, y) in (0..25).map(|n| (n % 5, n / 5)) {
                let in_both = covers(a, x, y) && covers(b, x, y);
                let in_overlap = overlap.is_some_and(|rect| covers(rect, x, y));
                assert_eq!(in_overlap, in_both, "{a} and {b} at ({x}, {y})");
            }
        }
    }
}

#[test]
fn an_empty_rect_fits_up_to_the_edge() {
    let bounds = Size::new(4, 3);
    assert!(Rect::new(4, 3, 0, 0).fits_in(bounds));
    assert!(!Rect::new(5, 3, 0, 0).fits_in(bounds));
    assert!(!Rect::new(4, 4, 0, 0).fits_in(bounds));
    assert!(Rect::new(0, 0, 4, 3).fits_in(bounds));
}

#[test]
fn a_region_is_checked_in_its_own_space() {
    let stored_size = Size::new(100, 50);
    let wide = Rect::new(0, 0, 100, 50);
    for orientation in Orientation::ALL {
        let stored = Region::from(StoredRect::from_rect(wide)).resolve(stored_size, orientation);
        assert_eq!(stored, Ok(StoredRect::from_rect(wide)));

        let display = Region::from(DisplayRect::from_rect(wide)).resolve(stored_size, orientation);
        if orientation.swaps_axes() {
            let error = out_of_bounds(wide, Size::new(50, 100), Space::Display);
            assert_eq!(display, Err(error));
        } else {
            assert_eq!(display, Ok(StoredRect::from_rect(wide)));
        }
        assert_eq!(Region::default().resolve(stored_size, orientation), Ok(StoredRect::from_rect(wide)),);
    }
}

#[test]
fn an_empty_region_is_an_error() {
    let size = Size::new(100, 50);
    for rect in [Rect::new(5, 5, 0, 10), Rect::new(5, 5, 10, 0), Rect::new(MAX, MAX, 0, 0)] {
        let display = Region::from(DisplayRect::from_rect(rect));
        assert_eq!(
            display.resolve(size, Orientation::Rotate90),
            Err(RegionError::Empty { region: rect, space: Space::Display }),
        );
        let stored = Region::from(StoredRect::from_rect(rect));
        assert_eq!(
            stored.resolve(size, Orientation::Rotate90),
            Err(RegionError::Empty { region: rect, space: Space::Stored }),
        );
    }
    assert_eq!(
        Region::Full.resolve(Size::new(0, 50), Orientation::Normal),
        Err(RegionError::Empty { region: Rect::new(0, 0, 0, 50), space: Space::Stored }),
    );
}

#[test]
fn a_region_whose_edge_overflows_u32_is_out_of_bounds() {
    for size in [Size::new(100, 50), Size::new(MAX, MAX)] {
        for rect in [
            Rect::new(MAX, 0, 1, 1),
            Rect::new(0, MAX, 1, 1),
            Rect::new(MAX, 0, MAX, 1),
            Rect::new(MAX - 9, MAX - 9, 10, 10),
            Rect::new(1, 1, MAX, MAX),
        ] {
            for orientation in Orientation::ALL {
                let bounds = orientation.map_size(size);
                assert_eq!(
                    Region::from(DisplayRect::from_rect(rect)).resolve(size, orientation),
                    Err(out_of_bounds(rect, bounds, Space::Display)),
                );
                assert_eq!(
                    Region::from(StoredRect::from_rect(rect)).resolve(size, orientation),
                    Err(out_of_bounds(rect, size, Space::Stored)),
                );
            }
        }
    }
}

#[test]
fn the_last_pixel_is_inside_and_the_next_is_not() {
    let size = Size::new(100, 50);
    let resolve =
        |x, y, width, height| Region::from(StoredRect::new(x, y, width, height)).resolve(size, Orientation::Normal);
    assert!(resolve(99, 49, 1, 1).is_ok());
    assert!(resolve(100, 49, 1, 1).is_err());
    assert!(resolve(99, 50, 1, 1).is_err());
    assert!(resolve(0, 0, 101, 50).is_err());
    assert!(resolve(0, 0, 100, 51).is_err());
}

#[test]
fn messages_say_what_to_change() {
    let bounds = Size::new(100, 50);
    let message = |rect: Rect, space: Space| -> String { check(rect, bounds, space).unwrap_err().to_string() };
    assert_eq!(
        message(Rect::new(0, 45, 10, 10), Space::Stored),
        "region 10x10+0+45 does not fit into the 100x50 image in stored coordinates: \
         y + height must be at most 50",
    );
    assert_eq!(
        message(Rect::new(MAX, 45, 10, 10), Space::Display),
        "region 10x10+4294967295+45 does not fit into the 100x50 image in display coordinates: \
         x + width must be at most 100 and y + height at most 50",
    );
    assert_eq!(
        message(Rect::new(5, 5, 0, 10), Space::Display),
        "region 0x10+5+5 in display coordinates is empty: width and height must be at least 1",
    );
}
