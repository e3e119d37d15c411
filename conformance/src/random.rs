//! A small random generator whose numbers are the same everywhere: a seed printed on one machine repeats the
//! test on another.

use std::ops::RangeInclusive;

/// SplitMix64 (Steele, Lea and Flood, 2014).
#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
}

impl Random {
    /// Starts from a seed.
    pub fn new(seed: u64) -> Self {
        Random { state: seed }
    }

    /// Starts from a seed and a name, so that each file's numbers stay the same when files are added.
    pub fn for_name(seed: u64, name: &str) -> Self {
        let hash = name
            .bytes()
            .fold(0xCBF2_9CE4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3));
        Random::new(seed ^ hash)
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to `bound - 1`. `bound` must not be 0.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next_u64()) * bound as u128) >> 64) as usize
    }

    /// A number from 0 to `bound - 1`. `bound` must not be 0.
    pub fn below_u32(&mut self, bound: u32) -> u32 {
        self.below(bound as usize) as u32
    }

    /// A number of the range.
    pub fn within(&mut self, range: RangeInclusive<u32>) -> u32 {
        range.start() + self.below_u32(range.end() - range.start() + 1)
    }

    /// True one of `count` times. `count` must not be 0.
    pub fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    /// One of the items, of which there must be some.
    pub fn choose<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    /// Puts the items into any order, each as likely as the others.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// At most `count` of the items, in their order.
    pub fn pick<T>(&mut self, items: Vec<T>, count: usize) -> Vec<T> {
        let (mut wanted, mut left) = (count.min(items.len()), items.len());
        let mut keep = || {
            let kept = self.below(left) < wanted;
            left -= 1;
            wanted -= usize::from(kept);
            kept
        };
        items.into_iter().filter(|_| keep()).collect()
    }

    /// Eight bits.
    pub fn byte(&mut self) -> u8 {
        (self.next_u64() >> 56) as u8
    }
}

/// The seed of this run: `ISOPEL_SEED` if set, else `default`. Prints it, so that a failure shows it.
///
/// # Panics
/// If `ISOPEL_SEED` is not a number.
pub fn seed(default: u64) -> u64 {
    let seed = match std::env::var("ISOPEL_SEED") {
        Ok(text) => text.parse().expect("ISOPEL_SEED must be a number"),
        Err(_) => default,
    };
    println!("seed {seed} (set ISOPEL_SEED to change it)");
    seed
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn numbers_are_those_of_the_published_generator() {
        let mut random = Random::new(1_234_567);
        assert_eq!(random.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(random.next_u64(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn bounds_hold() {
        let mut random = Random::new(1);
        assert!((0..1000).all(|_| random.below(7) < 7));
        assert_eq!(random.below(1), 0);
    }

    #[test]
    fn every_order_comes_up() {
        let mut random = Random::new(3);
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..600 {
            let mut items = [0, 1, 2];
            random.shuffle(&mut items);
            *seen.entry(items).or_insert(0) += 1;
        }
        assert!(seen.len() == 6 && seen.values().all(|&times| (60..140).contains(&times)), "{seen:?}");
        assert!((0..100).all(|_| (3..=5).contains(&random.within(3..=5))));
    }

    #[test]
    fn as_many_are_picked_as_asked_for() {
        let mut random = Random::new(2);
        for count in [0, 1, 7, 19, 20, 21, usize::MAX] {
            let picked = random.pick((0..20).collect(), count);
            assert_eq!(picked.len(), count.min(20));
            assert!(picked.is_sorted());
        }
        let mut seen = [0; 20];
        (0..1000).for_each(|_| random.pick((0..20).collect(), 5).into_iter().for_each(|item: usize| seen[item] += 1));
        assert!(seen.iter().all(|&times| (180..320).contains(&times)), "{seen:?}");
    }
}
