//! The names of the backends, and why one can't be used.

use std::fmt;
use std::str::FromStr;

/// Which backend a [`Decoder`](crate::Decoder) uses. The names are `auto`, `cpu`, `wgpu` and `cuda`.
///
/// ```
/// use isopel::BackendChoice;
///
/// assert_eq!("cpu".parse(), Ok(BackendChoice::Cpu));
/// assert_eq!(BackendChoice::default().to_string(), "auto");
/// assert!("gpu".parse::<BackendChoice>().is_err());
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BackendChoice {
    /// The CPU, or a GPU where the work is large enough for it: [`AUTO_GPU_IMAGES`](crate::AUTO_GPU_IMAGES),
    /// [`AUTO_GPU_PIXELS`](crate::AUTO_GPU_PIXELS). What a GPU fails at is decoded on the CPU; the report's
    /// [`route`](crate::Report::route) tells which it was. Adapters that are software are not used.
    #[default]
    Auto,
    /// isopel's own decoder on the CPU; exact.
    Cpu,
    /// Any GPU, through wgpu; exact. Needs the feature `wgpu`.
    Wgpu,
    /// NVIDIA GPUs, through isopel's own kernels; exact. Backends that were opened to use nvJPEG are within a bound of exact
    /// that depends on the [route](crate::Report::route). Needs the feature `cuda`.
    Cuda,
}

impl BackendChoice {
    /// All choices.
    pub const ALL: [BackendChoice; 4] =
        [BackendChoice::Auto, BackendChoice::Cpu, BackendChoice::Wgpu, BackendChoice::Cuda];

    /// The name used on the command line and in messages.
    pub const fn name(self) -> &'static str {
        match self {
            BackendChoice::Auto => "auto",
            BackendChoice::Cpu => "cpu",
            BackendChoice::Wgpu => "wgpu",
            BackendChoice::Cuda => "cuda",
        }
    }
}

impl fmt::Display for BackendChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for BackendChoice {
    type Err = UnknownBackend;

    fn from_str(name: &str) -> Result<Self, UnknownBackend> {
        let known = BackendChoice::ALL.into_iter().find(|choice| choice.name() == name);
        known.ok_or_else(|| UnknownBackend { name: name.to_owned() })
    }
}

/// A name that is no [`BackendChoice`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no backend named '{name}'; the names are auto, cpu, wgpu and cuda")]
pub struct UnknownBackend {
    /// The name given.
    pub name: String,
}

/// A backend that this build or this machine does not have.
///
/// ```
/// use isopel::{BackendChoice, Decoder};
///
/// # #[cfg(not(feature = "cuda"))] {
/// let error = Decoder::with_backend(BackendChoice::Cuda, 0).unwrap_err();
/// assert_eq!(error.to_string(), "this build has no cuda backend; build with --features cuda");
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BackendUnavailable {
    /// The Cargo feature of the backend's name is off.
    #[error("this build has no {backend} backend; build with --features {backend}")]
    NotBuilt {
        /// The backend asked for.
        backend: BackendChoice,
    },
    /// On the web nothing may block, as a [`Decoder`](crate::Decoder) does.
    #[error("the {backend} backend can't be waited for on the web; use the async functions of its own crate")]
    Blocks {
        /// The backend asked for.
        backend: BackendChoice,
    },
    /// No GPU can be used through wgpu; the source says what is missing.
    #[cfg(feature = "wgpu")]
    #[error("the wgpu backend can't be used on this machine")]
    Wgpu(#[from] isopel_wgpu::WgpuUnavailable),
    /// No NVIDIA GPU can be used; the source says what is missing.
    #[cfg(feature = "cuda")]
    #[error("the cuda backend can't be used on this machine")]
    Cuda(#[from] isopel_cuda::CudaUnavailable),
}

impl BackendUnavailable {
    /// The backend asked for.
    pub fn backend(&self) -> BackendChoice {
        match self {
            BackendUnavailable::NotBuilt { backend } | BackendUnavailable::Blocks { backend } => *backend,
            #[cfg(feature = "wgpu")]
            BackendUnavailable::Wgpu(_) => BackendChoice::Wgpu,
            #[cfg(feature = "cuda")]
            BackendUnavailable::Cuda(_) => BackendChoice::Cuda,
        }
    }
}
