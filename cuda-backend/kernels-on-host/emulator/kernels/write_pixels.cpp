#include "cuda.hpp"

namespace {
#include "../../../kernels/write_pixels.cu"
}

KERNEL(write_pixels, Pictures)
