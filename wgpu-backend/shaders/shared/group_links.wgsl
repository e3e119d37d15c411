// The links of a group's subsequences, one by one and in chunks of as many as there are candidates.

const CHUNKS: u32 = 8u;

// Four links a word.
var<workgroup> links: array<u32, 2048>;
var<workgroup> links_of_chunks: array<u32, 256>;

// The candidate behind a subsequence of the group that one before it leads to.
fn link_of(own: u32, candidate: u32) -> u32 {
    return (links[own * 8u + (candidate >> 2u)] >> ((candidate & 3u) << 3u)) & 255u;
}

fn link_of_chunk(chunk: u32, candidate: u32) -> u32 {
    return links_of_chunks[chunk * CANDIDATES + candidate];
}

// Fills both, by all lanes of a group's workgroup. Where there are no subsequences, links change nothing.
fn load_links(group: u32, lane: u32) {
    for (var word = lane; word < 2048u; word += 256u) {
        let own = word >> 3u;
        let first = (word & 7u) << 2u;
        var four = first | ((first + 1u) << 8u) | ((first + 2u) << 16u) | ((first + 3u) << 24u);
        let subsequence = group * GROUP + own;
        if subsequences[subsequence] != NONE {
            four = candidates[subsequence].links[first] | (candidates[subsequence].links[first + 1u] << 8u)
                | (candidates[subsequence].links[first + 2u] << 16u) | (candidates[subsequence].links[first + 3u] << 24u);
        }
        links[word] = four;
    }
    workgroupBarrier();
    let chunk = lane / CANDIDATES;
    var candidate = lane % CANDIDATES;
    for (var own = 0u; own < CANDIDATES; own++) {
        candidate = link_of(chunk * CANDIDATES + own, candidate);
    }
    links_of_chunks[lane] = candidate;
    workgroupBarrier();
}
