//! Submissions: jobs through entropy decoding and the stages on the GPU, in the queue's order.

use std::sync::Arc;

#[cfg(not(target_arch = "wasm32"))]
use rayon::prelude::*;

use isopel_core::cpu::{CpuFence, HostBuffer};
use isopel_core::subsequences::Synchronisation;
use isopel_core::{
    Backend, Capabilities, DecodeOptions, Error, Fence, Image, Job, MisuseError, Outcome, Submission, contained,
};

use crate::context::{EntropyDecoding, WgpuBackend};
use crate::error::lost;
use crate::fence::{WgpuFence, finished};
use crate::in_flight::{Unfinished, Waiting};
use crate::record::Memory;
use crate::target::{Place, WgpuTarget};
use crate::tile::{PreparedJob, Staging, prepare};

/// What a submission comes after.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum WgpuAfter {
    /// Everything submitted to the same queue before; the queue itself keeps this order.
    #[default]
    Queue,
    /// Work of other devices, queues or threads: the host waits for these fences before it submits.
    Host(Vec<CpuFence>),
}

/// How one submission is decoded, where that differs from what the backend was opened for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SubmitOptions {
    /// Where entropy decoding runs; `None` for the backend's own choice. A backend that was opened for the CPU's, by
    /// name or because its adapter computes on the CPU, has no passes for the GPU's and stays with it.
    pub entropy: Option<EntropyDecoding>,
}

impl SubmitOptions {
    /// Where entropy decoding runs.
    pub fn entropy(mut self, entropy: EntropyDecoding) -> Self {
        self.entropy = Some(entropy);
        self
    }
}

/// Bytes of files below which the passes of entropy decoding take longer than the CPU.
const WORTH_THE_PASSES: usize = 100 << 10;
/// Bytes of files from which subsequences of 128 bytes are enough to occupy a GPU.
const LARGE_LOAD: usize = 10 << 20;

/// Jobs whose entropy decoding is done before the GPU gets the first of them: enough for few dispatches, few
/// enough for the GPU not to idle long.
const JOBS_AT_ONCE: usize = 64;
/// The same where the GPU decodes entropy, which leaves little to the CPU: the slowest chain of symbols in a few
/// pictures takes as long as that in many.
const JOBS_AT_ONCE_ON_GPU: usize = 256;
/// But hardly more than these bytes of files, so that the GPU decodes some while the CPU lays out others.
const BYTES_AT_ONCE_ON_GPU: usize = 28 << 20;

impl Backend for WgpuBackend {
    type Target = WgpuTarget;
    type After = WgpuAfter;
    type Fence = WgpuFence;

    fn capabilities(&self) -> &Capabilities {
        WgpuBackend::capabilities(self)
    }

    /// Entropy-decodes on this backend's threads, queues the GPU's work, and returns when that is queued, so
    /// that what the caller queues afterwards comes after it.
    ///
    /// Where the GPU decodes entropy, this waits until it has: only then it is known which pictures the CPU has to
    /// decode again, and these are queued too before this returns. Several threads' submissions keep the GPU busy.
    ///
    /// On the web, where nothing may block, entropy decoding is the CPU's in here, and only targets in host memory tell
    /// of errors of the device. [`WgpuBackend::submit_async`] knows neither limit.
    fn submit(&self, jobs: Vec<Job<WgpuTarget>>, after: WgpuAfter) -> Submission<WgpuFence> {
        if let WgpuAfter::Host(fences) = &after {
            fences.iter().for_each(Fence::wait);
        }
        self.submit_and_wait(requests(jobs))
    }
}

/// A job before it is planned.
#[derive(Clone)]
pub(crate) struct Request {
    index: usize,
    jpeg: Arc<[u8]>,
    options: DecodeOptions,
    place: Place,
}

pub(crate) fn requests(jobs: Vec<Job<WgpuTarget>>) -> Vec<Request> {
    let request =
        |(index, Job { jpeg, options, target })| Request { index, jpeg, options, place: Place::Given(target) };
    jobs.into_iter().enumerate().map(request).collect()
}

