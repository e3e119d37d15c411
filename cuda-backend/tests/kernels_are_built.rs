//! The PTX that is checked in is of the source beside it. Needs no compiler: `kernels/build` records both hashes.

use std::path::Path;

use isopel_conformance::sha256;

#[test]
fn ptx_and_source_are_of_one_build() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    // With the headers that a source includes.
    for (stem, headers) in
        [("kernels/write_pixels", 0), ("kernels/entropy", 2), ("kernels/reconstruct", 2), ("tests/kernels/caller", 0)]
    {
        let recorded = std::fs::read_to_string(root.join(format!("{stem}.sha256"))).unwrap();
        let mut files = 0;
        for line in recorded.lines() {
            let (hash, file) = line.split_once("  ").unwrap();
            assert!(file.starts_with(stem) || file.starts_with("kernels/shared/"), "{file}");
            let bytes = std::fs::read(root.join(file)).unwrap();
            assert_eq!(sha256(&bytes), hash, "{file} has changed; run cuda-backend/kernels/build");
            files += 1;
        }
        assert_eq!(files, 2 + headers, "{stem}: source, PTX and headers");
    }
}
