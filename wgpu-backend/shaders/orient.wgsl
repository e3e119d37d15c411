// The last write, word by word: each invocation owns one word of the target and fills in the bytes that belong to
// its plane of pixels, oriented. Bytes between rows, and those of others, stay as they are. Where `orient_quads`
// writes too, these are the words that its quads leave over.

@group(0) @binding(0) var<storage, read> components: array<Component>;
@group(0) @binding(1) var<storage, read> outputs: array<Output>;
// Count of workgroups, then the output of each.
@group(0) @binding(2) var<storage, read> groups: array<u32>;
@group(0) @binding(3) var<storage, read> planes: array<u32>;
@group(0) @binding(4) var<storage, read_write> target_words: array<u32>;

// Bytes of pixel (x, y), in stored coordinates of the whole picture.
fn bytes_at(plane: Output, x: u32, y: u32) -> u32 {
    let first = plane.component;
    let count = component_count(plane.color);
    var samples = vec4<i32>(upsampled(first, x, y), 0, 0, 0);
    if count > 1u {
        samples.y = upsampled(first + 1u, x, y);
        samples.z = upsampled(first + 2u, x, y);
    }
    if count > 3u {
        samples.w = upsampled(first + 3u, x, y);
    }
    return pixel_bytes(converted(plane.color, samples), plane.channels, plane.bytes_per_pixel);
}

// What a word gets: bits where the mask is set.
struct Piece {
    bits: u32,
    mask: u32,
    // Bytes of the word that are dealt with.
    end: u32,
}

// The part of a word from byte `part` on that lies in one pixel; or else one byte that belongs to others.
fn piece(plane: Output, word: u32, part: u32) -> Piece {
    let nothing = Piece(0u, 0u, part + 1u);
    let position = word * 4u + part;
    if part > 3u || position < plane.start {
        return nothing;
    }
    let row = (position - plane.start) / plane.stride;
    let byte = position - plane.start - row * plane.stride;
    let column = byte / plane.bytes_per_pixel;
    if row >= plane.rows || column >= plane.width {
        return nothing;
    }
    let skipped = byte - column * plane.bytes_per_pixel;
    let end = min(part + plane.bytes_per_pixel - skipped, 4u);
    // All ones for the bytes from `part` to `end`; no shift by 32.
    let mask = (0xFFFFFFFFu << (part * 8u)) & (0xFFFFFFFFu >> ((4u - end) * 8u));
    let x = u32(plane.origin_x + plane.across_x * i32(column) + plane.down_x * i32(row));
    let y = u32(plane.origin_y + plane.across_y * i32(column) + plane.down_y * i32(row));
    let bytes = bytes_at(plane, x, y) >> (skipped * 8u);
    return Piece((bytes << (part * 8u)) & mask, mask, end);
}

const NO_WORD: u32 = 0xFFFFFFFFu;

// First word behind the pixels of a row.
fn row_end(plane: Output, row: u32) -> u32 {
    return (plane.start + row * plane.stride + plane.width * plane.bytes_per_pixel + 3u) >> 2u;
}

// The words between the quads of one row and those of the next: up to 3 behind the former (slots 0 to 3), up to 3
// before the latter (slots 4 to 7). A word that the rows share is the former's.
fn word_between_quads(plane: Output, item: u32) -> u32 {
    let slot = item & 3u;
    let next_row = item >> 3u;
    if (item & 4u) == 0u {
        if next_row == 0u {
            return NO_WORD;
        }
        let row = next_row - 1u;
        let start = plane.start + row * plane.stride;
        let before = before_quads(plane.bytes_per_pixel, start);
        let pixels = before + (plane.width - before) / 4u * 4u;
        let word = (start + pixels * plane.bytes_per_pixel) / 4u + slot;
        return select(NO_WORD, word, word < row_end(plane, row));
    }
    if next_row == plane.rows {
        return NO_WORD;
    }
    let start = plane.start + next_row * plane.stride;
    let word = start / 4u + slot;
    let quads = (start + before_quads(plane.bytes_per_pixel, start) * plane.bytes_per_pixel) / 4u;
    let shared_with_row_before = next_row > 0u && word < row_end(plane, next_row - 1u);
    return select(NO_WORD, word, word < quads && !shared_with_row_before);
}

@compute @workgroup_size(128)
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
    let item = (group - plane.first_group) * 128u + lane;
    if item >= plane.items {
        return;
    }
    var word = plane.start / 4u + item;
    if plane.quads > 0u {
        word = word_between_quads(plane, item);
    }
    if word == NO_WORD {
        return;
    }

    var bits = 0u;
    var mask = 0u;
    var part = 0u;
    while part < 4u {
        let next = piece(plane, word, part);
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
