// Runs blocks of a kernel one after the other; the threads of a block are fibers that give way at barriers and at the
// operations of warps. Of the C library only.

#pragma once

#include <stddef.h>
#include <stdint.h>

namespace emulator {

constexpr unsigned WARP = 32, MAX_THREADS = 1024;

struct Index {
    unsigned x, y, z;
};

// Operations that the threads named by a mask do together.
enum class Collective { SYNC, BALLOT, SHUFFLE, SHUFFLE_UP };

// What kernels call.
Index thread_index();
Index block_index();
void synchronise_block();
uint32_t collective(Collective kind, uint32_t mask, uint32_t value, uint32_t argument);
uint32_t atomic_add(uint32_t *place, uint32_t value);
uint32_t atomic_or(uint32_t *place, uint32_t value);

// A kernel, compiled with its checks.
struct Kernel {
    const char *name;
    size_t parameter_size;
    void (*call)(const void *parameter);
};

// Memory that kernels may use: `Part` of memory.rs.
struct Part {
    uintptr_t start, end;
    uint8_t *written;       // by byte: whether it holds anything
    const char *name;
    uint32_t access;        // bits of Access
    uint32_t reserved;
};

enum Access : uint32_t { MAY_READ = 1, MAY_WRITE = 2, ONCE = 4 };

// What to run: `Request` of launch.rs.
struct Request {
    const Kernel *kernel;
    const void *parameter;
    const Part *parts;      // by address
    size_t part_count;
    uint32_t grid_x;
    uint32_t block_x, block_y;
    uint32_t order;         // 0 forwards, 1 backwards, else shuffled by it
    char *message;          // of the first mistake
    size_t message_size;
};

// A thread of the block that is being run.
struct Thread {
    Index index;
    unsigned number, lane, warp;
    // How many barriers of the block and of its warp lie behind it.
    uint32_t block_epoch, warp_epoch;
    uintptr_t stack_start, stack_end;
};

extern const Request *request;
extern Thread *current;

// Ends the launch with a message.
[[noreturn]] __attribute__((format(printf, 1, 2))) void fail(const char *format, ...);

// Checks an access by the current thread.
void check(uintptr_t address, size_t size, bool is_write, bool is_atomic);
// Forgets what earlier blocks did to shared memory.
void forget_shared();

}  // namespace emulator
