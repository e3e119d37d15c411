//! Records jobs: their waves' passes, and the copies to targets that are no buffers of the device's.

#[cfg(not(target_arch = "wasm32"))]
use rayon::prelude::*;

#[cfg(not(target_arch = "wasm32"))]
use isopel_core::Backend;

use crate::context::WgpuBackend;
use crate::download::{Download, copy_to_texture};
use crate::flags::PictureFlags;
use crate::passes::PassTimestamps;
use crate::submit::ReadyJob;
use crate::target::WgpuTarget;
use crate::tile::{PreparedJob, Tile};
use crate::upload::{Upload, UploadChunk};
use crate::wave::{Slot, TileSize, Wave, WaveBuffers};

/// Bytes of upload that one thread writes at once: its share, but worth waking it, and not too many for it to lend a hand
/// elsewhere.
const STAGING_CHUNK: std::ops::Range<u64> = 128 << 10..4 << 20;

/// Bytes for the symbols of one wave that the GPU decodes, at most: they are as many as the data could fill.
const MOST_SYMBOL_BYTES: u64 = 1 << 30;

/// What was recorded for some jobs.
pub(crate) struct Recorded {
    pub(crate) used: UsedBuffers,
    pub(crate) downloads: Vec<Vec<Download>>,
    pub(crate) flags: Vec<PictureFlags>,
}

impl WgpuBackend {
    /// Records all passes and copies of some jobs; gives the downloads of each.
    pub(crate) fn record(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        jobs: &[ReadyJob],
        memory: &Memory,
        timestamps: Option<&PassTimestamps>,
    ) -> Recorded {
        let mut used = UsedBuffers::default();
        let mut flags = Vec::new();
        let mut buffers = Vec::new();
        let mut tiles = Vec::new();
        for (position, job) in jobs.iter().enumerate() {
            for tile in &job.prepared.tiles {
                let slot = match &job.prepared.target {
                    WgpuTarget::Buffer(target) => Slot { buffer: target.buffer.clone(), base: target.offset },
                    WgpuTarget::Texture(_) | WgpuTarget::Host(_) => {
                        let bytes = (tile.layout.required_len() as u64).next_multiple_of(4);
                        let buffer = self.outputs.take(&self.device, bytes);
                        used.outputs.push(buffer.clone());
                        Slot { buffer, base: 0 }
                    }
                };
                buffers.push(slot.buffer.clone());
                tiles.push((position, tile, slot));
            }
        }
        let (staged, packed): (Vec<_>, Vec<_>) = tiles.into_iter().partition(|(_, tile, _)| tile.is_staged());
        for wave in in_waves(staged, self.limits.max_binding.min(MOST_SYMBOL_BYTES)).into_iter() {
            let (positions, wave) = wave;
            let copy = self.record_wave(encoder, wave, memory, &mut used, timestamps);
            flags.extend(copy.map(|buffer| PictureFlags::new(buffer, positions)));
        }
        for (_, wave) in in_waves(packed, self.limits.max_binding) {
            self.record_wave(encoder, wave, memory, &mut used, timestamps);
        }
        let mut buffers = buffers.iter();
        let downloads = jobs.iter().map(|job| self.record_copies(encoder, &job.prepared, buffers.by_ref())).collect();
        Recorded { used, downloads, flags }
    }

