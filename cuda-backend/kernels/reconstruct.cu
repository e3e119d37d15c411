// The exact route: coefficients to samples, and samples to the caller's pixels. The arithmetic is that of core's
// `dequant_idct`, `upsample` and `color`; structures are in shared/wave.cuh.

#include "shared/wave.cuh"

constexpr u32 LANES = 8;            // threads of a block of 8x8 samples
constexpr u32 BLOCK_WORDS = 40;     // of a block in shared memory: 32, and 8 so that blocks do not meet in one bank

__device__ inline int wrap16(int value) {
    return (short)value;
}

// Saturates both to 16 bits: `high` above `low`.
__device__ inline u32 pack_saturated16(int high, int low) {
    u32 packed;
#ifdef __CUDACC__
    asm("cvt.pack.sat.s16.s32 %0, %1, %2;" : "=r"(packed) : "r"(high), "r"(low));
#else
    // The same where tests run the kernels on the CPU.
    packed = ((u32)min(max(low, -32768), 32767) & 0xffff) | (u32)min(max(high, -32768), 32767) << 16;
#endif
    return packed;
}

// Saturates both to bytes: `high` << 8 | `low`, with the lower half of `upper` above.
__device__ inline u32 pack_saturated(int high, int low, u32 upper) {
    u32 packed;
#ifdef __CUDACC__
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(packed) : "r"(high), "r"(low), "r"(upper));
#else
    packed = (u32)min(max(low, 0), 255) | (u32)min(max(high, 0), 255) << 8 | upper << 16;
#endif
    return packed;
}

// The one-dimensional transform, with as many fractional bits left as are to be dropped with rounding. Sums wrap: they are
// unsigned until then.
template <int BITS>
__device__ inline void transform(int (&v)[8]) {
    const u32 v0 = wrap16(v[0] + v[4]), v1 = wrap16(v[0] - v[4]);
    const u32 t3 = (u32)(v[2] * 10703) + (u32)(v[6] * 4433), t2 = (u32)(v[2] * 4433) - (u32)(v[6] * 10704);
    const u32 t0 = (v0 << 13) + (1u << (BITS - 1)), t1 = (v1 << 13) + (1u << (BITS - 1));
    const u32 even0 = t0 + t3, even3 = t0 - t3, even1 = t1 + t2, even2 = t1 - t2;
    const int z3 = wrap16(v[7] + v[3]), z4 = wrap16(v[5] + v[1]);
    const u32 sum3 = (u32)(z4 * 9633) - (u32)(z3 * 6436), sum4 = (u32)(z3 * 9633) + (u32)(z4 * 6437);
    const u32 a = sum3 - (u32)(v[7] * 4927) - (u32)(v[1] * 7373);
    const u32 b = sum4 - (u32)(v[5] * 4176) - (u32)(v[3] * 20995);
    const u32 c = sum3 - (u32)(v[5] * 20995) + (u32)(v[3] * 4177);
    const u32 d = sum4 - (u32)(v[7] * 7373) + (u32)(v[1] * 4926);
    v[0] = (int)(even0 + d) >> BITS;
    v[1] = (int)(even1 + c) >> BITS;
    v[2] = (int)(even2 + b) >> BITS;
    v[3] = (int)(even3 + a) >> BITS;
    v[4] = (int)(even3 - a) >> BITS;
    v[5] = (int)(even2 - b) >> BITS;
    v[6] = (int)(even1 - c) >> BITS;
    v[7] = (int)(even0 - d) >> BITS;
}

__device__ inline u32 four_samples_of(const int *v) {
    return pack_saturated(v[1] + 128, v[0] + 128, pack_saturated(v[3] + 128, v[2] + 128, 0));
}

// Two values of 16 bits of a word.
__device__ inline void unpack16(u32 word, int &low, int &high) {
    low = (short)word;
    high = (int)word >> 16;
}

