// The life of a block: its threads run by turns, each until it waits for others or ends.

#include "emulator.hpp"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

namespace emulator {

const Request *request;
Thread *current;

namespace {

constexpr size_t STACK = 64 << 10, PAGE = 4096;

enum class State { READY, AT_BARRIER, IN_COLLECTIVE, ENDED };

// A thread with what it waits for.
struct Fiber : Thread {
    State state;
    Collective kind;
    uint32_t mask, value, argument, result;
    bool has_begun;
    jmp_buf resume;
};

Fiber fibers[MAX_THREADS];
unsigned fiber_count;
unsigned turns[MAX_THREADS];    // the order in which threads run
uint64_t random_state;
uint32_t block_number;
uint8_t *stacks;
jmp_buf scheduler, launcher;

const char *name_of(Collective kind) {
    switch (kind) {
    case Collective::SYNC: return "__syncwarp";
    case Collective::BALLOT: return "__ballot_sync";
    case Collective::SHUFFLE: return "__shfl_sync";
    case Collective::SHUFFLE_UP: return "__shfl_up_sync";
    }
    return "?";
}

const char *name_of(const Fiber &fiber) {
    switch (fiber.state) {
    case State::READY: return "ready";
    case State::AT_BARRIER: return "at __syncthreads";
    case State::IN_COLLECTIVE: return name_of(fiber.kind);
    case State::ENDED: return "ended";
    }
    return "?";
}

uint32_t random_below(uint32_t bound) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((random_state >> 32) * bound >> 32);
}

// The numbers below `count` in the order that the request asks for.
void put_in_order(unsigned *numbers, unsigned count) {
    for (unsigned index = 0; index < count; index++) {
        numbers[index] = request->order == 1 ? count - 1 - index : index;
    }
    for (unsigned index = count; request->order > 1 && index > 1; index--) {
        const unsigned other = random_below(index), last = numbers[index - 1];
        numbers[index - 1] = numbers[other];
        numbers[other] = last;
    }
}

// A fiber's first function.
void begin() {
    request->kernel->call(request->parameter);
    ((Fiber *)current)->state = State::ENDED;
    _longjmp(scheduler, 1);
}

// Runs the current thread until it waits or ends. Switches by jumps: swapcontext would go through the kernel for
// signal masks each time.
void run() {
    Fiber &fiber = *(Fiber *)current;
    if (_setjmp(scheduler) != 0) {
        return;
    }
    if (fiber.has_begun) {
        _longjmp(fiber.resume, 1);
    }
    fiber.has_begun = true;
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = (void *)fiber.stack_start;
    context.uc_stack.ss_size = fiber.stack_end - fiber.stack_start;
    context.uc_link = nullptr;
    makecontext(&context, begin, 0);
    setcontext(&context);
}

// Lets others run until the current thread is ready again.
void give_way(State state) {
    Fiber &fiber = *(Fiber *)current;
    fiber.state = state;
    if (_setjmp(fiber.resume) == 0) {
        _longjmp(scheduler, 1);
    }
}

// Does a collective operation if all that the mask names have come to it; tells whether it did.
bool try_collective(Fiber &first) {
    Fiber *lanes = fibers + first.warp * WARP;
    uint32_t epoch = 0;
    for (unsigned lane = 0; lane < WARP; lane++) {
        if ((first.mask >> lane & 1) == 0) {
            continue;
        }
        current = &first;
        if (first.warp * WARP + lane >= fiber_count) {
            fail("%s names lane %u, which the block does not have", name_of(first.kind), lane);
        }
        const Fiber &other = lanes[lane];
        if (other.state == State::ENDED) {
            fail("%s names lane %u, which has ended", name_of(first.kind), lane);
        }
        if (other.state != State::IN_COLLECTIVE) {
            return false;
        }
        if (other.kind != first.kind || other.mask != first.mask) {
            fail("%s of mask %#x, but lane %u is at %s of mask %#x", name_of(first.kind), first.mask, lane,
                 name_of(other.kind), other.mask);
        }
        epoch = other.warp_epoch > epoch ? other.warp_epoch : epoch;
    }
    uint32_t votes = 0;
    for (unsigned lane = 0; lane < WARP; lane++) {
        votes |= (first.mask >> lane & 1) != 0 && lanes[lane].value != 0 ? 1u << lane : 0;
    }
    for (unsigned lane = 0; lane < WARP; lane++) {
        if ((first.mask >> lane & 1) == 0) {
            continue;
        }
        Fiber &own = lanes[lane];
        const bool stays = own.kind == Collective::SHUFFLE_UP && own.argument > lane;
        unsigned from = own.kind == Collective::SHUFFLE ? own.argument % WARP : lane;
        from = own.kind == Collective::SHUFFLE_UP && !stays ? lane - own.argument : from;
        if ((first.mask >> from & 1) == 0) {
            current = &own;
            fail("%s takes from lane %u, which mask %#x does not name", name_of(own.kind), from, own.mask);
        }
        own.result = own.kind == Collective::BALLOT ? votes : lanes[from].value;
        // Only this one orders accesses to memory.
        own.warp_epoch = own.kind == Collective::SYNC ? epoch + 1 : own.warp_epoch;
        own.state = State::READY;
    }
    return true;
}

// Whether any thread can go on. Fails if all that have not ended wait in vain.
bool release() {
    bool released = false;
    unsigned waiting = 0, ended = 0;
    for (unsigned number = 0; number < fiber_count; number++) {
        Fiber &fiber = fibers[number];
        released |= fiber.state == State::READY;
        if (fiber.state == State::IN_COLLECTIVE) {
            released |= try_collective(fiber);
        }
        waiting += fiber.state == State::AT_BARRIER;
        ended += fiber.state == State::ENDED;
    }
    if (released || ended == fiber_count) {
        return released;
    }
    if (waiting != fiber_count) {
        const Fiber *first = fibers, *other = fibers;
        for (; first->state == State::ENDED; first++) {}
        for (; other->state == first->state; other++) {}
        current = (Fiber *)first;
        fail("waits in vain: %s, while thread %u is: %s", name_of(*first), other->number, name_of(*other));
    }
    for (unsigned number = 0; number < fiber_count; number++) {
        fibers[number].state = State::READY;
        fibers[number].block_epoch++;
    }
    return true;
}

void run_block() {
    forget_shared();
    put_in_order(turns, fiber_count);
    for (unsigned number = 0; number < fiber_count; number++) {
        Fiber &fiber = fibers[number];
        fiber.index = {number % request->block_x, number / request->block_x, 0};
        fiber.number = number;
        fiber.lane = number % WARP;
        fiber.warp = number / WARP;
        fiber.block_epoch = fiber.warp_epoch = 0;
        // The lowest page of each stack can't be touched.
        fiber.stack_start = (uintptr_t)(stacks + number * (STACK + PAGE) + PAGE);
        fiber.stack_end = fiber.stack_start + STACK;
        fiber.state = State::READY;
        fiber.has_begun = false;
    }
    do {
        for (unsigned turn = 0; turn < fiber_count; turn++) {
            current = fibers + turns[turn];
            if (((Fiber *)current)->state == State::READY) {
                run();
            }
        }
    } while (release());
}

bool has_stacks() {
    if (stacks == nullptr) {
        const size_t size = MAX_THREADS * (STACK + PAGE);
        void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) {
            return false;
        }
        stacks = (uint8_t *)memory;
        for (unsigned number = 0; number < MAX_THREADS; number++) {
            mprotect(stacks + number * (STACK + PAGE), PAGE, PROT_NONE);
        }
    }
    return true;
}

}  // namespace

