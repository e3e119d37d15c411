// Goes on from the end of each group into the next, for as long as that changes its states: one invocation per group,
// from the state that the group before it had. If a group's last state changes, the next began with a wrong one (it may
// have read either), and the picture is flagged.

@group(0) @binding(4) var<storage, read_write> records: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> flags: array<atomic<u32>>;

@compute @workgroup_size(32)
fn huffman_join(
    @builtin(workgroup_id) id: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let first = ((id.y * workgroups.x + id.x) * 32u + lane) * GROUP;
    if !goes_on(first) {
        return;
    }
    var state = records[first - 1u].x;
    for (var index = 0u; index < GROUP; index++) {
        let subsequence = first + index;
        if !goes_on(subsequence) {
            break;
        }
        let segment = segments[subsequences[subsequence]];
        let record = count_from_state(subsequence, segment, state);
        let before = records[subsequence].x;
        records[subsequence] = record;
        if record.x == before {
            break;
        }
        state = record.x;
        if index + 1u == GROUP && goes_on(subsequence + 1u) {
            atomicOr(&flags[scans[segment.scan].picture], UNSYNCHRONISED);
        }
    }
}
