//! The WebGPU backend's part of the surface.

mod canvas;
mod profile;

use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use isopel_core::cpu::{HostBuffer, HostTarget};
use isopel_core::{Codestream, DecodeOptions, DecodePlan, Error, Job, LimitError, Outcome, Report, Route, Size};
use isopel_wgpu::{
    EntropyDecoding, SubmitOptions, WgpuAfter, WgpuBackend, WgpuOptions, WgpuTarget, WgpuUnavailable, wgpu,
};
use js_sys::{Array, Object, Uint8Array};
use wasm_bindgen::prelude::*;
use web_sys::{HtmlCanvasElement, OffscreenCanvas};

use crate::error::JsError;
use crate::image::{self, JsImage};
use crate::now;
use crate::options::{EntropyPlace, JsOptions};

/// An open device.
#[wasm_bindgen]
pub struct WebGpu {
    backend: Rc<WgpuBackend>,
    opened_for: EntropyPlace,
}

#[wasm_bindgen]
impl WebGpu {
    /// Opens the browser's preferred adapter and tests it. Passes that the options can do without are not compiled.
    pub async fn open(options: JsOptions) -> Result<WebGpu, JsValue> {
        let place = options.entropy_place()?;
        let options = WgpuOptions::default();
        let mut opened = WgpuBackend::request(&options.clone().entropy(place.into())).await;
        if let Err(WgpuUnavailable::SelfTest { .. } | WgpuUnavailable::Limits { .. }) = opened {
            // Without entropy decoding the rest may be right.
            opened = WgpuBackend::request(&options.entropy(EntropyDecoding::Cpu)).await;
        }
        match opened {
            Ok(backend) => Ok(WebGpu { backend: Rc::new(backend), opened_for: place }),
            Err(error) => Err(JsError::new("webgpu-unavailable", error.to_string()).into()),
        }
    }

    /// Whether opening it once more could give passes that the options ask for, and that it lacks.
    #[wasm_bindgen(js_name = lacksPassesFor)]
    pub fn lacks_passes_for(&self, options: &JsOptions) -> bool {
        // Wrong options are told to those who decode.
        options.entropy_place().is_ok_and(|place| place > self.opened_for) && !self.backend.decodes_entropy()
    }

    /// Whether the adapter is software: slower than decoding without it.
    #[wasm_bindgen(getter, js_name = isSoftware)]
    pub fn is_software(&self) -> bool {
        self.backend.adapter().device_type == wgpu::DeviceType::Cpu
    }

    /// Decodes files together and reads their pixels back. Gives, for each file, a `DecodedImage` or an error object.
    #[wasm_bindgen(unchecked_return_type = "Promise<Array<WasmImage | WasmError>>")]
    pub fn decode(&self, files: Vec<Uint8Array>, options: &JsOptions) -> Result<js_sys::Promise, JsValue> {
        let request = Request::read(options)?;
        let backend = self.backend.clone();
        Ok(wasm_bindgen_futures::future_to_promise(async move {
            let results = decode_together(&backend, files, &request).await;
            Ok(results
                .into_iter()
                .map(|result| result.map_or_else(JsValue::from, JsValue::from))
                .collect::<Array>()
                .into())
        }))
    }

    /// Decodes into a canvas of the document; its size becomes the picture's. Nothing is read back.
    #[wasm_bindgen(js_name = drawToCanvas, unchecked_return_type = "Promise<WasmImage>")]
    pub fn draw_to_canvas(
        &self,
        file: Uint8Array,
        options: &JsOptions,
        canvas: HtmlCanvasElement,
    ) -> Result<js_sys::Promise, JsValue> {
        self.draw(file, options, move |size| {
            canvas.set_width(size.width);
            canvas.set_height(size.height);
            wgpu::SurfaceTarget::Canvas(canvas)
        })
    }

    /// Decodes into an offscreen canvas; its size becomes the picture's. Nothing is read back.
    #[wasm_bindgen(js_name = drawToOffscreenCanvas, unchecked_return_type = "Promise<WasmImage>")]
    pub fn draw_to_offscreen_canvas(
        &self,
        file: Uint8Array,
        options: &JsOptions,
        canvas: OffscreenCanvas,
    ) -> Result<js_sys::Promise, JsValue> {
        self.draw(file, options, move |size| {
            canvas.set_width(size.width);
            canvas.set_height(size.height);
            wgpu::SurfaceTarget::OffscreenCanvas(canvas)
        })
    }

    /// GPU time of each pass for one file, in milliseconds by name; `undefined` if the device can't measure it.
    #[wasm_bindgen(unchecked_return_type = "Promise<Record<string, number> | undefined>")]
    pub fn profile(&self, file: Uint8Array, options: &JsOptions) -> Result<js_sys::Promise, JsValue> {
        let request = Request::read(options)?;
        let backend = self.backend.clone();
        Ok(wasm_bindgen_futures::future_to_promise(async move {
            Ok(profile::profile(&backend, shared(&file), &request).await?.into())
        }))
    }

    fn draw(
        &self,
        file: Uint8Array,
        options: &JsOptions,
        resize: impl FnOnce(Size) -> wgpu::SurfaceTarget<'static> + 'static,
    ) -> Result<js_sys::Promise, JsValue> {
        let request = Request::read(options)?;
        let backend = self.backend.clone();
        Ok(wasm_bindgen_futures::future_to_promise(async move {
            Ok(canvas::draw(&backend, shared(&file), &request, resize).await?.into())
        }))
    }
}

