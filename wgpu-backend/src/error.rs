//! Why there is no wgpu backend, or why its device failed.

use isopel_core::{BackendError, BackendErrorKind};

/// The backend's name in errors and on the command line.
pub(crate) const NAME: &str = "wgpu";

/// Why the wgpu backend could not be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WgpuUnavailable {
    /// No graphics driver offers an adapter.
    #[error("no GPU adapter was found ({0}); install a Vulkan, Metal or Direct3D 12 driver, or decode on the CPU")]
    NoAdapter(String),
    /// No adapter has the name that was asked for.
    #[error("no GPU adapter is called {wanted}; there are: {present}")]
    NoAdapterCalled {
        /// The name asked for.
        wanted: String,
        /// The adapters that there are.
        present: String,
    },
    /// The adapter gives no device.
    #[error("the adapter {adapter} gives no device: {message}")]
    NoDevice {
        /// The adapter's name and driver.
        adapter: String,
        /// What the driver said.
        message: String,
    },
    /// The caller's device was opened with limits that are too low.
    #[error(
        "the device on {adapter} binds {allowed} storage buffers per stage, {needed} are needed; \
         open it with wgpu's default limits"
    )]
    Limits {
        /// The adapter's name and driver.
        adapter: String,
        /// Storage buffers that the device binds.
        allowed: u32,
        /// Storage buffers that a stage needs.
        needed: u32,
    },
    /// The adapter computes wrong pixels.
    #[error("the adapter {adapter} fails the self-test ({message}); its driver is not usable")]
    SelfTest {
        /// The adapter's name and driver.
        adapter: String,
        /// What was wrong.
        message: String,
    },
}

pub(crate) fn failed(message: impl ToString) -> BackendError {
    BackendError { backend: NAME, kind: BackendErrorKind::Failed, message: message.to_string() }
}

pub(crate) fn lost(message: impl ToString) -> BackendError {
    BackendError { backend: NAME, kind: BackendErrorKind::DeviceLost, message: message.to_string() }
}

/// Whether a device is lost. The callback that tells belongs to whoever opened the device; but memory that was asked
/// for and is not there, without any error, is missing for this reason alone.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn is_lost(device: &wgpu::Device) -> bool {
    let scopes = ERROR_FILTERS.map(|filter| device.push_error_scope(filter));
    let buffer = device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("jpeg.probe"),
        size: 8,
        usage: wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC,
        mapped_at_creation: true,
    });
    let missing = buffer.get_mapped_range_mut(..).is_err();
    let errors = scopes.into_iter().rev().map(|scope| pollster::block_on(scope.pop()));
    errors.fold(None, Option::or).is_none() && missing
}

/// All kinds of errors, for scopes that catch any.
pub(crate) const ERROR_FILTERS: [wgpu::ErrorFilter; 3] =
    [wgpu::ErrorFilter::Validation, wgpu::ErrorFilter::OutOfMemory, wgpu::ErrorFilter::Internal];

pub(crate) fn from_wgpu(error: wgpu::Error) -> BackendError {
    let kind = match error {
        wgpu::Error::OutOfMemory { .. } => BackendErrorKind::OutOfMemory,
        _ => BackendErrorKind::Failed,
    };
    BackendError { backend: NAME, kind, message: error.to_string() }
}
