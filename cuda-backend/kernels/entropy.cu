// The exact route: entropy decoding by subsequences. The passes are those of core's `subsequences`, whose Rust code is
// the reference; structures are in shared/wave.cuh.

#include "shared/codes.cuh"

// Groups find the states behind each of their subsequences: each thread decodes one as if a block began with it, then
// threads take those whose entry state has changed, until none has.
extern "C" __global__ void __launch_bounds__(GROUP)
synchronise(const __grid_constant__ Wave wave) {
    __shared__ u32 states[GROUP];
    __shared__ u32 changed[2][GROUP];   // subsequence of the group | entry state << 8
    __shared__ u32 counts[2];
    const Group group = wave.groups[blockIdx.x];
    const Scan &scan = wave.scans[group.scan];
    const Codes codes(wave, scan);
    const u32 own = threadIdx.x;
    Record *records = wave.records + group.first_subsequence;
    if (own < 2) {
        counts[own] = 0;
    }
    __syncthreads();
    bool goes_on = false;
    if (own < group.count) {
        const Place place(wave, group, group.first_subsequence + own);
        const Record record = count<false>(wave, scan, codes, place, 0, 0);
        records[own] = record;
        states[own] = record.w & STATE;
        goes_on = own > 0 && !place.starts_segment();
    }
    __syncthreads();
    if (goes_on) {
        const u32 index = atomicAdd(&counts[0], 1);
        changed[0][index] = own | states[own - 1] << 8;
    }
    __syncthreads();
    for (u32 round = 0; counts[round & 1] > 0; round++) {
        const u32 now = round & 1, next = now ^ 1;
        if (own < counts[now]) {
            const u32 item = changed[now][own];
            const u32 subsequence = item & 255;
            const Place place(wave, group, group.first_subsequence + subsequence);
            const Record record = count<false>(wave, scan, codes, place, item >> 8, 0);
            records[subsequence] = record;
            const u32 state = record.w & STATE;
            if (state != states[subsequence]) {
                states[subsequence] = state;
                // The next one begins a segment if this one ends one.
                if (subsequence + 1 < group.count && place.end < place.segment->bits) {
                    changed[next][atomicAdd(&counts[next], 1)] = (subsequence + 1) | state << 8;
                }
            }
        }
        __syncthreads();
        if (own == 0) {
            counts[now] = 0;
        }
        __syncthreads();
    }
}

// Each group's first subsequences again, from the state behind the group before, until that changes nothing. Groups do not
// wait for each other: one that changes its last state has come too late for the next.
extern "C" __global__ void __launch_bounds__(WARP)
join_groups(const __grid_constant__ Wave wave) {
    const u32 index = blockIdx.x * WARP + threadIdx.x;
    if (index >= wave.group_count) {
        return;
    }
    const Group group = wave.groups[index];
    const Scan &scan = wave.scans[group.scan];
    if (index == scan.first_group) {
        return;
    }
    const Codes codes(wave, scan);
    u32 state = wave.records[group.first_subsequence - 1].w & STATE;
    for (u32 own = 0; own < group.count; own++) {
        const Place place(wave, group, group.first_subsequence + own);
        if (place.starts_segment()) {
            return;
        }
        Record &stored = wave.records[group.first_subsequence + own];
        const u32 before = stored.w & STATE;
        const Record record = count<false>(wave, scan, codes, place, state, 0);
        stored = record;
        state = record.w & STATE;
        if (state == before) {
            return;
        }
        if (own + 1 == group.count && place.end < place.segment->bits) {
            atomicOr(&wave.flags[scan.image], UNSYNCHRONISED);
        }
    }
}

// A thread's record; nothing for those beyond the group.
__device__ inline Record own_record(const Wave &wave, const Group &group) {
    const Record nothing = make_uint4(0, 0, 0, 0);
    return threadIdx.x < group.count ? wave.records[group.first_subsequence + threadIdx.x] : nothing;
}

// What lies in each group behind its last start of a segment.
extern "C" __global__ void __launch_bounds__(GROUP)
sum_groups(const __grid_constant__ Wave wave) {
    const Group group = wave.groups[blockIdx.x];
    Record total;
    exclusive_scan(own_record(wave, group), make_uint4(0, 0, 0, 0), total);
    if (threadIdx.x == 0) {
        wave.totals[blockIdx.x] = total;
    }
}

