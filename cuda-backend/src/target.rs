//! Where pixels go on a CUDA device, and what they come after.

#![allow(unsafe_code)]

use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, sys};
use isopel_core::{BackendError, MisuseError, PixelLayout};

use crate::context::CudaBackend;
use crate::driver::{Device, DeviceMemory, Event, Stream};

/// Keeps memory alive that is written to.
pub(crate) type Owner = Arc<dyn Any + Send + Sync>;

/// Memory of the device that a job's pixels are written to.
#[derive(Clone)]
pub struct CudaTarget {
    pub(crate) address: u64,
    len: usize,
    stride: Option<usize>,
    pub(crate) owner: Option<Owner>,
}

impl CudaTarget {
    /// Packed pixels at a device address, such as a tensor's `data_ptr()`; `len` bytes from there are theirs.
    ///
    /// # Safety
    /// The memory must be the backend's device's, and stay allocated until the submission's fence is done, however
    /// the submission is dropped. Until then nobody but the submission may write it, and what reads or writes it on
    /// the device must be among what the submission comes [after](crate::CudaAfter), or come after the fence.
    pub unsafe fn from_raw(address: u64, len: usize) -> Self {
        CudaTarget { address, len, stride: None, owner: None }
    }

    /// Memory of the backend's that it holds until the submission is done.
    pub(crate) fn leased(address: u64, len: usize) -> Self {
        CudaTarget { address, len, stride: None, owner: None }
    }

    /// Packed pixels at the start of a slice of cudarc's, which lives until they are written.
    ///
    /// cudarc's own tracking of reads and writes does not see the backend's: order them by
    /// [`CudaAfter`](crate::CudaAfter) and the fence.
    pub fn slice(slice: Arc<CudaSlice<u8>>) -> Self {
        let stream = slice.stream().clone();
        let (address, tracking) = slice.device_ptr(&stream);
        drop(tracking);
        CudaTarget { address, len: slice.len(), stride: None, owner: Some(slice) }
    }

    /// Packed pixels at the start of a buffer.
    pub fn buffer(buffer: &CudaBuffer) -> Self {
        let memory = buffer.0.clone();
        CudaTarget { address: memory.address(), len: memory.len(), stride: None, owner: Some(memory) }
    }

    /// The pixels begin so many bytes later.
    ///
    /// # Errors
    /// [`MisuseError::BufferTooShort`] if that is behind the memory's end.
    pub fn offset(mut self, bytes: usize) -> Result<Self, MisuseError> {
        let too_short = MisuseError::BufferTooShort { len: self.len, needed: bytes };
        self.len = self.len.checked_sub(bytes).ok_or(too_short)?;
        self.address += bytes as u64;
        Ok(self)
    }

    /// So many bytes from one row to the next.
    pub fn stride(mut self, bytes: usize) -> Self {
        self.stride = Some(bytes);
        self
    }

    /// The layout there, if the pixels fit.
    pub(crate) fn layout(&self, packed: &PixelLayout) -> Result<PixelLayout, MisuseError> {
        let layout = match self.stride {
            Some(stride) => packed.clone().with_stride(stride)?,
            None => packed.clone(),
        };
        let needed = layout.required_len();
        if self.len < needed { Err(MisuseError::BufferTooShort { len: self.len, needed }) } else { Ok(layout) }
    }
}

impl fmt::Debug for CudaTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CudaTarget")
            .field("address", &format_args!("{:#x}", self.address))
            .field("len", &self.len)
            .field("stride", &self.stride)
            .finish_non_exhaustive()
    }
}

/// Device memory that isopel allocated. Clones are the same memory, which is freed with the last of them, but not
/// before submissions have written it.
#[derive(Debug, Clone)]
pub struct CudaBuffer(Arc<DeviceMemory>);

impl CudaBuffer {
    /// Allocates `len` bytes. Their contents are unspecified.
    ///
    /// # Errors
    /// If the device has no memory left.
    pub fn new(backend: &CudaBackend, len: usize) -> Result<Self, BackendError> {
        Ok(CudaBuffer(Arc::new(DeviceMemory::new(backend.device(), len)?)))
    }

