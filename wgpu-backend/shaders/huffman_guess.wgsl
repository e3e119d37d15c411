// Finds the states behind each subsequence if a block began with it: an invocation for each block of the MCU that the
// tables tell apart, neighbours for the same subsequence. Where a segment begins there is no doubt.

@group(0) @binding(4) var<storage, read_write> candidates: array<Candidates>;

@compute @workgroup_size(256)
fn huffman_guess(
    @builtin(workgroup_id) id: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let invocation = (id.y * workgroups.x + id.x) * 256u + lane;
    let subsequence = invocation / PHASES;
    let phase = invocation % PHASES;
    if subsequence >= arrayLength(&subsequences) || subsequences[subsequence] == NONE {
        return;
    }
    let place = subsequences[subsequence];
    let segment = segments[place & ~BEGINS];
    var guesses = scans[segment.scan].period;
    // Whatever is before a segment leads to its one candidate.
    var link = LOST;
    if place >= BEGINS {
        guesses = 1u;
        link = 0u;
    }
    var state = NO_STATE;
    if phase < guesses {
        state = count_from_state(subsequence, segment, state_of(0u, 0u, phase)).x;
    }
    atomicStore(&candidates[subsequence].states[phase], state);
    candidates[subsequence].links[phase] = link;
    for (var other = phase + PHASES; other < CANDIDATES; other += PHASES) {
        atomicStore(&candidates[subsequence].states[other], NO_STATE);
        candidates[subsequence].links[other] = link;
    }
    if phase == 0u {
        atomicStore(&candidates[subsequence].count, PHASES);
    }
}