Index thread_index() {
    return current->index;
}

Index block_index() {
    return {block_number, 0, 0};
}

void synchronise_block() {
    give_way(State::AT_BARRIER);
}

uint32_t collective(Collective kind, uint32_t mask, uint32_t value, uint32_t argument) {
    Fiber &fiber = *(Fiber *)current;
    if ((mask >> fiber.lane & 1) == 0) {
        fail("%s of mask %#x, which does not name the thread's own lane %u", name_of(kind), mask, fiber.lane);
    }
    fiber.kind = kind;
    fiber.mask = mask;
    fiber.value = value;
    fiber.argument = argument;
    give_way(State::IN_COLLECTIVE);
    return fiber.result;
}

uint32_t atomic_add(uint32_t *place, uint32_t value) {
    check((uintptr_t)place, sizeof(*place), true, true);
    const uint32_t before = *place;
    *place = before + value;
    return before;
}

uint32_t atomic_or(uint32_t *place, uint32_t value) {
    check((uintptr_t)place, sizeof(*place), true, true);
    const uint32_t before = *place;
    *place = before | value;
    return before;
}

void fail(const char *format, ...) {
    int length = snprintf(request->message, request->message_size, "%s, block %u, thread %u: ", request->kernel->name,
                          block_number, current->number);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(request->message + length, request->message_size - (size_t)length, format, arguments);
    va_end(arguments);
    _longjmp(launcher, 1);
}

// Runs a request, for one caller at a time. 0: it ran; 1: there is a message; 2: there is no memory for stacks.
extern "C" int kernels_on_host_run(const Request *wanted) {
    request = wanted;
    fiber_count = wanted->block_x * wanted->block_y;
    random_state = wanted->order;
    if (!has_stacks()) {
        return 2;
    }
    if (_setjmp(launcher) != 0) {
        return 1;
    }
    for (uint32_t block = 0; block < wanted->grid_x; block++) {
        // All blocks come, also shuffled: the step has no divisor in common with a number of blocks below it.
        const uint32_t step = 2147483647, first = wanted->order;
        const uint32_t forwards = (uint32_t)(((uint64_t)block * step + first) % wanted->grid_x);
        block_number = wanted->order == 0 ? block : wanted->order == 1 ? wanted->grid_x - 1 - block : forwards;
        run_block();
    }
    return 0;
}

}  // namespace emulator
