//! The ways to decode that are compared.

use isopel_core::cpu::{self, CpuBackend};
use isopel_core::{Codestream, DecodePlan, Error, Report, Route};

use super::{File, options};

/// One way to decode.
pub(super) trait Way {
    /// What it runs on.
    fn describe(&self) -> String;

    /// Makes memory for the pixels of a file.
    fn prepare(&mut self, file: &File) -> Result<(), String>;

    /// Decodes the file that was prepared, and waits for its pixels.
    fn decode(&mut self, file: &File) -> Result<Route, String>;
}

/// A way, or why it is not there.
pub(super) struct Opened {
    pub(super) name: &'static str,
    pub(super) way: Result<Box<dyn Way>, String>,
}

/// All ways of this build whose names begin with `only`.
pub(super) fn open_all(only: Option<&str>) -> Vec<Opened> {
    let mut all = vec![
        Opened { name: "CPU, one thread", way: Ok(Box::new(Cpu::new(None))) },
        Opened { name: "CPU, all cores", way: Ok(Box::new(Cpu::new(Some(CpuBackend::new(0))))) },
    ];
    #[cfg(feature = "wgpu")]
    all.extend(on_wgpu::open());
    #[cfg(feature = "cuda")]
    all.push(on_cuda::open());
    all.retain(|opened| only.is_none_or(|only| opened.name.starts_with(only)));
    all
}

/// On one thread, or those of a pool.
struct Cpu {
    threads: Option<CpuBackend>,
    pixels: Vec<u8>,
}

impl Cpu {
    fn new(threads: Option<CpuBackend>) -> Self {
        Cpu { threads, pixels: Vec::new() }
    }
}

impl Way for Cpu {
    fn describe(&self) -> String {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = if self.threads.is_some() { cores } else { 1 };
        format!("{} kernels, threads: {threads}", cpu::kernels())
    }

    fn prepare(&mut self, file: &File) -> Result<(), String> {
        self.pixels = vec![0; file.pixel_bytes];
        Ok(())
    }

    fn decode(&mut self, file: &File) -> Result<Route, String> {
        let Cpu { threads, pixels } = self;
        let mut decode = || -> Result<Report, Error> {
            let codestream = Codestream::parse(&file.jpeg, &options().limits)?;
            let plan = DecodePlan::new(&codestream, &options())?;
            match threads {
                None => cpu::decode_into(&plan, plan.layout(), pixels),
                Some(threads) => threads.install(|| cpu::decode_parallel_into(&plan, plan.layout(), pixels)),
            }
        };
        decode().map(|report| report.route).map_err(|error| error.to_string())
    }
}

/// The route of the only job, which must have gone well.
#[cfg(any(feature = "cuda", feature = "wgpu"))]
fn route_of(outcomes: Vec<isopel_core::Outcome>) -> Result<Route, String> {
    let outcome = outcomes.into_iter().next().ok_or("no outcome of one job")?;
    outcome.result.map(|report| report.route).map_err(|error| error.to_string())
}

#[cfg(feature = "wgpu")]
mod on_wgpu {
    use isopel_core::{Backend, Job, Route};
    use isopel_wgpu::{BufferTarget, EntropyDecoding, WgpuAfter, WgpuBackend, WgpuTarget, wgpu};

    use super::{File, Opened, Way, options, route_of};

    pub(super) fn open() -> [Opened; 2] {
        let ways =
            [("wgpu, entropy on the CPU", EntropyDecoding::Cpu), ("wgpu, entropy on the GPU", EntropyDecoding::Gpu)];
        ways.map(|(name, entropy)| {
            let way = crate::gpu::open(0, entropy);
            Opened { name, way: way.map(|backend| Box::new(Wgpu { backend, target: None }) as Box<dyn Way>) }
        })
    }

    struct Wgpu {
        backend: WgpuBackend,
        target: Option<BufferTarget>,
    }

    impl Way for Wgpu {
        fn describe(&self) -> String {
            self.backend.adapter_name()
        }

        fn prepare(&mut self, file: &File) -> Result<(), String> {
            let (size, device) = ((file.pixel_bytes as u64).next_multiple_of(4), self.backend.device());
            let largest = device.limits().max_buffer_size;
            // The buffer of the file before is let go first.
            self.target = None;
            if size > largest {
                return Err(format!("no buffer has {size} bytes here, {largest} at most"));
            }
            self.target = Some(BufferTarget::packed(device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("pixels"),
                size,
                usage: wgpu::BufferUsages::STORAGE,
                mapped_at_creation: false,
            })));
            Ok(())
        }

        fn decode(&mut self, file: &File) -> Result<Route, String> {
            let target = WgpuTarget::Buffer(self.target.clone().ok_or("no target was prepared")?);
            let job = Job { jpeg: file.jpeg.clone(), options: options(), target };
            route_of(self.backend.submit(vec![job], WgpuAfter::Queue).wait())
        }
    }
}

#[cfg(feature = "cuda")]
mod on_cuda {
    use isopel_core::{Backend, Job, Route};
    use isopel_cuda::{CallerStream, CudaAfter, CudaBackend, CudaBuffer, CudaTarget};

    use super::{File, Opened, Way, options, route_of};

    pub(super) fn open() -> Opened {
        let way = CudaBackend::new().map(|backend| Box::new(Cuda { backend, target: None }) as Box<dyn Way>);
        Opened { name: "CUDA, exact", way: way.map_err(|error| error.to_string()) }
    }

    struct Cuda {
        backend: CudaBackend,
        target: Option<CudaTarget>,
    }

    impl Way for Cuda {
        fn describe(&self) -> String {
            self.backend.device_name().to_owned()
        }

        fn prepare(&mut self, file: &File) -> Result<(), String> {
            self.target = None;
            let buffer = CudaBuffer::new(&self.backend, file.pixel_bytes).map_err(|error| error.to_string())?;
            self.target = Some(CudaTarget::buffer(&buffer));
            Ok(())
        }

        fn decode(&mut self, file: &File) -> Result<Route, String> {
            let target = self.target.clone().ok_or("no target was prepared")?;
            let job = Job { jpeg: file.jpeg.clone(), options: options(), target };
            route_of(self.backend.submit(vec![job], CudaAfter::Stream(CallerStream::DEFAULT)).wait())
        }
    }
}
