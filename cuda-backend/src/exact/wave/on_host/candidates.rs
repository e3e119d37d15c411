//! Synchronisation by candidates where there are too many of them.

use isopel_conformance::corpus;
use isopel_core::subsequences::Flags;

use super::*;

#[test]
fn an_image_with_more_candidates_than_fit_is_flagged() {
    let photo = corpus::read(&corpus::root().join("samples/gray.jpg")).expect("it is in the samples");
    let mut hostile = corpus::read(&corpus::root().join("samples/photo.jpg")).expect("it is in the samples");
    hostile.truncate(20_000);
    // Every decoder goes round with this byte, each on a way of its own.
    hostile[1000..].fill(0x9D);
    hostile.extend([0xFF, 0xD9]);
    // The right candidates get their room if the first threads come first.
    for (order, fits) in [(Order::Forwards, true), (Order::Backwards, false), (Order::Shuffled(3), false)] {
        let images =
            [&photo, &hostile, &photo].map(|jpeg| HostImage::staged(jpeg, &DecodeOptions::default(), 48).unwrap());
        let mut wave = HostWave::new(&images, Synchronisation::Candidates, 0, order);
        for launch in Kernels::decoding(&wave.wave.grids()) {
            wave.run(launch);
        }
        let flags = wave.flags();
        assert_eq!((flags[0], flags[2]), (0, 0), "{order:?}: the others");
        assert_eq!(flags[1] & Flags::UNSYNCHRONISED == 0, fits, "{order:?}");
        assert_ne!(flags[1] & Flags::SHORT, 0, "{order:?}: it has no more data than the first bytes of a photograph");
    }
}
