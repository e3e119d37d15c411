//! The inverse DCTs. The arithmetic is that of the plain code in [`cpu`](crate::cpu).

use super::vector::{EightLanes, Vector, transposed};
use crate::cpu::reduced_idct;

/// Two blocks to 8x8 samples each.
#[inline(always)]
pub(super) fn transform_pair<V: Vector>(
    products: &[[i16; 16]; 8],
    samples: &mut [u8],
    places: [usize; 2],
    stride: usize,
) {
    for (index, places) in places.chunks(V::LANES / 8).enumerate() {
        let lane = index * V::LANES;
        let [r0, r1, r2, r3, r4, r5, r6, r7] = products;
        let rows = [
            V::load(r0, lane),
            V::load(r1, lane),
            V::load(r2, lane),
            V::load(r3, lane),
            V::load(r4, lane),
            V::load(r5, lane),
            V::load(r6, lane),
            V::load(r7, lane),
        ];
        let columns = one_dimension::<V, 11>(rows);
        let rows = transposed(one_dimension::<V, 18>(transposed(columns)));
        for (pair, samples_from) in [0, 2, 4, 6].into_iter().enumerate() {
            let from = samples_from * stride;
            V::store_rows(rows[2 * pair], rows[2 * pair + 1], &mut samples[from..], places, stride);
        }
    }
}

/// One-dimensional transforms side by side; coefficient k of all is `v[k]`.
#[inline(always)]
fn one_dimension<V: Vector, const DESCALE: i32>(v: [V; 8]) -> [V; 8] {
    let (t3, t2) = (v[2].products(10703, v[6], 4433), v[2].products(4433, v[6], -10704));
    let (t0, t1) = (v[0].add(v[4]).scaled(), v[0].sub(v[4]).scaled());
    let (t10, t13) = (V::wide_add(t0, t3), V::wide_sub(t0, t3));
    let (t11, t12) = (V::wide_add(t1, t2), V::wide_sub(t1, t2));

    let (z3, z4) = (v[7].add(v[3]), v[5].add(v[1]));
    let (sum3, sum4) = (z3.products(-6436, z4, 9633), z3.products(9633, z4, 6437));
    let a = V::wide_add(v[7].products(-4927, v[1], -7373), sum3);
    let b = V::wide_add(v[5].products(-4176, v[3], -20995), sum4);
    let c = V::wide_add(v[5].products(-20995, v[3], 4177), sum3);
    let d = V::wide_add(v[7].products(-7373, v[1], 4926), sum4);

    [
        V::descaled::<DESCALE>(V::wide_add(t10, d)),
        V::descaled::<DESCALE>(V::wide_add(t11, c)),
        V::descaled::<DESCALE>(V::wide_add(t12, b)),
        V::descaled::<DESCALE>(V::wide_add(t13, a)),
        V::descaled::<DESCALE>(V::wide_sub(t13, a)),
        V::descaled::<DESCALE>(V::wide_sub(t12, b)),
        V::descaled::<DESCALE>(V::wide_sub(t11, c)),
        V::descaled::<DESCALE>(V::wide_sub(t10, d)),
    ]
}

/// Two blocks to 4x4 samples each.
#[inline(always)]
pub(super) fn transform_pair_to_4<V: EightLanes>(
    products: &[[i16; 16]; 8],
    samples: &mut [u8],
    places: [usize; 2],
    stride: usize,
) {
    let [r0, r1, r2, r3, _, r5, r6, r7] = products;
    let zero = V::splat(0);
    let load = |lane| {
        let rows = [V::load(r0, lane), V::load(r1, lane), V::load(r2, lane), V::load(r3, lane), zero];
        let [v0, v1, v2, v3, v4] = rows;
        one_dimension_to_4::<V, 12>([v0, v1, v2, v3, v4, V::load(r5, lane), V::load(r6, lane), V::load(r7, lane)])
    };
    let ([a0, a1, a2, a3], [b0, b1, b2, b3]) = (load(0), load(8));
    // Four rows of each block side by side in every column.
    let [c0, c1, c2, c3] = one_dimension_to_4::<V, 19>(transposed([a0, a1, a2, a3, b0, b1, b2, b3]));
    let rows = transposed([c0, c1, c2, c3, zero, zero, zero, zero]);
    for (block, place) in places.into_iter().enumerate() {
        for row in 0..2 {
            let mut pair = [0; 16];
            V::store_rows(rows[4 * block + 2 * row], rows[4 * block + 2 * row + 1], &mut pair, &[0], 8);
            let upper = place + 2 * row * stride;
            samples[upper..upper + 4].copy_from_slice(&pair[..4]);
            samples[upper + stride..upper + stride + 4].copy_from_slice(&pair[8..12]);
        }
    }
}

/// One-dimensional transforms to four outputs. Coefficient 4 has no part in it.
#[inline(always)]
fn one_dimension_to_4<V: Vector, const DESCALE: i32>(v: [V; 8]) -> [V; 4] {
    let half_dc = v[0].scaled();
    let dc = V::wide_add(half_dc, half_dc);
    let even = v[2].products(15137, v[6], -6270);
    let (outer, inner) = (V::wide_add(dc, even), V::wide_sub(dc, even));
    let outer_odd = V::wide_add(v[1].products(20995, v[3], 7373), v[5].products(-4926, v[7], -4176));
    let inner_odd = V::wide_add(v[1].products(8697, v[3], -17799), v[5].products(11893, v[7], -1730));
    [
        V::descaled::<DESCALE>(V::wide_add(outer, outer_odd)),
        V::descaled::<DESCALE>(V::wide_add(inner, inner_odd)),
        V::descaled::<DESCALE>(V::wide_sub(inner, inner_odd)),
        V::descaled::<DESCALE>(V::wide_sub(outer, outer_odd)),
    ]
}

/// Two blocks to 2x2 samples each.
#[inline(always)]
pub(super) fn transform_pair_to_2<V: EightLanes>(
    products: &[[i16; 16]; 8],
    samples: &mut [u8],
    places: [usize; 2],
    stride: usize,
) {
    let [r0, r1, _, r3, _, r5, _, r7] = products;
    for (place, lane) in places.into_iter().zip([0, 8]) {
        // Shifted by 15 in all.
        let quarter = V::load(r0, lane).scaled();
        let half = V::wide_add(quarter, quarter);
        let even = V::wide_add(half, half);
        let first_third = V::load(r1, lane).products(29692, V::load(r3, lane), -10426);
        let fifth_seventh = V::load(r5, lane).products(6967, V::load(r7, lane), -5906);
        let odd = V::wide_add(first_third, fifth_seventh);
        let rows = [V::rounded_lanes::<13>(V::wide_add(even, odd)), V::rounded_lanes::<13>(V::wide_sub(even, odd))];
        reduced_idct::finish_2(&rows, samples, place, stride);
    }
}
