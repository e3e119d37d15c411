//! Writes baseline JPEG files of any size from quantised coefficients, for pictures too large to keep.

pub(crate) mod bits;

use isopel_core::Size;

use bits::{BitWriter, size_of, value_bits};

/// What a file is made of.
#[derive(Debug, Clone)]
pub struct Baseline<'a> {
    /// Width and height in pixels.
    pub size: Size,
    /// Horizontal and vertical sampling factor of each component; several make an interleaved scan.
    pub sampling: &'a [(u8, u8)],
    /// Every step of the quantisation.
    pub quantizer: u8,
}

impl Baseline<'_> {
    /// The file. `block` is asked for every block of every component, padding included, in the order of the
    /// file: it gets component, block column, block row, and 64 zeros in zigzag order to fill in.
    ///
    /// # Panics
    /// If a coefficient is one that baseline coding has no code for.
    pub fn write(&self, mut block: impl FnMut(usize, u32, u32, &mut [i16; 64])) -> Vec<u8> {
        let mut file = self.headers();
        let mut bits = BitWriter::new(&mut file);
        let max = |pick: fn(&(u8, u8)) -> u8| u32::from(self.sampling.iter().map(pick).max().unwrap_or(1));
        // A scan of one component has MCUs of one block (T.81 A.2.2).
        let alone = self.sampling.len() == 1;
        let (max_x, max_y) = if alone { (1, 1) } else { (max(|factors| factors.0), max(|factors| factors.1)) };
        let mut predictions = vec![0; self.sampling.len()];
        for mcu_row in 0..self.size.height.div_ceil(8 * max_y) {
            for mcu_column in 0..self.size.width.div_ceil(8 * max_x) {
                for (component, &(across, down)) in self.sampling.iter().enumerate() {
                    let (across, down) = if alone { (1, 1) } else { (u32::from(across), u32::from(down)) };
                    for row in mcu_row * down..(mcu_row + 1) * down {
                        for column in mcu_column * across..(mcu_column + 1) * across {
                            let mut coefficients = [0; 64];
                            block(component, column, row, &mut coefficients);
                            put_block(&mut bits, &coefficients, &mut predictions[component]);
                        }
                    }
                }
            }
        }
        bits.flush();
        file.extend_from_slice(&[0xFF, 0xD9]);
        file
    }

    fn headers(&self) -> Vec<u8> {
        let mut file = vec![0xFF, 0xD8, 0xFF, 0xDB, 0, 67, 0];
        file.extend_from_slice(&[self.quantizer; 64]);
        let components = self.sampling.len() as u8;
        file.extend_from_slice(&[0xFF, 0xC0, 0, 8 + 3 * components, 8]);
        file.extend_from_slice(&(self.size.height as u16).to_be_bytes());
        file.extend_from_slice(&(self.size.width as u16).to_be_bytes());
        file.push(components);
        for (id, &(across, down)) in (1..).zip(self.sampling) {
            file.extend_from_slice(&[id, across << 4 | down, 0]);
        }
        // Codes of one length: the code is the symbol's place. DC has 4 bits, AC has 8.
        let dc: Vec<u8> = (0..=11).collect();
        for (class, length, symbols) in [(0x00, 4, dc), (0x10, 8, ac_symbols())] {
            file.extend_from_slice(&[0xFF, 0xC4]);
            file.extend_from_slice(&(19 + symbols.len() as u16).to_be_bytes());
            file.push(class);
            file.extend((1..=16).map(|bits| if bits == length { symbols.len() as u8 } else { 0 }));
            file.extend_from_slice(&symbols);
        }
        file.extend_from_slice(&[0xFF, 0xDA, 0, 6 + 2 * components, components]);
        (1..=components).for_each(|id| file.extend_from_slice(&[id, 0]));
        file.extend_from_slice(&[0, 63, 0]);
        file
    }
}

/// End of block, 16 zeros, and every run with every size: run << 4 | size.
fn ac_symbols() -> Vec<u8> {
    let runs = (0..16u8).flat_map(|run| (1..=10).map(move |size| run << 4 | size));
    [0x00, 0xF0].into_iter().chain(runs).collect()
}

/// Codes of one block with the tables of [`Baseline::headers`].
fn put_block(bits: &mut BitWriter, coefficients: &[i16; 64], prediction: &mut i16) {
    let difference = coefficients[0] - *prediction;
    *prediction = coefficients[0];
    let size = size_of(difference);
    assert!(size <= 11, "a DC difference of {difference}");
    bits.put(size, 4);
    bits.put(value_bits(difference, size), size);
    let mut run = 0;
    for &value in &coefficients[1..] {
        if value == 0 {
            run += 1;
            continue;
        }
        while run > 15 {
            bits.put(1, 8); // 16 zeros
            run -= 16;
        }
        let size = size_of(value);
        assert!(size <= 10, "an AC coefficient of {value}");
        bits.put(2 + run * 10 + size - 1, 8);
        bits.put(value_bits(value, size), size);
        run = 0;
    }
    if run > 0 {
        bits.put(0, 8);
    }
}

#[cfg(test)]
mod tests {
    use isopel_core::{DecodeOptions, PixelFormat};

    use super::*;
    use crate::backends::on_cpu;

    #[test]
    fn flat_blocks_decode_to_their_levels() {
        let file = Baseline { size: Size::new(20, 11), sampling: &[(1, 1)], quantizer: 8 };
        let file = file.write(|_, column, row, block| block[0] = column as i16 * 10 - row as i16 * 40);
        let image = on_cpu(&file, &DecodeOptions::default().format(PixelFormat::Gray8)).unwrap();
        assert!(image.report.warnings.is_empty(), "{:?}", image.report.warnings);
        for (y, row) in image.pixels.chunks_exact(20).enumerate() {
            for (x, &sample) in row.iter().enumerate() {
                assert_eq!(i16::from(sample), 128 + x as i16 / 8 * 10 - y as i16 / 8 * 40);
            }
        }
    }

    #[test]
    fn every_coefficient_can_be_sent() {
        let file = Baseline { size: Size::new(100, 50), sampling: &[(2, 2), (1, 1), (1, 1)], quantizer: 1 };
        let file = file.write(|component, column, row, block| {
            for (index, value) in block.iter_mut().enumerate() {
                let mixed = (component as u32 + 3 * column + 7 * row).wrapping_mul(2_654_435_761) >> (index % 20);
                *value = if mixed.is_multiple_of(3) { 0 } else { mixed as i16 % 512 };
            }
        });
        let image = on_cpu(&file, &DecodeOptions::default()).unwrap();
        assert!(image.report.warnings.is_empty(), "{:?}", image.report.warnings);
        assert_eq!(image.report.valid_rows, 50);
    }
}
