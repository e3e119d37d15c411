//! What the written-out kernels ask of a vector unit. They are written once, for any.

/// A vector of 16-bit lanes.
///
/// The functions take instructions for granted that the processor may lack. So only functions that are compiled for the
/// level (`#[target_feature]`), and what is inlined into them, may call them; see [`Level`](super::Level).
pub(super) trait Vector: Copy {
    /// As many lanes of 32 bits.
    type Wide: Copy;
    /// Twice as many lanes of 8 bits.
    type Bytes: Copy;
    /// Lanes: 8 for each block of a transform.
    const LANES: usize;

    fn splat(value: i16) -> Self;
    /// Wraps, as all additions and subtractions do.
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    /// The lower halves of every eight lanes of two vectors by turns, and the upper halves.
    fn interleaved(self, other: Self) -> [Self; 2];
    /// `self * factor + other * other_factor`.
    fn products(self, factor: i16, other: Self, other_factor: i16) -> Self::Wide;
    /// `self * 2^13`.
    fn scaled(self) -> Self::Wide;
    fn wide_add(a: Self::Wide, b: Self::Wide) -> Self::Wide;
    fn wide_sub(a: Self::Wide, b: Self::Wide) -> Self::Wide;
    /// Rounds `BITS` bits away and saturates to 16 bits. The addition before wraps.
    fn descaled<const BITS: i32>(wide: Self::Wide) -> Self;
    /// `self * factor / 2^16`, rounded; lanes are at most 255 in size.
    fn rounded_product(self, factor: i16) -> Self;

    /// The first lanes of a row.
    fn load(row: &[i16; 16], first_lane: usize) -> Self;
    /// Saturates to 8 bits, shifts the level and stores 8 samples of both rows of each block.
    fn store_rows(upper: Self, lower: Self, samples: &mut [u8], places: &[usize], stride: usize);

    fn load_bytes(bytes: &[u8]) -> Self::Bytes;
    fn widened(bytes: Self::Bytes) -> [Self; 2];
    /// The inverse of `widened`; saturates to 0 to 255.
    fn narrowed(lanes: [Self; 2]) -> Self::Bytes;
    fn store_bytes(out: &mut [u8], bytes: Self::Bytes);
    /// Stores pixels of three bytes.
    fn store3(out: &mut [u8], channels: [Self::Bytes; 3]);
    /// Stores pixels of three bytes and a fourth, 255.
    fn store_opaque(out: &mut [u8], channels: [Self::Bytes; 3]);
}

/// A vector of eight lanes: those of one block.
pub(super) trait EightLanes: Vector {
    /// Rounds `BITS` bits away. The addition before wraps.
    fn rounded_lanes<const BITS: i32>(wide: Self::Wide) -> [i32; 8];
}

/// Transposes eight rows of every eight lanes by three perfect shuffles.
#[inline(always)]
pub(super) fn transposed<V: Vector>(rows: [V; 8]) -> [V; 8] {
    shuffled(shuffled(shuffled(rows)))
}

#[inline(always)]
fn shuffled<V: Vector>(r: [V; 8]) -> [V; 8] {
    let [a, b] = r[0].interleaved(r[4]);
    let [c, d] = r[1].interleaved(r[5]);
    let [e, f] = r[2].interleaved(r[6]);
    let [g, h] = r[3].interleaved(r[7]);
    [a, b, c, d, e, f, g, h]
}
