use super::*;
use isopel_core::{DisplayRect, MisuseError, PixelFormat, Size};

fn sample(name: &str) -> Vec<u8> {
    let path = format!("{}/../samples/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

const SENTINEL: u8 = 0xA5;

#[test]
fn batch_gives_one_result_per_image_whatever_the_others_are() {
    let mut headless = sample("photo.jpg");
    headless.truncate(300);
    let files = [
        sample("photo.jpg"),
        b"garbage".to_vec(),
        sample("cmyk.jpg"),
        Vec::new(),
        sample("truncated.jpg"),
        headless,
        sample("progressive.jpg"),
    ];
    let files: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
    let options = DecodeOptions::default();
    for threads in [1, 2, 5] {
        let decoder = Decoder::with_backend(BackendChoice::Cpu, threads).unwrap();
        let results = decoder.decode_batch(&files, &options);
        let codes: Vec<_> = results.iter().map(|result| result.as_ref().err().map(Error::code)).collect();
        let expected = [None, Some("not-jpeg"), None, Some("empty"), None, Some("truncated"), None];
        assert_eq!(codes, expected);
        for (bytes, result) in files.iter().zip(&results) {
            assert_eq!(*result, crate::decode(bytes, &options));
        }
        assert!(results[4].as_ref().unwrap().report.is_damaged());
    }
}

#[test]
fn batch_into_writes_each_items_own_region_and_stride() {
    let (photo, gray) = (sample("photo.jpg"), sample("gray.jpg"));
    let crop = DecodeOptions::default().region(DisplayRect::new(33, 17, 100, 50));
    let (mut strided, mut untouched, mut short) = (vec![SENTINEL; 320 * 50], vec![SENTINEL; 64], vec![0; 10]);
    let items = vec![
        BatchItem { jpeg: &photo, options: crop, output: &mut strided, stride: Some(320) },
        BatchItem { jpeg: b"garbage", options: crop, output: &mut untouched, stride: None },
        BatchItem { jpeg: &gray, options: crop.format(PixelFormat::Gray8), output: &mut short, stride: None },
    ];
    let results = Decoder::new().decode_batch_into(items);

    let packed = crate::decode(&photo, &crop).unwrap();
    for (row, expected) in strided.chunks(320).zip(packed.pixels.chunks(300)) {
        assert_eq!(row[..300], *expected);
        assert!(row[300..].iter().all(|&byte| byte == SENTINEL));
    }
    assert_eq!(results[0].as_ref().unwrap().layout.planes()[0].stride, 320);
    assert_eq!(results[1].as_ref().unwrap_err().code(), "not-jpeg");
    assert!(untouched.iter().all(|&byte| byte == SENTINEL));
    let too_short = MisuseError::BufferTooShort { len: 10, needed: 5000 };
    assert_eq!(results[2], Err(too_short.into()));
}

#[test]
fn decode_into_leaves_the_bytes_between_rows_alone() {
    let bytes = sample("portrait-exif6.jpg");
    let options = DecodeOptions::default();
    let decoder = Decoder::new();
    let packed = decoder.decode(&bytes, &options).unwrap();
    assert_eq!(packed.size(), Size::new(900, 1200));

    let mut output = vec![SENTINEL; 3000 * 1200];
    let report = decoder.decode_into(&bytes, &options, &mut output, Some(3000)).unwrap();
    assert_eq!(report.layout.size(), packed.size());
    for (row, expected) in output.chunks(3000).zip(packed.pixels.chunks(2700)) {
        assert!(row[..2700] == *expected && row[2700..].iter().all(|&byte| byte == SENTINEL));
    }

    let mut exact = vec![SENTINEL; packed.pixels.len()];
    decoder.decode_into(&bytes, &options, &mut exact, None).unwrap();
    assert!(exact == packed.pixels);
}

#[test]
fn decode_into_refuses_what_does_not_fit_before_it_writes() {
    let bytes = sample("gray.jpg");
    let (decoder, options) = (Decoder::new(), DecodeOptions::default());
    let mut output = vec![SENTINEL; 640 * 480 * 3 - 1];
    let error = decoder.decode_into(&bytes, &options, &mut output, None).unwrap_err();
    assert_eq!(error.code(), "buffer-too-short");
    let error = decoder.decode_into(&bytes, &options, &mut output, Some(1919)).unwrap_err();
    assert_eq!(error.code(), "stride-too-short");
    let error = decoder.decode_into(&bytes, &options, &mut output, Some(usize::MAX)).unwrap_err();
    assert_eq!(error.code(), "layout-too-large");
    assert!(output.iter().all(|&byte| byte == SENTINEL));
}

#[test]
fn backends_that_are_not_built_in_say_so() {
    #[cfg(not(feature = "cuda"))]
    {
        let error = Decoder::with_backend(BackendChoice::Cuda, 0).unwrap_err();
        assert_eq!(error, BackendUnavailable::NotBuilt { backend: BackendChoice::Cuda });
    }
    #[cfg(not(feature = "wgpu"))]
    {
        let error = Decoder::with_backend(BackendChoice::Wgpu, 0).unwrap_err();
        assert_eq!((error.backend(), error.to_string().contains("--features wgpu")), (BackendChoice::Wgpu, true));
    }
    for choice in BackendChoice::ALL {
        assert_eq!(choice.to_string().parse(), Ok(choice));
    }
}

/// A decoder that takes the device for a hardware one; `None` without an adapter.
#[cfg(feature = "wgpu")]
fn auto_with_gpu(prepare: impl FnOnce(&isopel_wgpu::WgpuBackend)) -> Option<Decoder> {
    use crate::auto::AutoGpu;

    match isopel_wgpu::WgpuBackend::new() {
        Ok(backend) => {
            prepare(&backend);
            let gpu = GpuUse::WhenWorthIt(AutoGpu::opened(backend.into()));
            Some(Decoder { gpu, ..Decoder::default() })
        }
        Err(reason) => {
            let required = std::env::var("ISOPEL_REQUIRE").unwrap_or_default();
            assert!(!required.split(',').any(|name| name.trim() == "wgpu"), "ISOPEL_REQUIRE names wgpu: {reason}");
            eprintln!("wgpu: not run: {reason}");
            None
        }
    }
}

#[cfg(feature = "wgpu")]
#[test]
fn auto_gives_large_work_to_the_gpu() {
    use crate::AUTO_GPU_IMAGES;
    use isopel_core::Route;

    let Some(decoder) = auto_with_gpu(|_| ()) else { return };
    let (gray, options) = (sample("gray.jpg"), DecodeOptions::default());
    let route =
        |images: usize| decoder.decode_batch(&vec![&gray[..]; images], &options)[0].as_ref().unwrap().report.route;
    assert_eq!(route(AUTO_GPU_IMAGES - 1), Route::Cpu);
    assert_eq!(route(AUTO_GPU_IMAGES), Route::WgpuFromCoefficients);
    assert_eq!(decoder.decode(&gray, &options).unwrap().report.route, Route::Cpu);
    // The GPU would have nothing to do.
    let half = decoder.decode_batch(&[&gray[..]; AUTO_GPU_IMAGES], &options.scale(Scale::Half));
    assert!(half.into_iter().all(|image| image.unwrap().report.route == Route::Cpu));
}

#[cfg(feature = "wgpu")]
#[test]
fn auto_goes_on_with_the_cpu_when_the_device_is_lost() {
    let Some(decoder) = auto_with_gpu(|backend| backend.device().destroy()) else { return };
    let (gray, options) = (sample("gray.jpg"), DecodeOptions::default());
    let files: Vec<&[u8]> = vec![&gray, b"garbage", &gray, &gray, &gray, &gray, &gray, &gray];
    for _ in 0..2 {
        let results = decoder.decode_batch(&files, &options);
        for (bytes, result) in files.iter().zip(&results) {
            assert_eq!(*result, crate::decode(bytes, &options));
        }
    }
    let mut outputs = vec![vec![SENTINEL; 640 * 480 * 3]; files.len()];
    let item = |(jpeg, output)| BatchItem { jpeg, options, output, stride: None };
    let items = files.iter().copied().zip(outputs.iter_mut().map(Vec::as_mut_slice)).map(item).collect();
    let results = decoder.decode_batch_into(items);
    let expected = crate::decode(&gray, &options).unwrap();
    assert_eq!(results[1].as_ref().unwrap_err().code(), "not-jpeg");
    assert!(results[7].as_ref() == Ok(&expected.report) && outputs[7] == expected.pixels);
}
