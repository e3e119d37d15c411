//! Both edges of a submission on the CPU: nothing is written before the work that the caller names has
//! finished, and whoever waits for the fence sees every byte. The negative control shows that the test can fail.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use isopel_conformance::corpus;
use isopel_core::cpu::{CpuBackend, CpuFence, CpuSignal, HostBuffer, HostTarget};
use isopel_core::{Backend, Codestream, DecodeOptions, DecodePlan, Fence, Job, Limits, PixelFormat, Submission, cpu};

const ITERATIONS: usize = 20;
const OLD: u8 = 0x11;
/// The reader looks at the buffer in this many slices, over about 50 ms.
const SLICES: usize = 10;

fn jpeg() -> Arc<[u8]> {
    corpus::hazard("roi-422.jpg").unwrap().into()
}

fn pixels_of(jpeg: &[u8], options: &DecodeOptions) -> Vec<u8> {
    let codestream = Codestream::parse(jpeg, &Limits::default()).unwrap();
    cpu::decode(&DecodePlan::new(&codestream, options).unwrap()).unwrap().pixels
}

fn submit(
    backend: &CpuBackend,
    jpeg: &Arc<[u8]>,
    format: PixelFormat,
    buffer: &HostBuffer,
    after: Vec<CpuFence>,
) -> Submission<CpuFence> {
    let options = DecodeOptions::default().format(format);
    let job = Job { jpeg: jpeg.clone(), options, target: HostTarget::packed(buffer.clone()) };
    backend.submit(vec![job], after)
}

fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().map(|&byte| u64::from(byte)).sum()
}

/// Work of the caller's that still reads the buffer: sums it slice by slice, then signals.
fn start_reader(buffer: &HostBuffer) -> (thread::JoinHandle<u64>, CpuFence) {
    let (signal, fence) = CpuSignal::new();
    let buffer = buffer.clone();
    let reader = thread::spawn(move || {
        let len = buffer.lock().len();
        let mut total = 0;
        for slice in 0..SLICES {
            thread::sleep(Duration::from_millis(5));
            total += sum(&buffer.lock()[slice * len / SLICES..(slice + 1) * len / SLICES]);
        }
        signal.signal();
        total
    });
    (reader, fence)
}

/// Runs the race and counts how often the reader saw bytes that it should not have seen.
fn corrupted_reads(backend: &CpuBackend) -> usize {
    let jpeg = jpeg();
    let pixels = pixels_of(&jpeg, &DecodeOptions::default());
    let mut corrupted = 0;
    for _ in 0..ITERATIONS {
        let buffer = HostBuffer::new(vec![OLD; pixels.len()]);
        let (reader, read) = start_reader(&buffer);
        let submission = submit(backend, &jpeg, PixelFormat::Rgb8, &buffer, vec![read]);
        let fence = submission.fence().clone();
        fence.wait();
        assert!(fence.poll());
        assert!(*buffer.lock() == pixels, "after the fence every byte is there");
        assert!(submission.wait()[0].result.is_ok());
        corrupted += usize::from(reader.join().unwrap() != u64::from(OLD) * pixels.len() as u64);
    }
    corrupted
}

#[test]
fn nothing_is_written_before_the_named_work_has_finished() {
    for threads in [1, 4] {
        assert_eq!(corrupted_reads(&CpuBackend::new(threads)), 0, "{threads} threads");
    }
}

/// The negative control: without the before edge the same test must see corruption.
#[test]
fn without_the_before_edge_the_reader_is_corrupted() {
    let corrupted = corrupted_reads(&CpuBackend::without_before_edge(4));
    println!("{corrupted} of {ITERATIONS} corrupted");
    assert!(corrupted * 10 > ITERATIONS * 9, "only {corrupted} of {ITERATIONS}: the test above proves nothing");
}

#[test]
fn all_named_work_is_waited_for() {
    let jpeg = jpeg();
    let backend = CpuBackend::new(2);
    let buffer = HostBuffer::new(vec![OLD; 150 * 110 * 3]);
    let signals: Vec<(CpuSignal, CpuFence)> = (0..3).map(|_| CpuSignal::new()).collect();
    let (signals, fences): (Vec<_>, Vec<_>) = signals.into_iter().unzip();
    let submission = submit(&backend, &jpeg, PixelFormat::Rgb8, &buffer, fences);
    for signal in signals {
        assert!(!submission.fence().wait_timeout(Duration::from_millis(20)));
        assert!(buffer.lock().iter().all(|&byte| byte == OLD));
        signal.signal();
    }
    assert!(submission.wait()[0].result.is_ok());
    assert!(*buffer.lock() == pixels_of(&jpeg, &DecodeOptions::default()));
}

