// What entropy decoding reads; `src/layout.rs` has the twins of the structures. T.81's terms: a scan's blocks come MCU
// by MCU, in segments between restart markers; a subsequence is a piece of a segment, and each has an invocation.

// One block of each MCU of a scan.
struct McuBlock {
    // Its look-up tables: index of the first entry, and the first 16 bits that are looked up whole.
    dc_table: u32,
    dc_direct_from: u32,
    ac_table: u32,
    ac_direct_from: u32,
    // Index of its component in the scan.
    part: u32,
    // Blocks of its component across and down an MCU.
    columns: u32,
    rows: u32,
    // Where it is in an MCU, less the window's first block column and row (these wrap).
    column: u32,
    row: u32,
    // The window: blocks of its component that are wanted, and the header of the first.
    window_columns: u32,
    window_rows: u32,
    first_header: u32,
}

// One scan of one picture.
struct Scan {
    // Index of its first subsequence, a multiple of GROUP, and bits of each.
    first_subsequence: u32,
    subsequence_bits: u32,
    // Its first symbol, and the words of each subsequence there: multiples of 64.
    first_symbol: u32,
    symbol_slots: u32,
    // Blocks of an MCU, after how many of them the tables repeat, and MCUs across.
    mcu_blocks: u32,
    period: u32,
    mcus_across: u32,
    // Index of its picture's flags.
    picture: u32,
    blocks: array<McuBlock, 10>,
}

// Data between two restarts.
struct Segment {
    // Its first word of data, and bits.
    first_word: u32,
    bits: u32,
    first_subsequence: u32,
    // Index in the scan of its first block, blocks that should be in it, and how many of them are wanted.
    first_block: u32,
    blocks: u32,
    wanted_blocks: u32,
    scan: u32,
}

// Subsequences that one workgroup synchronises. Those of a scan fill whole groups, with NONE behind the last.
const GROUP: u32 = 256u;
const NONE: u32 = 0xFFFFFFFFu;
// Set where a segment begins; the other bits are the segment's index.
const BEGINS: u32 = 0x80000000u;

// Why a picture is one for the CPU.
const UNSYNCHRONISED: u32 = 1u;
const BAD_CODE: u32 = 2u;
const SHORT: u32 = 4u;
const LEFT_OVER: u32 = 8u;

// Two sums of 16 bits in each word, which wrap: the DC differences of up to four components.
fn add_sums(left: vec2<u32>, right: vec2<u32>) -> vec2<u32> {
    let high = (left & vec2<u32>(0xFFFF0000u)) + (right & vec2<u32>(0xFFFF0000u));
    return high | ((left + right) & vec2<u32>(0xFFFFu));
}