/// A job that is ready for the GPU.
pub(crate) struct ReadyJob {
    pub(crate) index: usize,
    jpeg: Arc<[u8]>,
    options: DecodeOptions,
    pub(crate) prepared: PreparedJob,
}

impl ReadyJob {
    #[cfg(test)]
    pub(crate) fn new(index: usize, prepared: PreparedJob) -> Self {
        ReadyJob { index, jpeg: Arc::default(), options: DecodeOptions::default(), prepared }
    }

    /// The same once more, for another way.
    pub(crate) fn again(&self) -> Request {
        let place = Place::Given(self.prepared.target.clone());
        Request { index: self.index, jpeg: self.jpeg.clone(), options: self.options, place }
    }
}

impl WgpuBackend {
    /// [`Backend::submit`] as a future that blocks on no device: it is ready when all work is queued, what the CPU has
    /// to decode again included. On the web the browser drives it; natively somebody has to poll the device meanwhile.
    ///
    /// What the caller queues once it is ready comes after all writes. What is queued before may come between two writes
    /// of a picture that the GPU flags, and would see the first of them.
    ///
    /// The CPU's part of the work is done where the future is polled. A future that is dropped leaves the contents of
    /// the targets unspecified.
    pub async fn submit_async(
        &self,
        jobs: Vec<Job<WgpuTarget>>,
        after: WgpuAfter,
        options: &SubmitOptions,
    ) -> Submission<WgpuFence> {
        if let WgpuAfter::Host(fences) = &after {
            for fence in fences {
                finished(fence).await;
            }
        }
        self.submit_requests(requests(jobs), options, Waiting::Async).await
    }

    /// Decodes one image and reads it back. Blocks.
    ///
    /// # Errors
    /// As the CPU backend's, and [`Error::Backend`] if the device fails.
    pub fn decode(&self, jpeg: &[u8], options: &DecodeOptions) -> Result<Image, Error> {
        let (request, buffer) = one_request(jpeg, options);
        image_of(self.submit_and_wait(vec![request]).wait(), &buffer)
    }

    /// Decodes one image and reads it back. On the web nothing blocks, and the browser drives the queue; natively the
    /// first poll does all the work.
    ///
    /// # Errors
    /// As [`WgpuBackend::decode`].
    pub async fn decode_async(&self, jpeg: &[u8], options: &DecodeOptions) -> Result<Image, Error> {
        self.decode_with(jpeg, options, &SubmitOptions::default()).await
    }

    pub(crate) async fn decode_with(
        &self,
        jpeg: &[u8],
        options: &DecodeOptions,
        submit_options: &SubmitOptions,
    ) -> Result<Image, Error> {
        let (request, buffer) = one_request(jpeg, options);
        let waiting = if cfg!(target_arch = "wasm32") { Waiting::Async } else { Waiting::Blocking };
        let submission = self.submit_requests(vec![request], submit_options, waiting).await;
        #[cfg(not(target_arch = "wasm32"))]
        submission.fence().wait();
        submission.fence().finished().await;
        image_of(submission.wait(), &buffer)
    }

    /// Records decodes into the caller's own encoder: they are ordered by it after the passes that it holds and
    /// before those that follow. Entropy decoding is done when this returns. Targets must be on the device.
    ///
    /// The outcomes tell what will have been decoded once the caller has submitted the encoder.
    pub fn encode_into(&self, encoder: &mut wgpu::CommandEncoder, jobs: Vec<Job<WgpuTarget>>) -> Vec<Outcome> {
        let on_host = |request: &Request| matches!(request.place, Place::Given(WgpuTarget::Host(_)));
        let (on_host, on_device): (Vec<_>, Vec<_>) = requests(jobs).into_iter().partition(on_host);
        // Nobody could wait for flags before the caller has submitted the encoder.
        let (ready, mut outcomes) = self.prepare_all(on_device, None);
        for request in on_host {
            let message = "host memory can't be written from a command encoder; use submit".to_string();
            outcomes.push(Outcome { index: request.index, result: Err(MisuseError::Target(message).into()) });
        }
        let recorded = self.guarded(Waiting::Blocking, || {
            // The caller's encoder may be submitted at any time, so its buffers are its own.
            self.record(encoder, &ready, &Memory::Own, None);
        });
        let recorded = pollster::block_on(recorded);
        for job in ready {
            outcomes.push(Outcome {
                index: job.index,
                result: recorded.clone().map(|()| job.prepared.report).map_err(Error::from),
            });
        }
        outcomes.sort_by_key(|outcome| outcome.index);
        outcomes
    }

