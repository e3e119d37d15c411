//! `write_pixels` in the emulator, which needs no device: what the CPU backend makes of the same files.

use isopel_conformance::random::{self, Random};
use isopel_conformance::writer::Baseline;
use isopel_core::{Codestream, DecodeOptions, DecodePlan, OrientationPolicy, StoredRect, cpu};
use isopel_kernels_on_host::{Access, Memory, Order, launch};

use super::*;
use crate::on_host::allow_target;

/// One picture to write, and where its pixels should be.
struct Case {
    picture: Picture,
    target: u64,
    expected: Vec<u8>,
    what: String,
}

/// A file of a few colored blocks.
fn file(random: &mut Random) -> Vec<u8> {
    let size = Size::new(1 + random.below_u32(180), 1 + random.below_u32(100));
    Baseline { size, sampling: &[(1, 1); 3], quantizer: 5 }.write(|_, _, _, block| {
        block[0] = random.below(300) as i16 - 150;
        block[1 + random.below(9)] = random.below(101) as i16 - 50;
    })
}

/// Decodes a file on the CPU as stored, as nvJPEG would, and asks for some part of it in some way.
fn case(memory: &mut Memory, random: &mut Random) -> Case {
    let jpeg = file(random);
    let formats =
        [PixelFormat::Rgb8, PixelFormat::Bgr8, PixelFormat::Rgba8, PixelFormat::Rgb8Planar, PixelFormat::Gray8];
    let format = formats[random.below(formats.len())];
    let (pixels, decoded) = match format {
        PixelFormat::Gray8 => (SourcePixels::Luma, PixelFormat::Gray8),
        _ => (SourcePixels::Rgb, PixelFormat::Rgb8),
    };
    let orientation = Orientation::ALL[random.below(8)];
    let codestream = Codestream::parse(&jpeg, &Default::default()).unwrap();
    let Size { width, height } = codestream.frame().size;
    let (x, y) = (random.below_u32(width), random.below_u32(height));
    let region = StoredRect::new(x, y, 1 + random.below_u32(width - x), 1 + random.below_u32(height - y));

    let gap = [0, 4, 16, 1 + random.below(20)][random.below(4)];
    let stored = DecodeOptions::default().orientation(OrientationPolicy::Ignore).format(decoded);
    let stored = cpu::decode(&DecodePlan::new(&codestream, &stored).unwrap()).unwrap();
    let row = width as usize * pixels.bytes();
    let pitch = row + gap;
    let source = memory.allocate(pitch * height as usize);
    memory.allow_rows("the source", source, row, pitch, height as usize, Access::Read);
    for (index, bytes) in stored.pixels.chunks(row).enumerate() {
        memory.upload(source + (index * pitch) as u64, bytes);
    }

    let options = DecodeOptions::default().region(region).format(format);
    let plan = DecodePlan::new(&codestream, &options.orientation(OrientationPolicy::Set(orientation))).unwrap();
    let stride = plan.layout().planes()[0].stride + [0, 4, 1 + random.below(20)][random.below(3)];
    let layout = plan.layout().clone().with_stride(stride).unwrap();
    let target = allow_target(memory, &layout, [0, 4, random.below(17)][random.below(3)]);
    let mut expected = vec![Memory::UNWRITTEN; layout.required_len()];
    let report = cpu::decode_into(&plan, &layout, &mut expected).unwrap();
    let source = Destination { address: source, pitch };
    let region = plan.region().rect();
    let picture = Picture::from_stored(source, pixels, region, report.orientation, target, &layout);
    let what = format!("{region:?} of {width}x{height} as {format}, {orientation:?}, {stride} bytes a row");
    Case { picture, target, expected, what }
}

#[test]
fn pictures_are_written_as_the_cpu_writes_them() {
    let mut random = Random::new(random::seed(0x5717E));
    for order in [Order::Forwards, Order::Backwards, Order::Shuffled(4)] {
        let mut memory = Memory::new();
        let cases: Vec<Case> = (0..MAX_PICTURES).map(|_| case(&mut memory, &mut random)).collect();
        let pictures: Vec<Picture> = cases.iter().map(|case| case.picture).collect();
        let (parameter, tiles) = Pictures::new(&pictures);
        // SAFETY: numbers without gaps between them, as a test below says of their places.
        let bytes = unsafe { std::slice::from_raw_parts((&raw const parameter).cast(), size_of::<Pictures>()) };
        launch("write_pixels", tiles, (BLOCK.0, BLOCK.1), bytes, &mut memory, order).unwrap();
        for Case { target, expected, what, .. } in &cases {
            assert!(memory.bytes(*target, expected.len()) == expected, "{what}, {order:?}");
        }
    }
}
