//! What the GPU says of the pictures whose entropy it decoded.

use std::future::poll_fn;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use isopel_core::BackendError;

use crate::context::DeviceState;
use crate::in_flight::Waiting;

type Mapped = Result<(), wgpu::BufferAsyncError>;

/// How long the callback of work that is done may take. It runs on whichever thread polls the device, and that may
/// still be busy with others when a wait for the work returns here.
const CALLBACK_TIME: Duration = Duration::from_secs(10);

/// The flags of a wave's pictures, once their submission is done.
pub(crate) struct PictureFlags {
    copy: wgpu::Buffer,
    /// Positions of the pictures' jobs among those of the submission.
    jobs: Vec<usize>,
    mapping: Arc<Mapping>,
}

/// The mapping of a buffer that was asked for.
#[derive(Default)]
struct Mapping {
    state: Mutex<MappingState>,
    called: Condvar,
}

#[derive(Default)]
struct MappingState {
    result: Option<Mapped>,
    waker: Option<Waker>,
}

impl Mapping {
    fn lock(&self) -> MutexGuard<'_, MappingState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, result: Mapped) {
        let waker = {
            let mut state = self.lock();
            state.result = Some(result);
            state.waker.take()
        };
        self.called.notify_all();
        waker.into_iter().for_each(Waker::wake);
    }

    /// Blocks until some thread has run the callback; `None` if none does.
    fn wait(&self) -> Option<Mapped> {
        let waited = self.called.wait_timeout_while(self.lock(), CALLBACK_TIME, |state| state.result.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.result.take()
    }

    async fn finished(&self) -> Mapped {
        poll_fn(|context| {
            let mut state = self.lock();
            match state.result.take() {
                Some(result) => Poll::Ready(result),
                None => {
                    state.waker = Some(context.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }
}

impl PictureFlags {
    /// Flags that the submission copies to a buffer that the host can map, a word per picture.
    pub(crate) fn new(copy: wgpu::Buffer, jobs: Vec<usize>) -> Self {
        PictureFlags { copy, jobs, mapping: Arc::default() }
    }

    /// Asks for them, once the submission is queued.
    pub(crate) fn start_reading(&self) {
        let mapping = self.mapping.clone();
        self.copy.map_async(wgpu::MapMode::Read, .., move |result| mapping.tell(result));
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
        let mapped = match waiting {
            Waiting::Blocking => wave.mapping.wait().ok_or_else(|| device.error("the flags did not come"))?,
            Waiting::Async => wave.mapping.finished().await,
        };
        mapped.map_err(|error| device.error(error))?;
        let view = wave.copy.get_mapped_range(..).map_err(|error| device.error(error))?;
        let (words, _) = view.as_chunks::<4>();
        for (&job, &word) in wave.jobs.iter().zip(words) {
            flagged[job] |= word != [0; 4];
        }
    }
    Ok(flagged)
}
