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
mod wave;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use isopel_core::{BackendError, Codestream, DecodePlan, Error};
use rayon::prelude::*;

use crate::driver::{Device, DeviceMemory, Event, PinnedMemory, Stream};
use crate::fence::Flight;
use crate::pool::CpuJob;
use crate::queue::WorkQueue;
use crate::staging::{Lease, Ring};
use crate::worker::Worker;
use finish::{Decoding, Finished, QueuedWave};
use kernels::Kernels;
use packed::SpareCoefficients;
use prepare::StagedImage;
use wave::{Grids, MAX_CANDIDATES_DATA, Member, Synchronisation, Wave};

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
    /// Submissions. One thread takes them one after the other, so that the device has the first wave while the next is
    /// being staged.
    incoming: WorkQueue<Vec<CpuJob>>,
    finishing: WorkQueue<QueuedWave>,
}

/// Images of one wave.
const IMAGES_AT_ONCE: usize = 256;

/// Bytes of device memory of one wave at most: headers count symbols, words of 4 bytes, in 32 bits.
const MAX_WAVE_BYTES: usize = 8 << 30;

/// Pinned memory for what is on its way up.
const PINNED_BYTES: usize = 512 << 20;

/// A job with its staged data, and where that begins in the pinned memory.
type StagedJob = (usize, (CpuJob, StagedImage));

/// Staged data, the jobs that it is of, and those for other routes.
type StagedJobs = (Lease<PinnedMemory>, Vec<StagedJob>, Vec<CpuJob>);

/// A job that was looked at.
enum Looked {
    /// It has failed.
    Failed,
    /// It is one for another route.
    Other(CpuJob),
    Staged(Box<(CpuJob, StagedImage)>),
}

/// Bytes of a subsequence, by bytes of the files that are decoded together: few would leave a device idle, and many short
/// ones take more work.
fn subsequence_bytes(files: usize) -> u32 {
    match files {
        0..MAX_CANDIDATES_DATA => 48,
        MAX_CANDIDATES_DATA..0x80_0000 => 64,
        _ => 128,
    }
}

