// Decodes each subsequence from the guesses before it, which links these to the candidates behind, and goes on from
// new ones among them. Two invocations may add the same candidate: that costs room, but links stay right.

@group(0) @binding(4) var<storage, read_write> candidates: array<Candidates>;

// The first candidate behind a subsequence with this state, LOST if there is none.
fn find(subsequence: u32, state: u32) -> u32 {
    for (var index = 0u; index < LOST; index++) {
        if atomicLoad(&candidates[subsequence].states[index]) == state {
            return index;
        }
    }
    return LOST;
}

@compute @workgroup_size(256)
fn huffman_follow(
    @builtin(workgroup_id) id: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let invocation = (id.y * workgroups.x + id.x) * 256u + lane;
    let first = invocation / PHASES;
    let guess = invocation % PHASES;
    if first >= arrayLength(&subsequences) || subsequences[first] == NONE {
        return;
    }
    let segment = segments[subsequences[first] & ~BEGINS];
    if !goes_on(first) {
        if guess == 0u {
            candidates[first].records[0] = count_from_state(first, segment, 0u);
        }
        return;
    }
    var state = atomicLoad(&candidates[first - 1u].states[guess]);
    if state == NO_STATE || find(first - 1u, state) != guess {
        return;
    }
    var candidate = guess;
    // A segment ends where the next begins.
    for (var subsequence = first; goes_on(subsequence); subsequence++) {
        let record = count_from_state(subsequence, segment, state);
        candidates[subsequence].records[candidate] = record;
        state = record.x;
        var next = find(subsequence, state);
        if next != LOST {
            candidates[subsequence].links[candidate] = next;
            return;
        }
        // What does not synchronise within a group's length is lost: that bounds what hostile data can take.
        if subsequence - first == GROUP {
            return;
        }
        next = atomicAdd(&candidates[subsequence].count, 1u);
        if next >= LOST {
            return;
        }
        atomicStore(&candidates[subsequence].states[next], state);
        candidates[subsequence].links[candidate] = next;
        candidate = next;
    }
}
