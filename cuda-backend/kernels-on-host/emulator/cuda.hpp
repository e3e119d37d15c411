// What the kernels use of CUDA C++, for a compiler of the host. A kernel's source is included behind this, inside an
// unnamed namespace, so that its shared variables can have a section of their own.

#pragma once

#include "emulator.hpp"

#define __device__
#define __global__
#define __grid_constant__
#define __launch_bounds__(threads)
#define __shared__ static __attribute__((section("kernels_shared")))

#define threadIdx (emulator::thread_index())
#define blockIdx (emulator::block_index())

struct alignas(8) uint2 {
    unsigned x, y;
};

struct alignas(16) uint4 {
    unsigned x, y, z, w;
};

static inline uint2 make_uint2(unsigned x, unsigned y) {
    return {x, y};
}

static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
    return {x, y, z, w};
}

template <typename Number>
static inline Number min(Number left, Number right) {
    return right < left ? right : left;
}

template <typename Number>
static inline Number max(Number left, Number right) {
    return left < right ? right : left;
}

// The upper word of `high:low << shift`.
static inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    const unsigned long long both = (unsigned long long)high << 32 | low;
    return (unsigned)(both << (shift & 31) >> 32);
}

// The lower word of `high:low >> shift`.
static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    const unsigned long long both = (unsigned long long)high << 32 | low;
    return (unsigned)(both >> (shift & 31));
}

// Four of the eight bytes of `high:low`, by a digit of the selector each. Signs are not replicated.
static inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
    const unsigned long long both = (unsigned long long)high << 32 | low;
    unsigned bytes = 0;
    for (unsigned byte = 0; byte < 4; byte++) {
        bytes |= (unsigned)(both >> 8 * (selector >> 4 * byte & 7) & 255) << 8 * byte;
    }
    return bytes;
}

static inline void __syncthreads() {
    emulator::synchronise_block();
}

static inline void __syncwarp(unsigned mask = 0xffffffffu) {
    emulator::collective(emulator::Collective::SYNC, mask, 0, 0);
}

static inline unsigned __ballot_sync(unsigned mask, bool vote) {
    return emulator::collective(emulator::Collective::BALLOT, mask, vote, 0);
}

static inline unsigned __shfl_sync(unsigned mask, unsigned value, unsigned lane) {
    return emulator::collective(emulator::Collective::SHUFFLE, mask, value, lane);
}

static inline unsigned __shfl_up_sync(unsigned mask, unsigned value, unsigned distance) {
    return emulator::collective(emulator::Collective::SHUFFLE_UP, mask, value, distance);
}

static inline unsigned atomicAdd(unsigned *place, unsigned value) {
    return emulator::atomic_add(place, value);
}

static inline unsigned atomicOr(unsigned *place, unsigned value) {
    return emulator::atomic_or(place, value);
}

// Makes a kernel known by its name: `Kernel` of launch.rs.
#define KERNEL(kernel, Parameter)                                                                           \
    extern "C" const emulator::Kernel kernels_on_host_##kernel = {                                          \
        #kernel, sizeof(Parameter), [](const void *parameter) { kernel(*(const Parameter *)parameter); }};
