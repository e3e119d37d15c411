//! The GPU of this process, and its memory as tests fill and read it.

use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use isopel_wgpu::wgpu::{self, BufferUsages};
use isopel_wgpu::{EntropyDecoding, WgpuBackend, WgpuOptions};

use crate::backends::Required;

/// The one wgpu backend that the tests of a process share.
///
/// # Errors
/// Why there is none.
pub fn shared() -> Result<&'static WgpuBackend, String> {
    static SHARED: OnceLock<Result<WgpuBackend, String>> = OnceLock::new();
    SHARED.get_or_init(|| WgpuBackend::new().map_err(|error| error.to_string())).as_ref().map_err(String::clone)
}

/// One that the process shares as well, with entropy decoding in this place.
///
/// # Errors
/// Why there is none.
pub fn shared_with(entropy: EntropyDecoding) -> Result<&'static WgpuBackend, String> {
    static ON_CPU: OnceLock<Result<WgpuBackend, String>> = OnceLock::new();
    static ON_GPU: OnceLock<Result<WgpuBackend, String>> = OnceLock::new();
    let shared = match entropy {
        EntropyDecoding::Cpu => &ON_CPU,
        EntropyDecoding::Gpu => &ON_GPU,
        _ => return shared(),
    };
    let open =
        || WgpuBackend::with_options(&WgpuOptions::default().entropy(entropy)).map_err(|error| error.to_string());
    shared.get_or_init(open).as_ref().map_err(String::clone)
}

/// Whether a backend's driver computes on the CPU, where a submission takes milliseconds and a megapixel half a second.
pub fn is_software(backend: &WgpuBackend) -> bool {
    backend.adapter().device_type == wgpu::DeviceType::Cpu
}

/// [`shared`], for tests that need it; without it they say so and have nothing to do.
///
/// # Panics
/// If `ISOPEL_REQUIRE` names wgpu and there is none.
pub fn shared_or_explain() -> Option<&'static WgpuBackend> {
    shared().map_err(explain).ok()
}

/// A backend of the test's own.
///
/// # Panics
/// As [`shared_or_explain`].
pub fn open_or_explain(options: &WgpuOptions) -> Option<WgpuBackend> {
    WgpuBackend::with_options(options).map_err(|error| explain(error.to_string())).ok()
}

fn explain(reason: String) {
    println!("wgpu: not run: {reason}");
    let required = Required::from_env().unwrap_or_else(|error| panic!("{error}"));
    assert!(!required.contains("wgpu"), "ISOPEL_REQUIRE names wgpu, which did not run: {reason}");
}

/// A storage buffer that holds these bytes; their number must be a multiple of 4.
pub fn buffer(device: &wgpu::Device, bytes: &[u8]) -> wgpu::Buffer {
    let buffer = device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("test"),
        size: bytes.len() as u64,
        usage: BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST,
        mapped_at_creation: true,
    });
    buffer.get_mapped_range_mut(..).expect("it was mapped at creation").copy_from_slice(bytes);
    buffer.unmap();
    buffer
}

/// The bytes of a buffer, once everything that was queued before has run.
pub fn read(device: &wgpu::Device, queue: &wgpu::Queue, buffer: &wgpu::Buffer) -> Vec<u8> {
    read_all(device, queue, std::slice::from_ref(buffer)).remove(0)
}

/// The bytes of several buffers.
pub fn read_all(device: &wgpu::Device, queue: &wgpu::Queue, buffers: &[wgpu::Buffer]) -> Vec<Vec<u8>> {
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    let copy = |buffer: &wgpu::Buffer| {
        let staging = readable(device, buffer.size());
        encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, buffer.size());
        staging
    };
    let copies: Vec<_> = buffers.iter().map(copy).collect();
    queue.submit([encoder.finish()]);
    copies.iter().map(|staging| read_mapped(device, staging)).collect()
}

