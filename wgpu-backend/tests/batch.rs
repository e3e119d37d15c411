//! Batches: one outcome per picture, equal to its own decode; many threads on one backend.

use std::sync::Arc;
use std::thread;

use isopel_conformance::backends::{SENTINEL, on_cpu, packed_len};
use isopel_conformance::compare::compare_outcomes;
use isopel_conformance::random::{self, Random};
use isopel_conformance::{corpus, gpu};
use isopel_core::cpu::{HostBuffer, HostTarget};
use isopel_core::{
    Backend, DecodeOptions, DisplayRect, Error, Image, Job, Orientation, OrientationPolicy, PixelFormat, Strictness,
};
use isopel_wgpu::{BufferTarget, WgpuAfter, WgpuBackend, WgpuTarget};

type Case = (Arc<[u8]>, DecodeOptions);

/// Good, truncated and garbage files of many sizes, each with options of its own.
fn cases(count: usize, random: &mut Random) -> Vec<Case> {
    let files = corpus::decodable(700 * 700).unwrap();
    let mut case = || {
        let mut jpeg = files[random.below(files.len())].1.clone();
        match random.below(6) {
            0 => jpeg.truncate(random.below(jpeg.len() + 1)),
            1 => jpeg.iter_mut().for_each(|byte| *byte = random.byte()),
            _ => {}
        }
        let mut options = DecodeOptions::default()
            .format(PixelFormat::ALL[random.below(PixelFormat::ALL.len())])
            .orientation(OrientationPolicy::Set(Orientation::ALL[random.below(8)]));
        if random.below(3) == 0 {
            options = options.region(DisplayRect::new(random.below_u32(9), 2, 1 + random.below_u32(20), 18));
        }
        if random.below(4) == 0 {
            options = options.strictness(Strictness::Strict);
        }
        (jpeg.into(), options)
    };
    (0..count).map(|_| case()).collect()
}

/// As one submission, each into host memory of its own.
fn decode_all(backend: &WgpuBackend, cases: &[Case]) -> Vec<Result<Image, Error>> {
    let len = |(jpeg, options): &Case| packed_len(jpeg, options).unwrap_or(0);
    let buffers: Vec<_> = cases.iter().map(|case| HostBuffer::new(vec![SENTINEL; len(case)])).collect();
    let jobs = cases.iter().zip(&buffers).map(|((jpeg, options), buffer)| Job {
        jpeg: jpeg.clone(),
        options: *options,
        target: WgpuTarget::Host(HostTarget::packed(buffer.clone())),
    });
    let outcomes = backend.submit(jobs.collect(), WgpuAfter::Queue).wait();
    assert_eq!(outcomes.len(), cases.len(), "one outcome per job");
    let images = outcomes.into_iter().zip(buffers).enumerate().map(|(index, (outcome, buffer))| {
        assert_eq!(outcome.index, index, "outcomes come in the jobs' order");
        outcome.result.map(|report| Image { pixels: std::mem::take(&mut *buffer.lock()), report })
    });
    images.collect()
}

fn check(backend: &WgpuBackend, cases: &[Case], what: &str) {
    for (index, ((jpeg, options), found)) in cases.iter().zip(decode_all(backend, cases)).enumerate() {
        let expected = on_cpu(jpeg, options);
        compare_outcomes(&expected, &found).unwrap_or_else(|error| panic!("{what}, job {index}: {error}"));
    }
}

#[test]
fn a_batch_of_64_equals_its_singles() {
    let Some(backend) = gpu::shared_or_explain() else { return };
    let cases = cases(64, &mut Random::new(random::seed(64)));
    let batch = decode_all(backend, &cases);
    let good = batch.iter().filter(|result| result.is_ok()).count();
    assert!(good > 20 && good < 60, "{good} of 64 are good");
    for (index, ((jpeg, options), found)) in cases.iter().zip(&batch).enumerate() {
        let single = backend.decode(jpeg, options);
        compare_outcomes(&single, found).unwrap_or_else(|error| panic!("job {index}: {error}"));
    }
    check(backend, &cases, "the CPU's");
}

#[test]
fn batches_of_all_sizes() {
    let Some(backend) = gpu::shared_or_explain() else { return };
    let mut random = Random::new(random::seed(65));
    for count in [0, 1, 2, 3, 63, 65, 130] {
        check(backend, &cases(count, &mut random), &format!("a batch of {count}"));
    }
}

#[test]
fn nothing_but_bad_files() {
    let Some(backend) = gpu::shared_or_explain() else { return };
    let files: [&[u8]; 3] = [b"", b"\xFF\xD8\xFF garbage", b"\xFF\xD8"];
    let cases = files.map(|jpeg| (jpeg.into(), DecodeOptions::default()));
    assert!(decode_all(backend, &cases).iter().all(Result::is_err));
    check(backend, &cases, "bad files");
}

#[test]
fn four_threads_share_a_backend() {
    let Some(backend) = gpu::shared_or_explain() else { return };
    let seed = random::seed(66);
    thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                let mut random = Random::new(seed + thread);
                for round in 0..12 {
                    let count = 1 + random.below(16);
                    check(backend, &cases(count, &mut random), &format!("thread {thread}, round {round}"));
                }
            });
        }
    });
}

/// Each thread with two submissions in flight, to buffers of the device.
#[test]
fn threads_with_submissions_in_flight_share_a_backend() {
    let Some(backend) = gpu::shared_or_explain() else { return };
    let files = corpus::decodable_shared(200 * 200).unwrap();
    let options = DecodeOptions::default();
    let expected: Vec<_> = files.iter().map(|(_, jpeg)| on_cpu(jpeg, &options).unwrap().pixels).collect();
    let submit = |first: usize| {
        let picks = (first..first + 12).map(|index| index % files.len());
        let (jobs, reads): (Vec<_>, Vec<_>) = picks
            .map(|pick| {
                let len = expected[pick].len().next_multiple_of(4);
                let buffer = gpu::buffer(backend.device(), &vec![SENTINEL; len]);
                let target = WgpuTarget::Buffer(BufferTarget::packed(buffer.clone()));
                (Job { jpeg: files[pick].1.clone(), options, target }, (buffer, &expected[pick]))
            })
            .unzip();
        (backend.submit(jobs, WgpuAfter::Queue), reads)
    };
    thread::scope(|scope| {
        for thread in 0..3 {
            scope.spawn(move || {
                let mut in_flight = vec![submit(thread * 31)];
                for round in 1..6 {
                    in_flight.push(submit(thread * 31 + round * 12));
                    let (submission, reads) = in_flight.remove(0);
                    assert!(submission.wait().iter().all(|outcome| outcome.result.is_ok()), "thread {thread}");
                    let (buffers, expected): (Vec<_>, Vec<_>) = reads.into_iter().unzip();
                    let found = gpu::read_all(backend.device(), backend.queue(), &buffers);
                    for (found, expected) in found.iter().zip(expected) {
                        assert!(found[..expected.len()] == **expected, "thread {thread}, round {round}");
                    }
                }
            });
        }
    });
}
