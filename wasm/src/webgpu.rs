//! The WebGPU backend's part of the surface.

use std::rc::Rc;
use std::sync::Arc;

use isopel_core::cpu::{HostBuffer, HostTarget};
use isopel_core::{Backend, Codestream, DecodeOptions, DecodePlan, Error, Job, LimitError, Outcome, Scale};
use isopel_wgpu::{WgpuAfter, WgpuBackend, WgpuOptions, WgpuTarget, wgpu};
use js_sys::{Array, Uint8Array};
use wasm_bindgen::prelude::*;
use web_sys::{HtmlCanvasElement, OffscreenCanvas};

use crate::error::JsError;
use crate::image::{self, JsImage};
use crate::now;
use crate::options::JsOptions;

/// An open device.
#[wasm_bindgen]
pub struct WebGpu {
    backend: Rc<WgpuBackend>,
}

#[wasm_bindgen]
impl WebGpu {
    /// Opens the browser's preferred adapter and tests it.
    pub async fn open() -> Result<WebGpu, JsValue> {
        match WgpuBackend::request(&WgpuOptions::default()).await {
            Ok(backend) => Ok(WebGpu { backend: Rc::new(backend) }),
            Err(error) => Err(JsError::new("webgpu-unavailable", error.to_string()).into()),
        }
    }

    /// Whether the adapter is software: slower than decoding without it.
    #[wasm_bindgen(getter, js_name = isSoftware)]
    pub fn is_software(&self) -> bool {
        self.backend.adapter().device_type == wgpu::DeviceType::Cpu
    }

