//! GPU time of each pass for one file.

use std::sync::Arc;

use isopel_core::{Codestream, DecodePlan, Job};
use isopel_wgpu::{BufferTarget, WgpuBackend, WgpuTarget, wgpu};
use js_sys::Object;

use super::{Request, checked};
use crate::error::JsError;
use crate::image;

/// Decodes a file for the sake of the times; nothing if the device has no timestamp queries.
pub(super) async fn profile(
    backend: &WgpuBackend,
    jpeg: Arc<[u8]>,
    request: &Request,
) -> Result<Option<Object>, JsError> {
    let len = {
        let codestream = Codestream::parse(&jpeg, &request.options.limits)?;
        DecodePlan::new(&codestream, &request.options)?.layout().required_len()
    };
    let device = backend.device();
    let pixels = wgpu::BufferDescriptor {
        label: Some("jpeg.profile"),
        size: (len as u64).next_multiple_of(4),
        usage: wgpu::BufferUsages::STORAGE,
        mapped_at_creation: false,
    };
    let pixels = checked(device, || Ok(device.create_buffer(&pixels))).await?;
    let target = WgpuTarget::Buffer(BufferTarget::packed(pixels));
    let job = Job { jpeg, options: request.options, target };
    let times = backend.profile_async(vec![job], &request.submit_options).await?;
    Ok(times.map(|times| image::timings(&times.passes())))
}
