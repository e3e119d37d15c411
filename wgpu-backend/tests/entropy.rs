//! Entropy decoding on the GPU gives the CPU's pixels and reports, or leaves the picture to the CPU.

use std::sync::Arc;

use isopel_conformance::backends::{SENTINEL, on_cpu, packed_len};
use isopel_conformance::compare::compare_outcomes;
use isopel_conformance::random::{self, Random};
use isopel_conformance::writer::Baseline;
use isopel_conformance::{corpus, gpu};
use isopel_core::cpu::{HostBuffer, HostTarget};
use isopel_core::{
    Backend, DecodeOptions, DisplayRect, Error, Image, Job, Orientation, OrientationPolicy, PixelFormat, Route, Size,
    Strictness,
};
use isopel_wgpu::{EntropyDecoding, WgpuAfter, WgpuBackend, WgpuOptions, WgpuTarget};

type Case = (Arc<[u8]>, DecodeOptions);

fn backend() -> Option<WgpuBackend> {
    gpu::open_or_explain(&WgpuOptions::default().entropy(EntropyDecoding::Gpu))
}

/// Compares with the CPU; counts the pictures whose entropy the GPU decoded.
fn decoded_whole(backend: &WgpuBackend, cases: &[Case], what: &str) -> usize {
    let mut whole = 0;
    for (part, images) in cases.chunks(24).map(|part| (part, decode_batch(backend, part))) {
        for ((jpeg, options), image) in part.iter().zip(images) {
            whole += usize::from(image.as_ref().is_ok_and(|image| image.report.route == Route::WgpuWhole));
            let expected = with_route(on_cpu(jpeg, options), &image);
            compare_outcomes(&image, &expected).unwrap_or_else(|error| panic!("{what}, {options:?}: {error}"));
        }
    }
    whole
}

/// Decodes as one submission to host memory.
fn decode_batch(backend: &WgpuBackend, cases: &[Case]) -> Vec<Result<Image, Error>> {
    let buffer = |(jpeg, options): &Case| HostBuffer::new(vec![SENTINEL; packed_len(jpeg, options).unwrap_or(0)]);
    let buffers: Vec<HostBuffer> = cases.iter().map(buffer).collect();
    let jobs = cases.iter().zip(&buffers).map(|((jpeg, options), buffer)| Job {
        jpeg: jpeg.clone(),
        options: *options,
        target: WgpuTarget::Host(HostTarget::packed(buffer.clone())),
    });
    let outcomes = backend.submit(jobs.collect(), WgpuAfter::default()).wait();
    assert_eq!(outcomes.len(), cases.len());
    let image = |(outcome, buffer): (isopel_core::Outcome, HostBuffer)| {
        outcome.result.map(|report| Image { pixels: std::mem::take(&mut *buffer.lock()), report })
    };
    outcomes.into_iter().zip(buffers).map(image).collect()
}

/// Routes differ, and may.
fn with_route(expected: Result<Image, Error>, found: &Result<Image, Error>) -> Result<Image, Error> {
    expected.map(|mut image| {
        if let Ok(found) = found {
            image.report.route = found.report.route;
        }
        image
    })
}

fn random_options(random: &mut Random) -> DecodeOptions {
    let mut options = DecodeOptions::default()
        .format(PixelFormat::ALL[random.below(PixelFormat::ALL.len())])
        .orientation(OrientationPolicy::Set(Orientation::ALL[random.below(8)]));
    if random.below(2) == 0 {
        let (x, y) = (random.below_u32(9), random.below_u32(9));
        options = options.region(DisplayRect::new(x, y, 1 + random.below_u32(20), 1 + random.below_u32(18)));
    }
    if random.below(4) == 0 {
        options = options.strictness(Strictness::Strict);
    }
    options
}

#[test]
fn the_corpus_in_every_format_and_orientation() {
    let Some(backend) = backend() else { return };
    let mut random = Random::new(random::seed(41));
    let mut cases: Vec<Case> = Vec::new();
    for row in corpus::hazard_rows().unwrap() {
        let Ok(bytes) = row.bytes() else { continue };
        if bytes.len() < 200_000 {
            let bytes: Arc<[u8]> = bytes.into();
            cases.extend((0..3).map(|_| (bytes.clone(), random_options(&mut random))));
        }
    }
    let whole = decoded_whole(&backend, &cases, "hazards");
    println!("entropy decoded on the GPU: {whole} of {}", cases.len());
    assert!(whole > cases.len() / 4, "only {whole} of {}", cases.len());
}

