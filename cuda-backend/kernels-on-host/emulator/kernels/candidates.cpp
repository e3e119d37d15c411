#include "cuda.hpp"

namespace {
#include "../../../kernels/candidates.cu"
}

KERNEL(guess_candidates, Wave)
KERNEL(follow_candidates, Wave)
KERNEL(link_groups, Wave)
KERNEL(choose_records, Wave)
