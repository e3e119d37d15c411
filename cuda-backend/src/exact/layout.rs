//! Twins of the structures in `kernels/shared/wave.cuh`, which says what each field is. A test compares sizes and
//! offsets.

/// Subsequences that one block of threads synchronises.
pub(super) const GROUP: usize = isopel_core::subsequences::GROUP;
/// Guesses of the state behind a subsequence, and all candidates for it.
pub(super) const PHASES: usize = isopel_core::subsequences::PHASES;
pub(super) const CANDIDATES: usize = isopel_core::subsequences::CANDIDATES;
/// Blocks of 8x8 samples that one block of threads transforms.
pub(super) const IDCT_BLOCKS: usize = 32;
/// Pixels of a tile.
pub(super) const TILE_WIDTH: u32 = 128;
pub(super) const TILE_HEIGHT: u32 = 32;

#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) first_word: u32,
    pub(super) bits: u32,
    pub(super) first_subsequence: u32,
    pub(super) first_block: u32,
    pub(super) blocks: u32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) scan: u32,
    pub(super) first_subsequence: u32,
    pub(super) count: u32,
    pub(super) first_segment: u32,
    pub(super) last_segment: u32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct McuBlock {
    pub(super) columns: u32,
    pub(super) rows: u32,
    pub(super) column: u32,
    pub(super) row: u32,
    pub(super) window_columns: u32,
    pub(super) window_rows: u32,
    pub(super) first_header: u32,
    pub(super) part: u32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Scan {
    pub(super) image: u32,
    pub(super) first_group: u32,
    pub(super) groups: u32,
    pub(super) mcus_across: u32,
    pub(super) blocks_per_mcu: u32,
    pub(super) period: u32,
    pub(super) first_entry: u32,
    pub(super) pairs: u32,
    pub(super) pair_of_block: u32,
    pub(super) part_of_block: u32,
    pub(super) tables: [u32; 8],
    pub(super) blocks: [McuBlock; 10],
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Component {
    pub(super) headers: u64,
    pub(super) symbols: u64,
    pub(super) plane: u64,
    pub(super) plane_stride: u32,
    pub(super) first_group: u32,
    pub(super) block_columns: u32,
    pub(super) block_rows: u32,
    pub(super) quant: u32,
    pub(super) image: u32,
    pub(super) first_column: u32,
    pub(super) first_row: u32,
    pub(super) plane_width: u32,
    pub(super) plane_height: u32,
    pub(super) filter: u32,
    pub(super) factor_x: u32,
    pub(super) factor_y: u32,
    pub(super) reserved: u32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Output {
    pub(super) target: u64,
    pub(super) stride: u64,
    pub(super) first_tile: u32,
    pub(super) tiles_across: u32,
    pub(super) width: u32,
    pub(super) rows: u32,
    pub(super) bytes_per_pixel: u32,
    pub(super) origin_x: i32,
    pub(super) origin_y: i32,
    pub(super) across_x: i32,
    pub(super) across_y: i32,
    pub(super) down_x: i32,
    pub(super) down_y: i32,
    pub(super) color: u32,
    pub(super) channels: u32,
    pub(super) component: u32,
    pub(super) image: u32,
    pub(super) reserved: u32,
}

/// Bytes of a subsequence's `Candidates`, which only kernels write and read.
pub(super) const CANDIDATES_BYTES: usize = (2 + 1 + 16) * CANDIDATES + 16;

/// The parameter of all kernels. Addresses of the device.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Wave {
    pub(super) data: u64,
    pub(super) entries: u64,
    pub(super) scans: u64,
    pub(super) segments: u64,
    pub(super) groups: u64,
    pub(super) recounted: u64,
    pub(super) records: u64,
    pub(super) totals: u64,
    pub(super) prefixes: u64,
    pub(super) candidates: u64,
    pub(super) group_links: u64,
    pub(super) headers: u64,
    pub(super) symbols: u64,
    pub(super) flags: u64,
    pub(super) components: u64,
    pub(super) idct_groups: u64,
    pub(super) quant: u64,
    pub(super) outputs: u64,
    pub(super) tiles: u64,
    pub(super) subsequence_bytes: u32,
    pub(super) group_count: u32,
    pub(super) scan_count: u32,
    pub(super) image_count: u32,
}

/// Structures that are nothing but numbers, without gaps, so that their bytes can be copied.
///
/// # Safety
/// The type must be `repr(C)` and have no padding.
#[expect(unsafe_code, reason = "a promise of the types above")]
pub(super) unsafe trait Words: Copy {}

macro_rules! words {
    ($($kind:ty),*) => {$(
        // SAFETY: fields of 8 bytes first and then an even number of 4, or only fields of one size.
        #[expect(unsafe_code, reason = "as the comment says")]
        unsafe impl Words for $kind {}
    )*};
}

words!(u16, u32, Segment, Group, Scan, Component, Output, Wave);

/// The bytes of numbers.
pub(super) fn bytes_of<T: Words>(items: &[T]) -> &[u8] {
    // SAFETY: `Words` has no padding, so all bytes are initialised.
    #[expect(unsafe_code, reason = "as the comment says")]
    unsafe {
        std::slice::from_raw_parts(items.as_ptr().cast(), size_of_val(items))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = include_str!("../../kernels/shared/wave.cuh");

    /// Names and sizes in words of a structure's fields, as the header declares them.
    fn fields(name: &str) -> Vec<(String, usize)> {
        let start = HEADER.find(&format!("struct {name} {{")).unwrap_or_else(|| panic!("no {name} in the header"));
        let body = &HEADER[start..start + HEADER[start..].find("};").expect("it ends")];
        let mut fields = Vec::new();
        for line in body.lines().skip(1) {
            let line = line.split("//").next().unwrap_or("").trim().trim_end_matches(';');
            let Some((kind, names)) = line.trim_start_matches("const ").split_once(' ') else { continue };
            for name in names.split(',') {
                let is_address = name.contains('*') || kind.ends_with('*');
                let (name, count) = match name.trim().trim_start_matches('*').split_once('[') {
                    Some((name, count)) => (name, count.trim_end_matches(']').parse().expect("a number")),
                    None => (name.trim().trim_start_matches('*'), 1),
                };
                let words = match kind {
                    _ if is_address => 2,
                    "u64" => 2,
                    "McuBlock" => 8,
                    "u32" | "int" => 1,
                    other => panic!("a field of kind {other}"),
                };
                fields.push((name.trim().to_owned(), words * count));
            }
        }
        fields
    }

    macro_rules! assert_twins {
        ($kind:ty, $name:literal: $($field:ident),*) => {{
            let mut offset = 0;
            let mut declared = Vec::new();
            for (name, words) in fields($name) {
                declared.push((name, offset));
                offset += 4 * words;
            }
            let here = vec![$((stringify!($field).to_owned(), std::mem::offset_of!($kind, $field))),*];
            assert_eq!(here, declared, $name);
            assert_eq!(size_of::<$kind>(), offset, $name);
        }};
    }

    #[test]
    fn structures_are_the_kernels() {
        assert_twins!(Segment, "Segment": first_word, bits, first_subsequence, first_block, blocks);
        assert_twins!(Group, "Group": scan, first_subsequence, count, first_segment, last_segment);
        assert_twins!(McuBlock, "McuBlock": columns, rows, column, row, window_columns, window_rows, first_header, part);
        assert_twins!(Scan, "Scan": image, first_group, groups, mcus_across, blocks_per_mcu, period, first_entry, pairs,
            pair_of_block, part_of_block, tables, blocks);
        assert_twins!(Component, "Component": headers, symbols, plane, plane_stride, first_group, block_columns,
            block_rows, quant, image, first_column, first_row, plane_width, plane_height, filter, factor_x, factor_y,
            reserved);
        assert_twins!(Output, "Output": target, stride, first_tile, tiles_across, width, rows, bytes_per_pixel, origin_x,
            origin_y, across_x, across_y, down_x, down_y, color, channels, component, image, reserved);
        assert_twins!(Wave, "Wave": data, entries, scans, segments, groups, recounted, records, totals, prefixes,
            candidates, group_links, headers, symbols, flags, components, idct_groups, quant, outputs, tiles, subsequence_bytes, group_count,
            scan_count, image_count);
    }

    #[test]
    fn constants_are_the_kernels() {
        for (name, value) in [
            ("GROUP", GROUP as u32),
            ("PHASES", PHASES as u32),
            ("CANDIDATES", CANDIDATES as u32),
            ("IDCT_BLOCKS", IDCT_BLOCKS as u32),
            ("TILE_WIDTH", TILE_WIDTH),
            ("TILE_HEIGHT", TILE_HEIGHT),
        ] {
            let declaration = format!("constexpr u32 {name} = {value};");
            let also = format!("{name} = {value}");
            assert!(HEADER.contains(&declaration) || HEADER.contains(&also), "{declaration}");
        }
    }
}