/// Room for a file's staged data. Restart markers make room for the alignment of what follows, or nearly.
fn staged_room(file: usize) -> usize {
    (file + file / 16 + 256).next_multiple_of(16)
}

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
            incoming: WorkQueue::default(),
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
        self.incoming.put(jobs);
    }

    /// Lets the threads end once their queues are empty.
    pub(crate) fn close(&self) {
        self.incoming.close();
        self.finishing.close();
    }

    /// The life of the thread that stages and queues.
    pub(crate) fn stage_submissions(&self, worker: &Arc<Worker>) {
        while let Some(jobs) = self.incoming.next() {
            // A panic would be a bug. Its jobs fail as their tickets are dropped; others must still be served.
            let _ = catch_unwind(AssertUnwindSafe(|| {
                self.take(worker, jobs).into_iter().for_each(|job| Self::spawn_packing(worker, job));
            }));
        }
    }

    /// The life of the thread that sees to queued waves.
    pub(crate) fn finish_waves(&self, worker: &Arc<Worker>) {
        while let Some(wave) = self.finishing.next() {
            let _ = catch_unwind(AssertUnwindSafe(|| finish::finish(worker, wave)));
        }
    }

    /// Takes those jobs of one submission that the kernels decode, and gives back the others.
    fn take(&self, worker: &Arc<Worker>, jobs: Vec<CpuJob>) -> Vec<CpuJob> {
        let mut others = Vec::new();
        let mut jobs = jobs.into_iter();
        loop {
            let part: Vec<CpuJob> = jobs.by_ref().take(IMAGES_AT_ONCE).collect();
            if part.is_empty() {
                return others;
            }
            others.extend(self.take_part(worker, part));
        }
    }

    fn take_part(&self, worker: &Arc<Worker>, jobs: Vec<CpuJob>) -> Vec<CpuJob> {
        let Some(flight) = jobs.first().map(|job| job.ticket.flight().clone()) else { return jobs };
        let (staged, mut images, others) = match self.stage(worker, jobs) {
            Ok(staged) => staged,
            Err(jobs) => return jobs,
        };
        let mut uploaded = Vec::new();
        while !images.is_empty() {
            let part = images.drain(..self.images_of_wave(&images)).collect();
            uploaded.extend(self.decode(worker, &flight, part, &staged));
        }
        staged.guard(uploaded);
        others
    }

    /// Stages jobs; gives back those that the kernels do not take, or all if there is no pinned memory.
    fn stage(&self, worker: &Worker, jobs: Vec<CpuJob>) -> Result<StagedJobs, Vec<CpuJob>> {
        let rooms: Vec<usize> = jobs.iter().map(|job| staged_room(job.jpeg.len())).collect();
        let Ok(mut staged) = self.staged.lease(rooms.iter().sum()) else { return Err(jobs) };
        let subsequence_bytes = subsequence_bytes(jobs.iter().map(|job| job.jpeg.len()).sum());
        let mut slots = Vec::with_capacity(jobs.len());
        let mut rest = staged.bytes_mut();
        let mut first_byte = 0;
        for room in rooms {
            let (slot, after) = rest.split_at_mut(room);
            slots.push((first_byte, slot));
            first_byte += room;
            rest = after;
        }
        let look = |(job, (first_byte, slot))| (first_byte, look_at(job, subsequence_bytes, slot));
        let looked: Vec<(usize, Looked)> = match jobs.len() {
            // Nothing is gained by another thread.
            1 => jobs.into_iter().zip(slots).map(look).collect(),
            _ => worker.preparing.install(|| jobs.into_par_iter().zip(slots).map(look).collect()),
        };
        let (mut others, mut images) = (Vec::new(), Vec::new());
        for (first_byte, looked) in looked {
            match looked {
                Looked::Failed => {}
                Looked::Other(job) => others.push(job),
                Looked::Staged(staged) => images.push((first_byte, *staged)),
            }
        }
        Ok((staged, images, others))
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
        images: Vec<StagedJob>,
        staged: &Lease<PinnedMemory>,
    ) -> Option<Arc<Event>> {
        let queued = self.queue(worker, flight, &images, staged);
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
        images: &[StagedJob],
        staged: &Lease<PinnedMemory>,
    ) -> Result<Decoding, BackendError> {
        let stream = &self.streams[self.next_stream.fetch_add(1, Ordering::Relaxed) % self.streams.len()];
        let Uploaded { memory, descriptions, parameter, grids, flags, flags_at, flags_len } =
            self.upload(images, staged, stream)?;
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

    /// Lays a wave out and queues its upload.
    fn upload(
        &self,
        images: &[StagedJob],
        staged: &Lease<PinnedMemory>,
        stream: &Stream,
    ) -> Result<Uploaded, BackendError> {
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
        let too_long = || crate::error::failed("Huffman tables too long for the kernels");
        let spare = self.spare_waves.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let synchronisation = Synchronisation::for_data(end - first);
        let mut wave = spare.unwrap_or_default().fill(&members, synchronisation).ok_or_else(too_long)?;
        let places = wave.place(end - first);
        let memory = self.memory.lease(places.len)?;
        let parameter = wave.set_address(&places, memory.address());
        let grids = wave.grids();
        let descriptions_len = places.flags() + wave.flags_len() - places.descriptions();
        // Flags come back behind the descriptions.
        let flags_at = descriptions_len.next_multiple_of(16);
        let mut descriptions = self.descriptions.lease(flags_at + wave.flags_len())?;
        wave.write_descriptions(descriptions.bytes_mut());

        memory.upload_range(staged, first, 0, end - first, stream)?;
        memory.upload_range(&descriptions, 0, places.descriptions(), descriptions_len, stream)?;
        let (flags, flags_len) = (places.flags(), wave.flags_len());
        self.spare_waves.lock().unwrap_or_else(PoisonError::into_inner).push(wave);
        Ok(Uploaded { memory, descriptions, parameter, grids, flags, flags_at, flags_len })
    }
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

/// Parses, plans and stages.
fn look_at(job: CpuJob, subsequence_bytes: u32, slot: &mut [u8]) -> Looked {
    let staged = || {
        let codestream = Codestream::parse(&job.jpeg, &job.options.limits)?;
        let plan = DecodePlan::new(&codestream, &job.options)?;
        let layout = job.target.layout(plan.layout())?;
        Ok::<_, Error>(StagedImage::new(&plan, &layout, subsequence_bytes, slot))
    };
    let staged = catch_unwind(AssertUnwindSafe(staged)).unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<String>().map_or("a panic without a message", String::as_str);
        Err(Error::Internal(message.to_owned()))
    });
    match staged {
        Err(error) => {
            job.ticket.fail(error);
            Looked::Failed
        }
        Ok(None) => Looked::Other(job),
        Ok(Some(image)) => Looked::Staged(Box::new((job, image))),
    }
}