// Dequantisation and inverse DCT. Eight threads share a block: first each scatters some of its coefficients, column by
// column, then each transforms a column, then a row, and stores 8 samples. All eight are of one warp.
extern "C" __global__ void __launch_bounds__(IDCT_BLOCKS * LANES)
dequant_idct(const __grid_constant__ Wave wave) {
    __shared__ uint4 values[IDCT_BLOCKS * BLOCK_WORDS / 4];
    const Component component = wave.components[wave.idct_groups[blockIdx.x]];
    const u32 in_group = threadIdx.x / LANES, part = threadIdx.x % LANES;
    const u32 block = (blockIdx.x - component.first_group) * IDCT_BLOCKS + in_group;
    const bool exists = block < component.block_columns * component.block_rows && wave.flags[component.image] == 0;
    uint4 *own = values + in_group * (BLOCK_WORDS / 4);
    own[part] = make_uint4(0, 0, 0, 0);
    __syncwarp();
    bool below_first_row = false;
    if (exists) {
        const Header header = ((const Header *)component.headers)[block];
        const u32 *symbols = (const u32 *)component.symbols + header.x;
        for (u32 index = part; index < header.y; index += LANES) {
            const u32 symbol = symbols[index];
            const u32 quantizer = wave.quant[component.quant + (symbol & 63)];
            const u32 row = quantizer >> 19, column = quantizer >> 16 & 7;
            ((u16 *)own)[column * 8 + row] = (u16)((symbol >> 16) * quantizer);
            below_first_row |= row > 0;
        }
    }
    const u32 first_lane = (threadIdx.x % WARP) & ~(LANES - 1);
    const bool has_more = (__ballot_sync(ALL_LANES, below_first_row) >> first_lane & 0xff) != 0;
    __syncwarp();
    const uint4 column = own[part];
    __syncwarp();
    int v[8];
    u32 rows[4];        // pairs of rows
    if (has_more) {
        unpack16(column.x, v[0], v[1]);
        unpack16(column.y, v[2], v[3]);
        unpack16(column.z, v[4], v[5]);
        unpack16(column.w, v[6], v[7]);
        transform<11>(v);
#pragma unroll
        for (u32 pair = 0; pair < 4; pair++) {
            rows[pair] = pack_saturated16(v[2 * pair + 1], v[2 * pair]);
        }
    } else {
        // The short way of blocks with nothing but a first row wraps where the long way saturates.
        const u32 value = column.x << 2 & 0xffff;
        rows[0] = rows[1] = rows[2] = rows[3] = value | value << 16;
    }
#pragma unroll
    for (u32 pair = 0; pair < 4; pair++) {
        ((u32 *)own)[pair * 8 + part] = rows[pair];
    }
    __syncwarp();
    const uint4 left = own[part / 2 * 2], right = own[part / 2 * 2 + 1];
    const u32 columns[8] = {left.x, left.y, left.z, left.w, right.x, right.y, right.z, right.w};
#pragma unroll
    for (u32 index = 0; index < 8; index++) {
        v[index] = part % 2 == 0 ? (int)(short)columns[index] : (int)columns[index] >> 16;
    }
    transform<18>(v);
    if (exists) {
        const u32 block_row = block / component.block_columns;
        const u32 block_column = block - block_row * component.block_columns;
        u8 *samples = (u8 *)component.plane + (u64)(block_row * 8 + part) * component.plane_stride + block_column * 8;
        *(uint2 *)samples = make_uint2(four_samples_of(v), four_samples_of(v + 4));
    }
}

__device__ inline const u8 *sample_place(const Component &component, u32 x, u32 y) {
    return (const u8 *)component.plane + (u64)(y - component.first_row) * component.plane_stride +
        (x - component.first_column);
}

__device__ inline int sample_at(const Component &component, u32 x, u32 y) {
    return *sample_place(component, x, y);
}

