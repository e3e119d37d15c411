//! Fences of submissions: the jobs that are still being decoded, and the events behind those that are queued.

#![allow(unsafe_code)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use isopel_core::{BackendError, Error, Fence, Outcome, OutcomeSlots, Report};

use crate::driver::{Device, Event, wait_for};
use crate::error::failed;
use crate::target::CallerStream;

/// What the fence of a submission and the threads that work on it share.
#[derive(Debug)]
pub(crate) struct Flight {
    device: Arc<Device>,
    /// What must be done before targets are written.
    before: Option<Event>,
    /// The address of the caller's stream or event that it is.
    order: Option<usize>,
    outcomes: OutcomeSlots,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    /// Jobs that have neither failed nor been queued on the device.
    unqueued: usize,
    events: Vec<Arc<Event>>,
    /// Of jobs that are queued; they become outcomes when the events are done.
    reports: Vec<(usize, Report)>,
}

/// The end of the work that a submission comes after.
#[derive(Debug)]
pub(crate) struct Before {
    pub(crate) event: Event,
    /// The address of the caller's stream, or of the first of the caller's events.
    pub(crate) order: usize,
}

impl Flight {
    pub(crate) fn new(
        device: &Arc<Device>,
        before: Option<Before>,
        outcomes: OutcomeSlots,
        jobs: usize,
    ) -> Arc<Flight> {
        let (before, order) = before.map(|Before { event, order }| (event, order)).unzip();
        Arc::new(Flight {
            device: device.clone(),
            before,
            order,
            outcomes,
            state: Mutex::new(State { unqueued: jobs, events: Vec::new(), reports: Vec::new() }),
            changed: Condvar::new(),
        })
    }

    /// What must be done before targets are written.
    pub(crate) fn before(&self) -> Option<&Event> {
        self.before.as_ref()
    }

