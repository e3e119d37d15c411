//! The threads that decode. Engine threads take batches from one queue, software threads single images from another.
//! Where the caller lets the SMs share the engines' load, a software thread also takes from the engines' queue what it
//! would finish sooner, by the speeds measured so far.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use isopel_core::{DecodeOptions, Rect, Report, Size};

use crate::fence::Ticket;
use crate::gate::CallLimits;
use crate::nvjpeg::SourcePixels;
use crate::route::NvjpegRoute;
use crate::target::CudaTarget;

/// A job that the CPU decodes.
#[derive(Debug)]
pub(crate) struct CpuJob {
    pub(crate) ticket: Ticket,
    pub(crate) jpeg: Arc<[u8]>,
    pub(crate) options: DecodeOptions,
    pub(crate) target: CudaTarget,
}

/// A job that nvJPEG decodes.
pub(crate) struct NvjpegJob {
    pub(crate) cpu: CpuJob,
    pub(crate) route: NvjpegRoute,
    pub(crate) pixels: SourcePixels,
    /// The file as nvJPEG gets it.
    pub(crate) file: Vec<u8>,
    /// The whole picture as stored.
    pub(crate) stored: Size,
    pub(crate) region: Rect,
    /// What the job comes to if all goes well.
    pub(crate) report: Report,
    pub(crate) check: Arc<Check>,
}

impl NvjpegJob {
    /// Whether the work that the job comes after is still going on.
    fn is_held_back(&self) -> bool {
        let before = self.cpu.ticket.flight().before();
        before.is_some_and(|before| !before.is_done().unwrap_or(true))
    }

    pub(crate) fn pixel_count(&self) -> u64 {
        self.stored.pixels()
    }
}

/// The verdict on a file's scans, which comes while they are decoded.
#[derive(Debug, Default)]
pub(crate) struct Check {
    sound: Mutex<Option<bool>>,
    known: Condvar,
}

impl Check {
    /// One that needs no check.
    pub(crate) fn passed() -> Arc<Check> {
        Arc::new(Check { sound: Mutex::new(Some(true)), known: Condvar::new() })
    }

    pub(crate) fn set(&self, sound: bool) {
        *self.sound.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(sound);
        self.known.notify_all();
    }

    /// Blocks until the verdict is there.
    pub(crate) fn is_sound(&self) -> bool {
        let mut sound = self.sound.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        loop {
            match *sound {
                Some(sound) => return sound,
                None => sound = self.known.wait(sound).unwrap_or_else(|poisoned| poisoned.into_inner()),
            }
        }
    }
}

/// How many images a thread may take, and of which kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sharing {
    /// Calls to the engines at the same time.
    pub(crate) calls: CallLimits,
    /// Images of one call to the engines.
    pub(crate) largest_batch: usize,
    /// Bytes of decoded pixels of one call.
    pub(crate) batch_bytes: usize,
    /// Whether the SMs take from the engines' queue.
    pub(crate) sms_share: bool,
}

/// The queues.
pub(crate) struct Queues {
    sharing: Sharing,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    engines: VecDeque<NvjpegJob>,
    software: VecDeque<NvjpegJob>,
    /// Pixels in the engines' queue, and those being decoded by them.
    waiting_pixels: u64,
    /// Batches that engine threads have taken and not finished.
    batches: usize,
    speeds: Speeds,
    closing: bool,
}

/// Measured speeds, as moving averages.
#[derive(Debug, Default, Clone, Copy)]
struct Speeds {
    /// Pixels per second of all engine threads together.
    engines: Option<f64>,
    /// Seconds per pixel of one software thread.
    software: Option<f64>,
}

/// Images of one call to the engines. nvJPEG needs a state for each size, which takes long to set up.
pub(crate) const BATCH_SIZES: [usize; 5] = [256, 64, 16, 4, 1];

/// The most images of a call while the caller's stream is busy. nvJPEG's calls for more share the device's eight
/// channels with that stream, unless the environment asks for more by `CUDA_DEVICE_MAX_CONNECTIONS`, and then wait for
/// its work; up to this number they do not.
const BESIDE_WORK: usize = 16;

/// The largest size of a call that so many images fill.
fn batch_size(images: usize) -> usize {
    BATCH_SIZES.into_iter().find(|&size| size <= images).unwrap_or(1)
}

/// Weight of a new measurement.
const WEIGHT: f64 = 0.1;

fn average(old: Option<f64>, new: f64) -> Option<f64> {
    Some(old.map_or(new, |old| old + WEIGHT * (new - old)))
}

impl Speeds {
    /// Whether a software thread finishes a picture before the engines would come to it.
    fn software_is_sooner(&self, pixels: u64, waiting_pixels: u64) -> bool {
        match (self.engines, self.software) {
            (Some(engines), Some(software)) => pixels as f64 * software < waiting_pixels as f64 / engines.max(1.0),
            // Nothing measured yet: a first picture each measures it.
            _ => waiting_pixels > 16 * pixels,
        }
    }
}

