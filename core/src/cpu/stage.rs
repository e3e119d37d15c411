//! Time per stage, when asked for.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Time that each stage of one decode took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StageTimes {
    /// Scan bytes to coefficients.
    pub entropy: Duration,
    /// Coefficients to samples.
    pub dequant_idct: Duration,
    /// Samples to oriented pixels in their format.
    pub upsample_color: Duration,
}

/// The operating system's monotonic clock, since it was first asked. wasm32 has none.
pub(super) fn system_clock() -> Duration {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    FIRST.get_or_init(Instant::now).elapsed()
}

#[derive(Clone, Copy)]
pub(super) enum Stage {
    Entropy,
    DequantIdct,
    UpsampleColor,
}

/// Measures laps; off, it does nothing.
pub(super) struct StageClock {
    /// Reads a clock: the time since some moment.
    now: fn() -> Duration,
    lap_start: Option<Duration>,
    times: StageTimes,
}

impl StageClock {
    pub(super) fn off() -> Self {
        StageClock { now: Duration::default, lap_start: None, times: StageTimes::default() }
    }

    pub(super) fn started(now: fn() -> Duration) -> Self {
        StageClock { now, lap_start: Some(now()), times: StageTimes::default() }
    }

    pub(super) fn lap(&mut self, stage: Stage) {
        let Some(start) = self.lap_start else { return };
        let now = (self.now)();
        let total = match stage {
            Stage::Entropy => &mut self.times.entropy,
            Stage::DequantIdct => &mut self.times.dequant_idct,
            Stage::UpsampleColor => &mut self.times.upsample_color,
        };
        *total += now.saturating_sub(start);
        self.lap_start = Some(now);
    }

    pub(super) fn times(&self) -> StageTimes {
        self.times
    }
}
