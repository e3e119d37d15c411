//! Why there is no CUDA backend, or why its device failed.

use cudarc::driver::DriverError;
use cudarc::driver::sys::CUresult;
use isopel_core::{BackendError, BackendErrorKind};
use isopel_nvjpeg_sys::{LoadError, PATH_VARIABLE};

/// The backend's name in errors and on the command line.
pub(crate) const NAME: &str = "cuda";

/// Why the CUDA backend could not be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CudaUnavailable {
    /// NVIDIA's driver is not installed, or not visible in this container.
    #[error("no CUDA driver was found ({0}); install NVIDIA's driver, or start the container with its GPUs")]
    NoDriver(&'static str),
    /// The driver has no device of this number.
    #[error("there is no CUDA device {wanted}; the driver shows {present}")]
    NoDevice {
        /// The device asked for, from 0.
        wanted: usize,
        /// Devices that there are.
        present: usize,
    },
    /// The device can't be used.
    #[error("CUDA device {device} can't be used: {message}")]
    Device {
        /// The device, from 0.
        device: usize,
        /// What the driver said.
        message: String,
    },
    /// The nvJPEG library is not here.
    #[error("{0}; install the wheel nvidia-nvjpeg or CUDA's libnvjpeg, or name the file in {PATH_VARIABLE}")]
    NoNvjpeg(LoadError),
    /// The nvJPEG library is too old for right pixels: it can't interpolate chroma.
    #[error("{path} is nvJPEG {version}; 12.1 or later is needed")]
    OldNvjpeg {
        /// What was loaded.
        path: String,
        /// Its version.
        version: String,
    },
    /// nvJPEG refuses to work on this device.
    #[error("nvJPEG {version} does not start on {device}: {message}")]
    Nvjpeg {
        /// Its version.
        version: String,
        /// The device's name.
        device: String,
        /// What it said.
        message: String,
    },
    /// The device gives wrong pixels.
    #[error("{device} fails the self-test ({message}); its driver is not usable")]
    SelfTest {
        /// The device's name.
        device: String,
        /// What was wrong.
        message: String,
    },
}

pub(crate) fn failed(message: impl ToString) -> BackendError {
    BackendError { backend: NAME, kind: BackendErrorKind::Failed, message: message.to_string() }
}

pub(crate) fn out_of_memory(message: impl ToString) -> BackendError {
    BackendError { backend: NAME, kind: BackendErrorKind::OutOfMemory, message: message.to_string() }
}

/// What a failed driver call means: `doing` says which.
pub(crate) fn from_driver(doing: &str, error: DriverError) -> BackendError {
    let kind = match error.0 {
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => BackendErrorKind::OutOfMemory,
        // After these every call on the context fails.
        CUresult::CUDA_ERROR_ILLEGAL_ADDRESS
        | CUresult::CUDA_ERROR_LAUNCH_FAILED
        | CUresult::CUDA_ERROR_ECC_UNCORRECTABLE
        | CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED
        | CUresult::CUDA_ERROR_DEINITIALIZED => BackendErrorKind::DeviceLost,
        _ => BackendErrorKind::Failed,
    };
    BackendError { backend: NAME, kind, message: format!("{doing}: {error}") }
}
