//! Waves: tiles of any number of pictures that go through the stages together, in one dispatch of each (more of the
//! last ones for every further target buffer).

use isopel_core::subsequences::{CANDIDATES, Synchronisation};

use crate::huffman::{self, Sections, WaveScans};
use crate::layout::Component;
use crate::output::Writer;
use crate::passes::{PassTimestamps, Passes};
use crate::pipelines::{Pipeline, Pipelines};
use crate::stages::HUFFMAN_STAGES;
use crate::tile::{Coefficients, Tile};
use crate::upload::{Contents, TableMemory, Upload};
use crate::write::{GROUP, PlacedOutput, TargetWindow, gather, in_layers};

/// Where a tile's pixels go.
pub(crate) struct Slot {
    pub(crate) buffer: wgpu::Buffer,
    /// Byte of the buffer at which the tile's layout begins.
    pub(crate) base: u64,
}

/// What a device allows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BindingLimits {
    pub(crate) max_binding: u64,
    pub(crate) offset_alignment: u64,
    pub(crate) max_workgroups: u32,
}

/// A part of a buffer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Section {
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

/// Tiles laid out for upload.
pub(crate) struct Wave<'t> {
    limits: BindingLimits,
    upload: Upload<'t>,
    components: Section,
    idct_groups: (Section, u32),
    source: Source,
    quant: Section,
    /// Samples that need not be made, and where they go between the stages.
    samples: Vec<(Section, u64)>,
    plane_bytes: u64,
    writes: Vec<Write>,
}

/// Where a wave's coefficients come from.
enum Source {
    /// The CPU: sections of the upload.
    Uploaded { headers: Section, symbols: Section },
    /// Entropy decoding on the GPU.
    Decoded(Decoded),
}

/// Entropy decoding of a wave.
struct Decoded {
    groups: u32,
    synchronisation: Synchronisation,
    recounts: bool,
    // Of the upload.
    scans: Section,
    segments: Section,
    subsequences: Section,
    words: Section,
    // Of the scratch buffer.
    records: Section,
    prefixes: Section,
    totals: Section,
    flags: Section,
    /// Both are empty where there are none.
    candidates: Section,
    group_links: Section,
    scratch_len: u64,
    // Of the coefficients' buffer.
    headers: Section,
    symbols: Section,
    coefficients_len: u64,
}

/// The buffers that a wave's passes use.
pub(crate) struct WaveBuffers {
    pub(crate) upload: wgpu::Buffer,
    pub(crate) planes: wgpu::Buffer,
    /// Scratch and coefficients, if entropy decoding is the GPU's.
    pub(crate) decoded: Option<(wgpu::Buffer, wgpu::Buffer)>,
}

impl Decoded {
    fn new<'t>(
        scans: &mut WaveScans<'t>,
        headers: u32,
        synchronisation: Option<Synchronisation>,
        upload: &mut Upload<'t>,
    ) -> Self {
        let synchronisation = scans.synchronisation(synchronisation);
        scans.finish();
        let groups = scans.groups();
        let subsequences = scans.subsequences.len() as u64;
        let mut words: Vec<Contents> = scans.data.iter().copied().map(Contents::Data).collect();
        words.push(upload.table(&scans.tables));
        let mut scratch = Sections::new(upload.alignment());
        let mut coefficients = Sections::new(upload.alignment());
        let [candidates_bytes, group_links_bytes] = match synchronisation {
            Synchronisation::Rounds => [0, 0],
            Synchronisation::Candidates => {
                [subsequences * huffman::CANDIDATES_BYTES, u64::from(groups) * 4 * CANDIDATES as u64]
            }
        };
        Decoded {
            groups,
            synchronisation,
            recounts: scans.recounts,
            scans: upload.append(&scans.scans),
            segments: upload.append(&scans.segments),
            subsequences: upload.append(&scans.subsequences),
            words: upload.append_all(words),
            records: scratch.append(subsequences * 16),
            prefixes: scratch.append(subsequences * 16),
            totals: scratch.append(u64::from(groups) * 16),
            flags: scratch.append(u64::from(scans.pictures) * 4),
            candidates: scratch.append(candidates_bytes),
            group_links: scratch.append(group_links_bytes),
            scratch_len: scratch.len,
            headers: coefficients.append(u64::from(headers) * 4),
            symbols: coefficients.append(scans.symbol_words * 4),
            coefficients_len: coefficients.len,
        }
    }
}