    /// Records the copies from the buffers of a job's tiles to a target that is no buffer of the device's.
    fn record_copies<'b>(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        job: &PreparedJob,
        buffers: impl Iterator<Item = &'b wgpu::Buffer>,
    ) -> Vec<Download> {
        let copy = |(tile, buffer): (&Tile, &wgpu::Buffer)| match &job.target {
            WgpuTarget::Buffer(_) => None,
            WgpuTarget::Texture(texture) => {
                copy_to_texture(encoder, buffer, tile, texture);
                None
            }
            WgpuTarget::Host(target) => Some(Download::record(self, encoder, buffer, tile, &job.report.layout, target)),
        };
        job.tiles.iter().zip(buffers).filter_map(copy).collect()
    }

    /// Gives the copy of its pictures' flags, if it has any.
    fn record_wave(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        tiles: Vec<(&Tile, Slot)>,
        memory: &Memory,
        used: &mut UsedBuffers,
        timestamps: Option<&PassTimestamps>,
    ) -> Option<wgpu::Buffer> {
        let wave = Wave::new(&tiles, self.limits, &self.table_memory);
        let upload = match memory {
            Memory::Pooled => {
                let upload = self.uploads.take(&self.device, wave.upload().len());
                #[cfg(not(target_arch = "wasm32"))]
                let share = wave.upload().len() / self.threads.capabilities().parallel_jobs as u64;
                #[cfg(target_arch = "wasm32")]
                let share = wave.upload().len();
                let chunks: Vec<(UploadChunk, wgpu::Buffer)> = wave
                    .upload()
                    .chunks(share.clamp(STAGING_CHUNK.start, STAGING_CHUNK.end))
                    .into_iter()
                    .map(|chunk| {
                        let staging = self.staging.take(&self.device, chunk.len);
                        (chunk, staging)
                    })
                    .collect();
                let fill_chunk = |(chunk, staging): &(UploadChunk, wgpu::Buffer)| fill(wave.upload(), chunk, staging);
                #[cfg(not(target_arch = "wasm32"))]
                self.threads.install(|| chunks.par_iter().for_each(fill_chunk));
                #[cfg(target_arch = "wasm32")]
                chunks.iter().for_each(fill_chunk);
                for (chunk, staging) in chunks {
                    // Here and not on the workers: error scopes belong to a thread.
                    staging.unmap();
                    encoder.copy_buffer_to_buffer(&staging, 0, &upload, chunk.offset, chunk.len);
                    used.staging.push(staging);
                }
                used.uploads.push(upload.clone());
                upload
            }
            Memory::Own => {
                let upload = self.device.create_buffer(&wgpu::BufferDescriptor {
                    label: Some("jpeg.upload"),
                    size: wave.upload().len(),
                    usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
                    mapped_at_creation: true,
                });
                for chunk in wave.upload().chunks(u64::MAX) {
                    fill(wave.upload(), &chunk, &upload);
                }
                upload.unmap();
                upload
            }
        };
        let planes = self.planes.take(&self.device, wave.plane_bytes());
        used.planes.push(planes.clone());
        let decoded = wave.decoded_lens().map(|(scratch, coefficients)| {
            let scratch = self.scratch.take(&self.device, scratch);
            let coefficients = self.coefficients.take(&self.device, coefficients);
            used.scratch.push(scratch.clone());
            used.coefficients.push(coefficients.clone());
            (scratch, coefficients)
        });
        let buffers = WaveBuffers { upload, planes, decoded };
        for _ in 0..timestamps.map_or(1, |timestamps| timestamps.repetitions) {
            wave.record(&self.device, encoder, &self.pipelines, &buffers, timestamps);
        }
        let flags = wave.flags();
        self.table_memory.put(wave.into_memory());
        let (flags, (scratch, _)) = (flags?, buffers.decoded?);
        let copy = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("jpeg.flags"),
            size: flags.size,
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        encoder.copy_buffer_to_buffer(&scratch, flags.offset, &copy, 0, flags.size);
        Some(copy)
    }
}

/// Positions of jobs, and their tiles.
type WaveOfJobs<'t> = (Vec<usize>, Vec<(&'t Tile, Slot)>);

/// Tiles with their jobs' positions, as many at once as fit bindings of this size.
fn in_waves(tiles: Vec<(usize, &Tile, Slot)>, max_binding: u64) -> Vec<WaveOfJobs<'_>> {
    let mut waves: Vec<WaveOfJobs> = Vec::new();
    let mut size = TileSize { plane_bytes: 0, symbol_bytes: 0 };
    for (position, tile, slot) in tiles {
        let tile_size = TileSize::of(tile);
        if waves.is_empty() || !size.fits_with(&tile_size, max_binding) {
            waves.push(Default::default());
            size = TileSize { plane_bytes: 0, symbol_bytes: 0 };
        }
        size.add(&tile_size);
        if let Some((positions, wave)) = waves.last_mut() {
            positions.push(position);
            wave.push((tile, slot));
        }
    }
    waves
}

/// Whose the buffers of a recording are.
pub(crate) enum Memory {
    /// The pool's: written through the queue just before the submission.
    Pooled,
    /// The recording's own: filled at once.
    Own,
}

/// Buffers to give back once their submission is queued.
#[derive(Default)]
pub(crate) struct UsedBuffers {
    staging: Vec<wgpu::Buffer>,
    uploads: Vec<wgpu::Buffer>,
    pub(crate) planes: Vec<wgpu::Buffer>,
    outputs: Vec<wgpu::Buffer>,
    scratch: Vec<wgpu::Buffer>,
    coefficients: Vec<wgpu::Buffer>,
}

impl UsedBuffers {
    pub(crate) fn give_back(self, backend: &WgpuBackend) {
        self.staging.into_iter().for_each(|buffer| backend.staging.put(buffer));
        self.uploads.into_iter().for_each(|buffer| backend.uploads.put(buffer));
        self.planes.into_iter().for_each(|buffer| backend.planes.put(buffer));
        self.outputs.into_iter().for_each(|buffer| backend.outputs.put(buffer));
        self.scratch.into_iter().for_each(|buffer| backend.scratch.put(buffer));
        self.coefficients.into_iter().for_each(|buffer| backend.coefficients.put(buffer));
    }
}

/// Writes a chunk of an upload into a mapped buffer.
fn fill(upload: &Upload, chunk: &UploadChunk, buffer: &wgpu::Buffer) {
    // Only a lost device can't give the range, and then nothing will be read.
    if let Ok(mut view) = buffer.get_mapped_range_mut(..chunk.len) {
        upload.write_chunk(chunk, view.slice(..));
    }
}
