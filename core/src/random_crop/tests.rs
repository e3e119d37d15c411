use super::*;

fn sample(crop: RandomResizedCrop, width: u32, height: u32, seed: u64) -> Rect {
    crop.sample(Size::new(width, height), seed).unwrap().rect()
}

fn crop(area: RangeInclusive<f32>, aspect: RangeInclusive<f32>) -> RandomResizedCrop {
    RandomResizedCrop::new().with_area(area).unwrap().with_aspect(aspect).unwrap()
}

#[test]
fn generator_gives_the_published_sequence() {
    // SplitMix64's first outputs for seed 1234567, as listed by implementations in other languages.
    let mut random = Random { state: 1_234_567 };
    assert_eq!(random.next(), 6_457_827_717_110_365_317);
    assert_eq!(random.next(), 3_203_168_211_198_807_973);
}

#[test]
fn every_crop_is_inside_the_image_and_not_empty() {
    let crops = [
        RandomResizedCrop::default(),
        crop(1.0..=1.0, 1.0..=1.0),
        crop(0.0..=1e-6, 1.0..=1.0),
        crop(0.0..=1.0, f32::MIN_POSITIVE..=f32::MAX),
        crop(0.5..=1.0, 1000.0..=1000.0),
        crop(0.5..=1.0, 0.001..=0.001),
        crop(f32::from_bits(1)..=1.0, f32::from_bits(1)..=f32::from_bits(1)),
        crop(0.1..=1.0, f32::MAX..=f32::MAX),
    ];
    let sides = [1, 2, 3, 7, 224, 65_535, u32::MAX];
    for crop in crops {
        for (width, height) in sides.into_iter().flat_map(|w| sides.map(|h| (w, h))) {
            for seed in 0..200 {
                let rect = sample(crop, width, height, seed);
                assert!(
                    !rect.is_empty() && rect.fits_in(Size::new(width, height)),
                    "{rect} of {width}x{height}, seed {seed}, {crop:?}",
                );
            }
        }
    }
}

#[test]
fn area_and_aspect_stay_in_range() {
    // Sides of about 1000 pixels and more, so that rounding them moves the ratios by about 0.1 % at most.
    let crop = crop(0.1..=0.3, 0.5..=2.0);
    for seed in 0..10_000 {
        let rect = sample(crop, 6_000, 4_000, seed);
        let area = rect.size().pixels() as f64 / 24e6;
        let aspect = f64::from(rect.width) / f64::from(rect.height);
        assert!((0.099..=0.301).contains(&area), "{rect}, seed {seed}");
        assert!((0.499..=2.001).contains(&aspect), "{rect}, seed {seed}");
    }
}

#[test]
fn area_is_uniform_aspect_log_uniform_and_position_uniform() {
    const SEEDS: u64 = 20_000;
    // Small enough areas that every first attempt fits, so nothing distorts the draws.
    let crop = crop(0.01..=0.05, 0.25..=4.0);
    let mut area_quarters = [0_u32; 4];
    let mut aspect_quarters = [0_u32; 4];
    let mut x_quarters = [0_u32; 4];
    let mut y_quarters = [0_u32; 4];
    let quarter = |fraction: f64| (fraction * 4.0).clamp(0.0, 3.0) as usize;
    for seed in 0..SEEDS {
        let rect = sample(crop, 8_000, 8_000, seed);
        let area = rect.size().pixels() as f64 / 64e6;
        let aspect = f64::from(rect.width) / f64::from(rect.height);
        area_quarters[quarter((area - 0.01) / 0.04)] += 1;
        aspect_quarters[quarter((aspect.log2() + 2.0) / 4.0)] += 1;
        x_quarters[quarter(f64::from(rect.x) / f64::from(8_001 - rect.width))] += 1;
        y_quarters[quarter(f64::from(rect.y) / f64::from(8_001 - rect.height))] += 1;
    }
    // Each quarter's share has a standard deviation of 61; five of them are allowed.
    for count in [area_quarters, aspect_quarters, x_quarters, y_quarters].concat() {
        assert!(
            (4_694..=5_306).contains(&count),
            "{area_quarters:?} {aspect_quarters:?} {x_quarters:?} {y_quarters:?}",
        );
    }
}

