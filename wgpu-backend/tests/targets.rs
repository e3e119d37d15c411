//! Pixels go where the caller wants them and nowhere else: buffers with offsets and strides, textures, host memory.

use std::sync::Arc;

use isopel_conformance::backends::{SENTINEL, on_cpu};
use isopel_conformance::{corpus, gpu};
use isopel_core::cpu::{self, HostBuffer, HostTarget};
use isopel_core::{
    Backend, Codestream, DecodeOptions, DecodePlan, Error, Job, Limits, Orientation, OrientationPolicy, PixelFormat,
    Strictness,
};
use isopel_wgpu::wgpu::{self, BufferUsages, TextureFormat, TextureUsages};
use isopel_wgpu::{BufferTarget, WgpuAfter, WgpuBackend, WgpuTarget};

/// 45x37 pixels.
fn jpeg() -> Arc<[u8]> {
    corpus::hazard("container-base-420.jpg").unwrap().into()
}

fn job(jpeg: &Arc<[u8]>, options: DecodeOptions, target: WgpuTarget) -> Job<WgpuTarget> {
    Job { jpeg: jpeg.clone(), options, target }
}

fn submit_ok(backend: &WgpuBackend, jobs: Vec<Job<WgpuTarget>>) {
    for outcome in backend.submit(jobs, WgpuAfter::Queue).wait() {
        outcome.result.unwrap_or_else(|error| panic!("job {}: {error}", outcome.index));
    }
}

/// What the CPU writes into `memory` from `offset` on.
fn write_on_cpu(jpeg: &[u8], options: &DecodeOptions, memory: &mut [u8], offset: usize, stride: Option<usize>) {
    let codestream = Codestream::parse(jpeg, &options.limits).unwrap();
    let plan = DecodePlan::new(&codestream, options).unwrap();
    let layout = match stride {
        Some(stride) => plan.layout().clone().with_stride(stride).unwrap(),
        None => plan.layout().clone(),
    };
    cpu::decode_into(&plan, &layout, &mut memory[offset..]).unwrap();
}

#[derive(Debug)]
struct Place {
    format: PixelFormat,
    orientation: Orientation,
    offset: usize,
    stride: Option<usize>,
}

impl Place {
    fn options(&self) -> DecodeOptions {
        DecodeOptions::default().format(self.format).orientation(OrientationPolicy::Set(self.orientation))
    }
}

/// Places with all offsets, strides and formats; and the bytes that each needs at most.
fn places() -> (Vec<Place>, usize) {
    let mut places = Vec::new();
    let mut longest = 0;
    for format in PixelFormat::ALL.into_iter().filter(|&format| format != PixelFormat::Cmyk8) {
        for orientation in [Orientation::Normal, Orientation::Rotate90] {
            let width = if orientation == Orientation::Normal { 45 } else { 37 };
            let row = width * format.bytes_per_pixel();
            let strides = [None, Some(row), Some(row + 1), Some(row + 7), Some(row.next_multiple_of(256))];
            for offset in [0, 4, 256, 260, 1_020] {
                for stride in strides {
                    longest = longest.max(offset + stride.unwrap_or(row) * 45 * 3 + 64);
                    places.push(Place { format, orientation, offset, stride });
                }
            }
        }
    }
    (places, longest.next_multiple_of(4))
}

#[test]
fn buffers_with_offsets_and_strides() {
    let Some(backend) = gpu::shared_or_explain() else { return };
    let jpeg = jpeg();
    let (places, len) = places();
    for places in places.chunks(64) {
        let buffers: Vec<_> = places.iter().map(|_| gpu::buffer(backend.device(), &vec![SENTINEL; len])).collect();
        let jobs = places.iter().zip(&buffers).map(|(place, buffer)| {
            let target = BufferTarget { buffer: buffer.clone(), offset: place.offset as u64, stride: place.stride };
            job(&jpeg, place.options(), WgpuTarget::Buffer(target))
        });
        submit_ok(backend, jobs.collect());
        let found = gpu::read_all(backend.device(), backend.queue(), &buffers);
        for (place, found) in places.iter().zip(found) {
            let mut expected = vec![SENTINEL; len];
            write_on_cpu(&jpeg, &place.options(), &mut expected, place.offset, place.stride);
            assert_eq!((0..len).find(|&at| found[at] != expected[at]), None, "{place:?}: a byte is wrong");
        }
    }
}

