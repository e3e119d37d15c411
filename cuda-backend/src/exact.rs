//! isopel's own decoding on the device: the passes of [`isopel_core::subsequences`] and reconstruction, as kernels. The
//! pixels are the CPU backend's, to the byte.
//!
//! Input: jobs of one submission. They are staged into pinned memory, uploaded, and decoded as one wave into memory of
//! the backend's, at once, whatever the caller's streams are doing. One kernel behind the caller's work then writes the
//! pixels. Images that the kernels flag are left out by it and go to the CPU. Files whose scans the kernels do not read,
//! progressive ones above all, are read on the CPU and come here as coefficients.

#![allow(unsafe_code)]

mod finish;
mod kernels;
mod layout;
mod packed;
mod prepare;
mod profile;
mod stage;
mod tables;
mod turns;
mod wave;

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use isopel_core::BackendError;
use isopel_core::subsequences::Synchronisation;

use crate::driver::{Device, DeviceMemory, Event, PinnedMemory, Stream};
use crate::fence::Flight;
use crate::pool::CpuJob;
use crate::queue::WorkQueue;
use crate::staging::{Lease, Ring};
use crate::worker::Worker;
use finish::{Decoding, Finished, QueuedWave};
use kernels::Kernels;
use packed::SpareCoefficients;
use stage::StagedJob;
use tables::KnownTables;
use turns::{Turn, Turns};
use wave::{Grids, Member, Wave};

/// What decodes waves.
#[derive(Debug)]
pub(crate) struct ExactDecoder {
    kernels: Kernels,
    /// By turns, so that one wave is uploaded while another is decoded.
    streams: [Stream; 3],
    next_stream: AtomicUsize,
    staged: Ring<PinnedMemory>,
    descriptions: Ring<PinnedMemory>,
    memory: Ring<DeviceMemory>,
    /// Bytes of device memory of one wave.
    wave_bytes: usize,
    /// Waves whose memory the next ones use.
    spare_waves: Mutex<Vec<Wave>>,
    /// The same for coefficients.
    spare_coefficients: SpareCoefficients,
    known_tables: KnownTables,
    /// Parts of submissions, each one wave or, where memory is short, a few.
    incoming: WorkQueue<Vec<CpuJob>>,
    /// The order in which parts come to the device: as they were submitted.
    turns: Turns,
    finishing: WorkQueue<QueuedWave>,
}

/// Images of one wave.
const IMAGES_AT_ONCE: usize = 256;

/// Threads that stage and queue, each a wave of its own: while one waits for its images to be looked at, another lays its
/// wave out, and a third queues.
pub(crate) const STAGING_THREADS: usize = 3;

/// Bytes of device memory of one wave at most: headers count symbols, words of 4 bytes, in 32 bits.
const MAX_WAVE_BYTES: usize = 8 << 30;

/// Pinned memory for what is on its way up.
const PINNED_BYTES: usize = 512 << 20;

impl ExactDecoder {
    pub(crate) fn new(device: &Arc<Device>, memory: usize) -> Result<Self, BackendError> {
        Ok(ExactDecoder {
            kernels: Kernels::load(device)?,
            streams: [Stream::new(device)?, Stream::new(device)?, Stream::new(device)?],
            next_stream: AtomicUsize::new(0),
            staged: Ring::new(device, PINNED_BYTES),
            descriptions: Ring::new(device, PINNED_BYTES),
            memory: Ring::new(device, memory),
            wave_bytes: (memory / 3).min(MAX_WAVE_BYTES),
            spare_waves: Mutex::default(),
            spare_coefficients: SpareCoefficients::default(),
            known_tables: KnownTables::default(),
            incoming: WorkQueue::default(),
            turns: Turns::default(),
            finishing: WorkQueue::default(),
        })
    }

    /// Waits until nothing is in use on the device.
    pub(crate) fn drain(&self) {
        self.staged.drain();
        self.descriptions.drain();
        self.memory.drain();
    }

