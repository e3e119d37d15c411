//! GPU time of the stages, from timestamp queries.

use std::time::Duration;

use isopel_core::{BackendError, Error, Job};

use crate::context::WgpuBackend;
use crate::in_flight::Waiting;
use crate::passes::PassTimestamps;
use crate::read_back::ReadBack;
use crate::record::Memory;
use crate::submit::{ReadyJob, SubmitOptions, requests};
use crate::target::WgpuTarget;
use crate::tile::Tile;

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
    /// Each pass with its name, in their order.
    pub fn passes(&self) -> Vec<(&'static str, Duration)> {
        let entropy = self.entropy.map(|GpuEntropyTimes { synchronise, join, scan, write }| {
            [("synchronise", synchronise), ("join", join), ("scan", scan), ("write", write)]
        });
        let mut passes: Vec<_> = entropy.into_iter().flatten().collect();
        passes.extend([("dequant_idct", self.dequant_idct), ("orient", self.orient)]);
        passes
    }

    /// All stages together.
    pub fn total(&self) -> Duration {
        self.passes().into_iter().map(|(_, time)| time).sum()
    }
}

/// How long the stages are kept busy before the measured time: idle GPUs lower their clocks, and take this long to
/// raise them again.
const BUSY: Duration = Duration::from_millis(300);
const MOST_REPETITIONS: u32 = 1_000;

impl WgpuBackend {
    /// Decodes jobs that fit one wave and measures the stages on the GPU. `None` if the device has no timestamp
    /// queries. Targets must be buffers of the device's. Blocks.
    ///
    /// # Errors
    /// That of the first job that fails, or [`Error::Backend`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn profile(&self, jobs: Vec<Job<WgpuTarget>>) -> Result<Option<GpuStageTimes>, Error> {
        pollster::block_on(self.profile_with(jobs, &SubmitOptions::default(), Waiting::Blocking))
    }

    /// [`WgpuBackend::profile`] as a future that blocks on no device, like [`WgpuBackend::submit_async`]'s. Browsers
    /// round the times, most to 0.1 ms.
    ///
    /// # Errors
    /// As [`WgpuBackend::profile`].
    pub async fn profile_async(
        &self,
        jobs: Vec<Job<WgpuTarget>>,
        options: &SubmitOptions,
    ) -> Result<Option<GpuStageTimes>, Error> {
        self.profile_with(jobs, options, Waiting::Async).await
    }

    async fn profile_with(
        &self,
        jobs: Vec<Job<WgpuTarget>>,
        options: &SubmitOptions,
        waiting: Waiting,
    ) -> Result<Option<GpuStageTimes>, Error> {
        if !self.device.features().contains(wgpu::Features::TIMESTAMP_QUERY) {
            return Ok(None);
        }
        let requests = requests(jobs);
        let staging = self.staging_for(&requests, self.entropy_decoding(options, waiting));
        let (ready, failures) = self.prepare_all(requests, staging.as_ref());
        if let Some(failure) = failures.into_iter().next() {
            failure.result?;
        }
        let slow = self.measure(&ready, 1, waiting).await?;
        let once = slow.total().max(Duration::from_micros(1));
        let repetitions = (BUSY.as_nanos() / once.as_nanos()).min(u128::from(MOST_REPETITIONS)) as u32;
        if repetitions < 2 { Ok(Some(slow)) } else { Ok(Some(self.measure(&ready, repetitions, waiting).await?)) }
    }

    /// Times of the last of some repetitions.
    async fn measure(
        &self,
        ready: &[ReadyJob],
        repetitions: u32,
        waiting: Waiting,
    ) -> Result<GpuStageTimes, BackendError> {
        let decodes_entropy = ready.iter().flat_map(|job| &job.prepared.tiles).any(Tile::is_staged);
        let passes = if decodes_entropy { 6 } else { 2 };
        let queue = || {
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
            let ticks = ReadBack::new(self.resolve(&mut encoder, &timestamps, 2 * passes));
            let index = self.queue.submit([encoder.finish()]);
            ticks.start();
            (index, recorded.used, ticks)
        };
        let (index, used, ticks) = self.guarded(waiting, queue).await?;
        used.give_back(self);
        if waiting == Waiting::Blocking {
            self.wait_for(index);
        }
        let view = ticks.bytes(&self.device_state(), waiting).await?;
        let period = f64::from(self.queue.get_timestamp_period());
        let ticks = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
        let mut spans =
            view.as_chunks::<8>().0.as_chunks::<2>().0.iter().map(|[begin, end]| {
                Duration::from_nanos((ticks(end).saturating_sub(ticks(begin)) as f64 * period) as u64)
            });
        let mut next = || spans.next().unwrap_or_default();
        let entropy =
            decodes_entropy.then(|| GpuEntropyTimes { synchronise: next(), join: next(), scan: next(), write: next() });
        Ok(GpuStageTimes { entropy, dequant_idct: next(), orient: next() })
    }

    /// Records the copy of timestamps to memory that the host can map.
    fn resolve(&self, encoder: &mut wgpu::CommandEncoder, timestamps: &PassTimestamps, count: u32) -> wgpu::Buffer {
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
        readable
    }
}
