//! Upsampling: one row of a component's samples, with the rows around it, to one sample per pixel.
//!
//! The filters and their rounding are libjpeg-turbo's "fancy" upsampling. Edges repeat the last real sample.

/// Horizontal 2:1 by the triangle filter. `out` has two samples for each of `row`; at least one.
#[inline(always)]
pub(crate) fn triangle_h2v1(row: &[u8], out: &mut [u8]) {
    let width = row.len();
    let (pairs, _) = out.as_chunks_mut::<2>();
    let filtered = |before: u8, here: u8, after: u8| {
        let here = 3 * u16::from(here);
        [((here + u16::from(before) + 1) >> 2) as u8, ((here + u16::from(after) + 2) >> 2) as u8]
    };
    if width > 2 {
        let inner = pairs[1..width - 1].iter_mut().zip(row).zip(&row[1..]).zip(&row[2..]);
        for (((pair, &before), &here), &after) in inner {
            *pair = filtered(before, here, after);
        }
    }
    pairs[0] = filtered(row[0], row[0], row[1.min(width - 1)]);
    pairs[width - 1] = filtered(row[width.saturating_sub(2)], row[width - 1], row[width - 1]);
}

/// Vertical 2:1 by the triangle filter: `near` is the sample row that the pixel row lies in, `far` the next
/// nearest one. Rounding depends on which half of the sample the pixel is.
#[inline(always)]
pub(crate) fn triangle_h1v2(near: &[u8], far: &[u8], upper_half: bool, out: &mut [u8]) {
    let bias = if upper_half { 1 } else { 2 };
    for ((out, &near), &far) in out.iter_mut().zip(near).zip(far) {
        *out = ((3 * u16::from(near) + u16::from(far) + bias) >> 2) as u8;
    }
}

/// 2:1 both ways by the triangle filter, rounded once. `sums` is scratch of at least `near.len() + 2`.
#[inline(always)]
pub(crate) fn triangle_h2v2(near: &[u8], far: &[u8], sums: &mut [u16], out: &mut [u8]) {
    let width = near.len();
    // Column sums with the edges repeated, so that the loop below has no special cases.
    let sums = &mut sums[..width + 2];
    for ((sum, &near), &far) in sums[1..=width].iter_mut().zip(near).zip(&far[..width]) {
        *sum = 3 * u16::from(near) + u16::from(far);
    }
    sums[0] = sums[1];
    sums[width + 1] = sums[width];
    let (pairs, _) = out.as_chunks_mut::<2>();
    let (before, here, after) = (&sums[..width], &sums[1..=width], &sums[2..]);
    for (((pair, &before), &here), &after) in pairs[..width].iter_mut().zip(before).zip(here).zip(after) {
        *pair = [((3 * here + before + 8) >> 4) as u8, ((3 * here + after + 7) >> 4) as u8];
    }
}

/// Replication of each sample `factor` times.
pub(crate) fn replicate(row: &[u8], factor: usize, out: &mut [u8]) {
    for (pixels, &sample) in out.chunks_exact_mut(factor).zip(row) {
        pixels.fill(sample);
    }
}

#[cfg(test)]
mod tests;
