//! The pixel formats agree with each other, and pixels go where the caller wants them and nowhere else.

use isopel_conformance::backends::{self, SENTINEL};
use isopel_conformance::compare::compare;
use isopel_conformance::corpus;
use isopel_conformance::naive::Picture;
use isopel_conformance::tolerance::slack;
use isopel_core::cpu::{self, CpuBackend, HostBuffer, HostTarget};
use isopel_core::{
    Backend, Codestream, ColorModel, DecodeOptions, DecodePlan, Error, Image, Job, Limits, MisuseError, Orientation,
    OrientationPolicy, PixelFormat, Unsupported,
};
use rayon::prelude::*;

fn options(format: PixelFormat) -> DecodeOptions {
    DecodeOptions::default().format(format).orientation(OrientationPolicy::Ignore)
}

#[test]
fn formats_hold_the_same_colours() {
    const FORMATS: [PixelFormat; 6] = [
        PixelFormat::Rgb8,
        PixelFormat::Rgba8,
        PixelFormat::Bgr8,
        PixelFormat::Rgb8Planar,
        PixelFormat::Gray8,
        PixelFormat::ComponentPlanes,
    ];
    for backend in backends::present() {
        let files = corpus::decodable_shared(backend.budget().pixels).unwrap();
        files.par_iter().for_each(|(row, jpeg)| {
            let images = backend.decode_all(&FORMATS.map(|format| (jpeg.clone(), options(format))));
            let images: Vec<Image> = images.into_iter().map(Result::unwrap).collect();
            let [rgb, rgba8, bgr8, planar8, gray, components] = &images[..] else { panic!("one image per format") };
            let name = &row.path;
            let pixels = || rgb.pixels.chunks_exact(3);
            let rgba: Vec<u8> = pixels().flat_map(|pixel| [pixel[0], pixel[1], pixel[2], 255]).collect();
            assert!(rgba8.pixels == rgba, "{name}: rgba8");
            let bgr: Vec<u8> = pixels().flat_map(|pixel| [pixel[2], pixel[1], pixel[0]]).collect();
            assert!(bgr8.pixels == bgr, "{name}: bgr8");
            let planar: Vec<u8> = (0..3).flat_map(|channel| pixels().map(move |pixel| pixel[channel])).collect();
            assert!(planar8.pixels == planar, "{name}: rgb8-planar");
            check_gray(name, rgb, gray);
            let slack = slack(backend.name(), &[rgb, gray, components]).unwrap();
            check_components(name, jpeg, rgb, gray, components, slack);
        });
    }
}

/// Gray is the only component of gray files, and the rounded luma of RGB and CMYK files; YCbCr files have their
/// own, which `check_components` looks at.
fn check_gray(name: &str, rgb: &Image, gray: &Image) {
    let pixels = rgb.pixels.chunks_exact(3);
    match rgb.report.color {
        ColorModel::Gray => assert!(pixels.zip(&gray.pixels).all(|(rgb, &gray)| rgb == [gray; 3]), "{name}: gray8"),
        ColorModel::YCbCr => {}
        _ => {
            let luma = pixels.map(|pixel| {
                let [red, green, blue] = [0, 1, 2].map(|channel| f64::from(pixel[channel]));
                0.299 * red + 0.587 * green + 0.114 * blue
            });
            // The library's factors have 16 bits: it may round the other way next to a half.
            let close = luma.zip(&gray.pixels).all(|(luma, &gray)| (luma - f64::from(gray)).abs() < 0.51);
            assert!(close, "{name}: gray8");
        }
    }
}

/// Each plane has the size that T.81 A.1.1 gives, and where nothing was upsampled it gives the colours, within what
/// the routes may differ by.
fn check_components(name: &str, jpeg: &[u8], rgb: &Image, gray: &Image, planes: &Image, slack: u8) {
    let codestream = Codestream::parse(jpeg, &Limits::default()).unwrap();
    let frame = codestream.frame();
    let max = frame.max_sampling();
    let planes = Picture::planes(planes);
    assert_eq!(planes.len(), frame.components.len(), "{name}");
    for (component, plane) in frame.components.iter().zip(&planes) {
        let width =
            (f64::from(frame.size.width) * f64::from(component.sampling.horizontal) / f64::from(max.horizontal)).ceil();
        let height =
            (f64::from(frame.size.height) * f64::from(component.sampling.vertical) / f64::from(max.vertical)).ceil();
        assert_eq!((f64::from(plane.width), f64::from(plane.height)), (width, height), "{name}");
    }
    if rgb.report.color == ColorModel::YCbCr && frame.components[0].sampling == max {
        let close = planes[0].bytes.iter().zip(&gray.pixels).all(|(luma, gray)| luma.abs_diff(*gray) <= slack);
        assert!(close && planes[0].bytes.len() == gray.pixels.len(), "{name}: luma");
    }
    if frame.components.iter().any(|component| component.sampling != max) {
        return;
    }
    let pixels = rgb.pixels.chunks_exact(3).enumerate();
    for (index, pixel) in pixels {
        let samples: Vec<f64> = planes.iter().map(|plane| f64::from(plane.bytes[index])).collect();
        let colors = match rgb.report.color {
            ColorModel::Gray => [samples[0]; 3],
            ColorModel::Rgb => [samples[0], samples[1], samples[2]],
            ColorModel::YCbCr => [
                samples[0] + 1.402 * (samples[2] - 128.0),
                samples[0] - 0.344_136 * (samples[1] - 128.0) - 0.714_136 * (samples[2] - 128.0),
                samples[0] + 1.772 * (samples[1] - 128.0),
            ],
            ColorModel::Cmyk => [0, 1, 2].map(|channel| samples[channel] * samples[3] / 255.0),
            _ => return,
        };
        for (color, &found) in colors.into_iter().zip(pixel) {
            assert!(
                (color.clamp(0.0, 255.0) - f64::from(found)).abs() < 0.51 + f64::from(slack),
                "{name}: pixel {index}"
            );
        }
    }
}

