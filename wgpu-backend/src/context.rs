//! The device: adapter, limits, pipelines, pools, and the self-test that a driver has to pass.

#[cfg(not(target_arch = "wasm32"))]
use std::sync::OnceLock;
use std::sync::{Arc, Mutex};

use isopel_core::{
    BackendError, Capabilities, Codestream, DecodeOptions, DecodePlan, Error, Orientation, OrientationPolicy,
    PixelFormat, Route, cpu,
};

use crate::error::{ERROR_FILTERS, NAME, WgpuUnavailable, failed, lost};
use crate::in_flight::Waiting;
use crate::pack_memory::PackMemory;
use crate::pipelines::Pipelines;
use crate::pool::{BufferPool, StagingPool};
use crate::staged::StagedMemory;
use crate::stages::{HUFFMAN_STAGES, STAGES, Stage};
use crate::submit::SubmitOptions;
use crate::tile::TileLimits;
use crate::upload::TableMemory;
use crate::wave::BindingLimits;

/// Where entropy decoding runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum EntropyDecoding {
    /// On the GPU where that is faster: not on adapters that compute on the CPU, and not for single small pictures.
    #[default]
    Auto,
    /// On the CPU.
    Cpu,
    /// On the GPU, for all pictures that are fit for it. Progressive, damaged and unusual files are not, and of those
    /// that look fit the CPU decodes again what the GPU flags. [`Report::route`](isopel_core::Report::route) tells.
    Gpu,
}

/// How to open a device.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct WgpuOptions {
    /// Only an adapter whose name contains this, in any case. Default: the adapter that wgpu prefers for high
    /// performance.
    pub adapter: Option<String>,
    /// Ask for no more than WebGPU's default limits, to see that they suffice.
    pub webgpu_defaults: bool,
    /// Threads for entropy decoding; 0 for as many as there are cores.
    pub threads: usize,
    /// Where entropy decoding runs.
    pub entropy: EntropyDecoding,
}

impl WgpuOptions {
    /// Only an adapter whose name contains `name`.
    pub fn adapter(mut self, name: impl Into<String>) -> Self {
        self.adapter = Some(name.into());
        self
    }

    /// No more than WebGPU's default limits.
    pub fn webgpu_defaults(mut self) -> Self {
        self.webgpu_defaults = true;
        self
    }

    /// Threads for entropy decoding.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Where entropy decoding runs.
    pub fn entropy(mut self, entropy: EntropyDecoding) -> Self {
        self.entropy = entropy;
        self
    }
}

/// Decodes on a GPU through wgpu, entropy decoding on the GPU or the CPU; the pixels are the CPU backend's to the byte.
///
/// ```no_run
/// use isopel_core::DecodeOptions;
/// use isopel_wgpu::WgpuBackend;
/// let backend = WgpuBackend::new()?;
/// println!("on {}", backend.adapter_name());
/// let image = backend.decode(&std::fs::read("photo.jpg")?, &DecodeOptions::default())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct WgpuBackend {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    adapter: wgpu::AdapterInfo,
    pub(crate) pipelines: Pipelines,
    pub(crate) pack_memory: PackMemory,
    pub(crate) table_memory: TableMemory,
    pub(crate) staging: StagingPool,
    pub(crate) uploads: BufferPool,
    pub(crate) planes: BufferPool,
    pub(crate) outputs: BufferPool,
    /// What passes of entropy decoding hand on, and the coefficients that they come to.
    pub(crate) scratch: BufferPool,
    pub(crate) coefficients: BufferPool,
    pub(crate) staged_memory: StagedMemory,
    pub(crate) entropy: EntropyDecoding,
    pub(crate) limits: BindingLimits,
    capabilities: Capabilities,
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) threads: cpu::CpuBackend,
    /// Set when the device is lost: what the driver said.
    lost: Arc<Mutex<Option<String>>>,
}