#[test]
fn host_memory_with_offsets_and_strides() {
    let Some(backend) = gpu::shared_or_explain() else { return };
    let jpeg = jpeg();
    let (places, len) = places();
    for places in places.chunks(64) {
        let buffers: Vec<_> = places.iter().map(|_| HostBuffer::new(vec![SENTINEL; len])).collect();
        let jobs = places.iter().zip(&buffers).map(|(place, buffer)| {
            // Host memory needs no alignment.
            let target = HostTarget { buffer: buffer.clone(), offset: place.offset + 3, stride: place.stride };
            job(&jpeg, place.options(), WgpuTarget::Host(target))
        });
        submit_ok(backend, jobs.collect());
        for (place, buffer) in places.iter().zip(&buffers) {
            let mut expected = vec![SENTINEL; len];
            write_on_cpu(&jpeg, &place.options(), &mut expected, place.offset + 3, place.stride);
            assert!(*buffer.lock() == expected, "{place:?}");
        }
    }
}

#[test]
fn many_pictures_behind_each_other_in_one_buffer() {
    let Some(backend) = gpu::shared_or_explain() else { return };
    let files: Vec<Arc<[u8]>> =
        corpus::decodable(100 * 100).unwrap().into_iter().map(|(_, jpeg)| jpeg.into()).collect();
    let mut offset = 0usize;
    let mut placed = Vec::new();
    for (index, jpeg) in files.iter().enumerate() {
        let format = [PixelFormat::Rgb8, PixelFormat::Gray8, PixelFormat::Rgb8Planar, PixelFormat::Rgba8][index % 4];
        let options = DecodeOptions::default().format(format);
        let len = on_cpu(jpeg, &options).unwrap().pixels.len();
        placed.push((jpeg, options, offset));
        offset = (offset + len).next_multiple_of(4);
    }
    let buffer = gpu::buffer(backend.device(), &vec![SENTINEL; offset]);
    let jobs = placed.iter().map(|&(jpeg, options, offset)| {
        let target = BufferTarget { buffer: buffer.clone(), offset: offset as u64, stride: None };
        job(jpeg, options, WgpuTarget::Buffer(target))
    });
    submit_ok(backend, jobs.collect());
    let mut expected = vec![SENTINEL; offset];
    for (jpeg, options, offset) in placed {
        write_on_cpu(jpeg, &options, &mut expected, offset, None);
    }
    assert!(gpu::read(backend.device(), backend.queue(), &buffer) == expected);
}

/// An atlas: two columns of pictures. Rows end and begin within one word, so two jobs write parts of it.
#[test]
fn pictures_beside_each_other_share_words() {
    let Some(backend) = gpu::shared_or_explain() else { return };
    let jpeg = jpeg();
    let options = DecodeOptions::default().format(PixelFormat::Gray8);
    for stride in [48usize + 45, 48 + 46, 48 + 47, 48 + 48] {
        let place = |index: usize| index / 2 * (stride * 37).next_multiple_of(4) + index % 2 * 48;
        let places: Vec<usize> = (0..40).map(place).collect();
        let len = (20 * stride * 38).next_multiple_of(4);
        let buffer = gpu::buffer(backend.device(), &vec![SENTINEL; len]);
        let jobs = places.iter().map(|&offset| {
            let target = BufferTarget { buffer: buffer.clone(), offset: offset as u64, stride: Some(stride) };
            job(&jpeg, options, WgpuTarget::Buffer(target))
        });
        submit_ok(backend, jobs.collect());
        let mut expected = vec![SENTINEL; len];
        places.iter().for_each(|&offset| write_on_cpu(&jpeg, &options, &mut expected, offset, Some(stride)));
        let found = gpu::read(backend.device(), backend.queue(), &buffer);
        let wrong = found.iter().zip(&expected).filter(|(found, expected)| found != expected).count();
        assert_eq!(wrong, 0, "stride {stride}: bytes differ");
    }
}

