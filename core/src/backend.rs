//! What all backends have in common: jobs with both ordering edges named, fences, and one outcome per job.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::error::Error;
use crate::options::DecodeOptions;
use crate::outcome::Report;

/// Something that decodes JPEG files into its own kind of memory.
///
/// A submission has two edges. Before: no byte of a target is written before the work named by `after` has
/// finished. After: whoever waits for the returned fence sees every byte. Neither edge needs the caller's
/// queue drained.
pub trait Backend {
    /// Where pixels go; the memory is the caller's.
    type Target;
    /// What must finish before the first write.
    type After;
    /// What to wait for.
    type Fence: Fence;

    /// What this backend decodes.
    fn capabilities(&self) -> &Capabilities;

    /// Starts decoding and returns at once. One image that fails does not affect the others.
    fn submit(&self, jobs: Vec<Job<Self::Target>>, after: Self::After) -> Submission<Self::Fence>;
}

/// Signals that work has finished.
pub trait Fence {
    /// Whether it has.
    fn poll(&self) -> bool;

    /// Blocks until it has. On the web nothing may block: a fence there has an async wait of its own.
    fn wait(&self);

    /// Blocks until it has, or until the time is over; tells which.
    fn wait_timeout(&self, timeout: Duration) -> bool;
}

/// One image to decode, and where to.
#[derive(Debug, Clone)]
pub struct Job<T> {
    /// The file.
    pub jpeg: Arc<[u8]>,
    /// What to decode and how.
    pub options: DecodeOptions,
    /// Where the pixels go.
    pub target: T,
}

/// For backends: one job's work. A panic in it would be a bug, and must cost no other job.
///
/// # Errors
/// That of the work, or [`Error::Internal`] if it panics. Nothing that it was changing should be used afterwards.
pub fn contained<R>(work: impl FnOnce() -> Result<R, Error>) -> Result<R, Error> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<String>().cloned();
        let message = message.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
        Err(Error::Internal(message.unwrap_or_else(|| "a panic without a message".into())))
    })
}

/// What became of one job.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The job's place in the submission, from 0.
    pub index: usize,
    /// What was decoded, or why not; after an error the target's contents are unspecified.
    pub result: Result<Report, Error>,
}

/// Work in flight: the fence, and once it is done, the outcomes.
///
/// Dropping it does not cancel the work; the targets stay alive until it is done.
#[derive(Debug)]
pub struct Submission<F> {
    fence: F,
    outcomes: OutcomeSlots,
}

impl<F: Fence> Submission<F> {
    /// Pairs a fence with the slots that are filled before it is signalled.
    pub fn new(fence: F, outcomes: OutcomeSlots) -> Self {
        Submission { fence, outcomes }
    }

    /// What to wait for.
    pub fn fence(&self) -> &F {
        &self.fence
    }

    /// Waits for the fence and returns one outcome per job, in the jobs' order.
    pub fn wait(self) -> Vec<Outcome> {
        self.fence.wait();
        self.outcomes.take()
    }
}

/// Where a backend puts the outcomes of a submission as its jobs finish.
#[derive(Debug, Clone, Default)]
pub struct OutcomeSlots(Arc<Mutex<Vec<Outcome>>>);

impl OutcomeSlots {
    /// Puts in one job's outcome.
    pub fn put(&self, outcome: Outcome) {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(outcome);
    }

    /// Takes all outcomes, sorted by the jobs' order.
    pub fn take(&self) -> Vec<Outcome> {
        let mut outcomes = std::mem::take(&mut *self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
        outcomes.sort_by_key(|outcome| outcome.index);
        outcomes
    }
}

/// What a backend decodes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// The backend's name on the command line and in messages.
    pub name: &'static str,
    /// Whether its pixels are libjpeg-turbo's to the byte.
    pub exact: bool,
    /// Jobs it works on at the same time.
    pub parallel_jobs: usize,
}

impl Capabilities {
    /// Describes a backend.
    pub fn new(name: &'static str, exact: bool, parallel_jobs: usize) -> Self {
        Capabilities { name, exact, parallel_jobs }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_of_its_own_job() {
        let outcomes = [0, 1, 2].map(|job: i32| {
            contained(|| {
                assert!(job != 1, "job {job}");
                Ok(job)
            })
        });
        assert_eq!(outcomes, [Ok(0), Err(Error::Internal("job 1".into())), Ok(2)]);
        assert_eq!(
            contained(|| -> Result<(), Error> { panic!("literally") }),
            Err(Error::Internal("literally".into()))
        );
    }
}