#[test]
fn cmyk_is_only_given_where_it_is_stored() {
    for backend in backends::present() {
        for (row, jpeg) in corpus::decodable(200 * 200).unwrap() {
            let result = backend.decode(&jpeg, &options(PixelFormat::Cmyk8));
            if row.format == "cmyk8" {
                assert!(result.is_ok(), "{}: {result:?}", row.path);
            } else {
                let error = result.expect_err(&row.path);
                assert!(matches!(error, Error::Unsupported(Unsupported::Conversion { .. })), "{}: {error}", row.path);
            }
        }
    }
}

#[test]
fn two_components_are_given_as_planes_only() {
    let jpeg = corpus::hazard("colour-2-components.jpg").unwrap();
    for backend in backends::present() {
        let planes = Picture::planes(&backend.decode(&jpeg, &options(PixelFormat::ComponentPlanes)).unwrap());
        assert_eq!(planes.len(), 2);
        assert_eq!((planes[0].width, planes[0].height), (45, 37));
        for format in PixelFormat::ALL.into_iter().filter(|&format| format != PixelFormat::ComponentPlanes) {
            let error = backend.decode(&jpeg, &options(format)).unwrap_err();
            assert_eq!(error.code(), "unsupported-components", "{format}");
        }
    }
}

#[test]
fn factors_that_do_not_divide_are_given_as_planes_only() {
    let jpeg = corpus::hazard("sampling-nondividing-3x2-1x1-2x1.jpg").unwrap();
    for backend in backends::present() {
        let planes = Picture::planes(&backend.decode(&jpeg, &options(PixelFormat::ComponentPlanes)).unwrap());
        let sizes: Vec<_> = planes.iter().map(|plane| (plane.width, plane.height)).collect();
        assert_eq!(sizes, [(45, 37), (15, 19), (30, 19)]);
        assert_eq!(backend.decode(&jpeg, &options(PixelFormat::Rgb8)).unwrap_err().code(), "unsupported-sampling");
    }
}

/// The caller's own memory on the CPU: a longer stride, bytes before, between and after the rows.
#[test]
fn rows_with_gaps_leave_the_gaps_alone() {
    const BEFORE: usize = 13;
    const AFTER: usize = 29;
    let files = corpus::decodable(200 * 200).unwrap();
    files.par_iter().for_each(|(row, jpeg)| {
        let codestream = Codestream::parse(jpeg, &Limits::default()).unwrap();
        for format in PixelFormat::ALL {
            for orientation in Orientation::ALL {
                let options = options(format).orientation(OrientationPolicy::Set(orientation));
                let Ok(plan) = DecodePlan::new(&codestream, &options) else { continue };
                let packed = cpu::decode(&plan).unwrap();
                for gap in [0, 1, 5, 64] {
                    let widest = plan.layout().planes().iter().map(|plane| plane.size.width).max().unwrap();
                    let stride = widest as usize * format.bytes_per_pixel() + gap;
                    let layout = plan.layout().clone().with_stride(stride).unwrap();
                    let mut memory = vec![SENTINEL; BEFORE + layout.required_len() + AFTER];
                    cpu::decode_into(&plan, &layout, &mut memory[BEFORE..]).unwrap();
                    let mut report = packed.report.clone();
                    report.layout = layout.clone();
                    let strided = Image { pixels: memory[BEFORE..].to_vec(), report };
                    let what = format!("{} as {format}, {orientation}, gap {gap}", row.path);
                    assert!(Picture::planes(&strided) == Picture::planes(&packed), "{what}");
                    let mut untouched = vec![true; memory.len()];
                    for plane in layout.planes() {
                        for y in 0..plane.size.height as usize {
                            let start = BEFORE + plane.offset + y * plane.stride;
                            untouched[start..start + plane.size.width as usize * format.bytes_per_pixel()].fill(false);
                        }
                    }
                    let stray = (0..memory.len()).find(|&at| untouched[at] && memory[at] != SENTINEL);
                    assert_eq!(stray, None, "{what}: a byte outside the rows was written");
                }
            }
        }
    });
}

