// The exact route: synchronisation of waves of little data, instead of `synchronise` and `join_groups`. It takes a
// fraction of their steps, one after the other, and several times their work. As in core's
// `subsequences::Model::link_candidates`: states between subsequences are guessed for every block that may begin there,
// decoders lead from these candidates to the next ones, and what remains is to follow the links.

#include "shared/codes.cuh"

// Subsequences of a block of threads, each with a thread for each guess.
constexpr u32 GUESSED_AT_ONCE = GROUP / PHASES;

// A thread's subsequence and guess. Neighbours share a subsequence, whose data they read together.
struct Guess {
    Group group;
    u32 own, phase;

    __device__ explicit Guess(const Wave &wave)
        : group(wave.groups[blockIdx.x / PHASES]),
          own(blockIdx.x % PHASES * GUESSED_AT_ONCE + threadIdx.x / PHASES), phase(threadIdx.x % PHASES) {}

    __device__ u32 subsequence() const {
        return group.first_subsequence + own;
    }
};

// The states behind each subsequence if a block began with it, for every phase; only the right one where a segment
// begins.
extern "C" __global__ void __launch_bounds__(GROUP)
guess_candidates(const __grid_constant__ Wave wave) {
    const Guess guess(wave);
    if (guess.own >= guess.group.count) {
        return;
    }
    const Scan &scan = wave.scans[guess.group.scan];
    const Codes codes(wave, scan);
    const Place place(wave, guess.group, guess.subsequence());
    Candidates &behind = wave.candidates[guess.subsequence()];
    const bool is_start = place.starts_segment();
    u32 state = NO_STATE;
    if (guess.phase < (is_start ? 1 : codes.period)) {
        // Nothing is counted, as nothing else is used.
        state = count<false>(wave, scan, codes, place, guess.phase << 11, 0).w & STATE;
    }
    behind.states[guess.phase] = state;
    for (u32 other = guess.phase + PHASES; other < CANDIDATES; other += PHASES) {
        behind.states[other] = NO_STATE;
    }
    // Whatever is before a segment leads to its one candidate.
    for (u32 other = guess.phase; other < CANDIDATES; other += PHASES) {
        behind.links[other] = is_start ? 0 : LOST;
    }
    if (guess.phase == 0) {
        behind.count = PHASES;
    }
}

// The first candidate with a state, LOST if there is none.
__device__ inline u32 find(const Candidates &candidates, u32 state) {
    u32 found = LOST;
    for (u32 index = LOST; index-- > 0;) {
        found = candidates.states[index] == state ? index : found;
    }
    return found;
}

// Links from the guesses before each subsequence to the candidates behind it, and from new ones among these on; from
// the start of a segment there is only one way, and it is guessed already where it leads to. Threads may add the same
// candidate twice: that costs room, but links stay right.
extern "C" __global__ void __launch_bounds__(GROUP)
follow_candidates(const __grid_constant__ Wave wave) {
    const Guess guess(wave);
    if (guess.own >= guess.group.count) {
        return;
    }
    const Scan &scan = wave.scans[guess.group.scan];
    const Codes codes(wave, scan);
    Place place(wave, guess.group, guess.subsequence());
    u32 subsequence = guess.subsequence(), candidate = guess.phase;
    if (place.starts_segment()) {
        if (candidate == 0) {
            wave.candidates[subsequence].records[0] = count<false>(wave, scan, codes, place, 0, 0);
        }
        return;
    }
    u32 state = wave.candidates[subsequence - 1].states[candidate];
    if (state == NO_STATE || find(wave.candidates[subsequence - 1], state) != candidate) {
        return;
    }
    for (u32 step = 0;; step++) {
        Candidates &behind = wave.candidates[subsequence];
        const Record record = count<false>(wave, scan, codes, place, state, 0);
        behind.records[candidate] = record;
        state = record.w & STATE;
        u32 next = find(behind, state);
        const bool is_new = next == LOST;
        if (is_new) {
            // What does not synchronise within a group's length is lost: that bounds what hostile data can take.
            if (step == GROUP) {
                return;
            }
            next = atomicAdd(&behind.count, 1);
            if (next >= LOST) {
                return;
            }
            behind.states[next] = state;
        }
        behind.links[candidate] = next;
        // A segment ends with its last subsequence.
        if (!is_new || place.end == place.segment->bits) {
            return;
        }
        candidate = next;
        subsequence++;
        place.start = place.end;
        place.end = min(place.start + wave.subsequence_bytes * 8, place.segment->bits);
    }
}

