//! GPU time of the stages, from timestamp queries.

use std::time::Duration;

use isopel_core::{BackendError, Error, Job};

use crate::context::WgpuBackend;
use crate::error::failed;
use crate::submit::{Memory, requests};
use crate::target::WgpuTarget;
use crate::wave::PassTimestamps;

/// GPU time of each stage for one submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GpuStageTimes {
    /// Coefficients to samples.
    pub dequant_idct: Duration,
    /// Samples to oriented pixels in their format.
    pub orient: Duration,
}

/// How often the stages run before the measured time: idle GPUs lower their clocks.
const REPETITIONS: usize = 16;

impl WgpuBackend {
    /// Decodes jobs that fit one wave and measures the stages on the GPU. `None` if the device has no timestamp
    /// queries. Targets must be buffers of the device's.
    ///
    /// # Errors
    /// That of the first job that fails, or [`Error::Backend`].
    pub fn profile(&self, jobs: Vec<Job<WgpuTarget>>) -> Result<Option<GpuStageTimes>, Error> {
        if !self.device.features().contains(wgpu::Features::TIMESTAMP_QUERY) {
            return Ok(None);
        }
        let (ready, failures) = self.prepare_all(requests(jobs));
        if let Some(failure) = failures.into_iter().next() {
            failure.result?;
        }
        let times = self.guarded(|| {
            let timestamps = PassTimestamps {
                queries: self.device.create_query_set(&wgpu::QuerySetDescriptor {
                    label: Some("jpeg.timestamps"),
                    ty: wgpu::QueryType::Timestamp,
                    count: PassTimestamps::COUNT,
                }),
            };
            let mut encoder = self.device.create_command_encoder(&Default::default());
            // Repetitions let the clocks rise; the timestamps of the last remain.
            let used: Vec<_> = (0..REPETITIONS)
                .map(|_| self.record(&mut encoder, &ready, &Memory::Pooled, Some(&timestamps)).0)
                .collect();
            let ticks = self.resolve(encoder, &timestamps)?;
            used.into_iter().for_each(|used| used.give_back(self));
            let period = f64::from(self.queue.get_timestamp_period());
            let span = |stage: usize| {
                let ticks = ticks[2 * stage + 1].saturating_sub(ticks[2 * stage]);
                Duration::from_nanos((ticks as f64 * period) as u64)
            };
            Ok::<_, BackendError>(GpuStageTimes { dequant_idct: span(0), orient: span(1) })
        })??;
        Ok(Some(times))
    }

    fn resolve(
        &self,
        mut encoder: wgpu::CommandEncoder,
        timestamps: &PassTimestamps,
    ) -> Result<Vec<u64>, BackendError> {
        let size = u64::from(PassTimestamps::COUNT) * 8;
        let buffer = |usage| {
            self.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("jpeg.timestamps"),
                size,
                usage,
                mapped_at_creation: false,
            })
        };
        let resolved = buffer(wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC);
        let readable = buffer(wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST);
        encoder.resolve_query_set(&timestamps.queries, 0..PassTimestamps::COUNT, &resolved, 0);
        encoder.copy_buffer_to_buffer(&resolved, 0, &readable, 0, size);
        self.queue.submit([encoder.finish()]);
        readable.map_async(wgpu::MapMode::Read, .., |_| {});
        self.device.poll(wgpu::PollType::wait_indefinitely()).map_err(failed)?;
        let view = readable.get_mapped_range(..).map_err(failed)?;
        Ok(view.chunks_exact(8).map(|ticks| u64::from_le_bytes(ticks.try_into().expect("8 bytes"))).collect())
    }
}
