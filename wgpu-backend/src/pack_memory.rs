//! Memory of packed coefficients, kept for the next pictures.

use std::sync::Mutex;

use isopel_core::PackedCoefficients;

/// Memory of packed coefficients that is used again: fresh pages of megabytes per picture cost more than the
/// entropy decoding that fills them, once many threads ask for them.
#[derive(Default)]
pub(crate) struct PackMemory(Mutex<Vec<PackedCoefficients>>);

impl PackMemory {
    /// Kept at most: a chunk's pictures of moderate size, and some being packed.
    const KEPT: usize = 96;
    /// Words of the largest that is kept.
    const LARGEST: usize = 4 << 20;

    /// Memory to pack into; what it holds has no meaning.
    pub(crate) fn take(&self) -> PackedCoefficients {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).pop().unwrap_or_default()
    }

    /// Takes back what has been copied to the GPU.
    pub(crate) fn put(&self, packed: PackedCoefficients) {
        let mut kept = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if kept.len() < Self::KEPT && packed.capacity() <= Self::LARGEST {
            kept.push(packed);
        }
    }
}
