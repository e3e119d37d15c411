//! What threads do with jobs: decode into staging memory, then queue the one kernel that writes the caller's memory,
//! behind the caller's work.

#![allow(unsafe_code)]

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use isopel_core::{
    BackendError, Codestream, DecodeOptions, DecodePlan, Error, Rect, Region, Report, Route, cpu, decode_coefficients,
};
use isopel_nvjpeg_sys::nvjpegBackend_t;
use rayon::prelude::*;

use crate::canonical::canonical;
use crate::context::{Ordering, ScanCheck};
use crate::driver::{Device, DeviceMemory, Event, PinnedMemory, Stream};
use crate::error::failed;
use crate::exact::ExactDecoder;
use crate::fence::{ActiveJobs, Flight, Ticket};
use crate::kernels::{Kernels, Picture};
use crate::nvjpeg::{BatchDecoder, Called, Destination, Handle, SingleDecoder, SourcePixels};
use crate::pool::{BATCH_SIZES, Check, CpuJob, NvjpegJob, Queues};
use crate::route::{NvjpegRoute, RouteSupport, choose};
use crate::scan_check;
use crate::staging::Ring;
use crate::target::Owner;

/// What all threads of a backend share.
pub(crate) struct Worker {
    pub(crate) device: Arc<Device>,
    pub(crate) kernels: Kernels,
    /// isopel's own kernels.
    pub(crate) exact: Option<ExactDecoder>,
    pub(crate) engines: Option<BatchDecoder>,
    /// nvJPEG, if any of its routes is taken.
    pub(crate) software: Option<Arc<Handle>>,
    pub(crate) support: RouteSupport,
    pub(crate) roi_is_right: bool,
    pub(crate) scan_check: ScanCheck,
    pub(crate) ordering: Ordering,
    pub(crate) before_edge: bool,
    pub(crate) queues: Queues,
    /// What nvJPEG decodes into, and the CPU's pixels are uploaded to.
    pub(crate) staging: Ring<DeviceMemory>,
    pub(crate) pinned: Ring<PinnedMemory>,
    /// Pixels that go on to the host.
    pub(crate) outputs: Ring<DeviceMemory>,
    pub(crate) streams: Streams,
    pub(crate) preparing: rayon::ThreadPool,
    /// Apart from `preparing`, whose work the engines wait for.
    pub(crate) checking: rayon::ThreadPool,
    pub(crate) decoding: rayon::ThreadPool,
    pub(crate) active: Arc<ActiveJobs>,
    /// Memory of the caller's that queued kernels write.
    pub(crate) in_flight: Mutex<VecDeque<(Arc<Event>, Vec<Owner>)>>,
}

/// Jobs that are looked at before the first of them is handed on: one call to the engines.
const JOBS_AT_ONCE: usize = 64;
/// Rows of staging memory begin at multiples of this.
const PITCH_ALIGNMENT: usize = 16;
/// Pictures in staging memory begin at multiples of this.
const PICTURE_ALIGNMENT: usize = 256;

/// A decoded picture that is not yet in its place.
struct Decoded {
    ticket: Ticket,
    report: Report,
    pictures: Vec<Picture>,
    owner: Option<Owner>,
}

/// What becomes of a job that was looked at.
pub(crate) enum Prepared {
    Nvjpeg(Box<NvjpegJob>),
    Cpu(CpuJob),
}

impl Worker {
    /// Parses, plans and chooses the route. `None`: the job has failed.
    pub(crate) fn prepare(self: &Arc<Self>, job: CpuJob) -> Option<Prepared> {
        let looked_at = catch_unwind(AssertUnwindSafe(|| self.look_at(&job))).unwrap_or_else(|panic| {
            let message = panic.downcast_ref::<String>().map_or("a panic without a message", String::as_str);
            Err(Error::Internal(message.to_owned()))
        });
        match looked_at {
            Err(error) => {
                job.ticket.fail(error);
                None
            }
            Ok(None) => Some(Prepared::Cpu(job)),
            Ok(Some(look)) => {
                let Look { route, pixels, file, stored, region, report, check } = look;
                Some(Prepared::Nvjpeg(Box::new(NvjpegJob {
                    cpu: job,
                    route,
                    pixels,
                    file,
                    stored,
                    region,
                    report,
                    check,
                })))
            }
        }
    }

