//! Huffman tables of all kinds for the symbols of a scan (T.81 Annex C and K).

use std::collections::BTreeMap;
use std::sync::OnceLock;

use isopel_core::{Codestream, Limits};

use crate::random::Random;

/// How lengths of codes are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Style {
    /// Short codes for what is frequent.
    Optimal,
    /// The same, and codes for all that could come but doesn't.
    Roomy,
    /// Codes of all lengths up to 16 bits, whatever is frequent.
    Deep,
    /// The longest codes for what is most frequent.
    Inverse,
    /// Any lengths.
    Any,
    /// Codes that are about equally long.
    Level,
    /// The tables of T.81 Annex K.3, where they have all symbols.
    Typical,
}

impl Style {
    pub(crate) const ALL: [Style; 7] =
        [Style::Optimal, Style::Roomy, Style::Deep, Style::Inverse, Style::Any, Style::Level, Style::Typical];
}

/// A table as DHT has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Table {
    /// Codes of each length from 1 to 16.
    pub(crate) counts: [u8; 16],
    /// Symbols in the order of their codes.
    pub(crate) symbols: Vec<u8>,
}

/// Each symbol's code and its length; 0 for symbols without one.
pub(crate) type Codes = [(u16, u8); 256];

impl Table {
    /// A table for at least these symbols, which came so often.
    pub(crate) fn make(style: Style, slot: u8, frequencies: &BTreeMap<u8, u64>, random: &mut Random) -> Table {
        let typical = if style == Style::Typical { typical(slot) } else { None };
        if let Some(table) = typical.filter(|table| table.has(frequencies.keys())) {
            return table;
        }
        let mut frequencies = frequencies.clone();
        if matches!(style, Style::Roomy | Style::Deep | Style::Any) {
            let others = if slot < 4 { (0..=11).collect() } else { ac_symbols() };
            let kept = others.into_iter().filter(|_| !random.one_in(3)).collect::<Vec<u8>>();
            kept.into_iter().for_each(|symbol| _ = frequencies.entry(symbol).or_insert(0));
        }
        let mut weights: Vec<(u8, u64)> = frequencies.into_iter().collect();
        match style {
            Style::Deep => {
                random.shuffle(&mut weights);
                (0..).zip(&mut weights).for_each(|(rank, weight)| weight.1 = 1 << (rank / 2).min(40));
            }
            Style::Inverse => {
                weights.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
                (0..).zip(&mut weights).for_each(|(rank, weight)| weight.1 = 1 << rank.min(40));
            }
            Style::Any => {
                let spread = 1 + random.below(30);
                weights.iter_mut().for_each(|weight| weight.1 = 1 << random.below(spread));
            }
            Style::Level => weights.iter_mut().for_each(|weight| weight.1 = 1),
            Style::Optimal | Style::Roomy | Style::Typical => {}
        }
        // A scan without symbols of this kind still names a table.
        if weights.is_empty() {
            weights.push((0, 1));
        }
        Table::of_weights(weights)
    }

    /// Codes by Huffman's algorithm, made shorter where they exceed 16 bits (T.81 K.2).
    fn of_weights(mut weights: Vec<(u8, u64)>) -> Table {
        weights.sort_by_key(|&(_, weight)| std::cmp::Reverse(weight));
        // One more symbol, the least frequent, takes the code of all ones, and goes without it.
        let mut lengths = huffman_lengths(&weights.iter().map(|&(_, weight)| weight).chain([0]).collect::<Vec<_>>());
        for long in (17..lengths.len()).rev() {
            while lengths[long] > 0 {
                // Of two siblings one takes their parent's place, the other goes beside a shorter code.
                let shorter = (1..long - 1).rev().find(|&length| lengths[length] > 0).expect("there are shorter codes");
                lengths[long] -= 2;
                lengths[long - 1] += 1;
                lengths[shorter] -= 1;
                lengths[shorter + 1] += 2;
            }
        }
        let longest = (1..=16).rev().find(|&length| lengths[length] > 0).expect("there is a code");
        lengths[longest] -= 1;
        let symbols = weights.into_iter().map(|(symbol, _)| symbol).collect();
        Table { counts: std::array::from_fn(|index| lengths[index + 1] as u8), symbols }
    }

    fn has<'s>(&self, mut symbols: impl Iterator<Item = &'s u8>) -> bool {
        symbols.all(|symbol| self.symbols.contains(symbol))
    }

    /// The codes (T.81 C.2).
    pub(crate) fn codes(&self) -> Codes {
        let mut codes = [(0, 0); 256];
        let mut symbols = self.symbols.iter();
        let mut code = 0;
        for (length, &count) in (1..).zip(&self.counts) {
            for &symbol in symbols.by_ref().take(count.into()) {
                codes[usize::from(symbol)] = (code, length);
                code += 1;
            }
            code <<= 1;
        }
        codes
    }
}

