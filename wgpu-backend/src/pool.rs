//! GPU buffers that are kept for the next submission. All work is on one queue, so a buffer may be written again
//! as soon as the submission that read it is queued: the queue keeps the order.

use std::sync::{Arc, Mutex};

/// Keeps buffers of one usage.
pub(crate) struct BufferPool {
    label: &'static str,
    usage: wgpu::BufferUsages,
    free: Mutex<Vec<wgpu::Buffer>>,
}

impl BufferPool {
    /// Buffers kept, for as many threads that submit; more are dropped, smallest first.
    const KEPT: usize = 8;

    pub(crate) fn new(label: &'static str, usage: wgpu::BufferUsages) -> Self {
        BufferPool { label, usage, free: Mutex::default() }
    }

    /// A buffer of at least `size` bytes: the smallest that is free and not far too large, or a new one.
    pub(crate) fn take(&self, device: &wgpu::Device, size: u64) -> wgpu::Buffer {
        let mut free = self.free.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let fitting = (0..free.len()).filter(|&index| free[index].size() >= size && free[index].size() / 4 <= size);
        match fitting.min_by_key(|&index| free[index].size()) {
            Some(index) => free.swap_remove(index),
            None => device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(self.label),
                // Powers of two, so that similar pictures share buffers.
                size: size.next_power_of_two().min(device.limits().max_buffer_size).max(size),
                usage: self.usage,
                mapped_at_creation: false,
            }),
        }
    }

    /// Takes a buffer back after the submission that uses it.
    pub(crate) fn put(&self, buffer: wgpu::Buffer) {
        let mut free = self.free.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        free.push(buffer);
        if free.len() > Self::KEPT {
            free.sort_by_key(wgpu::Buffer::size);
            free.remove(0);
        }
    }
}

/// Host memory that the GPU copies from. A buffer comes back mapped once the GPU has read it.
pub(crate) struct StagingPool {
    free: Arc<Mutex<Vec<wgpu::Buffer>>>,
}

impl StagingPool {
    /// Buffers kept: for a submission being prepared, and those in flight.
    const KEPT: usize = 96;

    pub(crate) fn new() -> Self {
        StagingPool { free: Arc::default() }
    }

    /// A mapped buffer of at least `size` bytes.
    pub(crate) fn take(&self, device: &wgpu::Device, size: u64) -> wgpu::Buffer {
        let mut free = self.free.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let fitting = (0..free.len()).filter(|&index| free[index].size() >= size && free[index].size() / 8 <= size);
        match fitting.min_by_key(|&index| free[index].size()) {
            Some(index) => free.swap_remove(index),
            None => device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("jpeg.staging"),
                size: size.next_power_of_two().min(device.limits().max_buffer_size).max(size).next_multiple_of(8),
                usage: wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC,
                mapped_at_creation: true,
            }),
        }
    }

    /// Takes a buffer back after the submission that copies from it; it is mapped again when that is done.
    pub(crate) fn put(&self, buffer: wgpu::Buffer) {
        let free = self.free.clone();
        let mapped = buffer.clone();
        buffer.map_async(wgpu::MapMode::Write, .., move |result| {
            let mut free = free.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            if result.is_ok() && free.len() < Self::KEPT {
                free.push(mapped);
            }
        });
    }
}
