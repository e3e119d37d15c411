//! What a region costs with an index of the file and without, beside the whole picture.
//!
//! `cargo run --release -p isopel-core --example region_with_index -- FILE`

use std::time::{Duration, Instant};

use isopel_core::{Codestream, CodestreamIndex, DecodeOptions, DecodePlan, DisplayRect, Error, cpu};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("give a JPEG file with one sequential scan")?;
    let bytes = std::fs::read(path)?;
    let whole = DecodeOptions::default();
    let codestream = Codestream::parse(&bytes, &whole.limits)?;
    let index = CodestreamIndex::build(&codestream).ok_or("the file is damaged or has several scans")?;

    // 256x256 pixels, or what there is, from the centre on.
    let size = DecodePlan::new(&codestream, &whole)?.output_size();
    let (x, y) = (size.width / 2, size.height / 2);
    let region = whole.region(DisplayRect::new(x, y, 256.min(size.width - x), 256.min(size.height - y)));

    let of_whole = median(|| decode(&bytes, &whole, None))?;
    for (name, index) in [("without an index", None), ("with an index", Some(&index))] {
        let of_region = median(|| decode(&bytes, &region, index))?;
        println!(
            "{name}: {:.1} % of the whole picture's time",
            100.0 * of_region.as_secs_f64() / of_whole.as_secs_f64()
        );
    }
    Ok(())
}

fn decode(bytes: &[u8], options: &DecodeOptions, index: Option<&CodestreamIndex>) -> Result<(), Error> {
    let codestream = Codestream::parse(bytes, &options.limits)?;
    let plan = DecodePlan::new(&codestream, options)?;
    let plan = match index {
        Some(index) => plan.with_index(index)?,
        None => plan,
    };
    cpu::decode(&plan).map(drop)
}

/// The median time of 15 runs.
fn median(mut run: impl FnMut() -> Result<(), Error>) -> Result<Duration, Error> {
    let mut times = Vec::new();
    for _ in 0..15 {
        let start = Instant::now();
        run()?;
        times.push(start.elapsed());
    }
    times.sort();
    Ok(times[7])
}
