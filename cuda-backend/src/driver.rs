//! The device's primary context, and what belongs to it: streams, events, memory. All of it may be used and dropped on
//! any thread, whichever context is current there; the thread's own context is current again afterwards.

#![allow(unsafe_code)]

use std::ffi::c_void;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::sys::{self, CUdevice_attribute_enum as Attribute, CUevent_flags_enum as EventFlags};
use cudarc::driver::{CudaContext, CudaStream, DriverError, result};
use isopel_core::BackendError;

use crate::error::{CudaUnavailable, from_driver};

/// A device and its primary context, which nvJPEG and PyTorch use too.
#[derive(Debug)]
pub(crate) struct Device {
    context: Arc<CudaContext>,
    name: String,
    compute_capability: (i32, i32),
    memory: usize,
}

impl Device {
    pub(crate) fn open(ordinal: usize) -> Result<Arc<Device>, CudaUnavailable> {
        if !is_driver_present() {
            return Err(CudaUnavailable::NoDriver("libcuda is not there"));
        }
        let failed = |error: DriverError| CudaUnavailable::Device { device: ordinal, message: error.to_string() };
        let present = device_count().map_err(|_| CudaUnavailable::NoDriver("libcuda does not start"))?;
        if ordinal >= present {
            return Err(CudaUnavailable::NoDevice { wanted: ordinal, present });
        }
        let saved = result::ctx::get_current().map_err(failed)?;
        let context = CudaContext::new(ordinal).map_err(failed)?;
        // SAFETY: the context that was current before `CudaContext::new` made its own so.
        unsafe { result::ctx::set_current(saved.unwrap_or(std::ptr::null_mut())) }.map_err(failed)?;
        let device = Device {
            name: context.name().map_err(failed)?,
            compute_capability: {
                let number = |attribute| {
                    // SAFETY: the device is a valid one.
                    unsafe { result::device::get_attribute(context.cu_device(), attribute) }.map_err(failed)
                };
                (
                    number(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
                    number(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
                )
            },
            memory: context.total_mem().map_err(failed)?,
            context,
        };
        Ok(Arc::new(device))
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn compute_capability(&self) -> (i32, i32) {
        self.compute_capability
    }

    /// Bytes of device memory.
    pub(crate) fn memory(&self) -> usize {
        self.memory
    }

    pub(crate) fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// Makes the context current until the guard is dropped.
    pub(crate) fn enter(&self) -> Result<Current, DriverError> {
        // SAFETY: the context lives as long as `self.context`, which the guard does not outlive in this crate.
        unsafe { sys::cuCtxPushCurrent_v2(self.context.cu_ctx()) }.result()?;
        Ok(Current { _not_send: std::marker::PhantomData })
    }
}

/// While it lives, a context is current on this thread.
pub(crate) struct Current {
    _not_send: std::marker::PhantomData<*const ()>,
}

impl Drop for Current {
    fn drop(&mut self) {
        let mut popped = std::ptr::null_mut();
        // SAFETY: pops what `enter` pushed on this thread.
        let _ = unsafe { sys::cuCtxPopCurrent_v2(&mut popped) };
    }
}

pub(crate) fn is_driver_present() -> bool {
    // SAFETY: only tries to load the library.
    unsafe { sys::is_culib_present() }
}

/// Devices that the driver shows. The driver must be present.
pub(crate) fn device_count() -> Result<usize, DriverError> {
    Ok(CudaContext::device_count()?.max(0) as usize)
}

/// A stream that does not synchronise with the legacy default stream.
#[derive(Debug)]
pub(crate) struct Stream {
    raw: sys::CUstream,
    device: Arc<Device>,
}

// SAFETY: the driver's calls on streams may come from any thread.
unsafe impl Send for Stream {}
// SAFETY: as above; the driver locks.
unsafe impl Sync for Stream {}

impl Stream {
    pub(crate) fn new(device: &Arc<Device>) -> Result<Stream, BackendError> {
        let create = || {
            let _current = device.enter()?;
            result::stream::create(result::stream::StreamKind::NonBlocking)
        };
        Ok(Stream { raw: create().map_err(|error| from_driver("creating a stream", error))?, device: device.clone() })
    }

    pub(crate) fn raw(&self) -> sys::CUstream {
        self.raw
    }

    pub(crate) fn wait_for(&self, event: &Event) -> Result<(), BackendError> {
        // SAFETY: both are alive.
        unsafe { wait_for(&self.device, self.raw, event.raw) }
    }

    /// An event behind all that is queued on this stream.
    pub(crate) fn record(&self) -> Result<Event, BackendError> {
        let event = Event::new(&self.device)?;
        // SAFETY: both are alive.
        unsafe { event.record_on(self.raw) }?;
        Ok(event)
    }

    pub(crate) fn synchronize(&self) -> Result<(), BackendError> {
        // SAFETY: the stream is alive.
        unsafe { synchronize(&self.device, self.raw) }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Ok(_current) = self.device.enter() {
            // SAFETY: created by `new` and not used again; the driver finishes queued work.
            let _ = unsafe { result::stream::destroy(self.raw) };
        }
    }
}

/// Makes a stream wait for an event.
///
/// # Safety
/// Both must be alive.
pub(crate) unsafe fn wait_for(device: &Device, stream: sys::CUstream, event: sys::CUevent) -> Result<(), BackendError> {
    let wait = || {
        let _current = device.enter()?;
        // SAFETY: the caller vouches for both.
        unsafe { result::stream::wait_event(stream, event, sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT) }
    };
    wait().map_err(|error| from_driver("making a stream wait for an event", error))
}

/// Blocks until a stream's work is done.
///
/// # Safety
/// The stream must be alive.
pub(crate) unsafe fn synchronize(device: &Device, stream: sys::CUstream) -> Result<(), BackendError> {
    let synchronize = || {
        let _current = device.enter()?;
        // SAFETY: the caller vouches for the stream.
        unsafe { result::stream::synchronize(stream) }
    };
    synchronize().map_err(|error| from_driver("waiting for a stream", error))
}

/// Blocks until the work before an event is done.
///
/// # Safety
/// The event must be alive.
pub(crate) unsafe fn wait_on_host(device: &Device, event: sys::CUevent) -> Result<(), BackendError> {
    let wait = || {
        let _current = device.enter()?;
        // SAFETY: the caller vouches for the event.
        unsafe { result::event::synchronize(event) }
    };
    wait().map_err(|error| from_driver("waiting for an event", error))
}

/// A point in a stream's work.
#[derive(Debug)]
pub(crate) struct Event {
    raw: sys::CUevent,
    device: Arc<Device>,
}

// SAFETY: the driver's calls on events may come from any thread.
unsafe impl Send for Event {}
// SAFETY: as above; the driver locks.
unsafe impl Sync for Event {}

impl Event {
    pub(crate) fn new(device: &Arc<Device>) -> Result<Event, BackendError> {
        let create = || {
            let _current = device.enter()?;
            let flags = EventFlags::CU_EVENT_DISABLE_TIMING as u32 | EventFlags::CU_EVENT_BLOCKING_SYNC as u32;
            let mut raw = std::ptr::null_mut();
            // SAFETY: writes one handle.
            unsafe { sys::cuEventCreate(&mut raw, flags) }.result()?;
            Ok(raw)
        };
        let raw = create().map_err(|error| from_driver("creating an event", error))?;
        Ok(Event { raw, device: device.clone() })
    }

    pub(crate) fn raw(&self) -> sys::CUevent {
        self.raw
    }

    /// Records this event behind all that is queued on a stream.
    ///
    /// # Safety
    /// The stream must be alive and of this device.
    pub(crate) unsafe fn record_on(&self, stream: sys::CUstream) -> Result<(), BackendError> {
        let record = || {
            let _current = self.device.enter()?;
            // SAFETY: the event is alive, and the caller vouches for the stream.
            unsafe { result::event::record(self.raw, stream) }
        };
        record().map_err(|error| from_driver("recording an event", error))
    }

    /// Whether the work before it is done.
    pub(crate) fn is_done(&self) -> Result<bool, BackendError> {
        let query = || {
            let _current = self.device.enter()?;
            // SAFETY: the event is alive.
            match unsafe { result::event::query(self.raw) } {
                Ok(()) => Ok(true),
                Err(error) if error.0 == sys::CUresult::CUDA_ERROR_NOT_READY => Ok(false),
                Err(error) => Err(error),
            }
        };
        query().map_err(|error| from_driver("the work on the device", error))
    }

    /// Blocks until the work before it is done.
    pub(crate) fn wait(&self) -> Result<(), BackendError> {
        // Not in a loop: threads that ask over and over hold up those that have work for the driver.
        let wait = || {
            let _current = self.device.enter()?;
            // SAFETY: the event is alive.
            unsafe { result::event::synchronize(self.raw) }
        };
        wait().map_err(|error| from_driver("the work on the device", error))
    }

    /// Blocks until the work before it is done, or until `deadline`; tells which.
    pub(crate) fn wait_until(&self, deadline: Instant) -> Result<bool, BackendError> {
        while !self.is_done()? {
            if Instant::now() >= deadline {
                return Ok(false);
            }
            std::thread::sleep(Duration::from_micros(50));
        }
        Ok(true)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if let Ok(_current) = self.device.enter() {
            // SAFETY: created by `new` and not used again.
            let _ = unsafe { result::event::destroy(self.raw) };
        }
    }
}

/// A point in a stream's work whose time the device notes.
#[derive(Debug)]
pub(crate) struct TimedEvent(Event);

impl TimedEvent {
    /// Behind all that is queued on a stream.
    pub(crate) fn record(stream: &Stream) -> Result<TimedEvent, BackendError> {
        let create = || {
            let _current = stream.device.enter()?;
            result::event::create(EventFlags::CU_EVENT_DEFAULT)
        };
        let raw = create().map_err(|error| from_driver("creating an event", error))?;
        let event = Event { raw, device: stream.device.clone() };
        // SAFETY: both are alive.
        unsafe { event.record_on(stream.raw) }?;
        Ok(TimedEvent(event))
    }

    /// From an earlier event of the same stream to this one. The work before both must be done.
    pub(crate) fn since(&self, earlier: &TimedEvent) -> Result<Duration, BackendError> {
        let elapsed = || {
            let _current = self.0.device.enter()?;
            // SAFETY: both are alive and done.
            unsafe { result::event::elapsed(earlier.0.raw, self.0.raw) }
        };
        let milliseconds = elapsed().map_err(|error| from_driver("the time between two events", error))?;
        Ok(Duration::from_secs_f64(f64::from(milliseconds.max(0.0)) / 1e3))
    }
}

/// Memory of the device.
#[derive(Debug)]
pub(crate) struct DeviceMemory {
    address: sys::CUdeviceptr,
    len: usize,
    device: Arc<Device>,
    /// The stream in whose order it was allocated and will be freed.
    stream: Option<Arc<CudaStream>>,
}

impl DeviceMemory {
    pub(crate) fn new(device: &Arc<Device>, len: usize) -> Result<DeviceMemory, BackendError> {
        let allocate = || {
            let _current = device.enter()?;
            // SAFETY: a size above 0.
            unsafe { result::malloc_sync(len.max(1)) }
        };
        let address = allocate().map_err(|error| from_driver(&format!("allocating {len} bytes"), error))?;
        Ok(DeviceMemory { address, len, device: device.clone(), stream: None })
    }

    /// Memory that is there for what the stream is given from now on, until what it holds when this is dropped has run.
    pub(crate) fn on_stream(
        device: &Arc<Device>,
        len: usize,
        stream: Arc<CudaStream>,
    ) -> Result<DeviceMemory, BackendError> {
        let allocate = || {
            let _current = device.enter()?;
            // SAFETY: the stream is alive, and the size above 0.
            unsafe { result::malloc_async(stream.cu_stream(), len.max(1)) }
        };
        let address = allocate().map_err(|error| from_driver(&format!("allocating {len} bytes"), error))?;
        Ok(DeviceMemory { address, len, device: device.clone(), stream: Some(stream) })
    }

    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Copies from `offset` on to the host's memory. Whoever wrote there must be done.
    pub(crate) fn read(&self, offset: usize, bytes: &mut [u8]) -> Result<(), BackendError> {
        assert!(offset.checked_add(bytes.len()).is_some_and(|end| end <= self.len));
        let mut read = || {
            let _current = self.device.enter()?;
            // SAFETY: the range is inside this allocation.
            unsafe { result::memcpy_dtoh_sync(bytes, self.address + offset as u64) }
        };
        read().map_err(|error| from_driver("copying pixels to the host", error))
    }

    /// Queues a copy of `from`'s first `len` bytes to this memory's start. The host's memory must stay as it is until the
    /// copy ran.
    pub(crate) fn upload(&self, from: &PinnedMemory, len: usize, stream: &Stream) -> Result<(), BackendError> {
        self.upload_range(from, 0, 0, len, stream)
    }

    /// As [`upload`](Self::upload), of `len` bytes from `start` on, to `offset` in this memory.
    pub(crate) fn upload_range(
        &self,
        from: &PinnedMemory,
        start: usize,
        offset: usize,
        len: usize,
        stream: &Stream,
    ) -> Result<(), BackendError> {
        assert!(is_inside(offset, len, self.len) && is_inside(start, len, from.len));
        let upload = || {
            let _current = self.device.enter()?;
            // SAFETY: both ranges lie inside their allocations, which are leased until an event behind this copy.
            unsafe {
                let source = from.address.cast::<u8>().add(start).cast();
                sys::cuMemcpyHtoDAsync_v2(self.address + offset as u64, source, len, stream.raw)
            }
            .result()
        };
        upload().map_err(|error| from_driver("copying to the device", error))
    }

    /// Queues a copy of `len` bytes from `offset` in this memory on, to `start` in the host's, which nobody may read until
    /// it ran.
    pub(crate) fn download_range(
        &self,
        to: &PinnedMemory,
        start: usize,
        offset: usize,
        len: usize,
        stream: &Stream,
    ) -> Result<(), BackendError> {
        assert!(is_inside(offset, len, self.len) && is_inside(start, len, to.len));
        let download = || {
            let _current = self.device.enter()?;
            // SAFETY: both ranges lie inside their allocations, which are leased until an event behind this copy.
            unsafe {
                let target = to.address.cast::<u8>().add(start).cast();
                sys::cuMemcpyDtoHAsync_v2(target, self.address + offset as u64, len, stream.raw)
            }
            .result()
        };
        download().map_err(|error| from_driver("copying to the host", error))
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        if let Ok(_current) = self.device.enter() {
            let _ = match &self.stream {
                // SAFETY: allocated by `on_stream`; what still uses it was queued on that stream before.
                Some(stream) => unsafe { result::free_async(self.address, stream.cu_stream()) },
                // SAFETY: allocated by `new`; nobody uses it any more, and the driver waits for queued work.
                None => unsafe { result::free_sync(self.address) },
            };
        }
    }
}

/// Whether a range lies inside memory of `size` bytes.
fn is_inside(start: usize, len: usize, size: usize) -> bool {
    start.checked_add(len).is_some_and(|end| end <= size)
}

/// Memory of the host that the device copies from and to without another copy.
#[derive(Debug)]
pub(crate) struct PinnedMemory {
    address: *mut c_void,
    len: usize,
    device: Arc<Device>,
}

// SAFETY: plain memory; access follows the borrow of `self`.
unsafe impl Send for PinnedMemory {}
// SAFETY: as above.
unsafe impl Sync for PinnedMemory {}

impl PinnedMemory {
    pub(crate) fn new(device: &Arc<Device>, len: usize) -> Result<PinnedMemory, BackendError> {
        let allocate = || {
            let _current = device.enter()?;
            // SAFETY: a size above 0.
            let address = unsafe { result::malloc_host(len.max(1), sys::CU_MEMHOSTALLOC_PORTABLE) }?;
            // SAFETY: `len` bytes were allocated. Rust's slices must be initialised.
            unsafe { std::ptr::write_bytes(address.cast::<u8>(), 0, len) };
            Ok(address)
        };
        let address = allocate().map_err(|error| from_driver(&format!("pinning {len} bytes"), error))?;
        Ok(PinnedMemory { address, len, device: device.clone() })
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: `len` initialised bytes, borrowed as `self` is.
        unsafe { std::slice::from_raw_parts_mut(self.address.cast::<u8>(), self.len) }
    }
}

impl Drop for PinnedMemory {
    fn drop(&mut self) {
        if let Ok(_current) = self.device.enter() {
            // SAFETY: allocated by `new`; no copy from it is queued any more.
            let _ = unsafe { result::free_host(self.address) };
        }
    }
}
