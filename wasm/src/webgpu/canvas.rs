//! Decodes into a canvas. A canvas' texture lives as long as one task of the page, and a picture may need several: it is
//! decoded into a texture of its own, and copied when it is whole. Until then the canvas stays as it is.

use std::sync::Arc;

use isopel_core::{Codestream, DecodePlan, Job, Size};
use isopel_wgpu::{WgpuBackend, WgpuTarget, wgpu};

use super::{Done, Request, checked};
use crate::error::JsError;
use crate::image::{self, JsImage};

const FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8Unorm;

/// Decodes a file and copies it to the canvas, which `resize` gives the picture's size.
pub(super) async fn draw(
    backend: &WgpuBackend,
    jpeg: Arc<[u8]>,
    request: &Request,
    resize: impl FnOnce(Size) -> wgpu::SurfaceTarget<'static>,
) -> Result<JsImage, JsError> {
    let size = {
        let codestream = Codestream::parse(&jpeg, &request.options.limits)?;
        DecodePlan::new(&codestream, &request.options)?.output_size()
    };
    let device = backend.device();
    let largest = device.limits().max_texture_dimension_2d;
    if size.width > largest || size.height > largest {
        let message = format!("{size} pixels are too many for a canvas; this GPU draws {largest} a side at most");
        return Err(JsError::new("canvas-too-large", message));
    }
    let picture = checked(device, || Ok(texture(device, size))).await?;
    let job = Job { jpeg, options: request.options, target: WgpuTarget::Texture(picture.clone()) };
    let mut done = Done::wait_for(backend, vec![job], request).await;
    let outcome = done.outcomes.pop().ok_or_else(Done::unanswered)?;
    let report = outcome.result?;
    checked(device, || show(backend, &picture, size, resize)).await?;
    let js_image = image::describe(&report, None);
    if request.timings {
        js_image.set_timings(&done.timings(&report));
    }
    Ok(js_image)
}

fn texture(device: &wgpu::Device, size: Size) -> wgpu::Texture {
    device.create_texture(&wgpu::TextureDescriptor {
        label: Some("jpeg.picture"),
        size: extent(size),
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format: FORMAT,
        usage: wgpu::TextureUsages::COPY_DST | wgpu::TextureUsages::COPY_SRC,
        view_formats: &[],
    })
}

fn extent(size: Size) -> wgpu::Extent3d {
    wgpu::Extent3d { width: size.width, height: size.height, depth_or_array_layers: 1 }
}

/// Copies a picture to a canvas, within one task of the page.
fn show(
    backend: &WgpuBackend,
    picture: &wgpu::Texture,
    size: Size,
    resize: impl FnOnce(Size) -> wgpu::SurfaceTarget<'static>,
) -> Result<(), JsError> {
    let unavailable = |message: String| JsError::new("canvas-unavailable", message);
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    let surface = instance
        .create_surface(resize(size))
        .map_err(|error| unavailable(format!("the canvas gives no WebGPU context: {error}")))?;
    let configuration = wgpu::SurfaceConfiguration {
        usage: wgpu::TextureUsages::COPY_DST | wgpu::TextureUsages::RENDER_ATTACHMENT,
        format: FORMAT,
        color_space: wgpu::SurfaceColorSpace::Auto,
        width: size.width,
        height: size.height,
        present_mode: wgpu::PresentMode::Fifo,
        desired_maximum_frame_latency: 2,
        alpha_mode: wgpu::CompositeAlphaMode::Opaque,
        view_formats: Vec::new(),
    };
    surface.configure(backend.device(), &configuration);
    let frame = match surface.get_current_texture() {
        wgpu::CurrentSurfaceTexture::Success(frame) | wgpu::CurrentSurfaceTexture::Suboptimal(frame) => frame,
        other => return Err(unavailable(format!("the canvas gives no texture: {other:?}"))),
    };
    let mut encoder =
        backend.device().create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("jpeg.show") });
    encoder.copy_texture_to_texture(picture.as_image_copy(), frame.texture.as_image_copy(), extent(size));
    backend.queue().submit([encoder.finish()]);
    backend.queue().present(frame);
    Ok(())
}
