use super::*;
use crate::geometry::{DisplayRect, Region};
use crate::orientation::OrientationPolicy;

fn sample(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/../samples/{name}", env!("CARGO_MANIFEST_DIR"))).expect("samples come with the project")
}

/// photo.jpg: 1920x1280, 4:2:0.
fn plan_photo<R>(options: &DecodeOptions, inspect: impl FnOnce(Result<DecodePlan, Error>) -> R) -> R {
    let bytes = sample("photo.jpg");
    let codestream = Codestream::parse(&bytes, &Limits::default()).unwrap();
    inspect(DecodePlan::new(&codestream, options))
}

fn mcus_of(region: impl Into<Region>, format: PixelFormat) -> McuWindow {
    plan_photo(&DecodeOptions::default().region(region).format(format), |plan| plan.unwrap().mcus().clone())
}

#[test]
fn a_region_takes_the_mcus_under_it_and_under_its_chroma_context() {
    // Inside one 16x16 MCU, away from its edges: chroma samples 9 to 14 of MCU (1, 1).
    let inside = StoredRect::new(18, 18, 12, 12);
    assert_eq!(mcus_of(inside, PixelFormat::Rgb8), McuWindow { columns: 1..2, rows: 1..2 });
    // One pixel in the MCU's corner needs the chroma sample beyond it.
    assert_eq!(mcus_of(StoredRect::new(16, 16, 1, 1), PixelFormat::Rgb8), McuWindow { columns: 0..2, rows: 0..2 });
    assert_eq!(mcus_of(StoredRect::new(31, 31, 1, 1), PixelFormat::Rgb8), McuWindow { columns: 1..3, rows: 1..3 });
    // Luma alone needs no context.
    assert_eq!(mcus_of(StoredRect::new(16, 16, 1, 1), PixelFormat::Gray8), McuWindow { columns: 1..2, rows: 1..2 });
    assert_eq!(mcus_of(Region::Full, PixelFormat::Rgb8), McuWindow { columns: 0..120, rows: 0..80 });
}

#[test]
fn only_the_components_that_a_format_shows_are_needed() {
    let needed = |format| {
        plan_photo(&DecodeOptions::default().format(format), |plan| {
            plan.unwrap().components().iter().map(|component| component.needed).collect::<Vec<_>>()
        })
    };
    assert_eq!(needed(PixelFormat::Gray8), [true, false, false]);
    assert_eq!(needed(PixelFormat::Rgba8), [true, true, true]);
}

#[test]
fn layouts_follow_orientation_and_format() {
    let bytes = sample("portrait-exif6.jpg");
    let codestream = Codestream::parse(&bytes, &Limits::default()).unwrap();
    let plan = |options: DecodeOptions| DecodePlan::new(&codestream, &options).unwrap();
    assert_eq!(plan(DecodeOptions::default()).output_size(), Size::new(900, 1200));
    let ignored = DecodeOptions::default().orientation(OrientationPolicy::Ignore);
    assert_eq!(plan(ignored).output_size(), Size::new(1200, 900));
    let planes = plan(DecodeOptions::default().format(PixelFormat::ComponentPlanes));
    let sizes: Vec<Size> = planes.layout().planes().iter().map(|plane| plane.size).collect();
    assert_eq!(sizes, [Size::new(900, 1200), Size::new(450, 600), Size::new(450, 600)]);
    assert_eq!(planes.layout().required_len(), 900 * 1200 * 3 / 2);

    let layout = plan(DecodeOptions::default()).layout().clone();
    assert!(layout.clone().with_stride(2699).is_err());
    assert_eq!(layout.with_stride(2800).unwrap().required_len(), 2800 * 1199 + 2700);
}

#[test]
fn regions_are_checked_in_the_space_they_name() {
    let bytes = sample("portrait-exif6.jpg");
    let codestream = Codestream::parse(&bytes, &Limits::default()).unwrap();
    let code = |region: Region| DecodePlan::new(&codestream, &DecodeOptions::default().region(region)).err();
    // 900x1200 as displayed, 1200x900 as stored.
    assert!(code(DisplayRect::new(0, 1000, 900, 200).into()).is_none());
    assert_eq!(code(StoredRect::new(0, 1000, 900, 200).into()).unwrap().code(), "region-out-of-bounds");
    assert_eq!(code(DisplayRect::new(1000, 0, 200, 900).into()).unwrap().code(), "region-out-of-bounds");
    assert_eq!(code(DisplayRect::new(0, 0, 0, 5).into()).unwrap().code(), "region-empty");
    assert_eq!(code(DisplayRect::new(u32::MAX, 0, 2, 2).into()).unwrap().code(), "region-out-of-bounds");
}

#[test]
fn impossible_formats_are_refused_by_name() {
    plan_photo(&DecodeOptions::default().format(PixelFormat::Cmyk8), |plan| {
        let error = plan.unwrap_err();
        assert_eq!(error.code(), "unsupported-conversion");
        assert_eq!(error.to_string(), "cmyk8 pixels can't be made from a YCbCr image");
    });
    let limits = Limits { max_memory: 1000, ..Limits::default() };
    plan_photo(&DecodeOptions::default().limits(limits), |plan| {
        assert_eq!(plan.unwrap_err().code(), "limit-memory");
    });
}

#[test]
fn a_small_region_needs_little_memory() {
    let whole = plan_photo(&DecodeOptions::default(), |plan| plan.unwrap().working_memory());
    let region = DecodeOptions::default().region(StoredRect::new(900, 600, 64, 64));
    let small = plan_photo(&region, |plan| plan.unwrap().working_memory());
    assert!(whole < 1 << 20 && small < whole / 4, "{whole} {small}");
}
