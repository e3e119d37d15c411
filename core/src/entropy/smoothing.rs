//! Block smoothing: estimates of low AC coefficients that a progressive file has not sent, from the DC
//! coefficients around, as libjpeg-turbo 3.2 estimates them (an extension of T.81 K.8 to 5x5 blocks).

use super::{Block, CoefficientPlane, DataExtent};
use crate::codestream::ZIGZAG;
use crate::plan::DecodePlan;

/// Estimates blocks of the plan's components.
pub(super) struct Smoother {
    components: Vec<ComponentSmoother>,
    mcu_rows: u32,
    last_good_row: u32,
}

struct ComponentSmoother {
    /// Unknown bits of zigzag coefficients 0 to 9 after the last scan, and before it.
    unknown_bits: [i8; 10],
    before_last_scan: [i8; 10],
    /// Quantizers of zigzag coefficients 0 to 9.
    quant: [i64; 10],
    block_columns: u32,
    /// Block rows per MCU row, and in the last one.
    rows_per_mcu_row: u32,
    rows_in_last_mcu_row: u32,
}

/// Weights of the 5x5 DC coefficients around a block, row by row, for one AC coefficient.
type Kernel = [[i32; 5]; 5];

/// Kernels for zigzag coefficients 1 to 9 when no AC coefficient is known.
const WITHOUT_AC: [Kernel; 9] = {
    let ac01 = [[-1, -1, 0, 1, 1], [-3, 13, 0, -13, 3], [-3, 38, 0, -38, 3], [-3, 13, 0, -13, 3], [-1, -1, 0, 1, 1]];
    let ac20 = [[0, 0, 1, 0, 0], [0, 2, 7, 2, 0], [0, -5, -14, -5, 0], [0, 2, 7, 2, 0], [0, 0, 1, 0, 0]];
    let ac11 = [[-1, 0, 0, 0, 1], [0, 9, 0, -9, 0], [0; 5], [0, -9, 0, 9, 0], [1, 0, 0, 0, -1]];
    let ac03 = [[0; 5], [0, 1, 0, -1, 0], [0, 2, 0, -2, 0], [0, 1, 0, -1, 0], [0; 5]];
    let ac12 = [[0; 5], [0, 1, -3, 1, 0], [0; 5], [0, -1, 3, -1, 0], [0; 5]];
    [ac01, transposed(ac01), ac20, ac11, transposed(ac20), ac03, ac12, transposed(ac12), transposed(ac03)]
};

/// Kernels for zigzag coefficients 1 to 5 when some AC coefficients are known.
const WITH_AC: [Kernel; 5] = {
    let ac01 = [[0; 5], [0; 5], [-7, 50, 0, -50, 7], [0; 5], [0; 5]];
    let ac02 = [[0; 5], [0; 5], [-1, 13, -24, 13, -1], [0; 5], [0; 5]];
    let ac11 = [[0, -1, 0, 1, 0], [-1, 10, 0, -10, 1], [0; 5], [1, -10, 0, 10, -1], [0, 1, 0, -1, 0]];
    [ac01, transposed(ac01), transposed(ac02), ac11, ac02]
};

/// Kernel for the DC coefficient itself when no AC coefficient is known; the weights sum to 256.
const DC: Kernel =
    [[-2, -6, -8, -6, -2], [-6, 6, 42, 6, -6], [-8, 42, 152, 42, -8], [-6, 6, 42, 6, -6], [-2, -6, -8, -6, -2]];

const fn transposed(kernel: Kernel) -> Kernel {
    let mut result = [[0; 5]; 5];
    let mut index = 0;
    while index < 25 {
        result[index % 5][index / 5] = kernel[index / 5][index % 5];
        index += 1;
    }
    result
}

