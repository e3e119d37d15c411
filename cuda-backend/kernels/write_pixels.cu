// From the decoder's own memory to the caller's: crop, orientation and format in one pass. The only code that writes
// the caller's memory.
//
// One block writes one tile of one picture; a launch covers up to MAX_PICTURES. The pictures are the kernel's
// parameter, so a launch needs no memory that outlives it. `Picture` is `kernels.rs`'s `Picture`.

#define MAX_PICTURES 60

enum Conversion {
    BYTES = 0,        // rows of bytes, width in bytes; no orientation
    ONE_CHANNEL = 1,  // luma to gray
    RGB_TO_RGB = 2,
    RGB_TO_BGR = 3,
    RGB_TO_RGBA = 4,
    RGB_TO_PLANES = 5,
};

enum Steps { SWAP = 0x100, MIRROR_X = 0x200, MIRROR_Y = 0x400 };

struct Picture {
    const unsigned char *source;
    unsigned char *target;
    unsigned long long target_pitch;
    unsigned long long target_plane;  // bytes from one plane to the next
    unsigned int source_pitch;
    unsigned int x, y;                // the region's first pixel in the source
    unsigned int width, height;       // of the output
    unsigned int first_tile;
    unsigned int tiles_per_row;
    unsigned int conversion;          // a Conversion with Steps
};

struct Pictures {
    unsigned int count;
    unsigned int reserved;
    Picture picture[MAX_PICTURES];
};

constexpr unsigned int TILE_ROWS = 32, LANES = 32, ROWS_AT_ONCE = 8, TILE_BYTES = 512;

template <typename Word>
__device__ void copy_row(const unsigned char *source, unsigned char *target, unsigned int begin, unsigned int end) {
    const unsigned int words = end / sizeof(Word);
    for (unsigned int word = begin / sizeof(Word) + threadIdx.x; word < words; word += LANES) {
        reinterpret_cast<Word *>(target)[word] = reinterpret_cast<const Word *>(source)[word];
    }
    for (unsigned int byte = max(begin, words * (unsigned int)sizeof(Word)) + threadIdx.x; byte < end; byte += LANES) {
        target[byte] = source[byte];
    }
}

__device__ void write_bytes(const Picture &p, unsigned int tile_x, unsigned int tile_y) {
    const unsigned int begin = tile_x * TILE_BYTES, end = min(begin + TILE_BYTES, p.width);
    const unsigned long long alignment = reinterpret_cast<unsigned long long>(p.source) |
        reinterpret_cast<unsigned long long>(p.target) | p.source_pitch | p.target_pitch;
    const unsigned int bottom = min((tile_y + 1) * TILE_ROWS, p.height);
    for (unsigned int row = tile_y * TILE_ROWS + threadIdx.y; row < bottom; row += ROWS_AT_ONCE) {
        const unsigned char *source = p.source + (unsigned long long)row * p.source_pitch;
        unsigned char *target = p.target + row * p.target_pitch;
        if ((alignment & 15) == 0) {
            copy_row<uint4>(source, target, begin, end);
        } else if ((alignment & 3) == 0) {
            copy_row<unsigned int>(source, target, begin, end);
        } else {
            copy_row<unsigned char>(source, target, begin, end);
        }
    }
}

__device__ void write_pixel(const Picture &p, unsigned int column, unsigned int row) {
    unsigned int x = p.conversion & MIRROR_X ? p.width - 1 - column : column;
    unsigned int y = p.conversion & MIRROR_Y ? p.height - 1 - row : row;
    if (p.conversion & SWAP) {
        const unsigned int stored_x = y;
        y = x;
        x = stored_x;
    }
    const unsigned char *source = p.source + (unsigned long long)(p.y + y) * p.source_pitch;
    unsigned char *target = p.target + row * p.target_pitch;
    const unsigned int conversion = p.conversion & 0xff;
    if (conversion == ONE_CHANNEL) {
        target[column] = source[p.x + x];
        return;
    }
    source += 3ull * (p.x + x);
    const unsigned char red = source[0], green = source[1], blue = source[2];
    switch (conversion) {
    case RGB_TO_RGB:
        target += 3ull * column;
        target[0] = red, target[1] = green, target[2] = blue;
        break;
    case RGB_TO_BGR:
        target += 3ull * column;
        target[0] = blue, target[1] = green, target[2] = red;
        break;
    case RGB_TO_RGBA:
        target += 4ull * column;
        target[0] = red, target[1] = green, target[2] = blue, target[3] = 255;
        break;
    case RGB_TO_PLANES:
        target += column;
        target[0] = red, target[p.target_plane] = green, target[2 * p.target_plane] = blue;
        break;
    }
}

extern "C" __global__ void __launch_bounds__(LANES * ROWS_AT_ONCE)
write_pixels(const __grid_constant__ Pictures pictures) {
    // The last picture whose first tile is not behind this one.
    unsigned int index = 0, end = pictures.count;
    while (index + 1 < end) {
        const unsigned int middle = (index + end) / 2;
        if (pictures.picture[middle].first_tile <= blockIdx.x) {
            index = middle;
        } else {
            end = middle;
        }
    }
    const Picture &p = pictures.picture[index];
    const unsigned int tile = blockIdx.x - p.first_tile;
    const unsigned int tile_x = tile % p.tiles_per_row, tile_y = tile / p.tiles_per_row;
    if ((p.conversion & 0xff) == BYTES) {
        write_bytes(p, tile_x, tile_y);
        return;
    }
    const unsigned int column = tile_x * LANES + threadIdx.x;
    const unsigned int bottom = min((tile_y + 1) * TILE_ROWS, p.height);
    if (column < p.width) {
        for (unsigned int row = tile_y * TILE_ROWS + threadIdx.y; row < bottom; row += ROWS_AT_ONCE) {
            write_pixel(p, column, row);
        }
    }
}