/// Each submission comes after the one before, into the same memory, in four formats of different bytes.
#[test]
fn chained_submissions_run_in_their_order() {
    let jpeg = jpeg();
    let formats = [PixelFormat::Rgb8, PixelFormat::Bgr8, PixelFormat::Rgb8Planar, PixelFormat::Gray8];
    for threads in [1, 4] {
        let backend = CpuBackend::new(threads);
        for iteration in 0..ITERATIONS {
            let buffer = HostBuffer::new(vec![OLD; 150 * 110 * 3]);
            let mut order = formats;
            order.rotate_left(iteration % formats.len());
            let (start, mut after) = CpuSignal::new();
            let mut submissions = Vec::new();
            for format in order {
                let submission = submit(&backend, &jpeg, format, &buffer, vec![after]);
                after = submission.fence().clone();
                submissions.push(submission);
            }
            assert!(!after.poll(), "the first of the chain has not started");
            start.signal();
            after.wait();
            assert!(submissions.iter().all(|submission| submission.fence().poll()), "the last comes after all others");
            let mut expected = vec![OLD; 150 * 110 * 3];
            for format in order {
                let pixels = pixels_of(&jpeg, &DecodeOptions::default().format(format));
                expected[..pixels.len()].copy_from_slice(&pixels);
            }
            assert!(*buffer.lock() == expected, "{threads} threads, {order:?}");
        }
    }
}

/// A submission that waits must not keep the only thread from work that can run.
#[test]
fn waiting_work_blocks_no_thread() {
    let jpeg = jpeg();
    let backend = CpuBackend::new(1);
    let len = 150 * 110 * 3;
    let (signal, never_yet) = CpuSignal::new();
    let blocked: Vec<_> = (0..8)
        .map(|_| submit(&backend, &jpeg, PixelFormat::Rgb8, &HostBuffer::new(vec![0; len]), vec![never_yet.clone()]))
        .collect();
    let free = submit(&backend, &jpeg, PixelFormat::Rgb8, &HostBuffer::new(vec![0; len]), Vec::new());
    assert!(free.fence().wait_timeout(Duration::from_secs(30)), "the free submission never ran");
    assert!(blocked.iter().all(|submission| !submission.fence().poll()));
    signal.signal();
    for submission in blocked {
        assert!(submission.wait()[0].result.is_ok());
    }
}

/// Dropping a submission neither cancels the work nor frees memory that it writes.
#[test]
fn a_dropped_submission_still_writes_its_pixels() {
    let jpeg = jpeg();
    let backend = CpuBackend::new(2);
    let pixels = pixels_of(&jpeg, &DecodeOptions::default());
    let buffer = HostBuffer::new(vec![OLD; pixels.len()]);
    let (signal, start) = CpuSignal::new();
    let submission = submit(&backend, &jpeg, PixelFormat::Rgb8, &buffer, vec![start]);
    let fence = submission.fence().clone();
    drop(submission);
    drop(signal); // signals, as a panic of the caller's work would
    let started = Instant::now();
    assert!(fence.wait_timeout(Duration::from_secs(30)), "{:?}", started.elapsed());
    assert!(*buffer.lock() == pixels);
}

/// Nor does dropping the backend while work waits to start.
#[test]
fn a_dropped_backend_finishes_its_work() {
    let jpeg = jpeg();
    let backend = CpuBackend::new(2);
    let pixels = pixels_of(&jpeg, &DecodeOptions::default());
    let buffer = HostBuffer::new(vec![OLD; pixels.len()]);
    let (signal, start) = CpuSignal::new();
    let submission = submit(&backend, &jpeg, PixelFormat::Rgb8, &buffer, vec![start]);
    drop(backend);
    signal.signal();
    assert!(submission.fence().wait_timeout(Duration::from_secs(30)));
    assert!(submission.wait()[0].result.is_ok());
    assert!(*buffer.lock() == pixels);
}
