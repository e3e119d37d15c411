//! What comes after a wave was queued: its flags are read once it is decoded, which never waits for the caller's work.
//! Then its jobs are known to be queued, or go to the CPU.

use std::sync::Arc;

use isopel_core::Report;

use crate::driver::{Event, PinnedMemory};
use crate::fence::Ticket;
use crate::pool::CpuJob;
use crate::staging::Lease;
use crate::worker::Worker;

/// A queued wave.
#[derive(Debug)]
pub(crate) struct Decoding {
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
pub(crate) struct Finished {
    pub(super) job: CpuJob,
    pub(super) report: Report,
}

/// A queued wave and its jobs.
pub(crate) type QueuedWave = (Decoding, Vec<Finished>);

/// Waits for a wave's flags, and tells its jobs.
pub(super) fn finish(worker: &Arc<Worker>, (decoding, images): QueuedWave) {
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
