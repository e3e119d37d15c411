//! Submissions: jobs through entropy decoding on the CPU and the stages on the GPU, in the queue's order.

use std::sync::Arc;

#[cfg(not(target_arch = "wasm32"))]
use rayon::prelude::*;

use isopel_core::cpu::{CpuFence, CpuSignal, HostBuffer};
use isopel_core::{
    Backend, BackendError, BackendErrorKind, Capabilities, DecodeOptions, Error, Fence, Image, Job, MisuseError,
    Outcome, OutcomeSlots, Report, Submission, contained,
};

use crate::context::{EntropyDecoding, WgpuBackend};
use crate::download::{Download, copy_to_texture, start_all};
use crate::error::lost;
use crate::fence::WgpuFence;
use crate::flags::{PictureFlags, read_all};
use crate::target::{Place, WgpuTarget};
use crate::tile::{Coefficients, PreparedJob, Staging, Tile, prepare};
use crate::wave::{PassTimestamps, Slot, TileSize, UploadChunk, Wave, WaveBuffers};

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

/// Bytes of files below which the passes of entropy decoding take longer than the CPU.
const WORTH_THE_PASSES: usize = 100 << 10;
/// Bytes of files from which subsequences of 64 and of 128 bytes are enough to occupy a GPU.
const MEDIUM_LOAD: usize = 1 << 20;
const LARGE_LOAD: usize = 10 << 20;

/// Bytes for the symbols of one wave that the GPU decodes, at most: they are as many as the data could fill.
const MOST_SYMBOL_BYTES: u64 = 1 << 30;

/// Jobs whose entropy decoding is done before the GPU gets the first of them: enough for few dispatches, few
/// enough for the GPU not to idle long.
const JOBS_AT_ONCE: usize = 64;
/// The same where the GPU decodes entropy, which leaves little to the CPU: the slowest chain of symbols in a few
/// pictures takes as long as that in many.
const JOBS_AT_ONCE_ON_GPU: usize = 256;
/// But no more than these bytes of files and one more, so that the GPU decodes some while the CPU lays out others.
const BYTES_AT_ONCE_ON_GPU: usize = 16 << 20;

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
    fn submit(&self, jobs: Vec<Job<WgpuTarget>>, after: WgpuAfter) -> Submission<WgpuFence> {
        if let WgpuAfter::Host(fences) = &after {
            fences.iter().for_each(Fence::wait);
        }
        self.submit_requests(requests(jobs))
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
    index: usize,
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
    fn again(&self) -> Request {
        let place = Place::Given(self.prepared.target.clone());
        Request { index: self.index, jpeg: self.jpeg.clone(), options: self.options, place }
    }
}

/// Queued jobs of which it is not known yet whether the GPU could decode them.
struct InFlight {
    index: wgpu::SubmissionIndex,
    jobs: Vec<ReadyJob>,
    downloads: Vec<Vec<Download>>,
    flags: Vec<PictureFlags>,
}

