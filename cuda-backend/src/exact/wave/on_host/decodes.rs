//! Whole decodes, from a file to the caller's memory: the CPU backend's pixels, or a flag.

use std::sync::Arc;

use isopel_conformance::corpus;
use isopel_conformance::random::{self, Random};
use isopel_core::{Orientation, OrientationPolicy, PixelFormat, Size, StoredRect, cpu};

use super::*;

/// A file and how it is to be decoded.
#[derive(Clone)]
struct Case {
    name: String,
    jpeg: Arc<[u8]>,
    options: DecodeOptions,
    /// Bytes between rows.
    gap: usize,
}

impl Case {
    fn whole(name: &str, jpeg: &[u8]) -> Self {
        Case { name: name.to_owned(), jpeg: jpeg.into(), options: DecodeOptions::default(), gap: 0 }
    }
}

/// How many cases had the CPU's pixels: with entropy decoded by kernels, and with coefficients of the CPU's. How many had
/// a flag.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Counts {
    decoded: usize,
    packed: usize,
    flagged: usize,
}

/// How kernels run.
#[derive(Clone, Copy)]
struct Run {
    synchronisation: Synchronisation,
    subsequence_bytes: u32,
    misalignment: usize,
    order: Order,
}

impl Run {
    fn new(random: &mut Random) -> Self {
        let order = match random.below(3) {
            0 => Order::Forwards,
            1 => Order::Backwards,
            _ => Order::Shuffled(random.below(1 << 16) as u16),
        };
        let synchronisation = [Synchronisation::Rounds, Synchronisation::Candidates][random.below(2)];
        let subsequence_bytes = [32, 48, 64, 128][random.below(4)];
        Run { synchronisation, subsequence_bytes, misalignment: random.below(17), order }
    }
}

/// Decodes cases, as one wave those that can be.
///
/// # Panics
/// If pixels differ from the CPU's, an image with a flag was written, or a kernel makes a mistake.
fn decode_all(cases: &[Case], run: Run) -> Counts {
    let mut counts = Counts::default();
    let (mut images, mut expected) = (Vec::new(), Vec::new());
    for case in cases {
        let Ok(codestream) = Codestream::parse(&case.jpeg, &case.options.limits) else { continue };
        let Ok(plan) = DecodePlan::new(&codestream, &case.options) else { continue };
        let row = plan.layout().planes().iter().map(|plane| plane.stride).max().unwrap_or(0);
        let layout = plan.layout().clone();
        let layout = if case.gap == 0 { layout } else { layout.with_stride(row + case.gap).expect("rows fit") };
        let mut pixels = vec![Memory::UNWRITTEN; layout.required_len()];
        if cpu::decode_into(&plan, &layout, &mut pixels).is_err() {
            continue;
        }
        match HostImage::staged(&plan, layout.clone(), run.subsequence_bytes) {
            Some(image) => {
                images.push(image);
                expected.push((case, pixels));
            }
            None => {
                let flags = decode_wave(&[HostImage::packed(&plan, layout)], &[(case, pixels)], run);
                assert_eq!(flags, [0], "{}: packed coefficients have no flags", case.name);
                counts.packed += 1;
            }
        }
    }
    if !images.is_empty() {
        let flags = decode_wave(&images, &expected, run);
        counts.flagged = flags.iter().filter(|&&flags| flags != 0).count();
        counts.decoded = flags.len() - counts.flagged;
    }
    counts
}

/// Decodes one wave; gives the images' flags.
fn decode_wave(images: &[HostImage], expected: &[(&Case, Vec<u8>)], run: Run) -> Vec<u32> {
    let mut wave = HostWave::new(images, run.synchronisation, run.misalignment, run.order);
    wave.decode();
    let flags = wave.flags();
    for (((case, pixels), &target), &flags) in expected.iter().zip(&wave.targets).zip(&flags) {
        let found = wave.memory.bytes(target, pixels.len());
        let what = || format!("{} with {:?}, {:?}", case.name, case.options, run.order);
        if flags == 0 {
            let difference = found.iter().zip(pixels).position(|(found, expected)| found != expected);
            assert_eq!(difference, None, "{}: first byte that differs", what());
        } else {
            assert!(found.iter().all(|&byte| byte == Memory::UNWRITTEN), "{}: written in spite of a flag", what());
        }
    }
    flags
}

