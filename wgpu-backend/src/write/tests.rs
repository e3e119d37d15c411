//! Software GPUs run one workgroup after the other and hide races, so these count who writes each word.

use std::collections::BTreeMap;
use std::sync::Arc;

use isopel_conformance::random::{self, Random};
use isopel_conformance::{corpus, gpu};
use isopel_core::{
    Codestream, DecodeOptions, DecodePlan, Job, Orientation, OrientationPolicy, PixelFormat, PixelLayout,
};

use super::*;
use crate::pack_memory::PackMemory;
use crate::pipelines::Pipelines;
use crate::stages::Stage;
use crate::submit::{ReadyJob, requests};
use crate::tile::{TileLimits, tiles};
use crate::wave::{Wave, WaveBuffers};
use crate::{BufferTarget, WgpuBackend, WgpuTarget};

fn backend() -> Option<WgpuBackend> {
    let (device, queue) = gpu::callers_device_or_explain(wgpu::Limits::default())?;
    Some(gpu::block_on(WgpuBackend::from_device(device, queue, 2)).expect("the device suffices"))
}

/// The stage with every write of a word replaced by one that counts it.
fn counting(stage: &Stage) -> String {
    const TARGET: &str = "target_words: array<u32>";
    let line = |line: &str| match line.trim_start().strip_prefix("target_words[") {
        Some(write) => {
            let (word, _) = write.split_once("] = ").expect("a write");
            format!("atomicAdd(&target_words[{word}], 1u);\n")
        }
        None => format!("{line}\n"),
    };
    let source: String = stage.source().replace(TARGET, "target_words: array<atomic<u32>>").lines().map(line).collect();
    assert_eq!(source.contains("atomicAdd"), stage.name.starts_with("orient"), "{}", stage.name);
    source
}

/// How often the words of the target with pixels in them are to be written: once for each plane.
fn expected_counts(layout: &PixelLayout, offset: usize, words: usize) -> Vec<u32> {
    let mut counts = vec![0; words];
    for plane in layout.planes() {
        let row_bytes = plane.size.width as usize * layout.format().bytes_per_pixel();
        let mut touched = BTreeMap::new();
        for row in 0..plane.size.height as usize {
            let start = offset + plane.offset + row * plane.stride;
            touched.extend((start / 4..(start + row_bytes).div_ceil(4)).map(|word| (word, ())));
        }
        touched.keys().for_each(|&word| counts[word] += 1);
    }
    counts
}

struct Counter {
    backend: WgpuBackend,
    pipelines: Pipelines,
}

impl Counter {
    fn new(backend: WgpuBackend) -> Self {
        let pipelines = Pipelines::with_sources(&backend.device, counting);
        Counter { backend, pipelines }
    }

    /// How often each word of a job's target is written.
    fn counts(&self, job: &ReadyJob, target: &BufferTarget) -> Vec<u32> {
        let device = &self.backend.device;
        let slot = || Slot { buffer: target.buffer.clone(), base: target.offset };
        let tiles: Vec<_> = job.prepared.tiles.iter().map(|tile| (tile, slot())).collect();
        let wave = Wave::new(&tiles, self.backend.limits, &self.backend.table_memory);
        let upload = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("test"),
            size: wave.upload().len(),
            usage: wgpu::BufferUsages::STORAGE,
            mapped_at_creation: true,
        });
        for chunk in wave.upload().chunks(u64::MAX) {
            wave.upload()
                .write_chunk(&chunk, upload.get_mapped_range_mut(..chunk.len).expect("it is mapped").slice(..));
        }
        upload.unmap();
        let planes = gpu::buffer(device, &vec![0; wave.plane_bytes() as usize]);
        let mut encoder = device.create_command_encoder(&Default::default());
        let buffers = WaveBuffers { upload, planes, decoded: None };
        wave.record(device, &mut encoder, &self.pipelines, &buffers, None);
        self.backend.queue.submit([encoder.finish()]);
        let bytes = gpu::read(device, &self.backend.queue, &target.buffer);
        bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("4 bytes"))).collect()
    }
}

#[test]
fn every_word_with_pixels_is_written_once_by_each_plane() {
    let Some(backend) = backend() else { return };
    let counter = Counter::new(backend);
    let mut random = Random::new(random::seed(31));
    let files: Vec<Arc<[u8]>> =
        ["dims-1x1-420.jpg", "dims-7x9-420.jpg", "dims-16x16-420.jpg", "container-base-420.jpg"]
            .map(|file| corpus::hazard(file).expect("it is in the corpus").into())
            .into();
    let mut words_written = 0;
    for format in PixelFormat::ALL.into_iter().filter(|&format| format != PixelFormat::Cmyk8) {
        for (jpeg, orientation) in files.iter().flat_map(|jpeg| Orientation::ALL.map(|turn| (jpeg, turn))) {
            let options = DecodeOptions::default().format(format).orientation(OrientationPolicy::Set(orientation));
            let stride = 45 * format.bytes_per_pixel() + random.below(9);
            let (offset, stride) = (4 * random.below(70), [None, Some(stride)][random.below(2)]);
            let len = (offset + (45 * 4 + 9) * 45 * 3).next_multiple_of(4);
            let buffer = gpu::buffer(&counter.backend.device, &vec![0; len]);
            let target = BufferTarget { buffer, offset: offset as u64, stride };
            let job = Job { jpeg: jpeg.clone(), options, target: WgpuTarget::Buffer(target.clone()) };
            let (ready, failed) = counter.backend.prepare_all(requests(vec![job]), None);
            assert!(failed.is_empty(), "{failed:?}");
            let found = counter.counts(&ready[0], &target);
            let expected = expected_counts(&ready[0].prepared.report.layout, offset, len / 4);
            let what = format!("{format}, {orientation}, offset {offset}, stride {stride:?}");
            assert_eq!(expected.iter().zip(&found).position(|(expected, found)| expected != found), None, "{what}");
            words_written += expected.iter().sum::<u32>();
        }
    }
    assert!(words_written > 50_000, "only {words_written} words were written");
}

