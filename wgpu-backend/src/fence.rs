//! Fences of GPU submissions.

use std::future::Future;
use std::task::Poll;
use std::time::Duration;

use isopel_core::Fence;
use isopel_core::cpu::CpuFence;

/// Tells whether a submission has finished: its pixels are in their targets, read-back into host memory
/// included.
#[derive(Debug, Clone)]
pub struct WgpuFence {
    device: wgpu::Device,
    /// The last of its submissions to the queue; `None` if nothing had to be submitted.
    index: Option<wgpu::SubmissionIndex>,
    /// Signalled by the last of the callbacks.
    callbacks: CpuFence,
}

impl WgpuFence {
    pub(crate) fn new(device: wgpu::Device, index: Option<wgpu::SubmissionIndex>, callbacks: CpuFence) -> Self {
        WgpuFence { device, index, callbacks }
    }

    /// The queue's index of the submission, to poll the device for.
    pub fn submission_index(&self) -> Option<&wgpu::SubmissionIndex> {
        self.index.as_ref()
    }

    /// Waits without blocking, as the web demands. There the browser's event loop drives the queue; natively
    /// somebody has to poll the device meanwhile.
    pub fn finished(&self) -> impl Future<Output = ()> + use<> {
        finished(&self.callbacks)
    }

    fn poll_device(&self, timeout: Option<Duration>) {
        let wait = wgpu::PollType::Wait { submission_index: self.index.clone(), timeout };
        // An error is a timeout, which the caller sees by the fence, or a lost device, whose callbacks run too.
        let _ = self.device.poll(wait);
    }
}

/// Waits for a fence of the CPU's without blocking.
pub(crate) fn finished(fence: &CpuFence) -> impl Future<Output = ()> + use<> {
    let fence = fence.clone();
    std::future::poll_fn(move |context| {
        if fence.poll() {
            return Poll::Ready(());
        }
        let waker = context.waker().clone();
        fence.on_done(move || waker.wake());
        Poll::Pending
    })
}

impl Fence for WgpuFence {
    fn poll(&self) -> bool {
        let _ = self.device.poll(wgpu::PollType::Poll);
        self.callbacks.poll()
    }

    fn wait(&self) {
        while !self.callbacks.poll() {
            self.poll_device(None);
            // Callbacks of another thread's poll may still be running.
            if self.callbacks.wait_timeout(Duration::from_millis(1)) {
                break;
            }
        }
    }

    fn wait_timeout(&self, timeout: Duration) -> bool {
        if !self.callbacks.poll() {
            self.poll_device(Some(timeout));
        }
        self.callbacks.wait_timeout(Duration::from_millis(1))
    }
}
