//! GPU time of the stages, from timestamp queries.

use std::time::Duration;

use isopel_core::{BackendError, Error, Job};

use crate::context::WgpuBackend;
use crate::error::failed;
use crate::in_flight::Waiting;
use crate::record::Memory;
use crate::submit::{ReadyJob, SubmitOptions, requests};
use crate::target::WgpuTarget;
use crate::tile::Tile;
use crate::wave::PassTimestamps;

/// GPU time of each stage for one submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GpuStageTimes {
    /// Bytes to coefficients, if that was the GPU's.
    pub entropy: Option<GpuEntropyTimes>,
    /// Coefficients to samples.
    pub dequant_idct: Duration,
    /// Samples to oriented pixels in their format.
    pub orient: Duration,
}

/// GPU time of entropy decoding for one submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GpuEntropyTimes {
    /// Finding the states between subsequences, within groups.
    pub synchronise: Duration,
    /// The same across groups.
    pub join: Duration,
    /// Sums of blocks and DC differences before each subsequence.
    pub scan: Duration,
    /// Writing coefficients.
    pub write: Duration,
}

impl GpuStageTimes {
    /// All stages together.
    pub fn total(&self) -> Duration {
        let entropy = self.entropy.map(|times| times.synchronise + times.join + times.scan + times.write);
        entropy.unwrap_or_default() + self.dequant_idct + self.orient
    }
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
        let requests = requests(jobs);
        let entropy = self.entropy_decoding(&SubmitOptions::default(), Waiting::Blocking);
        let staging = self.staging_for(&requests, entropy);
        let (ready, failures) = self.prepare_all(requests, staging.as_ref());
        if let Some(failure) = failures.into_iter().next() {
            failure.result?;
        }
        let slow = self.measure(&ready, 1)?;
        let once = slow.total().max(Duration::from_micros(1));
        let repetitions = (BUSY.as_nanos() / once.as_nanos()).min(u128::from(MOST_REPETITIONS)) as u32;
        if repetitions < 2 { Ok(Some(slow)) } else { self.measure(&ready, repetitions).map(Some) }
    }

    /// Times of the last of some repetitions.
    fn measure(&self, ready: &[ReadyJob], repetitions: u32) -> Result<GpuStageTimes, Error> {
        let decodes_entropy = ready.iter().flat_map(|job| &job.prepared.tiles).any(Tile::is_staged);
        let passes = if decodes_entropy { 6 } else { 2 };
        let measured = self.guarded(Waiting::Blocking, || {
            let timestamps = PassTimestamps {
                queries: self.device.create_query_set(&wgpu::QuerySetDescriptor {
                    label: Some("jpeg.timestamps"),
                    ty: wgpu::QueryType::Timestamp,
                    count: 2 * passes,
                }),
                repetitions,
            };
            let mut encoder = self.device.create_command_encoder(&Default::default());
            let recorded = self.record(&mut encoder, ready, &Memory::Pooled, Some(&timestamps));
            let ticks = self.resolve(encoder, &timestamps, 2 * passes)?;
            recorded.used.give_back(self);
            let period = f64::from(self.queue.get_timestamp_period());
            let mut spans = ticks
                .as_chunks::<2>()
                .0
                .iter()
                .map(|[begin, end]| Duration::from_nanos((end.saturating_sub(*begin) as f64 * period) as u64));
            let mut next = || spans.next().unwrap_or_default();
            let entropy = decodes_entropy.then(|| GpuEntropyTimes {
                synchronise: next(),
                join: next(),
                scan: next(),
                write: next(),
            });
            Ok::<_, BackendError>(GpuStageTimes { entropy, dequant_idct: next(), orient: next() })
        });
        Ok(pollster::block_on(measured)??)
    }

    fn resolve(
        &self,
        mut encoder: wgpu::CommandEncoder,
        timestamps: &PassTimestamps,
        count: u32,
    ) -> Result<Vec<u64>, BackendError> {
        let size = u64::from(count) * 8;
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
        encoder.resolve_query_set(&timestamps.queries, 0..count, &resolved, 0);
        encoder.copy_buffer_to_buffer(&resolved, 0, &readable, 0, size);
        self.queue.submit([encoder.finish()]);
        readable.map_async(wgpu::MapMode::Read, .., |_| {});
        self.device.poll(wgpu::PollType::wait_indefinitely()).map_err(failed)?;
        let view = readable.get_mapped_range(..).map_err(failed)?;
        Ok(view.chunks_exact(8).map(|ticks| u64::from_le_bytes(ticks.try_into().expect("8 bytes"))).collect())
    }
}
