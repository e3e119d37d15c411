//! Sequential scans cut into subsequences, for decoders with thousands of threads.
//!
//! Huffman codes synchronise themselves: a decoder that starts anywhere soon takes the same codes as one that came from
//! the start. So the data is cut into pieces of equal length, *subsequences*, each decoded by a thread of its own that
//! goes on until the next one's state is confirmed (Weissenberger and Schmidt, "Massively parallel Huffman decoding on
//! GPUs", 2018). The backends for GPUs do that in kernels. Here is what they share: [`StagedPlan`] is what is uploaded,
//! [`LookupTable`] how codes are looked up, and [`Model`] is every pass in plain Rust, the reference of the kernels.
//!
//! The passes:
//!
//! 1. [`synchronise`](Model::synchronise): each group of subsequences finds the states between them.
//! 2. [`join_groups`](Model::join_groups): the same across groups. Of little data, 1 and 2 would leave most of a device
//!    idle for long; there [`link_candidates`](Model::link_candidates) comes to the same in fewer steps and more work.
//! 3. [`scan`](Model::scan): blocks and DC predictions before each subsequence. Where the tables do not tell the blocks
//!    of an MCU apart, [`recount`](Model::recount) finds the DC differences once the number of blocks is known.
//! 4. [`write`](Model::write): coefficients in the form of [`PackedCoefficients`](crate::PackedCoefficients), and flags.
//!
//! What comes out is exact, or the image has a flag and is one for the CPU: bad codes, blocks missing or left over,
//! data that does not synchronise.

mod model;
mod staging;
mod tables;

pub use model::{Decoded, Flags, Model, Record, decode};
pub use staging::{Irregular, McuBlock, Segment, StagedPlan, StagedScan};
pub use tables::{Entry, LookupTable};

/// Subsequences that one workgroup synchronises.
pub const GROUP: usize = 256;

/// Blocks of an MCU that [`Model::link_candidates`] tells apart at most.
pub const PHASES: usize = 8;

/// Room for candidates behind a subsequence: first a guess for each phase, then others; the last stays free.
pub const CANDIDATES: usize = 32;

/// Words for the symbols of a subsequence, which start at its index times this. They can't be too few: a symbol has 2 bits
/// at least, but for DC in blocks of 64, which have 127; and the last block goes on past the end.
pub const fn symbol_slots(subsequence_bytes: u32) -> u32 {
    4 * subsequence_bytes + 64
}