// The next nearest sample to a pixel of a 2:1 axis; edges repeat the last real sample.
__device__ inline u32 far_sample(u32 pixel, u32 size) {
    const u32 near = pixel >> 1;
    return (pixel & 1) == 0 ? max(near, 1u) - 1 : min(near + 1, size - 1);
}

// Column sum of the triangle filter: three parts of the near row, one of the far row.
__device__ inline int column_sum(const Component &component, u32 x, u32 near, u32 far) {
    return 3 * sample_at(component, x, near) + sample_at(component, x, far);
}

// A component's sample at a pixel of the whole picture.
__device__ inline int upsampled(const Component &component, u32 x, u32 y) {
    switch (component.filter) {
    case FILTER_H2V1: {
        const int near = sample_at(component, x >> 1, y);
        const int far = sample_at(component, far_sample(x, component.plane_width), y);
        return (3 * near + far + 1 + (int)(x & 1)) >> 2;
    }
    case FILTER_H1V2:
        return (column_sum(component, x, y >> 1, far_sample(y, component.plane_height)) + 1 + (int)(y & 1)) >> 2;
    case FILTER_H2V2: {
        const u32 near_row = y >> 1, far_row = far_sample(y, component.plane_height);
        const int near = column_sum(component, x >> 1, near_row, far_row);
        const int far = column_sum(component, far_sample(x, component.plane_width), near_row, far_row);
        return (3 * near + far + 8 - (int)(x & 1)) >> 4;
    }
    case FILTER_BOX:
        return sample_at(component, x / component.factor_x, y / component.factor_y);
    default:
        return sample_at(component, x, y);
    }
}

__device__ inline int clamped(int value) {
    return min(max(value, 0), 255);
}

struct Rgb {
    int red, green, blue;
};

__device__ inline Rgb rgb_of(int y, int cb, int cr) {
    cb -= 128;
    cr -= 128;
    return {
        clamped(y + ((91881 * cr + 32768) >> 16)),
        clamped(y + ((-22554 * cb - 46802 * cr + 32768) >> 16)),
        clamped(y + ((116130 * cb + 32768) >> 16)),
    };
}

// Adobe's inverted inks under inverted black, as djpeg makes RGB: rounded ink * black / 255.
__device__ inline Rgb under_black(const Rgb &ink, int black) {
    return {(2 * ink.red * black + 255) / 510, (2 * ink.green * black + 255) / 510, (2 * ink.blue * black + 255) / 510};
}

// A pixel's bytes in memory order, the first lowest. Those beyond the pixel are of no meaning.
__device__ inline u32 pixel_bytes(const Output &output, const Component *components, u32 x, u32 y) {
    int channels[4];
    const int first = upsampled(components[0], x, y);
    if (output.color == GRAY) {
        channels[0] = channels[1] = channels[2] = channels[3] = first;
    } else {
        const int second = upsampled(components[1], x, y), third = upsampled(components[2], x, y);
        const bool has_fourth = output.color != COPY_3 && output.color != YCC;
        const int fourth = has_fourth ? upsampled(components[3], x, y) : 0;
        Rgb rgb = {first, second, third};
        switch (output.color) {
        case YCC:
            rgb = rgb_of(first, second, third);
            break;
        case CMYK_TO_RGB:
            rgb = under_black(rgb, fourth);
            break;
        case YCCK_TO_RGB:
        case YCCK_TO_CMYK: {
            const Rgb inverted = rgb_of(first, second, third);
            rgb = {255 - inverted.red, 255 - inverted.green, 255 - inverted.blue};
            rgb = output.color == YCCK_TO_RGB ? under_black(rgb, fourth) : rgb;
            break;
        }
        default:
            break;
        }
        channels[0] = rgb.red, channels[1] = rgb.green, channels[2] = rgb.blue, channels[3] = fourth;
    }
    u32 bytes = 0;
#pragma unroll
    for (u32 byte = 0; byte < 4; byte++) {
        const u32 channel = output.channels >> 8 * byte & 255;
        u32 value = 255;
        if (channel == CHANNEL_LUMA) {
            value = (u32)(19595 * channels[0] + 38470 * channels[1] + 7471 * channels[2] + 32768) >> 16;
        } else if (channel != CHANNEL_OPAQUE) {
            value = channel == 0 ? channels[0] : channel == 1 ? channels[1] : channel == 2 ? channels[2] : channels[3];
        }
        bytes |= value << 8 * byte;
    }
    return bytes;
}