impl Queues {
    pub(crate) fn new(sharing: Sharing) -> Self {
        Queues { sharing, state: Mutex::default(), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Queues jobs by their routes.
    pub(crate) fn put(&self, jobs: impl IntoIterator<Item = NvjpegJob>) {
        let mut state = self.lock();
        for job in jobs {
            if job.route == NvjpegRoute::Engines {
                state.waiting_pixels += job.pixel_count();
                state.engines.push_back(job);
            } else {
                state.software.push_back(job);
            }
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Whether the SMs take from the engines' queue.
    pub(crate) fn shares_load(&self) -> bool {
        self.sharing.sms_share
    }

    /// Calls to the engines at the same time.
    pub(crate) fn calls(&self) -> CallLimits {
        self.sharing.calls
    }

    /// Lets threads end once the queues are empty.
    pub(crate) fn close(&self) {
        self.lock().closing = true;
        self.changed.notify_all();
    }

    /// Jobs for one call to the engines: one of `BATCH_SIZES`, all of the same kind of pixels; [`batch_done`] tells that
    /// they are decoded. There is one batch more than calls, for which all is prepared meanwhile; more would only be
    /// smaller. `None`: no more will come.
    ///
    /// [`batch_done`]: Self::batch_done
    pub(crate) fn next_batch(&self) -> Option<Vec<NvjpegJob>> {
        let mut state = self.lock();
        loop {
            if let Some(first) = state.engines.front()
                && state.batches <= self.sharing.calls.of(1, first.pixel_count())
            {
                let pixels = first.pixels;
                let mut bytes = 0;
                let alike = state.engines.iter().take_while(|job| {
                    bytes += job.pixel_count() as usize * job.pixels.bytes();
                    job.pixels == pixels && bytes <= self.sharing.batch_bytes
                });
                let most = if first.is_held_back() { BESIDE_WORK } else { self.sharing.largest_batch };
                let count = batch_size(alike.take(most).count());
                let jobs: Vec<NvjpegJob> = state.engines.drain(..count).collect();
                state.waiting_pixels -= jobs.iter().map(NvjpegJob::pixel_count).sum::<u64>();
                state.batches += 1;
                return Some(jobs);
            }
            if state.closing && state.engines.is_empty() {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }

    /// A batch was decoded, or went elsewhere.
    pub(crate) fn batch_done(&self) {
        self.lock().batches -= 1;
        self.changed.notify_all();
    }

    /// A job for a software thread. `None`: no more will come.
    pub(crate) fn next_single(&self) -> Option<NvjpegJob> {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.software.pop_front() {
                return Some(job);
            }
            if self.sharing.sms_share
                && let Some(last) = state.engines.back()
                && state.speeds.software_is_sooner(last.pixel_count(), state.waiting_pixels)
                && let Some(mut job) = state.engines.pop_back()
            {
                state.waiting_pixels -= job.pixel_count();
                job.route = NvjpegRoute::GpuHybrid;
                return Some(job);
            }
            if state.closing && state.engines.is_empty() {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }

    /// How long a call to the engines took, one of `calls` at the same time.
    pub(crate) fn engines_took(&self, pixels: u64, time: Duration, calls: usize) {
        let speed = pixels as f64 / time.as_secs_f64().max(1e-6) * calls as f64;
        let mut state = self.lock();
        state.speeds.engines = average(state.speeds.engines, speed);
    }

    /// What a software thread measured.
    pub(crate) fn software_took(&self, pixels: u64, time: Duration) {
        let seconds = time.as_secs_f64() / pixels.max(1) as f64;
        let mut state = self.lock();
        state.speeds.software = average(state.speeds.software, seconds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sms_take_only_what_they_finish_before_the_engines_would() {
        // 10,000 1080p images a second against 2 ms for one.
        let image = 1920 * 1080;
        let speeds = Speeds { engines: Some(10_000.0 * image as f64), software: Some(0.002 / image as f64) };
        assert!(!speeds.software_is_sooner(image, 10 * image), "the engines need 1 ms");
        assert!(speeds.software_is_sooner(image, 30 * image), "the engines need 3 ms");
        // Slower engines give more away.
        let slow = Speeds { engines: Some(1_000.0 * image as f64), ..speeds };
        assert!(slow.software_is_sooner(image, 3 * image));
    }

    #[test]
    fn calls_have_few_sizes() {
        let sizes = [1, 3, 4, 15, 16, 63, 64, 255, 256, 1000].map(batch_size);
        assert_eq!(sizes, [1, 1, 4, 4, 16, 16, 64, 64, 256, 256]);
        assert!(BATCH_SIZES.contains(&BESIDE_WORK));
    }

    #[test]
    fn without_measurements_only_a_long_queue_is_shared() {
        let speeds = Speeds::default();
        assert!(!speeds.software_is_sooner(100, 1600));
        assert!(speeds.software_is_sooner(100, 1700));
    }

    #[test]
    fn averages_follow_slowly() {
        assert_eq!(average(None, 5.0), Some(5.0));
        assert_eq!(average(Some(10.0), 20.0), Some(11.0));
    }

    #[test]
    fn a_check_is_waited_for() {
        let check = Arc::new(Check::default());
        let other = check.clone();
        let waiting = std::thread::spawn(move || other.is_sound());
        std::thread::sleep(Duration::from_millis(5));
        check.set(false);
        assert!(!waiting.join().unwrap());
        assert!(Check::passed().is_sound());
    }
}
