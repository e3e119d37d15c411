//! nvJPEG called as its documentation has it, with nothing of isopel's around: what the backend's speed is compared
//! with. Pixels go to device memory of each thread's own, and nothing orders them.

#![allow(unsafe_code)]

use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use isopel_cuda::{CudaBackend, CudaBuffer};
use isopel_nvjpeg_sys::{
    Api, NVJPEG_FLAGS_UPSAMPLING_WITH_INTERPOLATION, cudaStream_t, nvjpegBackend_t, nvjpegBufferDevice_t,
    nvjpegBufferPinned_t, nvjpegDecodeParams_t, nvjpegHandle_t, nvjpegImage_t, nvjpegJpegDecoder_t, nvjpegJpegState_t,
    nvjpegJpegStream_t, nvjpegOutputFormat_t, nvjpegStatus_t,
};

/// A file and the size of its pixels.
pub struct File {
    pub jpeg: Arc<[u8]>,
    pub width: usize,
    pub height: usize,
}

/// Threads, and what each does.
#[derive(Debug, Clone, Copy)]
pub struct Mix {
    /// Threads that each decode batches on the engines.
    pub engine_threads: usize,
    /// Threads that each decode images one by one with GPU_HYBRID.
    pub gpu_hybrid_threads: usize,
}

macro_rules! call {
    ($api:expr, $name:ident($($argument:expr),* $(,)?)) => {{
        let function = $api.$name.ok_or(concat!(stringify!($name), " is missing"))?;
        // SAFETY: live objects of the library, and memory as large as it is told.
        match unsafe { function($($argument),*) } {
            nvjpegStatus_t::SUCCESS => Ok::<(), String>(()),
            status => Err(format!("{}: status {}", stringify!($name), status.0)),
        }
    }};
}

/// Images per second, with batches of this size.
pub fn speed(backend: &CudaBackend, files: &[File], mix: Mix, batch: usize, time: Duration) -> Result<f64, String> {
    let api = Arc::new(Api::load().map_err(|error| error.to_string())?);
    let (images, stop, ready) = (AtomicU64::new(0), AtomicBool::new(false), AtomicU64::new(0));
    let threads = mix.engine_threads + mix.gpu_hybrid_threads;
    let rate = std::thread::scope(|scope| {
        let mut handles = Vec::new();
        for thread in 0..threads {
            let (api, images, stop, ready) = (&api, &images, &stop, &ready);
            handles.push(scope.spawn(move || {
                let result = if thread < mix.engine_threads {
                    on_engines(api, backend, files, batch, (images, stop, ready))
                } else {
                    with_gpu_hybrid(api, backend, files, thread, (images, stop, ready))
                };
                // Whoever fails lets the others go.
                if result.is_err() {
                    ready.fetch_add(1, Ordering::SeqCst);
                    stop.store(true, Ordering::SeqCst);
                }
                result
            }));
        }
        while ready.load(Ordering::SeqCst) < threads as u64 {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(100));
        let (started, before) = (Instant::now(), images.load(Ordering::SeqCst));
        std::thread::sleep(time);
        let (after, elapsed) = (images.load(Ordering::SeqCst), started.elapsed());
        stop.store(true, Ordering::SeqCst);
        for handle in handles {
            handle.join().map_err(|_| "a thread panicked".to_owned())??;
        }
        Ok::<f64, String>((after - before) as f64 / elapsed.as_secs_f64())
    })?;
    Ok(rate)
}

type Counters<'c> = (&'c AtomicU64, &'c AtomicBool, &'c AtomicU64);

fn image(buffer: &CudaBuffer, offset: usize, file: &File) -> nvjpegImage_t {
    let mut image = nvjpegImage_t { channel: [null_mut(); 4], pitch: [0; 4] };
    image.channel[0] = (buffer.address() + offset as u64) as *mut u8;
    image.pitch[0] = file.width * 3;
    image
}

