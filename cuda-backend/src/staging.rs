//! Memory that only the decoder owns: what the engines and kernels decode into, and what the CPU's pixels are uploaded
//! from. A piece is used again only after the events that guard it are done, seen from the host: no stream holds an
//! engine's write back.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use isopel_core::{BackendError, BackendErrorKind};

use crate::driver::{Device, DeviceMemory, Event, PinnedMemory};

/// A kind of memory that is staged in.
pub(crate) trait Memory: Send + Sized {
    fn allocate(device: &Arc<Device>, len: usize) -> Result<Self, BackendError>;
    fn len(&self) -> usize;
}

impl Memory for DeviceMemory {
    fn allocate(device: &Arc<Device>, len: usize) -> Result<Self, BackendError> {
        DeviceMemory::new(device, len)
    }

    fn len(&self) -> usize {
        DeviceMemory::len(self)
    }
}

impl Memory for PinnedMemory {
    fn allocate(device: &Arc<Device>, len: usize) -> Result<Self, BackendError> {
        PinnedMemory::new(device, len)
    }

    fn len(&self) -> usize {
        PinnedMemory::len(self)
    }
}

/// Pieces of one kind of memory, up to a budget. Clones are the same ring.
#[derive(Debug)]
pub(crate) struct Ring<M>(Arc<Shared<M>>);

impl<M> Clone for Ring<M> {
    fn clone(&self) -> Self {
        Ring(self.0.clone())
    }
}

#[derive(Debug)]
struct Shared<M> {
    device: Arc<Device>,
    budget: usize,
    state: Mutex<State<M>>,
    changed: Condvar,
}

#[derive(Debug)]
struct State<M> {
    free: Vec<M>,
    /// In use on the device until all events are done; the oldest first.
    guarded: VecDeque<(Vec<Arc<Event>>, M)>,
    leased: usize,
    /// Bytes of all pieces, wherever they are.
    bytes: usize,
}

impl<M> Shared<M> {
    fn lock(&self) -> MutexGuard<'_, State<M>> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// What to do for a piece of memory when none is free.
enum Step<M> {
    Use(M),
    Allocate(usize),
    Drop(Vec<M>),
    WaitFor(Vec<Arc<Event>>),
    WaitForLease,
}

impl<M: Memory> Ring<M> {
    pub(crate) fn new(device: &Arc<Device>, budget: usize) -> Self {
        let state = State { free: Vec::new(), guarded: VecDeque::new(), leased: 0, bytes: 0 };
        Ring(Arc::new(Shared { device: device.clone(), budget, state: Mutex::new(state), changed: Condvar::new() }))
    }

    /// Bytes of all pieces that are allocated now.
    pub(crate) fn bytes(&self) -> usize {
        self.0.lock().bytes
    }

    /// At least `len` bytes. Waits while the budget is used up; one piece may exceed it if it is the only one.
    pub(crate) fn lease(&self, len: usize) -> Result<Lease<M>, BackendError> {
        loop {
            let mut state = self.0.lock();
            match state.next_step(len, self.0.budget)? {
                Step::Use(memory) => return Ok(self.leased(memory)),
                Step::Drop(unused) => {
                    drop(state);
                    // Freeing may wait for the device; nobody should wait for the lock meanwhile.
                    drop(unused);
                }
                Step::WaitFor(events) => {
                    drop(state);
                    // What failed has stopped writing too.
                    events.iter().for_each(|event| drop(event.wait()));
                }
                Step::WaitForLease => drop(self.0.changed.wait(state)),
                Step::Allocate(size) => {
                    state.leased += 1;
                    state.bytes += size;
                    drop(state);
                    let allocated = M::allocate(&self.0.device, size);
                    let mut state = self.0.lock();
                    match allocated {
                        Ok(memory) => {
                            drop(state);
                            return Ok(Lease { ring: self.clone(), memory: Some(memory) });
                        }
                        Err(error) => {
                            state.leased -= 1;
                            state.bytes -= size;
                            let idle = state.take_free();
                            drop(state);
                            self.0.changed.notify_all();
                            // With the unused pieces gone there may be room.
                            if error.kind != BackendErrorKind::OutOfMemory || idle.is_empty() {
                                return Err(error);
                            }
                        }
                    }
                }
            }
        }
    }

    fn leased(&self, memory: M) -> Lease<M> {
        Lease { ring: self.clone(), memory: Some(memory) }
    }

    /// Waits until no piece is in use on the device.
    pub(crate) fn drain(&self) {
        let guarded = std::mem::take(&mut self.0.lock().guarded);
        for (events, memory) in guarded {
            events.iter().for_each(|event| drop(event.wait()));
            self.0.lock().free.push(memory);
        }
    }
}

impl<M: Memory> State<M> {
    fn next_step(&mut self, len: usize, budget: usize) -> Result<Step<M>, BackendError> {
        // Asking for every event each time would cost more than decoding small pictures.
        self.collect_oldest();
        if let Some(memory) = self.take_fitting(len) {
            return Ok(Step::Use(memory));
        }
        self.collect_all();
        if let Some(memory) = self.take_fitting(len) {
            return Ok(Step::Use(memory));
        }
        let size = rounded(len);
        let alone = self.leased == 0 && self.guarded.is_empty() && self.free.is_empty();
        if alone || self.bytes.saturating_add(size) <= budget {
            return Ok(Step::Allocate(size));
        }
        if !self.free.is_empty() {
            return Ok(Step::Drop(self.take_free()));
        }
        Ok(match self.guarded.front() {
            Some((events, _)) => Step::WaitFor(events.clone()),
            None => Step::WaitForLease,
        })
    }