// Four samples of a row from `first` on; beyond the edges of the plane the last real one is repeated.
__device__ inline void four_samples(const Component &component, int first, u32 row, int (&samples)[4]) {
    const int last = (int)component.plane_width - 1;
    const int low = (int)component.first_column;
    const int high = min(last, low + 8 * (int)component.block_columns - 1);
    if (first >= low && first + 3 <= high) {
        const u8 *place = sample_place(component, first, row);
        const u32 shift = ((u64)place & 3) * 8;
        const u32 *words = (const u32 *)((u64)place & ~3ull);
        u32 four = words[0];
        if (shift != 0) {
            four = __funnelshift_r(four, words[1], shift);
        }
#pragma unroll
        for (u32 index = 0; index < 4; index++) {
            samples[index] = four >> 8 * index & 255;
        }
        return;
    }
#pragma unroll
    for (u32 index = 0; index < 4; index++) {
        samples[index] = sample_at(component, min(max(first + (int)index, low), high), row);
    }
}

// A component's samples at four pixels of a row, by a filter that is not a box.
__device__ inline void four_upsampled(const Component &component, u32 x, u32 y, int (&samples)[4]) {
    const u32 filter = component.filter;
    const bool halved_in_x = filter == FILTER_H2V1 || filter == FILTER_H2V2;
    const bool halved_in_y = filter == FILTER_H1V2 || filter == FILTER_H2V2;
    const int first = halved_in_x ? (int)((x + 1) >> 1) - 1 : (int)x;
    four_samples(component, first, halved_in_y ? y >> 1 : y, samples);
    if (halved_in_y) {
        int far[4];
        four_samples(component, first, far_sample(y, component.plane_height), far);
#pragma unroll
        for (u32 index = 0; index < 4; index++) {
            samples[index] = 3 * samples[index] + far[index];
        }
    }
    if (halved_in_x) {
        const int a = samples[0], b = samples[1], c = samples[2], d = samples[3];
        if ((x & 1) == 0) {
            samples[0] = 3 * b + a, samples[1] = 3 * b + c, samples[2] = 3 * c + b, samples[3] = 3 * c + d;
        } else {
            samples[0] = 3 * a + b, samples[1] = 3 * b + a, samples[2] = 3 * b + c, samples[3] = 3 * c + b;
        }
    }
#pragma unroll
    for (u32 index = 0; index < 4; index++) {
        const int odd_x = (x + index) & 1;
        if (filter == FILTER_H2V2) {
            samples[index] = (samples[index] + 8 - odd_x) >> 4;
        } else if (filter == FILTER_H2V1) {
            samples[index] = (samples[index] + 1 + odd_x) >> 2;
        } else if (filter == FILTER_H1V2) {
            samples[index] = (samples[index] + 1 + (int)(y & 1)) >> 2;
        }
    }
}

// Stores the bytes of up to four pixels beside each other.
__device__ inline void store_pixels(u8 *target, const u32 (&pixels)[4], u32 count, u32 bytes_per_pixel) {
    if (count == 4 && ((u64)target & 3) == 0) {
        u32 *words = (u32 *)target;
        if (bytes_per_pixel == 3) {
            words[0] = (pixels[0] & 0xffffff) | pixels[1] << 24;
            words[1] = (pixels[1] >> 8 & 0xffff) | pixels[2] << 16;
            words[2] = (pixels[2] >> 16 & 0xff) | pixels[3] << 8;
            return;
        }
        if (bytes_per_pixel == 1) {
            words[0] = (pixels[0] & 255) | (pixels[1] & 255) << 8 | (pixels[2] & 255) << 16 | pixels[3] << 24;
            return;
        }
        words[0] = pixels[0], words[1] = pixels[1], words[2] = pixels[2], words[3] = pixels[3];
        return;
    }
    for (u32 pixel = 0; pixel < count; pixel++) {
        for (u32 byte = 0; byte < bytes_per_pixel; byte++) {
            target[pixel * bytes_per_pixel + byte] = (u8)(pixels[pixel] >> 8 * byte);
        }
    }
}

