// Upsampling of four pixels that follow each other along a line of the stored picture: a row, or a column if
// `turned`. They share the samples between them. The filters are those of `upsample.wgsl`.

override turned: bool = false;

// Samples `first` to `first + 3` of a line.
fn four_samples(component: Component, first: u32, across: u32) -> vec4<i32> {
    let column = select(first, across, turned) - component.first_column;
    let row = select(across, first, turned) - component.first_row;
    let word = component.plane + row * component.plane_stride + (column >> 2u);
    let shift = (column & 3u) * 8u;
    if turned {
        let stride = component.plane_stride;
        let words = vec4<u32>(
            planes[word],
            planes[word + stride],
            planes[word + 2u * stride],
            planes[word + 3u * stride],
        );
        return vec4<i32>((words >> vec4<u32>(shift)) & vec4<u32>(255u));
    }
    var bytes = planes[word] >> shift;
    if shift > 0u {
        bytes |= planes[word + 1u] << (32u - shift);
    }
    return vec4<i32>((vec4<u32>(bytes) >> vec4<u32>(0u, 8u, 16u, 24u)) & vec4<u32>(255u));
}

fn line_sample(component: Component, along: i32, across: u32) -> i32 {
    return plane_sample(component, select(u32(along), across, turned), select(across, u32(along), turned));
}

// Samples from `first` on, of which some may lie beyond an edge: there the last real sample is repeated.
fn four_samples_near_edges(component: Component, first: i32, across: u32) -> vec4<i32> {
    let low = i32(select(component.first_column, component.first_row, turned));
    let here = low + 8 * i32(select(component.block_columns, component.block_rows, turned));
    // Nobody needs samples of the plane that are not here.
    let high = min(here, i32(select(component.plane_width, component.plane_height, turned))) - 1;
    if first >= low && first + 3 <= high {
        return four_samples(component, u32(first), across);
    }
    let along = clamp(vec4<i32>(first) + vec4<i32>(0, 1, 2, 3), vec4<i32>(low), vec4<i32>(high));
    return vec4<i32>(
        line_sample(component, along.x, across),
        line_sample(component, along.y, across),
        line_sample(component, along.z, across),
        line_sample(component, along.w, across),
    );
}

// A triangle filter in one or both directions: three parts of the near sample, one of the far one.
fn four_by_triangle(component: Component, filter_kind: u32, along: u32, across: u32) -> vec4<i32> {
    let halved_in_x = filter_kind != FILTER_H1V2;
    let halved_in_y = filter_kind != FILTER_H2V1;
    let halved_along = select(halved_in_x, halved_in_y, turned);
    let halved_across = select(halved_in_y, halved_in_x, turned);
    let first = select(i32(along), i32((along + 1u) >> 1u) - 1, halved_along);

    var sums: vec4<i32>;
    if halved_across {
        let far = far_sample(across, select(component.plane_height, component.plane_width, turned));
        sums = 3 * four_samples_near_edges(component, first, across >> 1u)
            + four_samples_near_edges(component, first, far);
    } else {
        sums = four_samples_near_edges(component, first, across);
    }
    var odd_along = vec4<i32>(0, 1, 0, 1);
    if (along & 1u) == 1u {
        odd_along = odd_along.yxyx;
    }
    if halved_along {
        if (along & 1u) == 0u {
            sums = 3 * sums.yyzz + sums.xzyw;
        } else {
            sums = 3 * sums.xyyz + sums.yxzy;
        }
    }
    let odd_across = vec4<i32>(i32(across & 1u));
    let odd_x = select(odd_along, odd_across, turned);
    switch filter_kind {
        case FILTER_H2V1: {
            return (sums + 1 + odd_x) >> vec4<u32>(2u);
        }
        case FILTER_H1V2: {
            return (sums + 1 + select(odd_across, odd_along, turned)) >> vec4<u32>(2u);
        }
        default: {
            return (sums + 8 - odd_x) >> vec4<u32>(4u);
        }
    }
}

// A component's samples at pixels `along` to `along + 3` of the line `across`, by its filter.
fn four_upsampled(component: Component, filter_kind: u32, along: u32, across: u32) -> vec4<i32> {
    switch filter_kind {
        case FILTER_NONE: {
            return four_samples(component, along, across);
        }
        case FILTER_BOX: {
            let factor_along = select(component.factor_x, component.factor_y, turned);
            let line = across / select(component.factor_y, component.factor_x, turned);
            let samples = (vec4<u32>(along) + vec4<u32>(0u, 1u, 2u, 3u)) / vec4<u32>(factor_along);
            return vec4<i32>(
                line_sample(component, i32(samples.x), line),
                line_sample(component, i32(samples.y), line),
                line_sample(component, i32(samples.z), line),
                line_sample(component, i32(samples.w), line),
            );
        }
        default: {
            return four_by_triangle(component, filter_kind, along, across);
        }
    }
}
