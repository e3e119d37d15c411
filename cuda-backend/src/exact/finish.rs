//! What comes after a wave was queued: its flags are read once it is decoded, which never waits for the caller's work.
//! Then its jobs are known to be queued, or go to the CPU.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use isopel_core::Report;

use crate::driver::{Event, PinnedMemory};
use crate::fence::Ticket;
use crate::pool::CpuJob;
use crate::staging::Lease;
use crate::worker::Worker;

/// A queued wave.
#[derive(Debug)]
pub(super) struct Decoding {
    /// Behind the flags.
    pub(super) decoded: Arc<Event>,
    /// Behind the pixels.
    pub(super) written: Arc<Event>,
    /// Descriptions, and from `flags_at` on the flags.
    pub(super) descriptions: Lease<PinnedMemory>,
    pub(super) flags_at: usize,
}

/// A job, and what it comes to if it has no flag.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) job: CpuJob,
    pub(super) report: Report,
}

/// Queued waves, in their order.
#[derive(Debug, Default)]
pub(crate) struct FinishQueue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waves: VecDeque<(Decoding, Vec<Finished>)>,
    closing: bool,
}

impl FinishQueue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(super) fn put(&self, decoding: Decoding, images: Vec<Finished>) {
        self.lock().waves.push_back((decoding, images));
        self.changed.notify_one();
    }

    /// Lets the thread end once the queue is empty.
    pub(crate) fn close(&self) {
        self.lock().closing = true;
        self.changed.notify_all();
    }

    fn next(&self) -> Option<(Decoding, Vec<Finished>)> {
        let mut state = self.lock();
        loop {
            if let Some(wave) = state.waves.pop_front() {
                return Some(wave);
            }
            if state.closing {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }

    /// The thread's life.
    pub(crate) fn run(&self, worker: &Arc<Worker>) {
        while let Some((decoding, images)) = self.next() {
            finish(worker, decoding, images);
        }
    }
}

fn finish(worker: &Arc<Worker>, decoding: Decoding, images: Vec<Finished>) {
    let Decoding { decoded, written, mut descriptions, flags_at } = decoding;
    if let Err(error) = decoded.wait() {
        descriptions.guard(Vec::new());
        return images.into_iter().for_each(|image| image.job.ticket.fail(error.clone().into()));
    }
    let flags = descriptions.bytes_mut()[flags_at..].chunks_exact(4).map(|flags| flags != [0; 4]);
    let (mut flagged, mut right) = (Vec::new(), Vec::new());
    let mut owners = Vec::new();
    for (image, is_flagged) in images.into_iter().zip(flags) {
        if is_flagged {
            flagged.push(image.job);
        } else {
            owners.extend(image.job.target.owner.clone());
            right.push((image.job.ticket, image.report));
        }
    }
    descriptions.guard(Vec::new());
    worker.keep_alive(&written, owners);
    Ticket::queued(right, &written);
    flagged.into_iter().for_each(|job| worker.spawn_on_cpu(job));
}
