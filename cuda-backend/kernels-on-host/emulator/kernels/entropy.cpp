#include "cuda.hpp"

namespace {
#include "../../../kernels/entropy.cu"
}

KERNEL(synchronise, Wave)
KERNEL(join_groups, Wave)
KERNEL(sum_groups, Wave)
KERNEL(scan_totals, Wave)
KERNEL(recount, Wave)
KERNEL(write_symbols, Wave)
