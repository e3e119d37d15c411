// Dequantisation and inverse DCT. A workgroup takes 8 blocks of one component; 8 lanes share a block: first each
// scatters some of its coefficients, then each transforms a column, then a row, and stores 8 samples.
//
// Arithmetic: 16-bit wrapping and saturation as in core/src/cpu/dequant_idct.rs, in i32.

@group(0) @binding(0) var<storage, read> components: array<Component>;
// Count of workgroups, then the component of each.
@group(0) @binding(1) var<storage, read> groups: array<u32>;
// Per block: index of its first symbol, from its component's first, << 7 | number of symbols.
@group(0) @binding(2) var<storage, read> headers: array<u32>;
// Coefficients that are not 0: value << 16 | zigzag index.
@group(0) @binding(3) var<storage, read> symbols: array<u32>;
// Quantizers in zigzag order: natural index << 16 | quantizer.
@group(0) @binding(4) var<storage, read> quant: array<u32>;
@group(0) @binding(5) var<storage, read_write> planes: array<u32>;

// Rows of 8 with one word of padding, so that columns do not meet in one bank.
const ROW: u32 = 9u;
const BLOCK: u32 = 72u;
var<workgroup> values: array<i32, 576>;
// Per block: whether any coefficient outside the first row is not 0.
var<workgroup> below_first_row: array<atomic<u32>, 8>;

fn wrap16(value: i32) -> i32 {
    return (value << 16u) >> 16u;
}

// Drops `bits` fractional bits with rounding and saturates to 16 bits.
fn descale(value: i32, bits: u32) -> i32 {
    return clamp((value + (1i << (bits - 1u))) >> bits, -32768, 32767);
}

struct Eight {
    low: vec4<i32>,
    high: vec4<i32>,
}

// The one-dimensional transform of coefficients 0 to 7.
fn transform(v: Eight, bits: u32) -> Eight {
    let t3 = v.low.z * 10703 + v.high.z * 4433;
    let t2 = v.low.z * 4433 - v.high.z * 10704;
    let t0 = wrap16(v.low.x + v.high.x) << 13u;
    let t1 = wrap16(v.low.x - v.high.x) << 13u;
    let even = vec4<i32>(t0 + t3, t1 + t2, t1 - t2, t0 - t3);

    let z3 = wrap16(v.high.w + v.low.w);
    let z4 = wrap16(v.high.y + v.low.y);
    let sum3 = z4 * 9633 - z3 * 6436;
    let sum4 = z3 * 9633 + z4 * 6437;
    let a = sum3 - v.high.w * 4927 - v.low.y * 7373;
    let b = sum4 - v.high.y * 4176 - v.low.w * 20995;
    let c = sum3 - v.high.y * 20995 + v.low.w * 4177;
    let d = sum4 - v.high.w * 7373 + v.low.y * 4926;

    return Eight(
        vec4<i32>(
            descale(even.x + d, bits),
            descale(even.y + c, bits),
            descale(even.z + b, bits),
            descale(even.w + a, bits),
        ),
        vec4<i32>(
            descale(even.w - a, bits),
            descale(even.z - b, bits),
            descale(even.y - c, bits),
            descale(even.x - d, bits),
        ),
    );
}

fn sample(value: i32) -> u32 {
    return u32(clamp(value, -128, 127) + 128);
}

fn four_samples(s: vec4<i32>) -> u32 {
    return sample(s.x) | (sample(s.y) << 8u) | (sample(s.z) << 16u) | (sample(s.w) << 24u);
}

@compute @workgroup_size(64)
fn dequant_idct(
    @builtin(workgroup_id) id: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let group = id.y * workgroups.x + id.x;
    // The last row of a two-dimensional dispatch may be longer than the work. Uniform: no lane goes on.
    if group >= groups[0] {
        return;
    }
    let component = components[groups[group + 1u]];
    let block_in_group = lane >> 3u;
    let part = lane & 7u;
    let block = (group - component.first_group) * 8u + block_in_group;
    let exists = block < component.block_columns * component.block_rows;
    let base = block_in_group * BLOCK;

    for (var row = 0u; row < 8u; row++) {
        values[base + row * ROW + part] = 0;
    }
    if part == 0u {
        atomicStore(&below_first_row[block_in_group], 0u);
    }
    workgroupBarrier();

    if exists {
        let header = headers[component.first_block + block];
        let first = component.first_symbol + (header >> 7u);
        let count = min(header & 127u, 64u);
        for (var index = part; index < count; index += 8u) {
            let symbol = symbols[first + index];
            let quantizer = quant[component.quant + (symbol & 63u)];
            let natural = quantizer >> 16u;
            let value = i32(symbol) >> 16u;
            values[base + (natural >> 3u) * ROW + (natural & 7u)] = wrap16(value * i32(quantizer & 0xFFFFu));
            if natural >= 8u {
                atomicStore(&below_first_row[block_in_group], 1u);
            }
        }
    }
    workgroupBarrier();

    let column = base + part;
    if atomicLoad(&below_first_row[block_in_group]) == 0u {
        // The short way of blocks with nothing but a first row wraps where the long way saturates.
        let value = wrap16(values[column] << 2u);
        for (var row = 0u; row < 8u; row++) {
            values[column + row * ROW] = value;
        }
    } else {
        let input = Eight(
            vec4<i32>(values[column], values[column + ROW], values[column + 2u * ROW], values[column + 3u * ROW]),
            vec4<i32>(
                values[column + 4u * ROW],
                values[column + 5u * ROW],
                values[column + 6u * ROW],
                values[column + 7u * ROW],
            ),
        );
        let output = transform(input, 11u);
        values[column] = output.low.x;
        values[column + ROW] = output.low.y;
        values[column + 2u * ROW] = output.low.z;
        values[column + 3u * ROW] = output.low.w;
        values[column + 4u * ROW] = output.high.x;
        values[column + 5u * ROW] = output.high.y;
        values[column + 6u * ROW] = output.high.z;
        values[column + 7u * ROW] = output.high.w;
    }
    workgroupBarrier();

    if exists {
        let row = base + part * ROW;
        let input = Eight(
            vec4<i32>(values[row], values[row + 1u], values[row + 2u], values[row + 3u]),
            vec4<i32>(values[row + 4u], values[row + 5u], values[row + 6u], values[row + 7u]),
        );
        let output = transform(input, 18u);
        let block_row = block / component.block_columns;
        let block_column = block - block_row * component.block_columns;
        let word = component.plane + (block_row * 8u + part) * component.plane_stride + block_column * 2u;
        planes[word] = four_samples(output.low);
        planes[word + 1u] = four_samples(output.high);
    }
}
