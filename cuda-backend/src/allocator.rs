//! Memory for nvJPEG's own use, taken and given back in stream order: plain allocation would wait for all work on the
//! device, the caller's included, whenever a state grows.

#![allow(unsafe_code)]

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::{DriverError, result, sys};
use isopel_core::BackendError;
use isopel_nvjpeg_sys::{cudaStream_t, nvjpegDevAllocatorV2_t, nvjpegPinnedAllocatorV2_t};

use crate::driver::{Device, Event, Stream};

/// Serves one handle of nvJPEG's. Must outlive it.
#[derive(Debug)]
pub(crate) struct Allocator {
    /// Allocations are ordered on it, and nothing else is: they never wait.
    stream: Stream,
    /// Pinned memory is kept, since freeing it waits for the device.
    pinned: Mutex<Pinned>,
    device: Arc<Device>,
}

/// Addresses of pinned memory.
#[derive(Debug, Default)]
struct Pinned {
    /// Sizes of all pieces.
    sizes: HashMap<usize, usize>,
    /// Pieces that nvJPEG gave back, usable once the work before the event is done.
    free: Vec<(usize, Event)>,
}

const OK: c_int = 0;
/// `cudaErrorMemoryAllocation`.
const OUT_OF_MEMORY: c_int = 2;

impl Allocator {
    /// Boxed, since nvJPEG keeps its address.
    pub(crate) fn new(device: &Arc<Device>) -> Result<Box<Allocator>, BackendError> {
        let stream = Stream::new(device)?;
        Ok(Box::new(Allocator { stream, pinned: Mutex::default(), device: device.clone() }))
    }

    /// What nvJPEG calls for device memory.
    pub(crate) fn for_device(&self) -> nvjpegDevAllocatorV2_t {
        nvjpegDevAllocatorV2_t {
            dev_malloc: Some(allocate_device),
            dev_free: Some(free_device),
            dev_ctx: (&raw const *self).cast_mut().cast(),
        }
    }

    /// What nvJPEG calls for pinned memory.
    pub(crate) fn for_pinned(&self) -> nvjpegPinnedAllocatorV2_t {
        nvjpegPinnedAllocatorV2_t {
            pinned_malloc: Some(allocate_pinned),
            pinned_free: Some(free_pinned),
            pinned_ctx: (&raw const *self).cast_mut().cast(),
        }
    }

    fn allocate(&self, len: usize) -> Result<sys::CUdeviceptr, DriverError> {
        let _current = self.device.enter()?;
        // SAFETY: the stream is alive; the address is used once the allocation has run, which is waited for.
        let address = unsafe { result::malloc_async(self.stream.raw(), len.max(1)) }?;
        // SAFETY: the stream is alive.
        unsafe { result::stream::synchronize(self.stream.raw()) }?;
        Ok(address)
    }

    fn allocate_pinned(&self, len: usize) -> Result<usize, DriverError> {
        let mut pinned = self.pinned.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |size: usize| size >= len && size / 4 <= len.max(1 << 16);
        let is_usable = |(address, event): &(usize, Event)| {
            pinned.sizes.get(address).is_some_and(|&size| fits(size)) && event.is_done().unwrap_or(false)
        };
        if let Some(place) = pinned.free.iter().position(is_usable) {
            return Ok(pinned.free.swap_remove(place).0);
        }
        let size = len.next_power_of_two().max(1 << 16);
        let _current = self.device.enter()?;
        // SAFETY: a size above 0.
        let address = unsafe { result::malloc_host(size, sys::CU_MEMHOSTALLOC_PORTABLE) }? as usize;
        pinned.sizes.insert(address, size);
        Ok(address)
    }

    /// Without a stream nobody knows when its copies are done, and the piece is kept until the end.
    fn free_pinned(&self, address: usize, stream: cudaStream_t) -> Result<(), BackendError> {
        if stream == cudaStream_t::NULL {
            return Ok(());
        }
        let event = Event::new(&self.device)?;
        // SAFETY: nvJPEG gives a stream that it was given.
        unsafe { event.record_on(stream.0.cast()) }?;
        let mut pinned = self.pinned.lock().unwrap_or_else(PoisonError::into_inner);
        pinned.free.push((address, event));
        Ok(())
    }
}

impl Drop for Allocator {
    fn drop(&mut self) {
        let pinned = std::mem::take(&mut *self.pinned.lock().unwrap_or_else(PoisonError::into_inner));
        if let Ok(_current) = self.device.enter() {
            for address in pinned.sizes.into_keys() {
                // SAFETY: allocated by `allocate_pinned`, and the handle that used it is gone.
                let _ = unsafe { result::free_host(address as *mut c_void) };
            }
        }
    }
}

/// Tells nvJPEG what was allocated, if anything was.
///
/// # Safety
/// `address` must be writable.
unsafe fn hand_over(allocated: Result<*mut c_void, DriverError>, address: *mut *mut c_void) -> c_int {
    let Ok(allocated) = allocated else { return OUT_OF_MEMORY };
    // SAFETY: the caller's promise.
    unsafe { address.write(allocated) };
    OK
}

unsafe extern "C" fn allocate_device(
    context: *mut c_void,
    address: *mut *mut c_void,
    len: usize,
    _stream: cudaStream_t,
) -> c_int {
    // SAFETY: nvJPEG hands back the address of the allocator that it was given, which outlives the handle.
    let allocator = unsafe { &*context.cast::<Allocator>() };
    // SAFETY: nvJPEG gives a place for the result.
    unsafe { hand_over(allocator.allocate(len).map(|allocated| allocated as *mut c_void), address) }
}

unsafe extern "C" fn free_device(
    context: *mut c_void,
    address: *mut c_void,
    _len: usize,
    stream: cudaStream_t,
) -> c_int {
    // SAFETY: as in `allocate_device`.
    let allocator = unsafe { &*context.cast::<Allocator>() };
    let Ok(_current) = allocator.device.enter() else { return OUT_OF_MEMORY };
    // nvJPEG may still use it on its stream; without one it is done with it.
    let stream = if stream == cudaStream_t::NULL { allocator.stream.raw() } else { stream.0.cast() };
    // SAFETY: allocated by `allocate_device`, and freed behind nvJPEG's own work.
    match unsafe { result::free_async(address as sys::CUdeviceptr, stream) } {
        Ok(()) => OK,
        Err(_) => OUT_OF_MEMORY,
    }
}

unsafe extern "C" fn allocate_pinned(
    context: *mut c_void,
    address: *mut *mut c_void,
    len: usize,
    _stream: cudaStream_t,
) -> c_int {
    // SAFETY: as in `allocate_device`.
    let allocator = unsafe { &*context.cast::<Allocator>() };
    // SAFETY: nvJPEG gives a place for the result.
    unsafe { hand_over(allocator.allocate_pinned(len).map(|allocated| allocated as *mut c_void), address) }
}

unsafe extern "C" fn free_pinned(
    context: *mut c_void,
    address: *mut c_void,
    _len: usize,
    stream: cudaStream_t,
) -> c_int {
    // SAFETY: as in `allocate_device`.
    let allocator = unsafe { &*context.cast::<Allocator>() };
    if allocator.free_pinned(address as usize, stream).is_ok() { OK } else { OUT_OF_MEMORY }
}