/// Places of pictures at random in one buffer, many of which share words.
#[test]
fn a_layer_writes_no_word_twice() {
    let Some(backend) = backend() else { return };
    let mut random = Random::new(random::seed(32));
    let jpeg: Arc<[u8]> = corpus::hazard("dims-7x9-420.jpg").expect("it is in the corpus").into();
    let buffer = gpu::buffer(&backend.device, &vec![0; 1 << 14]);
    let (mut deepest, mut widest) = (0, 0);
    for _ in 0..60 {
        let common_stride = [None, Some(64), Some(63)][random.below(3)];
        let jobs = (0..20).map(|_| {
            let format = [PixelFormat::Rgb8, PixelFormat::Gray8, PixelFormat::Rgb8Planar][random.below(3)];
            let stride = common_stride.unwrap_or(21 + random.below(40));
            let target =
                BufferTarget { buffer: buffer.clone(), offset: 4 * random.below(1_000) as u64, stride: Some(stride) };
            let options = DecodeOptions::default().format(format);
            Job { jpeg: jpeg.clone(), options, target: WgpuTarget::Buffer(target) }
        });
        let (ready, failed) = backend.prepare_all(requests(jobs.collect()), None);
        assert!(failed.is_empty(), "{failed:?}");
        let tiles: Vec<_> = ready
            .iter()
            .map(|job| {
                let WgpuTarget::Buffer(target) = &job.prepared.target else { unreachable!("all are buffers") };
                (&job.prepared.tiles[0], Slot { buffer: target.buffer.clone(), base: target.offset })
            })
            .collect();
        let outputs = tiles
            .iter()
            .flat_map(|(tile, slot)| tile.outputs.iter().map(move |output| PlacedOutput::new(output, slot, 0)));
        let layers = in_layers(outputs);
        for layer in &layers {
            let mut written = BTreeMap::new();
            for (index, output) in layer.iter().enumerate() {
                for row in 0..output.output.rows.len() as u64 {
                    let start = output.start + row * output.output.stride;
                    for word in start / 4..(start + output.output.row_bytes()).div_ceil(4) {
                        let earlier = written.insert(word, index);
                        assert!(earlier.is_none_or(|earlier| earlier == index), "{layer:?} meet in word {word}");
                    }
                }
            }
            widest = widest.max(layer.len());
        }
        deepest = deepest.max(layers.len());
    }
    assert!(deepest > 3 && widest > 5, "{deepest} layers, {widest} outputs in one");
}

/// Layouts may be as large as the host can count, bindings are not: 37 rows that are 128 MiB apart, behind 8 GiB.
#[test]
fn rows_beyond_two_gibibytes_are_counted_within_their_bindings() {
    const STRIDE: u64 = 1 << 27;
    const BASE: u64 = 1 << 33;
    let Some(backend) = backend() else { return };
    let limits = BindingLimits { max_binding: (1 << 31) - 256, offset_alignment: 256, max_workgroups: 65_535 };
    let jpeg = corpus::hazard("container-base-420.jpg").expect("it is in the corpus");
    for (format, orientation) in [
        (PixelFormat::Rgb8, Orientation::Normal),
        (PixelFormat::Rgb8, Orientation::Rotate180),
        (PixelFormat::Rgba8, Orientation::Rotate90),
        (PixelFormat::Rgb8Planar, Orientation::FlipVertical),
    ] {
        let options = DecodeOptions::default().format(format).orientation(OrientationPolicy::Set(orientation));
        let codestream = Codestream::parse(&jpeg, &options.limits).expect("it is decodable");
        let plan = DecodePlan::new(&codestream, &options).expect("it is decodable");
        let buffer = gpu::buffer(&backend.device, &[0; 4]);
        let place = BufferTarget { buffer: buffer.clone(), offset: BASE, stride: Some(STRIDE as usize) };
        let tile_limits = TileLimits::for_binding(limits.max_binding);
        let tiles = tiles(&plan, &WgpuTarget::Buffer(place), tile_limits, &PackMemory::default());
        let mut all_rows = Vec::new();
        for tile in tiles.expect("it is decodable") {
            let slot = Slot { buffer: buffer.clone(), base: BASE };
            for (plane, output) in tile.outputs.iter().enumerate() {
                let windows = gather(vec![PlacedOutput::new(output, &slot, 0)], limits);
                let [window] = windows.as_slice() else { panic!("one output has one window") };
                assert!(window.bytes.end - window.bytes.start <= limits.max_binding);
                let row = plane as u64 * u64::from(plan.output_size().height) + u64::from(output.rows.start);
                for words in Writer::ALL.into_iter().flat_map(|writer| window.outputs_of(writer)) {
                    assert_eq!(window.bytes.start + u64::from(words.start), BASE + row * STRIDE, "row {row}");
                    assert!(words.rows == 1 || u64::from(words.stride) == STRIDE);
                    assert_eq!(words.rows, output.rows.len() as u32);
                }
                all_rows.extend(output.rows.clone().map(|row| (plane, row)));
            }
        }
        all_rows.sort_unstable();
        let rows = |plane| (0..plan.output_size().height).map(move |row| (plane, row));
        let all: Vec<_> = (0..plan.layout().planes().len()).flat_map(rows).collect();
        assert_eq!(all_rows, all, "{format}, {orientation}: every row is in one tile");
    }
}
