// Decoding of Huffman-coded symbols, T.81 F.2.2. The same as core/src/subsequences/model.rs, which has the words for it.

@group(0) @binding(0) var<storage, read> scans: array<Scan>;
@group(0) @binding(1) var<storage, read> segments: array<Segment>;
// Per subsequence: its segment, and whether that begins with it.
@group(0) @binding(2) var<storage, read> subsequences: array<u32>;
// The data without stuffing, bytes in the order of the file, then the entries of all look-up tables, two a word.
@group(0) @binding(3) var<storage, read> words: array<u32>;

// The bits from a position in a segment on.
struct Reader {
    // Bits from the segment's first.
    position: u32,
    // The 32 bits around the position, the 32 behind, and the 32 behind those, which were read ahead.
    high: u32,
    low: u32,
    ahead: u32,
    // Index of the next word.
    next_word: u32,
}

// The index is checked: the last block of damaged data may lead beyond all data.
fn big_endian_word(index: u32) -> u32 {
    let word = words[min(index, arrayLength(&words) - 1u)];
    return (((word << 8u) | (word >> 24u)) & 0x00FF00FFu) | (((word << 24u) | (word >> 8u)) & 0xFF00FF00u);
}

fn reader_at(first_word: u32, position: u32) -> Reader {
    let word = first_word + (position >> 5u);
    return Reader(position, big_endian_word(word), big_endian_word(word + 1u), big_endian_word(word + 2u), word + 3u);
}

fn peek(reader: ptr<function, Reader>) -> u32 {
    let bit = (*reader).position & 31u;
    return ((*reader).high << bit) | (((*reader).low >> 1u) >> (31u - bit));
}

// Goes on by up to 31 bits.
fn skip(reader: ptr<function, Reader>, bits: u32) {
    let before = (*reader).position;
    (*reader).position = before + bits;
    if (before & 31u) + bits >= 32u {
        (*reader).high = (*reader).low;
        (*reader).low = (*reader).ahead;
        (*reader).ahead = big_endian_word((*reader).next_word);
        (*reader).next_word += 1u;
    }
}

// The tables of a block: DC's index and limit, AC's index and limit.
fn tables_of(scan: u32, block: u32) -> vec4<u32> {
    let dc = vec2<u32>(scans[scan].blocks[block].dc_table, scans[scan].blocks[block].dc_direct_from);
    return vec4<u32>(dc, scans[scan].blocks[block].ac_table, scans[scan].blocks[block].ac_direct_from);
}

// The entry for the code that the bits begin with: bits (5) | advance << 5 (7) | size << 12 (4).
fn entry_of(tables: vec4<u32>, is_dc: bool, bits: u32) -> u32 {
    let table = select(tables.zw, tables.xy, is_dc);
    let sixteen = bits >> 16u;
    let index = table.x + select(1024u + sixteen - table.y, sixteen >> 6u, sixteen < table.y);
    return (words[index >> 1u] >> ((index & 1u) << 4u)) & 0xFFFFu;
}

// By how much the zigzag index grows.
fn advance_of(entry: u32) -> u32 {
    return (entry >> 5u) & 127u;
}

// The value behind the code, T.81 F.2.2.1: EXTEND.
fn value_of(entry: u32, bits: u32) -> i32 {
    let range = 1u << (entry >> 12u);
    let raw = (bits >> (32u - (entry & 31u))) & (range - 1u);
    return i32(raw) - select(0i, i32(range - 1u), raw < (range >> 1u));
}

// A DC difference of a component of the scan as sums.
fn difference(part: u32, value: i32) -> vec2<u32> {
    let word = (u32(value) & 0xFFFFu) << ((part & 1u) << 4u);
    return select(vec2<u32>(word, 0u), vec2<u32>(0u, word), part >= 2u);
}

// The state between two subsequences: bits that the last symbol went past the end (5) | zigzag index << 5 (6) | block
// of the MCU, modulo the period, << 11 (4).
fn state_of(overshoot: u32, zigzag: u32, phase: u32) -> u32 {
    return overshoot | (zigzag << 5u) | (phase << 11u);
}

// First bit of a subsequence in its segment, and its end.
fn bits_of(subsequence: u32, segment: Segment) -> vec2<u32> {
    let length = scans[segment.scan].subsequence_bits;
    let start = (subsequence - segment.first_subsequence) * length;
    return vec2<u32>(start, min(start + length, segment.bits));
}
