use super::*;

/// The 3x2 image `abc / def` as each EXIF value shows it, written out by hand from the EXIF definition (where the
/// stored top row and left column end up), not from the code.
const SHOWN: [(u16, &[&str]); 8] = [
    (1, &["abc", "def"]),
    (2, &["cba", "fed"]),
    (3, &["fed", "cba"]),
    (4, &["def", "abc"]),
    (5, &["ad", "be", "cf"]),
    (6, &["da", "eb", "fc"]),
    (7, &["fc", "eb", "da"]),
    (8, &["cf", "be", "ad"]),
];

const STORED: Size = Size::new(3, 2);

fn points(size: Size) -> impl Iterator<Item = (u32, u32)> {
    (0..size.height).flat_map(move |y| (0..size.width).map(move |x| (x, y)))
}

fn small_sizes() -> impl Iterator<Item = Size> {
    points(Size::new(4, 4)).map(|(x, y)| Size::new(x + 1, y + 1))
}

/// All rectangles that fit, the empty ones too.
fn rects(size: Size) -> impl Iterator<Item = Rect> {
    let corners = Size::new(size.width + 1, size.height + 1);
    points(corners).flat_map(move |(x, y)| {
        points(Size::new(corners.width - x, corners.height - y))
            .map(move |(width, height)| Rect::new(x, y, width, height))
    })
}

#[test]
fn every_orientation_shows_the_pixels_exif_says() {
    let stored = ["abc", "def"];
    for (exif, shown) in SHOWN {
        let orientation = Orientation::from_exif(exif).unwrap();
        let display = orientation.map_size(STORED);
        assert_eq!(display.height as usize, shown.len());
        assert_eq!(display.width as usize, shown[0].len());
        for (x, y) in points(STORED) {
            let (display_x, display_y) = orientation.map_point(x, y, STORED);
            assert_eq!(
                shown[display_y as usize].as_bytes()[display_x as usize],
                stored[y as usize].as_bytes()[x as usize],
                "EXIF {exif}, stored ({x}, {y})",
            );
            assert_eq!(orientation.unmap_point(display_x, display_y, STORED), (x, y),);
        }
    }
}

#[test]
fn exif_values_round_trip() {
    for (index, orientation) in Orientation::ALL.into_iter().enumerate() {
        assert_eq!(usize::from(orientation.to_exif()), index + 1);
        assert_eq!(Orientation::from_exif(orientation.to_exif().into()), Some(orientation),);
    }
    for undefined in [0, 9, 256, 257, u16::MAX] {
        assert_eq!(Orientation::from_exif(undefined), None);
    }
    assert_eq!(Orientation::default(), Orientation::Normal);
}

#[test]
fn orientations_form_a_group() {
    for a in Orientation::ALL {
        assert_eq!(a.then(Orientation::Normal), a);
        assert_eq!(Orientation::Normal.then(a), a);
        assert_eq!(a.then(a.inverse()), Orientation::Normal);
        assert_eq!(a.inverse().then(a), Orientation::Normal);
        for b in Orientation::ALL {
            assert_eq!(a.then(b).inverse(), b.inverse().then(a.inverse()));
            for c in Orientation::ALL {
                assert_eq!(a.then(b).then(c), a.then(b.then(c)));
            }
        }
    }
    // Not commutative: the order of the arguments matters, and this pins it.
    assert_eq!(Orientation::FlipHorizontal.then(Orientation::Rotate90), Orientation::Transverse,);
}

#[test]
fn then_maps_one_after_the_other() {
    for a in Orientation::ALL {
        for b in Orientation::ALL {
            let between = a.map_size(STORED);
            assert_eq!(a.then(b).map_size(STORED), b.map_size(between));
            for (x, y) in points(STORED) {
                let (between_x, between_y) = a.map_point(x, y, STORED);
                assert_eq!(
                    a.then(b).map_point(x, y, STORED),
                    b.map_point(between_x, between_y, between),
                    "{a}, then {b}",
                );
            }
        }
    }
}

#[test]
fn a_rect_maps_to_its_mapped_pixels_and_back() {
    for size in small_sizes() {
        for orientation in Orientation::ALL {
            let display_size = orientation.map_size(size);
            for rect in rects(size) {
                let stored = StoredRect::from_rect(rect);
                let display = orientation.map_rect(stored, size);
                assert!(display.rect().fits_in(display_size));
                assert_eq!(orientation.unmap_rect(display, size), stored);

                let mut expected: Vec<_> =
                    points(rect.size()).map(|(x, y)| orientation.map_point(rect.x + x, rect.y + y, size)).collect();
                let corner = display.rect();
                let mut actual: Vec<_> = points(corner.size()).map(|(x, y)| (corner.x + x, corner.y + y)).collect();
                expected.sort_unstable();
                actual.sort_unstable();
                assert_eq!(actual, expected, "{rect} of {size}, {orientation}");
            }
            for rect in rects(display_size) {
                let display = DisplayRect::from_rect(rect);
                let stored = orientation.unmap_rect(display, size);
                assert!(stored.rect().fits_in(size));
                assert_eq!(orientation.map_rect(stored, size), display);
            }
        }
    }
}

#[test]
fn outside_stays_outside_and_nothing_panics() {
    const EDGES: [u32; 8] = [0, 1, 2, 3, 1 << 31, (1 << 31) + 1, u32::MAX - 1, u32::MAX];
    let sizes = [Size::new(0, 0), STORED, Size::new(u32::MAX, 1 << 31), Size::new(u32::MAX, u32::MAX)];
    for size in sizes {
        for orientation in Orientation::ALL {
            let display_size = orientation.map_size(size);
            for (x, y) in EDGES.into_iter().flat_map(|x| EDGES.map(|y| (x, y))) {
                let (display_x, display_y) = orientation.map_point(x, y, size);
                assert_eq!(
                    x < size.width && y < size.height,
                    display_x < display_size.width && display_y < display_size.height,
                );
                assert_eq!(orientation.unmap_point(display_x, display_y, size), (x, y),);
                for (width, height) in EDGES.into_iter().flat_map(|w| EDGES.map(|h| (w, h))) {
                    let stored = StoredRect::new(x, y, width, height);
                    let display = orientation.map_rect(stored, size);
                    assert_eq!(
                        stored.rect().fits_in(size),
                        display.rect().fits_in(display_size),
                        "{} of {size}, {orientation}",
                        stored.rect(),
                    );
                    assert_eq!(orientation.unmap_rect(display, size), stored);
                }
            }
        }
    }
}

#[test]
fn every_orientation_is_named_differently() {
    let mut names: Vec<String> = Orientation::ALL.iter().map(ToString::to_string).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 8);
}
