//! nvJPEG with results and owners: a handle per backend, and the decoders that one thread each owns.

#![allow(unsafe_code)]

use std::collections::HashMap;
use std::ffi::{c_int, c_uint};
use std::ptr::null_mut;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use isopel_core::{BackendError, Rect};
use isopel_nvjpeg_sys::{
    Api, NVJPEG_FLAGS_UPSAMPLING_WITH_INTERPOLATION, NVJPEG_MAX_COMPONENT, cudaStream_t, libraryPropertyType,
    nvjpegBackend_t, nvjpegBufferDevice_t, nvjpegBufferPinned_t, nvjpegDecodeParams_t, nvjpegHandle_t, nvjpegImage_t,
    nvjpegJpegDecoder_t, nvjpegJpegState_t, nvjpegJpegStream_t, nvjpegOutputFormat_t, nvjpegStatus_t,
};

use crate::allocator::Allocator;
use crate::driver::{Device, Event, Stream};
use crate::error::{failed, out_of_memory};
use crate::gate::Gate;

/// A call that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{call}: {}", describe(*status))]
pub(crate) struct NvjpegError {
    /// The function's name.
    pub(crate) call: &'static str,
    /// What it said; `None` if this library lacks it.
    pub(crate) status: Option<nvjpegStatus_t>,
}

impl From<NvjpegError> for BackendError {
    fn from(error: NvjpegError) -> BackendError {
        match error.status {
            Some(nvjpegStatus_t::ALLOCATOR_FAILURE) => out_of_memory(error),
            _ => failed(error),
        }
    }
}

fn describe(status: Option<nvjpegStatus_t>) -> String {
    let text = match status {
        None => return "this nvJPEG does not have it".to_owned(),
        Some(nvjpegStatus_t::NOT_INITIALIZED) => "not initialised",
        Some(nvjpegStatus_t::INVALID_PARAMETER) => "invalid parameter",
        Some(nvjpegStatus_t::BAD_JPEG) => "bad JPEG",
        Some(nvjpegStatus_t::JPEG_NOT_SUPPORTED) => "JPEG not supported",
        Some(nvjpegStatus_t::ALLOCATOR_FAILURE) => "out of memory",
        Some(nvjpegStatus_t::EXECUTION_FAILED) => "execution failed",
        Some(nvjpegStatus_t::ARCH_MISMATCH) => "the device has no such engine",
        Some(nvjpegStatus_t::INTERNAL_ERROR) => "internal error",
        Some(nvjpegStatus_t::IMPLEMENTATION_NOT_SUPPORTED) => "not supported",
        Some(nvjpegStatus_t::INCOMPLETE_BITSTREAM) => "incomplete file",
        Some(nvjpegStatus_t(other)) => return format!("status {other}"),
    };
    text.to_owned()
}

/// Calls a function of the library, if it has it and the status is good.
macro_rules! call {
    ($api:expr, $name:ident($($argument:expr),* $(,)?)) => {
        match $api.$name {
            None => Err(NvjpegError { call: stringify!($name), status: None }),
            Some(function) => {
                // SAFETY: the arguments are live objects of this library, and pointers to as much memory as it
                // reads or writes; each call's comment says more where there is more.
                match unsafe { function($($argument),*) } {
                    nvjpegStatus_t::SUCCESS => Ok(()),
                    status => Err(NvjpegError { call: stringify!($name), status: Some(status) }),
                }
            }
        }
    };
}

/// nvJPEG's version.
pub(crate) type Version = (u32, u32, u32);

/// The version of a loaded library.
pub(crate) fn version(api: &Api) -> Result<Version, NvjpegError> {
    let mut numbers = [0 as c_int; 3];
    let properties =
        [libraryPropertyType::MAJOR_VERSION, libraryPropertyType::MINOR_VERSION, libraryPropertyType::PATCH_LEVEL];
    for (property, number) in properties.into_iter().zip(&mut numbers) {
        call!(api, nvjpegGetProperty(property, number))?;
    }
    let [major, minor, patch] = numbers.map(|number| number.max(0) as u32);
    Ok((major, minor, patch))
}

/// nvJPEG on one device, set up for one backend. May be shared between threads.
#[derive(Debug)]
pub(crate) struct Handle {
    api: Arc<Api>,
    raw: nvjpegHandle_t,
    device: Arc<Device>,
    /// nvJPEG keeps its address.
    allocator: Option<Box<Allocator>>,
}