impl WgpuBackend {
    /// Opens the preferred adapter and tests it.
    ///
    /// # Errors
    /// [`WgpuUnavailable`] says what is missing, or that the driver computes wrong pixels.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn new() -> Result<Self, WgpuUnavailable> {
        Self::with_options(&WgpuOptions::default())
    }

    /// Opens an adapter and tests it.
    ///
    /// # Errors
    /// As [`WgpuBackend::new`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn with_options(options: &WgpuOptions) -> Result<Self, WgpuUnavailable> {
        pollster::block_on(Self::request(options))
    }

    /// Opens an adapter and tests it, without blocking.
    ///
    /// # Errors
    /// As [`WgpuBackend::new`].
    pub async fn request(options: &WgpuOptions) -> Result<Self, WgpuUnavailable> {
        let adapter = request_adapter(&instance(), options).await?;
        let limits = if options.webgpu_defaults { wgpu::Limits::default() } else { adapter.limits() };
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("isopel"),
            required_features: adapter.features() & wgpu::Features::TIMESTAMP_QUERY,
            required_limits: limits,
            ..Default::default()
        };
        let (device, queue) = adapter.request_device(&descriptor).await.map_err(|error| WgpuUnavailable::NoDevice {
            adapter: name_of(&adapter.get_info()),
            message: error.to_string(),
        })?;
        let lost: Arc<Mutex<Option<String>>> = Arc::default();
        device.set_device_lost_callback({
            let lost = lost.clone();
            move |reason, message| {
                let message = format!("{reason:?}: {message}");
                *lost.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(message);
            }
        });
        Self::open(adapter.get_info(), device, queue, options, lost).await
    }

    /// Uses a device and queue of the caller's, and tests them. Pixels then stay on the caller's device. Limits
    /// that the device was not asked for are respected.
    ///
    /// # Errors
    /// [`WgpuUnavailable::Limits`], [`WgpuUnavailable::SelfTest`].
    pub async fn from_device(
        device: wgpu::Device,
        queue: wgpu::Queue,
        threads: usize,
    ) -> Result<Self, WgpuUnavailable> {
        let options = WgpuOptions::default().threads(threads);
        Self::with_device(device, queue, &options).await
    }

    /// As [`WgpuBackend::from_device`], with all options that concern no adapter.
    ///
    /// # Errors
    /// As [`WgpuBackend::from_device`].
    pub async fn with_device(
        device: wgpu::Device,
        queue: wgpu::Queue,
        options: &WgpuOptions,
    ) -> Result<Self, WgpuUnavailable> {
        Self::open(device.adapter_info(), device, queue, options, Arc::default()).await
    }

    async fn open(
        adapter: wgpu::AdapterInfo,
        device: wgpu::Device,
        queue: wgpu::Queue,
        options: &WgpuOptions,
        lost: Arc<Mutex<Option<String>>>,
    ) -> Result<Self, WgpuUnavailable> {
        let device_limits = device.limits();
        let allowed = device_limits.max_storage_buffers_per_shader_stage;
        let needs = |stages: &[Stage]| stages.iter().map(|stage| stage.bindings.len() as u32).max().unwrap_or(0);
        let decodes_entropy = match options.entropy {
            EntropyDecoding::Auto => adapter.device_type != wgpu::DeviceType::Cpu && needs(&HUFFMAN_STAGES) <= allowed,
            choice => choice == EntropyDecoding::Gpu,
        };
        let needed = needs(&STAGES).max(if decodes_entropy { needs(&HUFFMAN_STAGES) } else { 0 });
        if allowed < needed {
            return Err(WgpuUnavailable::Limits { adapter: name_of(&adapter), allowed, needed });
        }
        let storage = wgpu::BufferUsages::STORAGE;
        #[cfg(not(target_arch = "wasm32"))]
        let threads = cpu::CpuBackend::new(options.threads);
        let backend = WgpuBackend {
            pipelines: Pipelines::new(&device, decodes_entropy),
            pack_memory: PackMemory::default(),
            table_memory: TableMemory::default(),
            staging: StagingPool::new(),
            uploads: BufferPool::new(
                "jpeg.upload",
                storage | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC,
            ),
            planes: BufferPool::new("jpeg.planes", storage | wgpu::BufferUsages::COPY_DST),
            outputs: BufferPool::new("jpeg.output", storage | wgpu::BufferUsages::COPY_SRC),
            scratch: BufferPool::new(
                "jpeg.scratch",
                storage | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST,
            ),
            coefficients: BufferPool::new("jpeg.coefficients", storage | wgpu::BufferUsages::COPY_DST),
            staged_memory: StagedMemory::default(),
            entropy: options.entropy,
            limits: BindingLimits {
                // Offsets are 32-bit numbers, and what a wave uploads is a little more than its largest binding.
                max_binding: device_limits
                    .max_storage_buffer_binding_size
                    .min(device_limits.max_buffer_size / 2)
                    .min((1 << 31) - 256),
                offset_alignment: u64::from(device_limits.min_storage_buffer_offset_alignment.max(4)),
                max_workgroups: device_limits.max_compute_workgroups_per_dimension,
            },
            capabilities: Capabilities::new(NAME, true, usize::MAX),
            #[cfg(not(target_arch = "wasm32"))]
            threads,
            adapter,
            device,
            queue,
            lost,
        };
        backend
            .test()
            .await
            .map_err(|message| WgpuUnavailable::SelfTest { adapter: backend.adapter_name(), message })?;
        Ok(backend)
    }

    /// The device, for buffers and textures that pixels go to.
    pub fn device(&self) -> &wgpu::Device {
        &self.device
    }

    /// The queue that orders submissions.
    pub fn queue(&self) -> &wgpu::Queue {
        &self.queue
    }

    /// The adapter as wgpu describes it.
    pub fn adapter(&self) -> &wgpu::AdapterInfo {
        &self.adapter
    }

    /// Whether it can decode entropy on the GPU: what it was opened for says so, and for
    /// [`EntropyDecoding::Auto`] the adapter too.
    pub fn decodes_entropy(&self) -> bool {
        self.pipelines.huffman.is_some()
    }

    /// The adapter's name, driver and interface in one line.
    pub fn adapter_name(&self) -> String {
        name_of(&self.adapter)
    }

    pub(crate) fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    pub(crate) fn tile_limits(&self) -> TileLimits {
        TileLimits::for_binding(self.limits.max_binding)
    }

    /// What tells whether the device is lost.
    pub(crate) fn device_state(&self) -> DeviceState {
        DeviceState {
            #[cfg(not(target_arch = "wasm32"))]
            device: self.device.clone(),
            lost: self.lost.clone(),
        }
    }

    /// Runs `work` unless the device is lost, and gives what the device finds wrong with it.
    pub(crate) async fn guarded<R>(&self, waiting: Waiting, work: impl FnOnce() -> R) -> Result<R, BackendError> {
        // Only a poll tells that the device is gone, and errors of lost devices reach no scope.
        #[cfg(not(target_arch = "wasm32"))]
        let _ = self.device.poll(wgpu::PollType::Poll);
        self.device_state().check()?;
        let (result, error) = self.caught(waiting, work).await;
        if let Some(error) = error {
            // The loss of the device explains any other error.
            #[cfg(not(target_arch = "wasm32"))]
            let _ = self.device.poll(wgpu::PollType::Poll);
            self.device_state().check()?;
            return Err(error);
        }
        Ok(result)
    }

    /// Runs `work` at once and catches what the device finds wrong with it. Natively that is known when it returns, and
    /// there is nothing to be awaited.
    pub(crate) async fn caught<R>(&self, waiting: Waiting, work: impl FnOnce() -> R) -> (R, Option<BackendError>) {
        let (result, errors) = {
            let scopes = ERROR_FILTERS.map(|filter| self.device.push_error_scope(filter));
            let result = work();
            let errors: Vec<_> = scopes.into_iter().rev().map(|scope| scope.pop()).collect();
            (result, errors)
        };
        let mut found = None;
        if waiting.is_possible() {
            for error in errors {
                found = found.or(error.await);
            }
        }
        (result, found.map(crate::error::from_wgpu))
    }

    /// Decodes known pictures through every pipeline and compares with the CPU.
    async fn test(&self) -> Result<(), String> {
        const PICTURE: &[u8] = include_bytes!("self_test.jpg");
        for (format, orientation) in [
            (PixelFormat::Rgb8, Orientation::Normal),
            (PixelFormat::Rgba8, Orientation::FlipHorizontal),
            (PixelFormat::Gray8, Orientation::Normal),
            (PixelFormat::Rgb8, Orientation::Rotate90),
            (PixelFormat::Bgr8, Orientation::Normal),
            (PixelFormat::Rgb8Planar, Orientation::Transverse),
        ] {
            let options = DecodeOptions::default().format(format).orientation(OrientationPolicy::Set(orientation));
            let wrong = self.wrong_bytes(PICTURE, &options, EntropyDecoding::Cpu).await?;
            if wrong > 0 {
                return Err(format!("{wrong} bytes are wrong as {format}, {orientation}"));
            }
        }
        if self.decodes_entropy() {
            let wrong = self.wrong_bytes(PICTURE, &DecodeOptions::default(), EntropyDecoding::Gpu).await?;
            if wrong > 0 {
                return Err(format!("{wrong} bytes are wrong with entropy decoding on the GPU"));
            }
        }
        Ok(())
    }

    /// Bytes that differ from the CPU's.
    async fn wrong_bytes(
        &self,
        jpeg: &[u8],
        options: &DecodeOptions,
        entropy: EntropyDecoding,
    ) -> Result<usize, String> {
        let expected = decode_on_cpu(jpeg, options).map_err(|error| error.to_string())?;
        let image = self.decode_with(jpeg, options, &SubmitOptions::default().entropy(entropy)).await;
        let image = image.map_err(|error| error.to_string())?;
        let wanted = if entropy == EntropyDecoding::Gpu { Route::WgpuWhole } else { Route::WgpuFromCoefficients };
        if image.report.route != wanted {
            return Err(format!("the passes of entropy decoding flag a good picture ({})", image.report.route));
        }
        Ok(image.pixels.iter().zip(&expected).filter(|(found, expected)| found != expected).count())
    }
}

