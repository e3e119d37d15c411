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

// A pixel's bytes in memory order, the first lowest.
fn pixel_bytes(plane: Output, column: i32, row: i32) -> u32 {
    let x = u32(plane.origin_x + plane.across_x * column + plane.down_x * row);
    let y = u32(plane.origin_y + plane.across_y * column + plane.down_y * row);
    let channels = pixel_channels(plane.color, plane.component, x, y);
    var bytes = channel_byte(channels, plane.channels & 255u);
    if plane.bytes_per_pixel > 1u {
        bytes |= channel_byte(channels, (plane.channels >> 8u) & 255u) << 8u;
        bytes |= channel_byte(channels, (plane.channels >> 16u) & 255u) << 16u;
    }
    if plane.bytes_per_pixel > 3u {
        bytes |= channel_byte(channels, plane.channels >> 24u) << 24u;
    }
    return bytes;
}

// What a word gets: bits where the mask is set.
struct Piece {
    bits: u32,
    mask: u32,
    // Bytes of the word that are dealt with.
    end: u32,
}

// The part of a word from byte `part` on that lies in one pixel, or in the gap behind a row.
fn piece(plane: Output, offset: i32, part: u32) -> Piece {
    let position = offset + i32(part);
    if part > 3u || position < 0 {
        // Bytes before the first row are others': one at a time.
        return Piece(0u, 0u, part + 1u);
    }
    let row = position / i32(plane.stride);
    let byte = position - row * i32(plane.stride);
    if byte >= i32(plane.row_bytes) || row < i32(plane.first_row) || row >= i32(plane.end_row) {
        return Piece(0u, 0u, part + 1u);
    }
    let size = i32(plane.bytes_per_pixel);
    let column = byte / size;
    let skipped = u32(byte - column * size);
    let end = min(part + plane.bytes_per_pixel - skipped, 4u);
    // All ones for the bytes from `part` to `end`; no shift by 32.
    let mask = (0xFFFFFFFFu << (part * 8u)) & (0xFFFFFFFFu >> ((4u - end) * 8u));
    let bytes = pixel_bytes(plane, column, row) >> (skipped * 8u);
    return Piece((bytes << (part * 8u)) & mask, mask, end);
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
    let plane = outputs[groups[group + 1u]];
    let word_in_plane = (group - plane.first_group) * 64u + lane;
    if word_in_plane >= plane.words {
        return;
    }
    let word = plane.first_word + word_in_plane;

    // Position of the word's first byte, counted from row 0; it may lie before it.
    let offset = i32(word * 4u) - plane.start;
    var bits = 0u;
    var mask = 0u;
    var part = 0u;
    while part < 4u {
        let next = piece(plane, offset, part);
        bits |= next.bits;
        mask |= next.mask;
        part = next.end;
    }
    if mask == 0xFFFFFFFFu {
        target_words[word] = bits;
    } else if mask != 0u {
        target_words[word] = (target_words[word] & ~mask) | bits;
    }
}
