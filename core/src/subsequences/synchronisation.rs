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
    /// Bytes of several files together up to which candidates are faster. With more, a device has no threads to spare.
    pub const CANDIDATES_DATA: usize = 2 << 20;
    /// The same of one file, which has nothing beside it.
    const CANDIDATES_FILE: usize = 6 << 20;

    /// What is faster for the data of so many files that are decoded together.
    pub fn for_data(files: usize, bytes: usize) -> Self {
        let most = if files == 1 { Self::CANDIDATES_FILE } else { Self::CANDIDATES_DATA };
        if bytes <= most { Self::Candidates } else { Self::Rounds }
    }
}
