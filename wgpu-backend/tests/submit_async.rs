//! Submissions as futures: the same outcomes and the same order as of those that block.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use isopel_conformance::backends::{SENTINEL, on_cpu, packed_len};
use isopel_conformance::corpus;
use isopel_conformance::gpu::{self, block_on};
use isopel_core::cpu::{CpuSignal, HostBuffer, HostTarget};
use isopel_core::{Backend, BackendErrorKind, DecodeOptions, Error, Job, Outcome, Route};
use isopel_wgpu::{
    BufferTarget, EntropyDecoding, SubmitOptions, WgpuAfter, WgpuBackend, WgpuOptions, WgpuTarget, wgpu,
};

/// Polls a device on a thread of its own until it is dropped.
struct Poller {
    stop: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Poller {
    fn new(device: &wgpu::Device) -> Self {
        let (device, stop) = (device.clone(), Arc::new(AtomicBool::new(false)));
        let stopped = stop.clone();
        let poll = move || {
            while !stopped.load(Ordering::Relaxed) {
                // An error is a lost device, which those who wait are told.
                let _ = device.poll(wgpu::PollType::Poll);
                thread::yield_now();
            }
        };
        Poller { stop, thread: Some(thread::spawn(poll)) }
    }
}

impl Drop for Poller {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

fn backend() -> Option<WgpuBackend> {
    gpu::open_or_explain(&WgpuOptions::default().entropy(EntropyDecoding::Gpu))
}

fn sample(name: &str) -> Vec<u8> {
    corpus::read(&corpus::root().join("samples").join(name)).unwrap()
}

/// Looks fit for the GPU, which flags it.
fn flagged() -> Arc<[u8]> {
    let mut jpeg = sample("gray.jpg");
    let middle = jpeg.len() / 2;
    jpeg[middle..middle + 40].fill(0x55);
    jpeg.into()
}

/// Good files, a flagged one, some that are not for the GPU, and one that is none.
fn files() -> Vec<Arc<[u8]>> {
    let names = ["gray.jpg", "restart.jpg", "truncated.jpg", "progressive.jpg", "cmyk.jpg"];
    let mut files: Vec<Arc<[u8]>> = names.iter().map(|name| sample(name).into()).collect();
    files.insert(1, flagged());
    files.push(b"no picture".as_slice().into());
    files
}

fn job(jpeg: &Arc<[u8]>, target: WgpuTarget) -> Job<WgpuTarget> {
    Job { jpeg: jpeg.clone(), options: DecodeOptions::default(), target }
}

/// Jobs that go to the host's memory, and that memory.
fn host_jobs(files: &[Arc<[u8]>]) -> (Vec<Job<WgpuTarget>>, Vec<HostBuffer>) {
    let options = DecodeOptions::default();
    let host = |jpeg: &Arc<[u8]>| HostBuffer::new(vec![SENTINEL; packed_len(jpeg, &options).unwrap_or(0)]);
    let hosts: Vec<HostBuffer> = files.iter().map(host).collect();
    let jobs =
        files.iter().zip(&hosts).map(|(jpeg, host)| job(jpeg, WgpuTarget::Host(HostTarget::packed(host.clone()))));
    (jobs.collect(), hosts)
}

fn pixels(hosts: &[HostBuffer]) -> Vec<Vec<u8>> {
    hosts.iter().map(|host| host.lock().clone()).collect()
}

/// A future that executors may move between threads.
fn sendable<F: Future + Send>(future: F) -> F {
    future
}

async fn submit_and_finish(backend: &WgpuBackend, jobs: Vec<Job<WgpuTarget>>, options: SubmitOptions) -> Vec<Outcome> {
    let submission = sendable(backend.submit_async(jobs, WgpuAfter::Queue, &options)).await;
    submission.fence().finished().await;
    submission.wait()
}

fn routes(outcomes: &[Outcome]) -> Vec<Option<Route>> {
    outcomes.iter().map(|outcome| outcome.result.as_ref().map(|report| report.route).ok()).collect()
}

#[test]
fn it_gives_what_blocking_gives() {
    let Some(backend) = backend() else { return };
    let files = files();
    let (jobs, hosts) = host_jobs(&files);
    let blocking = backend.submit(jobs, WgpuAfter::Queue).wait();
    let (whole, redone) = (Some(Route::WgpuWhole), Some(Route::WgpuFromCoefficients));
    assert_eq!(routes(&blocking), [whole, redone, whole, redone, redone, whole, None]);
    for (index, outcome) in blocking.iter().enumerate().filter(|(_, outcome)| outcome.result.is_ok()) {
        let expected = on_cpu(&files[index], &DecodeOptions::default()).unwrap();
        assert!(*hosts[index].lock() == expected.pixels, "file {index}");
        assert_eq!(outcome.result.as_ref().unwrap().warnings, expected.report.warnings, "file {index}");
    }
    let _poller = Poller::new(&backend.device().clone());
    let (jobs, others) = host_jobs(&files);
    assert_eq!(block_on(submit_and_finish(&backend, jobs, SubmitOptions::default())), blocking);
    assert!(pixels(&others) == pixels(&hosts));
}

/// One thread goes on with the second while the first waits for flags.
#[test]
fn two_can_wait_at_once() {
    let Some(backend) = backend() else { return };
    let files = files();
    let (first_jobs, first_hosts) = host_jobs(&files);
    let (second_jobs, second_hosts) = host_jobs(&files);
    let mut first = pin!(submit_and_finish(&backend, first_jobs, SubmitOptions::default()));
    let mut context = Context::from_waker(Waker::noop());
    assert!(first.as_mut().poll(&mut context).is_pending(), "flags are there before anybody polls the device");
    let _poller = Poller::new(backend.device());
    let second = block_on(submit_and_finish(&backend, second_jobs, SubmitOptions::default()));
    assert_eq!(block_on(first), second);
    assert!(pixels(&first_hosts) == pixels(&second_hosts));
}

/// What is queued once the future is ready sees the pixels, those that were decoded again as well.
#[test]
fn later_work_of_the_queue_sees_all_pixels() {
    let Some(backend) = backend() else { return };
    let _poller = Poller::new(backend.device());
    for jpeg in [flagged(), sample("gray.jpg").into()] {
        let expected = on_cpu(&jpeg, &DecodeOptions::default()).unwrap().pixels;
        let buffer = gpu::buffer(backend.device(), &vec![SENTINEL; expected.len()]);
        let jobs = vec![job(&jpeg, WgpuTarget::Buffer(BufferTarget::packed(buffer.clone())))];
        let submission = block_on(backend.submit_async(jobs, WgpuAfter::Queue, &SubmitOptions::default()));
        // The fence is not waited for: the queue keeps the order.
        assert!(gpu::read(backend.device(), backend.queue(), &buffer) == expected);
        assert!(submission.wait()[0].result.is_ok());
    }
}

#[test]
fn nothing_is_written_before_a_fence_of_the_hosts() {
    let Some(backend) = backend() else { return };
    let _poller = Poller::new(backend.device());
    let (jobs, hosts) = host_jobs(&[flagged()]);
    let (signal, fence) = CpuSignal::new();
    let (after, options) = (WgpuAfter::Host(vec![fence]), SubmitOptions::default());
    let mut submitting = pin!(backend.submit_async(jobs, after, &options));
    for _ in 0..3 {
        assert!(submitting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        thread::sleep(Duration::from_millis(5));
    }
    assert!(hosts[0].lock().iter().all(|&byte| byte == SENTINEL));
    signal.signal();
    assert!(block_on(submitting).wait()[0].result.is_ok());
    assert!(*hosts[0].lock() == on_cpu(&flagged(), &DecodeOptions::default()).unwrap().pixels);
}

/// Somebody gives up before the flags are there; the backend goes on.
#[test]
fn a_dropped_future_costs_nobody_else() {
    let Some(backend) = backend() else { return };
    let files = files();
    for _ in 0..3 {
        let (jobs, _) = host_jobs(&files);
        let mut submitting = Box::pin(submit_and_finish(&backend, jobs, SubmitOptions::default()));
        assert!(submitting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        drop(submitting);
    }
    let expected = on_cpu(&files[0], &DecodeOptions::default()).unwrap();
    assert!(backend.decode(&files[0], &DecodeOptions::default()).unwrap().pixels == expected.pixels);
}

#[test]
fn a_device_lost_while_flags_are_awaited_is_an_error() {
    for is_polled in [false, true] {
        let Some(backend) = backend() else { return };
        let files = files();
        let (jobs, _) = host_jobs(&files);
        let mut submitting = pin!(submit_and_finish(&backend, jobs, SubmitOptions::default()));
        let mut context = Context::from_waker(Waker::noop());
        assert!(submitting.as_mut().poll(&mut context).is_pending());
        backend.device().destroy();
        let poller = is_polled.then(|| Poller::new(backend.device()));
        let start = Instant::now();
        let outcomes = loop {
            if let Poll::Ready(outcomes) = submitting.as_mut().poll(&mut context) {
                break outcomes;
            }
            if !is_polled {
                let _ = backend.device().poll(wgpu::PollType::Poll);
            }
            assert!(start.elapsed() < Duration::from_secs(60), "still waiting after a minute");
        };
        drop(poller);
        assert_eq!(outcomes.len(), files.len());
        for outcome in &outcomes[..files.len() - 1] {
            match &outcome.result {
                Ok(_) => {}
                Err(Error::Backend(error)) if error.kind == BackendErrorKind::DeviceLost => {}
                Err(other) => panic!("job {}: {other:?}", outcome.index),
            }
        }
        // What is wrong with a file is still told.
        assert_eq!(outcomes[files.len() - 1].result.as_ref().unwrap_err().code(), "not-jpeg");
    }
}

#[test]
fn passes_are_measured_without_blocking() {
    let Some(backend) = backend() else { return };
    let _poller = Poller::new(backend.device());
    let measure = |entropy| {
        let buffer = gpu::buffer(backend.device(), &vec![0; 640 * 480 * 3]);
        let jobs = vec![job(&sample("gray.jpg").into(), WgpuTarget::Buffer(BufferTarget::packed(buffer)))];
        let options = SubmitOptions::default().entropy(entropy);
        let times = block_on(sendable(backend.profile_async(jobs, &options))).unwrap();
        times.map(|times| times.passes().into_iter().unzip::<_, _, Vec<_>, Vec<_>>())
    };
    let has_timestamps = backend.device().features().contains(wgpu::Features::TIMESTAMP_QUERY);
    for (entropy, expected) in [
        (EntropyDecoding::Gpu, &["synchronise", "join", "scan", "write", "dequant_idct", "orient"][..]),
        (EntropyDecoding::Cpu, &["dequant_idct", "orient"]),
    ] {
        let times = measure(entropy);
        assert_eq!(times.is_some(), has_timestamps);
        let Some((names, times)) = times else { continue };
        assert_eq!(names, expected);
        assert!(times.iter().all(|time| !time.is_zero()), "{names:?} {times:?}");
    }
}

#[test]
fn entropy_decoding_is_chosen_for_each_submission() {
    let Some(backend) = backend() else { return };
    let _poller = Poller::new(backend.device());
    let decode = |backend: &WgpuBackend, entropy: Option<EntropyDecoding>| {
        let (jobs, _) = host_jobs(&[sample("gray.jpg").into()]);
        let mut options = SubmitOptions::default();
        options.entropy = entropy;
        routes(&block_on(submit_and_finish(backend, jobs, options)))[0]
    };
    assert_eq!(decode(&backend, None), Some(Route::WgpuWhole));
    assert_eq!(decode(&backend, Some(EntropyDecoding::Gpu)), Some(Route::WgpuWhole));
    assert_eq!(decode(&backend, Some(EntropyDecoding::Cpu)), Some(Route::WgpuFromCoefficients));
    // One file of 60 kB is too little for any GPU.
    assert_eq!(decode(&backend, Some(EntropyDecoding::Auto)), Some(Route::WgpuFromCoefficients));
    let Some(without) = gpu::open_or_explain(&WgpuOptions::default().entropy(EntropyDecoding::Cpu)) else { return };
    let _poller = Poller::new(without.device());
    assert_eq!(decode(&without, Some(EntropyDecoding::Gpu)), Some(Route::WgpuFromCoefficients));
}
