//! Submissions: jobs in, a fence out, without waiting for the device, the caller's stream, or the decoding.

use std::sync::Arc;

use isopel_core::{
    Backend, BackendError, Capabilities, Codestream, DecodeOptions, DecodePlan, Error, Image, Job, OutcomeSlots,
    Submission, cpu,
};
use rayon::prelude::*;

use crate::context::{CudaBackend, Ordering};
use crate::error::failed;
use crate::exact::ExactDecoder;
use crate::fence::{Before, CudaFence, Flight, Ticket};
use crate::pool::CpuJob;
use crate::target::{CallerEvent, CallerStream, CudaTarget};
use crate::worker::misordered;

/// What a submission comes after.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum CudaAfter {
    /// Nothing: nobody uses the targets.
    #[default]
    Nothing,
    /// All that the stream holds when `submit` is called.
    Stream(CallerStream),
    /// These events, as recorded when `submit` is called.
    Events(Vec<CallerEvent>),
}

/// Jobs that are looked at before the first of them is handed on: one call to the engines.
const JOBS_AT_ONCE: usize = 64;

/// Bytes of pixels that are on their way to the host at once, one picture excepted.
const DOWNLOAD_BYTES: usize = 512 << 20;

impl Backend for CudaBackend {
    type Target = CudaTarget;
    type After = CudaAfter;
    type Fence = CudaFence;

    fn capabilities(&self) -> &Capabilities {
        CudaBackend::capabilities(self)
    }

    /// Hands the jobs to the backend's threads and returns. Pixels are decoded at once into the backend's own memory;
    /// a kernel that waits for `after` writes them to their targets. [`CudaFence::hold_back`] makes a stream of the
    /// caller's wait for that kernel.
    fn submit(&self, jobs: Vec<Job<CudaTarget>>, after: CudaAfter) -> Submission<CudaFence> {
        let outcomes = OutcomeSlots::default();
        let (before, error) = match self.before(&after) {
            Ok(before) => (before, None),
            Err(error) => (None, Some(misordered(error))),
        };
        let flight = Flight::new(self.device(), before, outcomes.clone(), jobs.len());
        let jobs = jobs.into_iter().enumerate().map(|(index, job)| CpuJob {
            ticket: Ticket::new(&flight, index, &self.worker.active),
            jpeg: job.jpeg,
            options: job.options,
            target: job.target,
        });
        match error {
            Some(error) => jobs.for_each(|job| job.ticket.fail(error.clone())),
            None => self.start(jobs.collect()),
        }
        Submission::new(CudaFence(flight), outcomes)
    }
}

impl CudaBackend {
    /// Decodes one image into the host's memory. Blocks.
    ///
    /// # Errors
    /// As the CPU backend's, and [`Error::Backend`] if the device fails.
    pub fn decode(&self, jpeg: &[u8], options: &DecodeOptions) -> Result<Image, Error> {
        let lost = || Err(failed("the submission was dropped").into());
        self.decode_batch(&[(jpeg.into(), *options)]).pop().unwrap_or_else(lost)
    }

    /// Decodes images into the host's memory, one result per image in their order. Blocks.
    pub fn decode_batch(&self, files: &[(Arc<[u8]>, DecodeOptions)]) -> Vec<Result<Image, Error>> {
        let mut images = Vec::with_capacity(files.len());
        let lengths = cpu::install_and_wait(&self.worker.preparing, || {
            files.par_iter().map(|(jpeg, options)| packed_len(jpeg, options)).collect::<Vec<Result<usize, Error>>>()
        });
        let mut lengths = lengths.as_slice();
        let mut files = files;
        while !files.is_empty() {
            let (mut count, mut bytes) = (0, 0usize);
            for length in lengths {
                let length = length.as_ref().map_or(0, |length| *length);
                if count > 0 && bytes.saturating_add(length) > DOWNLOAD_BYTES {
                    break;
                }
                bytes = bytes.saturating_add(length);
                count += 1;
            }
            let (part, rest) = files.split_at(count);
            let (part_lengths, rest_lengths) = lengths.split_at(count);
            images.extend(self.decode_part(part, part_lengths));
            (files, lengths) = (rest, rest_lengths);
        }
        images
    }

