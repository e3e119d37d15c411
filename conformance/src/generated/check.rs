//! What a file is checked for on the CPU.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use isopel_core::cpu::{self, CpuBackend};
use isopel_core::subsequences::{self, Flags};
use isopel_core::{
    Codestream, CodestreamIndex, DecodeOptions, DecodePlan, Error, Image, OrientationPolicy, PackedCoefficients,
    PixelFormat, Region, Scale, ZIGZAG, decode_coefficients, pack_coefficients,
};

use super::Generated;
use super::tally::Tally;
use crate::backends::on_cpu;
use crate::compare::compare_outcomes;
use crate::naive::Picture;
use crate::random::Random;

/// Pixels from which several threads share a picture.
const SHARED_PIXELS: u64 = 256 << 10;

/// A file that is not decoded as it should be.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The file's index.
    pub index: u64,
    /// What it is, and what was wrong.
    pub message: String,
    /// The file.
    pub jpeg: Arc<[u8]>,
}

impl Generated {
    /// This file as one that is not decoded as it should be.
    pub(super) fn failure(&self, message: &str) -> Failure {
        let message = format!("{}: {message}\n  repeated by: {}", self.describe(), self.command());
        Failure { index: self.index, message, jpeg: self.jpeg.clone() }
    }

    /// Checks the CPU: coefficients are those that were written, pixels are libjpeg-turbo's if that is built in, a
    /// region is a part of the whole, and several threads, an index and subsequences change nothing. `threads` are those
    /// that share a picture.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check_on_cpu(&self, threads: &CpuBackend) -> Result<Tally, Failure> {
        let mut tally = Tally::default();
        let checked = catch_unwind(AssertUnwindSafe(|| self.check(threads, &mut tally)));
        checked.unwrap_or_else(|_| Err("a panic".into())).map_err(|message| self.failure(&message))?;
        Ok(tally)
    }

    fn check(&self, threads: &CpuBackend, tally: &mut Tally) -> Result<(), String> {
        let in_words = |error: Error| format!("{} ({error})", error.code());
        let options = DecodeOptions::default();
        let codestream = Codestream::parse(&self.jpeg, &options.limits).map_err(in_words)?;
        let planes = DecodePlan::new(&codestream, &options.format(PixelFormat::ComponentPlanes)).map_err(in_words)?;
        let image = cpu::decode(&planes).map_err(in_words)?;
        if !image.report.warnings.is_empty() || image.report.valid_rows != self.size().height {
            return Err(format!("a valid file gives warnings: {:?}", image.report.warnings));
        }
        if codestream.is_complete() {
            self.check_coefficients(&planes)?;
            tally.count("cpu: files whose coefficients are those written");
        }
        self.check_pixels(tally)?;
        let index = CodestreamIndex::build(&codestream);
        let one_scan = !self.is_progressive() && self.recipe.scans.len() == 1;
        if index.is_some() != one_scan {
            return Err(format!("{} index of {} scans", if one_scan { "no" } else { "an" }, codestream.scans().len()));
        }
        let stored = index.map(|index| index.to_bytes());
        let index = stored.map(|bytes| CodestreamIndex::from_bytes(&bytes).expect("made by to_bytes"));
        for (number, options) in self.requests.iter().enumerate() {
            let with_request = |message: String| format!("{message}, with {options:?}");
            let exact = on_cpu(&self.jpeg, options);
            let image = match &exact {
                Ok(image) => image,
                // Pixels of components that don't divide the others can't be had.
                Err(error) if error.code() == "unsupported-sampling" && !self.recipe.frame.is_integral() => {
                    tally.count("cpu: requests refused, as they should be");
                    continue;
                }
                Err(error) => return Err(with_request(format!("{} ({error})", error.code()))),
            };
            let plan = DecodePlan::new(&codestream, options).map_err(in_words)?;
            tally.count("cpu: requests");
            self.check_crop(image, options, tally).map_err(with_request)?;
            check_threads(&plan, image, number, threads, tally).map_err(with_request)?;
            if let Some(index) = &index {
                let indexed = cpu::decode(&plan.clone().with_index(index).map_err(|error| error.to_string())?);
                let outcome = compare_outcomes(&exact, &indexed);
                outcome.map_err(|error| with_request(format!("with an index: {error}")))?;
                tally.count("cpu: requests, with an index");
            }
            if options.scale == Scale::Full {
                self.check_subsequences(&plan, tally).map_err(with_request)?;
            }
        }
        Ok(())
    }

    /// The coefficients of all blocks but those that fill up MCUs.
    fn check_coefficients(&self, plan: &DecodePlan) -> Result<(), String> {
        let mut wrong = None;
        let result = decode_coefficients(plan, |mcus| {
            for (component, plane) in self.planes.iter().enumerate() {
                let (columns, rows) = self.recipe.frame.blocks(component);
                let rows_per_mcu = u32::from(self.recipe.frame.components[component].sampling.1);
                let first = mcus.index() * rows_per_mcu;
                for (row, column) in (first..rows.min(first + rows_per_mcu))
                    .flat_map(|row| (0..columns).map(move |column| (row, column)))
                {
                    let (found, written) = (mcus.block(component, row, column), plane.block(column, row));
                    let equal = (0..64).all(|zigzag| found[usize::from(ZIGZAG[zigzag])] == written[zigzag]);
                    if !equal && wrong.is_none() {
                        wrong = Some(format!(
                            "block {column} of row {row} of component {component} was written as {written:?} (zigzag), \
                             but is read as {found:?} (natural order)"
                        ));
                    }
                }
            }
        });
        result.map_err(|error| error.to_string())?;
        wrong.map_or(Ok(()), Err)
    }

    /// Pixels at all scales, against libjpeg-turbo if it is there.
    fn check_pixels(&self, tally: &mut Tally) -> Result<(), String> {
        if !self.recipe.frame.is_integral() {
            return Ok(());
        }
        let options = DecodeOptions::default().format(self.own_format()).orientation(OrientationPolicy::Ignore);
        for scale in Scale::ALL {
            let image = on_cpu(&self.jpeg, &options.scale(scale)).map_err(|error| error.to_string())?;
            if cfg!(feature = "libjpeg-turbo") {
                #[cfg(feature = "libjpeg-turbo")]
                super::turbo::compare(&self.jpeg, &image).map_err(|error| format!("at {scale}, {error}"))?;
                tally.count(format!("libjpeg-turbo: files equal, at {scale}"));
                tally.add("libjpeg-turbo: bytes of pixels equal", image.pixels.len() as u64);
            }
        }
        Ok(())
    }

    /// A region and an orientation of the whole picture as stored, made pixel by pixel.
    fn check_crop(&self, image: &Image, options: &DecodeOptions, tally: &mut Tally) -> Result<(), String> {
        // What a region of planes with different sampling is has tests of its own.
        if image.report.layout.format() == PixelFormat::ComponentPlanes {
            return Ok(());
        }
        let whole = options.region(Region::Full).orientation(OrientationPolicy::Ignore);
        let stored = on_cpu(&self.jpeg, &whole).map_err(|error| error.to_string())?;
        let exif = image.report.orientation.to_exif();
        let expected: Vec<Picture> = Picture::planes(&stored)
            .into_iter()
            .map(|plane| match options.region {
                Region::Full => plane.shown_with(exif),
                Region::Stored(rect) => plane.crop(rect.rect()).shown_with(exif),
                Region::Display(rect) => plane.shown_with(exif).crop(rect.rect()),
            })
            .collect();
        if Picture::planes(image) != expected {
            return Err("the region is no part of the whole".into());
        }
        tally.count("cpu: requests, equal to a crop of the whole");
        Ok(())
    }

    /// The reference of the GPU backends' entropy decoding.
    fn check_subsequences(&self, plan: &DecodePlan, tally: &mut Tally) -> Result<(), String> {
        let bytes = [16, 32, 64, 128][(self.index % 4) as usize];
        let Ok(decoded) = subsequences::decode(plan, bytes) else {
            tally.count("cpu: requests, not fit for subsequences");
            return Ok(());
        };
        if decoded.flags != Flags::default() {
            tally.count("cpu: requests, in subsequences, flagged");
            return Ok(());
        }
        let mut serial = PackedCoefficients::default();
        pack_coefficients(plan, &mut serial).map_err(|error| error.to_string())?;
        if let Some(at) = decoded.first_difference(&serial) {
            return Err(format!("subsequences of {bytes} bytes: block {at} differs"));
        }
        tally.count("cpu: requests, in subsequences");
        Ok(())
    }
}

