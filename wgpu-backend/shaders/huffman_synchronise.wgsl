// Finds the states between the subsequences of a group: one invocation each. All decode as if a block began with
// theirs; then, round by round, those whose predecessor's state has changed decode again from that.

// State behind, blocks ended, sums of DC differences.
@group(0) @binding(4) var<storage, read_write> records: array<vec4<u32>>;

var<workgroup> found: array<vec4<u32>, 256>;
// What is to be decoded again, in this round and the next: index in the group | state before it << 8.
var<workgroup> lists: array<u32, 512>;
var<workgroup> listed: atomic<u32>;
var<workgroup> waiting: u32;

@compute @workgroup_size(256)
fn huffman_synchronise(
    @builtin(workgroup_id) id: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let first = (id.y * workgroups.x + id.x) * GROUP;
    // Uniform: no lane goes on.
    if first >= arrayLength(&subsequences) {
        return;
    }
    if lane == 0u {
        atomicStore(&listed, 0u);
    }
    workgroupBarrier();

    let place = subsequences[first + lane];
    if place == NONE {
        found[lane] = vec4<u32>(0u);
    } else {
        let record = count_from_state(first + lane, segments[place & ~BEGINS], 0u);
        found[lane] = record;
        if lane + 1u < GROUP && goes_on(first + lane + 1u) {
            lists[atomicAdd(&listed, 1u)] = (lane + 1u) | (record.x << 8u);
        }
    }
    // A list holds each index once and none that is below the round's number, so there are at most 256 rounds.
    var list = 0u;
    for (var round = 0u; round < GROUP; round++) {
        workgroupBarrier();
        if lane == 0u {
            waiting = atomicExchange(&listed, 0u);
        }
        let count = workgroupUniformLoad(&waiting);
        if count == 0u {
            break;
        }
        if lane < count {
            let index = lists[list + lane] & 255u;
            let state = lists[list + lane] >> 8u;
            let record = count_from_state(first + index, segments[subsequences[first + index]], state);
            if record.x != found[index].x && index + 1u < GROUP && goes_on(first + index + 1u) {
                lists[(list ^ GROUP) + atomicAdd(&listed, 1u)] = (index + 1u) | (record.x << 8u);
            }
            found[index] = record;
        }
        list ^= GROUP;
    }
    workgroupBarrier();
    records[first + lane] = found[lane];
}
