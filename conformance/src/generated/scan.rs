//! Which scans a picture is sent in, and with which parameters.

use std::ops::RangeInclusive;

use isopel_core::CodingProcess;

use super::frame::Frame;
use super::huffman::Style;
use crate::random::Random;

/// A scan header's contents, and how its data is coded.
#[derive(Debug, Clone)]
pub(crate) struct Scan {
    /// Indices into the frame's components, ascending.
    pub(crate) components: Vec<usize>,
    /// Ss and Se.
    pub(crate) band: (u8, u8),
    /// Ah.
    pub(crate) high: u8,
    /// Al.
    pub(crate) low: u8,
    /// Ri.
    pub(crate) restart_interval: u16,
    /// Tdj of each of its components.
    pub(crate) dc_selectors: Vec<u8>,
    /// Taj of each of its components.
    pub(crate) ac_selectors: Vec<u8>,
    /// How its tables are made.
    pub(crate) style: Style,
    /// Blocks that one code ends at most.
    pub(crate) max_eob_run: u16,
}

/// The most blocks in an interleaved MCU (T.81 B.2.3).
const MAX_BLOCKS: u32 = 10;

/// What is sent of which components: band, Ah and Al.
type Part = (Vec<usize>, (u8, u8), u8, u8);

/// All scans of a frame, in any of the orders there are.
pub(crate) fn scans(frame: &Frame, random: &mut Random) -> Vec<Scan> {
    let parts = match frame.process {
        CodingProcess::Progressive => progression(frame, random),
        _ => groups(frame, random).into_iter().map(|group| (group, (0, 63), 0, 0)).collect(),
    };
    let selectors = if frame.process == CodingProcess::Baseline { 2 } else { 4 };
    let (spread, restarts) = (random.below(4), random.below(4));
    let interval = random_interval(frame, &[0], random);
    let style = random.choose(&Style::ALL);
    let finish = |(components, band, high, low): Part| {
        let mut select = || -> Vec<u8> {
            let selector = |&component: &usize| match spread {
                0 => 0,
                1 => u8::from(component > 0),
                2 => (component % selectors) as u8,
                _ => random.below(selectors) as u8,
            };
            components.iter().map(selector).collect()
        };
        let (dc_selectors, ac_selectors) = (select(), select());
        Scan {
            restart_interval: match restarts {
                0 | 1 => 0,
                2 => interval,
                _ => random_interval(frame, &components, random),
            },
            style: if random.one_in(3) { random.choose(&Style::ALL) } else { style },
            max_eob_run: random.choose(&[1, 2, 5, 100, 0x7FFF, 0x7FFF]),
            components,
            band,
            high,
            low,
            dc_selectors,
            ac_selectors,
        }
    };
    parts.into_iter().map(finish).collect()
}

/// None, single MCUs, rows of them, or any number, also more than there are.
fn random_interval(frame: &Frame, components: &[usize], random: &mut Random) -> u16 {
    let (across, down) = frame.scan_mcus(components);
    let interval = match random.below(7) {
        0 => 0,
        1 => 1,
        2 => across,
        3 => across * random.within(1..=down),
        4 => across.div_ceil(2),
        5 => random.within(1..=across * down + 3),
        _ => 0xFFFF - random.within(0..=3),
    };
    interval.min(0xFFFF) as u16
}

/// The components in scans of one or several, in any order.
fn groups(frame: &Frame, random: &mut Random) -> Vec<Vec<usize>> {
    let all: Vec<usize> = (0..frame.components.len()).collect();
    if frame.blocks_per_mcu(&all) <= MAX_BLOCKS && !random.one_in(3) {
        return vec![all];
    }
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for component in all {
        let place = random.below(groups.len() + 1);
        let with_it = groups.get(place).map(|group| [group.as_slice(), &[component]].concat());
        match with_it.filter(|group| frame.blocks_per_mcu(group) <= MAX_BLOCKS) {
            Some(group) => groups[place] = group,
            None => groups.push(vec![component]),
        }
    }
    random.shuffle(&mut groups);
    groups
}

/// Scans of a progressive picture: first DC of all components, then everything else in any order in which each bit comes
/// after those above it. Some pictures stop early.
fn progression(frame: &Frame, random: &mut Random) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut queues: Vec<Vec<Part>> = Vec::new();
    let dc_low = random_low(random);
    for group in groups(frame, random) {
        parts.push((group.clone(), (0, 0), 0, dc_low));
        queues.push(refinements(dc_low).map(|low| (group.clone(), (0, 0), low + 1, low)).collect());
    }
    for component in 0..frame.components.len() {
        let low = random_low(random);
        let first = bands(1..=63, random).into_iter().map(|band| (band, 0, low));
        let mut queue: Vec<_> = first.collect();
        for low in refinements(low) {
            queue.extend(bands(1..=63, random).into_iter().map(|band| (band, low + 1, low)));
        }
        queues.push(queue.into_iter().map(|(band, high, low)| (vec![component], band, high, low)).collect());
    }
    queues.iter_mut().for_each(|queue| queue.reverse());
    let first = parts.len();
    loop {
        queues.retain(|queue| !queue.is_empty());
        if queues.is_empty() {
            break;
        }
        let next = random.below(queues.len());
        parts.extend(queues[next].pop());
    }
    if random.one_in(6) {
        parts.truncate(first + random.below(parts.len() - first + 1));
    }
    parts
}

/// Bits that are left for later.
fn random_low(random: &mut Random) -> u8 {
    if random.one_in(12) { random.within(4..=10) as u8 } else { random.below(4) as u8 }
}

/// Al of the scans after the first.
fn refinements(low: u8) -> impl Iterator<Item = u8> {
    (0..low).rev()
}

/// A range of coefficients in bands, in any order.
fn bands(range: RangeInclusive<u8>, random: &mut Random) -> Vec<(u8, u8)> {
    let cuts = if random.one_in(20) { random.below(20) } else { random.below(3) };
    let mut starts: Vec<u8> =
        (0..cuts).map(|_| random.within(u32::from(*range.start())..=u32::from(*range.end())) as u8).collect();
    starts.push(*range.start());
    starts.sort_unstable();
    starts.dedup();
    let ends = starts[1..].iter().map(|start| start - 1).chain([*range.end()]);
    let mut bands: Vec<(u8, u8)> = starts.iter().copied().zip(ends).collect();
    random.shuffle(&mut bands);
    bands
}
