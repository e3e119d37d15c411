//! Submissions: jobs through entropy decoding on the CPU and the stages on the GPU, in the queue's order.

use std::sync::Arc;

#[cfg(not(target_arch = "wasm32"))]
use rayon::prelude::*;

use isopel_core::cpu::{CpuFence, CpuSignal, HostBuffer};
use isopel_core::{
    Backend, BackendError, BackendErrorKind, Capabilities, DecodeOptions, Error, Fence, Image, Job, MisuseError,
    Outcome, OutcomeSlots, Report, Submission, contained,
};

use crate::context::WgpuBackend;
use crate::download::{Download, copy_to_texture, start_all};
use crate::error::lost;
use crate::fence::WgpuFence;
use crate::target::{Place, WgpuTarget};
use crate::tile::{PreparedJob, Tile, prepare};
use crate::wave::{PassTimestamps, Slot, TileSize, UploadChunk, Wave};

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

/// Bytes of upload that one thread writes: a few pictures.
const STAGING_CHUNK: u64 = 4 << 20;

/// Jobs whose entropy decoding is done before the GPU gets the first of them: enough for few dispatches, few
/// enough for the GPU not to idle long.
const JOBS_AT_ONCE: usize = 64;

impl Backend for WgpuBackend {
    type Target = WgpuTarget;
    type After = WgpuAfter;
    type Fence = WgpuFence;

    fn capabilities(&self) -> &Capabilities {
        WgpuBackend::capabilities(self)
    }

    /// Entropy-decodes on this backend's threads, queues the GPU's work, and returns when that is queued, so
    /// that what the caller queues afterwards comes after it.
    fn submit(&self, jobs: Vec<Job<WgpuTarget>>, after: WgpuAfter) -> Submission<WgpuFence> {
        if let WgpuAfter::Host(fences) = &after {
            fences.iter().for_each(Fence::wait);
        }
        self.submit_requests(requests(jobs))
    }
}

/// A job before it is planned.
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
    index: usize,
    pub(crate) prepared: PreparedJob,
}

impl ReadyJob {
    #[cfg(test)]
    pub(crate) fn new(index: usize, prepared: PreparedJob) -> Self {
        ReadyJob { index, prepared }
    }
}

impl WgpuBackend {
    /// Decodes one image and reads it back. Blocks.
    ///
    /// # Errors
    /// As the CPU backend's, and [`Error::Backend`] if the device fails.
    pub fn decode(&self, jpeg: &[u8], options: &DecodeOptions) -> Result<Image, Error> {
        let (submission, buffer) = self.submit_one(jpeg, options);
        image_of(submission.wait(), &buffer)
    }

    /// Decodes one image and reads it back, without blocking: on the web the browser drives the queue.
    ///
    /// # Errors
    /// As [`WgpuBackend::decode`].
    pub async fn decode_async(&self, jpeg: &[u8], options: &DecodeOptions) -> Result<Image, Error> {
        let (submission, buffer) = self.submit_one(jpeg, options);
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
        let (ready, mut outcomes) = self.prepare_all(on_device);
        for request in on_host {
            let message = "host memory can't be written from a command encoder; use submit".to_string();
            outcomes.push(Outcome { index: request.index, result: Err(MisuseError::Target(message).into()) });
        }
        let recorded = self.guarded(|| {
            // The caller's encoder may be submitted at any time, so its buffers are its own.
            self.record(encoder, &ready, &Memory::Own, None);
        });
        for job in ready {
            outcomes.push(Outcome {
                index: job.index,
                result: recorded.clone().map(|()| job.prepared.report).map_err(Error::from),
            });
        }
        outcomes.sort_by_key(|outcome| outcome.index);
        outcomes
    }

    /// Submits one image that goes to host memory made for it.
    fn submit_one(&self, jpeg: &[u8], options: &DecodeOptions) -> (Submission<WgpuFence>, HostBuffer) {
        let buffer = HostBuffer::default();
        let place = Place::NewHostMemory(buffer.clone());
        let request = Request { index: 0, jpeg: jpeg.into(), options: *options, place };
        (self.submit_requests(vec![request]), buffer)
    }

