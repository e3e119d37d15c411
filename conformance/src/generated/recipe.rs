//! What a picture is made of, all of it random.

use std::fmt;

use isopel_core::{CodingProcess, Orientation, Size};

use super::content::Content;
use super::frame::{Component, Frame};
use super::scan::{Scan, scans};
use crate::random::Random;

/// Pixels above which a picture has contents that are quickly coded.
const LARGE: u64 = 700_000;

/// Everything about a picture but its coefficients.
#[derive(Debug, Clone)]
pub(crate) struct Recipe {
    pub(crate) frame: Frame,
    pub(crate) scans: Vec<Scan>,
    /// Of each component.
    pub(crate) contents: Vec<Content>,
    pub(crate) markers: Markers,
}

/// What there is besides tables, frame and scans.
#[derive(Debug, Clone)]
pub(crate) struct Markers {
    pub(crate) jfif: bool,
    pub(crate) adobe_transform: Option<u8>,
    pub(crate) exif: Option<Exif>,
    pub(crate) comment: bool,
    /// Quantisation tables before the frame header, and not just before the scan that needs them.
    pub(crate) early_tables: bool,
    /// Several Huffman tables in a segment.
    pub(crate) joined_tables: bool,
    /// Tables are only sent where they differ from what was sent before.
    pub(crate) repeat_tables: bool,
    /// Annex K's tables go without saying.
    pub(crate) lent_tables: bool,
    /// FF bytes before each marker.
    pub(crate) fill: usize,
    /// Tables of 16 bits even if 8 would do.
    pub(crate) wide_quantizers: bool,
}

/// An orientation, and the byte order of what holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exif {
    pub(crate) orientation: Orientation,
    pub(crate) big_endian: bool,
}

impl Recipe {
    /// The recipe that follows from these random numbers. Its picture has at most `max_pixels` pixels.
    pub(crate) fn new(max_pixels: u64, random: &mut Random) -> Recipe {
        let process = random.choose(&[
            CodingProcess::Baseline,
            CodingProcess::Baseline,
            CodingProcess::ExtendedSequential,
            CodingProcess::Progressive,
        ]);
        let size = random_size(max_pixels, random);
        let count = random.choose(&[1, 3, 3, 3, 3, 4]);
        let samplings = random_samplings(count, random);
        let ids = random_ids(count, random);
        let (tables, selectors) = random_quantizers(process, count, random);
        let component = |index: usize| Component {
            id: ids[index],
            sampling: samplings[index],
            quant_selector: selectors[index],
            quant_table: tables[index],
        };
        let mut frame = Frame { process, size, components: (0..count).map(component).collect() };
        let mut scans = scans(&frame, random);
        if process != CodingProcess::Progressive && scans.iter().all(|scan| scan.components.len() == 1) {
            redefine_quantizers(&mut frame, random);
        }
        let alike = random.choose(&Content::ALL);
        let content = |_| match if random.one_in(3) { random.choose(&Content::ALL) } else { alike } {
            Content::Noise | Content::Extreme if size.pixels() > LARGE => Content::Photo,
            content => content,
        };
        let contents = (0..count).map(content).collect();
        let markers = Markers::new(&frame, random);
        if markers.lent_tables {
            scans.iter_mut().for_each(|scan| scan.style = super::huffman::Style::Typical);
        }
        Recipe { frame, scans, contents, markers }
    }
}

impl Markers {
    fn new(frame: &Frame, random: &mut Random) -> Self {
        let (jfif, adobe_transform) = match frame.components.len() {
            1 => (!random.one_in(3), None),
            3 => random.choose(&[
                (true, None),
                (true, None),
                (false, None),
                (false, Some(0)),
                (false, Some(1)),
                (true, Some(1)),
                (true, Some(0)),
            ]),
            _ => random.choose(&[(false, None), (false, Some(0)), (false, Some(2)), (true, Some(2))]),
        };
        let exif = random
            .one_in(3)
            .then(|| Exif { orientation: random.choose(&Orientation::ALL), big_endian: random.one_in(2) });
        let sequential = frame.process != CodingProcess::Progressive;
        Markers {
            jfif,
            adobe_transform,
            exif,
            comment: random.one_in(10),
            early_tables: random.one_in(2),
            joined_tables: random.one_in(2),
            repeat_tables: random.one_in(2),
            lent_tables: sequential && random.one_in(25),
            fill: if random.one_in(30) { 1 + random.below(3) } else { 0 },
            wide_quantizers: frame.process != CodingProcess::Baseline && random.one_in(4),
        }
    }
}

