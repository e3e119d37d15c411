// What the compiler's sanitiser of undefined behaviour calls in kernels.

#include "emulator.hpp"

namespace {

// How each call's data begins.
struct Place {
    const char *file;
    uint32_t line, column;
};

[[noreturn]] void undefined(const char *what, const void *data) {
    const Place &place = *(const Place *)data;
    emulator::fail("%s, %s:%u:%u", what, place.file, place.line, place.column);
}

}  // namespace

// Calls have the data and one or two operands, of which only their presence matters.
#define ANSWER(name, what)                                    \
    void __ubsan_handle_##name(void *data, uintptr_t, uintptr_t) { undefined(what, data); }

extern "C" {
ANSWER(shift_out_of_bounds, "a shift by too much")
ANSWER(add_overflow, "a sum that overflows")
ANSWER(sub_overflow, "a difference that overflows")
ANSWER(mul_overflow, "a product that overflows")
ANSWER(negate_overflow, "a negation that overflows")
ANSWER(divrem_overflow, "a division by zero")
ANSWER(out_of_bounds, "an index out of bounds")
ANSWER(type_mismatch_v1, "an access that is not aligned")
ANSWER(load_invalid_value, "a value that its type does not have")
}
