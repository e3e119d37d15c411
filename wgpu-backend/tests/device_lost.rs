//! A device that is lost gives an error that says so: no panic, no endless wait.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use isopel_conformance::{corpus, gpu};
use isopel_core::cpu::{HostBuffer, HostTarget};
use isopel_core::{Backend, BackendErrorKind, DecodeOptions, Error, Job};
use isopel_wgpu::{BufferTarget, WgpuAfter, WgpuBackend, WgpuOptions, WgpuTarget, wgpu};

/// Runs on a thread of its own, so that a wait that never ends is a failure.
fn within_a_minute(work: impl FnOnce() + Send + 'static) {
    let (sender, receiver) = mpsc::channel();
    let worker = thread::spawn(move || {
        work();
        let _ = sender.send(());
    });
    if receiver.recv_timeout(Duration::from_secs(60)) == Err(mpsc::RecvTimeoutError::Timeout) {
        panic!("still waiting after a minute");
    }
    worker.join().unwrap();
}

fn assert_device_lost(error: Option<&Error>, what: &str) {
    match error {
        Some(Error::Backend(error)) if error.kind == BackendErrorKind::DeviceLost => {}
        other => panic!("{what}: {other:?}"),
    }
}

fn check_after_destroy(backend: &WgpuBackend) {
    let jpeg = corpus::hazard("container-base-420.jpg").unwrap();
    let options = DecodeOptions::default();
    assert!(backend.decode(&jpeg, &options).is_ok());
    let buffer = gpu::buffer(backend.device(), &[0; 4_996]);
    backend.device().destroy();
    for attempt in 0..3 {
        let result = backend.decode(&jpeg, &options);
        assert_device_lost(result.as_ref().err(), &format!("decode, attempt {attempt}"));
        assert_eq!(result.unwrap_err().code(), "device-lost");
    }
    let host = WgpuTarget::Host(HostTarget::packed(HostBuffer::new(vec![0; 4_996])));
    let device = WgpuTarget::Buffer(BufferTarget::packed(buffer));
    let job = |target| Job { jpeg: jpeg.as_slice().into(), options, target };
    let outcomes = backend.submit(vec![job(host), job(device.clone())], WgpuAfter::Queue).wait();
    assert_eq!(outcomes.len(), 2);
    for outcome in &outcomes {
        assert_device_lost(outcome.result.as_ref().err(), &format!("job {}", outcome.index));
    }
    let mut encoder = backend.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    let outcomes = backend.encode_into(&mut encoder, vec![job(device)]);
    assert_device_lost(outcomes[0].result.as_ref().err(), "encode_into");
    // What is wrong with the file is still told.
    assert_eq!(backend.decode(b"", &options).unwrap_err().code(), "empty");
}

#[test]
fn a_destroyed_device_is_an_error() {
    let Some(backend) = gpu::open_or_explain(&WgpuOptions::default()) else { return };
    within_a_minute(move || check_after_destroy(&backend));
}

/// The callback that tells of the loss is the caller's here.
#[test]
fn a_destroyed_device_of_the_callers_is_an_error() {
    let Some(backend) = gpu::callers_or_explain() else { return };
    within_a_minute(move || check_after_destroy(&backend));
}

/// Work in flight is finished or lost; whoever waits for it wakes up, and every job has an outcome.
fn check_work_in_flight(backend: WgpuBackend, round: u64) {
    let jpeg = corpus::hazard("roi-422.jpg").unwrap();
    let buffer = gpu::buffer(backend.device(), &[0; 150 * 110 * 3]);
    let jobs = (0..8).map(|index| Job {
        jpeg: jpeg.as_slice().into(),
        options: DecodeOptions::default(),
        target: if index % 2 == 0 {
            WgpuTarget::Host(HostTarget::packed(HostBuffer::new(vec![0; 150 * 110 * 3])))
        } else {
            WgpuTarget::Buffer(BufferTarget::packed(buffer.clone()))
        },
    });
    let submission = backend.submit(jobs.collect(), WgpuAfter::Queue);
    thread::sleep(Duration::from_millis(round));
    backend.device().destroy();
    let outcomes = submission.wait();
    assert_eq!(outcomes.len(), 8, "one outcome per job");
    for outcome in outcomes.iter().filter(|outcome| outcome.result.is_err()) {
        assert_device_lost(outcome.result.as_ref().err(), &format!("round {round}, job {}", outcome.index));
    }
}

#[test]
fn work_in_flight_ends() {
    for round in 0..8 {
        let Some(backend) = gpu::open_or_explain(&WgpuOptions::default()) else { return };
        within_a_minute(move || check_work_in_flight(backend, round));
    }
}

#[test]
fn work_in_flight_on_a_device_of_the_callers_ends() {
    for round in 0..8 {
        let Some(backend) = gpu::callers_or_explain() else { return };
        within_a_minute(move || check_work_in_flight(backend, round));
    }
}