/// The files of the corpus with up to `pixels` pixels.
fn corpus_files(pixels: u64) -> Vec<Case> {
    let files = corpus::decodable(pixels).unwrap();
    assert!(files.len() > 150, "only {} files", files.len());
    files.iter().map(|(row, jpeg)| Case::whole(&row.path, jpeg)).collect()
}

/// Some way to decode a file.
fn random_case(file: &Case, random: &mut Random) -> Option<Case> {
    let options = DecodeOptions::default()
        .format(PixelFormat::ALL[random.below(PixelFormat::ALL.len())])
        .orientation(OrientationPolicy::Set(Orientation::ALL[random.below(8)]));
    let codestream = Codestream::parse(&file.jpeg, &options.limits).ok()?;
    let Size { width, height } = codestream.frame().size;
    let (x, y) = (random.below_u32(width), random.below_u32(height));
    let part = StoredRect::new(x, y, 1 + random.below_u32(width - x), 1 + random.below_u32(height - y));
    let region = [part, StoredRect::new(0, 0, width, height)][random.below(4) / 3];
    let gap = [0, 1 + random.below(40)][random.below(2)];
    Some(Case { options: options.region(region), gap, ..file.clone() })
}

#[test]
fn the_corpus_has_the_pixels_of_the_cpu() {
    let cases = corpus_files(1200 * 1200);
    for (synchronisation, subsequence_bytes, order) in [
        (Synchronisation::Candidates, 48, Order::Shuffled(3)),
        (Synchronisation::Rounds, 64, Order::Backwards),
        (Synchronisation::Rounds, 128, Order::Forwards),
    ] {
        let counts = decode_all(&cases, Run { synchronisation, subsequence_bytes, misalignment: 0, order });
        assert!(counts.decoded > 120 && counts.packed > 30 && counts.flagged > 5, "{counts:?}");
        assert_eq!(counts.decoded + counts.packed + counts.flagged, cases.len());
    }
}

#[test]
fn any_region_format_and_orientation_has_the_pixels_of_the_cpu() {
    let files = corpus_files(500 * 500);
    let mut random = Random::new(random::seed(0xC0DA));
    for _ in 0..5 {
        let cases: Vec<Case> = files.iter().filter_map(|file| random_case(file, &mut random)).collect();
        let counts = decode_all(&cases, Run::new(&mut random));
        assert!(counts.decoded > 90 && counts.packed > 20, "{counts:?}");
    }
}

/// The last block's codes are made of zeros and of what lies behind, without end.
#[test]
fn files_cut_short_read_nothing_behind_their_data() {
    let mut random = Random::new(random::seed(77));
    let samples =
        ["samples/cmyk.jpg", "samples/gray.jpg"].map(|name| corpus::read(&corpus::root().join(name)).unwrap());
    let cases = (0..40).map(|step| {
        let whole = &samples[step % 2];
        let start = whole.windows(2).rposition(|bytes| bytes == [0xFF, 0xDA]).expect("a scan") + 20;
        let end = start + random.below(4000);
        let end = if whole[end - 1] == 0xFF { end + 1 } else { end };
        Case::whole(&format!("step {step}, cut at {end}"), &[&whole[..end], &[0xFF, 0xD9]].concat())
    });
    let cases: Vec<Case> = cases.collect();
    for synchronisation in [Synchronisation::Rounds, Synchronisation::Candidates] {
        let run = Run { synchronisation, subsequence_bytes: 48, misalignment: 0, order: Order::Forwards };
        assert_eq!(decode_all(&cases, run), Counts { flagged: 40, ..Counts::default() });
    }
}

#[test]
fn damaged_files_have_the_pixels_of_the_cpu_or_a_flag() {
    let mut random = Random::new(random::seed(78));
    let files = corpus_files(200 * 200).into_iter().filter(|file| file.jpeg.len() < 10_000);
    let damaged = files.flat_map(|file| [(); 4].map(|()| file.clone())).map(|mut file| {
        let mut jpeg = file.jpeg.to_vec();
        for _ in 0..1 + random.below(4) {
            let at = jpeg.len() / 2 + random.below(jpeg.len() / 2);
            jpeg[at] = random.byte();
        }
        file.name += ", damaged";
        Case { jpeg: jpeg.into(), ..file }
    });
    let damaged: Vec<Case> = damaged.collect();
    for synchronisation in [Synchronisation::Rounds, Synchronisation::Candidates] {
        let counts = decode_all(&damaged, Run { synchronisation, ..Run::new(&mut random) });
        assert!(counts.decoded > 30 && counts.flagged > 100 && counts.packed > 30, "{counts:?}");
    }
}
