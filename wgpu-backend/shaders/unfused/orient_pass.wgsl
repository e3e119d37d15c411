// Orientation alone, for tests: each invocation moves one pixel from its stored to its display place.

@group(0) @binding(0) var<storage, read> outputs: array<Output>;
// X, y and width of the stored area.
@group(0) @binding(1) var<storage, read> area: array<u32, 3>;
@group(0) @binding(2) var<storage, read> stored: array<u32>;
@group(0) @binding(3) var<storage, read_write> displayed: array<u32>;

@compute @workgroup_size(64)
fn orient_pass(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&displayed) {
        return;
    }
    let plane = outputs[0];
    let row = i32(id.x / plane.width);
    let column = i32(id.x) - row * i32(plane.width);
    let x = plane.origin_x + plane.across_x * column + plane.down_x * row - i32(area[0]);
    let y = plane.origin_y + plane.across_y * column + plane.down_y * row - i32(area[1]);
    displayed[id.x] = stored[u32(y) * area[2] + u32(x)];
}