// What lies before each group of a scan, a warp for each scan.
extern "C" __global__ void __launch_bounds__(WARP)
scan_totals(const __grid_constant__ Wave wave) {
    const u32 first = wave.scans[blockIdx.x].first_group, groups = wave.scans[blockIdx.x].groups;
    Record before = make_uint4(0, 0, 0, 0);
    for (u32 start = 0; start < groups; start += WARP) {
        const u32 group = start + threadIdx.x;
        const Record own = group < groups ? wave.totals[first + group] : make_uint4(0, 0, 0, 0);
        const Record inclusive = inclusive_scan(own, threadIdx.x);
        Record others = from_lane(inclusive, threadIdx.x == 0 ? 0 : threadIdx.x - 1);
        if (threadIdx.x == 0) {
            others = make_uint4(0, 0, 0, 0);
        }
        if (group < groups) {
            wave.prefixes[first + group] = sum(before, others);
        }
        before = sum(before, from_lane(inclusive, WARP - 1));
    }
}

// The entry state of a thread's subsequence.
__device__ inline u32 entry_state(const Wave &wave, const Group &group, const Place &place) {
    return place.starts_segment() ? 0 : wave.records[group.first_subsequence + threadIdx.x - 1].w & STATE;
}

// DC differences where the tables do not tell the blocks of an MCU apart, once the number of blocks is known.
extern "C" __global__ void __launch_bounds__(GROUP)
recount(const __grid_constant__ Wave wave) {
    const u32 index = wave.recounted[blockIdx.x];
    const Group group = wave.groups[index];
    const Scan &scan = wave.scans[group.scan];
    const Codes codes(wave, scan);
    Record total;
    const Record before = exclusive_scan(own_record(wave, group), wave.prefixes[index], total);
    if (threadIdx.x < group.count) {
        const Place place(wave, group, group.first_subsequence + threadIdx.x);
        // States stay as they are, so that others may read them meanwhile.
        const Record record =
            count<true>(wave, scan, codes, place, entry_state(wave, group, place), before.x);
        Record &stored = wave.records[group.first_subsequence + threadIdx.x];
        stored.y = record.y;
        stored.z = record.z;
    }
}

// Symbols on their way to memory, eight at a time: scattered stores cost by their number, not by their bytes.
struct SymbolQueue {
    u32 *next;
    u32 count;              // of all symbols so far
    u32 waiting[8];

    __device__ explicit SymbolQueue(u32 *first) : next(first), count(0) {}

    __device__ void push(u32 symbol) {
        // Moved along, so that no register is indexed.
#pragma unroll
        for (u32 index = 0; index < 7; index++) {
            waiting[index] = waiting[index + 1];
        }
        waiting[7] = symbol;
        count++;
        if ((count & 7) == 0) {
            flush();
        }
    }

    __device__ void flush() {
        uint4 *words = (uint4 *)next;
        words[0] = make_uint4(waiting[0], waiting[1], waiting[2], waiting[3]);
        words[1] = make_uint4(waiting[4], waiting[5], waiting[6], waiting[7]);
        next += 8;
    }

    __device__ void finish() {
        const u32 left = count & 7;
#pragma unroll
        for (u32 index = 0; index < 7; index++) {
            // The last `left` of the eight.
            if (index + left >= 7) {
                next[index + left - 7] = waiting[index + 1];
            }
        }
    }
};

// The header of a block, if its window has the block.
__device__ inline void place_block(const Wave &wave, const McuBlock &block, u32 mcu_row, u32 mcu_column, Header header) {
    const u32 row = mcu_row * block.rows + block.row, column = mcu_column * block.columns + block.column;
    if (row < block.window_rows && column < block.window_columns) {
        wave.headers[block.first_header + row * block.window_columns + column] = header;
    }
}

