//! Submissions to CPU threads.

use std::sync::{Arc, Mutex, MutexGuard};

use super::fence::{CpuFence, CpuSignal};
use crate::backend::{Backend, Capabilities, Job, Outcome, OutcomeSlots, Submission, contained};
use crate::codestream::Codestream;
use crate::error::{Error, MisuseError};
use crate::outcome::Report;
use crate::plan::DecodePlan;

/// Memory of the host that a submission may write while others hold it too. Clones are the same memory.
///
/// The lock keeps single accesses whole; which access comes first is the fences' business.
#[derive(Debug, Clone, Default)]
pub struct HostBuffer(Arc<Mutex<Vec<u8>>>);

impl HostBuffer {
    /// A buffer with these bytes.
    pub fn new(bytes: Vec<u8>) -> Self {
        HostBuffer(Arc::new(Mutex::new(bytes)))
    }

    /// The bytes, until the guard is dropped.
    pub fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Where a job's pixels go in a [`HostBuffer`].
#[derive(Debug, Clone)]
pub struct HostTarget {
    /// The memory.
    pub buffer: HostBuffer,
    /// Byte offset of the first pixel.
    pub offset: usize,
    /// Bytes from one row to the next; `None` for packed rows.
    pub stride: Option<usize>,
}

impl HostTarget {
    /// Packed pixels at the buffer's start.
    pub fn packed(buffer: HostBuffer) -> Self {
        HostTarget { buffer, offset: 0, stride: None }
    }
}

/// Decodes on a pool of threads; on wasm32 on the calling thread.
///
/// ```
/// use isopel_core::cpu::{CpuBackend, CpuFence, HostBuffer, HostTarget};
/// use isopel_core::{Backend, DecodeOptions, Job};
/// # let bytes = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../samples/gray.jpg")).unwrap();
/// let backend = CpuBackend::new(2);
/// let buffer = HostBuffer::new(vec![0; 640 * 480 * 3]);
/// let target = HostTarget::packed(buffer.clone());
/// let job = Job { jpeg: bytes.into(), options: DecodeOptions::default(), target };
/// let outcomes = backend.submit(vec![job], vec![CpuFence::finished()]).wait();
/// assert_eq!(outcomes[0].result.as_ref().unwrap().valid_rows, 480);
/// ```
#[derive(Debug)]
pub struct CpuBackend {
    #[cfg(not(target_arch = "wasm32"))]
    pool: Arc<rayon::ThreadPool>,
    capabilities: Capabilities,
    before_edge: bool,
}

impl CpuBackend {
    /// A backend with `threads` threads; 0 for as many as there are cores.
    pub fn new(threads: usize) -> Self {
        #[cfg(not(target_arch = "wasm32"))]
        {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .thread_name(|index| format!("isopel-cpu-{index}"))
                .build()
                .expect("the operating system gives threads");
            let capabilities = Capabilities::new("cpu", true, pool.current_num_threads());
            CpuBackend { pool: Arc::new(pool), capabilities, before_edge: true }
        }
        #[cfg(target_arch = "wasm32")]
        {
            let _ = threads;
            CpuBackend { capabilities: Capabilities::new("cpu", true, 1), before_edge: true }
        }
    }

    /// For the negative control of ordering tests: a backend that ignores `after`, as no backend may.
    #[doc(hidden)]
    pub fn without_before_edge(threads: usize) -> Self {
        CpuBackend { before_edge: false, ..CpuBackend::new(threads) }
    }

    /// Runs `work` on this backend's threads, where parallel iterators over borrowed data spread over them.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.pool.install(work)
    }
}

impl Backend for CpuBackend {
    type Target = HostTarget;
    type After = Vec<CpuFence>;
    type Fence = CpuFence;

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn submit(&self, jobs: Vec<Job<HostTarget>>, after: Vec<CpuFence>) -> Submission<CpuFence> {
        let (signal, fence) = CpuSignal::new();
        let outcomes = OutcomeSlots::default();
        let start = {
            let outcomes = outcomes.clone();
            #[cfg(not(target_arch = "wasm32"))]
            let pool = self.pool.clone();
            // Signals when the last job lets go of it.
            let signal = Arc::new(signal);
            move || {
                // One image may have all threads; several images have one each.
                let alone = jobs.len() == 1;
                for (index, job) in jobs.into_iter().enumerate() {
                    let (outcomes, signal) = (outcomes.clone(), signal.clone());
                    let work = move || {
                        outcomes.put(Outcome { index, result: contained(|| run(job, alone)) });
                        drop(signal);
                    };
                    #[cfg(not(target_arch = "wasm32"))]
                    pool.spawn_fifo(work);
                    #[cfg(target_arch = "wasm32")]
                    work();
                }
            }
        };
        when_all_done(if self.before_edge { after } else { Vec::new() }, Box::new(start));
        Submission::new(fence, outcomes)
    }
}

/// Calls `action` once the last fence is done. No thread waits meanwhile: workers that waited for work queued
/// behind them would never wake.
fn when_all_done(mut fences: Vec<CpuFence>, action: Box<dyn FnOnce() + Send>) {
    match fences.pop() {
        None => action(),
        Some(fence) => fence.on_done(move || when_all_done(fences, action)),
    }
}

fn run(job: Job<HostTarget>, alone: bool) -> Result<Report, Error> {
    let codestream = Codestream::parse(&job.jpeg, &job.options.limits)?;
    let plan = DecodePlan::new(&codestream, &job.options)?;
    let layout = match job.target.stride {
        None => plan.layout().clone(),
        Some(stride) => plan.layout().clone().with_stride(stride)?,
    };
    let mut bytes = job.target.buffer.lock();
    let len = bytes.len();
    let offset = job.target.offset;
    let too_short = || MisuseError::BufferTooShort { len, needed: offset.saturating_add(layout.required_len()) };
    let output = bytes.get_mut(offset..).ok_or_else(too_short)?;
    if output.len() < layout.required_len() {
        return Err(too_short().into());
    }
    #[cfg(not(target_arch = "wasm32"))]
    if alone {
        return super::decode_parallel_into(&plan, &layout, output);
    }
    let _ = alone;
    super::decode_into(&plan, &layout, output)
}
