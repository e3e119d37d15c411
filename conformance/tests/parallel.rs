//! Several threads on one image give what one thread gives: pixels, report, errors.

use isopel_conformance::corpus;
use isopel_conformance::random::{self, Random};
use isopel_core::cpu::{self, CpuBackend};
use isopel_core::{
    Codestream, DecodeOptions, DecodePlan, DisplayRect, Error, Image, Orientation, OrientationPolicy, PixelFormat,
    Scale, Strictness,
};
use rayon::prelude::*;

const SAMPLES: [&str; 6] =
    ["photo.jpg", "gray.jpg", "restart.jpg", "progressive.jpg", "portrait-exif6.jpg", "truncated.jpg"];

fn sample(name: &str) -> Vec<u8> {
    corpus::read(&corpus::root().join("samples").join(name)).unwrap()
}

fn planned(
    bytes: &[u8],
    options: &DecodeOptions,
    decode: impl FnOnce(&DecodePlan) -> Result<Image, Error>,
) -> Result<Image, Error> {
    let codestream = Codestream::parse(bytes, &options.limits)?;
    decode(&DecodePlan::new(&codestream, options)?)
}

fn assert_same(bytes: &[u8], options: &DecodeOptions, threads: &CpuBackend, what: &str) {
    let serial = planned(bytes, options, cpu::decode);
    let parallel = planned(bytes, options, |plan| threads.install(|| cpu::decode_parallel(plan)));
    match (serial, parallel) {
        (Ok(serial), Ok(parallel)) => {
            assert_eq!(serial.report, parallel.report, "{what}");
            assert!(serial.pixels == parallel.pixels, "{what}: pixels differ");
        }
        (serial, parallel) => assert_eq!(serial.err(), parallel.err(), "{what}"),
    }
}

#[test]
fn every_format_and_orientation() {
    let threads = CpuBackend::new(3);
    for name in SAMPLES {
        let bytes = sample(name);
        for (format, orientation) in
            PixelFormat::ALL.into_iter().flat_map(|format| Orientation::ALL.map(|o| (format, o)))
        {
            let options = DecodeOptions::default().format(format).orientation(OrientationPolicy::Set(orientation));
            for scale in [Scale::Full, Scale::Half] {
                let options = options.scale(scale);
                assert_same(&bytes, &options, &threads, &format!("{name} {format} {orientation:?} {scale}"));
            }
        }
    }
}

#[test]
fn regions_strides_and_numbers_of_threads() {
    let mut random = Random::new(random::seed(5));
    for name in SAMPLES {
        let bytes = sample(name);
        let size = Codestream::parse_header(&bytes, &Default::default()).unwrap().stored_size();
        for threads in [1, 2, 5] {
            let threads = CpuBackend::new(threads);
            for _ in 0..4 {
                let side = size.width.min(size.height);
                let (x, y) = (random.below(side as usize / 8) as u32, random.below(side as usize / 8) as u32);
                let rect = DisplayRect::new(x, y, side - side / 8 - 1, side - side / 8 - 3);
                assert_same(&bytes, &DecodeOptions::default().region(rect), &threads, &format!("{name} {rect:?}"));
            }
            let codestream = Codestream::parse(&bytes, &Default::default()).unwrap();
            let plan = DecodePlan::new(&codestream, &DecodeOptions::default()).unwrap();
            let stride = plan.layout().planes()[0].stride + 13;
            let layout = plan.layout().clone().with_stride(stride).unwrap();
            let outputs = [false, true].map(|parallel| {
                let mut output = vec![0xA5; layout.required_len() + 29];
                match parallel {
                    false => cpu::decode_into(&plan, &layout, &mut output).unwrap(),
                    true => threads.install(|| cpu::decode_parallel_into(&plan, &layout, &mut output)).unwrap(),
                };
                output
            });
            assert!(outputs[0] == outputs[1], "{name} with a stride of {stride}");
        }
    }
}

#[test]
fn the_corpus_in_pieces() {
    let mut in_pieces = 0;
    for (row, bytes) in corpus::decodable(1 << 20).unwrap() {
        for (pieces, scale) in (2..10).zip(Scale::ALL.into_iter().cycle()) {
            let options = DecodeOptions::default().scale(scale);
            let parallel = planned(&bytes, &options, |plan| {
                let parallel = cpu::decode_in_pieces(plan, pieces, 16)?;
                in_pieces += usize::from(parallel.is_some());
                parallel.map_or_else(|| cpu::decode(plan), Ok)
            });
            let serial = planned(&bytes, &options, cpu::decode);
            assert!(parallel == serial, "{} at {scale} in {pieces} pieces", row.path);
        }
    }
    assert!(in_pieces > 200, "only {in_pieces} were sound and long enough");
}

#[test]
fn many_images_at_once_do_not_pile_up_on_a_stack() {
    let bytes = sample("photo.jpg");
    let codestream = Codestream::parse(&bytes, &Default::default()).unwrap();
    let plan = DecodePlan::new(&codestream, &DecodeOptions::default()).unwrap();
    let expected = cpu::decode(&plan).unwrap().pixels;
    // Stacks that hold a few images' frames.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).stack_size(256 << 10).build().unwrap();
    let equal = |_: u32| cpu::decode_parallel(&plan).unwrap().pixels == expected;
    assert!(pool.install(|| (0..400).into_par_iter().with_max_len(1).all(equal)));
}

#[test]
fn damaged_files() {
    let threads = CpuBackend::new(4);
    let mut random = Random::new(random::seed(6));
    for name in SAMPLES {
        let original = sample(name);
        for round in 0..24 {
            let mut bytes = original.clone();
            // Behind the headers, so that most files still have a picture.
            let place = bytes.len() / 8 + random.below(bytes.len() * 7 / 8 - 4);
            match round % 4 {
                0 => bytes.truncate(place),
                1 => bytes[place] ^= 1 << random.below(8),
                2 => bytes[place..place + 2].copy_from_slice(&[0xFF, 0xD0 | random.byte() & 7]),
                _ => drop(bytes.drain(place..place + 3)),
            }
            for strictness in [Strictness::Lenient, Strictness::Strict] {
                let options = DecodeOptions::default().strictness(strictness);
                assert_same(&bytes, &options, &threads, &format!("{name} round {round} {strictness:?}"));
            }
        }
    }
}