/// What was recorded for some jobs.
pub(crate) struct Recorded {
    pub(crate) used: UsedBuffers,
    downloads: Vec<Vec<Download>>,
    flags: Vec<PictureFlags>,
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
        // Nobody could wait for flags before the caller has submitted the encoder.
        let (ready, mut outcomes) = self.prepare_all(on_device, None);
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
        let mut in_flight = None;
        let mut requests = requests.into_iter().peekable();
        while requests.peek().is_some() {
            let chunk = self.next_chunk(&mut requests);
            let staging = self.staging_for(&chunk);
            let (ready, failed) = self.prepare_all(chunk, staging.as_ref());
            failed.into_iter().for_each(|outcome| outcomes.put(outcome));
            let queued = self.queue_jobs(ready, &outcomes, &signal);
            index = queued.index.or(index);
            // The GPU decodes these while the flags of those before are read.
            for before in in_flight.replace(queued.in_flight).into_iter().flatten() {
                index = self.settle(before, &outcomes, &signal).or(index);
            }
        }
        for last in in_flight.into_iter().flatten() {
            index = self.settle(last, &outcomes, &signal).or(index);
        }
        drop(signal);
        Submission::new(WgpuFence::new(self.device.clone(), index, callbacks), outcomes)
    }

    /// The requests that are recorded together.
    fn next_chunk(&self, requests: &mut impl Iterator<Item = Request>) -> Vec<Request> {
        if self.pipelines.huffman.is_none() {
            return requests.take(JOBS_AT_ONCE).collect();
        }
        let (mut chunk, mut bytes) = (Vec::new(), 0);
        while chunk.len() < JOBS_AT_ONCE_ON_GPU && bytes < BYTES_AT_ONCE_ON_GPU {
            let Some(request) = requests.next() else { break };
            bytes += request.jpeg.len();
            chunk.push(request);
        }
        chunk
    }

    /// Whether the GPU decodes the entropy of some requests, and in what pieces: large ones cost less in all, small
    /// ones give more threads.
    pub(crate) fn staging_for(&self, requests: &[Request]) -> Option<Staging<'_>> {
        let bytes: usize = requests.iter().map(|request| request.jpeg.len()).sum();
        let is_too_little = self.entropy == EntropyDecoding::Auto && bytes < WORTH_THE_PASSES;
        if self.pipelines.huffman.is_none() || is_too_little {
            return None;
        }
        let subsequence_bytes = match bytes {
            LARGE_LOAD.. => 128,
            MEDIUM_LOAD.. => 64,
            _ => 32,
        };
        Some(Staging { memory: &self.staged_memory, subsequence_bytes })
    }

    /// Records and queues jobs together; if the device refuses, one by one, so that one costs no other.
    fn queue_jobs(&self, mut jobs: Vec<ReadyJob>, outcomes: &OutcomeSlots, signal: &Arc<CpuSignal>) -> Queued {
        if jobs.is_empty() {
            return Queued::default();
        }
        let queued = self.guarded(|| {
            let mut encoder =
                self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("jpeg") });
            let recorded = self.record(&mut encoder, &jobs, &Memory::Pooled, None);
            (self.queue.submit([encoder.finish()]), recorded)
        });
        match queued {
            Ok((index, Recorded { used, downloads, flags })) => {
                // What they held has been copied.
                jobs.iter_mut().for_each(|job| self.take_back(std::mem::take(&mut job.prepared.tiles)));
                // If the device is lost meanwhile, the callbacks tell.
                let (in_flight, _) = self.caught(|| {
                    // Only now: buffers that could not be made would spoil the pools.
                    used.give_back(self);
                    flags.iter().for_each(PictureFlags::start_reading);
                    if !flags.is_empty() {
                        return Some(InFlight { index: index.clone(), jobs, downloads, flags });
                    }
                    self.report_when_done(jobs, downloads, outcomes, signal);
                    None
                });
                Queued { index: Some(index), in_flight: in_flight.into_iter().collect() }
            }
            Err(error) if jobs.len() > 1 && error.kind != BackendErrorKind::DeviceLost => {
                let mut all = Queued::default();
                for job in jobs {
                    let one = self.queue_jobs(vec![job], outcomes, signal);
                    all.index = one.index.or(all.index);
                    all.in_flight.extend(one.in_flight);
                }
                all
            }
            Err(error) => {
                jobs.iter().for_each(|job| outcomes.put(failure(job.index, &error)));
                Queued::default()
            }
        }
    }

    /// Waits until the flags of queued jobs are known, and queues those that are flagged again, with the CPU's
    /// entropy decoding.
    fn settle(
        &self,
        in_flight: InFlight,
        outcomes: &OutcomeSlots,
        signal: &Arc<CpuSignal>,
    ) -> Option<wgpu::SubmissionIndex> {
        let InFlight { index, jobs, downloads, flags } = in_flight;
        // An error is a lost device, which reading tells.
        let _ = self.device.poll(wgpu::PollType::Wait { submission_index: Some(index), timeout: None });
        let flagged = match read_all(&flags, jobs.len(), &self.device_state()) {
            Ok(flagged) => flagged,
            Err(error) => {
                jobs.iter().for_each(|job| outcomes.put(failure(job.index, &error)));
                return None;
            }
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
        let ((), _) = self.caught(|| self.report_when_done(right, right_downloads, outcomes, signal));
        let (ready, failed) = self.prepare_all(again, None);
        failed.into_iter().for_each(|outcome| outcomes.put(outcome));
        self.queue_jobs(ready, outcomes, signal).index
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

    fn report_when_done(
        &self,
        ready: Vec<ReadyJob>,
        downloads: Vec<Vec<Download>>,
        outcomes: &OutcomeSlots,
        signal: &Arc<CpuSignal>,
    ) {
        let mut on_device = Vec::new();
        for (job, downloads) in ready.into_iter().zip(downloads) {
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

    /// Records all passes and copies of some jobs; gives the downloads of each.
    pub(crate) fn record(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        jobs: &[ReadyJob],
        memory: &Memory,
        timestamps: Option<&PassTimestamps>,
    ) -> Recorded {
        let mut used = UsedBuffers::default();
        let mut flags = Vec::new();
        let mut buffers = Vec::new();
        let mut tiles = Vec::new();
        for (position, job) in jobs.iter().enumerate() {
            for tile in &job.prepared.tiles {
                let slot = match &job.prepared.target {
                    WgpuTarget::Buffer(target) => Slot { buffer: target.buffer.clone(), base: target.offset },
                    WgpuTarget::Texture(_) | WgpuTarget::Host(_) => {
                        let bytes = (tile.layout.required_len() as u64).next_multiple_of(4);
                        let buffer = self.outputs.take(&self.device, bytes);
                        used.outputs.push(buffer.clone());
                        Slot { buffer, base: 0 }
                    }
                };
                buffers.push(slot.buffer.clone());
                tiles.push((position, tile, slot));
            }
        }
        let (staged, packed): (Vec<_>, Vec<_>) = tiles.into_iter().partition(|(_, tile, _)| tile.is_staged());
        for wave in in_waves(staged, self.limits.max_binding.min(MOST_SYMBOL_BYTES)).into_iter() {
            let (positions, wave) = wave;
            let copy = self.record_wave(encoder, wave, memory, &mut used, timestamps);
            flags.extend(copy.map(|buffer| PictureFlags::new(buffer, positions)));
        }
        for (_, wave) in in_waves(packed, self.limits.max_binding) {
            self.record_wave(encoder, wave, memory, &mut used, timestamps);
        }
        let mut buffers = buffers.iter();
        let downloads = jobs.iter().map(|job| self.record_copies(encoder, &job.prepared, buffers.by_ref())).collect();
        Recorded { used, downloads, flags }
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

    /// Gives the copy of its pictures' flags, if it has any.
    fn record_wave(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        tiles: Vec<(&Tile, Slot)>,
        memory: &Memory,
        used: &mut UsedBuffers,
        timestamps: Option<&PassTimestamps>,
    ) -> Option<wgpu::Buffer> {
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
        let decoded = wave.decoded_lens().map(|(scratch, coefficients)| {
            let scratch = self.scratch.take(&self.device, scratch);
            let coefficients = self.coefficients.take(&self.device, coefficients);
            used.scratch.push(scratch.clone());
            used.coefficients.push(coefficients.clone());
            (scratch, coefficients)
        });
        let buffers = WaveBuffers { upload, planes, decoded };
        for _ in 0..timestamps.map_or(1, |timestamps| timestamps.repetitions) {
            wave.record(&self.device, encoder, &self.pipelines, &buffers, timestamps);
        }
        let (flags, (scratch, _)) = (wave.flags()?, buffers.decoded?);
        let copy = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("jpeg.flags"),
            size: flags.size,
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        encoder.copy_buffer_to_buffer(&scratch, flags.offset, &copy, 0, flags.size);
        Some(copy)
    }
}

/// What came of queueing some jobs.
#[derive(Default)]
struct Queued {
    index: Option<wgpu::SubmissionIndex>,
    in_flight: Vec<InFlight>,
}

/// Positions of jobs, and their tiles.
type WaveOfJobs<'t> = (Vec<usize>, Vec<(&'t Tile, Slot)>);

/// Tiles with their jobs' positions, as many at once as fit bindings of this size.
fn in_waves(tiles: Vec<(usize, &Tile, Slot)>, max_binding: u64) -> Vec<WaveOfJobs<'_>> {
    let mut waves: Vec<WaveOfJobs> = Vec::new();
    let mut size = TileSize { plane_bytes: 0, symbol_bytes: 0 };
    for (position, tile, slot) in tiles {
        let tile_size = TileSize::of(tile);
        if waves.is_empty() || !size.fits_with(&tile_size, max_binding) {
            waves.push(Default::default());
            size = TileSize { plane_bytes: 0, symbol_bytes: 0 };
        }
        size.add(&tile_size);
        if let Some((positions, wave)) = waves.last_mut() {
            positions.push(position);
            wave.push((tile, slot));
        }
    }
    waves
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
    scratch: Vec<wgpu::Buffer>,
    coefficients: Vec<wgpu::Buffer>,
}

impl UsedBuffers {
    pub(crate) fn give_back(self, backend: &WgpuBackend) {
        self.staging.into_iter().for_each(|buffer| backend.staging.put(buffer));
        self.uploads.into_iter().for_each(|buffer| backend.uploads.put(buffer));
        self.planes.into_iter().for_each(|buffer| backend.planes.put(buffer));
        self.outputs.into_iter().for_each(|buffer| backend.outputs.put(buffer));
        self.scratch.into_iter().for_each(|buffer| backend.scratch.put(buffer));
        self.coefficients.into_iter().for_each(|buffer| backend.coefficients.put(buffer));
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