/// The planes of 1x1 pixels are three bytes of one word.
#[test]
fn planes_share_words() {
    let Some(backend) = gpu::shared_or_explain() else { return };
    for file in ["dims-1x1-420.jpg", "dims-7x9-420.jpg", "container-base-420.jpg"] {
        let jpeg: Arc<[u8]> = corpus::hazard(file).unwrap().into();
        let options = DecodeOptions::default().format(PixelFormat::Rgb8Planar);
        let expected = on_cpu(&jpeg, &options).unwrap().pixels;
        for _ in 0..8 {
            let buffers: Vec<_> = (0..64).map(|_| HostBuffer::new(vec![SENTINEL; expected.len()])).collect();
            let target = |buffer: &HostBuffer| WgpuTarget::Host(HostTarget::packed(buffer.clone()));
            submit_ok(backend, buffers.iter().map(|buffer| job(&jpeg, options, target(buffer))).collect());
            let wrong = buffers.iter().filter(|buffer| *buffer.lock() != expected).count();
            assert_eq!(wrong, 0, "{file}: pictures of 64 are wrong");
        }
    }
}

fn texture(backend: &WgpuBackend, size: (u32, u32), format: TextureFormat, usage: TextureUsages) -> wgpu::Texture {
    backend.device().create_texture(&wgpu::TextureDescriptor {
        label: Some("test"),
        size: wgpu::Extent3d { width: size.0, height: size.1, depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format,
        usage,
        view_formats: &[],
    })
}

const COPIES: TextureUsages = TextureUsages::COPY_DST.union(TextureUsages::COPY_SRC);

#[test]
fn textures_hold_the_bytes() {
    let Some(backend) = gpu::shared_or_explain() else { return };
    let jpeg = jpeg();
    for format in [TextureFormat::Rgba8Unorm, TextureFormat::Rgba8Uint] {
        for orientation in [Orientation::Normal, Orientation::Rotate270] {
            for (width, height) in [(45, 45), (64, 50), (300, 46)] {
                let texture = texture(backend, (width, height), format, COPIES);
                let sentinels = vec![SENTINEL; width as usize * height as usize * 4];
                let layout =
                    wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(width * 4), rows_per_image: None };
                backend.queue().write_texture(texture.as_image_copy(), &sentinels, layout, texture.size());
                let options = DecodeOptions::default()
                    .format(PixelFormat::Rgba8)
                    .orientation(OrientationPolicy::Set(orientation));
                submit_ok(backend, vec![job(&jpeg, options, WgpuTarget::Texture(texture.clone()))]);
                let mut expected = sentinels;
                write_on_cpu(&jpeg, &options, &mut expected, 0, Some(width as usize * 4));
                let found = gpu::read_texture(backend.device(), backend.queue(), &texture);
                assert!(found == expected, "{format:?} {width}x{height}, {orientation}");
            }
        }
    }
}

fn code(backend: &WgpuBackend, options: DecodeOptions, target: WgpuTarget) -> &'static str {
    let outcomes = backend.submit(vec![job(&jpeg(), options, target.clone())], WgpuAfter::Queue).wait();
    let submitted = outcomes[0].result.as_ref().err().map_or("ok", Error::code);
    if !matches!(target, WgpuTarget::Host(_)) {
        let mut encoder = backend.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let outcomes = backend.encode_into(&mut encoder, vec![job(&jpeg(), options, target)]);
        let encoded = outcomes[0].result.as_ref().err().map_or("ok", Error::code);
        assert_eq!(encoded, submitted, "encode_into and submit");
        backend.queue().submit([encoder.finish()]);
    }
    submitted
}

