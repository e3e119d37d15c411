//! Twins of the structures in `shaders/shared/layout.wgsl`. A test compares sizes and offsets with what naga
//! reads from the shader.

use bytemuck::{Pod, Zeroable};

/// One component of one tile.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
pub(crate) struct Component {
    pub first_block: u32,
    pub first_symbol: u32,
    pub first_group: u32,
    pub block_columns: u32,
    pub block_rows: u32,
    pub plane: u32,
    pub plane_stride: u32,
    pub quant: u32,
    pub first_column: u32,
    pub first_row: u32,
    pub plane_width: u32,
    pub plane_height: u32,
    pub filter_kind: u32,
    pub factor_x: u32,
    pub factor_y: u32,
}

/// One plane of pixels of one tile.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
pub(crate) struct Output {
    pub first_group: u32,
    pub items: u32,
    pub start: u32,
    pub stride: u32,
    pub width: u32,
    pub rows: u32,
    pub bytes_per_pixel: u32,
    pub quads: u32,
    pub origin_x: i32,
    pub origin_y: i32,
    pub across_x: i32,
    pub across_y: i32,
    pub down_x: i32,
    pub down_y: i32,
    pub color: u32,
    pub channels: u32,
    pub component: u32,
}

/// One block of each MCU of a scan.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
pub(crate) struct McuBlock {
    pub dc_table: u32,
    pub dc_direct_from: u32,
    pub ac_table: u32,
    pub ac_direct_from: u32,
    pub part: u32,
    pub columns: u32,
    pub rows: u32,
    pub column: u32,
    pub row: u32,
    pub window_columns: u32,
    pub window_rows: u32,
    pub first_header: u32,
}

/// One scan of one picture.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
pub(crate) struct Scan {
    pub first_subsequence: u32,
    pub subsequence_bits: u32,
    pub first_symbol: u32,
    pub symbol_slots: u32,
    pub mcu_blocks: u32,
    pub period: u32,
    pub mcus_across: u32,
    pub picture: u32,
    pub blocks: [McuBlock; 10],
}

/// Data between two restarts.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
pub(crate) struct Segment {
    pub first_word: u32,
    pub bits: u32,
    pub first_subsequence: u32,
    pub first_block: u32,
    pub blocks: u32,
    pub wanted_blocks: u32,
    pub scan: u32,
}

/// In the table of subsequences: none is there, and a segment begins with it.
pub(crate) const NO_SUBSEQUENCE: u32 = u32::MAX;
pub(crate) const SEGMENT_BEGINS: u32 = 1 << 31;

/// The FILTER constants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Filter {
    None = 0,
    H2V1 = 1,
    H1V2 = 2,
    H2V2 = 3,
    Box = 4,
}

