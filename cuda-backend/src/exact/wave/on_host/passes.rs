//! The entropy kernels, pass by pass and array by array, beside the model of them in `isopel_core::subsequences`.

use isopel_conformance::corpus;
use isopel_conformance::random::{self, Random};
use isopel_conformance::writer::Baseline;
use isopel_core::Size;
use isopel_core::subsequences::{GROUP, Model, Record, StagedScan};

use super::*;

/// Behind the state in a record's last word.
const STARTS_SEGMENT: u32 = 1 << 31;

type File = (String, Vec<u8>);

/// Blocks and sums as kernels hold them.
fn packed(record: &Record) -> [u32; 3] {
    let pair = |part: usize| u32::from(record.dc[part] as u16) | u32::from(record.dc[part + 1] as u16) << 16;
    [record.blocks, pair(0), pair(2)]
}

/// What lies in two records, one behind the other.
fn sum(left: &Record, right: &Record) -> Record {
    let dc = std::array::from_fn(|part| left.dc[part].wrapping_add(right.dc[part]));
    Record { blocks: left.blocks + right.blocks, dc }
}

/// One scan as the model has it, and where the kernels have it.
struct Passes<'w> {
    model: Model<'w>,
    image: &'w StagedImage,
    scan: &'w StagedScan,
    states: Vec<u32>,
    records: Vec<Record>,
    prefixes: Vec<Record>,
    flags: u32,
    /// Of the wave: its image, its first subsequence and group, and its image's first header.
    image_index: usize,
    first_subsequence: usize,
    first_group: usize,
    first_header: usize,
    what: String,
}

impl<'w> Passes<'w> {
    fn of_all(files: &[File], images: &'w [HostImage], plans: &'w [DecodePlan]) -> Vec<Self> {
        let mut all = Vec::new();
        let (mut first_subsequence, mut first_group, mut first_header) = (0, 0, 0);
        for (image_index, (HostImage { image, data, .. }, plan)) in images.iter().zip(plans).enumerate() {
            for scan in &image.staged.scans {
                all.push(Passes {
                    model: Model::new(plan, &image.staged, scan, data),
                    image,
                    scan,
                    states: Vec::new(),
                    records: Vec::new(),
                    prefixes: Vec::new(),
                    flags: 0,
                    image_index,
                    first_subsequence,
                    first_group,
                    first_header,
                    what: format!("{}, {} bytes", files[image_index].0, image.staged.subsequence_bytes),
                });
                first_subsequence += scan.segment_of.len();
                first_group += scan.segment_of.len().div_ceil(GROUP);
            }
            first_header += image.header_count;
        }
        all
    }

    /// Compares what a kernel has left, and goes the model's step of the same name. Once there is a flag, what follows
    /// has no meaning.
    fn follow(&mut self, launch: &str, wave: &HostWave) {
        let what = format!("{} after {launch}", self.what);
        match launch {
            _ if self.flags != 0 => (),
            "synchronise" => {
                (self.states, self.records) = self.model.synchronise();
                self.compare_records(wave, &what);
            }
            "join_groups" => {
                self.flags |= self.model.join_groups(&mut self.states, &mut self.records).0;
                if self.flags == 0 {
                    self.compare_records(wave, &what);
                }
            }
            "guess_candidates" | "follow_candidates" | "link_groups" => (),
            "choose_records" => {
                let flags;
                (self.states, self.records, flags) = self.model.link_candidates();
                self.flags |= flags.0;
                if self.flags == 0 {
                    self.compare_records(wave, &what);
                    self.compare_totals(wave, &what);
                }
            }
            "sum_groups" | "sum_groups, again" => self.compare_totals(wave, &what),
            "scan_totals" | "scan_totals, again" => {
                self.prefixes = self.model.scan(&self.records);
                self.compare_prefixes(wave, &what);
            }
            "recount" => {
                if self.model.needs_recount() {
                    self.model.recount(&self.states, &self.prefixes, &mut self.records);
                }
                self.compare_records(wave, &what);
            }
            "write_symbols" => self.compare_symbols(wave, &what),
            _ => panic!("nothing to compare {launch} with"),
        }
    }

    fn starts_segment(&self, subsequence: usize) -> bool {
        subsequence == 0 || self.scan.segment_of[subsequence] != self.scan.segment_of[subsequence - 1]
    }

    fn groups(&self) -> usize {
        self.records.len().div_ceil(GROUP)
    }

    fn compare_records(&self, wave: &HostWave, what: &str) {
        let first = wave.parameter.records + 16 * self.first_subsequence as u64;
        for (index, [x, y, z, w]) in wave.words::<4>(first, self.states.len()).into_iter().enumerate() {
            let start = if self.starts_segment(index) { STARTS_SEGMENT } else { 0 };
            let expected = (packed(&self.records[index]), self.states[index] | start);
            assert_eq!(([x, y, z], w), expected, "{what}: subsequence {index}");
        }
    }

    /// Each group's blocks and differences behind its last start of a segment.
    fn compare_totals(&self, wave: &HostWave, what: &str) {
        let first = wave.parameter.totals + 16 * self.first_group as u64;
        for (group, [x, y, z, w]) in wave.words::<4>(first, self.groups()).into_iter().enumerate() {
            let (mut total, mut start) = (Record::default(), 0);
            for index in group * GROUP..((group + 1) * GROUP).min(self.records.len()) {
                if self.starts_segment(index) {
                    (total, start) = (Record::default(), STARTS_SEGMENT);
                }
                total = sum(&total, &self.records[index]);
            }
            assert_eq!(([x, y, z], w & STARTS_SEGMENT), (packed(&total), start), "{what}: group {group}");
        }
    }

