//! GPU time of the stages, from timestamp queries.

use std::time::Duration;

use isopel_core::{BackendError, Error, Job};

use crate::context::WgpuBackend;
use crate::error::failed;
use crate::submit::{Memory, ReadyJob, requests};
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

/// How long the stages are kept busy before the measured time: idle GPUs lower their clocks, and take this long to
/// raise them again.
const BUSY: Duration = Duration::from_millis(300);
const MOST_REPETITIONS: u32 = 1_000;

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
        let slow = self.measure(&ready, 1)?;
        let once = (slow.dequant_idct + slow.orient).max(Duration::from_micros(1));
        let repetitions = (BUSY.as_nanos() / once.as_nanos()).min(u128::from(MOST_REPETITIONS)) as u32;
        if repetitions < 2 { Ok(Some(slow)) } else { self.measure(&ready, repetitions).map(Some) }
    }

    /// Times of the last of some repetitions.
    fn measure(&self, ready: &[ReadyJob], repetitions: u32) -> Result<GpuStageTimes, Error> {
        let times = self.guarded(|| {
            let timestamps = PassTimestamps {
                queries: self.device.create_query_set(&wgpu::QuerySetDescriptor {
                    label: Some("jpeg.timestamps"),
                    ty: wgpu::QueryType::Timestamp,
                    count: PassTimestamps::COUNT,
                }),
                repetitions,
            };
            let mut encoder = self.device.create_command_encoder(&Default::default());
            let (used, _) = self.record(&mut encoder, ready, &Memory::Pooled, Some(&timestamps));
            let ticks = self.resolve(encoder, &timestamps)?;
            used.give_back(self);
            let period = f64::from(self.queue.get_timestamp_period());
            let span = |stage: usize| {
                let ticks = ticks[2 * stage + 1].saturating_sub(ticks[2 * stage]);
                Duration::from_nanos((ticks as f64 * period) as u64)
            };
            Ok::<_, BackendError>(GpuStageTimes { dequant_idct: span(0), orient: span(1) })
        })??;
        Ok(times)
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
