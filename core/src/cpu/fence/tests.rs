use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

#[test]
fn signals_reach_waiters_and_callbacks() {
    let (signal, fence) = CpuSignal::new();
    let called = Arc::new(AtomicBool::new(false));
    fence.on_done({
        let called = called.clone();
        move || called.store(true, Ordering::SeqCst)
    });
    assert!(!fence.poll());
    assert!(!fence.wait_timeout(Duration::from_millis(1)));
    assert!(!called.load(Ordering::SeqCst));

    let waiter = std::thread::spawn({
        let fence = fence.clone();
        move || fence.wait()
    });
    signal.signal();
    waiter.join().unwrap();
    assert!(fence.poll() && fence.wait_timeout(Duration::ZERO));
    assert!(called.load(Ordering::SeqCst));
}

#[test]
fn callbacks_of_finished_work_run_at_once() {
    let called = Arc::new(AtomicBool::new(false));
    let inner = called.clone();
    CpuFence::finished().on_done(move || inner.store(true, Ordering::SeqCst));
    assert!(called.load(Ordering::SeqCst));
}

#[test]
fn a_signal_lost_in_a_panic_still_wakes_waiters() {
    let (signal, fence) = CpuSignal::new();
    let worker = std::thread::spawn(move || {
        let _signal = signal;
        panic!("on purpose: the worker dies with the signal");
    });
    fence.wait();
    assert!(worker.join().is_err());
}
