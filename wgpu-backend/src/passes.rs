//! The compute passes of a wave: one for all of its stages, or several if their times are asked for.

use crate::pipelines::Pipeline;

/// Two timestamps for each stage of a wave.
pub(crate) struct PassTimestamps {
    pub(crate) queries: wgpu::QuerySet,
    /// How often the passes run; the timestamps of the last remain.
    pub(crate) repetitions: u32,
}

/// The passes of one wave, as they are recorded. A pass costs the CPU some microseconds, and orders nothing that its
/// dispatches would not.
pub(crate) struct Passes<'e> {
    encoder: &'e mut wgpu::CommandEncoder,
    timestamps: Option<&'e PassTimestamps>,
    open: Option<wgpu::ComputePass<'static>>,
    count: u32,
}

impl<'e> Passes<'e> {
    /// None yet.
    pub(crate) fn new(encoder: &'e mut wgpu::CommandEncoder, timestamps: Option<&'e PassTimestamps>) -> Self {
        Passes { encoder, timestamps, open: None, count: 0 }
    }

    /// The pass of the next stage, which begins with this pipeline.
    pub(crate) fn next(&mut self, pipeline: &Pipeline) -> &mut wgpu::ComputePass<'static> {
        if self.timestamps.is_some() {
            self.open = None;
        }
        let Passes { encoder, timestamps, open, count } = self;
        open.get_or_insert_with(|| {
            let first = 2 * *count;
            *count += 1;
            let writes = |timestamps: &&'e PassTimestamps| wgpu::ComputePassTimestampWrites {
                query_set: &timestamps.queries,
                beginning_of_pass_write_index: Some(first),
                end_of_pass_write_index: Some(first + 1),
            };
            let (label, timestamp_writes) = match timestamps {
                Some(timestamps) => (pipeline.label.as_str(), Some(writes(timestamps))),
                None => ("jpeg", None),
            };
            let descriptor = wgpu::ComputePassDescriptor { label: Some(label), timestamp_writes };
            encoder.begin_compute_pass(&descriptor).forget_lifetime()
        })
    }
}
