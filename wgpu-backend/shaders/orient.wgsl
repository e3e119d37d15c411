// The last write: each invocation owns one word of the target and fills in the bytes that belong to its plane of
// pixels, oriented. Bytes between rows, and those of others, stay as they are.

@group(0) @binding(0) var<storage, read> components: array<Component>;
@group(0) @binding(1) var<storage, read> outputs: array<Output>;
// Count of workgroups, then the output of each.
@group(0) @binding(2) var<storage, read> groups: array<u32>;
@group(0) @binding(3) var<storage, read> planes: array<u32>;
@group(0) @binding(4) var<storage, read_write> target_words: array<u32>;

// One byte of a pixel: a channel, or what is made of them.
fn channel_byte(channels: vec4<i32>, channel: u32) -> u32 {
    switch channel {
        case 0u: { return u32(channels.x); }
        case 1u: { return u32(channels.y); }
        case 2u: { return u32(channels.z); }
        case 3u: { return u32(channels.w); }
        case CHANNEL_LUMA: { return u32(luma(channels.xyz)); }
        default: { return 255u; }
    }
}

@compute @workgroup_size(64)
fn orient(
    @builtin(workgroup_id) id: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let group = id.y * workgroups.x + id.x;
    if group >= groups[0] {
        return;
    }
    let index = groups[group + 1u];
    let plane = outputs[index];
    let word_in_plane = (group - plane.first_group) * 64u + lane;
    if word_in_plane >= plane.words {
        return;
    }
    let word = plane.first_word + word_in_plane;

    // Position of the word's first byte, counted from row 0; it may lie before it.
    let offset = i32(word * 4u) - plane.start;
    var row = max(offset, 0) / i32(plane.stride);
    var byte = max(offset, 0) - row * i32(plane.stride);
    var first = 0u;
    if offset < 0 {
        first = u32(-offset);
    }

    var bits = 0u;
    var mask = 0u;
    var last_column = -1;
    var last_row = -1;
    var channels = vec4<i32>(0);
    for (var part = first; part < 4u; part++) {
        if row >= i32(plane.first_row) && row < i32(plane.end_row) && byte < i32(plane.row_bytes) {
            let column = byte / i32(plane.bytes_per_pixel);
            if column != last_column || row != last_row {
                let x = plane.origin_x + plane.across_x * column + plane.down_x * row;
                let y = plane.origin_y + plane.across_y * column + plane.down_y * row;
                channels = pixel_channels(plane.color, plane.component, u32(x), u32(y));
                last_column = column;
                last_row = row;
            }
            let which = u32(byte - column * i32(plane.bytes_per_pixel));
            let channel = (plane.channels >> (which * 8u)) & 255u;
            bits |= channel_byte(channels, channel) << (part * 8u);
            mask |= 255u << (part * 8u);
        }
        byte++;
        if byte == i32(plane.stride) {
            byte = 0;
            row++;
        }
    }
    if mask == 0xFFFFFFFFu {
        target_words[word] = bits;
    } else if mask != 0u {
        target_words[word] = (target_words[word] & ~mask) | bits;
    }
}
