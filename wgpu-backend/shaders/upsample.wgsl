// Upsampling: a component's sample at a pixel of the whole picture, by libjpeg-turbo's filters.

fn plane_sample(component: Component, x: u32, y: u32) -> i32 {
    let column = x - component.first_column;
    let row = y - component.first_row;
    let word = planes[component.plane + row * component.plane_stride + (column >> 2u)];
    return i32((word >> ((column & 3u) * 8u)) & 255u);
}

// Column sum of the triangle filter: three parts of the near row, one of the far row.
fn column_sum(component: Component, x: u32, near: u32, far: u32) -> i32 {
    return 3 * plane_sample(component, x, near) + plane_sample(component, x, far);
}

// The next nearest sample to pixel `pixel` of a 2:1 axis; edges repeat the last real sample.
fn far_sample(pixel: u32, size: u32) -> u32 {
    let near = pixel >> 1u;
    if (pixel & 1u) == 0u {
        return max(near, 1u) - 1u;
    }
    return min(near + 1u, size - 1u);
}

fn upsampled(index: u32, x: u32, y: u32) -> i32 {
    let component = components[index];
    switch component.filter_kind {
        case FILTER_H2V1: {
            let bias = 1 + i32(x & 1u);
            let near = plane_sample(component, x >> 1u, y);
            return (3 * near + plane_sample(component, far_sample(x, component.plane_width), y) + bias) >> 2u;
        }
        case FILTER_H1V2: {
            let bias = 1 + i32(y & 1u);
            return (column_sum(component, x, y >> 1u, far_sample(y, component.plane_height)) + bias) >> 2u;
        }
        case FILTER_H2V2: {
            let bias = 8 - i32(x & 1u);
            let near_row = y >> 1u;
            let far_row = far_sample(y, component.plane_height);
            let near = column_sum(component, x >> 1u, near_row, far_row);
            let far = column_sum(component, far_sample(x, component.plane_width), near_row, far_row);
            return (3 * near + far + bias) >> 4u;
        }
        case FILTER_BOX: {
            return plane_sample(component, x / component.factor_x, y / component.factor_y);
        }
        default: {
            return plane_sample(component, x, y);
        }
    }
}
