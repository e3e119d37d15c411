//! `isopel backends`: which decoders this build and this machine have.

use std::io::{self, Write};

use clap::Args;

#[cfg(not(all(feature = "cuda", feature = "wgpu")))]
use isopel::Decoder;
use isopel::cpu::{self, CpuBackend};
use isopel::{Backend, BackendChoice, BackendUnavailable};

use super::device::AdapterArgs;
use super::verdict::{Stop, Verdict, with_sources};

/// List the decoders that --backend can choose
#[derive(Debug, Args)]
#[command(after_help = "An exact backend gives libjpeg-turbo's pixels to the byte. 'threads' is how many images it \
    decodes at the same time; with wgpu, how many it entropy-decodes on the CPU.\n\n\
    With cuda, programs can ask for nvJPEG instead, which may differ: its engines by 1, its other routes by 3.\n\n\
    GPUs need a build with the feature wgpu or cuda: cargo run --release --features wgpu,cuda -- backends")]
pub(crate) struct BackendsArgs {
    #[command(flatten)]
    adapter: AdapterArgs,
}

pub(crate) fn run(args: &BackendsArgs) -> Result<Verdict, Stop> {
    let wgpu = describe_wgpu(&args.adapter);
    let (cuda, cuda_details) = describe_cuda();
    let threads = CpuBackend::new(0).capabilities().parallel_jobs;

    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{:<8} {:<10} {:<7} {:<8} note", "backend", "available", "exact", "threads")?;
    let rows = [(BackendChoice::Cpu, Ok(wgpu.auto)), (BackendChoice::Wgpu, wgpu.adapter), (BackendChoice::Cuda, cuda)];
    for (backend, row) in rows {
        match row {
            Ok(note) => {
                let exact = if backend == BackendChoice::Cuda { "bounded" } else { "yes" };
                writeln!(stdout, "{backend:<8} {:<10} {exact:<7} {threads:<8} {note}", "yes")?;
            }
            Err(error) => writeln!(stdout, "{backend:<8} {:<10} {:<7} {:<8} {}", "no", "-", "-", with_sources(&error))?,
        }
    }
    writeln!(stdout, "\n{}", describe_kernels())?;
    wgpu.details.iter().chain(&cuda_details).try_for_each(|line| writeln!(stdout, "{line}"))?;
    Ok(Verdict::Clean)
}

/// The CPU's kernels, and what became of the caller's choice.
fn describe_kernels() -> String {
    let kernels = cpu::kernels();
    match std::env::var("ISOPEL_CPU") {
        Ok(wanted) if wanted != kernels => {
            format!(
                "kernels of the CPU: {kernels}; ISOPEL_CPU names {wanted:?}, which this processor or build does not have"
            )
        }
        _ => format!("kernels of the CPU: {kernels}"),
    }
}

#[cfg(not(feature = "cuda"))]
fn describe_cuda() -> (Result<String, BackendUnavailable>, Vec<String>) {
    (Decoder::with_backend(BackendChoice::Cuda, 0).map(|_| String::new()), Vec::new())
}

/// The device in use, and lines below the table.
#[cfg(feature = "cuda")]
fn describe_cuda() -> (Result<String, BackendUnavailable>, Vec<String>) {
    use isopel::cuda_backend::{CudaBackend, CudaOptions, device_names};

    let mut details = Vec::new();
    if let Ok(names) = device_names() {
        details.extend([String::new(), "devices of CUDA, the first is in use:".into()]);
        details.extend(names.iter().enumerate().map(|(number, name)| format!("  {number} {name}")));
    }
    match CudaBackend::new() {
        Ok(backend) => {
            let (major, minor) = backend.compute_capability();
            details.push(format!("compute capability {major}.{minor}; routes: {}", routes(&backend)));
            details.push(match CudaBackend::with_options(&CudaOptions::default().engines(true)) {
                Ok(nvjpeg) => {
                    let engines = match nvjpeg.engines() {
                        Ok((engines, cores)) => format!("{engines} JPEG engines, with {cores} core(s) each"),
                        Err(reason) => format!("no JPEG engines: {reason}"),
                    };
                    let version = nvjpeg.nvjpeg_version().unwrap_or_default();
                    format!("if asked for, nvJPEG {version}, {engines}; routes: {}", routes(&nvjpeg))
                }
                Err(reason) => format!("no nvJPEG: {reason}"),
            });
            (Ok(backend.device_name().to_owned()), details)
        }
        Err(error) => (Err(error.into()), details),
    }
}

#[cfg(feature = "cuda")]
fn routes(backend: &isopel::cuda_backend::CudaBackend) -> String {
    backend.routes().iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// What there is to say about wgpu.
struct WgpuDescription {
    /// The adapter in use.
    adapter: Result<String, BackendUnavailable>,
    /// What [`BackendChoice::Auto`] does with it.
    auto: String,
    /// Lines below the table.
    details: Vec<String>,
}

#[cfg(not(feature = "wgpu"))]
fn describe_wgpu(_: &AdapterArgs) -> WgpuDescription {
    WgpuDescription {
        adapter: Decoder::with_backend(BackendChoice::Wgpu, 0).map(|_| String::new()),
        auto: "what auto takes".into(),
        details: Vec::new(),
    }
}

#[cfg(feature = "wgpu")]
fn describe_wgpu(adapter: &AdapterArgs) -> WgpuDescription {
    use isopel::{AUTO_GPU_IMAGES, AUTO_GPU_PIXELS};

    let backend = adapter.open_wgpu(0);
    let used = backend.as_ref().ok().map(|backend| backend.adapter_name());
    let mut details = vec![String::new(), "adapters of wgpu, > for the one in use:".into()];
    let names = isopel::wgpu::adapter_names();
    if names.is_empty() {
        details.push("  none".into());
    }
    let mut unmarked = used.as_deref();
    for name in names {
        let mark = if unmarked.take_if(|used| *used == name).is_some() { ">" } else { " " };
        details.push(format!("{mark} {name}"));
    }
    let mut auto = "what auto takes".to_owned();
    if let Ok(backend) = &backend {
        let limits = backend.device().limits();
        let mib = |bytes: u64| bytes >> 20;
        details.extend([
            format!(
                "limits: storage bindings of at most {} MiB at multiples of {} bytes, buffers of at most {} MiB",
                mib(limits.max_storage_buffer_binding_size),
                limits.min_storage_buffer_offset_alignment,
                mib(limits.max_buffer_size),
            ),
            "self-test: passed, its pixels are the CPU's".to_owned(),
        ]);
        if super::device::is_software(backend) {
            details.push("this adapter is software: correct, but slower than cpu; auto does not take it".into());
        } else if adapter.name.is_none() {
            auto += &format!(
                "; from {AUTO_GPU_IMAGES} images a batch and {} megapixels an image, wgpu",
                AUTO_GPU_PIXELS / 1_000_000
            );
        }
    }
    WgpuDescription { adapter: backend.map(|backend| backend.adapter_name()), auto, details }
}