#[test]
fn every_position_of_a_small_image_is_reached() {
    let crop = crop(0.25..=0.25, 1.0..=1.0);
    let mut seen = [[false; 3]; 3];
    for seed in 0..200 {
        let rect = sample(crop, 4, 4, seed);
        assert_eq!(rect.size(), Size::new(2, 2));
        seen[rect.y as usize][rect.x as usize] = true;
    }
    assert_eq!(seen, [[true; 3]; 3]);
}

#[test]
fn the_fallback_is_the_largest_central_crop_in_range() {
    let crop = RandomResizedCrop::new();
    for seed in 0..100 {
        // Far too wide and far too high for any aspect ratio in range.
        assert_eq!(sample(crop, 1_000, 1, seed), Rect::new(499, 0, 1, 1));
        assert_eq!(sample(crop, 3, 3_001, seed), Rect::new(0, 1_498, 3, 4));
    }
    // The image's own aspect ratio is in range: the whole image.
    let tall = self::crop(1.0..=1.0, 0.5..=1.0);
    assert_eq!(tall.central(Size::new(300, 400)), Rect::new(0, 0, 300, 400));
}

#[test]
fn the_whole_image_is_the_only_crop_of_area_one() {
    let crop = crop(1.0..=1.0, 1.0..=1.0);
    assert_eq!(sample(crop, 512, 512, 3), Rect::new(0, 0, 512, 512));
    assert_eq!(sample(crop, 1, 1, 3), Rect::new(0, 0, 1, 1));
}

#[test]
fn crops_are_the_same_on_every_platform_and_in_every_release() {
    // Training runs are repeated by seed: a change here is a breaking change.
    let crop = RandomResizedCrop::new();
    for (width, height, seed, expected) in PINNED {
        assert_eq!(sample(crop, width, height, seed).to_string(), expected, "{width}x{height}, seed {seed}",);
    }
}

/// Computed by a separate program (Python, with `log` and `exp` for the aspect ratio), not by this crate.
const PINNED: [(u32, u32, u64, &str); 8] = [
    (640, 480, 0, "205x156+46+106"),
    (640, 480, 1, "461x400+174+35"),
    (640, 480, 2, "470x408+101+55"),
    (640, 480, u64::MAX, "593x468+10+5"),
    (1_920, 1_080, 0, "533x406+147+220"),
    (1_080, 1_920, 42, "798x873+10+909"),
    (6_000, 4_000, 123_456_789, "2194x2221+729+925"),
    (65_535, 65_535, 7, "37771x49877+25009+9128"),
];

#[test]
fn an_empty_image_is_an_error() {
    for size in [Size::new(0, 0), Size::new(0, 9), Size::new(9, 0)] {
        assert_eq!(RandomResizedCrop::new().sample(size, 1), Err(RandomCropError::EmptyImage { size }),);
    }
}

#[test]
fn a_bad_range_is_an_error() {
    let crop = RandomResizedCrop::new();
    let infinity = f32::INFINITY;
    for (min, max) in
        [(f32::NAN, 1.0), (0.1, f32::NAN), (0.5, 0.4), (-0.1, 0.5), (0.0, 0.0), (0.5, 1.1), (0.5, infinity)]
    {
        assert!(matches!(crop.with_area(min..=max), Err(RandomCropError::AreaRange { .. })), "{min} to {max}",);
    }
    for (min, max) in
        [(f32::NAN, 1.0), (0.1, f32::NAN), (2.0, 1.0), (0.0, 1.0), (-1.0, 1.0), (1.0, infinity), (infinity, infinity)]
    {
        assert!(matches!(crop.with_aspect(min..=max), Err(RandomCropError::AspectRange { .. })), "{min} to {max}",);
    }
}
