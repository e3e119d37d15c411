//! One backend for many threads, for long, and for many submissions at once.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use isopel_conformance::random::{self, Random};
use isopel_conformance::{corpus, cuda};
use isopel_core::{Backend, DecodeOptions, Error, Fence, Image, Job, PixelFormat, Route};
use isopel_cuda::{
    CallerEvent, CallerStream, CudaAfter, CudaBackend, CudaBuffer, CudaFence, CudaOptions, CudaTarget, CudaUnavailable,
};

#[test]
fn what_threads_share_is_send_and_sync() {
    fn shared<T: Send + Sync>() {}
    shared::<CudaBackend>();
    shared::<CudaFence>();
    shared::<CudaTarget>();
    shared::<CudaBuffer>();
    shared::<CallerStream>();
    shared::<CallerEvent>();
    shared::<CudaAfter>();
    shared::<CudaUnavailable>();
}

/// Without CUDA opening says what is missing, and with it which devices there are.
#[test]
fn what_is_missing_is_named() {
    match CudaBackend::with_options(&CudaOptions::default().device(99)) {
        Ok(_) => panic!("nobody has 100 devices"),
        Err(CudaUnavailable::NoDevice { wanted: 99, present }) => {
            assert_eq!(isopel_cuda::device_names().unwrap().len(), present);
        }
        Err(error) => {
            assert!(matches!(error, CudaUnavailable::NoDriver(_)), "{error}");
            assert!(error.to_string().contains("install NVIDIA's driver"), "{error}");
            assert_eq!(isopel_cuda::device_names().unwrap_err(), error);
            assert_eq!(CudaBackend::new().unwrap_err(), error);
        }
    }
}

/// Files of all routes, with formats and errors among them.
fn requests() -> Vec<(Arc<[u8]>, DecodeOptions)> {
    let mut requests = Vec::new();
    for (row, jpeg) in corpus::decodable_shared(700 * 700).unwrap() {
        let format = [PixelFormat::Rgb8, PixelFormat::Bgr8, PixelFormat::Gray8, PixelFormat::Rgb8Planar];
        let format = format[row.path.len() % format.len()];
        if requests.len() % 10 == 9 {
            requests.push((jpeg[..jpeg.len() / 2].into(), DecodeOptions::default().format(format)));
        }
        requests.push((jpeg, DecodeOptions::default().format(format)));
    }
    requests
}

fn assert_same(index: usize, expected: &Result<Image, Error>, found: &Result<Image, Error>) {
    match (expected, found) {
        (Ok(expected), Ok(found)) => {
            assert!(expected.pixels == found.pixels, "{index}: pixels by {}", found.report.route);
            assert_eq!(expected.report, found.report, "{index}");
        }
        _ => assert_eq!(expected.as_ref().err(), found.as_ref().err(), "{index}"),
    }
}

#[test]
fn sixteen_threads_share_one_backend() {
    let Some(backend) = cuda::shared_or_explain() else { return };
    let requests = requests();
    let expected = backend.decode_batch(&requests);
    let routes: Vec<Route> = expected.iter().flatten().map(|image| image.report.route).collect();
    for route in backend.routes() {
        assert!(routes.contains(&route) || route == Route::CudaGpuHybrid, "nothing went by {route}");
    }
    let seed = random::seed(0x16);
    thread::scope(|scope| {
        for thread in 0..16 {
            let (requests, expected) = (&requests, &expected);
            scope.spawn(move || {
                let mut random = Random::new(seed + thread);
                for _ in 0..12 {
                    let count = 1 + random.below(40);
                    let picked: Vec<usize> = (0..count).map(|_| random.below(requests.len())).collect();
                    let batch: Vec<_> = picked.iter().map(|&index| requests[index].clone()).collect();
                    for (&index, found) in picked.iter().zip(backend.decode_batch(&batch)) {
                        assert_same(index, &expected[index], &found);
                    }
                }
            });
        }
    });
}

/// More submissions at once than there is pinned memory for: each waits for others to let go of theirs, and none for ever.
#[test]
fn many_submissions_in_flight_are_all_decoded() {
    const SUBMISSIONS: usize = 48;
    const IMAGES: usize = 64;
    let Some(backend) = cuda::shared_or_explain() else { return };
    let photo: Arc<[u8]> = std::fs::read(corpus::root().join("samples/photo.jpg")).unwrap().into();
    let len = backend.decode(&photo, &DecodeOptions::default()).unwrap().pixels.len().next_multiple_of(256);
    let buffer = CudaBuffer::new(backend, IMAGES * len).unwrap();
    let submit = || {
        // All write the same pixels to the same memory.
        let jobs = (0..IMAGES).map(|index| Job {
            jpeg: photo.clone(),
            options: DecodeOptions::default(),
            target: CudaTarget::buffer(&buffer).offset(index * len).unwrap(),
        });
        backend.submit(jobs.collect(), CudaAfter::Nothing)
    };
    let submissions: Vec<_> = (0..SUBMISSIONS).map(|_| submit()).collect();
    for (index, submission) in submissions.into_iter().enumerate() {
        assert!(submission.fence().wait_timeout(Duration::from_secs(120)), "submission {index} is not done");
        assert!(submission.wait().iter().all(|outcome| outcome.result.is_ok()), "submission {index}");
    }
}

