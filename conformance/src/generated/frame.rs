//! What the frame header says, and where blocks lie by it: computed from the standard, sharing nothing with the decoder.

use isopel_core::{CodingProcess, Size};

/// One component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Component {
    /// Ci.
    pub(crate) id: u8,
    /// Hi and Vi.
    pub(crate) sampling: (u8, u8),
    /// Tqi.
    pub(crate) quant_selector: u8,
    /// The steps of quantisation, in zigzag order.
    pub(crate) quant_table: [u16; 64],
}

/// Process, size and components.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) process: CodingProcess,
    pub(crate) size: Size,
    pub(crate) components: Vec<Component>,
}

impl Frame {
    /// Hmax and Vmax.
    pub(crate) fn max_sampling(&self) -> (u8, u8) {
        let max = |pick: fn(&Component) -> u8| self.components.iter().map(pick).max().unwrap_or(1);
        (max(|component| component.sampling.0), max(|component| component.sampling.1))
    }

    /// Interleaved MCUs across and down (T.81 A.2.4).
    pub(crate) fn mcus(&self) -> (u32, u32) {
        let (across, down) = self.max_sampling();
        (self.size.width.div_ceil(8 * u32::from(across)), self.size.height.div_ceil(8 * u32::from(down)))
    }

    /// Blocks of a component across and down, as a scan of its own has them (T.81 A.1.1, A.2.2).
    pub(crate) fn blocks(&self, component: usize) -> (u32, u32) {
        let (max, own) = (self.max_sampling(), self.components[component].sampling);
        let samples = |pixels: u32, own: u8, max: u8| (pixels * u32::from(own)).div_ceil(u32::from(max));
        (samples(self.size.width, own.0, max.0).div_ceil(8), samples(self.size.height, own.1, max.1).div_ceil(8))
    }

    /// Blocks of a component across and down, with those that fill up interleaved MCUs.
    pub(crate) fn padded_blocks(&self, component: usize) -> (u32, u32) {
        let ((across, down), own) = (self.mcus(), self.components[component].sampling);
        (across * u32::from(own.0), down * u32::from(own.1))
    }

    /// Blocks in an MCU with these components.
    pub(crate) fn blocks_per_mcu(&self, components: &[usize]) -> u32 {
        match components {
            [_] => 1,
            several => {
                several.iter().map(|&index| self.components[index].sampling).map(|(h, v)| u32::from(h * v)).sum()
            }
        }
    }

    /// MCUs across and down of a scan with these components.
    pub(crate) fn scan_mcus(&self, components: &[usize]) -> (u32, u32) {
        match components {
            &[only] => self.blocks(only),
            _ => self.mcus(),
        }
    }

    /// Whether each component's factors divide the largest: decoders that make pixels ask for that.
    pub(crate) fn is_integral(&self) -> bool {
        let (across, down) = self.max_sampling();
        self.components
            .iter()
            .all(|component| across.is_multiple_of(component.sampling.0) && down.is_multiple_of(component.sampling.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_those_of_the_standards_example() {
        // T.81 A.1.1: 512 lines of 512 samples with factors 4x1, 2x2, 1x1.
        let component = |id, sampling| Component { id, sampling, quant_selector: 0, quant_table: [1; 64] };
        let components = vec![component(0, (4, 1)), component(1, (2, 2)), component(2, (1, 1))];
        let frame = Frame { process: CodingProcess::Baseline, size: Size::new(512, 512), components };
        // The planes have 512x256, 256x512 and 128x256 samples.
        assert_eq!([0, 1, 2].map(|index| frame.blocks(index)), [(64, 32), (32, 64), (16, 32)]);
        assert_eq!(frame.mcus(), (16, 32));
        assert_eq!(frame.blocks_per_mcu(&[0, 1, 2]), 9);
        assert!(frame.is_integral());
    }
}
