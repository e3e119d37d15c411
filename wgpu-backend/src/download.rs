//! From a tile's buffer to where the caller wants the pixels: host memory or a texture.

use std::sync::{Arc, Mutex};

use isopel_core::cpu::HostTarget;
use isopel_core::{BackendError, PixelLayout};

use crate::context::{DeviceState, WgpuBackend};
use crate::error::failed;
use crate::tile::Tile;

/// A tile's pixels on their way to host memory.
pub(crate) struct Download {
    device: DeviceState,
    staging: wgpu::Buffer,
    tile: PixelLayout,
    /// The tile's first display row in each plane of the picture.
    first_rows: Vec<u32>,
    picture: PixelLayout,
    target: HostTarget,
}

impl Download {
    /// Records the copy into memory that the host can map. `picture` is the layout in the host's memory.
    pub(crate) fn record(
        backend: &WgpuBackend,
        encoder: &mut wgpu::CommandEncoder,
        pixels: &wgpu::Buffer,
        tile: &Tile,
        picture: &PixelLayout,
        target: &HostTarget,
    ) -> Self {
        let size = (tile.layout.required_len() as u64).next_multiple_of(wgpu::COPY_BUFFER_ALIGNMENT);
        let staging = backend.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("jpeg.download"),
            size,
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        encoder.copy_buffer_to_buffer(pixels, 0, &staging, 0, size);
        Download {
            device: backend.device_state(),
            staging,
            tile: tile.layout.clone(),
            first_rows: tile.outputs.iter().map(|output| output.rows.start).collect(),
            picture: picture.clone(),
            target: target.clone(),
        }
    }

    fn start(self, done: impl FnOnce(Result<(), BackendError>) + Send + 'static) {
        let staging = self.staging.clone();
        staging.map_async(wgpu::MapMode::Read, .., move |mapped| {
            done(mapped.map_err(|error| self.device.error(error)).and_then(|()| self.copy()));
        });
    }

    fn copy(&self) -> Result<(), BackendError> {
        let view = self.staging.get_mapped_range(..).map_err(|error| self.device.error(error))?;
        let mut host = self.target.buffer.lock();
        // The length was checked before the job was queued; the caller may have changed it since.
        let host = host
            .get_mut(self.target.offset..)
            .filter(|host| host.len() >= self.picture.required_len())
            .ok_or_else(|| failed("the host buffer was made shorter while it was a target"))?;
        for ((from, to), &first_row) in self.tile.planes().iter().zip(self.picture.planes()).zip(&self.first_rows) {
            let row_bytes = from.size.width as usize * self.tile.format().bytes_per_pixel();
            for row in 0..from.size.height as usize {
                let source = from.offset + row * from.stride;
                let destination = to.offset + (first_row as usize + row) * to.stride;
                host[destination..destination + row_bytes].copy_from_slice(&view[source..source + row_bytes]);
            }
        }
        Ok(())
    }
}

/// Once the submission is queued: copies a picture's tiles to the host's memory when the GPU is done, then calls
/// `done` with the first error, if any.
pub(crate) fn start_all(downloads: Vec<Download>, done: impl FnOnce(Result<(), BackendError>) + Send + 'static) {
    let pending = Arc::new(Mutex::new((downloads.len(), Ok(()), Some(done))));
    for download in downloads {
        let pending = pending.clone();
        download.start(move |result| {
            let mut pending = pending.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            let (left, found, done) = &mut *pending;
            *left -= 1;
            *found = found.clone().and(result);
            if *left == 0
                && let Some(done) = done.take()
            {
                done(found.clone());
            }
        });
    }
}

/// Records the copy of a tile's RGBA pixels, whose stride suits textures, to their place in a texture.
pub(crate) fn copy_to_texture(
    encoder: &mut wgpu::CommandEncoder,
    pixels: &wgpu::Buffer,
    tile: &Tile,
    texture: &wgpu::Texture,
) {
    let size = tile.layout.size();
    let source = wgpu::TexelCopyBufferInfo {
        buffer: pixels,
        layout: wgpu::TexelCopyBufferLayout {
            offset: 0,
            bytes_per_row: Some(tile.layout.planes()[0].stride as u32),
            rows_per_image: None,
        },
    };
    let place = wgpu::TexelCopyTextureInfo {
        origin: wgpu::Origin3d { x: 0, y: tile.outputs[0].rows.start, z: 0 },
        ..texture.as_image_copy()
    };
    let extent = wgpu::Extent3d { width: size.width, height: size.height, depth_or_array_layers: 1 };
    encoder.copy_buffer_to_texture(source, place, extent);
}