#[test]
fn buffers_that_do_not_fit_are_typed_errors() {
    let Some(backend) = gpu::shared_or_explain() else { return };
    let options = DecodeOptions::default();
    let needed = 45 * 37 * 3; // 4995
    let buffer = |size: u64, usage| {
        backend.device().create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
    };
    let code_of = |buffer: wgpu::Buffer, offset, stride| {
        code(backend, options, WgpuTarget::Buffer(BufferTarget { buffer, offset, stride }))
    };
    let storage = |size| buffer(size, BufferUsages::STORAGE);
    assert_eq!(code_of(storage(needed + 1), 0, None), "ok");
    // The last word is written whole, even if only a part of it is pixels.
    for (size, offset) in
        [(4, 0), (needed - 3, 0), (needed, 0), (needed + 1, 4), (needed + 1, 4_996), (needed, 1 << 40)]
    {
        assert_eq!(code_of(storage(size), offset, None), "buffer-too-short", "{size} bytes from {offset}");
    }
    for offset in [u64::MAX - 3, u64::MAX - 4_999, (1 << 63), (1 << 32), (1 << 31)] {
        assert_eq!(code_of(storage(needed + 1), offset, None), "buffer-too-short", "offset {offset}");
    }
    for offset in [1, 2, 3, 257, u64::MAX] {
        assert_eq!(code_of(storage(2 * needed), offset, None), "target-unsuitable", "offset {offset}");
    }
    for usage in [BufferUsages::COPY_DST | BufferUsages::COPY_SRC, BufferUsages::UNIFORM, BufferUsages::MAP_READ] {
        assert_eq!(code_of(buffer(2 * needed, usage), 0, None), "target-unsuitable", "{usage:?}");
    }
    assert_eq!(code_of(storage(2 * needed), 0, Some(45 * 3 - 1)), "stride-too-short");
    assert_eq!(code_of(storage(2 * needed), 0, Some(0)), "stride-too-short");
    assert_eq!(code_of(storage(2 * needed), 0, Some(usize::MAX)), "layout-too-large");
    for stride in [1 << 20, 1 << 31, 1 << 32, (1 << 32) + 135, 1 << 50] {
        assert_eq!(code_of(storage(2 * needed), 0, Some(stride)), "buffer-too-short", "stride {stride}");
    }
}

#[test]
fn textures_that_do_not_fit_are_typed_errors() {
    let Some(backend) = gpu::shared_or_explain() else { return };
    let rgba = DecodeOptions::default().format(PixelFormat::Rgba8);
    let code_of = |options, size, format, usage| {
        code(backend, options, WgpuTarget::Texture(texture(backend, size, format, usage)))
    };
    let unorm = TextureFormat::Rgba8Unorm;
    assert_eq!(code_of(rgba, (45, 37), unorm, COPIES), "ok");
    for size in [(44, 37), (45, 36), (37, 45), (1, 1)] {
        assert_eq!(code_of(rgba, size, unorm, COPIES), "target-unsuitable", "{size:?}");
    }
    for format in
        [TextureFormat::Bgra8Unorm, TextureFormat::Rgba8UnormSrgb, TextureFormat::Rgba16Float, TextureFormat::R8Unorm]
    {
        assert_eq!(code_of(rgba, (45, 37), format, COPIES), "target-unsuitable", "{format:?}");
    }
    let usage = TextureUsages::COPY_SRC | TextureUsages::TEXTURE_BINDING;
    assert_eq!(code_of(rgba, (45, 37), unorm, usage), "target-unsuitable");
    for format in
        PixelFormat::ALL.into_iter().filter(|&format| !matches!(format, PixelFormat::Rgba8 | PixelFormat::Cmyk8))
    {
        let options = DecodeOptions::default().format(format);
        assert_eq!(code_of(options, (64, 64), unorm, COPIES), "target-unsuitable", "{format}");
    }
}

#[test]
fn host_memory_that_does_not_fit_is_a_typed_error() {
    let Some(backend) = gpu::shared_or_explain() else { return };
    let needed = 45 * 37 * 3;
    let target = |len: usize, offset, stride| {
        let buffer = HostBuffer::new(vec![SENTINEL; len]);
        let code = code(
            backend,
            DecodeOptions::default(),
            WgpuTarget::Host(HostTarget { buffer: buffer.clone(), offset, stride }),
        );
        let untouched = buffer.lock().iter().all(|&byte| byte == SENTINEL);
        (code, untouched)
    };
    for (len, offset) in [(0, 0), (needed - 1, 0), (needed, 1), (needed, needed), (needed, usize::MAX)] {
        assert_eq!(target(len, offset, None), ("buffer-too-short", true), "{len} bytes from {offset}");
    }
    assert_eq!(target(needed, 0, Some(134)), ("stride-too-short", true));
    assert_eq!(target(needed, 0, Some(usize::MAX)), ("layout-too-large", true));
    assert_eq!(target(needed + 7, 7, None), ("ok", false));
}

