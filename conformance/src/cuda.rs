//! The CUDA device of this process, and its memory as tests fill and read it.

use std::sync::{Arc, OnceLock};

use isopel_cuda::cudarc::driver::{CudaSlice, CudaStream};
use isopel_cuda::{CudaBackend, CudaOptions};

use crate::backends::Required;

/// The one CUDA backend that the tests of a process share.
///
/// # Errors
/// Why there is none.
pub fn shared() -> Result<&'static CudaBackend, String> {
    static SHARED: OnceLock<Result<CudaBackend, String>> = OnceLock::new();
    SHARED.get_or_init(|| CudaBackend::new().map_err(|error| error.to_string())).as_ref().map_err(String::clone)
}

/// The one that decodes with nvJPEG.
///
/// # Errors
/// Why there is none.
pub fn shared_nvjpeg() -> Result<&'static CudaBackend, String> {
    static SHARED: OnceLock<Result<CudaBackend, String>> = OnceLock::new();
    let open = || CudaBackend::with_options(&CudaOptions::default().engines(true)).map_err(|error| error.to_string());
    SHARED.get_or_init(open).as_ref().map_err(String::clone)
}

/// [`shared`], for tests that need it; without it they say so and have nothing to do.
///
/// # Panics
/// If `ISOPEL_REQUIRE` names cuda and there is none.
pub fn shared_or_explain() -> Option<&'static CudaBackend> {
    shared().map_err(explain).ok()
}

/// A backend of the test's own.
///
/// # Panics
/// As [`shared_or_explain`].
pub fn open_or_explain(options: &CudaOptions) -> Option<CudaBackend> {
    CudaBackend::with_options(options).map_err(|error| explain(error.to_string())).ok()
}

fn explain(reason: String) {
    println!("cuda: not run: {reason}");
    let required = Required::from_env().unwrap_or_else(|error| panic!("{error}"));
    assert!(!required.contains("cuda"), "ISOPEL_REQUIRE names cuda, which did not run: {reason}");
}

/// A stream of the caller's, beside the default one.
pub fn stream(backend: &CudaBackend) -> Arc<CudaStream> {
    backend.context().new_stream().expect("the device gives streams")
}

/// Device memory with these bytes, written when this returns.
pub fn slice(stream: &Arc<CudaStream>, bytes: &[u8]) -> Arc<CudaSlice<u8>> {
    let slice = stream.clone_htod(bytes).expect("the device has memory");
    stream.synchronize().expect("the device works");
    Arc::new(slice)
}

/// The bytes of device memory, once everything that was queued on the stream has run.
pub fn read(stream: &Arc<CudaStream>, slice: &CudaSlice<u8>) -> Vec<u8> {
    let bytes = stream.clone_dtoh(slice).expect("the device copies");
    stream.synchronize().expect("the device works");
    bytes
}
