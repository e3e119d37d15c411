//! Synchronisation in a few steps where many threads have little to do, at several times the work.
//!
//! The bits of a code synchronise soon; what takes long is which block of the MCU they are in. So every subsequence is
//! decoded as if each of the blocks began with it. The states that come out are *candidates*: nearly always the right
//! one is among them. From each candidate the next subsequence is decoded, which leads to one of the candidates behind
//! that, or to a new one. What remains is to follow these links from the start of the segment.

use super::{Flags, Model, Record};
use crate::subsequences::{CANDIDATES, PHASES};

/// Candidates that fit beside the guesses.
const ROOM: usize = CANDIDATES - PHASES - 1;

/// The candidates behind a subsequence, and what decoding it from the candidates before it came to.
#[derive(Default)]
struct Candidates {
    states: Vec<u32>,
    /// By candidate before: the one behind, and the record. `None`: there was no room for it.
    links: Vec<(Option<usize>, Record)>,
}

impl Model<'_> {
    /// Whether [`link_candidates`](Self::link_candidates) can be used: not if the tables tell more than [`PHASES`]
    /// blocks apart.
    pub fn has_candidates(&self) -> bool {
        self.scan.period as usize <= PHASES
    }

    /// States and records, as [`synchronise`](Self::synchronise) and [`join_groups`](Self::join_groups) find them
    /// together, by links between candidates. They are right up to where there are more candidates than fit, which is
    /// flagged; kernels may meet the same candidate more than once and run out of room a little earlier.
    ///
    /// # Panics
    /// If there are none, see [`has_candidates`](Self::has_candidates).
    pub fn link_candidates(&self) -> (Vec<u32>, Vec<Record>, Flags) {
        assert!(self.has_candidates());
        let (mut states, mut records, mut flags) = (Vec::new(), Vec::new(), Flags::default());
        let mut before = Candidates::default();
        let mut chosen = Some(0);
        for subsequence in 0..self.subsequences() {
            let mut behind = self.guess(subsequence);
            self.follow(subsequence, &before, &mut behind);
            if self.starts_segment(subsequence) {
                chosen = Some(0);
            }
            let link = chosen.and_then(|candidate| behind.links.get(candidate).copied());
            let (next, record) = link.unwrap_or_default();
            chosen = next;
            if chosen.is_none() {
                flags.0 |= Flags::UNSYNCHRONISED;
            }
            states.push(chosen.map_or(0, |candidate| behind.states[candidate]));
            records.push(record);
            before = behind;
        }
        (states, records, flags)
    }

    /// The states behind a subsequence if any of the blocks began with it.
    fn guess(&self, subsequence: usize) -> Candidates {
        let phases = if self.starts_segment(subsequence) { 1 } else { self.scan.period };
        let states = (0..phases).map(|phase| self.count(subsequence, phase << 11, None).0);
        Candidates { states: states.collect(), links: Vec::new() }
    }

    /// Decodes a subsequence from all candidates before it.
    fn follow(&self, subsequence: usize, before: &Candidates, behind: &mut Candidates) {
        let entries = if self.starts_segment(subsequence) { &[0] } else { &*before.states };
        for &entry in entries {
            let (state, record) = self.count(subsequence, entry, None);
            let known = behind.states.iter().position(|&known| known == state);
            let candidate = known.or_else(|| {
                (behind.states.len() < self.scan.period as usize + ROOM).then(|| {
                    behind.states.push(state);
                    behind.states.len() - 1
                })
            });
            behind.links.push((candidate, record));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{sample, with_model};
    use super::*;

    /// Whether links lead to what rounds of synchronisation find, and whether all candidates had room.
    fn equals_rounds(bytes: &[u8], subsequence_bytes: u32) -> (bool, bool) {
        with_model(bytes, subsequence_bytes, |model| {
            let (mut states, mut records) = model.synchronise();
            model.join_groups(&mut states, &mut records);
            let (linked_states, linked_records, flags) = model.link_candidates();
            (linked_states == states && linked_records == records, flags == Flags::default())
        })
    }

    #[test]
    fn links_lead_to_what_rounds_find() {
        for name in ["photo.jpg", "gray.jpg", "restart.jpg", "portrait-exif6.jpg", "cmyk.jpg"] {
            for subsequence_bytes in [32, 64, 128] {
                assert_eq!(
                    equals_rounds(&sample(name), subsequence_bytes),
                    (true, true),
                    "{name}, {subsequence_bytes}"
                );
            }
        }
    }

    #[test]
    fn data_that_never_synchronises_is_flagged() {
        let mut hostile = sample("photo.jpg");
        hostile.truncate(20_000);
        // Every decoder goes round with this byte, each on a way of its own.
        hostile[1000..].fill(0x9D);
        hostile.extend([0xFF, 0xD9]);
        for subsequence_bytes in [16, 48, 128] {
            let flags = with_model(&hostile, subsequence_bytes, |model| model.link_candidates().2);
            assert_eq!(flags, Flags(Flags::UNSYNCHRONISED), "{subsequence_bytes}");
        }
    }
}
