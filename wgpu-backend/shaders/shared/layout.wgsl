// Structures that the host fills in; `src/layout.rs` has their twins.

// One component of one tile (a picture, or a band of a large one).
struct Component {
    // Index of its first block among the wave's blocks, of the symbol that its headers count from, and of its first
    // workgroup of 8 blocks.
    first_block: u32,
    first_symbol: u32,
    first_group: u32,
    // Blocks per row and rows of blocks, without the padding of MCUs.
    block_columns: u32,
    block_rows: u32,
    // Its samples: first word, and words per row of samples; four samples per word, the first lowest.
    plane: u32,
    plane_stride: u32,
    // Its quantizers: first word of 64.
    quant: u32,
    // Sample coordinates, in the component's whole plane, of its first sample here.
    first_column: u32,
    first_row: u32,
    // Size in samples of the whole plane; beyond it there is only padding.
    plane_width: u32,
    plane_height: u32,
    // Upsampling: one of the FILTER constants, and pixels per sample.
    filter_kind: u32,
    factor_x: u32,
    factor_y: u32,
}

// One plane of pixels of one tile. Rows and columns are display's, counted from the tile's own first.
struct Output {
    first_group: u32,
    // Invocations.
    items: u32,
    // Byte of the target at which row 0 begins, and bytes from one row to the next.
    start: u32,
    stride: u32,
    // Pixels of a row, and rows.
    width: u32,
    rows: u32,
    bytes_per_pixel: u32,
    // Quads that a row has at most; 0 where none are written as quads.
    quads: u32,
    // From display to stored coordinates: stored = origin + across * column + down * row.
    origin_x: i32,
    origin_y: i32,
    across_x: i32,
    across_y: i32,
    down_x: i32,
    down_y: i32,
    // One of the COLOR constants; which byte of a pixel holds what: four channel numbers, lowest byte first.
    color: u32,
    channels: u32,
    // Index of the first component.
    component: u32,
}

// A quad is four pixels beside each other in a row that fill whole words. How many pixels of a row come before the
// first: 3 and 1 bytes per pixel reach a word's border after at most 3, whole words are there from the start.
fn before_quads(bytes_per_pixel: u32, row_start: u32) -> u32 {
    return (0u - row_start * bytes_per_pixel) & 3u;
}

const FILTER_NONE: u32 = 0u;
const FILTER_H2V1: u32 = 1u;
const FILTER_H1V2: u32 = 2u;
const FILTER_H2V2: u32 = 3u;
const FILTER_BOX: u32 = 4u;

// Colour models, with what is made of them.
const COLOR_COPY_3: u32 = 0u;
const COLOR_YCC: u32 = 1u;
const COLOR_GRAY: u32 = 2u;
const COLOR_CMYK_TO_RGB: u32 = 3u;
const COLOR_YCCK_TO_RGB: u32 = 4u;
const COLOR_YCCK_TO_CMYK: u32 = 5u;
const COLOR_COPY_4: u32 = 6u;

// Channels 0 to 3 are the colour's own; these are made.
const CHANNEL_OPAQUE: u32 = 4u;
const CHANNEL_LUMA: u32 = 5u;

// The first three channels as they come.
const ORDER_RGB: u32 = 0x020100u;
