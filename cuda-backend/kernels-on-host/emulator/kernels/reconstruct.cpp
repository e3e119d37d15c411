#include "cuda.hpp"

namespace {
#include "../../../kernels/reconstruct.cu"
}

KERNEL(dequant_idct, Wave)
KERNEL(write_pixels_exact, Wave)