/// Device memory and, on Linux, the process's own stay what they are once everything is warm.
#[test]
fn five_thousand_decodes_leave_memory_flat() {
    if cuda::shared_or_explain().is_none() {
        return;
    }
    let backend = cuda::open_or_explain(&CudaOptions::default()).unwrap();
    let photo: Arc<[u8]> = std::fs::read(corpus::root().join("samples/restart.jpg")).unwrap().into();
    let progressive: Arc<[u8]> = corpus::hazard("coding-progressive-420.jpg").unwrap().into();
    let rgb: Arc<[u8]> = corpus::hazard("colour-adobe0-rgb.jpg").unwrap().into();
    let buffer = CudaBuffer::new(&backend, 64 * 800 * 600 * 3).unwrap();
    let decode = |count: usize| {
        for _ in 0..count / 50 {
            let jobs = (0..50).map(|index| Job {
                jpeg: [&photo, &photo, &photo, &progressive, &rgb][index % 5].clone(),
                options: DecodeOptions::default(),
                target: CudaTarget::buffer(&buffer).offset(index * 800 * 600 * 3).unwrap(),
            });
            let outcomes = backend.submit(jobs.collect(), CudaAfter::Nothing).wait();
            assert!(outcomes.iter().all(|outcome| outcome.result.is_ok()));
        }
    };
    let used = || {
        let (free, total) = backend.context().mem_get_info().unwrap();
        total - free
    };
    let resident = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
        line.split_whitespace().nth(1).and_then(|kilobytes| kilobytes.parse::<usize>().ok()).unwrap_or(0) << 10
    };
    decode(2_000);
    let (device, host) = (used(), resident());
    decode(5_000);
    let (device_growth, host_growth) = (used().saturating_sub(device), resident().saturating_sub(host));
    println!("5,000 decodes: device memory grew by {device_growth} bytes, the process by {host_growth}");
    assert!(device_growth < 64 << 20, "device memory grew by {device_growth}");
    assert!(host_growth < 64 << 20, "the process grew by {host_growth}");
}

/// Rows with gaps, offsets, and memory that is too short.
#[test]
fn pixels_go_where_the_target_says() {
    let Some(backend) = cuda::shared_or_explain() else { return };
    let jpeg: Arc<[u8]> = corpus::hazard("container-base-420.jpg").unwrap().into(); // 45x37
    let stream = cuda::stream(backend);
    for format in [PixelFormat::Rgb8, PixelFormat::Rgba8, PixelFormat::Rgb8Planar, PixelFormat::Gray8] {
        let options = DecodeOptions::default().format(format);
        let packed = backend.decode(&jpeg, &options).unwrap();
        let row = 45 * format.bytes_per_pixel();
        for (offset, stride) in [(0, row), (1, row + 1), (13, row + 64), (16, row.next_multiple_of(16))] {
            let planes = if format == PixelFormat::Rgb8Planar { 3 } else { 1 };
            let len = offset + stride * 37 * planes;
            let memory = cuda::slice(&stream, &vec![0xA5; len]);
            let target = CudaTarget::slice(memory.clone()).offset(offset).unwrap().stride(stride);
            let job = Job { jpeg: jpeg.clone(), options, target };
            let outcome = backend.submit(vec![job], CudaAfter::Stream(stream.clone().into())).wait().remove(0);
            assert_eq!(outcome.result.unwrap().layout.planes()[0].stride, stride);
            let mut expected = vec![0xA5; len];
            for (number, pixels) in packed.pixels.chunks(row).enumerate() {
                let start = offset + number * stride;
                expected[start..start + row].copy_from_slice(pixels);
            }
            assert!(cuda::read(&stream, &memory) == expected, "{format}, offset {offset}, stride {stride}");
        }
    }
    let short = cuda::slice(&stream, &[0; 45 * 37 * 3 - 1]);
    let job = |target| Job { jpeg: jpeg.clone(), options: DecodeOptions::default(), target };
    let code = |target| {
        let outcome = backend.submit(vec![job(target)], CudaAfter::Nothing).wait().remove(0);
        outcome.result.unwrap_err().code()
    };
    assert_eq!(code(CudaTarget::slice(short.clone())), "buffer-too-short");
    assert_eq!(code(CudaTarget::slice(short.clone()).stride(100)), "stride-too-short");
    assert!(CudaTarget::slice(short.clone()).offset(short.len() + 1).is_err());
}

/// Memory in a stream's order: allocated, decoded to, read and dropped without waiting in between.
#[test]
fn buffers_come_and_go_in_a_streams_order() {
    let Some(backend) = cuda::shared_or_explain() else { return };
    let jpeg: Arc<[u8]> = corpus::hazard("container-base-420.jpg").unwrap().into();
    let expected = backend.decode(&jpeg, &DecodeOptions::default()).unwrap().pixels;
    let stream = cuda::stream(backend);
    for _ in 0..20 {
        let buffer = CudaBuffer::on_stream(backend, expected.len(), stream.clone()).unwrap();
        let target = CudaTarget::buffer(&buffer);
        let job = Job { jpeg: jpeg.clone(), options: DecodeOptions::default(), target };
        let submission = backend.submit(vec![job], CudaAfter::Stream(stream.clone().into()));
        submission.fence().hold_back(&stream.clone().into()).unwrap();
        stream.synchronize().unwrap();
        let mut pixels = vec![0; expected.len()];
        buffer.read(0, &mut pixels).unwrap();
        assert!(pixels == expected);
    }
}
