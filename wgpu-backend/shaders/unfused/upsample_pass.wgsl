// Upsampling alone, for tests: each invocation makes one sample, in a word of its own, component after component.

@group(0) @binding(0) var<storage, read> components: array<Component>;
// First component and number of components; x, y, width and height of the stored area.
@group(0) @binding(1) var<storage, read> area: array<u32, 6>;
@group(0) @binding(2) var<storage, read> planes: array<u32>;
@group(0) @binding(3) var<storage, read_write> samples: array<u32>;

@compute @workgroup_size(64)
fn upsample_pass(@builtin(global_invocation_id) id: vec3<u32>) {
    let pixels = area[4] * area[5];
    if id.x >= area[1] * pixels {
        return;
    }
    let component = id.x / pixels;
    let pixel = id.x - component * pixels;
    let row = pixel / area[4];
    let column = pixel - row * area[4];
    samples[id.x] = u32(upsampled(area[0] + component, area[2] + column, area[3] + row));
}
