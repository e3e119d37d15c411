//! What all backends have in common: jobs with both ordering edges named, fences, and one outcome per job.

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
