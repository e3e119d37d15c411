//! Twins of the structures in `shaders/shared/layout.wgsl`. A test compares sizes and offsets with what naga
//! reads from the shader.

use bytemuck::{Pod, Zeroable};

/// One component of one tile.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
pub(crate) struct Component {
    pub first_block: u32,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Color {
    Copy3 = 0,
    Ycc = 1,
    Gray = 2,
    CmykToRgb = 3,
    YcckToRgb = 4,
    YcckToCmyk = 5,
    Copy4 = 6,
}

/// Channel numbers that stand for something made.
pub(crate) const CHANNEL_OPAQUE: u8 = 4;
pub(crate) const CHANNEL_LUMA: u8 = 5;

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};

    use super::*;
    use crate::stages::STAGES;

    /// Name and offset of each member of a structure in the shaders, and its size.
    fn in_shader(name: &str) -> (Vec<(String, u32)>, u32) {
        let module = naga::front::wgsl::parse_str(&STAGES[0].source()).expect("the shader parses");
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
        let here = offsets!(Component: first_block, first_group, block_columns, block_rows, plane, plane_stride, quant,
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
    fn constants_are_the_shaders() {
        let module = naga::front::wgsl::parse_str(&STAGES[1].source()).expect("the shader parses");
        let constant = |name: &str| {
            let (_, constant) =
                module.constants.iter().find(|(_, constant)| constant.name.as_deref() == Some(name)).expect(name);
            match module.global_expressions[constant.init] {
                naga::Expression::Literal(naga::Literal::U32(value)) => value,
                ref other => panic!("{name} is {other:?}"),
            }
        };
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
            ("CHANNEL_OPAQUE", u32::from(CHANNEL_OPAQUE)),
            ("CHANNEL_LUMA", u32::from(CHANNEL_LUMA)),
        ] {
            assert_eq!(constant(name), value, "{name}");
        }
    }
}
