// What a wave of images is made of: structures that the host fills in. `src/exact/layout.rs` has their twins, and a
// test compares the two.

#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

// Subsequences that one block of threads synchronises.
constexpr u32 GROUP = 256;
// Blocks of an MCU that are guessed at most, and room for the candidates behind a subsequence.
constexpr u32 PHASES = 8;
constexpr u32 CANDIDATES = 32;
// Blocks of 8x8 samples that one block of threads transforms.
constexpr u32 IDCT_BLOCKS = 32;
// Pixels of a tile, which one block of threads writes.
constexpr u32 TILE_WIDTH = 128, TILE_HEIGHT = 32;
constexpr u32 WARP = 32;
constexpr u32 ALL_LANES = 0xffffffffu;

// Why an image is one for the CPU, as in core's `subsequences::Flags`.
enum Flag : u32 { UNSYNCHRONISED = 1, BAD_CODE = 2, SHORT = 4, LEFT_OVER = 8 };

// Data between two restarts.
struct Segment {
    u32 first_word;         // in the wave's data
    u32 bits;
    u32 first_subsequence;  // of the wave
    u32 first_block;        // of the scan, in decoding order
    u32 blocks;             // that should be in it
};

// Up to GROUP subsequences of one scan.
struct Group {
    u32 scan;
    u32 first_subsequence;
    u32 count;
    u32 first_segment;      // that of its first subsequence
    u32 last_segment;       // and of its last
};

// One block of each MCU, with the window of blocks that its component keeps.
struct McuBlock {
    u32 columns, rows;      // blocks of the component per MCU
    u32 column, row;        // which of them it is, less the window's first: may wrap
    u32 window_columns, window_rows;
    u32 first_header;       // of the wave
    u32 part;               // its component's index in the scan
};

// A scan whose codes are read here.
struct Scan {
    u32 image;
    u32 first_group, groups;
    u32 mcus_across;
    u32 blocks_per_mcu;
    u32 period;             // after how many blocks the tables repeat
    u32 first_entry;        // of its tables
    u32 pairs;              // pairs of a DC and an AC table, 1 to 4
    u32 pair_of_block;      // two bits for each block of the period
    u32 part_of_block;      // two bits for each block of the MCU
    u32 tables[8];          // pair by pair: 16 bits from which look-up is direct (17) | first entry / 64 << 17
    McuBlock blocks[10];
};

// The blocks of a component, and its samples.
struct Component {
    u64 headers;            // address of the first block's header
    u64 symbols;            // address that headers count from
    u64 plane;              // address of the first sample
    u32 plane_stride;       // bytes
    u32 first_group;        // of dequant_idct
    u32 block_columns, block_rows;
    u32 quant;              // first of 64 words
    u32 image;
    u32 first_column, first_row;    // in samples of the whole plane, of its first sample here
    u32 plane_width, plane_height;  // of the whole plane; beyond there is only padding
    u32 filter;             // a Filter
    u32 factor_x, factor_y; // pixels per sample
    u32 reserved;
};

enum Filter : u32 { FILTER_NONE, FILTER_H2V1, FILTER_H1V2, FILTER_H2V2, FILTER_BOX };

// Colour models, with what is made of them.
enum Color : u32 { COPY_3, YCC, GRAY, CMYK_TO_RGB, YCCK_TO_RGB, YCCK_TO_CMYK, COPY_4 };

// Channels 0 to 3 are the colour's own; these are made.
constexpr u32 CHANNEL_OPAQUE = 4, CHANNEL_LUMA = 5;

// One plane of pixels of the caller's.
struct Output {
    u64 target;             // address of its first pixel
    u64 stride;             // bytes from one row to the next
    u32 first_tile, tiles_across;
    u32 width, rows;
    u32 bytes_per_pixel;
    // From display to stored coordinates: stored = origin + across * column + down * row.
    int origin_x, origin_y;
    int across_x, across_y;
    int down_x, down_y;
    u32 color;
    u32 channels;           // what each byte of a pixel holds, lowest byte first
    u32 component;          // the first
    u32 image;
    u32 reserved;
};

// The header of a block: where its symbols begin, and how many there are. A symbol is value << 16 | zigzag index.
typedef uint2 Header;

// The record of a subsequence, and sums of records: x blocks, y and z sums of DC differences of the scan's components,
// 16 bits each. In w a record has the state behind the subsequence - bits past its end (5) | next zigzag index << 5 (6)
// | block of the MCU, modulo the period, << 11 (4) - and STARTS_SEGMENT; a sum has STARTS_SEGMENT if a segment starts
// in it.
typedef uint4 Record;
constexpr u32 STATE = 0x7fff;
constexpr u32 STARTS_SEGMENT = 0x80000000u;

// The states that may be behind a subsequence, first the guesses, and what came of the candidates before it.
struct Candidates {
    u16 states[CANDIDATES];         // NO_STATE where there is none
    u8 links[CANDIDATES];           // of each candidate before, the one behind that it leads to, or LOST
    u32 count;                      // of states, places of guesses included; more than fit if some were lost
    u32 reserved[3];
    Record records[CANDIDATES];     // of the subsequence, by candidate before it
};
constexpr u32 NO_STATE = 0xffff;
// No candidate: the last place stays free.
constexpr u32 LOST = CANDIDATES - 1;

// The parameter of all kernels: addresses and numbers.
struct Wave {
    const u32 *data;
    const u16 *entries;
    const Scan *scans;
    const Segment *segments;
    const Group *groups;
    const u32 *recounted;   // groups whose DC differences are counted in a second round
    Record *records;        // of subsequences
    Record *totals;         // of groups
    Record *prefixes;       // what lies before each group
    Candidates *candidates; // of subsequences, in waves that use them
    u8 *group_links;        // of groups, CANDIDATES each: the links of its subsequences together
    Header *headers;
    u32 *symbols;
    u32 *flags;             // of images
    const Component *components;
    const u32 *idct_groups; // the component of each block of threads
    const u32 *quant;       // in zigzag order: natural index << 16 | quantizer
    const Output *outputs;
    const u32 *tiles;       // the output of each tile
    u32 subsequence_bytes;
    u32 group_count, scan_count, image_count;
};

// Symbols of a subsequence have this much room.
__device__ inline u32 symbol_slots(const Wave &wave) {
    return 4 * wave.subsequence_bytes + 64;
}
