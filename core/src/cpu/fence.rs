//! Fences for work on CPU threads.

use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::backend::Fence;

type Callback = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct State {
    done: bool,
    callbacks: Vec<Callback>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Tells whether work on the CPU has finished. Clones tell of the same work.
///
/// Make one for work of your own with [`CpuSignal::new`] and pass it as what a submission comes after.
#[derive(Clone, Default)]
pub struct CpuFence(Arc<Shared>);

/// The other end of a [`CpuFence`]: signals it, at the latest when dropped, so that nobody waits for work that
/// panicked.
///
/// ```
/// use isopel_core::Fence;
/// use isopel_core::cpu::CpuSignal;
/// let (signal, fence) = CpuSignal::new();
/// let reader = std::thread::spawn(move || { /* read the buffer */ signal.signal(); });
/// fence.wait();
/// # reader.join().unwrap();
/// ```
pub struct CpuSignal(Arc<Shared>);

impl CpuSignal {
    /// A signal and the fence that it will signal.
    pub fn new() -> (CpuSignal, CpuFence) {
        let shared = Arc::new(Shared::default());
        (CpuSignal(shared.clone()), CpuFence(shared))
    }

    /// Signals the fence.
    pub fn signal(self) {}
}

impl Drop for CpuSignal {
    fn drop(&mut self) {
        let callbacks = {
            let mut state = self.0.lock();
            state.done = true;
            std::mem::take(&mut state.callbacks)
        };
        self.0.changed.notify_all();
        callbacks.into_iter().for_each(|callback| callback());
    }
}

impl CpuFence {
    /// A fence of work that has finished already.
    pub fn finished() -> CpuFence {
        CpuSignal::new().1
    }

    /// Calls `callback` when the work is done: at once if it is, else on the thread that signals.
    pub fn on_done(&self, callback: impl FnOnce() + Send + 'static) {
        let mut state = self.0.lock();
        if state.done {
            drop(state);
            callback();
        } else {
            state.callbacks.push(Box::new(callback));
        }
    }
}

impl Fence for CpuFence {
    fn poll(&self) -> bool {
        self.0.lock().done
    }

    fn wait(&self) {
        let mut state = self.0.lock();
        while !state.done {
            state = self.0.changed.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }

    fn wait_timeout(&self, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        let mut state = self.0.lock();
        while !state.done {
            let Some(left) = deadline.checked_duration_since(Instant::now()) else { return false };
            let waited = self.0.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
        true
    }
}

impl std::fmt::Debug for CpuFence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CpuFence").field("done", &self.poll()).finish()
    }
}

#[cfg(test)]
mod tests;
