//! Waves: tiles of any number of pictures that go through the stages together, in one dispatch of each (one more
//! of the last for every further target buffer).

use bytemuck::{Pod, bytes_of, cast_slice};

use crate::layout::{Component, Output};
use crate::pipelines::{Pipeline, Pipelines};
use crate::stages::{Access, STAGES};
use crate::tile::Tile;

/// Where a tile's pixels go.
pub(crate) struct Slot {
    pub(crate) buffer: wgpu::Buffer,
    /// Byte of the buffer at which the picture's layout begins; negative for bands with a buffer of their own.
    pub(crate) base: i64,
    /// Whether the tile shares words with the one before it, and so must come in a later dispatch.
    pub(crate) after_previous: bool,
}

/// What a device allows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BindingLimits {
    pub(crate) max_binding: u64,
    pub(crate) offset_alignment: u64,
    pub(crate) max_workgroups: u32,
}

/// A part of the upload buffer.
#[derive(Debug, Clone, Copy)]
struct Section {
    offset: u64,
    size: u64,
}

/// Tiles laid out for upload.
pub(crate) struct Wave {
    limits: BindingLimits,
    upload: Vec<u8>,
    components: Section,
    idct_groups: (Section, u32),
    headers: Section,
    symbols: Section,
    quant: Section,
    plane_bytes: u64,
    writes: Vec<Write>,
}

/// One dispatch of the last stage.
struct Write {
    outputs: Section,
    groups: (Section, u32),
    target: wgpu::Buffer,
    window: Section,
}

/// Blocks per workgroup of the first stage, and words of the last.
const IDCT_BLOCKS: u32 = 8;
const WRITE_WORDS: u32 = 64;

/// What a tile adds to a wave.
pub(crate) struct TileSize {
    pub(crate) plane_bytes: u64,
    pub(crate) symbol_bytes: u64,
}

impl TileSize {
    pub(crate) fn of(tile: &Tile) -> Self {
        TileSize { plane_bytes: u64::from(tile.plane_words) * 4, symbol_bytes: tile.packed.symbols.len() as u64 * 4 }
    }

    /// Whether both fit one binding together.
    pub(crate) fn fits_with(&self, other: &TileSize, max_binding: u64) -> bool {
        // Block headers count symbols with 25 bits.
        let max_symbols = max_binding.min(4 << 25);
        self.plane_bytes + other.plane_bytes <= max_binding && self.symbol_bytes + other.symbol_bytes < max_symbols
    }

    pub(crate) fn add(&mut self, other: &TileSize) {
        self.plane_bytes += other.plane_bytes;
        self.symbol_bytes += other.symbol_bytes;
    }
}

impl Wave {
    /// Lays out tiles, which fit the limits together, and their slots.
    pub(crate) fn new(tiles: &[(&Tile, Slot)], limits: BindingLimits) -> Self {
        let mut components: Vec<Component> = Vec::new();
        let mut idct_groups = vec![0u32];
        let (mut headers, mut symbols, mut quant) = (Vec::new(), Vec::new(), Vec::new());
        let mut plane_words = 0;
        let mut first_components = Vec::new();
        for (tile, _) in tiles {
            first_components.push(components.len() as u32);
            for component in &tile.components {
                let index = components.len() as u32;
                let groups = (component.block_columns * component.block_rows).div_ceil(IDCT_BLOCKS);
                components.push(Component {
                    first_block: component.first_block + headers.len() as u32,
                    first_group: idct_groups.len() as u32 - 1,
                    plane: component.plane + plane_words,
                    quant: component.quant + quant.len() as u32,
                    ..*component
                });
                idct_groups.extend(std::iter::repeat_n(index, groups as usize));
            }
            let first_symbol = (symbols.len() as u32) << 7;
            headers.extend(tile.packed.headers.iter().map(|header| header + first_symbol));
            symbols.extend_from_slice(&tile.packed.symbols);
            quant.extend_from_slice(&tile.quant);
            plane_words += tile.plane_words;
        }
        idct_groups[0] = idct_groups.len() as u32 - 1;
        let idct_count = idct_groups[0];

        let mut upload = Upload { bytes: Vec::new(), alignment: limits.offset_alignment };
        let mut wave = Wave {
            limits,
            components: upload.append(&components),
            idct_groups: (upload.append(&idct_groups), idct_count),
            headers: upload.append(&headers),
            symbols: upload.append(&symbols),
            quant: upload.append(&quant),
            plane_bytes: u64::from(plane_words) * 4,
            writes: Vec::new(),
            upload: Vec::new(),
        };
        wave.lay_out_writes(tiles, &first_components, &mut upload);
        wave.upload = upload.bytes;
        wave
    }