    /// Holds no lock while it decodes, so that several threads' submissions share the cores and the queue.
    fn submit_requests(&self, requests: Vec<Request>) -> Submission<WgpuFence> {
        let (signal, callbacks) = CpuSignal::new();
        let signal = Arc::new(signal);
        let outcomes = OutcomeSlots::default();
        let mut index = None;
        let mut requests = requests.into_iter().peekable();
        while requests.peek().is_some() {
            let (ready, failed) = self.prepare_all(requests.by_ref().take(JOBS_AT_ONCE).collect());
            failed.into_iter().for_each(|outcome| outcomes.put(outcome));
            if !ready.is_empty() {
                index = self.queue_jobs(ready, &outcomes, &signal).or(index);
            }
        }
        drop(signal);
        Submission::new(WgpuFence::new(self.device.clone(), index, callbacks), outcomes)
    }

    /// Records and queues jobs together; if the device refuses, one by one, so that one costs no other.
    fn queue_jobs(
        &self,
        jobs: Vec<ReadyJob>,
        outcomes: &OutcomeSlots,
        signal: &Arc<CpuSignal>,
    ) -> Option<wgpu::SubmissionIndex> {
        let queued = self.guarded(|| {
            let mut encoder =
                self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("jpeg") });
            let (used, downloads) = self.record(&mut encoder, &jobs, &Memory::Pooled, None);
            (self.queue.submit([encoder.finish()]), used, downloads)
        });
        match queued {
            Ok((index, used, downloads)) => {
                // If the device is lost meanwhile, the callbacks tell.
                let ((), _) = self.caught(|| {
                    // Only now: buffers that could not be made would spoil the pools.
                    used.give_back(self);
                    self.report_when_done(jobs, downloads, outcomes, signal);
                });
                Some(index)
            }
            Err(error) if jobs.len() > 1 && error.kind != BackendErrorKind::DeviceLost => {
                jobs.into_iter().filter_map(|job| self.queue_jobs(vec![job], outcomes, signal)).last()
            }
            Err(error) => {
                jobs.iter().for_each(|job| outcomes.put(failure(job.index, &error)));
                None
            }
        }
    }

    fn report_when_done(
        &self,
        ready: Vec<ReadyJob>,
        downloads: Vec<Vec<Download>>,
        outcomes: &OutcomeSlots,
        signal: &Arc<CpuSignal>,
    ) {
        let mut on_device = Vec::new();
        for (job, downloads) in ready.into_iter().zip(downloads) {
            job.prepared.tiles.into_iter().for_each(|tile| self.pack_memory.put(tile.packed));
            let report = (job.index, job.prepared.report);
            if downloads.is_empty() {
                on_device.push(report);
                continue;
            }
            let (outcomes, signal) = (outcomes.clone(), signal.clone());
            start_all(downloads, move |result| {
                outcomes.put(outcome(report, result));
                drop(signal);
            });
        }
        let (outcomes, signal, device_state) = (outcomes.clone(), signal.clone(), self.device_state());
        self.queue.on_submitted_work_done(move || {
            let result = if on_device.is_empty() { Ok(()) } else { device_state.check() };
            on_device.into_iter().for_each(|report| outcomes.put(outcome(report, result.clone())));
            drop(signal);
        });
    }

    /// Parses, plans and entropy-decodes jobs on this backend's threads; gives those that can go on, and the
    /// outcomes of the others.
    pub(crate) fn prepare_all(&self, requests: Vec<Request>) -> (Vec<ReadyJob>, Vec<Outcome>) {
        let limits = self.tile_limits();
        let prepare_one = |request: Request| {
            let Request { index, jpeg, options, place } = request;
            match contained(|| prepare(&jpeg, &options, place, limits, &self.pack_memory)) {
                Ok(prepared) => Ok(ReadyJob { index, prepared }),
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

    /// Records all passes and copies of some jobs; gives the downloads of each.
    pub(crate) fn record(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        jobs: &[ReadyJob],
        memory: &Memory,
        timestamps: Option<&PassTimestamps>,
    ) -> (UsedBuffers, Vec<Vec<Download>>) {
        let mut used = UsedBuffers::default();
        let mut wave: Vec<(&Tile, Slot)> = Vec::new();
        let mut size = TileSize { plane_bytes: 0, symbol_bytes: 0 };
        let mut buffers = Vec::new();
        for (job, tile) in jobs.iter().flat_map(|job| job.prepared.tiles.iter().map(move |tile| (job, tile))) {
            let slot = match &job.prepared.target {
                WgpuTarget::Buffer(target) => Slot { buffer: target.buffer.clone(), base: target.offset },
                WgpuTarget::Texture(_) | WgpuTarget::Host(_) => {
                    let bytes = (tile.layout.required_len() as u64).next_multiple_of(4);
                    let buffer = self.outputs.take(&self.device, bytes);
                    used.outputs.push(buffer.clone());
                    Slot { buffer, base: 0 }
                }
            };
            let tile_size = TileSize::of(tile);
            if !wave.is_empty() && !size.fits_with(&tile_size, self.limits.max_binding) {
                self.record_wave(encoder, std::mem::take(&mut wave), memory, &mut used, timestamps);
                size = TileSize { plane_bytes: 0, symbol_bytes: 0 };
            }
            size.add(&tile_size);
            buffers.push(slot.buffer.clone());
            wave.push((tile, slot));
        }
        if !wave.is_empty() {
            self.record_wave(encoder, wave, memory, &mut used, timestamps);
        }
        let mut buffers = buffers.iter();
        let downloads = jobs.iter().map(|job| self.record_copies(encoder, &job.prepared, buffers.by_ref())).collect();
        (used, downloads)
    }

    /// Records the copies from the buffers of a job's tiles to a target that is no buffer of the device's.
    fn record_copies<'b>(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        job: &PreparedJob,
        buffers: impl Iterator<Item = &'b wgpu::Buffer>,
    ) -> Vec<Download> {
        let copy = |(tile, buffer): (&Tile, &wgpu::Buffer)| match &job.target {
            WgpuTarget::Buffer(_) => None,
            WgpuTarget::Texture(texture) => {
                copy_to_texture(encoder, buffer, tile, texture);
                None
            }
            WgpuTarget::Host(target) => Some(Download::record(self, encoder, buffer, tile, &job.report.layout, target)),
        };
        job.tiles.iter().zip(buffers).filter_map(copy).collect()
    }

    fn record_wave(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        tiles: Vec<(&Tile, Slot)>,
        memory: &Memory,
        used: &mut UsedBuffers,
        timestamps: Option<&PassTimestamps>,
    ) {
        let wave = Wave::new(&tiles, self.limits);
        let upload = match memory {
            Memory::Pooled => {
                let upload = self.uploads.take(&self.device, wave.upload_len());
                let chunks: Vec<(UploadChunk, wgpu::Buffer)> = wave
                    .upload_chunks(STAGING_CHUNK)
                    .into_iter()
                    .map(|chunk| {
                        let staging = self.staging.take(&self.device, chunk.len);
                        (chunk, staging)
                    })
                    .collect();
                let fill_chunk = |(chunk, staging): &(UploadChunk, wgpu::Buffer)| fill(&wave, chunk, staging);
                #[cfg(not(target_arch = "wasm32"))]
                self.threads.install(|| chunks.par_iter().for_each(fill_chunk));
                #[cfg(target_arch = "wasm32")]
                chunks.iter().for_each(fill_chunk);
                for (chunk, staging) in chunks {
                    // Here and not on the workers: error scopes belong to a thread.
                    staging.unmap();
                    encoder.copy_buffer_to_buffer(&staging, 0, &upload, chunk.offset, chunk.len);
                    used.staging.push(staging);
                }
                used.uploads.push(upload.clone());
                upload
            }
            Memory::Own => {
                let upload = self.device.create_buffer(&wgpu::BufferDescriptor {
                    label: Some("jpeg.upload"),
                    size: wave.upload_len(),
                    usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
                    mapped_at_creation: true,
                });
                for chunk in wave.upload_chunks(u64::MAX) {
                    fill(&wave, &chunk, &upload);
                }
                upload.unmap();
                upload
            }
        };
        let planes = self.planes.take(&self.device, wave.plane_bytes());
        used.planes.push(planes.clone());
        for _ in 0..timestamps.map_or(1, |timestamps| timestamps.repetitions) {
            wave.record(&self.device, encoder, &self.pipelines, &upload, &planes, timestamps);
        }
    }
}

/// Whose the buffers of a recording are.
pub(crate) enum Memory {
    /// The pool's: written through the queue just before the submission.
    Pooled,
    /// The recording's own: filled at once.
    Own,
}

/// Buffers to give back once their submission is queued.
#[derive(Default)]
pub(crate) struct UsedBuffers {
    staging: Vec<wgpu::Buffer>,
    uploads: Vec<wgpu::Buffer>,
    pub(crate) planes: Vec<wgpu::Buffer>,
    outputs: Vec<wgpu::Buffer>,
}

impl UsedBuffers {
    pub(crate) fn give_back(self, backend: &WgpuBackend) {
        self.staging.into_iter().for_each(|buffer| backend.staging.put(buffer));
        self.uploads.into_iter().for_each(|buffer| backend.uploads.put(buffer));
        self.planes.into_iter().for_each(|buffer| backend.planes.put(buffer));
        self.outputs.into_iter().for_each(|buffer| backend.outputs.put(buffer));
    }
}

/// Writes a chunk of a wave's upload into a mapped buffer.
fn fill(wave: &Wave, chunk: &UploadChunk, buffer: &wgpu::Buffer) {
    // Only a lost device can't give the range, and then nothing will be read.
    if let Ok(mut view) = buffer.get_mapped_range_mut(..chunk.len) {
        wave.write_chunk(chunk, view.slice(..));
    }
}

fn image_of(outcomes: Vec<Outcome>, buffer: &HostBuffer) -> Result<Image, Error> {
    let outcome = outcomes.into_iter().next();
    let report = outcome.map_or_else(|| Err(lost("the submission was dropped").into()), |outcome| outcome.result)?;
    Ok(Image { pixels: std::mem::take(&mut *buffer.lock()), report })
}

fn outcome((index, report): (usize, Report), result: Result<(), BackendError>) -> Outcome {
    Outcome { index, result: result.map(|()| report).map_err(Error::from) }
}

fn failure(index: usize, error: &BackendError) -> Outcome {
    Outcome { index, result: Err(error.clone().into()) }
}

#[cfg(test)]
mod tests {
    use isopel_conformance::{corpus, gpu};

    use super::*;

    /// What a bug in decoding one file costs.
    #[test]
    fn a_panic_costs_no_other_job() {
        let Some((device, queue)) = gpu::callers_device_or_explain(wgpu::Limits::default()) else { return };
        let backend = gpu::block_on(WgpuBackend::from_device(device, queue, 2)).expect("the device suffices");
        let jpeg: Arc<[u8]> = corpus::hazard("container-base-420.jpg").expect("it is in the corpus").into();
        let request = |(index, place)| Request { index, jpeg: jpeg.clone(), options: DecodeOptions::default(), place };
        let place = || Place::NewHostMemory(HostBuffer::default());
        let places = [place(), Place::Panic, place(), Place::Panic];
        let outcomes = backend.submit_requests(places.into_iter().enumerate().map(request).collect()).wait();
        let codes: Vec<_> = outcomes.iter().map(|outcome| outcome.result.as_ref().map_err(Error::code)).collect();
        assert!(matches!(codes[..], [Ok(_), Err("internal"), Ok(_), Err("internal")]), "{codes:?}");
    }
}