    fn decode_part(
        &self,
        files: &[(Arc<[u8]>, DecodeOptions)],
        lengths: &[Result<usize, Error>],
    ) -> Vec<Result<Image, Error>> {
        let mut offsets = vec![0];
        for length in lengths {
            let length = length.as_ref().map_or(0, |length| *length);
            offsets.push(offsets[offsets.len() - 1] + length.next_multiple_of(256));
        }
        let lease = match self.worker.outputs.lease(offsets[files.len()]) {
            Ok(lease) => lease,
            Err(error) => return lengths.iter().map(|_| Err(error.clone().into())).collect(),
        };
        let target = |index: usize| {
            let len = lengths[index].as_ref().map_or(0, |length| *length);
            CudaTarget::leased(lease.address() + offsets[index] as u64, len)
        };
        let jobs = files.iter().enumerate().map(|(index, (jpeg, options))| Job {
            jpeg: jpeg.clone(),
            options: *options,
            target: target(index),
        });
        let outcomes = self.submit(jobs.collect(), CudaAfter::Nothing).wait();
        let images = outcomes.into_iter().map(|outcome| {
            let report = outcome.result?;
            let mut pixels = vec![0; report.layout.required_len()];
            lease.read(offsets[outcome.index], &mut pixels)?;
            Ok(Image { pixels, report })
        });
        let images = images.collect();
        lease.guard(Vec::new());
        images
    }

    /// The event that targets may be written behind.
    fn before(&self, after: &CudaAfter) -> Result<Option<Before>, BackendError> {
        let worker = &self.worker;
        if !worker.before_edge {
            return Ok(None);
        }
        if worker.ordering == Ordering::HostBarrier {
            match after {
                CudaAfter::Nothing => {}
                CudaAfter::Stream(stream) => stream.synchronize(&worker.device)?,
                CudaAfter::Events(events) => events.iter().try_for_each(|event| event.wait(&worker.device))?,
            }
            return Ok(None);
        }
        match after {
            CudaAfter::Nothing => Ok(None),
            CudaAfter::Stream(stream) => {
                let event = stream.record(&worker.device)?;
                Ok(Some(Before { event, order: stream.raw().addr() }))
            }
            CudaAfter::Events(events) => {
                // The caller's events may be recorded again or gone when they are needed.
                let Some(order) = events.first().map(CallerEvent::address) else { return Ok(None) };
                let stream = worker.streams.writer(Some(order))?;
                events.iter().try_for_each(|event| event.hold_back(&worker.device, &stream))?;
                Ok(Some(Before { event: stream.record()?, order }))
            }
        }
    }

    /// Looks at jobs on the backend's threads and hands them on.
    fn start(&self, jobs: Vec<CpuJob>) {
        let worker = self.worker.clone();
        self.worker.preparing.spawn_fifo(move || {
            if let Some(exact) = &worker.exact {
                let others = exact.take(&worker, jobs);
                return others.into_iter().for_each(|job| ExactDecoder::spawn_packing(&worker, job));
            }
            let mut jobs = jobs.into_iter();
            loop {
                let part: Vec<CpuJob> = jobs.by_ref().take(JOBS_AT_ONCE).collect();
                if part.is_empty() {
                    return;
                }
                let prepared: Vec<_> = part.into_par_iter().filter_map(|job| worker.prepare(job)).collect();
                worker.put(prepared);
            }
        });
    }
}

/// Bytes of the packed pixels.
fn packed_len(jpeg: &[u8], options: &DecodeOptions) -> Result<usize, Error> {
    let codestream = Codestream::parse(jpeg, &options.limits)?;
    Ok(DecodePlan::new(&codestream, options)?.layout().required_len())
}
