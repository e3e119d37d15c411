// Sums the records of each group, from the last segment's beginning in it: one invocation per subsequence.

@group(0) @binding(0) var<storage, read> subsequences: array<u32>;
@group(0) @binding(1) var<storage, read_write> records: array<vec4<u32>>;
// Per group: blocks, sums of DC differences, and whether a segment begins in it.
@group(0) @binding(2) var<storage, read_write> totals: array<vec4<u32>>;

@compute @workgroup_size(256)
fn huffman_reduce(
    @builtin(workgroup_id) id: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let group = id.y * workgroups.x + id.x;
    if group * GROUP >= arrayLength(&subsequences) {
        return;
    }
    let subsequence = group * GROUP + lane;
    let sum = sums_up_to(lane, value_of_record(records[subsequence], subsequences[subsequence]));
    if lane == GROUP - 1u {
        totals[group] = sum;
    }
}
