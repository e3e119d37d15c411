//! Threads that work at the same time on things that they take, and finish, in one order.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Hands out places in the order.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// Things taken so far.
    taken: Mutex<u64>,
    /// Things finished so far, which is the place of the one whose turn it is.
    finished: Mutex<u64>,
    changed: Condvar,
}

/// A place in the order. When it is dropped the next one's turn comes, but never before its own has come.
#[derive(Debug)]
pub(super) struct Turn<'t> {
    turns: &'t Turns,
    place: u64,
}

fn lock(number: &Mutex<u64>) -> MutexGuard<'_, u64> {
    number.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Turns {
    /// Takes something; nobody else takes anything meanwhile, so what has to be waited for is given in order too. `None` if
    /// nothing will come any more.
    pub(super) fn take<T>(&self, take: impl FnOnce() -> Option<T>) -> Option<(T, Turn<'_>)> {
        let mut taken = lock(&self.taken);
        let thing = take()?;
        let place = *taken;
        *taken += 1;
        Some((thing, Turn { turns: self, place }))
    }
}

impl Turn<'_> {
    /// Blocks until all that was taken before is finished.
    pub(super) fn wait(&self) {
        let mut finished = lock(&self.turns.finished);
        while *finished < self.place {
            finished = self.turns.changed.wait(finished).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.wait();
        *lock(&self.turns.finished) += 1;
        self.turns.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Whoever is slow to begin with, or does not wait at all, holds up those behind, and is not overtaken.
    #[test]
    fn what_is_taken_in_order_is_finished_in_order() {
        let (turns, things, finished) = (Turns::default(), Mutex::new(0..100), Mutex::new(Vec::new()));
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (turns, things, finished) = (&turns, &things, &finished);
                scope.spawn(move || {
                    while let Some((thing, turn)) = turns.take(|| things.lock().unwrap().next()) {
                        std::thread::sleep(Duration::from_micros((thing * 7 + thread * 31) % 60));
                        if thing % 10 == 3 {
                            // As in a panic: nothing is done, and the place is given up.
                            continue;
                        }
                        turn.wait();
                        finished.lock().unwrap().push(thing);
                    }
                });
            }
        });
        let expected: Vec<u64> = (0..100).filter(|thing| thing % 10 != 3).collect();
        assert_eq!(finished.into_inner().unwrap(), expected);
    }
}