/// The packed pixels of a texture with four bytes each.
pub fn read_texture(device: &wgpu::Device, queue: &wgpu::Queue, texture: &wgpu::Texture) -> Vec<u8> {
    read_texture_rows(device, queue, texture, 0, texture.height())
}

/// Some rows of it.
pub fn read_texture_rows(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    texture: &wgpu::Texture,
    first_row: u32,
    rows: u32,
) -> Vec<u8> {
    let row_bytes = texture.width() * 4;
    let stride = row_bytes.next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
    let staging = readable(device, u64::from(stride) * u64::from(rows));
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    let origin = wgpu::Origin3d { y: first_row, ..wgpu::Origin3d::ZERO };
    let source = wgpu::TexelCopyTextureInfo { origin, ..texture.as_image_copy() };
    let destination = wgpu::TexelCopyBufferInfo {
        buffer: &staging,
        layout: wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(stride), rows_per_image: None },
    };
    encoder.copy_texture_to_buffer(source, destination, wgpu::Extent3d { height: rows, ..texture.size() });
    queue.submit([encoder.finish()]);
    let bytes = read_mapped(device, &staging);
    bytes.chunks_exact(stride as usize).flat_map(|row| &row[..row_bytes as usize]).copied().collect()
}

fn readable(device: &wgpu::Device, size: u64) -> wgpu::Buffer {
    device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("test read-back"),
        size,
        usage: BufferUsages::MAP_READ | BufferUsages::COPY_DST,
        mapped_at_creation: false,
    })
}

fn read_mapped(device: &wgpu::Device, staging: &wgpu::Buffer) -> Vec<u8> {
    staging.map_async(wgpu::MapMode::Read, .., |mapped| mapped.expect("the copy can be read"));
    device.poll(wgpu::PollType::wait_indefinitely()).expect("the device finishes its work");
    staging.get_mapped_range(..).expect("it is mapped").to_vec()
}

/// A device as a caller would open it: the preferred adapter, no features, these limits.
///
/// # Panics
/// As [`shared_or_explain`].
pub fn callers_device_or_explain(limits: wgpu::Limits) -> Option<(wgpu::Device, wgpu::Queue)> {
    // Never dropped, since NVIDIA's driver does not survive being unloaded: see the backend's own.
    static INSTANCE: OnceLock<wgpu::Instance> = OnceLock::new();
    let new_instance = || wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    let instance = INSTANCE.get_or_init(new_instance);
    let open = async {
        let request = wgpu::RequestAdapterOptions::default();
        let adapter = instance.request_adapter(&request).await.map_err(|error| error.to_string())?;
        let descriptor = wgpu::DeviceDescriptor { required_limits: limits, ..Default::default() };
        adapter.request_device(&descriptor).await.map_err(|error| error.to_string())
    };
    block_on(open).map_err(explain).ok()
}

/// A backend on such a device.
///
/// # Errors
/// Why it can't be.
pub fn try_on_callers_device(device: &wgpu::Device, queue: &wgpu::Queue) -> Result<WgpuBackend, String> {
    block_on(WgpuBackend::from_device(device.clone(), queue.clone(), 2)).map_err(|error| error.to_string())
}

/// A backend on such a device.
///
/// # Panics
/// If it can't be.
pub fn on_callers_device(device: &wgpu::Device, queue: &wgpu::Queue) -> WgpuBackend {
    try_on_callers_device(device, queue).unwrap_or_else(|error| panic!("{error}"))
}

/// A backend on a caller's device with the default limits.
///
/// # Panics
/// As [`shared_or_explain`].
pub fn callers_or_explain() -> Option<WgpuBackend> {
    let (device, queue) = callers_device_or_explain(wgpu::Limits::default())?;
    Some(on_callers_device(&device, &queue))
}

/// The smallest executor there is: runs a future on this thread, which sleeps until it is woken.
pub fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        thread::park();
    }
}
