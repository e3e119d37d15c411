#include "cuda.hpp"

namespace {
#include "../../tests/misuse.cu"
}

KERNEL(shares_in_order, Cases)
KERNEL(misuses, Cases)
