// Takes the records of the candidates that the beginning of each segment leads to; a picture for which there was no room
// on the way is flagged.

@group(0) @binding(0) var<storage, read> scans: array<Scan>;
@group(0) @binding(1) var<storage, read> segments: array<Segment>;
@group(0) @binding(2) var<storage, read> subsequences: array<u32>;
@group(0) @binding(3) var<storage, read_write> candidates: array<Candidates>;
@group(0) @binding(4) var<storage, read_write> group_links: array<u32>;
@group(0) @binding(5) var<storage, read_write> records: array<vec4<u32>>;
@group(0) @binding(6) var<storage, read_write> flags: array<atomic<u32>>;

var<workgroup> earlier_links: array<u32, 256>;
var<workgroup> before_chunks: array<u32, 8>;
// The candidate before each subsequence of the group.
var<workgroup> before: array<u32, 256>;

@compute @workgroup_size(256)
fn huffman_choose(
    @builtin(workgroup_id) id: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let group = id.y * workgroups.x + id.x;
    if group * GROUP >= arrayLength(&subsequences) {
        return;
    }
    load_links(group, lane);
    // The first subsequence of a group always exists.
    let scan = segments[subsequences[group * GROUP] & ~BEGINS].scan;
    // Known to the first lane alone: the candidate before the group. A scan begins with a segment, which any leads to.
    var candidate = 0u;
    for (var first = scans[scan].first_subsequence / GROUP; first < group; first += CHUNKS) {
        let groups = min(CHUNKS, group - first);
        if lane < groups * CANDIDATES {
            earlier_links[lane] = group_links[first * CANDIDATES + lane];
        }
        workgroupBarrier();
        if lane == 0u {
            for (var earlier = 0u; earlier < groups; earlier++) {
                candidate = earlier_links[earlier * CANDIDATES + candidate];
            }
        }
        workgroupBarrier();
    }
    if lane == 0u {
        for (var chunk = 0u; chunk < CHUNKS; chunk++) {
            before_chunks[chunk] = candidate;
            candidate = link_of_chunk(chunk, candidate);
        }
    }
    workgroupBarrier();
    if lane < CHUNKS {
        candidate = before_chunks[lane];
        for (var own = lane * CANDIDATES; own < (lane + 1u) * CANDIDATES; own++) {
            before[own] = candidate;
            candidate = link_of(own, candidate);
        }
    }
    workgroupBarrier();
    let subsequence = group * GROUP + lane;
    let place = subsequences[subsequence];
    if place == NONE {
        records[subsequence] = vec4<u32>(0u);
        return;
    }
    let chosen = select(before[lane], 0u, place >= BEGINS);
    if chosen == LOST {
        atomicOr(&flags[scans[scan].picture], UNSYNCHRONISED);
        records[subsequence] = vec4<u32>(0u);
    } else {
        records[subsequence] = candidates[subsequence].records[chosen];
    }
}
