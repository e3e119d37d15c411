//! Time per stage, when asked for.

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

#[derive(Clone, Copy)]
pub(super) enum Stage {
    Entropy,
    DequantIdct,
    UpsampleColor,
}

/// Measures laps; off, it does nothing, also where there is no clock (wasm32).
pub(super) struct StageClock {
    lap_start: Option<Instant>,
    times: StageTimes,
}

impl StageClock {
    pub(super) fn off() -> Self {
        StageClock { lap_start: None, times: StageTimes::default() }
    }

    pub(super) fn started() -> Self {
        StageClock { lap_start: Some(Instant::now()), times: StageTimes::default() }
    }

    pub(super) fn lap(&mut self, stage: Stage) {
        let Some(start) = self.lap_start else { return };
        let now = Instant::now();
        let total = match stage {
            Stage::Entropy => &mut self.times.entropy,
            Stage::DequantIdct => &mut self.times.dequant_idct,
            Stage::UpsampleColor => &mut self.times.upsample_color,
        };
        *total += now - start;
        self.lap_start = Some(now);
    }

    pub(super) fn times(&self) -> StageTimes {
        self.times
    }
}