fn on_engines(
    api: &Api,
    backend: &CudaBackend,
    files: &[File],
    batch: usize,
    (images, stop, ready): Counters,
) -> Result<(), String> {
    backend.context().bind_to_thread().map_err(|error| error.to_string())?;
    let stream = backend.context().new_stream().map_err(|error| error.to_string())?;
    let cuda_stream = cudaStream_t(stream.cu_stream().cast());
    let batch_files: Vec<&File> = (0..batch).map(|index| &files[index % files.len()]).collect();
    let sizes = batch_files.iter().map(|file| (file.width * file.height * 3).next_multiple_of(256));
    let buffer = CudaBuffer::new(backend, sizes.sum()).map_err(|error| error.to_string())?;
    let mut offset = 0;
    let mut destinations: Vec<nvjpegImage_t> = batch_files
        .iter()
        .map(|file| {
            let image = image(&buffer, offset, file);
            offset += (file.width * file.height * 3).next_multiple_of(256);
            image
        })
        .collect();
    let data: Vec<*const u8> = batch_files.iter().map(|file| file.jpeg.as_ptr()).collect();
    let lengths: Vec<usize> = batch_files.iter().map(|file| file.jpeg.len()).collect();
    let (mut handle, mut state) = (nvjpegHandle_t::NULL, nvjpegJpegState_t::NULL);
    let flags = NVJPEG_FLAGS_UPSAMPLING_WITH_INTERPOLATION;
    call!(api, nvjpegCreateEx(nvjpegBackend_t::HARDWARE, null_mut(), null_mut(), flags, &mut handle))?;
    call!(api, nvjpegJpegStateCreate(handle, &mut state))?;
    let format = nvjpegOutputFormat_t::RGBI;
    call!(api, nvjpegDecodeBatchedInitialize(handle, state, batch as i32, 1, format))?;
    let mut decode = || {
        call!(
            api,
            nvjpegDecodeBatched(handle, state, data.as_ptr(), lengths.as_ptr(), destinations.as_mut_ptr(), cuda_stream)
        )?;
        stream.synchronize().map_err(|error| error.to_string())
    };
    // The first call allocates.
    decode()?;
    ready.fetch_add(1, Ordering::SeqCst);
    while !stop.load(Ordering::SeqCst) {
        decode()?;
        images.fetch_add(batch as u64, Ordering::SeqCst);
    }
    call!(api, nvjpegJpegStateDestroy(state))?;
    call!(api, nvjpegDestroy(handle))
}

fn with_gpu_hybrid(
    api: &Api,
    backend: &CudaBackend,
    files: &[File],
    first: usize,
    (images, stop, ready): Counters,
) -> Result<(), String> {
    backend.context().bind_to_thread().map_err(|error| error.to_string())?;
    let stream = backend.context().new_stream().map_err(|error| error.to_string())?;
    let cuda_stream = cudaStream_t(stream.cu_stream().cast());
    let largest = files.iter().map(|file| file.width * file.height * 3).max().unwrap_or(0);
    let buffer = CudaBuffer::new(backend, largest).map_err(|error| error.to_string())?;
    let mut handle = nvjpegHandle_t::NULL;
    let flags = NVJPEG_FLAGS_UPSAMPLING_WITH_INTERPOLATION;
    call!(api, nvjpegCreateEx(nvjpegBackend_t::DEFAULT, null_mut(), null_mut(), flags, &mut handle))?;
    let (mut decoder, mut state) = (nvjpegJpegDecoder_t::NULL, nvjpegJpegState_t::NULL);
    call!(api, nvjpegDecoderCreate(handle, nvjpegBackend_t::GPU_HYBRID, &mut decoder))?;
    call!(api, nvjpegDecoderStateCreate(handle, decoder, &mut state))?;
    let mut device = nvjpegBufferDevice_t::NULL;
    call!(api, nvjpegBufferDeviceCreate(handle, null_mut(), &mut device))?;
    call!(api, nvjpegStateAttachDeviceBuffer(state, device))?;
    let mut pinned = [nvjpegBufferPinned_t::NULL; 2];
    for pinned in &mut pinned {
        call!(api, nvjpegBufferPinnedCreate(handle, null_mut(), pinned))?;
    }
    let (mut jpeg, mut parameters) = (nvjpegJpegStream_t::NULL, nvjpegDecodeParams_t::NULL);
    call!(api, nvjpegJpegStreamCreate(handle, &mut jpeg))?;
    call!(api, nvjpegDecodeParamsCreate(handle, &mut parameters))?;
    call!(api, nvjpegDecodeParamsSetOutputFormat(parameters, nvjpegOutputFormat_t::RGBI))?;
    let decode = |number: usize| {
        let file = &files[number % files.len()];
        let mut image = image(&buffer, 0, file);
        call!(api, nvjpegJpegStreamParse(handle, file.jpeg.as_ptr(), file.jpeg.len(), 0, 0, jpeg))?;
        call!(api, nvjpegStateAttachPinnedBuffer(state, pinned[number % 2]))?;
        call!(api, nvjpegDecodeJpegHost(handle, decoder, state, parameters, jpeg))?;
        // The pinned buffer of two images ago is in use until its transfer ran.
        stream.synchronize().map_err(|error| error.to_string())?;
        call!(api, nvjpegDecodeJpegTransferToDevice(handle, decoder, state, jpeg, cuda_stream))?;
        call!(api, nvjpegDecodeJpegDevice(handle, decoder, state, &mut image, cuda_stream))
    };
    let mut number = first;
    decode(number)?;
    ready.fetch_add(1, Ordering::SeqCst);
    while !stop.load(Ordering::SeqCst) {
        number += 1;
        decode(number)?;
        images.fetch_add(1, Ordering::SeqCst);
    }
    stream.synchronize().map_err(|error| error.to_string())?;
    call!(api, nvjpegDecodeParamsDestroy(parameters))?;
    call!(api, nvjpegJpegStreamDestroy(jpeg))?;
    for pinned in pinned {
        call!(api, nvjpegBufferPinnedDestroy(pinned))?;
    }
    call!(api, nvjpegBufferDeviceDestroy(device))?;
    call!(api, nvjpegJpegStateDestroy(state))?;
    call!(api, nvjpegDecoderDestroy(decoder))?;
    call!(api, nvjpegDestroy(handle))
}