    /// Hands over the jobs of one submission.
    pub(crate) fn put(&self, jobs: Vec<CpuJob>) {
        let mut jobs = jobs.into_iter();
        while jobs.len() > 0 {
            self.incoming.put(jobs.by_ref().take(IMAGES_AT_ONCE).collect());
        }
    }

    /// Lets the threads end once their queues are empty.
    pub(crate) fn close(&self) {
        self.incoming.close();
        self.finishing.close();
    }

    /// The life of a thread that stages and queues.
    pub(crate) fn stage_submissions(&self, worker: &Arc<Worker>) {
        // Memory is given in the order of the parts too: a later one must not have what an earlier one waits for.
        let take = || self.incoming.next().map(|jobs| self.with_room(jobs));
        while let Some((jobs, turn)) = self.turns.take(take) {
            // A panic would be a bug. Its jobs fail as their tickets are dropped; others must still be served.
            let _ = catch_unwind(AssertUnwindSafe(|| match jobs {
                Ok((jobs, staged)) => self.decode_part(worker, jobs, staged, &turn),
                Err(jobs) => jobs.into_iter().for_each(|job| Self::spawn_packing(worker, job)),
            }));
        }
    }

    /// The life of the thread that sees to queued waves.
    pub(crate) fn finish_waves(&self, worker: &Arc<Worker>) {
        while let Some(wave) = self.finishing.next() {
            let _ = catch_unwind(AssertUnwindSafe(|| finish::finish(worker, wave)));
        }
    }

    /// Stages those jobs that the kernels take, and queues them when their turn comes; others go elsewhere.
    fn decode_part(&self, worker: &Arc<Worker>, jobs: Vec<CpuJob>, mut staged: Lease<PinnedMemory>, turn: &Turn) {
        let Some(flight) = jobs.first().map(|job| job.ticket.flight().clone()) else { return };
        let (mut images, others) = self.stage(worker, jobs, &mut staged);
        others.into_iter().for_each(|job| Self::spawn_packing(worker, job));
        let mut waves = Vec::new();
        while !images.is_empty() {
            let part: Vec<StagedJob> = images.drain(..self.images_of_wave(&images)).collect();
            waves.push((self.lay_out(&part), part));
        }
        turn.wait();
        let queued = waves.into_iter().filter_map(|(wave, part)| self.decode(worker, &flight, wave, part, &staged));
        let uploaded = queued.collect();
        staged.guard(uploaded);
    }

    /// How many of the first images fit one wave; at least one.
    fn images_of_wave(&self, images: &[StagedJob]) -> usize {
        let mut bytes = 0;
        let fit = images.iter().take_while(|(_, (_, image))| {
            bytes += image.work_bytes();
            bytes <= self.wave_bytes
        });
        fit.count().max(1)
    }

    /// Queues a wave. Gives the event behind its uploads. What can't be queued goes to the CPU.
    fn decode(
        &self,
        worker: &Arc<Worker>,
        flight: &Arc<Flight>,
        wave: LaidOut,
        images: Vec<StagedJob>,
        staged: &Lease<PinnedMemory>,
    ) -> Option<Arc<Event>> {
        let queued = self.queue(worker, flight, wave, staged);
        let finished = images.into_iter().map(|(_, (job, image))| Finished { job, report: image.report }).collect();
        match queued {
            Ok(decoding) => {
                let decoded = decoding.decoded.clone();
                self.finishing.put((decoding, finished));
                Some(decoded)
            }
            Err(error) if error.kind == isopel_core::BackendErrorKind::DeviceLost => {
                finished.into_iter().for_each(|image| image.job.ticket.fail(error.clone().into()));
                None
            }
            Err(_) => {
                finished.into_iter().for_each(|image| worker.spawn_on_cpu(image.job));
                None
            }
        }
    }

