//! A batch gives what its files give one by one, in their order, and a bad file costs nobody else.

use std::sync::Arc;

use isopel_conformance::backends::{self, SENTINEL, decode_on};
use isopel_conformance::corpus;
use isopel_conformance::random::{self, Random};
use isopel_core::cpu::{CpuBackend, CpuFence, HostBuffer, HostTarget};
use isopel_core::{
    Backend, DecodeOptions, DisplayRect, Error, Image, Job, Orientation, OrientationPolicy, PixelFormat, Strictness,
};
use rayon::prelude::*;

/// Good, truncated and garbage files, each with options of its own.
fn mixed_files(seed: u64) -> Vec<(Arc<[u8]>, DecodeOptions)> {
    let mut random = Random::new(seed);
    let mut files: Vec<(Arc<[u8]>, DecodeOptions)> = Vec::new();
    for row in corpus::hazard_rows().unwrap() {
        let mut jpeg = row.bytes().unwrap();
        match random.below(5) {
            0 => jpeg.truncate(random.below(jpeg.len() + 1)),
            1 => jpeg.iter_mut().for_each(|byte| *byte = random.byte()),
            _ => {}
        }
        let formats = PixelFormat::ALL;
        let orientations = Orientation::ALL;
        let mut options = DecodeOptions::default()
            .format(formats[random.below(formats.len())])
            .orientation(OrientationPolicy::Set(orientations[random.below(orientations.len())]));
        if random.below(4) == 0 {
            options = options.region(DisplayRect::new(3, 2, 20, 18));
        }
        if random.below(4) == 0 {
            options = options.strictness(Strictness::Strict);
        }
        files.push((jpeg.into(), options));
    }
    for index in (1..files.len()).rev() {
        files.swap(index, random.below(index + 1));
    }
    files
}

fn assert_same(singles: &[Result<Image, Error>], batch: &[Result<Image, Error>], what: &str) {
    assert_eq!(singles.len(), batch.len(), "{what}");
    for (index, (single, batch)) in singles.iter().zip(batch).enumerate() {
        match (single, batch) {
            (Ok(single), Ok(batch)) => {
                let mut elsewhere = single.report.clone();
                elsewhere.route = batch.report.route;
                assert_eq!(elsewhere, batch.report, "{what}: job {index}");
                // How much data there is decides in which pieces a GPU decodes it, and so whether it leaves an irregular
                // file to the CPU.
                let both_exact = single.report.route.is_exact() && batch.report.route.is_exact();
                assert!(both_exact || single.report.route == batch.report.route, "{what}: job {index}: another route");
                assert!(single.pixels == batch.pixels, "{what}: job {index}: pixels differ");
            }
            (Err(single), Err(batch)) => assert_eq!(single, batch, "{what}: job {index}"),
            (single, batch) => {
                panic!("{what}: job {index}: {:?} alone, {:?} in the batch", single.is_ok(), batch.is_ok())
            }
        }
    }
}

#[test]
fn a_batch_equals_its_singles() {
    let seed = random::seed(42);
    let files = mixed_files(seed);
    for backend in backends::present() {
        let singles: Vec<_> = files.iter().map(|(jpeg, options)| backend.decode(jpeg, options)).collect();
        let good = singles.iter().filter(|result| result.is_ok()).count();
        assert!(good > 50 && good < singles.len() - 30, "{good} of {} are good", singles.len());
        assert_same(&singles, &backend.decode_batch(&files), backend.name());
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let seed = random::seed(43);
    let files = mixed_files(seed);
    let one = decode_on(&CpuBackend::new(1), &files);
    let four = decode_on(&CpuBackend::new(4), &files);
    assert_same(&one, &four, "1 and 4 threads");
}

#[test]
fn an_empty_batch_is_done_at_once() {
    for backend in backends::present() {
        assert!(backend.decode_batch(&[]).is_empty());
    }
}

#[test]
fn one_bad_file_between_two_good_ones() {
    let good: Arc<[u8]> = corpus::hazard("container-base-420.jpg").unwrap().into();
    let truncated: Arc<[u8]> = good[..good.len() / 2].into();
    let garbage: Arc<[u8]> = Arc::from(&b"\xFF\xD8\xFF garbage"[..]);
    for backend in backends::present() {
        let options = DecodeOptions::default().strictness(Strictness::Strict);
        let files = [good.clone(), truncated.clone(), good.clone(), garbage.clone(), good.clone()];
        let files = files.map(|jpeg| (jpeg, options));
        let results = backend.decode_batch(&files);
        let codes: Vec<_> = results.iter().map(|result| result.as_ref().err().map(Error::code)).collect();
        assert_eq!(codes[0], None);
        assert_eq!(codes[1], Some("damaged"));
        assert_eq!(codes[2], None);
        assert!(codes[3].is_some());
        assert_eq!(codes[4], None);
        assert_eq!(results[0], results[2]);
        assert_eq!(results[0], results[4]);
    }
}

/// Many files of one batch into one buffer, as slices of a tensor, with room between them that stays untouched.
#[test]
fn one_buffer_holds_many_pictures() {
    const GAP: usize = 11;
    let files = corpus::decodable(200 * 200).unwrap();
    for threads in [1, 4] {
        let backend = CpuBackend::new(threads);
        let options = DecodeOptions::default();
        let single: Vec<(Arc<[u8]>, DecodeOptions)> =
            files.iter().map(|(_, jpeg)| (Arc::from(jpeg.as_slice()), options)).collect();
        let singles: Vec<Image> = decode_on(&backend, &single).into_iter().map(Result::unwrap).collect();

        let mut offset = GAP;
        let mut offsets = Vec::new();
        for image in &singles {
            offsets.push(offset);
            offset += image.pixels.len() + GAP;
        }
        let buffer = HostBuffer::new(vec![SENTINEL; offset]);
        let jobs = single.iter().zip(&offsets).map(|((jpeg, options), &offset)| Job {
            jpeg: jpeg.clone(),
            options: *options,
            target: HostTarget { buffer: buffer.clone(), offset, stride: None },
        });
        let outcomes = backend.submit(jobs.collect(), vec![CpuFence::finished()]).wait();
        assert!(outcomes.iter().enumerate().all(|(index, outcome)| outcome.index == index && outcome.result.is_ok()));

        let mut expected = vec![SENTINEL; offset];
        for (image, &offset) in singles.iter().zip(&offsets) {
            expected[offset..offset + image.pixels.len()].copy_from_slice(&image.pixels);
        }
        assert!(*buffer.lock() == expected, "{threads} threads");
    }
}

#[test]
fn threads_of_another_pool_wait_without_filling_their_stacks() {
    let jpeg = corpus::hazard("container-base-420.jpg").unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).stack_size(256 << 10).build().unwrap();
    for backend in backends::present() {
        let expected = backend.decode(&jpeg, &DecodeOptions::default()).unwrap().pixels;
        let equal = |_: u32| backend.decode(&jpeg, &DecodeOptions::default()).unwrap().pixels == expected;
        assert!(pool.install(|| (0..1000).into_par_iter().with_max_len(1).all(equal)), "{}", backend.name());
    }
}
