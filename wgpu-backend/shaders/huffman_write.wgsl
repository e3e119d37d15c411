// Decodes each subsequence once more, from what lies before it, and writes the coefficients of the blocks that begin in
// it: one invocation each. What the last of them has behind the end of the subsequence is read there; what an earlier
// block has at the beginning is passed over.

@group(0) @binding(4) var<storage, read_write> prefixes: array<vec4<u32>>;
// Per block: index of its first symbol, from the scan's first, << 7 | number of symbols.
@group(0) @binding(5) var<storage, read_write> headers: array<u32>;
// Coefficients that are not 0: value << 16 | zigzag index. Four each.
@group(0) @binding(6) var<storage, read_write> symbols: array<vec4<u32>>;
@group(0) @binding(7) var<storage, read_write> flags: array<atomic<u32>>;

const LANES: u32 = 64u;
// Symbols wait here until there are eight: stores cost by their number, and memory is written 32 bytes at a time.
var<workgroup> queue: array<u32, 512>;

fn flush(first: u32, lane: u32) {
    let low = vec4<u32>(queue[lane], queue[LANES + lane], queue[2u * LANES + lane], queue[3u * LANES + lane]);
    let high = vec4<u32>(
        queue[4u * LANES + lane],
        queue[5u * LANES + lane],
        queue[6u * LANES + lane],
        queue[7u * LANES + lane],
    );
    symbols[first >> 2u] = low;
    symbols[(first >> 2u) + 1u] = high;
}

// The header's index of a block of an MCU, or NONE if it is not wanted.
fn header_of(scan: u32, block: u32, mcu_column: u32, mcu_row: u32) -> u32 {
    let in_mcu = &scans[scan].blocks[block];
    let column = mcu_column * (*in_mcu).columns + (*in_mcu).column;
    let row = mcu_row * (*in_mcu).rows + (*in_mcu).row;
    let is_wanted = column < (*in_mcu).window_columns && row < (*in_mcu).window_rows;
    return select(NONE, (*in_mcu).first_header + row * (*in_mcu).window_columns + column, is_wanted);
}

@compute @workgroup_size(64)
fn huffman_write(
    @builtin(workgroup_id) id: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let subsequence = (id.y * workgroups.x + id.x) * LANES + lane;
    if subsequence >= arrayLength(&subsequences) || subsequences[subsequence] == NONE {
        return;
    }
    let segment = segments[subsequences[subsequence] & ~BEGINS];
    let scan = segment.scan;
    let prefix = prefixes[subsequence];
    let range = bits_of(subsequence, segment);
    let end = range.y;
    var reader = reader_at(segment.first_word, range.x + (prefix.x & 31u));
    var zigzag = (prefix.x >> 5u) & 63u;
    // Blocks of the segment that have ended, and DC predictions.
    var block = prefix.y;
    var predictions = prefix.zw;

    let mcu_blocks = scans[scan].mcu_blocks;
    let mcus_across = scans[scan].mcus_across;
    let mcu = (segment.first_block + block) / mcu_blocks;
    var mcu_block = (segment.first_block + block) - mcu * mcu_blocks;
    var mcu_row = mcu / mcus_across;
    var mcu_column = mcu - mcu_row * mcus_across;
    var tables = tables_of(scan, mcu_block);

    let first_slot = (subsequence - scans[scan].first_subsequence) * scans[scan].symbol_slots;
    let first_symbol = scans[scan].first_symbol + first_slot;
    for (var slot = 0u; slot < 8u; slot++) {
        queue[slot * LANES + lane] = 0u;
    }
    // Symbols of this subsequence, and before this block's.
    var count = 0u;
    var before_block = 0u;
    // NONE while a block is passed over.
    var header = NONE;
    var is_own = zigzag == 0u;
    var is_past_end = reader.position >= end;
    var found = 0u;
    while block < segment.wanted_blocks && (!is_past_end || (is_own && zigzag != 0u)) {
        let bits = peek(&reader);
        let is_dc = zigzag == 0u;
        let entry = entry_of(tables, is_dc, bits);
        let advance = advance_of(entry);
        let next = zigzag + advance;
        if advance == 0u || (next > 64u && advance != 64u) {
            found |= BAD_CODE;
            break;
        }
        var value = u32(value_of(entry, bits));
        if is_dc {
            is_own = true;
            before_block = count;
            header = header_of(scan, mcu_block, mcu_column, mcu_row);
            let part = scans[scan].blocks[mcu_block].part;
            predictions = add_sums(predictions, difference(part, i32(value)));
            value = select(predictions.x, predictions.y, part >= 2u) >> ((part & 1u) << 4u);
        }
        if header != NONE && (value & 0xFFFFu) != 0u {
            queue[(count & 7u) * LANES + lane] = (value << 16u) | ((next - 1u) & 63u);
            count += 1u;
            if (count & 7u) == 0u {
                flush(first_symbol + count - 8u, lane);
            }
        }
        skip(&reader, entry & 31u);
        zigzag = next;
        if next >= 64u {
            zigzag = 0u;
            if header != NONE {
                headers[header] = ((first_slot + before_block) << 7u) | (count - before_block);
            }
            block += 1u;
            let is_last = block == segment.blocks;
            if reader.position > segment.bits || (is_last && segment.bits - reader.position >= 8u) {
                found |= LEFT_OVER;
            }
            mcu_block += 1u;
            if mcu_block == mcu_blocks {
                mcu_block = 0u;
                mcu_column += 1u;
                if mcu_column == mcus_across {
                    mcu_column = 0u;
                    mcu_row += 1u;
                }
            }
            tables = tables_of(scan, mcu_block);
        }
        if !is_past_end && reader.position >= end {
            is_past_end = true;
            let state = state_of(reader.position - end, zigzag, mcu_block % scans[scan].period);
            if block < segment.wanted_blocks && state != prefix.x >> 16u {
                found |= UNSYNCHRONISED;
            }
        }
    }
    if (count & 7u) != 0u {
        flush(first_symbol + (count & ~7u), lane);
    }
    if end == segment.bits && block < segment.wanted_blocks {
        found |= SHORT;
    }
    if found != 0u {
        atomicOr(&flags[scans[scan].picture], found);
    }
}