impl From<EntropyPlace> for EntropyDecoding {
    fn from(place: EntropyPlace) -> Self {
        match place {
            EntropyPlace::Cpu => EntropyDecoding::Cpu,
            EntropyPlace::Auto => EntropyDecoding::Auto,
            EntropyPlace::Gpu => EntropyDecoding::Gpu,
        }
    }
}

/// What is asked of some files.
struct Request {
    options: DecodeOptions,
    submit_options: SubmitOptions,
    timings: bool,
}

impl Request {
    fn read(options: &JsOptions) -> Result<Self, JsError> {
        Ok(Request {
            options: options.decode_options()?,
            submit_options: SubmitOptions::default().entropy(options.entropy_place()?.into()),
            timings: options.timings(),
        })
    }
}

/// A submission that is done.
struct Done {
    outcomes: Vec<Outcome>,
    /// What the CPU did before the GPU had its first work, and what came then, decoding flagged pictures again included.
    on_cpu: Duration,
    on_gpu: Duration,
}

impl Done {
    async fn wait_for(backend: &WgpuBackend, jobs: Vec<Job<WgpuTarget>>, request: &Request) -> Self {
        let start = now();
        let mut submitting = pin!(backend.submit_async(jobs, WgpuAfter::Queue, &request.submit_options));
        // The first poll goes as far as there is something to wait for.
        let first = poll_fn(|context| Poll::Ready(submitting.as_mut().poll(context))).await;
        let queued = now();
        let submission = match first {
            Poll::Ready(submission) => submission,
            Poll::Pending => submitting.await,
        };
        submission.fence().finished().await;
        Done { outcomes: submission.wait(), on_cpu: queued.saturating_sub(start), on_gpu: now().saturating_sub(queued) }
    }

    fn timings(&self, report: &Report) -> Object {
        let on_cpu = match report.route {
            Route::WgpuWhole => "prepare",
            Route::WgpuFromCoefficients => "entropy",
            _ => "decode",
        };
        image::timings(&[(on_cpu, self.on_cpu), ("gpu", self.on_gpu)])
    }

    /// Whose outcomes are missing.
    fn unanswered() -> JsError {
        JsError::new("device-lost", "the device was lost before it answered".to_string())
    }
}

/// Files that can't be planned get their error, the others go to the GPU together.
async fn decode_together(
    backend: &WgpuBackend,
    files: Vec<Uint8Array>,
    request: &Request,
) -> Vec<Result<JsImage, JsError>> {
    let mut buffers = Vec::new();
    let mut jobs = Vec::new();
    let mut places = Vec::new();
    let mut results: Vec<Option<Result<JsImage, JsError>>> = Vec::new();
    for file in files {
        let jpeg = shared(&file);
        match pixel_memory(&jpeg, &request.options) {
            Ok(pixels) => {
                let buffer = HostBuffer::new(pixels);
                let target = WgpuTarget::Host(HostTarget::packed(buffer.clone()));
                jobs.push(Job { jpeg, options: request.options, target });
                buffers.push(buffer);
                places.push(results.len());
                results.push(None);
            }
            Err(error) => results.push(Some(Err(error))),
        }
    }
    let mut done = Done::wait_for(backend, jobs, request).await;
    for outcome in std::mem::take(&mut done.outcomes) {
        let result = outcome.result.map_err(JsError::from).map(|report| {
            let js_image = image::describe(&report, Some(&Uint8Array::from(buffers[outcome.index].lock().as_slice())));
            if request.timings {
                js_image.set_timings(&done.timings(&report));
            }
            js_image
        });
        results[places[outcome.index]] = Some(result);
    }
    results.into_iter().map(|result| result.unwrap_or_else(|| Err(Done::unanswered()))).collect()
}

/// Memory for a request's pixels. Not having it must be an error: if the instance stopped in here, nobody would tell
/// those who wait.
fn pixel_memory(jpeg: &[u8], options: &DecodeOptions) -> Result<Vec<u8>, JsError> {
    let codestream = Codestream::parse(jpeg, &options.limits).map_err(JsError::from)?;
    let plan = DecodePlan::new(&codestream, options).map_err(JsError::from)?;
    let len = plan.layout().required_len();
    let (bytes, limit) = (plan.working_memory().saturating_add(len as u64), options.limits.max_memory);
    plan.limits().check_memory(bytes).map_err(Error::from)?;
    let mut pixels = Vec::new();
    pixels.try_reserve_exact(len).map_err(|_| Error::from(LimitError::Memory { bytes, limit }))?;
    pixels.resize(len, 0);
    Ok(pixels)
}

/// A file's bytes in memory that jobs share: the only copy of them.
fn shared(file: &Uint8Array) -> Arc<[u8]> {
    let mut bytes: Arc<[u8]> = std::iter::repeat_n(0, file.length() as usize).collect();
    if let Some(bytes) = Arc::get_mut(&mut bytes) {
        file.copy_to(bytes);
    }
    bytes
}

/// Runs `work` at once, and waits for what the device finds wrong with it.
async fn checked<R>(device: &wgpu::Device, work: impl FnOnce() -> Result<R, JsError>) -> Result<R, JsError> {
    let scopes =
        [wgpu::ErrorFilter::Validation, wgpu::ErrorFilter::OutOfMemory].map(|filter| device.push_error_scope(filter));
    let result = work();
    let errors: Vec<_> = scopes.into_iter().rev().map(|scope| scope.pop()).collect();
    let result = result?;
    for error in errors {
        if let Some(error) = error.await {
            return Err(JsError::new("device-failed", error.to_string()));
        }
    }
    Ok(result)
}
