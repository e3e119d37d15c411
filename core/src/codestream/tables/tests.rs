use super::*;

#[test]
fn zigzag_is_a_permutation() {
    let mut seen = [false; 64];
    ZIGZAG.iter().for_each(|&natural| seen[usize::from(natural)] = true);
    assert!(seen.iter().all(|&seen| seen));
}

#[test]
fn default_tables_are_whole_and_valid() {
    for selector in 0..2 {
        for class in [HuffmanClass::Dc, HuffmanClass::Ac] {
            let spec = default_huffman(class, selector).unwrap();
            let total: usize = spec.counts.iter().map(|&count| usize::from(count)).sum();
            assert_eq!(total, if class == HuffmanClass::Dc { 12 } else { 162 });
            assert_eq!(spec.symbols.len(), total);
            assert!(spec.is_valid(class));
        }
    }
    assert!(default_huffman(HuffmanClass::Ac, 2).is_none());
}

#[test]
fn all_ones_codes_and_oversubscription_are_invalid() {
    let spec = |counts: &[u8]| {
        let mut all = [0; 16];
        all[..counts.len()].copy_from_slice(counts);
        HuffmanSpec { counts: all, symbols: vec![0; counts.iter().map(|&count| usize::from(count)).sum()] }
    };
    assert!(spec(&[1]).is_valid(HuffmanClass::Dc));
    assert!(!spec(&[2]).is_valid(HuffmanClass::Dc));
    assert!(!spec(&[1, 2]).is_valid(HuffmanClass::Dc));
    assert!(spec(&[1, 1]).is_valid(HuffmanClass::Dc));
    assert!(spec(&[]).is_valid(HuffmanClass::Ac));
}

#[test]
fn dc_sizes_above_15_are_invalid_only_for_dc() {
    let spec = HuffmanSpec { counts: [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], symbols: vec![17] };
    assert!(!spec.is_valid(HuffmanClass::Dc));
    assert!(spec.is_valid(HuffmanClass::Ac));
}
