//! Waves: tiles of any number of pictures that go through the stages together, in one dispatch of each (one more
//! of the last for every further target buffer).

use bytemuck::{Pod, cast_slice};

use crate::layout::{Component, Output};
use crate::pipelines::{Pipeline, Pipelines};
use crate::stages::{Access, STAGES};
use crate::tile::Tile;
use isopel_core::PackedCoefficients;

/// Where a tile's pixels go.
pub(crate) struct Slot {
    pub(crate) buffer: wgpu::Buffer,
    /// Byte of the buffer at which the picture's layout begins; negative for bands with a buffer of their own.
    pub(crate) base: i64,
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
pub(crate) struct Wave<'t> {
    limits: BindingLimits,
    upload: Vec<Part<'t>>,
    upload_len: u64,
    components: Section,
    idct_groups: (Section, u32),
    headers: Section,
    symbols: Section,
    quant: Section,
    plane_bytes: u64,
    writes: Vec<Write>,
}

/// A range of the upload buffer that is written at once.
pub(crate) struct UploadChunk {
    pub(crate) offset: u64,
    pub(crate) len: u64,
    parts: std::ops::Range<usize>,
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
        TileSize { plane_bytes: u64::from(tile.plane_words) * 4, symbol_bytes: tile.packed.symbols().len() as u64 * 4 }
    }

    /// Whether both fit one binding together.
    pub(crate) fn fits_with(&self, other: &TileSize, max_binding: u64) -> bool {
        let max_symbols = max_binding.min(4 * PackedCoefficients::MAX_SYMBOLS as u64);
        self.plane_bytes + other.plane_bytes <= max_binding && self.symbol_bytes + other.symbol_bytes < max_symbols
    }

    pub(crate) fn add(&mut self, other: &TileSize) {
        self.plane_bytes += other.plane_bytes;
        self.symbol_bytes += other.symbol_bytes;
    }
}

