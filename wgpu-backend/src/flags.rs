//! What the GPU says of the pictures whose entropy it decoded.

use isopel_core::BackendError;

use crate::context::DeviceState;
use crate::in_flight::Waiting;
use crate::read_back::ReadBack;

/// The flags of a wave's pictures: not 0 for those that have to be decoded again.
pub(crate) struct PictureFlags {
    copy: ReadBack,
    /// Positions of the pictures' jobs among those of the submission.
    jobs: Vec<usize>,
}

impl PictureFlags {
    /// Flags that the submission copies to a buffer that the host can map, a word per picture.
    pub(crate) fn new(copy: wgpu::Buffer, jobs: Vec<usize>) -> Self {
        PictureFlags { copy: ReadBack::new(copy), jobs }
    }

    /// Asks for them, once the submission is queued.
    pub(crate) fn start_reading(&self) {
        self.copy.start();
    }
}

/// Which of a submission's jobs are flagged. A thread that blocks must have waited for their work.
pub(crate) async fn read_all(
    flags: &[PictureFlags],
    jobs: usize,
    device: &DeviceState,
    waiting: Waiting,
) -> Result<Vec<bool>, BackendError> {
    let mut flagged = vec![false; jobs];
    for wave in flags {
        let view = wave.copy.bytes(device, waiting).await?;
        let (words, _) = view.as_chunks::<4>();
        for (&job, &word) in wave.jobs.iter().zip(words) {
            flagged[job] |= word != [0; 4];
        }
    }
    Ok(flagged)
}