    fn look_at(&self, job: &CpuJob) -> Result<Option<Look>, Error> {
        let codestream = Codestream::parse(&job.jpeg, &job.options.limits)?;
        let plan = DecodePlan::new(&codestream, &job.options)?;
        let layout = job.target.layout(plan.layout())?;
        let Ok(choice) = choose(&plan, &self.support) else { return Ok(None) };
        let check = match self.scan_check {
            ScanCheck::Codes => Arc::default(),
            ScanCheck::Structure => Check::passed(),
        };
        let found =
            isopel_core::CoefficientReport { warnings: codestream.warnings(), valid_rows: plan.region().rect().height };
        Ok(Some(Look {
            route: choice.route,
            pixels: choice.pixels,
            file: canonical(&codestream),
            stored: codestream.stored_size(),
            region: plan.region().rect(),
            report: Report::new(&plan, &layout, choice.route.report(), found),
            check,
        }))
    }

    /// Starts the check of a job's scans.
    fn start_check(&self, CheckJob { jpeg, options, check }: CheckJob) {
        if self.scan_check == ScanCheck::Structure {
            return;
        }
        self.checking.spawn_fifo(move || {
            let sound = catch_unwind(AssertUnwindSafe(|| {
                let codestream = Codestream::parse(&jpeg, &options.limits)?;
                if !codestream.frame().is_progressive() {
                    return Ok(scan_check::is_sound(&codestream));
                }
                // Of the whole picture, so that regions take the route of the whole.
                let plan = DecodePlan::new(&codestream, &options.region(Region::Full))?;
                let mut in_range = true;
                let found = decode_coefficients(&plan, |row| in_range &= scan_check::is_in_range(&plan, &row))?;
                Ok::<bool, Error>(in_range && found.warnings == codestream.warnings())
            }));
            check.set(matches!(sound, Ok(Ok(true))));
        });
    }

    /// Queues a job for nvJPEG or the CPU.
    pub(crate) fn put(self: &Arc<Self>, prepared: Vec<Prepared>) {
        let mut jobs = Vec::new();
        for job in prepared {
            match job {
                Prepared::Nvjpeg(job) => jobs.push(*job),
                Prepared::Cpu(job) => self.spawn_on_cpu(job),
            }
        }
        let checks: Vec<_> = jobs.iter().map(|job| CheckJob::new(&job.cpu, &job.check)).collect();
        self.queues.put(jobs);
        // While they are decoded.
        checks.into_iter().for_each(|check| self.start_check(check));
    }

    /// Hands a job to the threads that decode on the CPU.
    pub(crate) fn spawn_on_cpu(self: &Arc<Self>, job: CpuJob) {
        let worker = self.clone();
        self.decoding.spawn_fifo(move || worker.decode_on_cpu(job));
    }

    /// Life of the exact route's threads that stage and queue.
    pub(crate) fn stage_submissions(self: &Arc<Self>) {
        self.exact.iter().for_each(|exact| exact.stage_submissions(self));
    }

    /// Life of the one that sees to what they queued.
    pub(crate) fn finish_waves(self: &Arc<Self>) {
        self.exact.iter().for_each(|exact| exact.finish_waves(self));
    }

