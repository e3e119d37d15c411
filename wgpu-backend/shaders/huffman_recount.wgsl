// Where the tables do not tell the blocks of an MCU apart: finds the sums of DC differences once the number of blocks
// before each subsequence is known. One invocation per subsequence.

@group(0) @binding(4) var<storage, read_write> records: array<vec4<u32>>;
// States before (16 bits) and behind, blocks before in the segment, sums of DC differences before.
@group(0) @binding(5) var<storage, read_write> prefixes: array<vec4<u32>>;

@compute @workgroup_size(64)
fn huffman_recount(
    @builtin(workgroup_id) id: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let subsequence = (id.y * workgroups.x + id.x) * 64u + lane;
    if subsequence >= arrayLength(&subsequences) || subsequences[subsequence] == NONE {
        return;
    }
    let segment = segments[subsequences[subsequence] & ~BEGINS];
    let mcu_blocks = scans[segment.scan].mcu_blocks;
    if scans[segment.scan].period == mcu_blocks {
        return;
    }
    let prefix = prefixes[subsequence];
    let record = count(subsequence, segment, prefix.x & 0xFFFFu, prefix.y % mcu_blocks, mcu_blocks);
    records[subsequence] = vec4<u32>(records[subsequence].x, record.yzw);
}
