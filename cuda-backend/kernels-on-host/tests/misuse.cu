// Kernels that the emulator's own tests run: one that does everything as it should, and one with a mistake of each kind.

typedef unsigned int u32;
constexpr u32 THREADS = 64, ALL = 0xffffffffu;

struct Cases {
    u32 *words;             // THREADS of them
    const u32 *constants;   // THREADS as well
    u32 *fresh;             // one word that nobody has written
    u32 mistake;            // a Mistake
    u32 reserved;
};

enum Mistake : u32 {
    BEHIND_THE_END = 1,
    BEFORE_THE_START,
    WRITES_CONSTANTS,
    READS_FRESH,
    ENDS_BEFORE_BARRIER,
    BARRIER_IN_BRANCH,
    NOT_IN_MASK,
    MASK_NAMES_ENDED,
    FROM_OUTSIDE_MASK,
    DIFFERENT_MASKS,
    NO_BARRIER,
    SHUFFLE_IS_NO_BARRIER,
    READS_UNWRITTEN_SHARED,
    SHIFTS_TOO_FAR,
    OVERFLOWS,
    NOT_ALIGNED,
    NOT_ATOMIC,
    INDEX_OUT_OF_BOUNDS,
};

// Sums up the constants before and at each thread, with all that kernels use.
extern "C" __global__ void __launch_bounds__(THREADS)
shares_in_order(const __grid_constant__ Cases cases) {
    __shared__ u32 of_warps[THREADS / 32];
    __shared__ u32 mailbox[THREADS];
    const u32 own = threadIdx.x, lane = own % 32;
    u32 sum = cases.constants[own];
    for (u32 distance = 1; distance < 32; distance *= 2) {
        const u32 other = __shfl_up_sync(ALL, sum, distance);
        sum += lane >= distance ? other : 0;
    }
    if (lane == 31) {
        of_warps[own / 32] = sum;
    }
    __syncthreads();
    sum += own >= 32 ? of_warps[0] : 0;
    // Through a neighbour of the same warp and back.
    mailbox[own ^ 1] = sum;
    __syncwarp();
    const u32 even = __ballot_sync(ALL, (lane & 1) == 0);
    mailbox[own] += even == 0x55555555 ? __shfl_sync(ALL, 0u, 3) : 1;
    __syncwarp();
    cases.words[own] = mailbox[own ^ 1];
    if (own == 0) {
        atomicAdd(cases.fresh, 0u);
    }
}

// Makes the mistake that it is told to.
extern "C" __global__ void __launch_bounds__(THREADS)
misuses(const __grid_constant__ Cases cases) {
    __shared__ u32 shared[THREADS];
    const u32 own = threadIdx.x, lane = own % 32;
    u32 value = cases.constants[own];
    switch (cases.mistake) {
    case BEHIND_THE_END:
        value = cases.constants[own + 1];
        break;
    case BEFORE_THE_START:
        value = cases.constants[(int)own - 1];
        break;
    case WRITES_CONSTANTS:
        ((u32 *)cases.constants)[own] = 1;
        break;
    case READS_FRESH:
        value = *cases.fresh;
        break;
    case ENDS_BEFORE_BARRIER:
        if (own == 5) {
            return;
        }
        __syncthreads();
        break;
    case BARRIER_IN_BRANCH:
        if (own == 63) {
            __syncthreads();
        } else {
            value = __ballot_sync(ALL, true);
        }
        break;
    case NOT_IN_MASK:
        value = __ballot_sync(0xfffffffeu, true);
        break;
    case MASK_NAMES_ENDED:
        if (own == 40) {
            return;
        }
        __syncwarp();
        break;
    case FROM_OUTSIDE_MASK:
        if (lane < 8) {
            value = __shfl_sync(0xffu, value, 9);
        }
        break;
    case DIFFERENT_MASKS:
        __syncwarp(lane < 31 ? ALL : 0x80000000u | 1u);
        break;
    case NO_BARRIER:
        shared[own] = 0;
        __syncthreads();
        shared[own] = value;
        value = shared[own ^ 32];
        break;
    case SHUFFLE_IS_NO_BARRIER:
        shared[own] = value;
        __syncthreads();
        shared[own] = value + 1;
        value = __shfl_sync(ALL, value, 0);
        value += shared[own ^ 1];
        break;
    case READS_UNWRITTEN_SHARED:
        value = shared[own];
        break;
    case SHIFTS_TOO_FAR:
        value = 1u << (own + 1);
        break;
    case OVERFLOWS:
        value = (u32)((int)value + 0x7fffffff);
        break;
    case NOT_ALIGNED:
        value = ((const uint2 *)(cases.constants + 1))->x;
        break;
    case NOT_ATOMIC:
        if (own == 0) {
            shared[0] = 0;
        }
        __syncthreads();
        if (own == 7) {
            shared[0] = 1;
        } else {
            atomicAdd(&shared[0], 1);
        }
        break;
    case INDEX_OUT_OF_BOUNDS: {
        u32 few[4] = {value, 1, 2, 3};
        value = few[own & 7];
        break;
    }
    }
    cases.words[own] = value;
}
