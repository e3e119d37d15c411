// Follows the links of each group: where the candidates before it lead to behind it.

@group(0) @binding(0) var<storage, read> subsequences: array<u32>;
@group(0) @binding(1) var<storage, read_write> candidates: array<Candidates>;
// CANDIDATES of each group.
@group(0) @binding(2) var<storage, read_write> group_links: array<u32>;

@compute @workgroup_size(256)
fn huffman_link(
    @builtin(workgroup_id) id: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let group = id.y * workgroups.x + id.x;
    if group * GROUP >= arrayLength(&subsequences) {
        return;
    }
    load_links(group, lane);
    if lane < CANDIDATES {
        var candidate = lane;
        for (var chunk = 0u; chunk < CHUNKS; chunk++) {
            candidate = link_of_chunk(chunk, candidate);
        }
        group_links[group * CANDIDATES + lane] = candidate;
    }
}