/// Several threads against one: in any number of pieces whatever the size, and as large pictures are shared.
fn check_threads(
    plan: &DecodePlan,
    image: &Image,
    number: usize,
    threads: &CpuBackend,
    tally: &mut Tally,
) -> Result<(), String> {
    let mut random = Random::new(plan.codestream().bytes().len() as u64 + number as u64);
    let rows = random.within(1..=40) as usize;
    // Short pieces may not join; two of them more often do.
    let counts = [random.within(3..=9) as usize, 2];
    let in_pieces = |&count: &usize| {
        let decoded = threads.install(|| cpu::decode_in_pieces(plan, count, rows)).transpose();
        decoded.map(|decoded| (count, decoded))
    };
    match counts.iter().find_map(in_pieces) {
        Some((_, Ok(parallel))) if parallel == *image => {
            let restarts = plan.codestream().scans()[0].restart_interval > 0;
            tally.count(if restarts { "cpu: requests, in parts between restarts" } else { "cpu: requests, in pieces" });
        }
        // Several scans or planes, a region, or pieces that don't join.
        None => tally.count("cpu: requests, not for pieces"),
        Some((count, Ok(_))) => return Err(format!("{count} pieces, bands of {rows} rows: not the same")),
        Some((count, Err(error))) => return Err(format!("{count} pieces, bands of {rows} rows: {error}")),
    }
    match threads.install(|| cpu::decode_parallel(plan)) {
        Ok(parallel) if parallel == *image => {
            let large = plan.file_pixels() >= SHARED_PIXELS && plan.layout().planes().len() == 1;
            tally.add("cpu: requests, several threads, large enough to be shared", u64::from(large));
        }
        Ok(_) => return Err("several threads: not the same".into()),
        Err(error) => return Err(format!("several threads: {error}")),
    }
    Ok(())
}