    /// Allocates `len` bytes in the order of a stream of the caller's: for what the stream is given from now on, and
    /// freed, once the last clone is dropped, behind what it holds then. Nothing waits. A submission to it has to come
    /// [after](crate::CudaAfter) that stream.
    ///
    /// # Errors
    /// If the device has no memory left, or no stream-ordered memory.
    pub fn on_stream(backend: &CudaBackend, len: usize, stream: Arc<CudaStream>) -> Result<Self, BackendError> {
        Ok(CudaBuffer(Arc::new(DeviceMemory::on_stream(backend.device(), len, stream)?)))
    }

    /// The device address.
    pub fn address(&self) -> u64 {
        self.0.address()
    }

    /// Bytes in it.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Copies to the host from `offset` on. Blocks. Wait for the fence of whoever writes the buffer first.
    ///
    /// # Errors
    /// [`BackendError`] if the device fails.
    ///
    /// # Panics
    /// If the range is not inside the buffer.
    pub fn read(&self, offset: usize, bytes: &mut [u8]) -> Result<(), BackendError> {
        self.0.read(offset, bytes)
    }
}

/// A stream of the caller's.
#[derive(Clone)]
pub struct CallerStream {
    raw: sys::CUstream,
    /// Keeps a stream of cudarc's alive.
    _owner: Option<Arc<CudaStream>>,
}

// SAFETY: the driver's calls on streams may come from any thread.
unsafe impl Send for CallerStream {}
// SAFETY: as above.
unsafe impl Sync for CallerStream {}

impl CallerStream {
    /// The legacy default stream of the backend's device.
    pub const DEFAULT: CallerStream = CallerStream { raw: std::ptr::null_mut(), _owner: None };

    /// A `CUstream` or `cudaStream_t`, such as `torch.cuda.current_stream().cuda_stream`.
    ///
    /// # Safety
    /// The stream must be the backend's device's and stay alive during each call that it is handed to.
    pub unsafe fn from_raw(stream: *mut c_void) -> Self {
        CallerStream { raw: stream.cast(), _owner: None }
    }

    pub(crate) fn raw(&self) -> sys::CUstream {
        self.raw
    }

    /// An event behind all that the stream holds now.
    pub(crate) fn record(&self, device: &Arc<Device>) -> Result<Event, BackendError> {
        let event = Event::new(device)?;
        // SAFETY: whoever made `self` vouched for the stream, or it is owned.
        unsafe { event.record_on(self.raw) }?;
        Ok(event)
    }

    pub(crate) fn synchronize(&self, device: &Device) -> Result<(), BackendError> {
        // SAFETY: whoever made `self` vouched for the stream, or it is owned.
        unsafe { crate::driver::synchronize(device, self.raw) }
    }
}

impl From<Arc<CudaStream>> for CallerStream {
    fn from(stream: Arc<CudaStream>) -> Self {
        CallerStream { raw: stream.cu_stream(), _owner: Some(stream) }
    }
}

impl fmt::Debug for CallerStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CallerStream").field(&self.raw).finish()
    }
}

/// An event of the caller's.
#[derive(Clone, Copy)]
pub struct CallerEvent(sys::CUevent);

// SAFETY: the driver's calls on events may come from any thread.
unsafe impl Send for CallerEvent {}
// SAFETY: as above.
unsafe impl Sync for CallerEvent {}

impl CallerEvent {
    /// A `CUevent` or `cudaEvent_t` that has been recorded.
    ///
    /// # Safety
    /// The event must be the backend's device's and stay alive during the call that it is handed to.
    pub unsafe fn from_raw(event: *mut c_void) -> Self {
        CallerEvent(event.cast())
    }

    pub(crate) fn address(&self) -> usize {
        self.0.addr()
    }

    pub(crate) fn wait(&self, device: &Device) -> Result<(), BackendError> {
        // SAFETY: whoever made `self` vouched for the event.
        unsafe { crate::driver::wait_on_host(device, self.0) }
    }

    /// Makes a stream of the backend's wait for it.
    pub(crate) fn hold_back(&self, device: &Device, stream: &Stream) -> Result<(), BackendError> {
        // SAFETY: whoever made `self` vouched for the event, and the stream is alive.
        unsafe { crate::driver::wait_for(device, stream.raw(), self.0) }
    }
}

impl fmt::Debug for CallerEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CallerEvent").field(&self.0).finish()
    }
}