// SAFETY: nvJPEG's handle is thread-safe by its documentation; states are not, and have their own types here.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Handle {
    pub(crate) fn new(api: &Arc<Api>, device: &Arc<Device>, backend: nvjpegBackend_t) -> Result<Handle, NvjpegError> {
        let _current = enter(device, "nvjpegCreateEx")?;
        let mut raw = nvjpegHandle_t::NULL;
        // Without interpolation nvJPEG's chroma is up to 26 levels off libjpeg's.
        let flags = NVJPEG_FLAGS_UPSAMPLING_WITH_INTERPOLATION;
        let no_memory = |_| NvjpegError { call: "nvjpegCreateExV2", status: Some(nvjpegStatus_t::ALLOCATOR_FAILURE) };
        let allocator = if api.nvjpegCreateExV2.is_some() && device.context().has_async_alloc() {
            Some(Allocator::new(device).map_err(no_memory)?)
        } else {
            None
        };
        match &allocator {
            Some(allocator) => {
                let (mut device, mut pinned) = (allocator.for_device(), allocator.for_pinned());
                call!(api, nvjpegCreateExV2(backend, &mut device, &mut pinned, flags, &mut raw))?;
            }
            None => call!(api, nvjpegCreateEx(backend, null_mut(), null_mut(), flags, &mut raw))?,
        }
        Ok(Handle { api: api.clone(), raw, device: device.clone(), allocator })
    }

    /// JPEG engines of the device, and cores in each.
    pub(crate) fn engines(&self) -> Result<(u32, u32), NvjpegError> {
        let _current = enter(&self.device, "nvjpegGetHardwareDecoderInfo")?;
        let (mut engines, mut cores): (c_uint, c_uint) = (0, 0);
        call!(self.api, nvjpegGetHardwareDecoderInfo(self.raw, &mut engines, &mut cores))?;
        Ok((engines, cores))
    }
}

impl Handle {
    fn create_device_buffer(&self, buffer: &mut nvjpegBufferDevice_t) -> Result<(), NvjpegError> {
        match &self.allocator {
            Some(allocator) if self.api.nvjpegBufferDeviceCreateV2.is_some() => {
                let mut allocator = allocator.for_device();
                call!(self.api, nvjpegBufferDeviceCreateV2(self.raw, &mut allocator, buffer))
            }
            _ => call!(self.api, nvjpegBufferDeviceCreate(self.raw, null_mut(), buffer)),
        }
    }

    fn create_pinned_buffer(&self, buffer: &mut nvjpegBufferPinned_t) -> Result<(), NvjpegError> {
        match &self.allocator {
            Some(allocator) if self.api.nvjpegBufferPinnedCreateV2.is_some() => {
                let mut allocator = allocator.for_pinned();
                call!(self.api, nvjpegBufferPinnedCreateV2(self.raw, &mut allocator, buffer))
            }
            _ => call!(self.api, nvjpegBufferPinnedCreate(self.raw, null_mut(), buffer)),
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if let Ok(_current) = self.device.enter() {
            let _ = call!(self.api, nvjpegDestroy(self.raw));
        }
    }
}

fn enter(device: &Device, call: &'static str) -> Result<crate::driver::Current, NvjpegError> {
    device.enter().map_err(|_| NvjpegError { call, status: Some(nvjpegStatus_t::EXECUTION_FAILED) })
}

/// The pixels that nvJPEG is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum SourcePixels {
    /// Interleaved RGB.
    Rgb,
    /// Luma only.
    Luma,
}

impl SourcePixels {
    fn format(self) -> nvjpegOutputFormat_t {
        match self {
            SourcePixels::Rgb => nvjpegOutputFormat_t::RGBI,
            SourcePixels::Luma => nvjpegOutputFormat_t::Y,
        }
    }

    /// Bytes of one pixel.
    pub(crate) fn bytes(self) -> usize {
        match self {
            SourcePixels::Rgb => 3,
            SourcePixels::Luma => 1,
        }
    }
}

/// Where an image's pixels go: device memory that lives until an event behind the decode, with room for all rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Destination {
    pub(crate) address: u64,
    pub(crate) pitch: usize,
}

impl Destination {
    fn image(self) -> nvjpegImage_t {
        let mut image = nvjpegImage_t { channel: [null_mut(); NVJPEG_MAX_COMPONENT], pitch: [0; NVJPEG_MAX_COMPONENT] };
        image.channel[0] = self.address as *mut u8;
        image.pitch[0] = self.pitch;
        image
    }
}

/// A state of a handle.
#[derive(Debug)]
struct State {
    raw: nvjpegJpegState_t,
    handle: Arc<Handle>,
}