// Coefficients: each thread writes the blocks that start in its subsequence, and follows the last one past its end.
extern "C" __global__ void __launch_bounds__(GROUP)
write_symbols(const __grid_constant__ Wave wave) {
    const Group group = wave.groups[blockIdx.x];
    const Scan &scan = wave.scans[group.scan];
    const Codes codes(wave, scan);
    Record total;
    const Record before = exclusive_scan(own_record(wave, group), wave.prefixes[blockIdx.x], total);
    if (threadIdx.x >= group.count) {
        return;
    }
    const u32 subsequence = group.first_subsequence + threadIdx.x;
    const Place place(wave, group, subsequence);
    const u32 state = entry_state(wave, group, place);
    const u32 stored_state = wave.records[subsequence].w & STATE;
    const u32 blocks = place.segment->blocks, blocks_per_mcu = scan.blocks_per_mcu;
    const u32 part_of_block = scan.part_of_block;
    u32 block = before.x;
    int dc0 = (short)before.y, dc1 = (int)before.y >> 16, dc2 = (short)before.z, dc3 = (int)before.z >> 16;
    u32 in_mcu = block % blocks_per_mcu;
    const u32 mcu = (place.segment->first_block + block) / blocks_per_mcu;
    u32 mcu_row = mcu / scan.mcus_across, mcu_column = mcu - mcu_row * scan.mcus_across;

    const u32 bit = place.start + (state & 31);
    BitReader reader(place.data(wave), bit);
    int left = (int)(place.end - bit);
    u32 zigzag = state >> 5 & 63, phase = state >> 11 & 15;
    // A block that began earlier is written from there.
    bool is_own = zigzag == 0, is_past_end = left <= 0;
    const u32 first_symbol = subsequence * symbol_slots(wave);
    SymbolQueue symbols(wave.symbols + first_symbol);
    u32 first_of_block = 0, flags = 0;
    while (block < blocks && (!is_past_end || (is_own && zigzag != 0))) {
        const u32 bits = reader.peek();
        // Kept from symbol to symbol, they would be two registers too many.
        const Tables tables = codes.of_block(phase);
        const u32 entry = codes.entry(bits, zigzag == 0 ? tables.dc : tables.ac);
        const u32 advance = advance_of(entry), next = zigzag + advance;
        if (advance == 0 || (next > 64 && advance != 64)) {
            // Nothing that follows makes it right. Also, symbols might need more slots than there are.
            flags |= BAD_CODE;
            break;
        }
        int value = value_of(bits, entry);
        if (zigzag == 0) {
            is_own = true;
            first_of_block = symbols.count;
            const u32 part = part_of_block >> 2 * in_mcu & 3;
            dc0 += part == 0 ? value : 0;
            dc1 += part == 1 ? value : 0;
            dc2 += part == 2 ? value : 0;
            dc3 += part == 3 ? value : 0;
            value = part == 0 ? dc0 : part == 1 ? dc1 : part == 2 ? dc2 : dc3;
        }
        if (is_own && (value & 0xffff) != 0) {
            symbols.push((u32)value << 16 | ((next - 1) & 63));
        }
        left -= (int)bits_of(entry);
        reader.skip(bits_of(entry));
        zigzag = next;
        if (next >= 64) {
            zigzag = 0;
            if (is_own) {
                const Header header = make_uint2(first_symbol + first_of_block, symbols.count - first_of_block);
                place_block(wave, scan.blocks[in_mcu], mcu_row, mcu_column, header);
            }
            block++;
            phase = phase + 1 == codes.period ? 0 : phase + 1;
            if (++in_mcu == blocks_per_mcu) {
                in_mcu = 0;
                if (++mcu_column == scan.mcus_across) {
                    mcu_column = 0;
                    mcu_row++;
                }
            }
            if (block == blocks) {
                // Bits left in the segment; bits that are not there count as many.
                const u32 unread = place.segment->bits - (place.end - left);
                flags |= unread >= 8 ? LEFT_OVER : 0;
            }
        }
        if (!is_past_end && left <= 0) {
            is_past_end = true;
            const u32 exit = (u32)-left | zigzag << 5 | phase << 11;
            flags |= block < blocks && exit != stored_state ? UNSYNCHRONISED : 0;
        }
    }
    symbols.finish();
    if (place.end == place.segment->bits && block < blocks) {
        flags |= SHORT;
    }
    if (flags != 0) {
        atomicOr(&wave.flags[scan.image], flags);
    }
}