/// Mostly small, sometimes narrow, rarely some megapixels.
fn random_size(max_pixels: u64, random: &mut Random) -> Size {
    let largest = match random.below(1000) {
        0..450 => 40,
        450..750 => 120,
        750..930 => 320,
        930..980 => 700,
        980..996 => 1100,
        _ => 2400,
    };
    let (mut width, mut height) = (random.within(1..=largest), random.within(1..=largest));
    match random.below(20) {
        0 => (width, height) = (width * 8, random.within(1..=17)),
        1 => (width, height) = (random.within(1..=17), height * 8),
        // Whole MCUs of any sampling.
        2 => (width, height) = (width.next_multiple_of(32), height.next_multiple_of(32)),
        _ => {}
    }
    while u64::from(width) * u64::from(height) > max_pixels {
        (width, height) = (width.div_ceil(2), height.div_ceil(2));
    }
    Size::new(width, height)
}

fn random_samplings(count: usize, random: &mut Random) -> Vec<(u8, u8)> {
    let usual = random.choose(&[(1, 1), (2, 1), (1, 2), (2, 2), (4, 1), (1, 4), (4, 2), (2, 4)]);
    let any = |random: &mut Random| (random.within(1..=4) as u8, random.within(1..=4) as u8);
    let powers = |random: &mut Random| (1 << random.below(3), 1 << random.below(3));
    match random.below(10) {
        // Luma, and black if there is any, with more samples than chroma.
        0..5 => (0..count).map(|index| if index % 3 == 0 { usual } else { (1, 1) }).collect(),
        5 => vec![any(random); count],
        6 | 7 => (0..count).map(|_| powers(random)).collect(),
        // As 6, but by thirds as well.
        8 => (0..count).map(|_| (random.choose(&[1, 3]), random.choose(&[1, 3]))).collect(),
        _ => (0..count).map(|_| any(random)).collect(),
    }
}

fn random_ids(count: usize, random: &mut Random) -> Vec<u8> {
    match random.below(6) {
        0..4 => (1..=count as u8).collect(),
        4 => b"RGBA"[..count].to_vec(),
        _ => {
            let mut ids: Vec<u8> = (0..=255).collect();
            random.shuffle(&mut ids);
            ids.truncate(count);
            ids
        }
    }
}

/// A table for each component, and its selector; components with the same selector have the same table.
fn random_quantizers(process: CodingProcess, count: usize, random: &mut Random) -> (Vec<[u16; 64]>, Vec<u8>) {
    let largest = if process == CodingProcess::Baseline || !random.one_in(4) { 255 } else { 65_535 };
    let mut selectors: Vec<u8> = match random.below(3) {
        0 => vec![random.below(4) as u8; count],
        1 => (0..count).map(|index| u8::from(index > 0)).collect(),
        _ => (0..4).collect(),
    };
    if selectors.len() > count {
        random.shuffle(&mut selectors);
        selectors.truncate(count);
    }
    let tables: Vec<[u16; 64]> = (0..4).map(|_| random_quantizer(largest, random)).collect();
    (selectors.iter().map(|&selector| tables[usize::from(selector)]).collect(), selectors)
}

/// Gives components with one selector tables of their own, which are sent again between their scans.
fn redefine_quantizers(frame: &mut Frame, random: &mut Random) {
    let largest = if frame.process == CodingProcess::Baseline { 255 } else { 1000 };
    for component in &mut frame.components {
        component.quant_selector = random.below(2) as u8;
        component.quant_table = random_quantizer(largest, random);
    }
}

fn random_quantizer(largest: u32, random: &mut Random) -> [u16; 64] {
    let flat = random.within(1..=20);
    let steepness = random.within(0..=12);
    let kind = random.below(6);
    std::array::from_fn(|index| {
        let step = match kind {
            0 => 1,
            1 => flat,
            2 | 3 => flat + steepness * index as u32,
            4 => random.within(1..=largest),
            _ => largest,
        };
        step.min(largest) as u16
    })
}

impl fmt::Display for Recipe {
    /// In a line: process, size, samplings, scans, restarts, contents.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Size { width, height } = self.frame.size;
        write!(f, "{} {width}x{height},", self.frame.process)?;
        for component in &self.frame.components {
            write!(f, " {}x{}", component.sampling.0, component.sampling.1)?;
        }
        write!(f, ", {} scans, restarts", self.scans.len())?;
        let mut intervals: Vec<u16> = self.scans.iter().map(|scan| scan.restart_interval).collect();
        intervals.dedup();
        write!(f, " {intervals:?}, tables {:?}, {:?}", self.scans[0].style, self.contents)
    }
}
