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

/// The headers of a file with these sampling factors, `width` by 100 pixels, and a scan of nothing.
fn file_with(sampling: &[(u8, u8)], width: u16) -> Vec<u8> {
    let mut jpeg = vec![0xFF, 0xD8];
    let mut segment = |marker: u8, contents: &[u8]| {
        jpeg.extend([0xFF, marker]);
        jpeg.extend((contents.len() as u16 + 2).to_be_bytes());
        jpeg.extend(contents);
    };
    segment(0xDB, &[&[0][..], &[1; 64]].concat());
    let mut frame = vec![8, 0, 100];
    frame.extend(width.to_be_bytes());
    frame.push(sampling.len() as u8);
    frame.extend((1..).zip(sampling).flat_map(|(id, (horizontal, vertical))| [id, horizontal << 4 | vertical, 0]));
    segment(0xC0, &frame);
    let one_code = |class: u8| [&[class][..], &[1], &[0; 15], &[0]].concat();
    segment(0xC4, &one_code(0));
    segment(0xC4, &one_code(0x10));
    let components: Vec<u8> = (1..).zip(sampling).flat_map(|(id, _)| [id, 0]).collect();
    segment(0xDA, &[&[sampling.len() as u8][..], &components, &[0, 63, 0]].concat());
    jpeg.extend([0, 0xFF, 0xD9]);
    jpeg
}

/// Block sizes and upsamplings of a file with these sampling factors, per component.
fn scaled_components(sampling: &[(u8, u8)], scale: Scale, width: u16) -> Vec<(u32, Upsampling)> {
    let jpeg = file_with(sampling, width);
    let codestream = Codestream::parse(&jpeg, &Limits::default()).unwrap();
    let plan = DecodePlan::new(&codestream, &DecodeOptions::default().scale(scale)).unwrap();
    plan.components().iter().map(|component| (component.block_size, component.upsampling)).collect()
}

/// libjpeg's rules for chroma at smaller scales: larger blocks while that helps both ways, and the triangle filter for what
/// is left, except at 1/8.
#[test]
fn subsampled_components_get_larger_blocks_or_are_upsampled() {
    use Upsampling::{None, TriangleH1V2, TriangleH2V1, TriangleH2V2};
    let replicated = |horizontal, vertical| Upsampling::Box { horizontal, vertical };
    let chroma = |luma, scale, width| scaled_components(&[luma, (1, 1), (1, 1)], scale, width)[1];
    let cases = [
        ((2, 2), [(8, TriangleH2V2), (8, None), (4, None), (2, None)]),
        ((2, 1), [(8, TriangleH2V1), (4, TriangleH2V1), (2, TriangleH2V1), (1, replicated(2, 1))]),
        ((1, 2), [(8, TriangleH1V2), (4, TriangleH1V2), (2, TriangleH1V2), (1, replicated(1, 2))]),
        ((4, 1), [(8, replicated(4, 1)), (4, replicated(4, 1)), (2, replicated(4, 1)), (1, replicated(4, 1))]),
        ((4, 2), [(8, replicated(4, 2)), (8, TriangleH2V1), (4, TriangleH2V1), (2, replicated(2, 1))]),
        ((3, 1), [(8, replicated(3, 1)), (4, replicated(3, 1)), (2, replicated(3, 1)), (1, replicated(3, 1))]),
        ((1, 1), [(8, None), (4, None), (2, None), (1, None)]),
    ];
    for (luma, expected) in cases {
        for (scale, expected) in Scale::ALL.into_iter().zip(expected) {
            assert_eq!(chroma(luma, scale, 200), expected, "{luma:?} at {scale}");
        }
    }
    // Planes of two samples are not interpolated: 16 pixels at 1/4 are 4, and 2 of chroma.
    assert_eq!(chroma((2, 1), Scale::Quarter, 16), (2, replicated(2, 1)));
    assert_eq!(chroma((2, 1), Scale::Quarter, 17), (2, TriangleH2V1));
    // Larger blocks would have too many samples one way.
    let mixed = scaled_components(&[(2, 2), (2, 1), (1, 2)], Scale::Half, 200);
    assert_eq!(mixed, [(4, None), (4, TriangleH1V2), (4, TriangleH2V1)]);
}

/// 45 pixels at 1/2 are 23, which two thirds as many samples as pixels would make 16; the component has 15.
#[test]
fn planes_end_where_their_samples_do() {
    let jpeg = file_with(&[(3, 1), (2, 1), (1, 1)], 45);
    let codestream = Codestream::parse(&jpeg, &Limits::default()).unwrap();
    let half = DecodeOptions::default().scale(Scale::Half).format(PixelFormat::ComponentPlanes);
    let plan = DecodePlan::new(&codestream, &half).unwrap();
    let widths: Vec<u32> = plan.layout().planes().iter().map(|plane| plane.size.width).collect();
    assert_eq!(widths, [23, 15, 8]);
    assert_eq!(crate::cpu::decode(&plan).unwrap().pixels.len(), 50 * (23 + 15 + 8));
    let last = DecodePlan::new(&codestream, &half.region(DisplayRect::new(22, 0, 1, 1))).unwrap();
    assert!((0..3).all(|plane| last.plane_region(plane).width == 1));
}

#[test]
fn regions_and_layouts_of_a_scaled_plan_are_those_of_the_scaled_picture() {
    let half = DecodeOptions::default().scale(Scale::Half);
    plan_photo(&half.region(DisplayRect::new(900, 600, 60, 40)), |plan| {
        let plan = plan.unwrap();
        assert_eq!((plan.stored_size(), plan.output_size()), (Size::new(960, 640), Size::new(60, 40)));
        // MCUs of 8x8 pixels; 4:2:0 at 1/2 reads no chroma context.
        assert_eq!(*plan.mcus(), McuWindow { columns: 112..120, rows: 75..80 });
    });
    plan_photo(&half.region(DisplayRect::new(900, 600, 61, 40)), |plan| {
        assert_eq!(plan.unwrap_err().code(), "region-out-of-bounds");
    });
    let whole = |scale| plan_photo(&half.scale(scale), |plan| plan.unwrap().working_memory());
    assert!(whole(Scale::Eighth) < whole(Scale::Half) && whole(Scale::Half) < whole(Scale::Full));
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