impl<'t> Wave<'t> {
    /// Lays out tiles, which fit the limits together, and their slots.
    pub(crate) fn new(tiles: &[(&'t Tile, Slot)], limits: BindingLimits) -> Self {
        let mut components: Vec<Component> = Vec::new();
        let mut idct_groups = vec![0u32];
        let (mut headers, mut symbols, mut quant) = (Vec::new(), Vec::new(), Vec::new());
        let (mut header_count, mut symbol_count) = (0, 0);
        let mut plane_words = 0;
        let mut first_components = Vec::new();
        for (tile, _) in tiles {
            first_components.push(components.len() as u32);
            for component in &tile.components {
                let index = components.len() as u32;
                let groups = (component.block_columns * component.block_rows).div_ceil(IDCT_BLOCKS);
                components.push(Component {
                    first_block: component.first_block + header_count,
                    first_group: idct_groups.len() as u32 - 1,
                    plane: component.plane + plane_words,
                    quant: component.quant + quant.len() as u32,
                    ..*component
                });
                idct_groups.extend(std::iter::repeat_n(index, groups as usize));
            }
            headers.push(Contents::Headers(tile.packed.headers(), symbol_count << 7));
            symbols.push(Contents::Symbols(tile.packed.symbols()));
            header_count += tile.packed.headers().len() as u32;
            symbol_count += tile.packed.symbols().len() as u32;
            quant.extend_from_slice(&tile.quant);
            plane_words += tile.plane_words;
        }
        idct_groups[0] = idct_groups.len() as u32 - 1;
        let idct_count = idct_groups[0];

        let mut upload = Upload { parts: Vec::new(), len: 0, alignment: limits.offset_alignment };
        let mut wave = Wave {
            limits,
            components: upload.append(&components),
            idct_groups: (upload.append(&idct_groups), idct_count),
            headers: upload.append_all(headers),
            symbols: upload.append_all(symbols),
            quant: upload.append(&quant),
            plane_bytes: u64::from(plane_words) * 4,
            writes: Vec::new(),
            upload: Vec::new(),
            upload_len: 0,
        };
        wave.lay_out_writes(tiles, &first_components, &mut upload);
        (wave.upload, wave.upload_len) = (upload.parts, upload.len);
        wave
    }

    /// Gathers outputs into as few dispatches as the targets and bindings allow. Outputs that share a word of
    /// the target with an earlier one go in a later dispatch: within one, the two would race.
    fn lay_out_writes(&mut self, tiles: &[(&Tile, Slot)], first_components: &[u32], upload: &mut Upload<'t>) {
        let mut layers: Vec<Vec<PlacedOutput>> = Vec::new();
        for ((tile, slot), &first_component) in tiles.iter().zip(first_components) {
            for output in &tile.outputs {
                let first = (slot.base + i64::from(output.first_word) * 4) as u64;
                let placed = PlacedOutput {
                    target: slot.buffer.clone(),
                    bytes: first..first + u64::from(output.words) * 4,
                    output: *output,
                    base: slot.base,
                    first_component,
                };
                let below = layers.iter().rposition(|layer| layer.iter().any(|earlier| earlier.meets(&placed)));
                let layer = below.map_or(0, |below| below + 1);
                layers.resize_with(layers.len().max(layer + 1), Vec::new);
                layers[layer].push(placed);
            }
        }
        for outputs in layers {
            let mut pending: Option<PendingWrite> = None;
            for output in outputs {
                if let Some(open) = &mut pending
                    && open.extend(&output.target, &output.bytes, self.limits)
                {
                    open.outputs.push(output);
                    continue;
                }
                let (target, bytes) = (output.target.clone(), output.bytes.clone());
                let full = pending.replace(PendingWrite { target, bytes, outputs: vec![output] });
                self.writes.extend(full.map(|full| full.close(upload, self.limits)));
            }
            self.writes.extend(pending.map(|last| last.close(upload, self.limits)));
        }
    }

    /// Bytes of the upload buffer.
    pub(crate) fn upload_len(&self) -> u64 {
        self.upload_len
    }

    /// Cuts the upload into chunks of about `len` bytes, so that several threads can write it: memory that the
    /// GPU reads is slow to write to for one.
    pub(crate) fn upload_chunks(&self, len: u64) -> Vec<UploadChunk> {
        let mut chunks = Vec::new();
        let mut chunk = UploadChunk { offset: 0, len: 0, parts: 0..0 };
        for (index, part) in self.upload.iter().enumerate() {
            chunk.len += (part.gap + part.contents.len()) as u64;
            chunk.parts.end = index + 1;
            if chunk.len >= len {
                let next = UploadChunk { offset: chunk.offset + chunk.len, len: 0, parts: index + 1..index + 1 };
                chunks.push(std::mem::replace(&mut chunk, next));
            }
        }
        if chunk.len > 0 {
            chunks.push(chunk);
        }
        chunks
    }

    /// Writes a chunk of what has to be in the upload buffer.
    pub(crate) fn write_chunk(&self, chunk: &UploadChunk, memory: wgpu::WriteOnly<[u8]>) {
        let mut rest = memory;
        for part in &self.upload[chunk.parts.clone()] {
            let (_, after) = rest.split_at(part.gap);
            let (place, after) = after.split_at(part.contents.len());
            part.contents.write_to(place);
            rest = after;
        }
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
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) const COUNT: u32 = 2 * STAGES.len() as u32;

    fn pass(&self, stage: u32) -> wgpu::ComputePassTimestampWrites<'_> {
        wgpu::ComputePassTimestampWrites {
            query_set: &self.queries,
            beginning_of_pass_write_index: Some(2 * stage),
            end_of_pass_write_index: Some(2 * stage + 1),
        }
    }
}

/// What the upload buffer will hold. Coefficients are copied once, from where entropy decoding left them.
struct Upload<'t> {
    parts: Vec<Part<'t>>,
    len: u64,
    alignment: u64,
}

