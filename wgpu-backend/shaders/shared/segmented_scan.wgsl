// Prefix sums of a group that begin again where a segment does (Hillis and Steele).

// Blocks, sums of DC differences, and 1 if a segment has begun.
var<workgroup> partial_sums: array<vec4<u32>, 512>;

fn add(left: vec4<u32>, right: vec4<u32>) -> vec4<u32> {
    let sum = vec4<u32>(left.x + right.x, add_sums(left.yz, right.yz), left.w);
    return select(sum, right, right.w == 1u);
}

// The sum of all lanes' values up to this one's. All lanes take part; afterwards `partial_sums` has each lane's.
fn sums_up_to(lane: u32, value: vec4<u32>) -> vec4<u32> {
    var sum = value;
    partial_sums[lane] = sum;
    var half = 0u;
    for (var distance = 1u; distance < GROUP; distance <<= 1u) {
        workgroupBarrier();
        if lane >= distance {
            sum = add(partial_sums[half + lane - distance], sum);
        }
        half ^= GROUP;
        partial_sums[half + lane] = sum;
    }
    // After eight rounds they are where they began.
    workgroupBarrier();
    return sum;
}

// A subsequence's record as a value to be summed.
fn value_of_record(record: vec4<u32>, place: u32) -> vec4<u32> {
    return vec4<u32>(record.yzw, place >> 31u);
}