    fn queue(
        &self,
        worker: &Worker,
        flight: &Flight,
        wave: LaidOut,
        staged: &Lease<PinnedMemory>,
    ) -> Result<Decoding, BackendError> {
        let stream = &self.streams[self.next_stream.fetch_add(1, Ordering::Relaxed) % self.streams.len()];
        let Uploaded { memory, descriptions, parameter, grids, flags, flags_at, flags_len } =
            self.upload(wave, staged, stream)?;
        // SAFETY: all that the parameter names lies in `memory`, which is leased until the events below, and was
        // uploaded on this stream.
        unsafe { self.kernels.launch(&Kernels::decoding(&grids), &parameter, stream) }?;
        memory.download_range(&descriptions, flags_at, flags, flags_len, stream)?;
        let decoded = Arc::new(stream.record()?);

        let before = flight.before().filter(|before| !before.is_done().unwrap_or(false));
        let writer = worker.streams.writer(before.and(flight.order()))?;
        writer.wait_for(&decoded)?;
        if let Some(before) = before {
            writer.wait_for(before)?;
        }
        // SAFETY: as above, and the stream is behind the decoding. Whoever made the targets vouched for them, owned ones
        // are kept until the fence's event, and their size was checked against the layout that the outputs come from.
        unsafe { self.kernels.launch(&[Kernels::writing(&grids)], &parameter, &writer) }?;
        let written = Arc::new(writer.record()?);
        memory.guard(vec![written.clone()]);
        Ok(Decoding { decoded, written, descriptions, flags_at })
    }

    /// Lays a wave out, but for its place in the device's memory.
    fn lay_out(&self, images: &[StagedJob]) -> LaidOut {
        let first = images.first().map_or(0, |(first_byte, _)| *first_byte);
        let end = images.last().map_or(0, |(first_byte, (_, image))| first_byte + image.staged.data_len);
        let members: Vec<Member> = images
            .iter()
            .map(|(first_byte, (job, image))| Member {
                image,
                first_byte: first_byte - first,
                target: job.target.address,
            })
            .collect();
        let spare = self.spare_waves.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let synchronisation = Synchronisation::for_data(images.len(), end - first);
        LaidOut { wave: spare.unwrap_or_default().fill(&members, synchronisation), data: first..end }
    }

    /// Queues a wave's upload.
    fn upload(
        &self,
        LaidOut { mut wave, data }: LaidOut,
        staged: &Lease<PinnedMemory>,
        stream: &Stream,
    ) -> Result<Uploaded, BackendError> {
        let places = wave.place(data.len());
        let memory = self.memory.lease(places.len)?;
        let parameter = wave.set_address(&places, memory.address());
        let grids = wave.grids();
        let descriptions_len = places.flags() + wave.flags_len() - places.descriptions();
        // Flags come back behind the descriptions.
        let flags_at = descriptions_len.next_multiple_of(16);
        let mut descriptions = self.descriptions.lease(flags_at + wave.flags_len())?;
        wave.write_descriptions(descriptions.bytes_mut());

        memory.upload_range(staged, data.start, 0, data.len(), stream)?;
        memory.upload_range(&descriptions, 0, places.descriptions(), descriptions_len, stream)?;
        let (flags, flags_len) = (places.flags(), wave.flags_len());
        self.spare_waves.lock().unwrap_or_else(PoisonError::into_inner).push(wave);
        Ok(Uploaded { memory, descriptions, parameter, grids, flags, flags_at, flags_len })
    }
}

/// A wave that has no place in the device's memory yet, and where its data lies in what was staged.
struct LaidOut {
    wave: Wave,
    data: Range<usize>,
}

/// A wave on its way to the device.
struct Uploaded {
    memory: Lease<DeviceMemory>,
    descriptions: Lease<PinnedMemory>,
    parameter: layout::Wave,
    grids: Grids,
    /// Where the flags lie in `memory`, and where they go in `descriptions`.
    flags: usize,
    flags_at: usize,
    flags_len: usize,
}