    fn submit_and_wait(&self, requests: Vec<Request>) -> Submission<WgpuFence> {
        pollster::block_on(self.submit_requests(requests, &SubmitOptions::default(), Waiting::Blocking))
    }

    /// Holds no lock while it decodes, so that several threads' submissions share the cores and the queue.
    async fn submit_requests(
        &self,
        requests: Vec<Request>,
        options: &SubmitOptions,
        waiting: Waiting,
    ) -> Submission<WgpuFence> {
        let entropy = self.entropy_decoding(options, waiting);
        let mut submission = Unfinished::new(self, waiting);
        let mut in_flight = Vec::new();
        let bytes_at_once = equal_parts(requests.iter().map(|request| request.jpeg.len()).sum(), BYTES_AT_ONCE_ON_GPU);
        let mut requests = requests.into_iter().peekable();
        while requests.peek().is_some() {
            let chunk = match entropy {
                EntropyDecoding::Cpu => requests.by_ref().take(JOBS_AT_ONCE).collect(),
                _ => next_chunk(&mut requests, bytes_at_once),
            };
            let staging = self.staging_for(&chunk, entropy);
            let (ready, failed) = self.prepare_all(chunk, staging.as_ref());
            failed.into_iter().for_each(|outcome| submission.outcomes.put(outcome));
            let queued = submission.queue_jobs(ready).await;
            // The GPU decodes these while the flags of those before are read.
            for before in std::mem::replace(&mut in_flight, queued) {
                submission.settle(before).await;
            }
        }
        for last in in_flight {
            submission.settle(last).await;
        }
        submission.finish()
    }

    /// Where a submission's entropy decoding may run.
    pub(crate) fn entropy_decoding(&self, options: &SubmitOptions, waiting: Waiting) -> EntropyDecoding {
        let wanted = options.entropy.unwrap_or(self.entropy);
        let is_slow = wanted == EntropyDecoding::Auto && self.adapter().device_type == wgpu::DeviceType::Cpu;
        if !self.decodes_entropy() || is_slow || !waiting.is_possible() {
            return EntropyDecoding::Cpu;
        }
        wanted
    }

    /// Whether the GPU decodes the entropy of some requests, and in what pieces: large ones cost less in all, small
    /// ones give more threads.
    pub(crate) fn staging_for(&self, requests: &[Request], entropy: EntropyDecoding) -> Option<Staging<'_>> {
        let bytes: usize = requests.iter().map(|request| request.jpeg.len()).sum();
        let is_too_little = entropy == EntropyDecoding::Auto && bytes < WORTH_THE_PASSES;
        if entropy == EntropyDecoding::Cpu || is_too_little {
            return None;
        }
        let subsequence_bytes = match bytes {
            LARGE_LOAD.. => 128,
            Synchronisation::CANDIDATES_DATA.. => 64,
            _ => 48,
        };
        Some(Staging { memory: &self.staged_memory, subsequence_bytes })
    }

    /// Parses, plans and entropy-decodes jobs on this backend's threads, or lays their data out for the GPU; gives
    /// those that can go on, and the outcomes of the others.
    pub(crate) fn prepare_all(
        &self,
        requests: Vec<Request>,
        staging: Option<&Staging>,
    ) -> (Vec<ReadyJob>, Vec<Outcome>) {
        let limits = self.tile_limits();
        let prepare_one = |request: Request| {
            let Request { index, jpeg, options, place } = request;
            match contained(|| prepare(&jpeg, &options, place, limits, &self.pack_memory, staging)) {
                Ok(prepared) => Ok(ReadyJob { index, jpeg, options, prepared }),
                Err(error) => Err(Outcome { index, result: Err(error) }),
            }
        };
        #[cfg(not(target_arch = "wasm32"))]
        let results: Vec<_> = self.threads.install(|| requests.into_par_iter().map(prepare_one).collect());
        #[cfg(target_arch = "wasm32")]
        let results: Vec<_> = requests.into_iter().map(prepare_one).collect();
        let (mut ready, mut failed) = (Vec::new(), Vec::new());
        for result in results {
            match result {
                Ok(job) => ready.push(job),
                Err(outcome) => failed.push(outcome),
            }
        }
        (ready, failed)
    }
}