// SAFETY: a state may move between threads as long as one at a time uses it, which `&mut` of its owners ensures.
unsafe impl Send for State {}

impl Drop for State {
    fn drop(&mut self) {
        if let Ok(_current) = self.handle.device.enter() {
            let _ = call!(self.handle.api, nvjpegJpegStateDestroy(self.raw));
        }
    }
}

/// A batch state, set up for one size of batch and one kind of pixels.
#[derive(Debug)]
struct BatchState {
    size: usize,
    pixels: SourcePixels,
    state: State,
    /// Behind its last work.
    busy: Option<Arc<Event>>,
}

/// Decodes batches on the JPEG engines, from several threads. The engines write when they are called: nothing in a
/// stream holds them back.
#[derive(Debug)]
pub(crate) struct BatchDecoder {
    /// As many as there are calls at a time: each may hold a lock of its own.
    handles: Vec<Arc<Handle>>,
    gate: Gate,
    /// States of each size of batch: one more than there are calls at a time.
    most_states: usize,
    states: Mutex<States>,
    returned: Condvar,
}

/// A call to the engines that went well.
#[derive(Debug)]
pub(crate) struct Called {
    /// Behind the pixels.
    pub(crate) event: Arc<Event>,
    /// How long the call took.
    pub(crate) time: Duration,
    /// Calls under way at its end, itself among them.
    pub(crate) calls: usize,
}

/// Setting a state up takes nvJPEG some 80 ms, so they are kept.
#[derive(Debug, Default)]
struct States {
    /// Those that no thread uses.
    idle: Vec<BatchState>,
    /// How many there are of each size and kind of pixels.
    counts: HashMap<(usize, SourcePixels), usize>,
}

impl BatchDecoder {
    /// For at most `calls` at the same time.
    pub(crate) fn new(handle: &Arc<Handle>, calls: usize) -> BatchDecoder {
        let another = |_| Handle::new(&handle.api, &handle.device, nvjpegBackend_t::HARDWARE).map(Arc::new);
        // With fewer some calls may wait for each other, and nothing else.
        let others = (1..calls).map_while(|call| another(call).ok());
        BatchDecoder {
            handles: std::iter::once(handle.clone()).chain(others).collect(),
            gate: Gate::default(),
            most_states: calls + 1,
            states: Mutex::default(),
            returned: Condvar::new(),
        }
    }

    /// Decodes whole files; `files` and `destinations` are equally many. `stream` is the calling thread's own. At most
    /// `limit` calls are under way meanwhile.
    pub(crate) fn decode(
        &self,
        files: &[&[u8]],
        destinations: &[Destination],
        pixels: SourcePixels,
        stream: &Stream,
        limit: usize,
    ) -> Result<Called, BackendError> {
        assert_eq!(files.len(), destinations.len());
        let mut state = self.state(files.len(), pixels)?;
        let handle = state.state.handle.clone();
        let _current = enter(&handle.device, "nvjpegDecodeBatched")?;
        let data: Vec<*const u8> = files.iter().map(|file| file.as_ptr()).collect();
        let lengths: Vec<usize> = files.iter().map(|file| file.len()).collect();
        let mut images: Vec<nvjpegImage_t> = destinations.iter().map(|destination| destination.image()).collect();
        let (raw, cuda_stream) = (state.state.raw, cudaStream_t(stream.raw().cast()));
        let call = self.gate.enter(limit);
        let started = Instant::now();
        // The files are read before the call returns: nvJPEG copies them to memory of its own.
        let decoded = call!(
            handle.api,
            nvjpegDecodeBatched(handle.raw, raw, data.as_ptr(), lengths.as_ptr(), images.as_mut_ptr(), cuda_stream)
        );
        let (time, calls) = (started.elapsed(), call.count());
        drop(call);
        // Also behind a failed call there may be writes.
        let event = Arc::new(stream.record()?);
        match decoded {
            Ok(()) => {
                state.busy = Some(event.clone());
                self.give_back(state);
                Ok(Called { event, time, calls })
            }
            Err(error) => {
                // A state that failed would have to be set up again.
                event.wait()?;
                drop(state);
                self.forget(files.len(), pixels);
                Err(error.into())
            }
        }
    }