    /// Decodes files together and reads their pixels back. Gives, for each file, a `DecodedImage` or an error object.
    #[wasm_bindgen(unchecked_return_type = "Promise<Array<WasmImage | WasmError>>")]
    pub fn decode(&self, files: Vec<Uint8Array>, options: &JsOptions) -> Result<js_sys::Promise, JsValue> {
        let decode_options = options.decode_options()?;
        let (backend, timings) = (self.backend.clone(), options.timings());
        Ok(wasm_bindgen_futures::future_to_promise(async move {
            let results = decode_together(&backend, files, &decode_options, timings).await;
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
        let resize = |width, height| {
            canvas.set_width(width);
            canvas.set_height(height);
            wgpu::SurfaceTarget::Canvas(canvas.clone())
        };
        self.draw(file, options, resize)
    }

    /// Decodes into an offscreen canvas; its size becomes the picture's. Nothing is read back.
    #[wasm_bindgen(js_name = drawToOffscreenCanvas, unchecked_return_type = "Promise<WasmImage>")]
    pub fn draw_to_offscreen_canvas(
        &self,
        file: Uint8Array,
        options: &JsOptions,
        canvas: OffscreenCanvas,
    ) -> Result<js_sys::Promise, JsValue> {
        let resize = |width, height| {
            canvas.set_width(width);
            canvas.set_height(height);
            wgpu::SurfaceTarget::OffscreenCanvas(canvas.clone())
        };
        self.draw(file, options, resize)
    }

    /// Everything up to the submission happens in one task of the page: a canvas' texture lives no longer.
    fn draw(
        &self,
        file: Uint8Array,
        options: &JsOptions,
        resize: impl FnOnce(u32, u32) -> wgpu::SurfaceTarget<'static>,
    ) -> Result<js_sys::Promise, JsValue> {
        let start = now();
        let decode_options = options.decode_options()?;
        let jpeg = shared(&file);
        let codestream = Codestream::parse(&jpeg, &decode_options.limits).map_err(JsError::from)?;
        let size = DecodePlan::new(&codestream, &decode_options).map_err(JsError::from)?.output_size();
        let device = self.backend.device();
        let largest = device.limits().max_texture_dimension_2d;
        if size.width > largest || size.height > largest {
            let message = format!("{size} pixels are too many for a canvas; this GPU draws {largest} a side at most");
            return Err(JsError::new("canvas-too-large", message).into());
        }

        let errors = device.push_error_scope(wgpu::ErrorFilter::Validation);
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
        let surface = instance.create_surface(resize(size.width, size.height)).map_err(|error| {
            JsError::new("canvas-unavailable", format!("the canvas gives no WebGPU context: {error}"))
        })?;
        surface.configure(
            device,
            &wgpu::SurfaceConfiguration {
                usage: wgpu::TextureUsages::COPY_DST | wgpu::TextureUsages::RENDER_ATTACHMENT,
                format: wgpu::TextureFormat::Rgba8Unorm,
                color_space: wgpu::SurfaceColorSpace::Auto,
                width: size.width,
                height: size.height,
                present_mode: wgpu::PresentMode::Fifo,
                desired_maximum_frame_latency: 2,
                alpha_mode: wgpu::CompositeAlphaMode::Opaque,
                view_formats: Vec::new(),
            },
        );
        let frame = match surface.get_current_texture() {
            wgpu::CurrentSurfaceTexture::Success(frame) | wgpu::CurrentSurfaceTexture::Suboptimal(frame) => frame,
            other => {
                let message = format!("the canvas gives no texture: {other:?}");
                return Err(JsError::new("canvas-unavailable", message).into());
            }
        };
        let target = WgpuTarget::Texture(frame.texture.clone());
        let job = Job { jpeg: jpeg.clone(), options: decode_options, target };
        let submission = self.backend.submit(vec![job], WgpuAfter::Queue);
        self.backend.queue().present(frame);
        let queued = now();
        let (timings, errors) = (options.timings(), errors.pop());
        Ok(wasm_bindgen_futures::future_to_promise(async move {
            submission.fence().finished().await;
            if let Some(error) = errors.await {
                return Err(JsError::new("device-failed", error.to_string()).into());
            }
            let js_image = only(submission.wait())?;
            if timings {
                js_image.set_timings(&image::timings(&[
                    (cpu_stage(&decode_options), queued.saturating_sub(start)),
                    ("gpu", now().saturating_sub(queued)),
                ]));
            }
            Ok(js_image.into())
        }))
    }
}

/// What is done before the GPU gets its work.
fn cpu_stage(options: &DecodeOptions) -> &'static str {
    if options.scale == Scale::Full { "entropy" } else { "decode" }
}

fn only(outcomes: Vec<Outcome>) -> Result<JsImage, JsError> {
    match outcomes.into_iter().next().map(|outcome| outcome.result) {
        Some(Ok(report)) => Ok(image::describe(&report, None)),
        Some(Err(error)) => Err(error.into()),
        None => Err(JsError::new("device-lost", "the device was lost before it answered".to_string())),
    }
}

/// Files that can't be planned get their error, the others go to the GPU together.
async fn decode_together(
    backend: &WgpuBackend,
    files: Vec<Uint8Array>,
    options: &DecodeOptions,
    timings: bool,
) -> Vec<Result<JsImage, JsError>> {
    let start = now();
    let mut buffers = Vec::new();
    let mut jobs = Vec::new();
    let mut places = Vec::new();
    let mut results: Vec<Option<Result<JsImage, JsError>>> = Vec::new();
    for file in files {
        let jpeg = shared(&file);
        match pixel_memory(&jpeg, options) {
            Ok(pixels) => {
                let buffer = HostBuffer::new(pixels);
                let target = WgpuTarget::Host(HostTarget::packed(buffer.clone()));
                jobs.push(Job { jpeg, options: *options, target });
                buffers.push(buffer);
                places.push(results.len());
                results.push(None);
            }
            Err(error) => results.push(Some(Err(error))),
        }
    }
    let submission = backend.submit(jobs, WgpuAfter::Queue);
    let queued = now();
    submission.fence().finished().await;
    let times =
        timings.then(|| [(cpu_stage(options), queued.saturating_sub(start)), ("gpu", now().saturating_sub(queued))]);
    for outcome in submission.wait() {
        let result = outcome.result.map_err(JsError::from).map(|report| {
            let js_image = image::describe(&report, Some(&Uint8Array::from(buffers[outcome.index].lock().as_slice())));
            if let Some(times) = &times {
                js_image.set_timings(&image::timings(times));
            }
            js_image
        });
        results[places[outcome.index]] = Some(result);
    }
    let unanswered = || Err(JsError::new("device-lost", "the device was lost before it answered".to_string()));
    results.into_iter().map(|result| result.unwrap_or_else(unanswered)).collect()
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