    /// The address of the caller's stream or event that has to be done before.
    pub(crate) fn order(&self) -> Option<usize> {
        self.order
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The pixels of these jobs will be there when the event is done.
    fn queued(&self, reports: Vec<(usize, Report)>, event: &Arc<Event>) {
        let mut state = self.lock();
        state.unqueued -= reports.len();
        state.events.push(event.clone());
        state.reports.extend(reports);
        self.notify(state);
    }

    fn failed(&self, index: usize, error: Error) {
        self.outcomes.put(Outcome { index, result: Err(error) });
        let mut state = self.lock();
        state.unqueued -= 1;
        self.notify(state);
    }

    fn notify(&self, state: MutexGuard<'_, State>) {
        if state.unqueued == 0 {
            drop(state);
            self.changed.notify_all();
        }
    }

    /// Blocks until all jobs are queued or have failed, and gives the events behind them.
    fn wait_until_queued(&self) -> Vec<Arc<Event>> {
        let mut state = self.lock();
        while state.unqueued > 0 {
            state = self.changed.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        state.events.clone()
    }

    /// Once the events are done: turns reports into outcomes.
    fn finish(&self, result: Result<(), BackendError>) {
        let mut state = self.lock();
        for (index, report) in state.reports.drain(..) {
            let result = result.clone().map(|()| report).map_err(Error::from);
            self.outcomes.put(Outcome { index, result });
        }
    }
}

/// One job's part in a flight. Dropped without having been queued or failed, it fails: nobody waits in vain.
#[derive(Debug)]
pub(crate) struct Ticket {
    flight: Arc<Flight>,
    index: usize,
    open: bool,
    _active: ActiveJob,
}

impl Ticket {
    pub(crate) fn new(flight: &Arc<Flight>, index: usize, active: &Arc<ActiveJobs>) -> Self {
        Ticket { flight: flight.clone(), index, open: true, _active: active.begin() }
    }

    pub(crate) fn flight(&self) -> &Arc<Flight> {
        &self.flight
    }

    pub(crate) fn fail(mut self, error: Error) {
        self.open = false;
        self.flight.failed(self.index, error);
    }

    /// The pixels of these jobs, all of one flight, will be there when the event is done.
    pub(crate) fn queued(tickets: Vec<(Ticket, Report)>, event: &Arc<Event>) {
        let Some(flight) = tickets.first().map(|(ticket, _)| ticket.flight.clone()) else { return };
        let close = |(mut ticket, report): (Ticket, Report)| {
            assert!(Arc::ptr_eq(&ticket.flight, &flight));
            ticket.open = false;
            (ticket.index, report)
        };
        flight.queued(tickets.into_iter().map(close).collect(), event);
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.open {
            let error = failed("the image was dropped before it was decoded");
            self.flight.failed(self.index, error.into());
        }
    }
}

/// Jobs that are being decoded, for whoever has to wait for all of them.
#[derive(Debug, Default)]
pub(crate) struct ActiveJobs {
    /// Not behind the lock: callers begin jobs while other threads end as many.
    count: AtomicUsize,
    none: (Mutex<()>, Condvar),
}

impl ActiveJobs {
    fn begin(self: &Arc<Self>) -> ActiveJob {
        self.count.fetch_add(1, Ordering::SeqCst);
        ActiveJob(self.clone())
    }

    /// Blocks until there is none.
    pub(crate) fn wait_for_none(&self) {
        let (lock, changed) = &self.none;
        let mut guard = lock.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        while self.count.load(Ordering::SeqCst) > 0 {
            guard = changed.wait(guard).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }
}

#[derive(Debug)]
struct ActiveJob(Arc<ActiveJobs>);

impl Drop for ActiveJob {
    fn drop(&mut self) {
        if self.0.count.fetch_sub(1, Ordering::SeqCst) == 1 {
            // Whoever saw a job holds the lock until it is told.
            let (lock, changed) = &self.0.none;
            drop(lock.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
            changed.notify_all();
        }
    }
}

/// Tells whether a submission has finished: its pixels are in their targets. Clones tell of the same submission.
#[derive(Debug, Clone)]
pub struct CudaFence(pub(crate) Arc<Flight>);

impl CudaFence {
    /// Makes a stream of the caller's wait: all that is queued on it from now on comes after the pixels. The host does
    /// not wait for the stream, nor for the pixels; only for their decoding, whose end it takes to know what the
    /// stream has to wait for.
    ///
    /// # Errors
    /// [`BackendError`] if the stream is not of this device, or the device fails.
    pub fn hold_back(&self, stream: &CallerStream) -> Result<(), BackendError> {
        for event in self.0.wait_until_queued() {
            // SAFETY: whoever made the stream vouched for it, and the event is alive.
            unsafe { wait_for(&self.0.device, stream.raw(), event.raw()) }?;
        }
        Ok(())
    }

    /// Whether all jobs are decoded and their last copies queued, so that [`hold_back`](CudaFence::hold_back) does not
    /// block.
    pub fn is_queued(&self) -> bool {
        self.0.lock().unqueued == 0
    }
}

impl Fence for CudaFence {
    fn poll(&self) -> bool {
        let events = {
            let state = self.0.lock();
            if state.unqueued > 0 {
                return false;
            }
            state.events.clone()
        };
        match events.iter().map(|event| event.is_done()).find(|done| !matches!(done, Ok(true))) {
            Some(Ok(_)) => return false,
            Some(Err(error)) => self.0.finish(Err(error)),
            None => self.0.finish(Ok(())),
        }
        true
    }

    fn wait(&self) {
        let events = self.0.wait_until_queued();
        self.0.finish(events.iter().try_for_each(|event| event.wait()));
    }

    fn wait_timeout(&self, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        let events = {
            let mut state = self.0.lock();
            while state.unqueued > 0 {
                let Some(left) = deadline.checked_duration_since(Instant::now()) else { return false };
                let waited = self.0.changed.wait_timeout(state, left);
                state = waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0;
            }
            state.events.clone()
        };
        for event in &events {
            match event.wait_until(deadline) {
                Ok(true) => {}
                Ok(false) => return false,
                Err(error) => {
                    self.0.finish(Err(error));
                    return true;
                }
            }
        }
        self.0.finish(Ok(()));
        true
    }
}
