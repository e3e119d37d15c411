//! What the GPU says of the pictures whose entropy it decoded.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use isopel_core::BackendError;

use crate::context::DeviceState;

type Mapped = Result<(), wgpu::BufferAsyncError>;

/// How long the callback of work that is done may take. It runs on whichever thread polls the device, and that may
/// still be busy with others when a wait for the work returns here.
const CALLBACK_TIME: Duration = Duration::from_secs(10);

/// The flags of a wave's pictures, once their submission is done.
pub(crate) struct PictureFlags {
    copy: wgpu::Buffer,
    /// Positions of the pictures' jobs among those of the submission.
    jobs: Vec<usize>,
    mapped: Arc<(Mutex<Option<Mapped>>, Condvar)>,
}

impl PictureFlags {
    /// Flags that the submission copies to a buffer that the host can map, a word per picture.
    pub(crate) fn new(copy: wgpu::Buffer, jobs: Vec<usize>) -> Self {
        PictureFlags { copy, jobs, mapped: Arc::default() }
    }

    /// Asks for them, once the submission is queued.
    pub(crate) fn start_reading(&self) {
        let mapped = self.mapped.clone();
        self.copy.map_async(wgpu::MapMode::Read, .., move |result| {
            *mapped.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
            mapped.1.notify_all();
        });
    }

    /// What came of reading them. Blocks until some thread has run the callback; `None` if none does.
    fn wait(&self) -> Option<Mapped> {
        let (mapped, called) = &*self.mapped;
        let mapped = mapped.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = called.wait_timeout_while(mapped, CALLBACK_TIME, |mapped| mapped.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.take()
    }
}

/// Which of a submission's jobs are flagged. Its work must be done.
pub(crate) fn read_all(flags: &[PictureFlags], jobs: usize, device: &DeviceState) -> Result<Vec<bool>, BackendError> {
    let mut flagged = vec![false; jobs];
    for wave in flags {
        let mapped = wave.wait().ok_or_else(|| device.error("the flags did not come"))?;
        mapped.map_err(|error| device.error(error))?;
        let view = wave.copy.get_mapped_range(..).map_err(|error| device.error(error))?;
        let (words, _) = view.as_chunks::<4>();
        for (&job, &word) in wave.jobs.iter().zip(words) {
            flagged[job] |= word != [0; 4];
        }
    }
    Ok(flagged)
}