impl Smoother {
    pub(super) fn new(plan: &DecodePlan, extent: &DataExtent) -> Self {
        let codestream = plan.codestream();
        let frame = codestream.frame();
        let components = (0..frame.components.len())
            .map(|index| {
                let precision = codestream.precision(index);
                let blocks = frame.blocks(index);
                let rows_per_mcu_row = u32::from(frame.components[index].sampling.vertical);
                let mut unknown_bits = [0; 10];
                unknown_bits.copy_from_slice(&precision.unknown_bits[..10]);
                let one_scan = codestream.scans().len() == 1;
                ComponentSmoother {
                    unknown_bits,
                    before_last_scan: if one_scan { [-1; 10] } else { precision.before_last_scan },
                    quant: std::array::from_fn(|k| i64::from(plan.components()[index].quant[usize::from(ZIGZAG[k])])),
                    block_columns: blocks.width,
                    rows_per_mcu_row,
                    rows_in_last_mcu_row: (blocks.height - 1) % rows_per_mcu_row + 1,
                }
            })
            .collect();
        Smoother { components, mcu_rows: frame.mcus().height, last_good_row: extent.last_good_row }
    }

    /// The block at (row, column) of a component with its estimates filled in.
    pub(super) fn block(&self, component: usize, plane: &CoefficientPlane, row: u32, column: u32) -> Block {
        let smoother = &self.components[component];
        let mcu_row = row / smoother.rows_per_mcu_row;
        let unknown_bits =
            if mcu_row > self.last_good_row { &smoother.before_last_scan } else { &smoother.unknown_bits };
        let no_ac_known = unknown_bits[1..].iter().all(|&bits| bits == -1);
        let around = self.dc_around(smoother, plane, row, column);
        let mut block = plane.blocks[plane.index(row, column)];
        let kernels: &[Kernel] = if no_ac_known { &WITHOUT_AC } else { &WITH_AC };
        for (kernel, k) in kernels.iter().zip(1..) {
            let coefficient = &mut block[usize::from(ZIGZAG[k])];
            if unknown_bits[k] != 0 && *coefficient == 0 {
                *coefficient = estimate(kernel, &around, smoother.quant[0], smoother.quant[k], unknown_bits[k]) as i16;
            }
        }
        if no_ac_known {
            block[0] = estimate(&DC, &around, smoother.quant[0], smoother.quant[0], 0) as i16;
        }
        block
    }

    /// The 5x5 DC coefficients around a block; edges are repeated.
    fn dc_around(&self, smoother: &ComponentSmoother, plane: &CoefficientPlane, row: u32, column: u32) -> Kernel {
        let mcu_row = row / smoother.rows_per_mcu_row;
        let row_in_mcu = row % smoother.rows_per_mcu_row;
        // libjpeg counts the image's block rows with the number of rows of this very MCU row, which is smaller
        // in the last one. It decides where the picture seems to begin and end, so it is repeated here.
        let rows_here =
            if mcu_row + 1 == self.mcu_rows { smoother.rows_in_last_mcu_row } else { smoother.rows_per_mcu_row };
        let (image_rows, image_row) = (rows_here * self.mcu_rows, mcu_row * rows_here + row_in_mcu);
        let up1 = if image_row > 0 { row - 1 } else { row };
        let up2 = if image_row > 1 { row - 2 } else { up1 };
        let down1 = if image_row + 1 < image_rows { row + 1 } else { row };
        let down2 = if image_row + 2 < image_rows { row + 2 } else { down1 };

        let last_column = i64::from(smoother.block_columns) - 1;
        [up2, up1, row, down1, down2].map(|row| {
            std::array::from_fn(|index| {
                let column = (i64::from(column) + index as i64 - 2).clamp(0, last_column) as u32;
                i32::from(plane.blocks[plane.index(row, column)][0])
            })
        })
    }
}

/// A rounded estimate of a coefficient, no larger than the bits still unknown allow.
fn estimate(kernel: &Kernel, around: &Kernel, dc_quant: i64, quant: i64, unknown_bits: i8) -> i32 {
    let sum: i32 = kernel.iter().flatten().zip(around.iter().flatten()).map(|(weight, dc)| weight * dc).sum();
    let numerator = dc_quant * i64::from(sum);
    let mut magnitude = (((quant << 7) + numerator.abs()) / (quant << 8)) as i32;
    if unknown_bits > 0 {
        magnitude = magnitude.min((1 << unknown_bits) - 1);
    }
    if numerator < 0 { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests;
