//! Raw declarations of NVIDIA's nvJPEG 12.1 to 13.x, for decoding. The library is loaded at run time, so nothing of
//! CUDA is needed to build, and each function is optional: an older library lacks some.
//!
//! ```
//! match isopel_nvjpeg_sys::Api::load() {
//!     Ok(api) => println!("{} has ROI: {}", api.path(), api.nvjpegDecodeParamsSetROI.is_some()),
//!     Err(error) => println!("{error}"),
//! }
//! ```

#![allow(non_camel_case_types, non_snake_case)]

mod load;
mod types;

pub use load::{LoadError, PATH_VARIABLE, is_video_library_present};
pub use types::*;

use std::ffi::{c_int, c_uchar, c_uint, c_void};

use libloading::Library;

macro_rules! functions {
    ($($(#[$docs:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?);)*) => {
        /// The functions of one loaded library. `None`: this version does not have it.
        #[derive(Debug)]
        pub struct Api {
            $($(#[$docs])* pub $name: Option<unsafe extern "C" fn($($argument: $type),*) -> nvjpegStatus_t>,)*
            path: String,
            /// Keeps the functions' code in memory.
            _library: Library,
        }

        impl Api {
            fn from_library(library: Library, path: String) -> Api {
                Api {
                    $($name: {
                        // SAFETY: the symbol's type is nvjpeg.h's. The pointer is used as long as `_library` lives.
                        unsafe { library.get(concat!(stringify!($name), "\0").as_bytes()) }.ok().map(|symbol| *symbol)
                    },)*
                    path,
                    _library: library,
                }
            }

            /// Names of the functions that this library lacks.
            pub fn missing(&self) -> Vec<&'static str> {
                let mut names = Vec::new();
                $(if self.$name.is_none() { names.push(stringify!($name)); })*
                names
            }
        }
    };
}

functions! {
    /// Version numbers of nvJPEG.
    fn nvjpegGetProperty(property: libraryPropertyType, value: *mut c_int);
    /// Version numbers of the CUDA runtime inside nvJPEG.
    fn nvjpegGetCudartProperty(property: libraryPropertyType, value: *mut c_int);
    /// Creates a handle for a backend, with allocators and flags.
    fn nvjpegCreateEx(
        backend: nvjpegBackend_t,
        device_allocator: *mut nvjpegDevAllocator_t,
        pinned_allocator: *mut nvjpegPinnedAllocator_t,
        flags: c_uint,
        handle: *mut nvjpegHandle_t,
    );
    /// The same with stream-ordered allocators.
    fn nvjpegCreateExV2(
        backend: nvjpegBackend_t,
        device_allocator: *mut nvjpegDevAllocatorV2_t,
        pinned_allocator: *mut nvjpegPinnedAllocatorV2_t,
        flags: c_uint,
        handle: *mut nvjpegHandle_t,
    );
    /// Destroys a handle.
    fn nvjpegDestroy(handle: nvjpegHandle_t);
    /// JPEG engines of the current device, and cores in each.
    fn nvjpegGetHardwareDecoderInfo(handle: nvjpegHandle_t, engines: *mut c_uint, cores_per_engine: *mut c_uint);
    /// Creates the state of one thread.
    fn nvjpegJpegStateCreate(handle: nvjpegHandle_t, state: *mut nvjpegJpegState_t);
    /// Destroys a state of any kind.
    fn nvjpegJpegStateDestroy(state: nvjpegJpegState_t);
    /// Size and sampling from a header; writes four integers into each array.
    fn nvjpegGetImageInfo(
        handle: nvjpegHandle_t,
        data: *const c_uchar,
        length: usize,
        components: *mut c_int,
        subsampling: *mut nvjpegChromaSubsampling_t,
        widths: *mut c_int,
        heights: *mut c_int,
    );
    /// Decodes one image in one call.
    fn nvjpegDecode(
        handle: nvjpegHandle_t,
        state: nvjpegJpegState_t,
        data: *const c_uchar,
        length: usize,
        output_format: nvjpegOutputFormat_t,
        destination: *mut nvjpegImage_t,
        stream: cudaStream_t,
    );
    /// Sets a state up for batches of one size and format.
    fn nvjpegDecodeBatchedInitialize(
        handle: nvjpegHandle_t,
        state: nvjpegJpegState_t,
        batch_size: c_int,
        max_cpu_threads: c_int,
        output_format: nvjpegOutputFormat_t,
    );
    /// Decodes a batch of the size that the state was set up for.
    fn nvjpegDecodeBatched(
        handle: nvjpegHandle_t,
        state: nvjpegJpegState_t,
        data: *const *const c_uchar,
        lengths: *const usize,
        destinations: *mut nvjpegImage_t,
        stream: cudaStream_t,
    );
    /// The same with parameters per image.
    fn nvjpegDecodeBatchedEx(
        handle: nvjpegHandle_t,
        state: nvjpegJpegState_t,
        data: *const *const c_uchar,
        lengths: *const usize,
        destinations: *mut nvjpegImage_t,
        parameters: *mut nvjpegDecodeParams_t,
        stream: cudaStream_t,
    );
    /// Whether the batched call decodes a parsed image; writes 0 for yes.
    fn nvjpegDecodeBatchedSupported(handle: nvjpegHandle_t, jpeg: nvjpegJpegStream_t, unsupported: *mut c_int);
    /// The same with parameters.
    fn nvjpegDecodeBatchedSupportedEx(
        handle: nvjpegHandle_t,
        jpeg: nvjpegJpegStream_t,
        parameters: nvjpegDecodeParams_t,
        unsupported: *mut c_int,
    );
    /// Allocates a state's memory ahead of its first batch.
    fn nvjpegDecodeBatchedPreAllocate(
        handle: nvjpegHandle_t,
        state: nvjpegJpegState_t,
        batch_size: c_int,
        width: c_int,
        height: c_int,
        subsampling: nvjpegChromaSubsampling_t,
        output_format: nvjpegOutputFormat_t,
    );
    /// Creates a decoder of the decoupled calls.
    fn nvjpegDecoderCreate(handle: nvjpegHandle_t, backend: nvjpegBackend_t, decoder: *mut nvjpegJpegDecoder_t);
    /// Destroys a decoder.
    fn nvjpegDecoderDestroy(decoder: nvjpegJpegDecoder_t);
    /// Creates a state for a decoder.
    fn nvjpegDecoderStateCreate(
        handle: nvjpegHandle_t,
        decoder: nvjpegJpegDecoder_t,
        state: *mut nvjpegJpegState_t,
    );
    /// Whether a decoder decodes a parsed image; writes 0 for yes.
    fn nvjpegDecoderJpegSupported(
        decoder: nvjpegJpegDecoder_t,
        jpeg: nvjpegJpegStream_t,
        parameters: nvjpegDecodeParams_t,
        unsupported: *mut c_int,
    );
    /// Creates pinned memory for the host phase.
    fn nvjpegBufferPinnedCreate(
        handle: nvjpegHandle_t,
        allocator: *mut nvjpegPinnedAllocator_t,
        buffer: *mut nvjpegBufferPinned_t,
    );
    /// The same with a stream-ordered allocator.
    fn nvjpegBufferPinnedCreateV2(
        handle: nvjpegHandle_t,
        allocator: *mut nvjpegPinnedAllocatorV2_t,
        buffer: *mut nvjpegBufferPinned_t,
    );
    /// Destroys it.
    fn nvjpegBufferPinnedDestroy(buffer: nvjpegBufferPinned_t);
    /// Creates device memory for the device phase.
    fn nvjpegBufferDeviceCreate(
        handle: nvjpegHandle_t,
        allocator: *mut nvjpegDevAllocator_t,
        buffer: *mut nvjpegBufferDevice_t,
    );
    /// The same with a stream-ordered allocator.
    fn nvjpegBufferDeviceCreateV2(
        handle: nvjpegHandle_t,
        allocator: *mut nvjpegDevAllocatorV2_t,
        buffer: *mut nvjpegBufferDevice_t,
    );
    /// Destroys it.
    fn nvjpegBufferDeviceDestroy(buffer: nvjpegBufferDevice_t);
    /// Gives a state its pinned memory.
    fn nvjpegStateAttachPinnedBuffer(state: nvjpegJpegState_t, buffer: nvjpegBufferPinned_t);
    /// Gives a state its device memory.
    fn nvjpegStateAttachDeviceBuffer(state: nvjpegJpegState_t, buffer: nvjpegBufferDevice_t);
    /// Creates a place for a parsed file.
    fn nvjpegJpegStreamCreate(handle: nvjpegHandle_t, jpeg: *mut nvjpegJpegStream_t);
    /// Destroys it.
    fn nvjpegJpegStreamDestroy(jpeg: nvjpegJpegStream_t);
    /// Parses a file.
    fn nvjpegJpegStreamParse(
        handle: nvjpegHandle_t,
        data: *const c_uchar,
        length: usize,
        save_metadata: c_int,
        save_stream: c_int,
        jpeg: nvjpegJpegStream_t,
    );
    /// Parses a file up to its frame header.
    fn nvjpegJpegStreamParseHeader(
        handle: nvjpegHandle_t,
        data: *const c_uchar,
        length: usize,
        jpeg: nvjpegJpegStream_t,
    );
    /// Width and height of a parsed file.
    fn nvjpegJpegStreamGetFrameDimensions(jpeg: nvjpegJpegStream_t, width: *mut c_uint, height: *mut c_uint);
    /// The coding process of a parsed file.
    fn nvjpegJpegStreamGetJpegEncoding(jpeg: nvjpegJpegStream_t, encoding: *mut nvjpegJpegEncoding_t);
    /// Creates decode parameters.
    fn nvjpegDecodeParamsCreate(handle: nvjpegHandle_t, parameters: *mut nvjpegDecodeParams_t);
    /// Destroys them.
    fn nvjpegDecodeParamsDestroy(parameters: nvjpegDecodeParams_t);
    /// The format of the pixels.
    fn nvjpegDecodeParamsSetOutputFormat(parameters: nvjpegDecodeParams_t, format: nvjpegOutputFormat_t);
    /// The region to decode; all zeros and -1 for none.
    fn nvjpegDecodeParamsSetROI(
        parameters: nvjpegDecodeParams_t,
        offset_x: c_int,
        offset_y: c_int,
        width: c_int,
        height: c_int,
    );
    /// Whether four-component files are converted.
    fn nvjpegDecodeParamsSetAllowCMYK(parameters: nvjpegDecodeParams_t, allow: c_int);
    /// The reduction of the output.
    fn nvjpegDecodeParamsSetScaleFactor(parameters: nvjpegDecodeParams_t, factor: nvjpegScaleFactor_t);
    /// The orientation to apply.
    fn nvjpegDecodeParamsSetExifOrientation(
        parameters: nvjpegDecodeParams_t,
        orientation: nvjpegExifOrientation_t,
    );
    /// Host phase: parsing and, depending on the backend, entropy decoding.
    fn nvjpegDecodeJpegHost(
        handle: nvjpegHandle_t,
        decoder: nvjpegJpegDecoder_t,
        state: nvjpegJpegState_t,
        parameters: nvjpegDecodeParams_t,
        jpeg: nvjpegJpegStream_t,
    );
    /// Copy phase.
    fn nvjpegDecodeJpegTransferToDevice(
        handle: nvjpegHandle_t,
        decoder: nvjpegJpegDecoder_t,
        state: nvjpegJpegState_t,
        jpeg: nvjpegJpegStream_t,
        stream: cudaStream_t,
    );
    /// Device phase.
    fn nvjpegDecodeJpegDevice(
        handle: nvjpegHandle_t,
        decoder: nvjpegJpegDecoder_t,
        state: nvjpegJpegState_t,
        destination: *mut nvjpegImage_t,
        stream: cudaStream_t,
    );
}

impl Api {
    /// Loads the library: the file that `ISOPEL_NVJPEG_PATH` names and no other, else by soname from the loader's
    /// places, else from the NVIDIA wheels of the active Python environment.
    ///
    /// # Errors
    /// [`LoadError`] names every place that was tried.
    pub fn load() -> Result<Api, LoadError> {
        let (library, path) = load::load(std::env::var_os(PATH_VARIABLE))?;
        Ok(Api::from_library(library, path))
    }

    /// What was loaded: a path or a soname.
    pub fn path(&self) -> &str {
        &self.path
    }
}

/// Called by nvJPEG to allocate.
pub type tDevMalloc = unsafe extern "C" fn(*mut *mut c_void, usize) -> c_int;
/// Called by nvJPEG to free.
pub type tDevFree = unsafe extern "C" fn(*mut c_void) -> c_int;
/// Called by nvJPEG to allocate pinned memory.
pub type tPinnedMalloc = unsafe extern "C" fn(*mut *mut c_void, usize, c_uint) -> c_int;
/// Called by nvJPEG to free pinned memory.
pub type tPinnedFree = unsafe extern "C" fn(*mut c_void) -> c_int;
/// Called by nvJPEG to allocate in a stream's order.
pub type tDevMallocV2 = unsafe extern "C" fn(*mut c_void, *mut *mut c_void, usize, cudaStream_t) -> c_int;
/// Called by nvJPEG to free in a stream's order.
pub type tDevFreeV2 = unsafe extern "C" fn(*mut c_void, *mut c_void, usize, cudaStream_t) -> c_int;
