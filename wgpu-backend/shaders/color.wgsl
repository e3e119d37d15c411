// Colour conversion: component samples of a pixel to its channels, rounded as libjpeg-turbo rounds.

fn ycc_to_rgb(y: i32, cb: i32, cr: i32) -> vec3<i32> {
    let blue_difference = cb - 128;
    let red_difference = cr - 128;
    return clamp(
        vec3<i32>(
            y + ((91881 * red_difference + 32768) >> 16u),
            y + ((-22554 * blue_difference - 46802 * red_difference + 32768) >> 16u),
            y + ((116130 * blue_difference + 32768) >> 16u),
        ),
        vec3<i32>(0),
        vec3<i32>(255),
    );
}

// Adobe's inverted inks under inverted black, as djpeg makes RGB: rounded ink * black / 255.
fn under_black(ink: vec3<i32>, black: i32) -> vec3<i32> {
    return (2 * ink * black + 255) / 510;
}

fn luma(rgb: vec3<i32>) -> i32 {
    return (19595 * rgb.x + 38470 * rgb.y + 7471 * rgb.z + 32768) >> 16u;
}

// Components that a colour is made of.
fn component_count(color: u32) -> u32 {
    switch color {
        case COLOR_GRAY: { return 1u; }
        case COLOR_COPY_3, COLOR_YCC: { return 3u; }
        default: { return 4u; }
    }
}

// A pixel's channels from its components' samples.
fn converted(color: u32, samples: vec4<i32>) -> vec4<i32> {
    switch color {
        case COLOR_GRAY: {
            return samples.xxxx;
        }
        case COLOR_YCC: {
            return vec4<i32>(ycc_to_rgb(samples.x, samples.y, samples.z), 0);
        }
        case COLOR_CMYK_TO_RGB: {
            return vec4<i32>(under_black(samples.xyz, samples.w), 0);
        }
        case COLOR_YCCK_TO_RGB: {
            let ink = vec3<i32>(255) - ycc_to_rgb(samples.x, samples.y, samples.z);
            return vec4<i32>(under_black(ink, samples.w), 0);
        }
        case COLOR_YCCK_TO_CMYK: {
            return vec4<i32>(vec3<i32>(255) - ycc_to_rgb(samples.x, samples.y, samples.z), samples.w);
        }
        default: {
            return samples;
        }
    }
}

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

// A pixel's bytes in memory order, the first lowest. Those beyond the pixel are of no meaning.
fn pixel_bytes(channels: vec4<i32>, order: u32, bytes_per_pixel: u32) -> u32 {
    if (order & 0xFFFFFFu) == ORDER_RGB {
        let last = select(u32(channels.w), 255u, (order >> 24u) == CHANNEL_OPAQUE);
        return u32(channels.x) | (u32(channels.y) << 8u) | (u32(channels.z) << 16u) | (last << 24u);
    }
    let first = channel_byte(channels, order & 255u);
    if bytes_per_pixel == 1u {
        return first;
    }
    let second = channel_byte(channels, (order >> 8u) & 255u);
    let third = channel_byte(channels, (order >> 16u) & 255u);
    return first | (second << 8u) | (third << 16u) | (channel_byte(channels, order >> 24u) << 24u);
}
