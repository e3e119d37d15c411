//! The reference of the GPU backends' entropy decoding, pass by pass in plain Rust, gives the serial decoder's
//! coefficients, or flags the image as one for the CPU.

use isopel_conformance::corpus;
use isopel_conformance::random::{self, Random};
use isopel_conformance::writer::Baseline;
use isopel_core::subsequences::{self, Flags};
use isopel_core::{
    Codestream, DecodeOptions, DecodePlan, DisplayRect, PackedCoefficients, PixelFormat, Size, pack_coefficients,
};

/// What came of a file.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Equal,
    Flagged,
    /// Not decoded by subsequences, or not at all.
    NotTaken,
}

fn verdict(bytes: &[u8], options: &DecodeOptions, subsequence_bytes: u32, what: &str) -> (Verdict, bool) {
    let Ok(codestream) = Codestream::parse(bytes, &options.limits) else { return (Verdict::NotTaken, false) };
    let Ok(plan) = DecodePlan::new(&codestream, options) else { return (Verdict::NotTaken, false) };
    let mut serial = PackedCoefficients::default();
    let Ok(report) = pack_coefficients(&plan, &mut serial) else { return (Verdict::NotTaken, false) };
    let is_clean = report.warnings.is_empty();
    let Ok(decoded) = subsequences::decode(&plan, subsequence_bytes) else { return (Verdict::NotTaken, is_clean) };
    if decoded.flags != Flags::default() {
        return (Verdict::Flagged, is_clean);
    }
    assert_eq!(decoded.first_difference(&serial), None, "{what}");
    (Verdict::Equal, is_clean)
}

#[test]
fn the_corpus() {
    let mut equal = 0;
    for row in corpus::hazard_rows().unwrap() {
        let Ok(bytes) = row.bytes() else { continue };
        let components = DecodeOptions::default().format(PixelFormat::ComponentPlanes);
        for subsequence_bytes in [32, 128] {
            let (verdict, is_clean) = verdict(&bytes, &components, subsequence_bytes, &row.file);
            // A few bytes too many go without a warning, but not without a flag.
            let has_reason = !is_clean || row.file.contains("extra-bytes");
            assert!(verdict != Verdict::Flagged || has_reason, "{} is flagged without reason", row.file);
            equal += usize::from(verdict == Verdict::Equal);
        }
    }
    assert!(equal > 100, "only {equal} were decoded");
}

#[test]
fn random_pictures() {
    let mut random = Random::new(random::seed(11));
    let samplings: [&[(u8, u8)]; 6] = [
        &[(1, 1)],
        &[(1, 1), (1, 1), (1, 1)],
        &[(2, 2), (1, 1), (1, 1)],
        &[(2, 1), (1, 1), (1, 1)],
        &[(1, 2), (1, 1), (2, 1)],
        &[(1, 1), (1, 1), (1, 1), (1, 1)],
    ];
    let mut equal = 0;
    for step in 0..60 {
        let sampling = samplings[step % samplings.len()];
        let size = Size { width: 1 + random.below_u32(400), height: 1 + random.below_u32(300) };
        let density = 1 + random.below(30);
        let file = Baseline { size, sampling, quantizer: 3 }.write(|_, _, _, block| {
            block[0] = random.below(300) as i16 - 150;
            for _ in 0..random.below(density) {
                block[1 + random.below(63)] = random.below(2001) as i16 - 1000;
            }
        });
        let (width, height) = (1 + random.below_u32(size.width), 1 + random.below_u32(size.height));
        let region = DisplayRect::new(size.width - width, size.height - height, width, height);
        for options in [DecodeOptions::default(), DecodeOptions::default().region(region)] {
            let subsequence_bytes = [16, 64, 128][step % 3];
            let what = format!("picture {step} of {size:?}, {sampling:?}");
            let (verdict, is_clean) = verdict(&file, &options, subsequence_bytes, &what);
            assert!(is_clean && verdict != Verdict::NotTaken, "{what}: {verdict:?}");
            equal += usize::from(verdict == Verdict::Equal);
        }
    }
    // Codes of one length, as these files have, need not synchronise.
    assert!(equal > 100, "only {equal} of 120 synchronised");
}