#[test]
fn host_memory_can_not_be_encoded() {
    let Some(backend) = gpu::shared_or_explain() else { return };
    let mut encoder = backend.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    let host = WgpuTarget::Host(HostTarget::packed(HostBuffer::new(vec![0; 45 * 37 * 3])));
    let buffer = gpu::buffer(backend.device(), &[SENTINEL; 4_996]);
    let device = WgpuTarget::Buffer(BufferTarget::packed(buffer.clone()));
    let jobs = [host, device].map(|target| job(&jpeg(), DecodeOptions::default(), target));
    let outcomes = backend.encode_into(&mut encoder, jobs.into());
    assert_eq!(outcomes[0].result.as_ref().err().map(Error::code), Some("target-unsuitable"));
    assert!(outcomes[1].result.is_ok());
    backend.queue().submit([encoder.finish()]);
    let expected = on_cpu(&jpeg(), &DecodeOptions::default()).unwrap().pixels;
    assert!(gpu::read(backend.device(), backend.queue(), &buffer)[..expected.len()] == expected);
}

/// A target that can't take the pixels is told before any of the file's data is decoded.
#[test]
fn targets_are_checked_before_the_data() {
    let Some(backend) = gpu::shared_or_explain() else { return };
    let mut damaged = jpeg().to_vec();
    damaged.truncate(damaged.len() - 200);
    let damaged: Arc<[u8]> = damaged.into();
    let options = DecodeOptions::default().strictness(Strictness::Strict);
    let target = |len| WgpuTarget::Buffer(BufferTarget::packed(gpu::buffer(backend.device(), &vec![0; len])));
    let jobs = [4_996, 4_992].map(|len| job(&damaged, options, target(len)));
    let outcomes = backend.submit(jobs.into(), WgpuAfter::Queue).wait();
    let codes: Vec<_> = outcomes.iter().map(|outcome| outcome.result.as_ref().err().map(Error::code)).collect();
    assert_eq!(codes, [Some("damaged"), Some("buffer-too-short")]);
}

/// Rows more than 2 GiB from the first, where the device has buffers that large.
#[test]
fn rows_beyond_two_gibibytes() {
    const STRIDE: u64 = 80 << 20;
    let Some(backend) = gpu::shared_or_explain() else { return };
    let (device, queue) = (backend.device(), backend.queue());
    let size = 36 * STRIDE + 136;
    if device.limits().max_buffer_size < size || gpu::is_software(backend) {
        println!("not run: {} has no buffers of 3 GB", backend.adapter_name());
        return;
    }
    let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC;
    let buffer = device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false });
    let target = BufferTarget { buffer: buffer.clone(), offset: 0, stride: Some(STRIDE as usize) };
    submit_ok(backend, vec![job(&jpeg(), DecodeOptions::default(), WgpuTarget::Buffer(target))]);
    let rows = gpu::buffer(device, &[SENTINEL; 136 * 37]);
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    for row in 0..37 {
        encoder.copy_buffer_to_buffer(&buffer, row * STRIDE, &rows, row * 136, 136);
    }
    queue.submit([encoder.finish()]);
    let expected = on_cpu(&jpeg(), &DecodeOptions::default()).unwrap().pixels;
    let found = gpu::read(device, queue, &rows);
    for (row, (expected, found)) in expected.chunks_exact(135).zip(found.chunks_exact(136)).enumerate() {
        assert_eq!(expected, &found[..135], "row {row}");
    }
}

/// What can only be found when the commands are checked: a buffer that was destroyed. The other jobs go on.
#[test]
fn a_destroyed_target_costs_nobody_else() {
    let Some(backend) = gpu::shared_or_explain() else { return };
    let jpeg = jpeg();
    let expected = on_cpu(&jpeg, &DecodeOptions::default()).unwrap().pixels;
    let buffers: Vec<_> = (0..3).map(|_| gpu::buffer(backend.device(), &[SENTINEL; 4_996])).collect();
    buffers[1].destroy();
    let target = |buffer: &wgpu::Buffer| WgpuTarget::Buffer(BufferTarget::packed(buffer.clone()));
    let jobs = buffers.iter().map(|buffer| job(&jpeg, DecodeOptions::default(), target(buffer)));
    let outcomes = backend.submit(jobs.collect(), WgpuAfter::Queue).wait();
    let codes: Vec<_> = outcomes.iter().map(|outcome| outcome.result.as_ref().err().map(Error::code)).collect();
    assert_eq!(codes, [None, Some("device-failed"), None]);
    for buffer in [&buffers[0], &buffers[2]] {
        assert!(gpu::read(backend.device(), backend.queue(), buffer)[..expected.len()] == expected);
    }
    // And the backend is as good as before.
    assert!(backend.decode(&jpeg, &DecodeOptions::default().limits(Limits::default())).unwrap().pixels == expected);
}