    /// A state that is not in use. As many are set up as can be used at a time; then they are waited for.
    fn state(&self, size: usize, pixels: SourcePixels) -> Result<BatchState, BackendError> {
        let fits = |state: &BatchState| (state.size, state.pixels) == (size, pixels);
        let is_done = |state: &BatchState| state.busy.as_ref().is_none_or(|busy| busy.is_done().unwrap_or(true));
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            // The last one that was used: large pictures, whose calls are few, make few states large.
            if let Some(index) = states.idle.iter().rposition(|state| fits(state) && is_done(state)) {
                return Ok(states.idle.remove(index));
            }
            let count = states.counts.entry((size, pixels)).or_default();
            let before = *count;
            if before < self.most_states {
                *count += 1;
                drop(states);
                return self
                    .new_state(size, pixels, before)
                    .inspect_err(|_| self.forget(size, pixels))
                    .map_err(BackendError::from);
            }
            if let Some(index) = states.idle.iter().position(fits) {
                let mut state = states.idle.remove(index);
                drop(states);
                if let Some(busy) = state.busy.take() {
                    // With it the state would be lost.
                    busy.wait().inspect_err(|_| self.forget(size, pixels))?;
                }
                return Ok(state);
            }
            states = self.returned.wait(states).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Sets up all states of a size and kind of pixels that can be used at a time.
    pub(crate) fn warm_up(&self, size: usize, pixels: SourcePixels) -> Result<(), BackendError> {
        loop {
            let before = {
                let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
                let count = states.counts.entry((size, pixels)).or_default();
                if *count >= self.most_states {
                    return Ok(());
                }
                *count += 1;
                *count - 1
            };
            match self.new_state(size, pixels, before) {
                Ok(state) => self.give_back(state),
                Err(error) => {
                    self.forget(size, pixels);
                    return Err(error.into());
                }
            }
        }
    }

    /// One more than `others` of the same size and pixels, which have other handles if they can.
    fn new_state(&self, size: usize, pixels: SourcePixels, others: usize) -> Result<BatchState, NvjpegError> {
        let handle = &self.handles[others % self.handles.len()];
        let _current = enter(&handle.device, "nvjpegJpegStateCreate")?;
        let mut raw = nvjpegJpegState_t::NULL;
        call!(handle.api, nvjpegJpegStateCreate(handle.raw, &mut raw))?;
        let state = State { raw, handle: handle.clone() };
        let size_of_batch = size as c_int;
        call!(handle.api, nvjpegDecodeBatchedInitialize(handle.raw, raw, size_of_batch, 1, pixels.format()))?;
        Ok(BatchState { size, pixels, state, busy: None })
    }

    fn give_back(&self, state: BatchState) {
        self.states.lock().unwrap_or_else(PoisonError::into_inner).idle.push(state);
        self.returned.notify_all();
    }

    /// One state fewer of its kind.
    fn forget(&self, size: usize, pixels: SourcePixels) {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = states.counts.get_mut(&(size, pixels)) {
            *count -= 1;
        }
        drop(states);
        self.returned.notify_all();
    }
}

impl Drop for BatchDecoder {
    fn drop(&mut self) {
        // States must not go while their work is queued.
        let states = self.states.get_mut().unwrap_or_else(PoisonError::into_inner);
        states.idle.iter().filter_map(|state| state.busy.as_ref()).for_each(|busy| drop(busy.wait()));
    }
}

/// Decodes single files with entropy decoding on the CPU or on the SMs, by nvJPEG's decoupled calls.
#[derive(Debug)]
pub(crate) struct SingleDecoder {
    handle: Arc<Handle>,
    decoder: nvjpegJpegDecoder_t,
    state: nvjpegJpegState_t,
    device_buffer: nvjpegBufferDevice_t,
    /// Each is in use until its transfer has run.
    pinned: [(nvjpegBufferPinned_t, Option<Event>); 2],
    next_pinned: usize,
    jpeg: nvjpegJpegStream_t,
    parameters: nvjpegDecodeParams_t,
    stream: Stream,
}

// SAFETY: its objects may move between threads as long as one at a time uses them, which `&mut self` ensures.
unsafe impl Send for SingleDecoder {}

impl SingleDecoder {
    pub(crate) fn new(handle: &Arc<Handle>, backend: nvjpegBackend_t) -> Result<SingleDecoder, BackendError> {
        let mut single = SingleDecoder {
            handle: handle.clone(),
            decoder: nvjpegJpegDecoder_t::NULL,
            state: nvjpegJpegState_t::NULL,
            device_buffer: nvjpegBufferDevice_t::NULL,
            pinned: [(nvjpegBufferPinned_t::NULL, None), (nvjpegBufferPinned_t::NULL, None)],
            next_pinned: 0,
            jpeg: nvjpegJpegStream_t::NULL,
            parameters: nvjpegDecodeParams_t::NULL,
            stream: Stream::new(&handle.device)?,
        };
        let (api, raw) = (&handle.api, handle.raw);
        let _current = enter(&handle.device, "nvjpegDecoderCreate")?;
        call!(api, nvjpegDecoderCreate(raw, backend, &mut single.decoder))?;
        call!(api, nvjpegDecoderStateCreate(raw, single.decoder, &mut single.state))?;
        handle.create_device_buffer(&mut single.device_buffer)?;
        call!(api, nvjpegStateAttachDeviceBuffer(single.state, single.device_buffer))?;
        for (pinned, _) in &mut single.pinned {
            handle.create_pinned_buffer(pinned)?;
        }
        call!(api, nvjpegJpegStreamCreate(raw, &mut single.jpeg))?;
        call!(api, nvjpegDecodeParamsCreate(raw, &mut single.parameters))?;
        Ok(single)
    }

