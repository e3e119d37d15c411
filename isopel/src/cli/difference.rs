//! How two pictures differ: figures and a heat map.

use isopel::Size;

/// Figures over all samples of two packed pictures of the same size.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Difference {
    /// Largest difference of a sample, in levels.
    pub(crate) max: u8,
    /// Mean over all samples of the absolute difference, in levels.
    pub(crate) mean_absolute: f64,
    /// Samples that differ.
    pub(crate) differing: u64,
    /// All samples.
    pub(crate) samples: u64,
    /// The first pixel, row by row, that differs.
    pub(crate) first: Option<PixelPair>,
}

/// The same pixel in both pictures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PixelPair {
    pub(crate) x: u32,
    pub(crate) y: u32,
    pub(crate) left: Vec<u8>,
    pub(crate) right: Vec<u8>,
}

impl Difference {
    /// Compares pictures of `channels` samples per pixel. Both have the same length.
    pub(crate) fn between(left: &[u8], right: &[u8], size: Size, channels: usize) -> Difference {
        let mut counts = [0_u64; 256];
        for (&left, &right) in left.iter().zip(right) {
            counts[usize::from(left.abs_diff(right))] += 1;
        }
        let samples: u64 = counts.iter().sum();
        let total: u64 = counts.iter().zip(0_u64..).map(|(count, difference)| count * difference).sum();
        let max = counts.iter().rposition(|&count| count > 0).unwrap_or(0);
        let first = left.iter().zip(right).position(|(left, right)| left != right).map(|sample| {
            let (pixel, width) = (sample / channels, size.width as usize);
            let range = pixel * channels..(pixel + 1) * channels;
            PixelPair {
                x: (pixel % width) as u32,
                y: (pixel / width) as u32,
                left: left[range.clone()].to_vec(),
                right: right[range].to_vec(),
            }
        });
        Difference {
            max: max as u8,
            mean_absolute: if samples == 0 { 0.0 } else { total as f64 / samples as f64 },
            differing: samples - counts[0],
            samples,
            first,
        }
    }

    /// The share of samples that differ, 0 to 1.
    pub(crate) fn share(&self) -> f64 {
        if self.samples == 0 { 0.0 } else { self.differing as f64 / self.samples as f64 }
    }
}

/// RGB pixels that show each pixel's largest difference times `amplify`: black for none, over purple and orange to
/// pale yellow for 255 and more.
pub(crate) fn heat_map(left: &[u8], right: &[u8], channels: usize, amplify: u32) -> Vec<u8> {
    let colors: Vec<[u8; 3]> = (0..=255).map(|heat| color_of_heat((heat * amplify.min(255)).min(255) as u8)).collect();
    let pixels = left.chunks_exact(channels).zip(right.chunks_exact(channels));
    pixels
        .flat_map(|(left, right)| {
            let differences = left.iter().zip(right).map(|(left, right)| left.abs_diff(*right));
            colors[usize::from(differences.max().unwrap_or(0))]
        })
        .collect()
}

/// Matplotlib's "inferno" at nine places, linear between them: lightness grows evenly, also for the colour-blind
/// and in gray print.
fn color_of_heat(heat: u8) -> [u8; 3] {
    const STOPS: [[u8; 3]; 9] = [
        [0, 0, 4],
        [31, 12, 72],
        [85, 15, 109],
        [136, 34, 106],
        [186, 54, 85],
        [227, 89, 51],
        [249, 140, 10],
        [249, 201, 50],
        [252, 255, 164],
    ];
    let place = u32::from(heat) * 8;
    let (stop, part) = ((place / 255) as usize, place % 255);
    let (from, to) = (STOPS[stop], STOPS[(stop + 1).min(8)]);
    std::array::from_fn(|channel| {
        let (from, to) = (u32::from(from[channel]), u32::from(to[channel]));
        ((from * (255 - part) + to * part + 127) / 255) as u8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wrong_sample_is_found() {
        let left = vec![7; 4 * 3 * 3];
        let mut right = left.clone();
        right[(2 * 4 + 1) * 3 + 2] = 10;
        let difference = Difference::between(&left, &right, Size::new(4, 3), 3);
        assert_eq!((difference.max, difference.differing, difference.samples), (3, 1, 36));
        assert_eq!(difference.mean_absolute, 3.0 / 36.0);
        let first = PixelPair { x: 1, y: 2, left: vec![7, 7, 7], right: vec![7, 7, 10] };
        assert_eq!(difference.first, Some(first));
        assert_eq!(Difference::between(&left, &left, Size::new(4, 3), 3).first, None);
    }

    #[test]
    fn heat_grows_and_saturates() {
        let lightness = |heat| color_of_heat(heat).iter().map(|&level| u32::from(level)).sum::<u32>();
        assert!((0..255).all(|heat| lightness(heat) <= lightness(heat + 1)));
        assert_eq!(color_of_heat(255), [252, 255, 164]);
        assert_eq!(heat_map(&[5, 5], &[5, 250], 1, u32::MAX), [0, 0, 4, 252, 255, 164]);
        assert_eq!(heat_map(&[0, 0, 0], &[0, 0, 255], 3, 1), [252, 255, 164]);
    }
}