#[test]
fn samples_in_one_batch() {
    let Some(backend) = backend() else { return };
    let names =
        ["photo.jpg", "gray.jpg", "restart.jpg", "portrait-exif6.jpg", "cmyk.jpg", "progressive.jpg", "truncated.jpg"];
    let cases: Vec<Case> = names
        .iter()
        .map(|name| {
            (corpus::read(&corpus::root().join("samples").join(name)).unwrap().into(), DecodeOptions::default())
        })
        .collect();
    let whole = decoded_whole(&backend, &cases, "samples");
    // All but the progressive and the truncated one.
    assert_eq!(whole, names.len() - 2);
}

/// Files of random coefficients. Their codes are all of one length, so that many never synchronise.
#[test]
fn random_pictures_of_every_sampling() {
    let Some(backend) = backend() else { return };
    let mut random = Random::new(random::seed(42));
    let samplings: [&[(u8, u8)]; 6] = [
        &[(1, 1)],
        &[(1, 1), (1, 1), (1, 1)],
        &[(2, 2), (1, 1), (1, 1)],
        &[(2, 1), (1, 1), (1, 1)],
        &[(1, 2), (1, 1), (1, 1)],
        &[(1, 1), (1, 1), (1, 1), (1, 1)],
    ];
    let cases: Vec<Case> = (0..48)
        .map(|step| {
            let size = Size { width: 1 + random.below_u32(200), height: 1 + random.below_u32(150) };
            let density = 1 + random.below(30);
            let file = Baseline { size, sampling: samplings[step % samplings.len()], quantizer: 3 };
            let file = file.write(|_, _, _, block| {
                block[0] = random.below(300) as i16 - 150;
                for _ in 0..random.below(density) {
                    block[1 + random.below(63)] = random.below(2001) as i16 - 1000;
                }
            });
            (file.into(), random_options(&mut random))
        })
        .collect();
    let whole = decoded_whole(&backend, &cases, "random pictures");
    println!("entropy decoded on the GPU: {whole} of {}", cases.len());
    assert!(whole > 0);
}

#[test]
fn damage_anywhere_is_the_cpus() {
    let Some(backend) = backend() else { return };
    let mut random = Random::new(random::seed(43));
    let original = corpus::read(&corpus::root().join("samples/restart.jpg")).unwrap();
    let cases: Vec<Case> = (0..60)
        .map(|_| {
            let mut jpeg = original.clone();
            for _ in 0..1 + random.below(3) {
                let place = 700 + random.below(jpeg.len() - 700);
                jpeg[place] = random.byte();
            }
            if random.below(4) == 0 {
                jpeg.truncate(700 + random.below(jpeg.len() - 700));
            }
            (jpeg.into(), DecodeOptions::default())
        })
        .collect();
    let whole = decoded_whole(&backend, &cases, "damaged files");
    assert!(whole < cases.len(), "nothing was flagged");
}

/// Codes of one length, and values of one: a decoder that starts anywhere stays beside the right codes for ever, so all
/// rounds are needed, and they end.
#[test]
fn data_that_never_synchronises_ends() {
    let Some(backend) = backend() else { return };
    let mut random = Random::new(random::seed(44));
    let file = Baseline { size: Size { width: 640, height: 480 }, sampling: &[(2, 2), (1, 1), (1, 1)], quantizer: 1 }
        .write(|_, _, _, block| {
            (1..64).for_each(|index| block[index] = if random.below(2) == 0 { 200 } else { -200 });
        });
    let cases: Vec<Case> = vec![(file.into(), DecodeOptions::default())];
    decoded_whole(&backend, &cases, "codes of one length");
}

/// Whichever thread polls the device runs the callbacks of all.
#[test]
fn several_threads_submit_at_once() {
    let Some(backend) = backend() else { return };
    let cases: Vec<Case> = ["restart.jpg", "truncated.jpg", "gray.jpg"]
        .iter()
        .map(|name| {
            (corpus::read(&corpus::root().join("samples").join(name)).unwrap().into(), DecodeOptions::default())
        })
        .collect();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (backend, cases) = (&backend, &cases);
            scope.spawn(move || {
                for round in 0..6 {
                    let whole = decoded_whole(backend, cases, &format!("thread {thread}, round {round}"));
                    assert_eq!(whole, cases.len() - 1);
                }
            });
        }
    });
}
