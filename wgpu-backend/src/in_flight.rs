//! Queues jobs and sees to it that all work of each is queued before its submission is done: what the GPU flags is
//! queued again with the CPU's entropy decoding.

use std::sync::Arc;

use isopel_core::cpu::{CpuFence, CpuSignal};
use isopel_core::{BackendError, BackendErrorKind, Error, Outcome, OutcomeSlots, Report, Submission};

use crate::context::WgpuBackend;
use crate::download::{Download, start_all};
use crate::fence::WgpuFence;
use crate::flags::{PictureFlags, read_all};
use crate::record::{Memory, Recorded};
use crate::submit::ReadyJob;
use crate::tile::{Coefficients, Tile};

/// How a submission waits for what only the GPU knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// Its thread polls the device until it knows, and nothing is left to be awaited. On the web, where no thread may
    /// wait, it does without: entropy decoding is the CPU's, and errors of the device go unnoticed.
    Blocking,
    /// By futures: whoever polls the device wakes them, on the web the browser.
    Async,
}

impl Waiting {
    pub(crate) fn is_possible(self) -> bool {
        self == Waiting::Async || cfg!(not(target_arch = "wasm32"))
    }
}

/// A submission of which jobs are still to be queued.
pub(crate) struct Unfinished<'b> {
    backend: &'b WgpuBackend,
    waiting: Waiting,
    pub(crate) outcomes: OutcomeSlots,
    signal: Arc<CpuSignal>,
    callbacks: CpuFence,
    /// The last of its submissions to the queue.
    last: Option<wgpu::SubmissionIndex>,
}

/// Queued jobs of which it is not known yet whether the GPU could decode them.
pub(crate) struct InFlight {
    index: wgpu::SubmissionIndex,
    jobs: Vec<ReadyJob>,
    downloads: Vec<Vec<Download>>,
    flags: Vec<PictureFlags>,
}

impl<'b> Unfinished<'b> {
    pub(crate) fn new(backend: &'b WgpuBackend, waiting: Waiting) -> Self {
        let (signal, callbacks) = CpuSignal::new();
        Unfinished { backend, waiting, outcomes: OutcomeSlots::default(), signal: signal.into(), callbacks, last: None }
    }

    /// Records and queues jobs together; if the device refuses, one by one, so that one costs no other.
    pub(crate) async fn queue_jobs(&mut self, jobs: Vec<ReadyJob>) -> Vec<InFlight> {
        let is_one = jobs.len() == 1;
        match self.queue_together(jobs).await {
            Ok(in_flight) => in_flight.into_iter().collect(),
            Err((jobs, error)) if is_one || error.kind == BackendErrorKind::DeviceLost => {
                self.fail(&jobs, &error);
                Vec::new()
            }
            Err((jobs, _)) => {
                let mut all = Vec::new();
                for job in jobs {
                    match self.queue_together(vec![job]).await {
                        Ok(in_flight) => all.extend(in_flight),
                        Err((jobs, error)) => self.fail(&jobs, &error),
                    }
                }
                all
            }
        }
    }

