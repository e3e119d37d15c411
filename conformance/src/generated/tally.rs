//! Counts of what was checked.

use std::collections::BTreeMap;
use std::ops::AddAssign;

/// How often what was checked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tally(pub BTreeMap<String, u64>);

impl Tally {
    pub(super) fn count(&mut self, what: impl Into<String>) {
        self.add(what, 1);
    }

    pub(super) fn add(&mut self, what: impl Into<String>, number: u64) {
        *self.0.entry(what.into()).or_default() += number;
    }

    /// How often something was counted.
    pub fn get(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or(0)
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        other.0.into_iter().for_each(|(what, number)| self.add(what, number));
    }
}
