// The caller's side of the ordering tests: work that takes a known time, and a reduction over a buffer.

// One block. Spins for `nanoseconds` of the GPU's clock.
extern "C" __global__ void spin(unsigned long long nanoseconds) {
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
    do {
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    } while (now - start < nanoseconds);
}

// Any grid. Adds all bytes of `data` to `sum`.
extern "C" __global__ void add_bytes(const unsigned char *data, unsigned long long length, unsigned long long *sum) {
    unsigned long long mine = 0;
    const unsigned long long stride = (unsigned long long)gridDim.x * blockDim.x;
    for (unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; i < length; i += stride) {
        mine += data[i];
    }
    atomicAdd(sum, mine);
}
