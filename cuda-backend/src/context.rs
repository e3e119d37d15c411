//! The backend: a device, nvJPEG on it, what there is to decode with, and the threads.

use std::sync::Arc;
use std::thread::JoinHandle;

use isopel_core::{Capabilities, Codestream, DecodeOptions, DecodePlan, OrientationPolicy, Route, cpu};
use isopel_nvjpeg_sys::{Api, is_video_library_present, nvjpegBackend_t};

use crate::driver::{self, Device};
use crate::error::{CudaUnavailable, NAME};
use crate::exact::{ExactDecoder, STAGING_THREADS};
use crate::gate::CallLimits;
use crate::kernels::Kernels;
use crate::nvjpeg::{self, BatchDecoder, Handle, NvjpegError, Version};
use crate::pool::{Queues, Sharing};
use crate::route::{NvjpegRoute, RouteSupport};
use crate::staging::Ring;
use crate::worker::{Streams, Worker};

/// How the before edge is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ordering {
    /// On the device: decoding starts at once into the backend's own memory, and only the kernel that writes the
    /// caller's memory waits for the caller's work. The host waits for nothing.
    #[default]
    Device,
    /// On the host: `submit` waits until the caller's work is done. Costs the caller its whole queue; there for
    /// comparison.
    HostBarrier,
}

/// How files are checked that go to nvJPEG, which reports success for damaged ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScanCheck {
    /// Headers, restart markers, and every code of the scans, on the CPU while nvJPEG decodes. Damage is always found
    /// that the CPU backend would find.
    #[default]
    Codes,
    /// Headers and restart markers only: for trusted files where CPU time is short. Damage inside scans goes
    /// unnoticed.
    Structure,
}

/// How to open a device.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CudaOptions {
    /// The device's number, from 0.
    pub device: usize,
    /// Threads for checking, as many for images that the CPU decodes, and for parsing (a third of it where nvJPEG
    /// decodes); 0 for three quarters of the cores.
    pub threads: usize,
    /// Decode on the JPEG engines what they take, by nvJPEG, which leaves the SMs to the caller. Pixels are then within a
    /// bound of exact. Off by default: isopel's own kernels decode, exact and faster, on the SMs, and nvJPEG need not
    /// be there.
    pub engines: bool,
    /// As [`engines`](CudaOptions#structfield.engines), and the SMs take from the engines by nvJPEG what they would finish
    /// sooner, by measured speed. The two differ by up to three levels, so pixels may then differ from run to run.
    pub share_load: bool,
    /// Only this route; what it does not take is decoded on the CPU.
    pub only: Option<Route>,
    /// How the before edge is kept.
    pub ordering: Ordering,
    /// How files are checked.
    pub scan_check: ScanCheck,
    /// Calls to the engines at the same time with pictures of up to half a megapixel, for which the host's part of a call
    /// takes longer than the engines'; larger ones keep all engines busy by one call. 0 for the default, 1.
    pub engine_calls: usize,
    /// Most images of one call to the engines; 0 for the default, 256, or 64 if the load is shared. Calls are of 1, 4,
    /// 16, 64 or 256 images, and of at most 16 while the stream that they come after is busy.
    pub largest_batch: usize,
    /// Threads that drive the SMs through nvJPEG; 0 for as many as there are cores, at most 12.
    pub software_threads: usize,
    /// Bytes of device memory for pixels between decoding and writing; 0 for an eighth of the device's, at most 8 GiB.
    pub staging_bytes: usize,
}

