//! Random valid JPEG files, and what every backend is held to over them.
//!
//! A file follows from a seed and an index: sizes, components, sampling, scans, tables, restarts, contents and markers
//! are all random, and all valid. Its coefficients are known, so that entropy decoding is checked against what was
//! written, and reconstruction against libjpeg-turbo if the feature `libjpeg-turbo` is on.

mod check;
mod content;
mod device;
mod file;
mod frame;
mod golden;
mod huffman;
mod recipe;
mod report;
mod requests;
mod run;
mod scan;
mod symbols;
mod tally;
#[cfg(feature = "libjpeg-turbo")]
mod turbo;

use std::sync::Arc;

use isopel_core::{CodingProcess, DecodeOptions, FormatRequest, PixelFormat, Size};

pub use check::Failure;
pub use device::{Expected, check_on};
pub use golden::{LIST, write_golden};
pub use report::{Device, NAMES, Report, devices};
pub use run::{Check, keep, run};
pub use tally::Tally;

use crate::random::Random;
use content::Plane;
use recipe::Recipe;

/// Pixels of the largest file.
pub const MAX_PIXELS: u64 = 4_000_000;

/// A file, what was put into it, and what to ask of decoders.
pub struct Generated {
    /// Where it comes from.
    pub seed: u64,
    /// Which of the seed's files it is.
    pub index: u64,
    /// The file.
    pub jpeg: Arc<[u8]>,
    /// Options to decode it with: the default ones, and some random ones.
    pub requests: Vec<DecodeOptions>,
    max_pixels: u64,
    recipe: Recipe,
    planes: Vec<Plane>,
}

impl Generated {
    /// File number `index` of a seed: the same everywhere. It has at most `max_pixels` pixels; those of files that exceed
    /// it are halved until they don't.
    pub fn new(seed: u64, index: u64, max_pixels: u64) -> Self {
        // The generator's states of two indices must not follow each other.
        let mut random = Random::for_name(seed, &format!("file {index}"));
        let recipe = Recipe::new(max_pixels, &mut random);
        let plane = |(component, &content)| Plane::fill(content, recipe.frame.padded_blocks(component), &mut random);
        let planes: Vec<Plane> = recipe.contents.iter().enumerate().map(plane).collect();
        let jpeg = file::write(&recipe, &planes, &mut random).into();
        let requests = requests::requests(&recipe, &mut random);
        Generated { seed, index, jpeg, requests, max_pixels, recipe, planes }
    }

    /// In a line, what it is.
    pub fn describe(&self) -> String {
        self.recipe.to_string()
    }

    /// The command that makes and checks this file again.
    pub fn command(&self) -> String {
        let Generated { seed, index, max_pixels, .. } = self;
        format!("conformance generated --seed {seed} --first {index} --count 1 --max-pixels {max_pixels}")
    }

    /// Width and height in pixels, as stored.
    pub fn size(&self) -> Size {
        self.recipe.frame.size
    }

    /// Whether it is progressive.
    pub fn is_progressive(&self) -> bool {
        self.recipe.frame.process == CodingProcess::Progressive
    }

    /// Whether a scan has restart markers.
    pub fn has_restarts(&self) -> bool {
        self.recipe.scans.iter().any(|scan| {
            let (across, down) = self.recipe.frame.scan_mcus(&scan.components);
            (1..across * down).contains(&scan.restart_interval.into())
        })
    }

    /// The format that comes closest to the file and that decoders give it in.
    fn own_format(&self) -> FormatRequest {
        if self.recipe.frame.is_integral() { FormatRequest::Source } else { PixelFormat::ComponentPlanes.into() }
    }
}

#[cfg(test)]
mod tests;