/// Bytes of the upload buffer.
struct Part<'t> {
    /// Zeros before it, to align it.
    gap: usize,
    contents: Contents<'t>,
}

enum Contents<'t> {
    Bytes(Vec<u8>),
    Symbols(&'t [u32]),
    /// Block headers, with the first symbol's place added to each.
    Headers(&'t [u32], u32),
}

impl Contents<'_> {
    fn len(&self) -> usize {
        match self {
            Contents::Bytes(bytes) => bytes.len(),
            Contents::Symbols(words) | Contents::Headers(words, _) => words.len() * 4,
        }
    }

    fn write_to(&self, mut memory: wgpu::WriteOnly<[u8]>) {
        match self {
            Contents::Bytes(bytes) => memory.copy_from_slice(bytes),
            Contents::Symbols(symbols) => memory.copy_from_slice(cast_slice(symbols)),
            Contents::Headers(headers, first_symbol) => {
                let shifted: Vec<u32> = headers.iter().map(|header| header + first_symbol).collect();
                memory.copy_from_slice(cast_slice(&shifted));
            }
        }
    }
}

impl<'t> Upload<'t> {
    fn append<T: Pod>(&mut self, items: &[T]) -> Section {
        self.append_all(vec![Contents::Bytes(cast_slice(items).to_vec())])
    }

    /// Appends parts that follow each other without gaps, as one section.
    fn append_all(&mut self, parts: Vec<Contents<'t>>) -> Section {
        let offset = self.len.next_multiple_of(self.alignment);
        let mut gap = (offset - self.len) as usize;
        self.len = offset;
        for contents in parts {
            self.len += contents.len() as u64;
            self.parts.push(Part { gap: std::mem::take(&mut gap), contents });
        }
        if self.len == offset {
            // A binding may not be empty.
            self.parts.push(Part { gap, contents: Contents::Bytes(vec![0; 4]) });
            self.len += 4;
        }
        Section { offset, size: self.len - offset }
    }
}

/// An output and where it goes.
struct PlacedOutput {
    target: wgpu::Buffer,
    /// Bytes of the target that it touches.
    bytes: std::ops::Range<u64>,
    output: Output,
    base: i64,
    first_component: u32,
}

impl PlacedOutput {
    /// Whether the two may have a word in common.
    fn meets(&self, other: &PlacedOutput) -> bool {
        let apart = self.bytes.end <= other.bytes.start || other.bytes.end <= self.bytes.start;
        if apart || self.target != other.target {
            return false;
        }
        // Beside each other in an atlas: the words of one's rows lie between those of the other's.
        let stride = i64::from(self.output.stride);
        if other.output.stride != self.output.stride || stride % 4 != 0 {
            return true;
        }
        let (first, second) = (self.first_row_words(), other.first_row_words());
        let distance = (second.start - first.start).rem_euclid(stride);
        distance < first.end - first.start || distance + second.end - second.start > stride
    }

    /// The words of its row 0, as bytes of the target.
    fn first_row_words(&self) -> std::ops::Range<i64> {
        let start = self.base + i64::from(self.output.start);
        let end = start + i64::from(self.output.row_bytes);
        start.div_euclid(4) * 4..(end + 3).div_euclid(4) * 4
    }
}

struct PendingWrite {
    target: wgpu::Buffer,
    bytes: std::ops::Range<u64>,
    outputs: Vec<PlacedOutput>,
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

    fn close(self, upload: &mut Upload<'_>, limits: BindingLimits) -> Write {
        let window_start = self.bytes.start / limits.offset_alignment * limits.offset_alignment;
        let mut groups = vec![0u32];
        let mut outputs = Vec::with_capacity(self.outputs.len());
        for PlacedOutput { output, base, first_component, .. } in self.outputs {
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