/// The COLOR constants.
pub(crate) use isopel_core::Conversion as Color;

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};

    use isopel_core::subsequences::{self, Flags};

    use isopel_core::PlaneWriting;

    use super::*;
    use crate::huffman;
    use crate::stages::{HUFFMAN_STAGES, STAGES};

    /// Name and offset of each member of a structure in the shaders, and its size.
    fn in_shader(name: &str) -> (Vec<(String, u32)>, u32) {
        in_source(&STAGES[0].source(), name)
    }

    fn in_source(source: &str, name: &str) -> (Vec<(String, u32)>, u32) {
        let module = naga::front::wgsl::parse_str(source).expect("the shader parses");
        let (_, structure) =
            module.types.iter().find(|(_, kind)| kind.name.as_deref() == Some(name)).expect("it exists");
        let naga::TypeInner::Struct { members, span } = &structure.inner else { panic!("{name} is a structure") };
        let members = members.iter().map(|member| (member.name.clone().expect("members have names"), member.offset));
        (members.collect(), *span)
    }

    macro_rules! offsets {
        ($structure:ty: $($field:ident),*) => {
            vec![$((stringify!($field).to_string(), offset_of!($structure, $field) as u32)),*]
        };
    }

    #[test]
    fn component_is_the_shaders() {
        let here = offsets!(Component: first_block, first_symbol, first_group, block_columns, block_rows, plane, plane_stride, quant,
            first_column, first_row, plane_width, plane_height, filter_kind, factor_x, factor_y);
        assert_eq!(in_shader("Component"), (here, size_of::<Component>() as u32));
    }

    #[test]
    fn output_is_the_shaders() {
        let here = offsets!(Output: first_group, items, start, stride, width, rows, bytes_per_pixel, quads, origin_x,
            origin_y, across_x, across_y, down_x, down_y, color, channels, component);
        assert_eq!(in_shader("Output"), (here, size_of::<Output>() as u32));
    }

    #[test]
    fn scans_are_the_shaders() {
        let source = &HUFFMAN_STAGES[0].source();
        let blocks = offsets!(McuBlock: dc_table, dc_direct_from, ac_table, ac_direct_from, part, columns, rows, column,
            row, window_columns, window_rows, first_header);
        assert_eq!(in_source(source, "McuBlock"), (blocks, size_of::<McuBlock>() as u32));
        let scans = offsets!(Scan: first_subsequence, subsequence_bits, first_symbol, symbol_slots, mcu_blocks, period,
            mcus_across, picture, blocks);
        assert_eq!(in_source(source, "Scan"), (scans, size_of::<Scan>() as u32));
        let segments = offsets!(Segment: first_word, bits, first_subsequence, first_block, blocks, wanted_blocks, scan);
        assert_eq!(in_source(source, "Segment"), (segments, size_of::<Segment>() as u32));
    }

    fn constants(source: &str) -> impl Fn(&str) -> u32 {
        let module = naga::front::wgsl::parse_str(source).expect("the shader parses");
        move |name: &str| {
            let (_, constant) =
                module.constants.iter().find(|(_, constant)| constant.name.as_deref() == Some(name)).expect(name);
            match module.global_expressions[constant.init] {
                naga::Expression::Literal(naga::Literal::U32(value)) => value,
                ref other => panic!("{name} is {other:?}"),
            }
        }
    }

    #[test]
    fn constants_of_entropy_decoding_are_the_shaders() {
        let source = HUFFMAN_STAGES[0].source();
        let constant = constants(&source);
        for (name, value) in [
            ("GROUP", subsequences::GROUP as u32),
            ("NONE", NO_SUBSEQUENCE),
            ("BEGINS", SEGMENT_BEGINS),
            ("UNSYNCHRONISED", Flags::UNSYNCHRONISED),
            ("BAD_CODE", Flags::BAD_CODE),
            ("SHORT", Flags::SHORT),
            ("LEFT_OVER", Flags::LEFT_OVER),
        ] {
            assert_eq!(constant(name), value, "{name}");
        }
    }

    #[test]
    fn candidates_are_the_shaders() {
        let follow = HUFFMAN_STAGES.iter().find(|stage| stage.name == "huffman_follow").expect("a stage");
        let source = follow.source();
        assert_eq!(u64::from(in_source(&source, "Candidates").1), huffman::CANDIDATES_BYTES);
        let constant = constants(&source);
        assert_eq!(constant("PHASES"), subsequences::PHASES as u32);
        assert_eq!(constant("CANDIDATES"), subsequences::CANDIDATES as u32);
        assert_eq!(constant("LOST"), subsequences::CANDIDATES as u32 - 1);
    }

    #[test]
    fn constants_are_the_shaders() {
        let source = STAGES[1].source();
        let constant = constants(&source);
        for (name, value) in [
            ("FILTER_NONE", Filter::None as u32),
            ("FILTER_H2V1", Filter::H2V1 as u32),
            ("FILTER_H1V2", Filter::H1V2 as u32),
            ("FILTER_H2V2", Filter::H2V2 as u32),
            ("FILTER_BOX", Filter::Box as u32),
            ("COLOR_COPY_3", Color::Copy3 as u32),
            ("COLOR_YCC", Color::Ycc as u32),
            ("COLOR_GRAY", Color::Gray as u32),
            ("COLOR_CMYK_TO_RGB", Color::CmykToRgb as u32),
            ("COLOR_YCCK_TO_RGB", Color::YcckToRgb as u32),
            ("COLOR_YCCK_TO_CMYK", Color::YcckToCmyk as u32),
            ("COLOR_COPY_4", Color::Copy4 as u32),
            ("ORDER_RGB", u32::from_le_bytes([0, 1, 2, 0])),
            ("CHANNEL_OPAQUE", u32::from(PlaneWriting::OPAQUE)),
            ("CHANNEL_LUMA", u32::from(PlaneWriting::LUMA)),
        ] {
            assert_eq!(constant(name), value, "{name}");
        }
    }
}
