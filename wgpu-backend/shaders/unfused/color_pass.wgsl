// Colour conversion alone, for tests: each invocation makes the bytes of one pixel, in a word of its own.

@group(0) @binding(0) var<storage, read> outputs: array<Output>;
// Samples of all pixels of the first component, then of the next.
@group(0) @binding(1) var<storage, read> samples: array<u32>;
@group(0) @binding(2) var<storage, read_write> pixels: array<u32>;

@compute @workgroup_size(64)
fn color_pass(@builtin(global_invocation_id) id: vec3<u32>) {
    let count = arrayLength(&pixels);
    if id.x >= count {
        return;
    }
    let plane = outputs[0];
    var of_pixel = vec4<i32>(0);
    for (var component = 0u; component < component_count(plane.color); component++) {
        of_pixel[component] = i32(samples[component * count + id.x]);
    }
    pixels[id.x] = pixel_bytes(converted(plane.color, of_pixel), plane.channels, plane.bytes_per_pixel);
}