/// Tells whether a device is lost, in callbacks too.
#[derive(Clone)]
pub(crate) struct DeviceState {
    #[cfg(not(target_arch = "wasm32"))]
    device: wgpu::Device,
    lost: Arc<Mutex<Option<String>>>,
}

impl DeviceState {
    /// An error if the device has been lost.
    pub(crate) fn check(&self) -> Result<(), BackendError> {
        if let Some(message) = &*self.lost.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) {
            return Err(lost(message));
        }
        // On the web only the browser knows, and it tells.
        #[cfg(not(target_arch = "wasm32"))]
        if crate::error::is_lost(&self.device) {
            return Err(lost("it gives no memory, and no reason"));
        }
        Ok(())
    }

    /// What it means that memory can't be mapped: the loss of the device explains any failure.
    pub(crate) fn error(&self, message: impl ToString) -> BackendError {
        // On the web the mapping may fail before the browser tells of the loss, and all other reasons have been found
        // when the work was queued.
        let unexplained = || if cfg!(target_arch = "wasm32") { lost(message) } else { failed(message) };
        self.check().err().unwrap_or_else(unexplained)
    }
}

impl std::fmt::Debug for WgpuBackend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WgpuBackend").field("adapter", &self.adapter_name()).finish_non_exhaustive()
    }
}