// Whether an output is red, green and blue made of YCbCr, in rows of the stored picture.
__device__ inline bool is_usual(const Output &output, const Component *components) {
    const u32 order = output.channels & 0xffffff;
    return output.color == YCC && output.bytes_per_pixel >= 3 && (order == 0x020100 || order == 0x000102) &&
        output.across_x == 1 && output.down_y == 1 && components[0].filter != FILTER_BOX &&
        components[1].filter != FILTER_BOX && components[2].filter != FILTER_BOX;
}

// Two numbers of 16 bits in one word, which no operation here lets run over.
constexpr u32 TWO_BYTES = 0x00ff00ff;

// Pairs of samples beside each other, six in all, of which the first is before `words[1]` and the last behind it.
struct Six {
    u32 pairs[3];
};

// Three times one row and once another: column sums of the triangle filter.
__device__ inline Six column_sums(const Six &near, const Six &far) {
    Six sums;
#pragma unroll
    for (u32 index = 0; index < 3; index++) {
        sums.pairs[index] = 3 * near.pairs[index] + far.pairs[index];
    }
    return sums;
}

// The samples before, at and behind four that begin at `column`, a multiple of 4 from the plane's first. Edges repeat the
// last real sample.
__device__ inline Six six_samples(const Component &component, u32 column, u32 row) {
    const u32 *words = (const u32 *)sample_place(component, column, row);
    const u32 here = words[0];
    const bool has_before = column > component.first_column;
    const bool has_behind = column + 4 < min(component.plane_width, component.first_column + 8 * component.block_columns);
    const u32 before = has_before ? words[-1] >> 24 : here & 255;
    const u32 behind = has_behind ? words[1] & 255 : here >> 24;
    return {{before | (here & 255) << 16, __byte_perm(here, 0, 0x4241), here >> 24 | behind << 16}};
}

// Chroma at eight pixels of a row from column sums: pixels 0 and 2, 1 and 3, 4 and 6, 5 and 7.
struct Eight {
    u32 pairs[4];
};

__device__ inline Eight eight_upsampled(const Six &sums) {
    Eight pixels;
#pragma unroll
    for (u32 half = 0; half < 2; half++) {
        const u32 left = sums.pairs[half], right = sums.pairs[half + 1];
        const u32 near = 3 * __funnelshift_r(left, right, 16);
        pixels.pairs[2 * half] = (near + left + 0x00080008) >> 4 & TWO_BYTES;
        pixels.pairs[2 * half + 1] = (near + right + 0x00070007) >> 4 & TWO_BYTES;
    }
    return pixels;
}

// A pixel's channels, not yet saturated.
__device__ inline Rgb unsaturated_rgb(u32 luma, u32 cb, u32 cr) {
    // 65536 times the luma, and what the offsets of the chroma and the rounding come to.
    const int scaled = (int)(luma << 16) + 32768;
    return {
        (scaled - 128 * 91881 + 91881 * (int)cr) >> 16,
        (scaled + 128 * (22554 + 46802) - 22554 * (int)cb - 46802 * (int)cr) >> 16,
        (scaled - 128 * 116130 + 116130 * (int)cb) >> 16,
    };
}

