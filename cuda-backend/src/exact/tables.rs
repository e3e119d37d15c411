//! Huffman tables as the kernels find them. Most files have the same few, so those made before are kept.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use isopel_core::subsequences::LookupTable;
use isopel_core::{HuffmanClass, HuffmanSpec};

/// The tables of a scan.
#[derive(Debug)]
pub(super) struct ScanTables {
    /// Their entries, each table from a multiple of 64 on.
    pub(super) entries: Vec<u16>,
    /// `Scan::tables`.
    pub(super) places: [u32; 8],
}

impl ScanTables {
    /// `None` if they are too long to be addressed.
    fn new(specs: &[(HuffmanClass, &HuffmanSpec)]) -> Option<ScanTables> {
        let (mut entries, mut places): (Vec<u16>, [u32; 8]) = (Vec::new(), [0; 8]);
        for (place, (class, spec)) in places.iter_mut().zip(specs) {
            let table = LookupTable::new(*class, spec);
            let first = entries.len() / 64;
            if first >= 1 << 15 {
                return None;
            }
            *place = table.direct_from | (first as u32) << 17;
            entries.extend(table.entries.iter().map(|entry| entry.0));
            entries.resize(entries.len().next_multiple_of(64), 0);
        }
        Some(ScanTables { entries, places })
    }
}

/// Tables made lately, by their specs.
#[derive(Debug, Default)]
pub(super) struct KnownTables(Mutex<VecDeque<Known>>);

#[derive(Debug)]
struct Known {
    hash: u64,
    specs: Vec<(HuffmanClass, HuffmanSpec)>,
    tables: Arc<ScanTables>,
}

impl Known {
    fn is_of(&self, hash: u64, specs: &[(HuffmanClass, &HuffmanSpec)]) -> bool {
        let own = self.specs.iter().map(|(class, spec)| (*class, spec));
        self.hash == hash && own.eq(specs.iter().copied())
    }
}

impl KnownTables {
    /// Kept at most: a wave's, if each of its images has its own.
    const KEPT: usize = 256;

    /// The tables of these specs, DC and AC by turns; the same ones as before where they are still known. `None` if they
    /// are too long to be addressed.
    pub(super) fn get(&self, specs: &[(HuffmanClass, &HuffmanSpec)]) -> Option<Arc<ScanTables>> {
        let mut hasher = DefaultHasher::new();
        specs.hash(&mut hasher);
        let hash = hasher.finish();
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.iter().find(|known| known.is_of(hash, specs)) {
            return Some(known.tables.clone());
        }
        drop(known);
        let tables = Arc::new(ScanTables::new(specs)?);
        let specs = specs.iter().map(|&(class, spec)| (class, spec.clone())).collect();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= Self::KEPT {
            known.pop_front();
        }
        known.push_back(Known { hash, specs, tables: tables.clone() });
        Some(tables)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(symbol: u8) -> HuffmanSpec {
        let mut counts = [0; 16];
        counts[1] = 1;
        HuffmanSpec { counts, symbols: vec![symbol] }
    }

    #[test]
    fn the_same_specs_have_the_same_tables() {
        let known = KnownTables::default();
        let (one, other) = (spec(1), spec(2));
        let first = known.get(&[(HuffmanClass::Dc, &one), (HuffmanClass::Ac, &other)]).unwrap();
        let again = known.get(&[(HuffmanClass::Dc, &spec(1)), (HuffmanClass::Ac, &spec(2))]).unwrap();
        assert!(Arc::ptr_eq(&first, &again));
        for others in [[(HuffmanClass::Dc, &other), (HuffmanClass::Ac, &one)], [(HuffmanClass::Ac, &one); 2]] {
            assert!(!Arc::ptr_eq(&first, &known.get(&others).unwrap()));
        }
        assert_eq!((first.entries.len(), first.places[1] >> 17), (2048, 16));
        assert_eq!(first.entries[0], LookupTable::new(HuffmanClass::Dc, &one).entries[0].0);
        assert_eq!(first.entries[1024], LookupTable::new(HuffmanClass::Ac, &other).entries[0].0);
    }

    #[test]
    fn only_so_many_are_kept() {
        let known = KnownTables::default();
        let number = KnownTables::KEPT + 10;
        let specs: Vec<HuffmanSpec> = (0..number)
            .map(|number| HuffmanSpec {
                symbols: vec![number as u8, (number >> 8) as u8],
                counts: {
                    let mut counts = [0; 16];
                    counts[2] = 2;
                    counts
                },
            })
            .collect();
        specs.iter().for_each(|spec| drop(known.get(&[(HuffmanClass::Ac, spec)])));
        assert_eq!(known.0.lock().unwrap().len(), KnownTables::KEPT);
    }
}