/// How many codes there are of each length, from 0 on, that Huffman's algorithm gives these weights.
fn huffman_lengths(weights: &[u64]) -> Vec<u32> {
    let mut trees: Vec<(u64, Vec<usize>)> = (0..).zip(weights).map(|(leaf, &weight)| (weight, vec![leaf])).collect();
    let mut depths = vec![0; weights.len()];
    while trees.len() > 1 {
        // Heaviest first; there are at most 257.
        trees.sort_by_key(|tree| std::cmp::Reverse(tree.0));
        let (lightest, second) = (trees.pop().expect("two trees"), trees.pop().expect("two trees"));
        let leaves = [lightest.1, second.1].concat();
        leaves.iter().for_each(|&leaf| depths[leaf] += 1);
        trees.push((lightest.0 + second.0, leaves));
    }
    let mut lengths = vec![0; depths.iter().max().map_or(1, |&depth| depth + 1).max(17)];
    depths.into_iter().for_each(|depth| lengths[depth] += 1);
    lengths
}

/// End of block, runs with sizes, 16 zeros; a progressive file's longer ends of bands come on top where they occur.
fn ac_symbols() -> Vec<u8> {
    let runs = (0..16u8).flat_map(|run| (1..=10).map(move |size| run << 4 | size));
    [0x00, 0xF0].into_iter().chain(runs).collect()
}

/// Annex K's table for slots 0 and 1 of either class: those that decoders lend to files without tables.
pub(crate) fn typical(slot: u8) -> Option<Table> {
    // A gray picture without tables, for whose scan both of a selector are lent.
    const QUANTIZER: [u8; 5] = [0xFF, 0xDB, 0, 67, 0];
    const FRAME: [u8; 13] = [0xFF, 0xC0, 0, 11, 8, 0, 8, 0, 8, 1, 1, 0x11, 0];
    static LENT: OnceLock<Vec<Table>> = OnceLock::new();
    let lent = LENT.get_or_init(|| {
        let tables = (0..2u8).map(|selector| {
            let scan = [0xFF, 0xDA, 0, 8, 1, 1, selector << 4 | selector, 0, 63, 0, 0x2B, 0xFF, 0xD9];
            let file = [&[0xFF, 0xD8], QUANTIZER.as_slice(), &[1; 64], &FRAME, &scan].concat();
            let codestream = Codestream::parse(&file, &Limits::default()).expect("a picture of one block");
            let specs = codestream.huffman_tables().iter();
            specs.map(|spec| Table { counts: spec.counts, symbols: spec.symbols.clone() }).collect()
        });
        let tables: Vec<Vec<Table>> = tables.collect();
        vec![tables[0][0].clone(), tables[1][0].clone(), tables[0][1].clone(), tables[1][1].clone()]
    });
    match slot {
        0 | 1 => Some(lent[usize::from(slot)].clone()),
        4 | 5 => Some(lent[usize::from(slot) - 2].clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No code begins with another, and none is all ones.
    fn check(table: &Table, frequencies: &BTreeMap<u8, u64>, what: &str) {
        let codes = table.codes();
        let used: Vec<(u16, u8)> = codes.into_iter().filter(|&(_, length)| length > 0).collect();
        assert_eq!(used.len(), table.symbols.len(), "{what}: a symbol has two codes");
        assert!(frequencies.keys().all(|&symbol| codes[usize::from(symbol)].1 > 0), "{what}: a symbol has none");
        for (index, &(code, length)) in used.iter().enumerate() {
            assert!(u32::from(code) + 1 < 1 << length, "{what}: code {code:b} of {length} bits");
            for &(other, longer) in used[index + 1..].iter().chain(&used[..index]).filter(|other| other.1 >= length) {
                assert!(other >> (longer - length) != code, "{what}: {code:b} begins {other:b}");
            }
        }
    }

    #[test]
    fn tables_of_every_style_are_prefix_codes() {
        let mut random = Random::new(5);
        let mut lengths = BTreeMap::new();
        for round in 0..60 {
            for style in Style::ALL {
                let slot = [0, 1, 4, 5][round % 4];
                let largest = if slot < 4 { 12 } else { 256 };
                let symbols = 1 + random.below(if round % 5 == 0 { 1 } else { 12.min(largest) });
                let frequencies: BTreeMap<u8, u64> = (0..symbols)
                    .map(|_| {
                        let magnitude = random.below(20);
                        (random.below(largest) as u8, 1 + random.below(1 << magnitude) as u64)
                    })
                    .collect();
                let table = Table::make(style, slot, &frequencies, &mut random);
                check(&table, &frequencies, &format!("{style:?} for {frequencies:?}"));
                let longest = table.counts.iter().rposition(|&count| count > 0).unwrap() + 1;
                lengths.entry(style).or_insert_with(Vec::new).push(longest);
            }
        }
        assert!(lengths[&Style::Deep].contains(&16), "{lengths:?}");
    }

    #[test]
    fn typical_tables_are_those_of_the_standard() {
        // T.81 tables K.3 to K.6: codes of each length.
        let counts = [0, 1, 4, 5].map(|slot| typical(slot).unwrap().counts);
        assert_eq!(counts[0], [0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(counts[1], [0, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0]);
        assert_eq!(counts[2], [0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 125]);
        assert_eq!(counts[3], [0, 2, 1, 2, 4, 4, 3, 4, 7, 5, 4, 4, 0, 1, 2, 119]);
        assert_eq!(typical(2), None);
    }
}
