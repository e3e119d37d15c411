//! Waiting as the web does: by futures, on any executor.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use isopel_conformance::backends::on_cpu;
use isopel_conformance::corpus;
use isopel_conformance::gpu::{self, block_on};
use isopel_core::cpu::{HostBuffer, HostTarget};
use isopel_core::{Backend, DecodeOptions, Fence, Job};
use isopel_wgpu::{WgpuAfter, WgpuBackend, WgpuTarget, wgpu};

#[test]
fn decode_async_gives_the_same_image() {
    let Some(backend) = gpu::shared_or_explain() else { return };
    for row in corpus::hazard_rows().unwrap().iter().filter(|row| row.file.starts_with("c")) {
        let jpeg = row.bytes().unwrap();
        let options = DecodeOptions::default();
        assert_eq!(block_on(backend.decode_async(&jpeg, &options)), backend.decode(&jpeg, &options), "{}", row.file);
    }
}

fn submit(backend: &WgpuBackend, host: &HostBuffer) -> isopel_core::Submission<isopel_wgpu::WgpuFence> {
    let jpeg = corpus::hazard("container-base-420.jpg").unwrap();
    let target = WgpuTarget::Host(HostTarget::packed(host.clone()));
    backend.submit(vec![Job { jpeg: jpeg.into(), options: DecodeOptions::default(), target }], WgpuAfter::Queue)
}

/// Nobody but another thread polls the device.
#[test]
fn finished_wakes_up_when_another_thread_polls() {
    let Some(backend) = gpu::shared_or_explain() else { return };
    let expected = on_cpu(&corpus::hazard("container-base-420.jpg").unwrap(), &DecodeOptions::default()).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let poller = thread::spawn({
        let (device, stop) = (backend.device().clone(), stop.clone());
        move || {
            while !stop.load(Ordering::Relaxed) {
                device.poll(wgpu::PollType::Poll).unwrap();
                thread::yield_now();
            }
        }
    });
    for _ in 0..50 {
        let host = HostBuffer::new(vec![0; expected.pixels.len()]);
        let submission = submit(backend, &host);
        let (first, second) = (submission.fence().finished(), submission.fence().clone().finished());
        block_on(first);
        assert!(*host.lock() == expected.pixels);
        block_on(second);
        assert!(submission.wait()[0].result.is_ok());
    }
    stop.store(true, Ordering::Relaxed);
    poller.join().unwrap();
}

#[test]
fn finished_of_finished_work_is_ready() {
    let Some(backend) = gpu::shared_or_explain() else { return };
    let submission = submit(backend, &HostBuffer::new(vec![0; 45 * 37 * 3]));
    submission.fence().wait();
    block_on(submission.fence().finished());
    let nothing = backend.submit(Vec::new(), WgpuAfter::Queue);
    assert!(nothing.fence().poll());
    block_on(nothing.fence().finished());
    assert!(nothing.wait().is_empty());
}