// Eight pixels of a row, which begins where whole words do.
__device__ inline void store_eight(const Output &output, u8 *target, uint2 luma, const Eight &cb, const Eight &cr) {
    const bool blue_first = (output.channels & 255) == 2;
    u32 words[8];
#pragma unroll
    for (u32 half = 0; half < 2; half++) {
        const u32 four = half == 0 ? luma.x : luma.y;
        Rgb rgb[4];
#pragma unroll
        for (u32 pixel = 0; pixel < 4; pixel++) {
            const u32 pair = 2 * half + (pixel & 1), shift = (pixel >> 1) * 16;
            rgb[pixel] =
                unsaturated_rgb(four >> 8 * pixel & 255, cb.pairs[pair] >> shift & 255, cr.pairs[pair] >> shift & 255);
            if (blue_first) {
                const int red = rgb[pixel].red;
                rgb[pixel].red = rgb[pixel].blue;
                rgb[pixel].blue = red;
            }
        }
        if (output.bytes_per_pixel == 3) {
            u32 *three = words + half * 3;
            three[0] = pack_saturated(rgb[0].green, rgb[0].red, pack_saturated(rgb[1].red, rgb[0].blue, 0));
            three[1] = pack_saturated(rgb[1].blue, rgb[1].green, pack_saturated(rgb[2].green, rgb[2].red, 0));
            three[2] = pack_saturated(rgb[3].red, rgb[2].blue, pack_saturated(rgb[3].blue, rgb[3].green, 0));
        } else {
#pragma unroll
            for (u32 pixel = 0; pixel < 4; pixel++) {
                const u32 upper = pack_saturated(255, rgb[pixel].blue, 0);
                words[half * 4 + pixel] = pack_saturated(rgb[pixel].green, rgb[pixel].red, upper);
            }
        }
    }
    const bool three_bytes = output.bytes_per_pixel == 3;
    if (((u64)target & 7) == 0) {
        uint2 *pairs = (uint2 *)target;
        pairs[0] = make_uint2(words[0], words[1]);
        pairs[1] = make_uint2(words[2], words[3]);
        pairs[2] = make_uint2(words[4], words[5]);
        if (!three_bytes) {
            pairs[3] = make_uint2(words[6], words[7]);
        }
        return;
    }
    u32 *single = (u32 *)target;
#pragma unroll
    for (u32 index = 0; index < 8; index++) {
        if (index < 6 || !three_bytes) {
            single[index] = words[index];
        }
    }
}

// Whether the usual output has chroma of half the width and height, and begins where words of samples and of pixels do.
__device__ inline bool is_420_in_words(const Output &output, const Component *components) {
    bool aligned = (output.target & 3) == 0 && (output.stride & 3) == 0 && (output.origin_x & 7) == 0;
    for (u32 index = 1; index < 3; index++) {
        aligned &= components[index].filter == FILTER_H2V2;
    }
    return aligned && components[0].filter == FILTER_NONE;
}

// Two rows of eight pixels that take their chroma from the same two rows: an odd one and the next. `column` counts from the
// output's first, `pair` from that of the row that the output begins with.
__device__ inline void write_420(const Output &output, const Component *components, u32 column, u32 pair) {
    const u32 x = (u32)output.origin_x + column, chroma_column = x >> 1;
    const u32 chroma_row = (((u32)output.origin_y + 1) >> 1) + pair;
    const u32 first_row = 2 * chroma_row - 1 - (u32)output.origin_y;
    if (first_row >= output.rows && first_row + 1 >= output.rows) {
        return;
    }
    Six rows[2][2];
#pragma unroll
    for (u32 index = 0; index < 2; index++) {
        const Component &component = components[1 + index];
        rows[index][0] = six_samples(component, chroma_column, max(chroma_row, 1u) - 1);
        rows[index][1] = six_samples(component, chroma_column, min(chroma_row, component.plane_height - 1));
    }
#pragma unroll
    for (u32 odd = 0; odd < 2; odd++) {
        // The even row comes second.
        const u32 row = first_row + odd;
        if (row >= output.rows) {
            continue;
        }
        const Eight cb = eight_upsampled(column_sums(rows[0][odd], rows[0][odd ^ 1]));
        const Eight cr = eight_upsampled(column_sums(rows[1][odd], rows[1][odd ^ 1]));
        const uint2 luma = *(const uint2 *)sample_place(components[0], x, row + (u32)output.origin_y);
        u8 *target = (u8 *)output.target + row * output.stride + (u64)column * output.bytes_per_pixel;
        store_eight(output, target, luma, cb, cr);
    }
}

