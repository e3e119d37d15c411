//! The backend behind C functions, for the PyTorch scripts beside this file.

#![allow(unsafe_code)]

use std::ffi::c_void;
use std::sync::Arc;

use isopel_core::{Backend, DecodeOptions, Job, Submission};
use isopel_cuda::{CallerStream, CudaAfter, CudaBackend, CudaFence, CudaOptions, CudaTarget};

/// A backend and what was submitted to it.
pub struct Decoder {
    backend: CudaBackend,
    submissions: Vec<Submission<CudaFence>>,
}

/// Opens the first device, to decode with its JPEG engines if asked to; without the before edge for the negative
/// control. Null if it can't be.
#[unsafe(no_mangle)]
pub extern "C" fn isopel_open(before_edge: bool, engines: bool) -> *mut Decoder {
    let options = CudaOptions::default().engines(engines);
    let opened =
        if before_edge { CudaBackend::with_options(&options) } else { CudaBackend::without_before_edge(&options) };
    match opened {
        Ok(backend) => Box::into_raw(Box::new(Decoder { backend, submissions: Vec::new() })),
        Err(error) => {
            eprintln!("{error}");
            std::ptr::null_mut()
        }
    }
}

/// Queues the decoding of a file to packed RGB at `target`, after all that `stream` holds and before all that it will
/// be given. Returns whether that was possible.
///
/// # Safety
/// `decoder` is from `isopel_open`, `jpeg` points to `jpeg_len` bytes, `target` to `target_len` bytes of the device
/// that belong to the stream's order, and `stream` is a stream of the device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isopel_decode(
    decoder: *mut Decoder,
    jpeg: *const u8,
    jpeg_len: usize,
    target: u64,
    target_len: usize,
    stream: *mut c_void,
) -> bool {
    // SAFETY: the caller's promise.
    let (decoder, jpeg) = unsafe { (&mut *decoder, std::slice::from_raw_parts(jpeg, jpeg_len)) };
    // SAFETY: the caller's promise.
    let (stream, target) = unsafe { (CallerStream::from_raw(stream), CudaTarget::from_raw(target, target_len)) };
    let job = Job { jpeg: Arc::from(jpeg), options: DecodeOptions::default(), target };
    let submission = decoder.backend.submit(vec![job], CudaAfter::Stream(stream.clone()));
    let held = submission.fence().hold_back(&stream);
    decoder.submissions.push(submission);
    held.is_ok()
}

/// The same of a file many times, in one submission: each to `image_len` bytes behind the one before.
///
/// # Safety
/// As `isopel_decode`, for `count * image_len` bytes from `target` on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isopel_decode_batch(
    decoder: *mut Decoder,
    jpeg: *const u8,
    jpeg_len: usize,
    target: u64,
    image_len: usize,
    count: usize,
    stream: *mut c_void,
) -> bool {
    // SAFETY: the caller's promise.
    let (decoder, jpeg) = unsafe { (&mut *decoder, std::slice::from_raw_parts(jpeg, jpeg_len)) };
    // SAFETY: the caller's promise.
    let stream = unsafe { CallerStream::from_raw(stream) };
    let jpeg: Arc<[u8]> = Arc::from(jpeg);
    let job = |index: usize| {
        // SAFETY: the caller's promise.
        let target = unsafe { CudaTarget::from_raw(target + (index * image_len) as u64, image_len) };
        Job { jpeg: jpeg.clone(), options: DecodeOptions::default(), target }
    };
    let submission = decoder.backend.submit((0..count).map(job).collect(), CudaAfter::Stream(stream.clone()));
    let held = submission.fence().hold_back(&stream);
    decoder.submissions.push(submission);
    held.is_ok()
}

/// Waits for all that was submitted. Returns how many images failed.
///
/// # Safety
/// `decoder` is from `isopel_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isopel_finish(decoder: *mut Decoder) -> usize {
    // SAFETY: the caller's promise.
    let decoder = unsafe { &mut *decoder };
    let outcomes = decoder.submissions.drain(..).flat_map(Submission::wait);
    outcomes.filter(|outcome| outcome.result.is_err()).count()
}
