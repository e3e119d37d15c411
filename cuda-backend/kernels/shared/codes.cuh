// Reading of Huffman codes: bits, look-up, and the state in a subsequence.

#pragma once

#include "wave.cuh"

// Bits of the first look-up.
constexpr u32 LOOKAHEAD = 10;

// A place in a segment's data, 32 bits of which are seen at once. Reads up to four words ahead.
struct BitReader {
    const u32 *next_word;
    u32 high, low, next;    // `next` is as in memory, so that nothing waits for it before it is needed
    u32 offset;             // of the seen bits in `high`, 0 to 31

    __device__ static u32 swapped(u32 word) {
        return __byte_perm(word, 0, 0x0123);
    }

    __device__ BitReader(const u32 *segment, u32 bit) {
        const u32 *word = segment + (bit >> 5);
        high = swapped(word[0]);
        low = swapped(word[1]);
        next = word[2];
        next_word = word + 3;
        offset = bit & 31;
    }

    __device__ u32 peek() const {
        return __funnelshift_l(low, high, offset);
    }

    __device__ void skip(u32 bits) {
        offset += bits;
        if (offset >= 32) {
            offset -= 32;
            high = low;
            low = swapped(next);
            next = *next_word++;
        }
    }
};

// The tables of a block, as `Scan::tables` has them.
struct Tables {
    u32 dc, ac;
};

// The tables of a scan. Two pairs, which nearly all files do with, are chosen from in registers.
struct Codes {
    const u16 *entries;
    u32 dc0, ac0, dc1, ac1;
    u32 pair_of_block;
    u32 period;
    bool has_more_pairs;
    const u32 *tables;

    __device__ Codes(const Wave &wave, const Scan &scan)
        : entries(wave.entries + scan.first_entry), dc0(scan.tables[0]), ac0(scan.tables[1]), dc1(scan.tables[2]),
          ac1(scan.tables[3]), pair_of_block(scan.pair_of_block), period(scan.period), has_more_pairs(scan.pairs > 2),
          tables(scan.tables) {}

    // The tables of a block, by its place in the period.
    __device__ Tables of_block(u32 phase) const {
        const u32 pair = pair_of_block >> 2 * phase & 3;
        if (has_more_pairs) {
            return {tables[2 * pair], tables[2 * pair + 1]};
        }
        return pair == 0 ? Tables{dc0, ac0} : Tables{dc1, ac1};
    }

    // What the next bits stand for: bits of code and value (5) | advance of the zigzag index << 5 (7) | bits of the
    // value << 12 (4). No code: 1 bit, no advance.
    __device__ u32 entry(u32 bits, u32 table) const {
        const u32 direct_from = table & 0x1ffff, top = bits >> 16;
        const u32 index = top < direct_from ? bits >> (32 - LOOKAHEAD) : top - direct_from + (1u << LOOKAHEAD);
        return entries[(table >> 17 << 6) + index];
    }
};

__device__ inline u32 bits_of(u32 entry) {
    return entry & 31;
}

__device__ inline u32 advance_of(u32 entry) {
    return entry >> 5 & 127;
}

// The value behind a code, T.81 F.2.2.1's EXTEND.
__device__ inline int value_of(u32 bits, u32 entry) {
    const u32 size = entry >> 12;
    const int range = 1 << size;
    const int raw = bits >> (32 - bits_of(entry)) & (range - 1);
    return raw < range >> 1 ? raw + 1 - range : raw;
}

// Sums of 16 bits each, which wrap.
__device__ inline u32 add_halves(u32 left, u32 right) {
    return ((left & 0x7fff7fffu) + (right & 0x7fff7fffu)) ^ ((left ^ right) & 0x80008000u);
}

__device__ inline Record sum(const Record &left, const Record &right) {
    if (right.w & STARTS_SEGMENT) {
        return right;
    }
    return make_uint4(left.x + right.x, add_halves(left.y, right.y), add_halves(left.z, right.z), left.w);
}

// Where a subsequence lies.
struct Place {
    const Segment *segment;
    u32 start, end;         // bits of the segment

    __device__ Place(const Wave &wave, const Group &group, u32 subsequence) {
        // The last segment that does not begin behind it.
        u32 first = group.first_segment, last = group.last_segment;
        while (first < last) {
            const u32 middle = (first + last + 1) / 2;
            if (wave.segments[middle].first_subsequence <= subsequence) {
                first = middle;
            } else {
                last = middle - 1;
            }
        }
        segment = wave.segments + first;
        const u32 length = wave.subsequence_bytes * 8;
        start = (subsequence - segment->first_subsequence) * length;
        end = min(start + length, segment->bits);
    }

    __device__ bool starts_segment() const {
        return start == 0;
    }

    __device__ const u32 *data(const Wave &wave) const {
        return wave.data + segment->first_word;
    }
};

