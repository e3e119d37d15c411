// Decodes a subsequence from a state without keeping anything: its record is the state behind it, the blocks that ended,
// and the sums of DC differences. `block` of the MCU is in progress; the blocks begin again after `repeats`.
fn count(subsequence: u32, segment: Segment, state: u32, first_block: u32, repeats: u32) -> vec4<u32> {
    let range = bits_of(subsequence, segment);
    var reader = reader_at(segment.first_word, range.x + (state & 31u));
    var zigzag = (state >> 5u) & 63u;
    var block = first_block;
    var blocks = 0u;
    var sums = vec2<u32>(0u);
    var tables = tables_of(segment.scan, block);
    // Each symbol has a bit at least.
    while reader.position < range.y {
        let bits = peek(&reader);
        let is_dc = zigzag == 0u;
        let entry = entry_of(tables, is_dc, bits);
        if is_dc {
            sums = add_sums(sums, difference(scans[segment.scan].blocks[block].part, value_of(entry, bits)));
        }
        skip(&reader, entry & 31u);
        zigzag += advance_of(entry);
        if zigzag >= 64u {
            zigzag = 0u;
            blocks += 1u;
            block = select(block + 1u, 0u, block + 1u == repeats);
            tables = tables_of(segment.scan, block);
        }
    }
    return vec4<u32>(state_of(reader.position - range.y, zigzag, block), blocks, sums);
}

// While the states are being found, only the block modulo the period is known. If that does not tell the component,
// there are no sums yet.
fn count_from_state(subsequence: u32, segment: Segment, state: u32) -> vec4<u32> {
    let period = scans[segment.scan].period;
    let record = count(subsequence, segment, state, state >> 11u, period);
    return select(vec4<u32>(record.xy, 0u, 0u), record, period == scans[segment.scan].mcu_blocks);
}

// Whether a subsequence goes on in the segment of the one before it.
fn goes_on(subsequence: u32) -> bool {
    return subsequence < arrayLength(&subsequences) && subsequences[subsequence] < BEGINS;
}
