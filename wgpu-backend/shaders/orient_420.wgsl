// The last write of the usual pictures: RGB8 or RGBA8 of YCbCr 4:2:0, upright, in rows of whole quads that begin with
// whole words. Each invocation makes two rows of eight pixels that take their chroma from the same two rows of samples:
// an odd row and the next.

@group(0) @binding(0) var<storage, read> components: array<Component>;
@group(0) @binding(1) var<storage, read> outputs: array<Output>;
// Count of workgroups, then the output of each.
@group(0) @binding(2) var<storage, read> groups: array<u32>;
@group(0) @binding(3) var<storage, read> planes: array<u32>;
@group(0) @binding(4) var<storage, read_write> target_words: array<u32>;

// Two numbers of 16 bits in one word, which no operation here lets run over.
const TWO_BYTES: u32 = 0x00FF00FFu;

fn word_at(component: Component, column: u32, row: u32) -> u32 {
    let words = (row - component.first_row) * component.plane_stride;
    return component.plane + words + ((column - component.first_column) >> 2u);
}

// Four samples of a row with those before and behind, in pairs. `column` is a multiple of 4 from the first that is
// here. Edges repeat the last real sample.
fn six_samples(component: Component, column: u32, row: u32) -> vec3<u32> {
    let word = word_at(component, column, row);
    var here = planes[word];
    var before = here & 255u;
    if column > component.first_column {
        before = planes[word - 1u] >> 24u;
    }
    let real = min(component.plane_width, component.first_column + 8u * component.block_columns) - column;
    if real < 4u {
        let last = (here >> (8u * real - 8u)) & 255u;
        let padding = 0xFFFFFFFFu << (8u * real);
        here = (here & ~padding) | ((last * 0x01010101u) & padding);
    }
    var behind = here >> 24u;
    if real > 4u {
        behind = planes[word + 1u] & 255u;
    }
    let middle = ((here >> 8u) & 255u) | (here & 0x00FF0000u);
    return vec3<u32>(before | ((here & 255u) << 16u), middle, (here >> 24u) | (behind << 16u));
}

// Chroma at four pixels, two a word: at the first and third, and at the second and fourth. From column sums of the
// triangle filter, of which the two in the middle are nearest.
fn four_chroma(left: u32, right: u32) -> vec2<u32> {
    let near = 3u * ((left >> 16u) | (right << 16u));
    let sums = vec2<u32>(near) + vec2<u32>(left + 0x00080008u, right + 0x00070007u);
    return (sums >> vec2<u32>(4u)) & vec2<u32>(TWO_BYTES);
}

// A pixel from the lowest byte of each, red lowest.
fn rgb(luma: u32, blue_chroma: u32, red_chroma: u32) -> u32 {
    let blue_difference = i32(blue_chroma & 255u) - 128;
    let red_difference = i32(red_chroma & 255u) - 128;
    // 65536 times the luma, and a half.
    let scaled = i32((luma & 255u) << 16u) + 32768;
    let channels = vec3<i32>(
        scaled + 91881 * red_difference,
        scaled - 22554 * blue_difference - 46802 * red_difference,
        scaled + 116130 * blue_difference,
    );
    let bytes = vec3<u32>(clamp(channels >> vec3<u32>(16u), vec3<i32>(0), vec3<i32>(255)));
    return bytes.x | (bytes.y << 8u) | (bytes.z << 16u);
}

// Four pixels beside each other.
fn write_four(bytes_per_pixel: u32, word: u32, luma: u32, blue_chroma: vec2<u32>, red_chroma: vec2<u32>) {
    let pixels = vec4<u32>(
        rgb(luma, blue_chroma.x, red_chroma.x),
        rgb(luma >> 8u, blue_chroma.y, red_chroma.y),
        rgb(luma >> 16u, blue_chroma.x >> 16u, red_chroma.x >> 16u),
        rgb(luma >> 24u, blue_chroma.y >> 16u, red_chroma.y >> 16u),
    );
    if bytes_per_pixel == 3u {
        target_words[word] = pixels.x | (pixels.y << 24u);
        target_words[word + 1u] = (pixels.y >> 8u) | (pixels.z << 16u);
        target_words[word + 2u] = (pixels.z >> 16u) | (pixels.w << 8u);
        return;
    }
    target_words[word] = pixels.x | 0xFF000000u;
    target_words[word + 1u] = pixels.y | 0xFF000000u;
    target_words[word + 2u] = pixels.z | 0xFF000000u;
    target_words[word + 3u] = pixels.w | 0xFF000000u;
}

// Eight pixels of a row, or the last four, from column sums of the chroma around them.
fn write_row(plane: Output, luma: Component, column: u32, row: u32, blue_sums: vec3<u32>, red_sums: vec3<u32>) {
    let from_word = word_at(luma, u32(plane.origin_x) + column, u32(plane.origin_y) + row);
    let to_word = (plane.start + row * plane.stride + column * plane.bytes_per_pixel) / 4u;
    let blue = four_chroma(blue_sums.x, blue_sums.y);
    let red = four_chroma(red_sums.x, red_sums.y);
    write_four(plane.bytes_per_pixel, to_word, planes[from_word], blue, red);
    if column + 4u < plane.width {
        let next_blue = four_chroma(blue_sums.y, blue_sums.z);
        let next_red = four_chroma(red_sums.y, red_sums.z);
        let next_word = to_word + plane.bytes_per_pixel;
        write_four(plane.bytes_per_pixel, next_word, planes[from_word + 1u], next_blue, next_red);
    }
}

@compute @workgroup_size(128)
fn orient_420(
    @builtin(workgroup_id) id: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let group = id.y * workgroups.x + id.x;
    if group >= groups[0] {
        return;
    }
    let plane = outputs[groups[group + 1u]];
    let item = (group - plane.first_group) * 128u + lane;
    let across = (plane.width + 7u) / 8u;
    let pair = item / across;
    let column = (item - pair * across) * 8u;
    let chroma_row = ((u32(plane.origin_y) + 1u) >> 1u) + pair;
    // The row above an even first one is no row at all, and as a number beyond all rows.
    let odd_row = 2u * chroma_row - 1u - u32(plane.origin_y);
    let even_row = odd_row + 1u;
    if odd_row >= plane.rows && even_row >= plane.rows {
        return;
    }
    let blue = components[plane.component + 1u];
    let red = components[plane.component + 2u];
    let chroma_column = (u32(plane.origin_x) + column) >> 1u;
    let above = max(chroma_row, 1u) - 1u;
    let below = min(chroma_row, blue.plane_height - 1u);
    let blue_above = six_samples(blue, chroma_column, above);
    let blue_below = six_samples(blue, chroma_column, below);
    let red_above = six_samples(red, chroma_column, above);
    let red_below = six_samples(red, chroma_column, below);
    let luma = components[plane.component];
    if odd_row < plane.rows {
        write_row(plane, luma, column, odd_row, 3u * blue_above + blue_below, 3u * red_above + red_below);
    }
    if even_row < plane.rows {
        write_row(plane, luma, column, even_row, 3u * blue_below + blue_above, 3u * red_below + red_above);
    }
}
