//! How long each kernel takes on the device.

use std::sync::Arc;
use std::time::Duration;

use isopel_core::{BackendError, Error, Job, OutcomeSlots};

use super::kernels::Kernels;
use super::{ExactDecoder, Uploaded};
use crate::context::CudaBackend;
use crate::driver::TimedEvent;
use crate::error::failed;
use crate::fence::{Flight, Ticket};
use crate::pool::CpuJob;
use crate::target::CudaTarget;
use crate::worker::Worker;

/// How often a wave is decoded; the last time counts. Idle devices lower their clocks.
const REPETITIONS: usize = 40;

impl CudaBackend {
    /// Decodes jobs, as many as fit one wave, and measures each kernel of the exact route; their targets must be free.
    /// The upload comes first. Empty if this backend does not take the route.
    ///
    /// # Errors
    /// [`Error::Backend`] if the device fails, or no job is one for the kernels.
    pub fn profile(&self, jobs: Vec<Job<CudaTarget>>) -> Result<Vec<(&'static str, Duration)>, Error> {
        let flight = Flight::new(self.device(), None, OutcomeSlots::default(), jobs.len());
        let jobs = jobs.into_iter().enumerate().map(|(index, job)| CpuJob {
            ticket: Ticket::new(&flight, index, &self.worker.active),
            jpeg: job.jpeg,
            options: job.options,
            target: job.target,
        });
        match &self.worker.exact {
            Some(exact) => Ok(exact.profile(&self.worker, jobs.collect())?),
            None => Ok(Vec::new()),
        }
    }
}

impl ExactDecoder {
    fn profile(&self, worker: &Worker, jobs: Vec<CpuJob>) -> Result<Vec<(&'static str, Duration)>, BackendError> {
        let (jobs, mut staged) = self.with_room(jobs).map_err(|_| failed("no pinned memory"))?;
        let (images, _) = self.stage(worker, jobs, &mut staged);
        if images.is_empty() {
            return Err(failed("no image is one for the kernels"));
        }
        let stream = &self.streams[0];
        let fitting = self.images_of_wave(&images);
        let mut times = Vec::new();
        for _ in 0..REPETITIONS {
            let before = TimedEvent::record(stream)?;
            let Uploaded { memory, descriptions, parameter, grids, .. } =
                self.upload(self.lay_out(&images[..fitting]), &staged, stream)?;
            let mut events = vec![("upload", TimedEvent::record(stream)?)];
            let mut launches = Kernels::decoding(&grids);
            launches.push(Kernels::writing(&grids));
            for launch in launches {
                // SAFETY: as in `queue`; the events below are waited for, and the caller says that targets are free.
                unsafe { self.kernels.launch(&[launch], &parameter, stream) }?;
                events.push((launch.name, TimedEvent::record(stream)?));
            }
            let end = Arc::new(stream.record()?);
            end.wait()?;
            memory.guard(vec![end.clone()]);
            descriptions.guard(vec![end]);
            times.clear();
            let mut last = &before;
            for (name, event) in &events {
                times.push((*name, event.since(last)?));
                last = event;
            }
        }
        staged.guard(Vec::new());
        Ok(times)
    }
}
