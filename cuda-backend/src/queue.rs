//! Work for a thread of its own, first come, first served.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard};

/// A queue that can be closed.
#[derive(Debug)]
pub(crate) struct WorkQueue<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct State<T> {
    items: VecDeque<T>,
    closing: bool,
}

impl<T> Default for WorkQueue<T> {
    fn default() -> Self {
        WorkQueue { state: Mutex::new(State { items: VecDeque::new(), closing: false }), changed: Condvar::new() }
    }
}

impl<T> WorkQueue<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(crate) fn put(&self, item: T) {
        self.lock().items.push_back(item);
        self.changed.notify_one();
    }

    /// Lets threads end once the queue is empty.
    pub(crate) fn close(&self) {
        self.lock().closing = true;
        self.changed.notify_all();
    }

    /// The next item; waits for it. `None`: no more will come.
    pub(crate) fn next(&self) -> Option<T> {
        let mut state = self.lock();
        loop {
            if let Some(item) = state.items.pop_front() {
                return Some(item);
            }
            if state.closing {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_come_in_their_order_and_the_rest_before_the_end() {
        let queue = std::sync::Arc::new(WorkQueue::default());
        let other = queue.clone();
        let thread = std::thread::spawn(move || std::iter::from_fn(|| other.next()).collect::<Vec<u32>>());
        (0..100).for_each(|item| queue.put(item));
        queue.close();
        assert_eq!(thread.join().unwrap(), (0..100).collect::<Vec<_>>());
    }
}