// Four pixels of a row, or as many as there are.
__device__ inline void write_four(
    const Output &output, const Component *components, bool usual, u32 column, u32 row) {
    const u32 count = min(output.width - column, 4u);
    u32 pixels[4];
    if (usual) {
        const u32 x = (u32)output.origin_x + column, y = (u32)output.origin_y + row;
        int luma[4], cb[4], cr[4];
        four_upsampled(components[0], x, y, luma);
        four_upsampled(components[1], x, y, cb);
        four_upsampled(components[2], x, y, cr);
        const bool blue_first = (output.channels & 255) == 2;
#pragma unroll
        for (u32 index = 0; index < 4; index++) {
            const Rgb rgb = rgb_of(luma[index], cb[index], cr[index]);
            const u32 first = blue_first ? rgb.blue : rgb.red, third = blue_first ? rgb.red : rgb.blue;
            pixels[index] = first | (u32)rgb.green << 8 | third << 16 | 255u << 24;
        }
    } else {
        for (u32 index = 0; index < 4; index++) {
            const int at = (int)(column + min(index, count - 1));
            const u32 x = (u32)(output.origin_x + output.across_x * at + output.down_x * (int)row);
            const u32 y = (u32)(output.origin_y + output.across_y * at + output.down_y * (int)row);
            pixels[index] = pixel_bytes(output, components, x, y);
        }
    }
    u8 *target = (u8 *)output.target + row * output.stride + (u64)column * output.bytes_per_pixel;
    store_pixels(target, pixels, count, output.bytes_per_pixel);
}

constexpr u32 WRITERS = 256;

// The caller's pixels: upsampling, color, orientation and format. Each thread writes sixteen: two rows of eight in the
// usual case, and else four of every eighth row.
extern "C" __global__ void __launch_bounds__(WRITERS)
write_pixels_exact(const __grid_constant__ Wave wave) {
    const Output output = wave.outputs[wave.tiles[blockIdx.x]];
    if (wave.flags[output.image] != 0) {
        return;
    }
    const u32 tile = blockIdx.x - output.first_tile;
    const u32 tile_row = tile / output.tiles_across, tile_column = tile - tile_row * output.tiles_across;
    const Component *components = wave.components + output.component;
    const bool usual = is_usual(output, components);
    if (usual && is_420_in_words(output, components)) {
        const u32 column = tile_column * TILE_WIDTH + threadIdx.x % (TILE_WIDTH / 8) * 8;
        const u32 pair = tile_row * (TILE_HEIGHT / 2) + threadIdx.x / (TILE_WIDTH / 8);
        if (column + 8 <= output.width) {
            write_420(output, components, column, pair);
            return;
        }
        // What is left of the last columns, row by row.
        for (u32 odd = 0; odd < 2; odd++) {
            const u32 row = 2 * ((((u32)output.origin_y + 1) >> 1) + pair) - 1 + odd - (u32)output.origin_y;
            for (u32 first = column; first < output.width && row < output.rows; first += 4) {
                write_four(output, components, true, first, row);
            }
        }
        return;
    }
    const u32 column = tile_column * TILE_WIDTH + threadIdx.x % (TILE_WIDTH / 4) * 4;
    for (u32 line = threadIdx.x / (TILE_WIDTH / 4); line < TILE_HEIGHT; line += WRITERS / (TILE_WIDTH / 4)) {
        const u32 row = tile_row * TILE_HEIGHT + line;
        if (column < output.width && row < output.rows) {
            write_four(output, components, usual, column, row);
        }
    }
}