/// How many bytes make one of the fewest equal parts that have at most so many; at least one. A small last part would
/// take the GPU nearly as long as a large one.
fn equal_parts(bytes: usize, at_most: usize) -> usize {
    bytes.div_ceil(bytes.div_ceil(at_most).max(1)).max(1)
}

/// The requests that are recorded together if the GPU decodes their entropy.
fn next_chunk(requests: &mut impl Iterator<Item = Request>, bytes_at_once: usize) -> Vec<Request> {
    let (mut chunk, mut bytes) = (Vec::new(), 0);
    while chunk.len() < JOBS_AT_ONCE_ON_GPU && bytes < bytes_at_once {
        let Some(request) = requests.next() else { break };
        bytes += request.jpeg.len();
        chunk.push(request);
    }
    chunk
}

/// A request for one image that goes to host memory made for it.
fn one_request(jpeg: &[u8], options: &DecodeOptions) -> (Request, HostBuffer) {
    let buffer = HostBuffer::default();
    let place = Place::NewHostMemory(buffer.clone());
    (Request { index: 0, jpeg: jpeg.into(), options: *options, place }, buffer)
}

fn image_of(outcomes: Vec<Outcome>, buffer: &HostBuffer) -> Result<Image, Error> {
    let outcome = outcomes.into_iter().next();
    let report = outcome.map_or_else(|| Err(lost("the submission was dropped").into()), |outcome| outcome.result)?;
    Ok(Image { pixels: std::mem::take(&mut *buffer.lock()), report })
}

#[cfg(test)]
mod tests {
    use isopel_conformance::{corpus, gpu};

    use super::*;

    #[test]
    fn parts_are_equal_and_few() {
        assert_eq!(equal_parts(0, 10), 1, "or nobody would get on");
        assert_eq!([1, 10, 11, 25, 30].map(|bytes| equal_parts(bytes, 10)), [1, 10, 6, 9, 10]);
    }

    /// What a bug in decoding one file costs.
    #[test]
    fn a_panic_costs_no_other_job() {
        let Some((device, queue)) = gpu::callers_device_or_explain(wgpu::Limits::default()) else { return };
        let backend = gpu::block_on(WgpuBackend::from_device(device, queue, 2)).expect("the device suffices");
        let jpeg: Arc<[u8]> = corpus::hazard("container-base-420.jpg").expect("it is in the corpus").into();
        let request = |(index, place)| Request { index, jpeg: jpeg.clone(), options: DecodeOptions::default(), place };
        let place = || Place::NewHostMemory(HostBuffer::default());
        let places = [place(), Place::Panic, place(), Place::Panic];
        let outcomes = backend.submit_and_wait(places.into_iter().enumerate().map(request).collect()).wait();
        let codes: Vec<_> = outcomes.iter().map(|outcome| outcome.result.as_ref().map_err(Error::code)).collect();
        assert!(matches!(codes[..], [Ok(_), Err("internal"), Ok(_), Err("internal")]), "{codes:?}");
    }
}