constexpr u32 CHUNK = GROUP / 8;    // subsequences whose links are followed in one go
constexpr u32 CHUNKS = GROUP / CHUNK;
static_assert(CHUNK == CANDIDATES, "threads of a block are chunks x candidates");

// The links of a group in shared memory, one by one and by chunks of subsequences.
struct GroupLinks {
    alignas(4) u8 links[GROUP][CANDIDATES];
    u8 of_chunks[CHUNKS][CANDIDATES];

    // By all threads of a block.
    __device__ void load(const Wave &wave, const Group &group) {
        constexpr u32 WORDS = CANDIDATES / 4;
        for (u32 index = threadIdx.x; index < group.count * WORDS; index += GROUP) {
            const u32 own = index / WORDS, word = index % WORDS;
            const Candidates &candidates = wave.candidates[group.first_subsequence + own];
            ((u32 *)links[own])[word] = ((const u32 *)candidates.links)[word];
        }
        __syncthreads();
        const u32 chunk = threadIdx.x / CANDIDATES, candidate = threadIdx.x % CANDIDATES;
        u32 at = candidate;
        for (u32 own = chunk * CHUNK; own < min((chunk + 1) * CHUNK, group.count); own++) {
            at = links[own][at];
        }
        of_chunks[chunk][candidate] = at;
        __syncthreads();
    }
};

// Where the candidates before each group lead to behind it.
extern "C" __global__ void __launch_bounds__(GROUP)
link_groups(const __grid_constant__ Wave wave) {
    __shared__ GroupLinks of_group;
    of_group.load(wave, wave.groups[blockIdx.x]);
    if (threadIdx.x < CANDIDATES) {
        u32 at = threadIdx.x;
        for (u32 chunk = 0; chunk < CHUNKS; chunk++) {
            at = of_group.of_chunks[chunk][at];
        }
        wave.group_links[blockIdx.x * CANDIDATES + threadIdx.x] = at;
    }
}

// The candidate before a group, by all threads of its block; only the first thread knows it.
__device__ inline u32 candidate_before(const Wave &wave, u32 first_group) {
    __shared__ u8 links[CHUNKS][CANDIDATES];
    u32 at = 0;
    for (u32 first = first_group; first < blockIdx.x; first += CHUNKS) {
        const u32 groups = min(CHUNKS, blockIdx.x - first);
        if (threadIdx.x < groups * CANDIDATES) {
            (&links[0][0])[threadIdx.x] = wave.group_links[first * CANDIDATES + threadIdx.x];
        }
        __syncthreads();
        for (u32 group = 0; threadIdx.x == 0 && group < groups; group++) {
            at = links[group][at];
        }
        __syncthreads();
    }
    return at;
}

// The records of the candidates that the start of each segment leads to, and what lies in each group behind its last
// start of a segment, as `sum_groups` has it.
extern "C" __global__ void __launch_bounds__(GROUP)
choose_records(const __grid_constant__ Wave wave) {
    __shared__ GroupLinks of_group;
    __shared__ u8 before_chunks[CHUNKS];
    __shared__ u8 before[GROUP];
    const Group group = wave.groups[blockIdx.x];
    const Scan &scan = wave.scans[group.scan];
    of_group.load(wave, group);
    u32 at = candidate_before(wave, scan.first_group);
    for (u32 chunk = 0; threadIdx.x == 0 && chunk < CHUNKS; chunk++) {
        before_chunks[chunk] = at;
        at = of_group.of_chunks[chunk][at];
    }
    __syncthreads();
    if (threadIdx.x < CHUNKS) {
        at = before_chunks[threadIdx.x];
        for (u32 own = threadIdx.x * CHUNK; own < min((threadIdx.x + 1) * CHUNK, group.count); own++) {
            before[own] = at;
            at = of_group.links[own][at];
        }
    }
    __syncthreads();
    Record record = make_uint4(0, 0, 0, 0), total;
    if (threadIdx.x < group.count) {
        const u32 subsequence = group.first_subsequence + threadIdx.x;
        const bool is_start = Place(wave, group, subsequence).starts_segment();
        const u32 candidate = is_start ? 0 : before[threadIdx.x];
        if (candidate == LOST) {
            atomicOr(&wave.flags[scan.image], UNSYNCHRONISED);
        } else {
            record = wave.candidates[subsequence].records[candidate];
        }
        wave.records[subsequence] = record;
    }
    exclusive_scan(record, make_uint4(0, 0, 0, 0), total);
    if (threadIdx.x == 0) {
        wave.totals[blockIdx.x] = total;
    }
}
