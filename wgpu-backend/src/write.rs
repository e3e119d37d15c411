//! Where outputs lie in their targets: which may be written by one dispatch, and through which binding.

use std::ops::Range;

use crate::layout::Output;
use crate::output::{TileOutput, Writer};
use crate::wave::{BindingLimits, Slot};

/// Invocations per workgroup of the stages that write pixels.
pub(crate) const GROUP: u32 = 128;

/// An output and where it goes.
#[derive(Debug)]
pub(crate) struct PlacedOutput<'t> {
    output: &'t TileOutput,
    target: &'t wgpu::Buffer,
    /// Byte of the target at which its first row begins.
    start: u64,
    first_component: u32,
}

impl<'t> PlacedOutput<'t> {
    pub(crate) fn new(output: &'t TileOutput, slot: &'t Slot, first_component: u32) -> Self {
        PlacedOutput { output, target: &slot.buffer, start: slot.base + output.first_byte, first_component }
    }

    /// The words from its first pixel to its last, as bytes of the target.
    fn bytes(&self) -> Range<u64> {
        words_around(self.start..self.start + self.output.len())
    }

    /// Whether the two may have a word in common.
    fn meets(&self, other: &PlacedOutput) -> bool {
        let (bytes, others) = (self.bytes(), other.bytes());
        let apart = bytes.end <= others.start || others.end <= bytes.start;
        if apart || self.target != other.target {
            return false;
        }
        // Beside each other in an atlas: the words of one's rows lie between those of the other's.
        let stride = self.output.stride;
        if other.output.stride != stride || !stride.is_multiple_of(4) {
            return true;
        }
        let (first, second) = (self.first_row_words(), other.first_row_words());
        let distance = (second.start as i64 - first.start as i64).rem_euclid(stride as i64) as u64;
        distance < first.end - first.start || distance + second.end - second.start > stride
    }

    fn first_row_words(&self) -> Range<u64> {
        words_around(self.start..self.start + self.output.row_bytes())
    }
}

fn words_around(bytes: Range<u64>) -> Range<u64> {
    bytes.start / 4 * 4..bytes.end.next_multiple_of(4)
}

/// Outputs that share a word of a target with an earlier one come in a later layer: within one dispatch, the two
/// would race.
pub(crate) fn in_layers<'t>(outputs: impl Iterator<Item = PlacedOutput<'t>>) -> Vec<Vec<PlacedOutput<'t>>> {
    let mut layers: Vec<Vec<PlacedOutput>> = Vec::new();
    for output in outputs {
        let below = layers.iter().rposition(|layer| layer.iter().any(|earlier| earlier.meets(&output)));
        let layer = below.map_or(0, |below| below + 1);
        layers.resize_with(layers.len().max(layer + 1), Vec::new);
        layers[layer].push(output);
    }
    layers
}

/// Outputs that are written through one binding of their target.
#[derive(Debug)]
pub(crate) struct TargetWindow<'t> {
    pub(crate) target: &'t wgpu::Buffer,
    /// The binding.
    pub(crate) bytes: Range<u64>,
    outputs: Vec<PlacedOutput<'t>>,
}

/// Gathers a layer's outputs into as few bindings as the device allows.
pub(crate) fn gather(layer: Vec<PlacedOutput<'_>>, limits: BindingLimits) -> Vec<TargetWindow<'_>> {
    let mut windows: Vec<TargetWindow> = Vec::new();
    for output in layer {
        match windows.last_mut().map(|window| (window.bytes_with(&output, limits), window)) {
            Some((Some(bytes), window)) => {
                window.bytes = bytes;
                window.outputs.push(output);
            }
            _ => {
                let bytes = aligned(output.bytes(), limits);
                windows.push(TargetWindow { target: output.target, bytes, outputs: vec![output] });
            }
        }
    }
    windows
}

fn aligned(bytes: Range<u64>, limits: BindingLimits) -> Range<u64> {
    bytes.start / limits.offset_alignment * limits.offset_alignment..bytes.end
}

impl TargetWindow<'_> {
    /// The binding with one more output, if it is the same buffer and all still fit.
    fn bytes_with(&self, output: &PlacedOutput, limits: BindingLimits) -> Option<Range<u64>> {
        let bytes = aligned(output.bytes(), limits);
        let both = self.bytes.start.min(bytes.start)..self.bytes.end.max(bytes.end);
        (output.target == self.target && both.end - both.start <= limits.max_binding).then_some(both)
    }

    /// What a stage writes.
    pub(crate) fn outputs_of(&self, stage: Writer) -> Vec<Output> {
        let mut first_group = 0;
        let mut outputs = Vec::new();
        for placed in &self.outputs {
            let writers = placed.output.writers(placed.start - self.bytes.start, placed.first_component);
            for (_, output) in writers.into_iter().filter(|&(writer, _)| writer == stage) {
                outputs.push(Output { first_group, ..output });
                first_group += output.items.div_ceil(GROUP);
            }
        }
        outputs
    }
}

#[cfg(test)]
mod tests;