/// One dispatch of a stage that writes pixels.
struct Write {
    writer: Writer,
    outputs: Section,
    groups: (Section, u32),
    target: wgpu::Buffer,
    window: Section,
}

/// Blocks per workgroup of the first stage.
pub(crate) const IDCT_BLOCKS: u32 = 8;

/// Workgroups of the first stage for a component.
fn workgroups_of(component: &Component) -> u32 {
    (component.block_columns * component.block_rows).div_ceil(IDCT_BLOCKS)
}

/// What a tile adds to a wave.
pub(crate) struct TileSize {
    pub(crate) plane_bytes: u64,
    pub(crate) symbol_bytes: u64,
}

impl TileSize {
    pub(crate) fn of(tile: &Tile) -> Self {
        let symbols = match &tile.coefficients {
            Coefficients::Packed(packed) => packed.symbols().len() as u64,
            Coefficients::Staged(picture) => picture.symbol_words(),
        };
        TileSize { plane_bytes: u64::from(tile.plane_words) * 4, symbol_bytes: symbols * 4 }
    }

    /// Whether both fit one binding together.
    pub(crate) fn fits_with(&self, other: &TileSize, max_binding: u64) -> bool {
        self.plane_bytes + other.plane_bytes <= max_binding && self.symbol_bytes + other.symbol_bytes <= max_binding
    }

    pub(crate) fn add(&mut self, other: &TileSize) {
        self.plane_bytes += other.plane_bytes;
        self.symbol_bytes += other.symbol_bytes;
    }
}

