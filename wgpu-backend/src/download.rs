//! From an output buffer to where the caller wants the pixels: host memory or a texture.

use isopel_core::cpu::HostTarget;
use isopel_core::{BackendError, PixelLayout};

use crate::error::failed;

/// Pixels on their way to host memory.
pub(crate) struct Download {
    staging: wgpu::Buffer,
    layout: PixelLayout,
    target: HostTarget,
}

impl Download {
    /// Records the copy into memory that the host can map.
    pub(crate) fn record(
        device: &wgpu::Device,
        encoder: &mut wgpu::CommandEncoder,
        pixels: &wgpu::Buffer,
        layout: &PixelLayout,
        target: HostTarget,
    ) -> Self {
        let size = (layout.required_len() as u64).next_multiple_of(wgpu::COPY_BUFFER_ALIGNMENT);
        let staging = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("jpeg.download"),
            size,
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        encoder.copy_buffer_to_buffer(pixels, 0, &staging, 0, size);
        Download { staging, layout: layout.clone(), target }
    }

    /// Once the submission is queued: copies to the host's memory when the GPU is done, then calls `done`.
    pub(crate) fn start(self, done: impl FnOnce(Result<(), BackendError>) + Send + 'static) {
        let staging = self.staging.clone();
        staging.map_async(wgpu::MapMode::Read, .., move |mapped| {
            done(mapped.map_err(failed).and_then(|()| self.copy()));
        });
    }

    fn copy(&self) -> Result<(), BackendError> {
        let view = self.staging.get_mapped_range(..).map_err(failed)?;
        let strided = match self.target.stride {
            Some(stride) => self.layout.clone().with_stride(stride).map_err(failed)?,
            None => self.layout.clone(),
        };
        let mut host = self.target.buffer.lock();
        // The length was checked before the job was queued; the caller may have changed it since.
        let host = host
            .get_mut(self.target.offset..)
            .filter(|host| host.len() >= strided.required_len())
            .ok_or_else(|| failed("the host buffer was made shorter while it was a target"))?;
        for (from, to) in self.layout.planes().iter().zip(strided.planes()) {
            let row_bytes = from.size.width as usize * self.layout.format().bytes_per_pixel();
            for row in 0..from.size.height as usize {
                let source = from.offset + row * from.stride;
                let destination = to.offset + row * to.stride;
                host[destination..destination + row_bytes].copy_from_slice(&view[source..source + row_bytes]);
            }
        }
        Ok(())
    }
}

/// Records the copy of RGBA pixels, whose stride suits textures, to a texture's upper left corner.
pub(crate) fn copy_to_texture(
    encoder: &mut wgpu::CommandEncoder,
    pixels: &wgpu::Buffer,
    layout: &PixelLayout,
    texture: &wgpu::Texture,
) {
    let size = layout.size();
    let source = wgpu::TexelCopyBufferInfo {
        buffer: pixels,
        layout: wgpu::TexelCopyBufferLayout {
            offset: 0,
            bytes_per_row: Some(layout.planes()[0].stride as u32),
            rows_per_image: None,
        },
    };
    let extent = wgpu::Extent3d { width: size.width, height: size.height, depth_or_array_layers: 1 };
    encoder.copy_buffer_to_texture(source, texture.as_image_copy(), extent);
}
