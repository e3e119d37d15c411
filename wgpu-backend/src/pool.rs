//! GPU buffers that are kept for the next submission. All work is on one queue, so a buffer may be written again
//! as soon as the submission that read it is queued: the queue keeps the order.

use std::sync::Mutex;

/// Keeps buffers of one usage.
pub(crate) struct BufferPool {
    label: &'static str,
    usage: wgpu::BufferUsages,
    free: Mutex<Vec<wgpu::Buffer>>,
}

impl BufferPool {
    /// Buffers kept; more are dropped, smallest first.
    const KEPT: usize = 4;

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
