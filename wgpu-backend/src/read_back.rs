//! Small buffers that the host reads back, on a thread that blocks or in a future.

use std::future::poll_fn;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use isopel_core::BackendError;

use crate::context::DeviceState;
use crate::in_flight::Waiting;

type Mapped = Result<(), wgpu::BufferAsyncError>;

/// Callbacks of finished work run on whichever thread polls the device next, which is never longer away than that:
/// drivers that lose a device have given up long before.
const CALLBACK_TIME: Duration = Duration::from_secs(30);

/// A buffer with usage `MAP_READ` that a submission writes.
pub(crate) struct ReadBack {
    buffer: wgpu::Buffer,
    mapping: Arc<Mapping>,
}

impl ReadBack {
    pub(crate) fn new(buffer: wgpu::Buffer) -> Self {
        ReadBack { buffer, mapping: Arc::default() }
    }

    /// Asks for its bytes, once the submission is queued.
    pub(crate) fn start(&self) {
        let mapping = self.mapping.clone();
        self.buffer.map_async(wgpu::MapMode::Read, .., move |result| mapping.tell(result));
    }

    /// Its bytes, which must have been asked for. A thread that blocks must have waited for the submission.
    pub(crate) async fn bytes(&self, device: &DeviceState, waiting: Waiting) -> Result<wgpu::BufferView, BackendError> {
        let mapped = match waiting {
            Waiting::Blocking => self.mapping.wait().ok_or_else(|| device.error("what was read back did not come"))?,
            Waiting::Async => self.mapping.finished().await,
        };
        mapped.map_err(|error| device.error(error))?;
        self.buffer.get_mapped_range(..).map_err(|error| device.error(error))
    }
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