macro_rules! setters {
    ($($(#[$docs:meta])* $name:ident: $type:ty,)*) => {
        impl CudaOptions {
            $(
                $(#[$docs])*
                pub fn $name(mut self, $name: $type) -> Self {
                    self.$name = $name;
                    self
                }
            )*
        }
    };
}

setters! {
    /// Sets [`device`](CudaOptions#structfield.device).
    device: usize,
    /// Sets [`threads`](CudaOptions#structfield.threads).
    threads: usize,
    /// Sets [`engines`](CudaOptions#structfield.engines).
    engines: bool,
    /// Sets [`share_load`](CudaOptions#structfield.share_load).
    share_load: bool,
    /// Sets [`ordering`](CudaOptions#structfield.ordering).
    ordering: Ordering,
    /// Sets [`scan_check`](CudaOptions#structfield.scan_check).
    scan_check: ScanCheck,
    /// Sets [`engine_calls`](CudaOptions#structfield.engine_calls).
    engine_calls: usize,
    /// Sets [`largest_batch`](CudaOptions#structfield.largest_batch).
    largest_batch: usize,
    /// Sets [`software_threads`](CudaOptions#structfield.software_threads).
    software_threads: usize,
    /// Sets [`staging_bytes`](CudaOptions#structfield.staging_bytes).
    staging_bytes: usize,
}

impl CudaOptions {
    /// Sets [`only`](CudaOptions#structfield.only).
    pub fn only(mut self, route: Route) -> Self {
        self.only = Some(route);
        self
    }
}

/// Decodes on an NVIDIA GPU into memory of the caller's: by isopel's own kernels, for which the CPU reads the scans of
/// progressive files, or, if asked to, by the JPEG engines. What neither takes is decoded on the CPU and copied.
///
/// ```no_run
/// use isopel_core::{Backend, DecodeOptions, Job};
/// use isopel_cuda::{CallerStream, CudaAfter, CudaBackend, CudaBuffer, CudaTarget};
///
/// let backend = CudaBackend::new()?;
/// let buffer = CudaBuffer::new(&backend, 1920 * 1080 * 3)?;
/// let job = Job {
///     jpeg: std::fs::read("photo.jpg")?.into(),
///     options: DecodeOptions::default(),
///     target: CudaTarget::buffer(&buffer),
/// };
/// let stream = CallerStream::DEFAULT;
/// // Nothing is written before what the stream holds now has run,
/// let submission = backend.submit(vec![job], CudaAfter::Stream(stream.clone()));
/// // and what is queued on it from here on sees the pixels.
/// submission.fence().hold_back(&stream)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct CudaBackend {
    pub(crate) worker: Arc<Worker>,
    threads: Vec<JoinHandle<()>>,
    capabilities: Capabilities,
    /// nvJPEG's, if it is used.
    version: Option<Version>,
    engines: Result<(u32, u32), String>,
}

/// nvJPEG, opened.
struct Nvjpeg {
    version: Version,
    engines: Result<(u32, u32), String>,
    hardware: Option<Arc<Handle>>,
    software: Arc<Handle>,
}

impl Nvjpeg {
    fn open(device: &Arc<Device>) -> Result<Self, CudaUnavailable> {
        let api = Arc::new(Api::load().map_err(CudaUnavailable::NoNvjpeg)?);
        let version = nvjpeg::version(&api).map_err(|error| CudaUnavailable::OldNvjpeg {
            path: api.path().to_owned(),
            version: format!("of no version ({error})"),
        })?;
        if version < (12, 1, 0) {
            let (path, version) = (api.path().to_owned(), in_words(version));
            return Err(CudaUnavailable::OldNvjpeg { path, version });
        }
        let fails = |error: NvjpegError| CudaUnavailable::Nvjpeg {
            version: in_words(version),
            device: device.name().to_owned(),
            message: error.to_string(),
        };
        let hardware = Handle::new(&api, device, nvjpegBackend_t::HARDWARE);
        let engines = engines_of(&hardware);
        let hardware = hardware.ok().filter(|_| engines.is_ok()).map(Arc::new);
        let software = Handle::new(&api, device, nvjpegBackend_t::DEFAULT).map(Arc::new).map_err(fails)?;
        Ok(Nvjpeg { version, engines, hardware, software })
    }
}

impl CudaBackend {
    /// Opens the first device and tests it.
    ///
    /// # Errors
    /// [`CudaUnavailable`] says what is missing.
    pub fn new() -> Result<Self, CudaUnavailable> {
        Self::with_options(&CudaOptions::default())
    }

    /// Opens a device and tests it.
    ///
    /// # Errors
    /// As [`CudaBackend::new`].
    pub fn with_options(options: &CudaOptions) -> Result<Self, CudaUnavailable> {
        Self::open(options, true)
    }

    /// For the negative control of ordering tests: a backend that ignores what it should come after, as none may.
    ///
    /// # Errors
    /// As [`CudaBackend::new`].
    #[doc(hidden)]
    pub fn without_before_edge(options: &CudaOptions) -> Result<Self, CudaUnavailable> {
        Self::open(options, false)
    }

    fn open(options: &CudaOptions, before_edge: bool) -> Result<Self, CudaUnavailable> {
        let device = Device::open(options.device)?;
        let asks_nvjpeg = options.engines || options.share_load;
        let allowed = |route: Route| options.only.map_or(asks_nvjpeg, |only| only == route);
        let support = RouteSupport {
            engines: allowed(Route::CudaEngines),
            gpu_hybrid: allowed(Route::CudaGpuHybrid),
            hybrid: allowed(Route::CudaHybrid),
        };
        let nvjpeg = if support == RouteSupport::NONE { None } else { Some(Nvjpeg::open(&device)?) };
        let hardware = nvjpeg.as_ref().and_then(|nvjpeg| nvjpeg.hardware.clone());
        let support = RouteSupport { engines: support.engines && hardware.is_some(), ..support };
        let takes_exact = options.only.map_or(!asks_nvjpeg, |only| only == Route::CudaExact);
        let version = nvjpeg.as_ref().map(|nvjpeg| nvjpeg.version);
        let device_fails = |error: isopel_core::BackendError| CudaUnavailable::Device {
            device: options.device,
            message: error.message,
        };
        let cores = std::thread::available_parallelism().map_or(4, usize::from);
        // The threads that feed the engines and the SMs must not wait for a core.
        let threads = if options.threads == 0 { (cores * 3 / 4).max(1) } else { options.threads };
        let or_default = |number: usize, default: usize| if number == 0 { default } else { number };
        let staging = or_default(options.staging_bytes, (device.memory() / 8).min(8 << 30));
        let calls = CallLimits::new(options.engine_calls);
        // While some wait for the engines, another sees to the last call's pixels and prepares the next.
        let engine_threads = if support.engines { calls.small + 1 } else { 0 };
        let software_threads =
            if support.gpu_hybrid || support.hybrid { or_default(options.software_threads, cores.min(12)) } else { 0 };
        let shares = options.share_load && support.gpu_hybrid;
        let sharing = Sharing {
            calls,
            largest_batch: or_default(options.largest_batch, if shares { SHARED_BATCH } else { LARGEST_BATCH }),
            // Of small pictures even the largest batch has less.
            batch_bytes: staging / (calls.large + 4),
            sms_share: shares,
        };
        let pool = |name: &'static str, threads: usize| {
            rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .thread_name(move |index| format!("isopel-{name}-{index}"))
                .build()
                .map_err(|error| CudaUnavailable::Device { device: options.device, message: error.to_string() })
        };
        let worker = Arc::new(Worker {
            kernels: Kernels::load(&device).map_err(device_fails)?,
            exact: match takes_exact {
                true => Some(ExactDecoder::new(&device, staging).map_err(device_fails)?),
                false => None,
            },
            engines: hardware.as_ref().map(|handle| BatchDecoder::new(handle, calls.small)),
            software: nvjpeg.as_ref().map(|nvjpeg| nvjpeg.software.clone()),
            support,
            roi_is_right: version.is_some_and(|version| version >= ROI_IS_RIGHT_SINCE),
            scan_check: options.scan_check,
            ordering: options.ordering,
            before_edge,
            queues: Queues::new(sharing),
            staging: Ring::new(&device, staging),
            pinned: Ring::new(&device, PINNED_BYTES),
            outputs: Ring::new(&device, staging),
            streams: Streams::new(&device),
            // The kernels wait for nothing but their preparation.
            preparing: pool("prepare", if takes_exact { threads } else { (threads / 3).max(1) })?,
            checking: pool("check", threads)?,
            decoding: pool("decode", threads)?,
            active: Arc::default(),
            in_flight: Default::default(),
            device,
        });
        let mut backend = CudaBackend {
            capabilities: Capabilities::new(NAME, support == RouteSupport::NONE, usize::MAX),
            threads: Vec::new(),
            worker,
            version,
            engines: match nvjpeg {
                Some(nvjpeg) => nvjpeg.engines,
                None => Err("nvJPEG was not asked for".into()),
            },
        };
        backend.start_threads(engine_threads, software_threads, options.device)?;
        backend
            .test()
            .map_err(|message| CudaUnavailable::SelfTest { device: backend.device_name().to_owned(), message })?;
        // Setting states up holds up the device, and so what callers would do meanwhile.
        backend.worker.warm_up_engines();
        Ok(backend)
    }

    fn start_threads(&mut self, engines: usize, software: usize, device: usize) -> Result<(), CudaUnavailable> {
        let mut start = |name: String, work: fn(&Arc<Worker>)| {
            let worker = self.worker.clone();
            let thread = std::thread::Builder::new().name(name).spawn(move || work(&worker));
            let thread = thread.map_err(|error| CudaUnavailable::Device { device, message: error.to_string() })?;
            self.threads.push(thread);
            Ok(())
        };
        if self.worker.exact.is_some() {
            (0..STAGING_THREADS)
                .try_for_each(|index| start(format!("isopel-stage-{index}"), Worker::stage_submissions))?;
            start("isopel-finish".into(), Worker::finish_waves)?;
        }
        (0..engines).try_for_each(|index| start(format!("isopel-engine-{index}"), Worker::feed_engines))?;
        (0..software).try_for_each(|index| start(format!("isopel-nvjpeg-{index}"), Worker::feed_sms))
    }

    /// The device's name.
    pub fn device_name(&self) -> &str {
        self.worker.device.name()
    }

    /// The device's compute capability, major and minor.
    pub fn compute_capability(&self) -> (i32, i32) {
        self.worker.device.compute_capability()
    }

    /// nvJPEG's version, such as `13.3.2`; `None` if nvJPEG is not used.
    pub fn nvjpeg_version(&self) -> Option<String> {
        self.version.map(in_words)
    }

    /// JPEG engines of the device and cores in each, or why none can be used.
    ///
    /// # Errors
    /// A sentence for people.
    pub fn engines(&self) -> Result<(u32, u32), String> {
        self.engines.clone()
    }

    /// The routes that this backend takes, the preferred first.
    pub fn routes(&self) -> Vec<Route> {
        let RouteSupport { engines, gpu_hybrid, hybrid } = self.worker.support;
        let routes =
            [(engines, NvjpegRoute::Engines), (gpu_hybrid, NvjpegRoute::GpuHybrid), (hybrid, NvjpegRoute::Hybrid)];
        let nvjpeg = routes.into_iter().filter(|(is_there, _)| *is_there).map(|(_, route)| route.report());
        let exact = self.worker.exact.iter().map(|_| Route::CudaExact);
        exact.chain(nvjpeg).chain([Route::CudaUpload]).collect()
    }

    /// The context of cudarc's that the backend works in, the device's primary one.
    pub fn context(&self) -> &Arc<cudarc::driver::CudaContext> {
        self.worker.device.context()
    }

    /// Bytes of device memory that are held for pixels between decoding and writing.
    pub fn staging_bytes(&self) -> usize {
        self.worker.staging.bytes()
    }

    pub(crate) fn device(&self) -> &Arc<Device> {
        &self.worker.device
    }

    pub(crate) fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// Decodes a known picture by the preferred route and compares with the CPU.
    fn test(&self) -> Result<(), String> {
        const PICTURE: &[u8] = include_bytes!("self_test.jpg");
        let options = DecodeOptions::default().orientation(OrientationPolicy::Ignore);
        let codestream = Codestream::parse(PICTURE, &options.limits).map_err(|error| error.to_string())?;
        let plan = DecodePlan::new(&codestream, &options).map_err(|error| error.to_string())?;
        let expected = cpu::decode(&plan).map_err(|error| error.to_string())?;
        let image = self.decode(PICTURE, &options).map_err(|error| error.to_string())?;
        let difference = image.pixels.iter().zip(&expected.pixels).map(|(a, b)| a.abs_diff(*b)).max().unwrap_or(0);
        let allowed = if image.report.route == Route::CudaExact { 0 } else { 3 };
        if difference > allowed {
            return Err(format!("by {}, pixels differ by up to {difference}", image.report.route));
        }
        Ok(())
    }
}

/// Images of one call. The more, the faster; but all are done when the last is.
const LARGEST_BATCH: usize = 256;
/// The same while the SMs share the load: what is in a call is beyond their reach.
const SHARED_BATCH: usize = 64;
/// Host memory for pixels on their way up.
const PINNED_BYTES: usize = 1 << 30;
/// Before, nvJPEG's regions are off by a row or column of chroma at their edges.
const ROI_IS_RIGHT_SINCE: Version = (13, 2, 0);

fn in_words((major, minor, patch): Version) -> String {
    format!("{major}.{minor}.{patch}")
}

fn engines_of(hardware: &Result<Handle, NvjpegError>) -> Result<(u32, u32), String> {
    let video = "; containers show the engines only with the capability `video` (NVIDIA_DRIVER_CAPABILITIES)";
    let hint = if is_video_library_present() { "" } else { video };
    match hardware {
        Err(error) => Err(format!("{error}{hint}")),
        Ok(handle) => match handle.engines() {
            Ok((0, _)) => Err(format!("the device has no JPEG engine{hint}")),
            Ok(engines) => Ok(engines),
            Err(error) => Err(format!("{error}{hint}")),
        },
    }
}

impl std::fmt::Debug for CudaBackend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CudaBackend").field("device", &self.device_name()).finish_non_exhaustive()
    }
}

impl Drop for CudaBackend {
    /// Finishes what was submitted.
    fn drop(&mut self) {
        self.worker.active.wait_for_none();
        self.worker.queues.close();
        self.worker.exact.iter().for_each(ExactDecoder::close);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        self.worker.wait_for_writes();
    }
}

/// Names of all devices that the driver shows, with their numbers.
///
/// # Errors
/// [`CudaUnavailable::NoDriver`].
pub fn device_names() -> Result<Vec<String>, CudaUnavailable> {
    if !driver::is_driver_present() {
        return Err(CudaUnavailable::NoDriver("libcuda is not there"));
    }
    let count = driver::device_count().map_err(|_| CudaUnavailable::NoDriver("libcuda does not start"))?;
    (0..count).map(|ordinal| Ok(Device::open(ordinal)?.name().to_owned())).collect()
}