impl<'t> Wave<'t> {
    /// Lays out tiles, which fit the limits together, and their slots. All have coefficients, or none.
    pub(crate) fn new(tiles: &[(&'t Tile, Slot)], limits: BindingLimits, memory: &TableMemory) -> Self {
        Self::with_synchronisation(tiles, limits, memory, None)
    }

    /// The same; `None` finds states the faster way.
    fn with_synchronisation(
        tiles: &[(&'t Tile, Slot)],
        limits: BindingLimits,
        memory: &TableMemory,
        synchronisation: Option<Synchronisation>,
    ) -> Self {
        let mut components: Vec<Component> = Vec::new();
        let mut idct_groups = 0;
        let (mut headers, mut symbols, mut quant) = (Vec::new(), Vec::new(), Vec::new());
        let (mut header_count, mut symbol_count) = (0, 0);
        let mut plane_words = 0;
        let mut samples = Vec::new();
        let mut first_components = Vec::new();
        let mut scans = WaveScans::new(memory.take());
        for (tile, _) in tiles {
            let first_symbols = match &tile.coefficients {
                Coefficients::Packed(packed) => {
                    headers.push(Contents::Words(packed.headers()));
                    symbols.push(Contents::Words(packed.symbols()));
                    symbol_count += packed.symbols().len() as u32;
                    vec![symbol_count - packed.symbols().len() as u32]
                }
                Coefficients::Staged(picture) => scans.append(picture, header_count),
            };
            first_components.push(components.len() as u32);
            for (component, &scan) in tile.components.iter().zip(&tile.scan_of) {
                components.push(Component {
                    first_block: component.first_block + header_count,
                    first_symbol: first_symbols[scan],
                    first_group: idct_groups,
                    plane: component.plane + plane_words,
                    quant: component.quant + quant.len() as u32,
                    ..*component
                });
                idct_groups += workgroups_of(component);
            }
            header_count += tile.header_count;
            quant.extend_from_slice(&tile.quant);
            if !tile.samples.is_empty() {
                samples.push((Contents::Data(&tile.samples), u64::from(plane_words) * 4));
            }
            plane_words += tile.plane_words;
        }

        let mut upload = Upload::new(limits.offset_alignment, memory.take());
        let section_of_components = upload.append(&components);
        let idct_groups = upload.append_groups(components.iter().map(workgroups_of));
        let source = if scans.pictures > 0 {
            Source::Decoded(Decoded::new(&mut scans, header_count, synchronisation, &mut upload))
        } else {
            Source::Uploaded { headers: upload.append_all(headers), symbols: upload.append_all(symbols) }
        };
        memory.put(scans.subsequences);
        let mut wave = Wave {
            limits,
            components: section_of_components,
            idct_groups,
            source,
            quant: upload.append(&quant),
            samples: samples.into_iter().map(|(samples, to)| (upload.append_all([samples]), to)).collect(),
            plane_bytes: u64::from(plane_words) * 4,
            writes: Vec::new(),
            upload,
        };
        wave.lay_out_writes(tiles, &first_components);
        wave
    }

    /// Lays out the dispatches that write pixels.
    fn lay_out_writes(&mut self, tiles: &[(&Tile, Slot)], first_components: &[u32]) {
        let placed = tiles.iter().zip(first_components).flat_map(|((tile, slot), &first_component)| {
            tile.outputs.iter().map(move |output| PlacedOutput::new(output, slot, first_component))
        });
        for layer in in_layers(placed) {
            for window in gather(layer, self.limits) {
                self.append_writes(&window);
            }
        }
    }

    fn append_writes(&mut self, window: &TargetWindow) {
        for writer in Writer::ALL {
            let outputs = window.outputs_of(writer);
            if outputs.is_empty() {
                continue;
            }
            self.writes.push(Write {
                writer,
                outputs: self.upload.append(&outputs),
                groups: self.upload.append_groups(outputs.iter().map(|output| output.items.div_ceil(GROUP))),
                target: window.target.clone(),
                window: Section { offset: window.bytes.start, size: window.bytes.end - window.bytes.start },
            });
        }
    }

    /// What the passes read.
    pub(crate) fn upload(&self) -> &Upload<'t> {
        &self.upload
    }

    /// The memory of its tables, when they have been copied.
    pub(crate) fn into_memory(self) -> Vec<u32> {
        self.upload.into_memory()
    }

    /// Bytes of the buffer between the stages.
    pub(crate) fn plane_bytes(&self) -> u64 {
        self.plane_bytes.max(4)
    }

    /// Bytes of scratch and of coefficients that the GPU makes, if it decodes them.
    pub(crate) fn decoded_lens(&self) -> Option<(u64, u64)> {
        match &self.source {
            Source::Uploaded { .. } => None,
            Source::Decoded(decoded) => Some((decoded.scratch_len, decoded.coefficients_len)),
        }
    }

    /// Where in the scratch buffer the flags of the wave's pictures will be: a word each.
    pub(crate) fn flags(&self) -> Option<Section> {
        match &self.source {
            Source::Uploaded { .. } => None,
            Source::Decoded(decoded) => Some(decoded.flags),
        }
    }

    /// Records the passes.
    pub(crate) fn record(
        &self,
        device: &wgpu::Device,
        encoder: &mut wgpu::CommandEncoder,
        pipelines: &Pipelines,
        buffers: &WaveBuffers,
        timestamps: Option<&PassTimestamps>,
    ) {
        for &(samples, to) in &self.samples {
            encoder.copy_buffer_to_buffer(&buffers.upload, samples.offset, &buffers.planes, to, samples.size);
        }
        let planes = bind(&buffers.planes, Section { offset: 0, size: self.plane_bytes() });
        let from_upload = |section| bind(&buffers.upload, section);
        if let (Source::Decoded(decoded), Some((scratch, coefficients))) = (&self.source, &buffers.decoded) {
            // Headers of pictures that turn out damaged are not all written.
            for (buffer, section) in [(coefficients, decoded.headers), (scratch, decoded.flags)] {
                encoder.clear_buffer(buffer, section.offset, Some(section.size));
            }
        }
        let mut passes = Passes::new(encoder, timestamps);
        let (headers, symbols) = match (&self.source, &buffers.decoded) {
            (Source::Uploaded { headers, symbols }, _) => (from_upload(*headers), from_upload(*symbols)),
            (Source::Decoded(decoded), Some((_, coefficients))) => {
                self.record_decoding(device, &mut passes, pipelines, decoded, buffers);
                (bind(coefficients, decoded.headers), bind(coefficients, decoded.symbols))
            }
            (Source::Decoded(_), None) => unreachable!("who records a wave asks what buffers it needs"),
        };
        let resources = [
            from_upload(self.components),
            from_upload(self.idct_groups.0),
            headers,
            symbols,
            from_upload(self.quant),
            planes.clone(),
        ];
        let pass = passes.next(&pipelines.dequant_idct);
        self.dispatch(device, pass, &pipelines.dequant_idct, &resources, self.idct_groups.1);
        let pass = passes.next(pipelines.of(Writer::Words));
        for write in &self.writes {
            let resources = [
                from_upload(self.components),
                from_upload(write.outputs),
                from_upload(write.groups.0),
                planes.clone(),
                bind(&write.target, write.window),
            ];
            let pipeline = pipelines.of(write.writer);
            self.dispatch(device, pass, pipeline, &resources, write.groups.1);
        }
    }

    /// Records entropy decoding.
    fn record_decoding(
        &self,
        device: &wgpu::Device,
        passes: &mut Passes,
        pipelines: &Pipelines,
        decoded: &Decoded,
        buffers: &WaveBuffers,
    ) {
        let (Some((scratch, coefficients)), Some(stages)) = (&buffers.decoded, &pipelines.huffman) else {
            unreachable!("only backends with these pipelines stage pictures")
        };
        let input = |section| bind(&buffers.upload, section);
        let all_input = || [decoded.scans, decoded.segments, decoded.subsequences, decoded.words].map(input).to_vec();
        let scratch = |section| bind(scratch, section);
        let coefficients = |section| bind(coefficients, section);
        let resources = |stage: &str| match stage {
            "huffman_synchronise" => [all_input(), vec![scratch(decoded.records)]].concat(),
            "huffman_join" => [all_input(), vec![scratch(decoded.records), scratch(decoded.flags)]].concat(),
            "huffman_guess" | "huffman_follow" => [all_input(), vec![scratch(decoded.candidates)]].concat(),
            "huffman_link" => {
                vec![input(decoded.subsequences), scratch(decoded.candidates), scratch(decoded.group_links)]
            }
            "huffman_choose" => {
                let input = [decoded.scans, decoded.segments, decoded.subsequences].map(input).to_vec();
                let scratch =
                    [decoded.candidates, decoded.group_links, decoded.records, decoded.flags].map(scratch).to_vec();
                [input, scratch].concat()
            }
            "huffman_reduce" => {
                vec![input(decoded.subsequences), scratch(decoded.records), scratch(decoded.totals)]
            }
            "huffman_scan" => {
                let input = [decoded.scans, decoded.segments, decoded.subsequences].map(input).to_vec();
                let scratch = [decoded.records, decoded.totals, decoded.prefixes].map(scratch).to_vec();
                [input, scratch].concat()
            }
            "huffman_recount" => [all_input(), vec![scratch(decoded.records), scratch(decoded.prefixes)]].concat(),
            _ => {
                let output = [decoded.headers, decoded.symbols].map(coefficients).to_vec();
                [all_input(), vec![scratch(decoded.prefixes)], output, vec![scratch(decoded.flags)]].concat()
            }
        };
        let pipeline_of = |name: &str| {
            let index = HUFFMAN_STAGES.iter().position(|stage| stage.name == name);
            &stages[index.expect("all stages are in their table")]
        };
        for stages_of_pass in huffman::passes(decoded.synchronisation, decoded.recounts) {
            let pass = passes.next(pipeline_of(stages_of_pass[0]));
            for &stage in stages_of_pass {
                let workgroups = huffman::workgroups(stage, decoded.groups);
                self.dispatch(device, pass, pipeline_of(stage), &resources(stage), workgroups);
            }
        }
    }

    fn dispatch(
        &self,
        device: &wgpu::Device,
        pass: &mut wgpu::ComputePass<'_>,
        pipeline: &Pipeline,
        resources: &[wgpu::BindingResource],
        groups: u32,
    ) {
        pass.set_pipeline(&pipeline.pipeline);
        pass.set_bind_group(0, &pipeline.bind(device, resources), &[]);
        let columns = groups.min(self.limits.max_workgroups);
        pass.dispatch_workgroups(columns, groups.div_ceil(columns.max(1)), 1);
    }
}

fn bind(buffer: &wgpu::Buffer, section: Section) -> wgpu::BindingResource<'_> {
    wgpu::BindingResource::Buffer(wgpu::BufferBinding {
        buffer,
        offset: section.offset,
        size: std::num::NonZeroU64::new(section.size),
    })
}

#[cfg(test)]
mod tests;