    /// Decodes a file, or a region of it. Returns an event behind the pixels.
    pub(crate) fn decode(
        &mut self,
        file: &[u8],
        region: Option<Rect>,
        destination: Destination,
        pixels: SourcePixels,
    ) -> Result<Event, BackendError> {
        let handle = self.handle.clone();
        let (api, raw) = (&handle.api, handle.raw);
        let _current = enter(&handle.device, "nvjpegDecodeJpegHost")?;
        let (pinned, busy) = &mut self.pinned[self.next_pinned];
        if let Some(transferred) = busy.take() {
            transferred.wait()?;
        }
        let pinned = *pinned;
        let stream = cudaStream_t(self.stream.raw().cast());
        let rect = region.unwrap_or(Rect::new(0, 0, 0, 0));
        let [x, y] = [rect.x, rect.y].map(|number| number as c_int);
        // nvJPEG's own way to say "all of it".
        let [width, height] = [rect.width, rect.height].map(|number| if number == 0 { -1 } else { number as c_int });
        let mut image = destination.image();
        let (decoder, state, jpeg, parameters) = (self.decoder, self.state, self.jpeg, self.parameters);
        let decode = || {
            // The stream object refers to `file`, which is last read by the host phase.
            call!(api, nvjpegJpegStreamParse(raw, file.as_ptr(), file.len(), 0, 0, jpeg))?;
            call!(api, nvjpegDecodeParamsSetOutputFormat(parameters, pixels.format()))?;
            call!(api, nvjpegDecodeParamsSetROI(parameters, x, y, width, height))?;
            call!(api, nvjpegStateAttachPinnedBuffer(state, pinned))?;
            call!(api, nvjpegDecodeJpegHost(raw, decoder, state, parameters, jpeg))?;
            call!(api, nvjpegDecodeJpegTransferToDevice(raw, decoder, state, jpeg, stream))
        };
        let transferred: Result<(), NvjpegError> = decode();
        self.pinned[self.next_pinned].1 = Some(self.stream.record()?);
        self.next_pinned = 1 - self.next_pinned;
        let decoded =
            transferred.and_then(|()| call!(api, nvjpegDecodeJpegDevice(raw, decoder, state, &mut image, stream)));
        let event = self.stream.record()?;
        match decoded {
            Ok(()) => Ok(event),
            Err(error) => {
                event.wait()?;
                Err(error.into())
            }
        }
    }
}

impl Drop for SingleDecoder {
    fn drop(&mut self) {
        let _ = self.stream.synchronize();
        let Ok(_current) = self.handle.device.enter() else { return };
        let api = &self.handle.api;
        if self.parameters != nvjpegDecodeParams_t::NULL {
            let _ = call!(api, nvjpegDecodeParamsDestroy(self.parameters));
        }
        if self.jpeg != nvjpegJpegStream_t::NULL {
            let _ = call!(api, nvjpegJpegStreamDestroy(self.jpeg));
        }
        for (pinned, _) in &self.pinned {
            if *pinned != nvjpegBufferPinned_t::NULL {
                let _ = call!(api, nvjpegBufferPinnedDestroy(*pinned));
            }
        }
        if self.device_buffer != nvjpegBufferDevice_t::NULL {
            let _ = call!(api, nvjpegBufferDeviceDestroy(self.device_buffer));
        }
        if self.state != nvjpegJpegState_t::NULL {
            let _ = call!(api, nvjpegJpegStateDestroy(self.state));
        }
        if self.decoder != nvjpegJpegDecoder_t::NULL {
            let _ = call!(api, nvjpegDecoderDestroy(self.decoder));
        }
    }
}