/// Every byte of the pixels is written, whatever was there before.
#[test]
fn no_byte_of_the_pixels_is_left_as_it_was() {
    let files = corpus::decodable(700 * 700).unwrap();
    files.par_iter().for_each(|(row, jpeg)| {
        let codestream = Codestream::parse(jpeg, &Limits::default()).unwrap();
        for format in PixelFormat::ALL {
            let Ok(plan) = DecodePlan::new(&codestream, &options(format)) else { continue };
            let [first, second] = [0x00, 0xFF].map(|fill| {
                let mut pixels = vec![fill; plan.layout().required_len()];
                cpu::decode_into(&plan, plan.layout(), &mut pixels).unwrap();
                pixels
            });
            let difference = compare(&first, &second, plan.layout()).unwrap();
            assert_eq!(difference.first, None, "{} as {format}", row.path);
        }
    });
}

#[test]
fn short_buffers_and_strides_are_typed_errors() {
    let jpeg = corpus::hazard("container-base-420.jpg").unwrap();
    let codestream = Codestream::parse(&jpeg, &Limits::default()).unwrap();
    for format in PixelFormat::ALL {
        let Ok(plan) = DecodePlan::new(&codestream, &options(format)) else { continue };
        let needed = plan.layout().required_len();
        for len in [0, 1, needed - 1] {
            let mut buffer = vec![SENTINEL; len];
            let error = cpu::decode_into(&plan, plan.layout(), &mut buffer).unwrap_err();
            assert_eq!(error, MisuseError::BufferTooShort { len, needed }.into(), "{format}");
            assert!(buffer.iter().all(|&byte| byte == SENTINEL), "{format}");
        }
        let row = plan.layout().planes().iter().map(|plane| plane.size.width).max().unwrap() as usize
            * format.bytes_per_pixel();
        for stride in [0, row - 1] {
            let error = plan.layout().clone().with_stride(stride).unwrap_err();
            assert_eq!(error, MisuseError::Stride { stride, row }, "{format}");
        }
    }
}

/// The same through a submission, where the target is the caller's.
#[test]
fn targets_that_do_not_fit_are_typed_errors() {
    let jpeg: std::sync::Arc<[u8]> = corpus::hazard("container-base-420.jpg").unwrap().into();
    let backend = CpuBackend::new(2);
    let needed = 45 * 37 * 3;
    let submit = |len: usize, offset: usize, stride: Option<usize>| {
        let buffer = HostBuffer::new(vec![SENTINEL; len]);
        let target = HostTarget { buffer: buffer.clone(), offset, stride };
        let job = Job { jpeg: jpeg.clone(), options: options(PixelFormat::Rgb8), target };
        let outcome = backend.submit(vec![job], Vec::new()).wait().remove(0);
        let untouched = buffer.lock().iter().all(|&byte| byte == SENTINEL);
        (outcome.result.map(|_| ()), untouched)
    };
    let code = |result: Result<(), Error>| result.unwrap_err().code();
    for (len, offset) in [(0, 0), (needed - 1, 0), (needed, 1), (needed, needed), (needed, needed + 1)] {
        let (result, untouched) = submit(len, offset, None);
        assert_eq!(code(result), "buffer-too-short", "{len} bytes from {offset}");
        assert!(untouched);
    }
    let (result, untouched) = submit(needed, usize::MAX, None);
    assert_eq!(code(result), "buffer-too-short");
    assert!(untouched);
    let (result, untouched) = submit(needed, 0, Some(45 * 3 - 1));
    assert_eq!(code(result), "stride-too-short");
    assert!(untouched);
    assert_eq!(submit(needed + 7, 7, None), (Ok(()), false));
    assert_eq!(submit(37 * 200, 0, Some(200)), (Ok(()), false));
}

/// Sizes that do not fit into memory must not wrap around into ones that do.
#[test]
fn huge_strides_and_offsets_are_typed_errors() {
    let jpeg = corpus::hazard("container-base-420.jpg").unwrap();
    let codestream = Codestream::parse(&jpeg, &Limits::default()).unwrap();
    for format in [PixelFormat::Rgb8, PixelFormat::Rgb8Planar, PixelFormat::ComponentPlanes] {
        let plan = DecodePlan::new(&codestream, &options(format)).unwrap();
        for stride in [usize::MAX, usize::MAX / 36, usize::MAX / 37 + 1, 1 << 60] {
            let result = plan.layout().clone().with_stride(stride).map_err(Error::from);
            let result = result.and_then(|layout| cpu::decode_into(&plan, &layout, &mut [0; 45 * 37 * 3]));
            assert!(matches!(result, Err(Error::Misuse(_))), "{format}, stride {stride}: {result:?}");
        }
    }
}