    /// Gathers outputs into as few dispatches as the targets and bindings allow.
    fn lay_out_writes(&mut self, tiles: &[(&Tile, Slot)], first_components: &[u32], upload: &mut Upload) {
        let mut pending: Option<PendingWrite> = None;
        for ((tile, slot), &first_component) in tiles.iter().zip(first_components) {
            for (plane, output) in tile.outputs.iter().enumerate() {
                let first = slot.base + i64::from(output.first_word) * 4;
                let bytes = first as u64..first as u64 + u64::from(output.words) * 4;
                let apart = slot.after_previous && plane == 0;
                if let Some(open) = &mut pending
                    && !apart
                    && open.extend(&slot.buffer, &bytes, self.limits)
                {
                    open.outputs.push((*output, slot.base, first_component));
                    continue;
                }
                if let Some(full) = pending.take() {
                    self.writes.push(full.close(upload, self.limits));
                }
                pending = Some(PendingWrite {
                    target: slot.buffer.clone(),
                    bytes,
                    outputs: vec![(*output, slot.base, first_component)],
                });
            }
        }
        if let Some(last) = pending {
            self.writes.push(last.close(upload, self.limits));
        }
    }

    /// What has to be in the upload buffer.
    pub(crate) fn upload(&self) -> &[u8] {
        &self.upload
    }

    /// Bytes of the buffer between the stages.
    pub(crate) fn plane_bytes(&self) -> u64 {
        self.plane_bytes.max(4)
    }

    /// Records the passes.
    pub(crate) fn record(
        &self,
        device: &wgpu::Device,
        encoder: &mut wgpu::CommandEncoder,
        pipelines: &Pipelines,
        upload: &wgpu::Buffer,
        planes: &wgpu::Buffer,
        timestamps: Option<&PassTimestamps>,
    ) {
        let planes = bind(planes, Section { offset: 0, size: self.plane_bytes() });
        let from_upload = |section| bind(upload, section);
        let resources = [
            from_upload(self.components),
            from_upload(self.idct_groups.0),
            from_upload(self.headers),
            from_upload(self.symbols),
            from_upload(self.quant),
            planes.clone(),
        ];
        let pipeline = &pipelines.dequant_idct;
        self.dispatch(
            device,
            encoder,
            pipeline,
            &resources,
            self.idct_groups.1,
            timestamps.map(|stamps| stamps.pass(0)),
        );
        for write in &self.writes {
            let resources = [
                from_upload(self.components),
                from_upload(write.outputs),
                from_upload(write.groups.0),
                planes.clone(),
                bind(&write.target, write.window),
            ];
            let stamps = timestamps.map(|stamps| stamps.pass(1));
            self.dispatch(device, encoder, &pipelines.orient, &resources, write.groups.1, stamps);
        }
    }

