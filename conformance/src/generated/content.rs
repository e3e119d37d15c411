//! Quantised coefficients that pictures of some kind have, and some that none has.

use crate::random::Random;

/// The largest and smallest quantised coefficient of 8-bit samples (T.81 table F.1 and F.2).
const DC: (i32, i32) = (-1024, 1023);
const AC: (i32, i32) = (-1023, 1023);

/// What a picture shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Content {
    /// Areas of one colour.
    Flat,
    /// Slopes of DC, and the same low frequencies everywhere.
    Gradient,
    /// Large low and small high frequencies, more in some places than in others.
    Photo,
    /// All frequencies alike.
    Noise,
    /// A few coefficients of any size anywhere.
    Sparse,
    /// Long runs of zeros, up to the last coefficient.
    Runs,
    /// The largest and smallest values there are.
    Extreme,
}

impl Content {
    pub(crate) const ALL: [Content; 7] = [
        Content::Flat,
        Content::Gradient,
        Content::Photo,
        Content::Noise,
        Content::Sparse,
        Content::Runs,
        Content::Extreme,
    ];
}

/// The blocks of a component, each in zigzag order.
pub(crate) struct Plane {
    columns: u32,
    blocks: Vec<[i16; 64]>,
}

impl Plane {
    pub(crate) fn block(&self, column: u32, row: u32) -> &[i16; 64] {
        &self.blocks[row as usize * self.columns as usize + column as usize]
    }

    /// Fills so many blocks across and down.
    pub(crate) fn fill(content: Content, (columns, rows): (u32, u32), random: &mut Random) -> Self {
        let mut filling = Filling::new(content, random);
        let places = (0..rows).flat_map(|row| (0..columns).map(move |column| (column, row)));
        let blocks = places.map(|(column, row)| filling.block(column, row, random)).collect();
        Plane { columns, blocks }
    }
}

/// What stays the same over a plane.
struct Filling {
    content: Content,
    dc: i32,
    slope: (i32, i32),
    low: (i32, i32),
    amplitude: i32,
    density: usize,
    activity: [i32; 16],
}

impl Filling {
    fn new(content: Content, random: &mut Random) -> Self {
        let amplitude = 1 << random.below(10);
        Filling {
            content,
            dc: signed(random, 600),
            slope: (signed(random, 20), signed(random, 20)),
            low: (signed(random, 60), signed(random, 60)),
            amplitude,
            density: 1 + random.below(12),
            activity: std::array::from_fn(|_| 1 << random.below(7)),
        }
    }

    fn block(&mut self, column: u32, row: u32, random: &mut Random) -> [i16; 64] {
        let mut block = [0; 64];
        match self.content {
            Content::Flat => {
                if random.one_in(20) {
                    self.dc = signed(random, 1000);
                }
                block[0] = self.dc;
            }
            Content::Gradient => {
                block[0] = self.dc + self.slope.0 * column as i32 + self.slope.1 * row as i32;
                (block[1], block[2]) = self.low;
            }
            Content::Photo => {
                self.dc = (self.dc + falling(random, 60)).clamp(-900, 900);
                block[0] = self.dc;
                let activity = self.activity[(column / 4 % 4 + row / 4 % 4 * 4) as usize];
                for (index, value) in block.iter_mut().enumerate().skip(1) {
                    *value = falling(random, 3 * activity / (1 + index as i32));
                }
            }
            Content::Noise => block.fill_with(|| signed(random, self.amplitude)),
            Content::Sparse => {
                for _ in 0..random.below(self.density) {
                    block[random.below(64)] = signed(random, self.amplitude);
                }
            }
            Content::Runs => {
                block[0] = signed(random, 30);
                let mut index = random.below(40);
                while index < 63 {
                    index = (index + 1 + random.below(45)).min(63);
                    block[index] = signed(random, 3);
                }
            }
            Content::Extreme => {
                let odd = random.one_in(2);
                let values = if odd { [DC.0, AC.0, AC.1] } else { [DC.1, AC.1, AC.0] };
                block[0] = values[0];
                for value in &mut block[1..] {
                    *value = if random.one_in(self.density) { values[1 + random.below(2)] } else { 0 };
                }
            }
        }
        let mut clamped = block.map(|value| value.clamp(AC.0, AC.1) as i16);
        clamped[0] = block[0].clamp(DC.0, DC.1) as i16;
        clamped
    }
}

/// From -`largest` to `largest`, all alike.
fn signed(random: &mut Random, largest: i32) -> i32 {
    random.below(2 * largest as usize + 1) as i32 - largest
}

/// From -`largest` to `largest`, mostly small.
fn falling(random: &mut Random, largest: i32) -> i32 {
    let size = signed(random, largest);
    size * random.below(largest as usize + 1) as i32 / (largest + 1)
}
