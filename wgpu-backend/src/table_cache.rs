//! Look-up tables of Huffman codes, kept for the next pictures.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use isopel_core::subsequences::LookupTable;
use isopel_core::{HuffmanClass, HuffmanSpec};

type Key = (bool, [u8; 16], Vec<u8>);

/// Look-up tables by their codes: making one takes as long as all else that is done for a small picture, and most files
/// have the same.
#[derive(Default)]
pub(crate) struct TableCache(Mutex<HashMap<Key, Arc<LookupTable>>>);

impl TableCache {
    /// Tables kept: a few kilobytes each. Encoders that compute tables make them new for every file.
    const KEPT: usize = 64;

    /// The table for a spec.
    pub(crate) fn table(&self, class: HuffmanClass, spec: &HuffmanSpec) -> Arc<LookupTable> {
        let key = (class == HuffmanClass::Dc, spec.counts, spec.symbols.clone());
        if let Some(known) = self.lock().get(&key) {
            return known.clone();
        }
        let table = Arc::new(LookupTable::new(class, spec));
        let mut kept = self.lock();
        if kept.len() >= Self::KEPT {
            kept.clear();
        }
        kept.insert(key, table.clone());
        table
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Key, Arc<LookupTable>>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_codes_share_a_table() {
        let cache = TableCache::default();
        let spec = |symbols: u8| {
            let mut counts = [0; 16];
            counts[7] = symbols;
            HuffmanSpec { counts, symbols: (0..symbols).collect() }
        };
        let first = cache.table(HuffmanClass::Ac, &spec(5));
        assert!(Arc::ptr_eq(&first, &cache.table(HuffmanClass::Ac, &spec(5))));
        assert!(!Arc::ptr_eq(&first, &cache.table(HuffmanClass::Dc, &spec(5))));
        for symbols in 6..100 {
            assert_eq!(
                *cache.table(HuffmanClass::Ac, &spec(symbols)),
                LookupTable::new(HuffmanClass::Ac, &spec(symbols))
            );
            assert!(cache.lock().len() <= TableCache::KEPT);
        }
    }
}
