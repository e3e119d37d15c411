// The last write, four pixels at a time: each invocation owns the words of one quad. Words that a row of pixels
// fills in part, or shares with a pixel outside its quads, are left to `orient`.

@group(0) @binding(0) var<storage, read> components: array<Component>;
@group(0) @binding(1) var<storage, read> outputs: array<Output>;
// Count of workgroups, then the output of each.
@group(0) @binding(2) var<storage, read> groups: array<u32>;
@group(0) @binding(3) var<storage, read> planes: array<u32>;
@group(0) @binding(4) var<storage, read_write> target_words: array<u32>;

// Whether all outputs of the dispatch are RGB8 or RGBA8 made of YCbCr with chroma of half the width and height.
// Compilers leave out what that does not need, and an invocation takes less of a GPU's registers.
override usual: bool = false;

fn four_of_further_component(index: u32, along: u32, across: u32) -> vec4<i32> {
    let component = components[index];
    return four_upsampled(component, select(component.filter_kind, FILTER_H2V2, usual), along, across);
}

fn quad_pixel_bytes(plane: Output, samples: vec4<i32>) -> u32 {
    if usual {
        return pixel_bytes(converted(COLOR_YCC, samples), ORDER_RGB | (CHANNEL_OPAQUE << 24u), 4u);
    }
    return pixel_bytes(converted(plane.color, samples), plane.channels, plane.bytes_per_pixel);
}

// Quad and row of an invocation: one quad after the other; or if the picture is turned, in blocks of 16 rows by 8 quads,
// which read a block of stored rows. 16 invocations in turn read beside each other.
fn place_in_plane(quads: u32, group: u32, lane: u32) -> vec2<u32> {
    if turned {
        let blocks = (quads + 7u) / 8u;
        let row = group / blocks;
        return vec2<u32>((group - row * blocks) * 8u + (lane >> 4u), row * 16u + (lane & 15u));
    }
    let item = group * 128u + lane;
    let row = item / quads;
    return vec2<u32>(item - row * quads, row);
}

@compute @workgroup_size(128)
fn orient_quads(
    @builtin(workgroup_id) id: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let group = id.y * workgroups.x + id.x;
    if group >= groups[0] {
        return;
    }
    let plane = outputs[groups[group + 1u]];
    let place = place_in_plane(plane.quads, group - plane.first_group, lane);
    let row = place.y;
    if place.x >= plane.quads || row >= plane.rows {
        return;
    }
    let bytes_per_pixel = plane.bytes_per_pixel;
    let row_start = plane.start + row * plane.stride;
    let column = place.x * 4u + before_quads(bytes_per_pixel, row_start);
    if column + 4u > plane.width {
        return;
    }

    // The four lie along a stored row, or column; from the first in the stored order on.
    let backwards = select(plane.across_x, plane.across_y, turned) < 0;
    let first = i32(select(column, column + 3u, backwards));
    let x = u32(plane.origin_x + plane.across_x * first + plane.down_x * i32(row));
    let y = u32(plane.origin_y + plane.across_y * first + plane.down_y * i32(row));
    let along = select(x, y, turned);
    let across = select(y, x, turned);
    let count = select(component_count(plane.color), 3u, usual);
    let first_component = components[plane.component];
    let a = four_upsampled(first_component, select(first_component.filter_kind, FILTER_NONE, usual), along, across);
    var b = vec4<i32>(0);
    var c = vec4<i32>(0);
    var d = vec4<i32>(0);
    if count > 1u {
        b = four_of_further_component(plane.component + 1u, along, across);
        c = four_of_further_component(plane.component + 2u, along, across);
    }
    if count > 3u {
        d = four_of_further_component(plane.component + 3u, along, across);
    }
    var pixels = vec4<u32>(
        quad_pixel_bytes(plane, vec4<i32>(a.x, b.x, c.x, d.x)),
        quad_pixel_bytes(plane, vec4<i32>(a.y, b.y, c.y, d.y)),
        quad_pixel_bytes(plane, vec4<i32>(a.z, b.z, c.z, d.z)),
        quad_pixel_bytes(plane, vec4<i32>(a.w, b.w, c.w, d.w)),
    );
    if backwards {
        pixels = pixels.wzyx;
    }

    let word = (row_start + column * bytes_per_pixel) / 4u;
    switch bytes_per_pixel {
        case 1u: {
            target_words[word] = pixels.x | (pixels.y << 8u) | (pixels.z << 16u) | (pixels.w << 24u);
        }
        case 3u: {
            let three = pixels & vec4<u32>(0xFFFFFFu);
            target_words[word] = three.x | (three.y << 24u);
            target_words[word + 1u] = (three.y >> 8u) | (three.z << 16u);
            target_words[word + 2u] = (three.z >> 16u) | (three.w << 8u);
        }
        default: {
            target_words[word] = pixels.x;
            target_words[word + 1u] = pixels.y;
            target_words[word + 2u] = pixels.z;
            target_words[word + 3u] = pixels.w;
        }
    }
}
