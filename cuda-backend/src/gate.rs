//! How many calls to the engines are under way at a time.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Pixels of a picture up to which it is small: the engines are done with it sooner than the host with its part of the
/// call, so that several calls together are faster. Larger pictures keep all engines busy from one call.
const SMALL_PIXELS: u64 = 1 << 19;

/// Calls at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CallLimits {
    /// With small pictures.
    pub(crate) small: usize,
    /// With larger ones.
    pub(crate) large: usize,
}

impl CallLimits {
    /// So many with small pictures, and 1 with larger ones; 0 for the default, 1 with all: more calls come with streams of
    /// their own, of which a device keeps only eight apart.
    pub(crate) fn new(small: usize) -> Self {
        CallLimits { small: small.max(1), large: 1 }
    }

    /// For a call of so many images with so many pixels in all.
    pub(crate) fn of(self, images: usize, pixels: u64) -> usize {
        if pixels <= SMALL_PIXELS * images as u64 { self.small } else { self.large }
    }
}

/// Lets calls through, the first first, as long as there are no more inside than any of them allows.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Limits of those inside.
    inside: Vec<usize>,
    /// Who came next is let in next: a call that has to be alone would otherwise wait for as long as others come.
    came: u64,
    let_in: u64,
}

impl State {
    fn has_room(&self, limit: usize) -> bool {
        self.inside.iter().chain([&limit]).all(|limit| self.inside.len() < (*limit).max(1))
    }
}

impl Gate {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there are fewer than `limit` others inside, all of which allow for one more.
    pub(crate) fn enter(&self, limit: usize) -> Call<'_> {
        let mut state = self.lock();
        let place = state.came;
        state.came += 1;
        while state.let_in != place || !state.has_room(limit) {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.let_in += 1;
        state.inside.push(limit);
        drop(state);
        self.changed.notify_all();
        Call { gate: self, limit }
    }
}

/// A call inside; it leaves when it is dropped.
#[derive(Debug)]
pub(crate) struct Call<'g> {
    gate: &'g Gate,
    limit: usize,
}

impl Call<'_> {
    /// Calls inside, this one among them.
    pub(crate) fn count(&self) -> usize {
        self.gate.lock().inside.len()
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        let mut state = self.gate.lock();
        if let Some(place) = state.inside.iter().position(|&limit| limit == self.limit) {
            state.inside.swap_remove(place);
        }
        drop(state);
        self.gate.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    #[test]
    fn small_pictures_have_more_calls() {
        let limits = CallLimits::new(4);
        assert_eq!(limits.of(64, 64 * 500 * 375), 4);
        assert_eq!(limits.of(64, 64 * 1920 * 1080), 1);
        assert_eq!(CallLimits::new(0).of(64, 64 * 500 * 375), 1);
    }

    /// Calls of both kinds from many threads: there are never more than any of those inside allows, and all come through.
    #[test]
    fn no_call_has_more_beside_it_than_it_allows() {
        let gate = Gate::default();
        // Hundreds for calls that are alone, ones for those of which there may be four.
        let inside = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (gate, inside) = (&gate, &inside);
                scope.spawn(move || {
                    for round in 0..100 {
                        let (limit, weight) = if (thread + round) % 5 == 0 { (1, 100) } else { (4, 1) };
                        let call = gate.enter(limit);
                        let now = inside.fetch_add(weight, Ordering::SeqCst) + weight;
                        assert!(now == 100 || now <= 4, "{now}");
                        assert!(call.count() <= limit);
                        std::thread::sleep(Duration::from_micros(20));
                        inside.fetch_sub(weight, Ordering::SeqCst);
                        drop(call);
                    }
                });
            }
        });
        let state = gate.lock();
        assert!(state.inside.is_empty() && state.came == 800 && state.let_in == 800);
    }

    #[test]
    fn calls_overlap_where_they_may() {
        let gate = Gate::default();
        let first = gate.enter(4);
        let second = gate.enter(4);
        assert_eq!((first.count(), second.count()), (2, 2));
    }
}
