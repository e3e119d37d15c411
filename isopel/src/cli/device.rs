//! Which decoder a command uses: `--backend` and `--adapter`.

use clap::Args;

use isopel::{BackendChoice, Decoder};

use super::request::backend_parser;
use super::verdict::Stop;

#[derive(Debug, Args)]
pub(crate) struct DeviceArgs {
    /// Which decoder to use; auto takes the CPU, or a GPU for large work if this build has wgpu. See 'isopel backends'
    #[arg(long, default_value = "auto", value_name = "BACKEND", value_parser = backend_parser())]
    pub(crate) backend: BackendChoice,
    #[command(flatten)]
    pub(crate) adapter: AdapterArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AdapterArgs {
    /// With --backend wgpu: the GPU whose name contains this, in any case. 'isopel backends' lists the names. Default:
    /// the fastest, as wgpu sees it
    #[arg(long = "adapter", value_name = "NAME")]
    pub(crate) name: Option<String>,
}

impl DeviceArgs {
    /// Opens the decoder.
    pub(crate) fn open(&self, threads: usize) -> Result<Decoder, Stop> {
        self.adapter.check(&[self.backend])?;
        self.adapter.open(self.backend, threads)
    }
}

impl AdapterArgs {
    /// An adapter that no backend has a use for would be ignored silently.
    pub(crate) fn check(&self, backends: &[BackendChoice]) -> Result<(), Stop> {
        match &self.name {
            Some(_) if !backends.contains(&BackendChoice::Wgpu) => {
                Err(Stop::Usage("--adapter chooses one of wgpu's adapters; it needs --backend wgpu".into()))
            }
            _ => Ok(()),
        }
    }

    /// Opens a decoder, on this adapter if it is a wgpu one.
    pub(crate) fn open(&self, backend: BackendChoice, threads: usize) -> Result<Decoder, Stop> {
        #[cfg(feature = "wgpu")]
        if backend == BackendChoice::Wgpu {
            return Ok(Decoder::with_wgpu(self.open_wgpu(threads)?));
        }
        Ok(Decoder::with_backend(backend, threads)?)
    }

    /// Opens this adapter.
    #[cfg(feature = "wgpu")]
    pub(crate) fn open_wgpu(&self, threads: usize) -> Result<isopel::wgpu::WgpuBackend, isopel::BackendUnavailable> {
        let mut options = isopel::wgpu::WgpuOptions::default().threads(threads);
        options.adapter = self.name.clone();
        Ok(isopel::wgpu::WgpuBackend::with_options(&options)?)
    }
}

/// Whether the adapter is a program that speaks Vulkan, not a GPU: its speed says nothing about GPUs.
#[cfg(feature = "wgpu")]
pub(crate) fn is_software(backend: &isopel::wgpu::WgpuBackend) -> bool {
    backend.adapter().device_type == isopel::wgpu::wgpu::DeviceType::Cpu
}