fn decode_on_cpu(jpeg: &[u8], options: &DecodeOptions) -> Result<Vec<u8>, Error> {
    let codestream = Codestream::parse(jpeg, &options.limits)?;
    let plan = DecodePlan::new(&codestream, options)?;
    Ok(cpu::decode(&plan)?.pixels)
}

/// One for the process, which is never dropped: with the last instance drivers are unloaded, and NVIDIA's then
/// crashes the threads that used it when they end.
#[cfg(not(target_arch = "wasm32"))]
fn instance() -> wgpu::Instance {
    static INSTANCE: OnceLock<wgpu::Instance> = OnceLock::new();
    let open = || wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    INSTANCE.get_or_init(open).clone()
}

#[cfg(target_arch = "wasm32")]
fn instance() -> wgpu::Instance {
    wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle())
}

/// All adapters that the drivers offer, in one line each.
#[cfg(not(target_arch = "wasm32"))]
pub fn adapter_names() -> Vec<String> {
    let adapters = pollster::block_on(instance().enumerate_adapters(wgpu::Backends::all()));
    adapters.iter().map(|adapter| name_of(&adapter.get_info())).collect()
}

async fn request_adapter(instance: &wgpu::Instance, options: &WgpuOptions) -> Result<wgpu::Adapter, WgpuUnavailable> {
    if let Some(wanted) = &options.adapter {
        let adapters = instance.enumerate_adapters(wgpu::Backends::all()).await;
        let names: Vec<String> = adapters.iter().map(|adapter| name_of(&adapter.get_info())).collect();
        let found = names.iter().position(|name| name.to_lowercase().contains(&wanted.to_lowercase()));
        return found.and_then(|index| adapters.into_iter().nth(index)).ok_or_else(|| {
            let present = if names.is_empty() { "none".to_string() } else { names.join(", ") };
            WgpuUnavailable::NoAdapterCalled { wanted: wanted.clone(), present }
        });
    }
    let request =
        wgpu::RequestAdapterOptions { power_preference: wgpu::PowerPreference::HighPerformance, ..Default::default() };
    instance.request_adapter(&request).await.map_err(|error| WgpuUnavailable::NoAdapter(error.to_string()))
}

fn name_of(info: &wgpu::AdapterInfo) -> String {
    let driver = [info.driver.as_str(), info.driver_info.as_str()].join(" ");
    format!("{} ({:?}, {})", info.name, info.backend, driver.trim())
}