    /// The smallest free piece that is large enough and not far too large.
    fn take_fitting(&mut self, len: usize) -> Option<M> {
        let fits = |memory: &M| memory.len() >= len && (memory.len() / 4 <= len || memory.len() <= MIN_PIECE);
        let fitting = (0..self.free.len()).filter(|&index| fits(&self.free[index]));
        let index = fitting.min_by_key(|&index| self.free[index].len())?;
        self.leased += 1;
        Some(self.free.swap_remove(index))
    }

    /// Moves pieces from the oldest on to the free ones, up to the first whose events are not done.
    fn collect_oldest(&mut self) {
        while self.guarded.front().is_some_and(|(events, _)| is_done(events)) {
            self.free.extend(self.guarded.pop_front().map(|(_, memory)| memory));
        }
    }

    /// Moves all pieces whose events are done: a caller's long queue may hold back the oldest.
    fn collect_all(&mut self) {
        for (events, memory) in std::mem::take(&mut self.guarded) {
            if is_done(&events) {
                self.free.push(memory);
            } else {
                self.guarded.push_back((events, memory));
            }
        }
    }

    fn take_free(&mut self) -> Vec<M> {
        self.bytes -= self.free.iter().map(M::len).sum::<usize>();
        std::mem::take(&mut self.free)
    }
}

fn is_done(events: &[Arc<Event>]) -> bool {
    events.iter().all(|event| event.is_done().unwrap_or(true))
}

/// Pieces of this size serve all smaller wishes.
const MIN_PIECE: usize = 1 << 20;

/// Sizes that similar pictures share.
fn rounded(len: usize) -> usize {
    const LARGE: usize = 64 << 20;
    if len <= LARGE { len.next_power_of_two().max(MIN_PIECE) } else { len.next_multiple_of(LARGE / 2) }
}

/// A piece of memory in the hands of one thread.
#[derive(Debug)]
pub(crate) struct Lease<M: Memory> {
    ring: Ring<M>,
    memory: Option<M>,
}

impl<M: Memory> Lease<M> {
    /// Gives the piece back; it is used again once all events are done.
    pub(crate) fn guard(mut self, events: Vec<Arc<Event>>) {
        let memory = self.memory.take().expect("only here and in drop it is taken");
        {
            let mut state = self.ring.0.lock();
            state.leased -= 1;
            state.guarded.push_back((events, memory));
        }
        self.ring.0.changed.notify_all();
    }
}

impl<M: Memory> std::ops::Deref for Lease<M> {
    type Target = M;

    fn deref(&self) -> &M {
        self.memory.as_ref().expect("only guard and drop take it")
    }
}

impl<M: Memory> std::ops::DerefMut for Lease<M> {
    fn deref_mut(&mut self) -> &mut M {
        self.memory.as_mut().expect("only guard and drop take it")
    }
}

impl<M: Memory> Drop for Lease<M> {
    /// After an error: nobody knows what is queued, so all of it has to be done first.
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take() {
            if let Ok(_current) = self.ring.0.device.enter() {
                let _ = cudarc::driver::result::ctx::synchronize();
            }
            let mut state = self.ring.0.lock();
            state.leased -= 1;
            state.free.push(memory);
            drop(state);
            self.ring.0.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bytes(usize);

    impl Memory for Bytes {
        fn allocate(_: &Arc<Device>, len: usize) -> Result<Self, BackendError> {
            Ok(Bytes(len))
        }

        fn len(&self) -> usize {
            self.0
        }
    }

    fn state(free: &[usize], leased: usize, bytes: usize) -> State<Bytes> {
        let free: Vec<Bytes> = free.iter().map(|&len| Bytes(len)).collect();
        State { free, guarded: VecDeque::new(), leased, bytes }
    }

    const M: usize = 1 << 20;

    #[test]
    fn the_smallest_piece_that_fits_is_used() {
        let mut ring = state(&[16 * M, 4 * M, 8 * M, M], 0, 29 * M);
        let Ok(Step::Use(memory)) = ring.next_step(3 * M, 64 * M) else { panic!("a piece fits") };
        assert_eq!(memory.len(), 4 * M);
        assert_eq!(ring.leased, 1);
    }

    #[test]
    fn pieces_far_too_large_are_not_wasted() {
        let mut ring = state(&[64 * M], 0, 64 * M);
        assert!(matches!(ring.next_step(2 * M, 256 * M), Ok(Step::Allocate(size)) if size == 2 * M));
        // Unless the budget says so: then they make room.
        assert!(matches!(ring.next_step(2 * M, 65 * M), Ok(Step::Drop(unused)) if unused.len() == 1));
        assert_eq!(ring.bytes, 0);
    }

    #[test]
    fn the_budget_holds_while_others_hold_pieces() {
        let mut ring = state(&[], 1, 60 * M);
        assert!(matches!(ring.next_step(8 * M, 64 * M), Ok(Step::WaitForLease)));
        assert!(matches!(ring.next_step(4 * M, 64 * M), Ok(Step::Allocate(_))));
        let mut empty = state(&[], 0, 0);
        assert!(matches!(empty.next_step(100 * M, 64 * M), Ok(Step::Allocate(_))), "one image must be possible");
    }
}