    /// Looks at jobs on the backend's threads and hands them on, some at a time.
    pub(crate) fn prepare_in_parts(self: &Arc<Self>, jobs: Vec<CpuJob>) {
        let worker = self.clone();
        self.preparing.spawn_fifo(move || {
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

    /// Sets up what the engines' calls need, so that later calls of any size begin at once.
    pub(crate) fn warm_up_engines(self: &Arc<Self>) {
        if let Some(decoder) = &self.engines {
            for size in BATCH_SIZES.into_iter().rev() {
                // What fails here will fail, and be told, when a job needs it.
                let _ = decoder.warm_up(size, SourcePixels::Rgb);
            }
        }
    }

    /// An engine thread's life.
    pub(crate) fn feed_engines(self: &Arc<Self>) {
        let Some(decoder) = &self.engines else { return };
        let mut stream: Option<Stream> = None;
        while let Some(jobs) = self.queues.next_batch() {
            if stream.is_none() {
                match Stream::new(&self.device) {
                    Ok(new) => stream = Some(new),
                    Err(error) => {
                        jobs.into_iter().for_each(|job| self.pass_on(job, &error));
                        self.queues.batch_done();
                        continue;
                    }
                }
            }
            if let Some(stream) = &stream {
                // A panic would be a bug. Its jobs fail as their tickets are dropped; others must still be served.
                let _ = catch_unwind(AssertUnwindSafe(|| self.decode_batch(decoder, jobs, stream)));
            }
            self.queues.batch_done();
        }
    }

    fn decode_batch(self: &Arc<Self>, decoder: &BatchDecoder, jobs: Vec<NvjpegJob>, stream: &Stream) {
        let mut destinations = Vec::with_capacity(jobs.len());
        let mut len = 0;
        for job in &jobs {
            let pitch = (job.stored.width as usize * job.pixels.bytes()).next_multiple_of(PITCH_ALIGNMENT);
            destinations.push(Destination { address: len as u64, pitch });
            len += (pitch * job.stored.height as usize).next_multiple_of(PICTURE_ALIGNMENT);
        }
        let lease = match self.staging.lease(len) {
            Ok(lease) => lease,
            Err(error) => return jobs.into_iter().for_each(|job| self.pass_on(job, &error)),
        };
        destinations.iter_mut().for_each(|destination| destination.address += lease.address());
        let files: Vec<&[u8]> = jobs.iter().map(|job| job.file.as_slice()).collect();
        let pixels = jobs.iter().map(NvjpegJob::pixel_count).sum();
        let limit = self.queues.calls().of(jobs.len(), pixels);
        let event = match decoder.decode(&files, &destinations, jobs[0].pixels, stream, limit) {
            Ok(Called { event, time, calls }) => {
                self.queues.engines_took(pixels, time, calls);
                event
            }
            // One file fails all others of its call, which then are right to stay on their route. Nothing of theirs is
            // queued any more.
            Err(error) => {
                lease.guard(Vec::new());
                if jobs.len() == 1 {
                    return jobs.into_iter().for_each(|job| self.pass_on(job, &error));
                }
                return jobs.into_iter().for_each(|job| self.decode_batch(decoder, vec![job], stream));
            }
        };
        let mut decoded = Vec::with_capacity(jobs.len());
        for (job, destination) in jobs.into_iter().zip(destinations) {
            decoded.extend(self.decoded(job, destination, None));
        }
        let mut events = self.write(decoded, &event);
        events.push(event);
        lease.guard(events);
    }

    /// A software thread's life.
    pub(crate) fn feed_sms(self: &Arc<Self>) {
        let Some(software) = &self.software else { return };
        let mut decoders: [Option<SingleDecoder>; 2] = [None, None];
        if self.queues.shares_load() {
            // Ahead of the first job: it takes long.
            decoders[0] = SingleDecoder::new(software, nvjpegBackend_t::GPU_HYBRID).ok();
        }
        let mut last: Option<Arc<Event>> = None;
        while let Some(job) = self.queues.next_single() {
            let started = Instant::now();
            let pixels = job.pixel_count();
            let (slot, backend) = match job.route {
                NvjpegRoute::Hybrid => (1, nvjpegBackend_t::HYBRID),
                NvjpegRoute::Engines | NvjpegRoute::GpuHybrid => (0, nvjpegBackend_t::GPU_HYBRID),
            };
            if decoders[slot].is_none() {
                match SingleDecoder::new(software, backend) {
                    Ok(new) => decoders[slot] = Some(new),
                    Err(error) => {
                        self.pass_on(job, &error);
                        continue;
                    }
                }
            }
            if let Some(decoder) = &mut decoders[slot] {
                let decoded = catch_unwind(AssertUnwindSafe(|| self.decode_single(decoder, job)));
                let event = decoded.unwrap_or(None);
                // One picture is being decoded while the next is prepared, and no more: what waits on the device could
                // be decoded by others.
                if let Some(before) = std::mem::replace(&mut last, event) {
                    let _ = before.wait();
                }
            }
            if slot == 0 {
                self.queues.software_took(pixels, started.elapsed());
            }
        }
    }

    /// Gives the event behind the decoding, if it was begun.
    fn decode_single(self: &Arc<Self>, decoder: &mut SingleDecoder, job: NvjpegJob) -> Option<Arc<Event>> {
        let whole = Rect::new(0, 0, job.stored.width, job.stored.height);
        // HYBRID is left to decode wholes: of progressive files it decodes all coefficients anyway.
        let uses_roi = self.roi_is_right && job.route != NvjpegRoute::Hybrid && job.region != whole;
        let region = uses_roi.then_some(job.region);
        let size = region.unwrap_or(whole).size();
        let pitch = (size.width as usize * job.pixels.bytes()).next_multiple_of(PITCH_ALIGNMENT);
        let lease = match self.staging.lease(pitch * size.height as usize) {
            Ok(lease) => lease,
            Err(error) => {
                self.pass_on(job, &error);
                return None;
            }
        };
        let destination = Destination { address: lease.address(), pitch };
        let event = match decoder.decode(&job.file, region, destination, job.pixels) {
            Ok(event) => Arc::new(event),
            Err(error) => {
                lease.guard(Vec::new());
                self.pass_on(job, &error);
                return None;
            }
        };
        let decoded = self.decoded(job, destination, region);
        let mut events = self.write(decoded.into_iter().collect(), &event);
        events.push(event.clone());
        lease.guard(events);
        Some(event)
    }

    /// Gives a job that failed to the next route.
    fn pass_on(self: &Arc<Self>, mut job: NvjpegJob, error: &BackendError) {
        if error.kind == isopel_core::BackendErrorKind::DeviceLost {
            return job.cpu.ticket.fail(error.clone().into());
        }
        match job.route.next(&self.support) {
            Some(next) => {
                job.route = next;
                self.queues.put([job]);
            }
            None => self.spawn_on_cpu(job.cpu),
        }
    }

    /// What to write of a decoded picture. `None`: its scans are damaged, and the CPU decodes it again.
    fn decoded(self: &Arc<Self>, job: NvjpegJob, source: Destination, decoded: Option<Rect>) -> Option<Decoded> {
        if !job.check.is_sound() {
            self.spawn_on_cpu(job.cpu);
            return None;
        }
        let mut report = job.report;
        report.route = job.route.report();
        let region = match decoded {
            Some(rect) => Rect::new(0, 0, rect.width, rect.height),
            None => job.region,
        };
        let target = job.cpu.target;
        let picture =
            Picture::from_stored(source, job.pixels, region, report.orientation, target.address, &report.layout);
        Some(Decoded { ticket: job.cpu.ticket, report, pictures: vec![picture], owner: target.owner })
    }

    /// Queues the writing of decoded pictures, those of each submission behind what it comes after.
    fn write(&self, mut decoded: Vec<Decoded>, event: &Event) -> Vec<Arc<Event>> {
        let mut events = Vec::new();
        while let Some(first) = decoded.first() {
            let flight = first.ticket.flight().clone();
            let (group, others) = decoded.into_iter().partition(|other| Arc::ptr_eq(other.ticket.flight(), &flight));
            decoded = others;
            events.extend(self.write_group(&flight, group, event));
        }
        events
    }

    fn write_group(&self, flight: &Flight, group: Vec<Decoded>, decoded: &Event) -> Option<Arc<Event>> {
        let queue = || {
            let before = flight.before().filter(|before| !before.is_done().unwrap_or(false));
            let stream = self.streams.writer(before.and(flight.order()))?;
            stream.wait_for(decoded)?;
            if let Some(before) = before {
                stream.wait_for(before)?;
            }
            let pictures: Vec<Picture> = group.iter().flat_map(|decoded| &decoded.pictures).copied().collect();
            // SAFETY: the sources are staging memory that the event below guards, and the stream is behind their
            // decoding. Whoever made the targets vouched for them, owned ones live in `in_flight`, and their size was
            // checked against the layout that the pictures come from.
            unsafe { self.kernels.write(&pictures, &stream) }?;
            stream.record().map(Arc::new)
        };
        let queued: Result<Arc<Event>, BackendError> = queue();
        match queued {
            Ok(event) => {
                let (tickets, owners): (Vec<_>, Vec<_>) =
                    group.into_iter().map(|decoded| ((decoded.ticket, decoded.report), decoded.owner)).unzip();
                self.keep_alive(&event, owners.into_iter().flatten().collect());
                Ticket::queued(tickets, &event);
                Some(event)
            }
            Err(error) => {
                group.into_iter().for_each(|decoded| decoded.ticket.fail(error.clone().into()));
                None
            }
        }
    }

    /// Keeps memory of the caller's until an event is done, and lets go of what is done.
    pub(crate) fn keep_alive(&self, event: &Arc<Event>, owners: Vec<Owner>) {
        let mut done = Vec::new();
        let mut in_flight = self.in_flight.lock().unwrap_or_else(PoisonError::into_inner);
        while in_flight.front().is_some_and(|(event, _)| event.is_done().unwrap_or(true)) {
            done.extend(in_flight.pop_front());
        }
        in_flight.push_back((event.clone(), owners));
        drop(in_flight);
        // The last owner's memory is freed here, outside the lock.
        drop(done);
    }

    /// Blocks until all kernels that write the caller's memory are done.
    pub(crate) fn wait_for_writes(&self) {
        let in_flight = std::mem::take(&mut *self.in_flight.lock().unwrap_or_else(PoisonError::into_inner));
        in_flight.iter().for_each(|(event, _)| drop(event.wait()));
    }

    pub(crate) fn decode_on_cpu(&self, job: CpuJob) {
        let CpuJob { ticket, jpeg, options, target } = job;
        let decode = || {
            let codestream = Codestream::parse(&jpeg, &options.limits)?;
            let plan = DecodePlan::new(&codestream, &options)?;
            let layout = target.layout(plan.layout())?;
            let len = plan.layout().required_len();
            let mut pinned = self.pinned.lease(len)?;
            let mut report = match cpu::decode_into(&plan, plan.layout(), &mut pinned.bytes_mut()[..len]) {
                Ok(report) => report,
                Err(error) => {
                    pinned.guard(Vec::new());
                    return Err(error);
                }
            };
            report.route = Route::CudaUpload;
            report.layout = layout;
            let staging = match self.staging.lease(len) {
                Ok(staging) => staging,
                Err(error) => {
                    pinned.guard(Vec::new());
                    return Err(error.into());
                }
            };
            let stream = self.streams.writer(None)?;
            staging.upload(&pinned, len, &stream)?;
            let uploaded = Arc::new(stream.record()?);
            pinned.guard(vec![uploaded.clone()]);
            let bytes = plan.format().bytes_per_pixel();
            let planes = plan.layout().planes().iter().zip(report.layout.planes());
            let pictures = planes.map(|(from, to)| {
                let (source, target) = (staging.address() + from.offset as u64, target.address + to.offset as u64);
                let row = from.size.width * bytes as u32;
                Picture::rows(source, from.stride, target, to.stride, row, from.size.height)
            });
            let pictures = pictures.collect();
            Ok::<_, Error>((report, pictures, staging, uploaded))
        };
        let decoded = catch_unwind(AssertUnwindSafe(decode)).unwrap_or_else(|panic| {
            let message = panic.downcast_ref::<String>().map_or("a panic without a message", String::as_str);
            Err(Error::Internal(message.to_owned()))
        });
        match decoded {
            Err(error) => ticket.fail(error),
            Ok((report, pictures, staging, uploaded)) => {
                let flight = ticket.flight().clone();
                let decoded = Decoded { ticket, report, pictures, owner: target.owner };
                let written = self.write_group(&flight, vec![decoded], &uploaded);
                staging.guard(written.into_iter().chain([uploaded]).collect());
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.wait_for_writes();
        self.exact.iter().for_each(ExactDecoder::drain);
        self.staging.drain();
        self.pinned.drain();
        self.outputs.drain();
    }
}

/// A file whose scans are to be checked.
struct CheckJob {
    jpeg: Arc<[u8]>,
    options: DecodeOptions,
    check: Arc<Check>,
}

impl CheckJob {
    fn new(job: &CpuJob, check: &Arc<Check>) -> Self {
        CheckJob { jpeg: job.jpeg.clone(), options: job.options, check: check.clone() }
    }
}

/// What looking at a job found out.
struct Look {
    route: NvjpegRoute,
    pixels: SourcePixels,
    file: Vec<u8>,
    stored: isopel_core::Size,
    region: Rect,
    report: Report,
    check: Arc<Check>,
}

/// Streams for the kernels that write the caller's memory: one for all that comes after the same stream of the
/// caller's, and one for what comes after nothing. A stream that waits occupies one of the device's few channels, so
/// there must not be one per submission.
///
/// Sharing can't make two submissions wait for each other: whatever waits for a submission's pixels does so by events
/// that exist only once all its kernels are queued, so what is queued on a stream later never has to come earlier.
#[derive(Debug)]
pub(crate) struct Streams {
    device: Arc<Device>,
    writers: Mutex<HashMap<Option<usize>, Arc<Stream>>>,
}

impl Streams {
    /// With more, those that nobody has asked for lately are let go; what is queued on them still runs.
    const KEPT: usize = 16;

    pub(crate) fn new(device: &Arc<Device>) -> Self {
        Streams { device: device.clone(), writers: Mutex::default() }
    }

    /// The stream for what comes after the caller's stream or event of this address.
    pub(crate) fn writer(&self, order: Option<usize>) -> Result<Arc<Stream>, BackendError> {
        let mut writers = self.writers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stream) = writers.get(&order) {
            return Ok(stream.clone());
        }
        if writers.len() >= Self::KEPT {
            writers.clear();
        }
        let stream = Arc::new(Stream::new(&self.device)?);
        writers.insert(order, stream.clone());
        Ok(stream)
    }
}

/// What a submission says when its jobs can't be ordered.
pub(crate) fn misordered(error: BackendError) -> Error {
    failed(format!("the work to come after can't be ordered: {}", error.message)).into()
}