// Decodes a subsequence from a state: the record, with the state behind it. `block` is the index in its segment of the
// block in progress where `KNOWS_BLOCK`; DC differences are summed up there, or where the tables tell blocks apart.
template <bool KNOWS_BLOCK>
__device__ inline Record count(
    const Wave &wave, const Scan &scan, const Codes &codes, const Place &place, u32 state, u32 block) {
    const u32 bit = place.start + (state & 31);
    BitReader reader(place.data(wave), bit);
    int left = (int)(place.end - bit);
    u32 zigzag = state >> 5 & 63, phase = state >> 11 & 15, blocks = 0;
    u32 in_mcu = KNOWS_BLOCK ? block % scan.blocks_per_mcu : phase;
    const u32 blocks_per_mcu = scan.blocks_per_mcu, part_of_block = scan.part_of_block;
    int dc0 = 0, dc1 = 0, dc2 = 0, dc3 = 0;
    Tables tables = codes.of_block(phase);
    while (left > 0) {
        const u32 bits = reader.peek();
        const u32 entry = codes.entry(bits, zigzag == 0 ? tables.dc : tables.ac);
        if (zigzag == 0) {
            const int value = value_of(bits, entry);
            const u32 part = part_of_block >> 2 * (KNOWS_BLOCK ? in_mcu : phase) & 3;
            dc0 += part == 0 ? value : 0;
            dc1 += part == 1 ? value : 0;
            dc2 += part == 2 ? value : 0;
            dc3 += part == 3 ? value : 0;
        }
        left -= (int)bits_of(entry);
        reader.skip(bits_of(entry));
        zigzag += advance_of(entry);
        if (zigzag >= 64) {
            zigzag = 0;
            blocks++;
            phase = phase + 1 == codes.period ? 0 : phase + 1;
            tables = codes.of_block(phase);
            if (KNOWS_BLOCK) {
                in_mcu = in_mcu + 1 == blocks_per_mcu ? 0 : in_mcu + 1;
            }
        }
    }
    Record record;
    record.x = blocks;
    const bool knows_parts = KNOWS_BLOCK || codes.period == blocks_per_mcu;
    record.y = knows_parts ? (dc0 & 0xffff) | (u32)dc1 << 16 : 0;
    record.z = knows_parts ? (dc2 & 0xffff) | (u32)dc3 << 16 : 0;
    record.w = (u32)-left | zigzag << 5 | phase << 11 | (place.starts_segment() ? STARTS_SEGMENT : 0);
    return record;
}

// The sum of what lies in a warp's records up to each lane's own.
__device__ inline Record inclusive_scan(Record record, u32 lane) {
    for (u32 distance = 1; distance < WARP; distance *= 2) {
        Record other;
        other.x = __shfl_up_sync(ALL_LANES, record.x, distance);
        other.y = __shfl_up_sync(ALL_LANES, record.y, distance);
        other.z = __shfl_up_sync(ALL_LANES, record.z, distance);
        other.w = __shfl_up_sync(ALL_LANES, record.w, distance);
        if (lane >= distance) {
            record = sum(other, record);
        }
    }
    return record;
}

__device__ inline Record from_lane(const Record &record, u32 lane) {
    return make_uint4(
        __shfl_sync(ALL_LANES, record.x, lane), __shfl_sync(ALL_LANES, record.y, lane),
        __shfl_sync(ALL_LANES, record.z, lane), __shfl_sync(ALL_LANES, record.w, lane));
}

// What lies before each thread's subsequence in its segment, for a block of GROUP threads. `record` is the thread's own;
// `prefix` what lies before the group. Also gives the total of the group in `total`.
__device__ inline Record exclusive_scan(const Record &record, const Record &prefix, Record &total) {
    __shared__ Record of_warps[GROUP / WARP];
    const u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const Record inclusive = inclusive_scan(record, lane);
    if (lane == WARP - 1) {
        of_warps[warp] = inclusive;
    }
    __syncthreads();
    Record all_before = prefix;
    total = make_uint4(0, 0, 0, 0);
    for (u32 other = 0; other < GROUP / WARP; other++) {
        if (other < warp) {
            all_before = sum(all_before, of_warps[other]);
        }
        total = sum(total, of_warps[other]);
    }
    Record exclusive;
    exclusive.x = __shfl_up_sync(ALL_LANES, inclusive.x, 1);
    exclusive.y = __shfl_up_sync(ALL_LANES, inclusive.y, 1);
    exclusive.z = __shfl_up_sync(ALL_LANES, inclusive.z, 1);
    exclusive.w = __shfl_up_sync(ALL_LANES, inclusive.w, 1);
    exclusive = lane == 0 ? all_before : sum(all_before, exclusive);
    return record.w & STARTS_SEGMENT ? make_uint4(0, 0, 0, 0) : exclusive;
}
