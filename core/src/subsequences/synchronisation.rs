//! Which of two ways the states between subsequences are found.

/// How the states between subsequences are found. Both come to the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Synchronisation {
    /// [`synchronise`](super::Model::synchronise) and [`join_groups`](super::Model::join_groups): little work, one step
    /// after the other.
    #[default]
    Rounds,
    /// [`link_candidates`](super::Model::link_candidates): several times the work, in few steps.
    Candidates,
}

impl Synchronisation {
    /// Bytes of data up to which a device has threads to spare.
    pub const CANDIDATES_DATA: usize = 2 << 20;

    /// What is faster for so many bytes of data together.
    pub fn for_data(bytes: usize) -> Self {
        if bytes <= Self::CANDIDATES_DATA { Self::Candidates } else { Self::Rounds }
    }
}
