// Synchronisation by candidates, see core/src/subsequences/model/candidates.rs.

// Invocations that guess the state behind one subsequence.
const PHASES: u32 = 8u;
// Room for the candidates behind a subsequence; the last place stays free.
const CANDIDATES: u32 = 32u;
const LOST: u32 = 31u;
// In place of a state.
const NO_STATE: u32 = 0xFFFFFFFFu;

// What may be behind a subsequence, and what came of the candidates before it.
struct Candidates {
    // Of the subsequence, by candidate before it.
    records: array<vec4<u32>, 32>,
    // First the guesses. Others are added while they are being looked for.
    states: array<atomic<u32>, 32>,
    // Of each candidate before, the one behind that it leads to, or LOST.
    links: array<u32, 32>,
    // States, the places of guesses included; more than there is room for if some were lost.
    count: atomic<u32>,
}
