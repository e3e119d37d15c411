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

// Channels of pixel (x, y), in stored coordinates of the whole picture.
fn pixel_channels(color: u32, first: u32, x: u32, y: u32) -> vec4<i32> {
    let a = upsampled(first, x, y);
    if color == COLOR_GRAY {
        return vec4<i32>(a);
    }
    let b = upsampled(first + 1u, x, y);
    let c = upsampled(first + 2u, x, y);
    switch color {
        case COLOR_YCC: {
            return vec4<i32>(ycc_to_rgb(a, b, c), 0);
        }
        case COLOR_CMYK_TO_RGB: {
            return vec4<i32>(under_black(vec3<i32>(a, b, c), upsampled(first + 3u, x, y)), 0);
        }
        case COLOR_YCCK_TO_RGB: {
            let ink = vec3<i32>(255) - ycc_to_rgb(a, b, c);
            return vec4<i32>(under_black(ink, upsampled(first + 3u, x, y)), 0);
        }
        case COLOR_YCCK_TO_CMYK: {
            return vec4<i32>(vec3<i32>(255) - ycc_to_rgb(a, b, c), upsampled(first + 3u, x, y));
        }
        case COLOR_COPY_4: {
            return vec4<i32>(a, b, c, upsampled(first + 3u, x, y));
        }
        default: {
            return vec4<i32>(a, b, c, 0);
        }
    }
}