    fn dispatch(
        &self,
        device: &wgpu::Device,
        encoder: &mut wgpu::CommandEncoder,
        pipeline: &Pipeline,
        resources: &[wgpu::BindingResource],
        groups: u32,
        timestamp_writes: Option<wgpu::ComputePassTimestampWrites>,
    ) {
        let bind_group = pipeline.bind(device, resources);
        let mut pass =
            encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label: Some(&pipeline.label), timestamp_writes });
        pass.set_pipeline(&pipeline.pipeline);
        pass.set_bind_group(0, &bind_group, &[]);
        let columns = groups.min(self.limits.max_workgroups);
        pass.dispatch_workgroups(columns, groups.div_ceil(columns.max(1)), 1);
    }
}

/// Two timestamps for each stage of a wave with one write.
pub(crate) struct PassTimestamps {
    pub(crate) queries: wgpu::QuerySet,
}

impl PassTimestamps {
    pub(crate) const COUNT: u32 = 2 * STAGES.len() as u32;

    fn pass(&self, stage: u32) -> wgpu::ComputePassTimestampWrites<'_> {
        wgpu::ComputePassTimestampWrites {
            query_set: &self.queries,
            beginning_of_pass_write_index: Some(2 * stage),
            end_of_pass_write_index: Some(2 * stage + 1),
        }
    }
}

struct Upload {
    bytes: Vec<u8>,
    alignment: u64,
}

impl Upload {
    fn append<T: Pod>(&mut self, items: &[T]) -> Section {
        let start = self.bytes.len().next_multiple_of(self.alignment as usize);
        self.bytes.resize(start, 0);
        if items.is_empty() {
            // A binding may not be empty.
            self.bytes.extend_from_slice(bytes_of(&0u32));
        } else {
            self.bytes.extend_from_slice(cast_slice(items));
        }
        Section { offset: start as u64, size: (self.bytes.len() - start) as u64 }
    }
}

struct PendingWrite {
    target: wgpu::Buffer,
    bytes: std::ops::Range<u64>,
    /// Each with its slot's base and its tile's first component.
    outputs: Vec<(Output, i64, u32)>,
}

impl PendingWrite {
    /// Takes in more bytes if it is the same buffer and all still fit one binding.
    fn extend(&mut self, buffer: &wgpu::Buffer, bytes: &std::ops::Range<u64>, limits: BindingLimits) -> bool {
        let union = self.bytes.start.min(bytes.start)..self.bytes.end.max(bytes.end);
        let window = union.end - union.start / limits.offset_alignment * limits.offset_alignment;
        let fits = *buffer == self.target && window <= limits.max_binding;
        if fits {
            self.bytes = union;
        }
        fits
    }

    fn close(self, upload: &mut Upload, limits: BindingLimits) -> Write {
        let window_start = self.bytes.start / limits.offset_alignment * limits.offset_alignment;
        let mut groups = vec![0u32];
        let mut outputs = Vec::with_capacity(self.outputs.len());
        for (output, base, first_component) in self.outputs {
            let shift = base - window_start as i64;
            let index = outputs.len() as u32;
            outputs.push(Output {
                first_group: groups.len() as u32 - 1,
                first_word: (i64::from(output.first_word) + shift / 4) as u32,
                start: (i64::from(output.start) + shift) as i32,
                component: output.component + first_component,
                ..output
            });
            groups.extend(std::iter::repeat_n(index, output.words.div_ceil(WRITE_WORDS) as usize));
        }
        groups[0] = groups.len() as u32 - 1;
        let count = groups[0];
        Write {
            outputs: upload.append(&outputs),
            groups: (upload.append(&groups), count),
            target: self.target,
            window: Section { offset: window_start, size: self.bytes.end - window_start },
        }
    }
}

fn bind(buffer: &wgpu::Buffer, section: Section) -> wgpu::BindingResource<'_> {
    wgpu::BindingResource::Buffer(wgpu::BufferBinding {
        buffer,
        offset: section.offset,
        size: std::num::NonZeroU64::new(section.size),
    })
}

/// Which accesses the first stage's bindings have; the order in `record` follows it.
const _: () = assert!(STAGES[0].bindings.len() == 6 && matches!(STAGES[0].bindings[5], Access::ReadWrite));
