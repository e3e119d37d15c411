// Finds what lies before each subsequence in its segment: one invocation each. The groups before are summed first.

@group(0) @binding(0) var<storage, read> scans: array<Scan>;
@group(0) @binding(1) var<storage, read> segments: array<Segment>;
@group(0) @binding(2) var<storage, read> subsequences: array<u32>;
@group(0) @binding(3) var<storage, read_write> records: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> totals: array<vec4<u32>>;
// States before (16 bits) and behind, blocks before, sums of DC differences before.
@group(0) @binding(5) var<storage, read_write> prefixes: array<vec4<u32>>;

@compute @workgroup_size(256)
fn huffman_scan(
    @builtin(workgroup_id) id: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let group = id.y * workgroups.x + id.x;
    if group * GROUP >= arrayLength(&subsequences) {
        return;
    }
    // The first subsequence of a group always exists.
    let scan = segments[subsequences[group * GROUP] & ~BEGINS].scan;
    var before = vec4<u32>(0u);
    for (var first = scans[scan].first_subsequence / GROUP; first < group; first += GROUP) {
        var total = vec4<u32>(0u);
        if first + lane < group {
            total = totals[first + lane];
        }
        sums_up_to(lane, total);
        before = add(before, partial_sums[GROUP - 1u]);
        workgroupBarrier();
    }

    let subsequence = group * GROUP + lane;
    let place = subsequences[subsequence];
    let record = records[subsequence];
    sums_up_to(lane, value_of_record(record, place));
    var state = 0u;
    var sums = before;
    if lane > 0u {
        sums = add(before, partial_sums[lane - 1u]);
    }
    if place >= BEGINS {
        sums = vec4<u32>(0u);
    } else {
        // Not the first of all: a segment begins there.
        state = records[subsequence - 1u].x;
    }
    prefixes[subsequence] = vec4<u32>(state | (record.x << 16u), sums.xyz);
}