    fn compare_prefixes(&self, wave: &HostWave, what: &str) {
        let first = wave.parameter.prefixes + 16 * self.first_group as u64;
        for (group, [x, y, z, _]) in wave.words::<4>(first, self.groups()).into_iter().enumerate() {
            // What lies before a start of a segment is of no use.
            if !self.starts_segment(group * GROUP) {
                assert_eq!([x, y, z], packed(&self.prefixes[group * GROUP]), "{what}: group {group}");
            }
        }
    }

    fn compare_symbols(&mut self, wave: &HostWave, what: &str) {
        let slots = symbol_slots(self.image.staged.subsequence_bytes) as usize;
        let (mut headers, mut symbols) = (vec![0; self.image.header_count], vec![0; slots * self.states.len()]);
        self.flags |= self.model.write(&self.states, &self.prefixes, &mut headers, &mut symbols).0;
        if self.flags != 0 {
            return;
        }
        let in_scan = |component| self.scan.blocks.iter().any(|block| block.component == component);
        for (component, window) in self.image.staged.windows.iter().enumerate().filter(|&(index, _)| in_scan(index)) {
            let first = wave.parameter.headers + 8 * (self.first_header + window.first_header) as u64;
            for (index, [at, count]) in wave.words::<2>(first, window.count()).into_iter().enumerate() {
                let place = format!("{what}: component {component}, block {index}");
                let expected = headers[window.first_header + index];
                let own = at.wrapping_sub((slots * self.first_subsequence) as u32);
                assert_eq!((own, count), (expected >> 7, expected & 127), "{place}");
                let found: Vec<u32> =
                    wave.words::<1>(wave.parameter.symbols + 4 * u64::from(at), count as usize).concat();
                assert_eq!(found, symbols[own as usize..][..count as usize], "{place}");
            }
        }
    }
}

/// Runs the entropy kernels on files as one wave, and compares what each leaves with the model; tells how many files
/// have no flag.
fn compare(
    files: &[File],
    options: &DecodeOptions,
    synchronisation: Synchronisation,
    subsequence_bytes: u32,
    order: Order,
) -> usize {
    let stage = |(name, jpeg): &File| {
        HostImage::staged(jpeg, options, subsequence_bytes).unwrap_or_else(|| panic!("{name} is not for the kernels"))
    };
    let images: Vec<HostImage> = files.iter().map(stage).collect();
    let codestreams: Vec<Codestream> =
        files.iter().map(|(_, jpeg)| Codestream::parse(jpeg, &options.limits).expect("it was staged")).collect();
    let plan = |codestream| DecodePlan::new(codestream, options).expect("it was staged");
    let plans: Vec<DecodePlan> = codestreams.iter().map(plan).collect();
    let mut wave = HostWave::new(&images, synchronisation, 0, order);
    let mut scans = Passes::of_all(files, &images, &plans);
    for launch in Kernels::decoding(&wave.wave.grids()) {
        if launch.name != "dequant_idct" {
            wave.run(launch);
            scans.iter_mut().for_each(|scan| scan.follow(launch.name, &wave));
        }
    }
    let flags = wave.flags();
    for (image, (&found, (name, _))) in flags.iter().zip(files).enumerate() {
        let of_image = scans.iter().filter(|scan| scan.image_index == image);
        let expected = of_image.fold(0, |flags, scan| flags | scan.flags);
        assert_eq!(found, expected, "{name}: flags");
    }
    flags.iter().filter(|&&flags| flags == 0).count()
}

fn samples() -> Vec<File> {
    let names = ["photo.jpg", "gray.jpg", "restart.jpg", "portrait-exif6.jpg", "cmyk.jpg"];
    let read = |name: &str| corpus::read(&corpus::root().join("samples").join(name)).expect("it is in the samples");
    names.iter().map(|name| (name.to_string(), read(name))).collect()
}

/// Components that share tables: blocks of an MCU can't be told apart before they are counted.
fn with_shared_tables() -> Vec<File> {
    let mut random = Random::new(random::seed(45));
    let samplings = [&[(1, 1); 3][..], &[(2, 2), (1, 1), (1, 1)], &[(1, 1); 4]];
    let mut file = |(step, sampling): (usize, &&[(u8, u8)])| {
        let size = Size { width: 150 + 100 * step as u32, height: 90 };
        let jpeg = Baseline { size, sampling, quantizer: 3 }.write(|_, _, _, block| {
            block[0] = random.below(300) as i16 - 150;
            (0..random.below(9)).for_each(|_| block[1 + random.below(63)] = random.below(201) as i16 - 100);
        });
        (format!("generated {step}"), jpeg)
    };
    samplings.iter().enumerate().map(&mut file).collect()
}

#[test]
fn every_pass_is_the_models() {
    let files = [samples(), with_shared_tables()].concat();
    let options = DecodeOptions::default();
    for (subsequence_bytes, order) in [(32, Order::Backwards), (64, Order::Shuffled(5)), (128, Order::Forwards)] {
        for synchronisation in [Synchronisation::Rounds, Synchronisation::Candidates] {
            assert_eq!(compare(&files, &options, synchronisation, subsequence_bytes, order), files.len());
        }
    }
}