    /// Gives the jobs back if the device refuses them.
    async fn queue_together(
        &mut self,
        mut jobs: Vec<ReadyJob>,
    ) -> Result<Option<InFlight>, (Vec<ReadyJob>, BackendError)> {
        if jobs.is_empty() {
            return Ok(None);
        }
        let backend = self.backend;
        let queued = backend.guarded(self.waiting, || {
            let mut encoder =
                backend.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("jpeg") });
            let recorded = backend.record(&mut encoder, &jobs, &Memory::Pooled, None);
            (backend.queue.submit([encoder.finish()]), recorded)
        });
        let (index, Recorded { used, downloads, flags }) = match queued.await {
            Ok(queued) => queued,
            Err(error) => return Err((jobs, error)),
        };
        self.last = Some(index.clone());
        // What they held has been copied.
        jobs.iter_mut().for_each(|job| backend.take_back(std::mem::take(&mut job.prepared.tiles)));
        // If the device is lost meanwhile, the callbacks tell.
        let read_flags = || {
            // Only now: buffers that could not be made would spoil the pools.
            used.give_back(backend);
            flags.iter().for_each(PictureFlags::start_reading);
        };
        let ((), _) = backend.caught(self.waiting, read_flags).await;
        if flags.is_empty() {
            self.report_when_done(jobs, downloads).await;
            return Ok(None);
        }
        Ok(Some(InFlight { index, jobs, downloads, flags }))
    }

    /// Waits until the flags of queued jobs are known, and queues those that are flagged again, with the CPU's entropy
    /// decoding.
    pub(crate) async fn settle(&mut self, in_flight: InFlight) {
        let InFlight { index, jobs, downloads, flags } = in_flight;
        if self.waiting == Waiting::Blocking {
            self.backend.wait_for(index);
        }
        let flagged = match read_all(&flags, jobs.len(), &self.backend.device_state(), self.waiting).await {
            Ok(flagged) => flagged,
            Err(error) => return self.fail(&jobs, &error),
        };
        let (mut right, mut right_downloads, mut again) = (Vec::new(), Vec::new(), Vec::new());
        for ((job, downloads), is_flagged) in jobs.into_iter().zip(downloads).zip(flagged) {
            if is_flagged {
                again.push(job.again());
            } else {
                right.push(job);
                right_downloads.push(downloads);
            }
        }
        self.report_when_done(right, right_downloads).await;
        let (ready, failed) = self.backend.prepare_all(again, None);
        failed.into_iter().for_each(|outcome| self.outcomes.put(outcome));
        // With the CPU's coefficients nothing is left to be settled.
        self.queue_jobs(ready).await;
    }

    /// The submission, once all its jobs are queued.
    pub(crate) fn finish(self) -> Submission<WgpuFence> {
        let Unfinished { backend, outcomes, signal, callbacks, last, .. } = self;
        drop(signal);
        Submission::new(WgpuFence::new(backend.device.clone(), last, callbacks), outcomes)
    }

    fn fail(&self, jobs: &[ReadyJob], error: &BackendError) {
        jobs.iter().for_each(|job| self.outcomes.put(Outcome { index: job.index, result: Err(error.clone().into()) }));
    }

    /// Queued jobs get their outcomes when the GPU is done with them. If the device is lost, the callbacks tell.
    async fn report_when_done(&self, jobs: Vec<ReadyJob>, downloads: Vec<Vec<Download>>) {
        let ask = || {
            let mut on_device = Vec::new();
            for (job, downloads) in jobs.into_iter().zip(downloads) {
                let report = (job.index, job.prepared.report);
                if downloads.is_empty() {
                    on_device.push(report);
                    continue;
                }
                let (outcomes, signal) = (self.outcomes.clone(), self.signal.clone());
                start_all(downloads, move |result| {
                    outcomes.put(outcome(report, result));
                    drop(signal);
                });
            }
            let (outcomes, signal) = (self.outcomes.clone(), self.signal.clone());
            let device_state = self.backend.device_state();
            self.backend.queue.on_submitted_work_done(move || {
                let result = if on_device.is_empty() { Ok(()) } else { device_state.check() };
                on_device.into_iter().for_each(|report| outcomes.put(outcome(report, result.clone())));
                drop(signal);
            });
        };
        let ((), _) = self.backend.caught(self.waiting, ask).await;
    }
}

impl WgpuBackend {
    /// Blocks until a submission is done. If the device is lost, reading what it wrote tells.
    pub(crate) fn wait_for(&self, index: wgpu::SubmissionIndex) {
        let _ = self.device.poll(wgpu::PollType::Wait { submission_index: Some(index), timeout: None });
    }

    /// Takes back the host's memory of tiles that have been queued.
    fn take_back(&self, tiles: Vec<Tile>) {
        for tile in tiles {
            match tile.coefficients {
                Coefficients::Packed(packed) => self.pack_memory.put(packed),
                Coefficients::Staged(picture) => self.staged_memory.put_picture(*picture),
            }
        }
    }
}

fn outcome((index, report): (usize, Report), result: Result<(), BackendError>) -> Outcome {
    Outcome { index, result: result.map(|()| report).map_err(Error::from) }
}
