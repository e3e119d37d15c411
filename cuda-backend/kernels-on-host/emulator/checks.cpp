// What the kernels' loads and stores are held to. The compiler's thread sanitiser puts a call before each; these are
// the functions that it calls.

#include "emulator.hpp"

#include <string.h>

// Where the linker puts the kernels' shared variables.
extern "C" uint8_t __start_kernels_shared[], __stop_kernels_shared[];

namespace emulator {

namespace {

constexpr uint32_t NOBODY = 0xffffffffu;

// An access to shared memory: by whom, and behind which barriers of theirs.
struct SharedAccess {
    uint32_t thread;
    uint32_t block_epoch, warp_epoch;
    bool is_atomic;
};

// The last accesses to a byte of shared memory.
struct Shared {
    SharedAccess writer;
    SharedAccess readers[2];     // by different threads
};

constexpr size_t MAX_SHARED = 96 << 10;
Shared shared[MAX_SHARED];

// Whether the current thread does not come behind an access by another.
bool is_concurrent(const SharedAccess &other, bool is_atomic) {
    if (other.thread == NOBODY || other.thread == current->number || (is_atomic && other.is_atomic)) {
        return false;
    }
    const bool same_warp = other.thread / WARP == current->warp;
    return other.block_epoch == current->block_epoch && !(same_warp && other.warp_epoch < current->warp_epoch);
}

void check_shared(size_t offset, bool is_write, bool is_atomic) {
    Shared &byte = shared[offset];
    const SharedAccess own = {current->number, current->block_epoch, current->warp_epoch, is_atomic};
    if (byte.writer.thread == NOBODY && (!is_write || is_atomic)) {
        fail("reads shared memory that its block has not written");
    }
    if (is_concurrent(byte.writer, is_atomic)) {
        fail("%s shared memory that thread %u writes, with no barrier between", is_write ? "writes" : "reads",
             byte.writer.thread);
    }
    if (is_write) {
        for (const SharedAccess &reader : byte.readers) {
            if (is_concurrent(reader, false)) {
                fail("writes shared memory that thread %u reads, with no barrier between", reader.thread);
            }
        }
        byte.writer = own;
        return;
    }
    if (byte.readers[0].thread != own.thread) {
        byte.readers[1] = byte.readers[0];
    }
    byte.readers[0] = own;
}

// The part that an address lies in, or the last before it; null if it lies before all.
const Part *part_before(uintptr_t address) {
    size_t first = 0, end = request->part_count;
    while (first < end) {
        const size_t middle = (first + end) / 2;
        if (request->parts[middle].start <= address) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return first == 0 ? nullptr : request->parts + first - 1;
}

void check_part(uintptr_t address, size_t size, bool is_write, bool is_atomic) {
    const char *what = is_write ? "writes" : "reads";
    const Part *part = part_before(address);
    if (part == nullptr) {
        fail("%s %zu bytes at %#zx, before all memory", what, size, (size_t)address);
    }
    if (address + size > part->end) {
        fail("%s %zu bytes, %td behind the end of %s", what, size, (ptrdiff_t)(address - part->end), part->name);
    }
    if ((part->access & (is_write ? MAY_WRITE : MAY_READ)) == 0) {
        fail("%s %s, which is not for that", what, part->name);
    }
    uint8_t *written = part->written + (address - part->start);
    for (size_t byte = 0; byte < size; byte++) {
        if ((!is_write || is_atomic) && written[byte] == 0) {
            fail("reads byte %zu of %s, which nobody has written", address - part->start + byte, part->name);
        }
        if (is_write && (part->access & ONCE) != 0 && written[byte] != 0) {
            fail("writes byte %zu of %s once more", address - part->start + byte, part->name);
        }
        if (is_write) {
            written[byte] = 1;
        }
    }
}

}  // namespace

void check(uintptr_t address, size_t size, bool is_write, bool is_atomic) {
    if (address - current->stack_start < current->stack_end - current->stack_start) {
        return;
    }
    const uintptr_t parameter = (uintptr_t)request->parameter;
    if (!is_write && address >= parameter && address + size <= parameter + request->kernel->parameter_size) {
        return;
    }
    const uintptr_t shared_start = (uintptr_t)__start_kernels_shared, shared_end = (uintptr_t)__stop_kernels_shared;
    if (address >= shared_start && address + size <= shared_end) {
        for (size_t byte = 0; byte < size; byte++) {
            check_shared(address - shared_start + byte, is_write, is_atomic);
        }
        return;
    }
    check_part(address, size, is_write, is_atomic);
}

void forget_shared() {
    const size_t size = (size_t)(__stop_kernels_shared - __start_kernels_shared);
    if (size > MAX_SHARED) {
        fail("the kernels have %zu bytes of shared memory, more than the emulator follows", size);
    }
    // What a block finds there is of no meaning.
    memset(__start_kernels_shared, 0xA5, size);
    for (size_t byte = 0; byte < size; byte++) {
        shared[byte].writer.thread = shared[byte].readers[0].thread = shared[byte].readers[1].thread = NOBODY;
    }
}

}  // namespace emulator

#define ANSWER(size)                                                                             \
    void __tsan_read##size(void *address) { emulator::check((uintptr_t)address, size, false, false); }           \
    void __tsan_write##size(void *address) { emulator::check((uintptr_t)address, size, true, false); }           \
    void __tsan_unaligned_read##size(void *address) { emulator::check((uintptr_t)address, size, false, false); } \
    void __tsan_unaligned_write##size(void *address) { emulator::check((uintptr_t)address, size, true, false); }

extern "C" {
ANSWER(1)
ANSWER(2)
ANSWER(4)
ANSWER(8)
ANSWER(16)

void __tsan_read_range(void *address, unsigned long size) {
    emulator::check((uintptr_t)address, size, false, false);
}

void __tsan_write_range(void *address, unsigned long size) {
    emulator::check((uintptr_t)address, size, true, false);
}

void *__tsan_memcpy(void *to, const void *from, unsigned long size) {
    emulator::check((uintptr_t)from, size, false, false);
    emulator::check((uintptr_t)to, size, true, false);
    return memcpy(to, from, size);
}

void *__tsan_memset(void *to, int byte, unsigned long size) {
    emulator::check((uintptr_t)to, size, true, false);
    return memset(to, byte, size);
}

void __tsan_init() {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}
}
