//! Images that go through the kernels together, in one launch of each: what is uploaded, and where everything lies.

use std::sync::Arc;

use isopel_core::subsequences::symbol_slots;

use super::layout::{
    self, CANDIDATES, CANDIDATES_BYTES, Component, GROUP, Group, Output, PHASES, Scan, Segment, Words,
};
use super::prepare::{StagedImage, idct_group_count, tile_count};
use super::tables::ScanTables;

/// One image of a wave.
pub(super) struct Member<'i> {
    pub(super) image: &'i StagedImage,
    /// Where its data begins in the wave's.
    pub(super) first_byte: usize,
    /// Device address of its target.
    pub(super) target: u64,
}

/// How the states between subsequences are found, see `isopel_core::subsequences`. Both come to the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Synchronisation {
    /// Little work, one step after the other.
    #[default]
    Rounds,
    /// Several times the work, in few steps. Not for scans whose tables tell many blocks apart: these make it rounds.
    Candidates,
}

impl Synchronisation {
    /// What is faster for so many bytes of data: few leave threads to spare.
    pub(super) fn for_data(bytes: usize) -> Self {
        if bytes <= MAX_CANDIDATES_DATA { Self::Candidates } else { Self::Rounds }
    }
}

/// What is known of a wave before it has memory.
#[derive(Debug, Default)]
pub(super) struct Wave {
    entries: Vec<u16>,
    scans: Vec<Scan>,
    segments: Vec<Segment>,
    groups: Vec<Group>,
    recounted: Vec<u32>,
    components: Vec<Component>,
    /// Of each component, where its symbols begin in the data, if they are uploaded; its headers are then too.
    uploaded_symbols: Vec<Option<u64>>,
    idct_groups: Vec<u32>,
    quant: Vec<u32>,
    outputs: Vec<Output>,
    tiles: Vec<u32>,
    flags: Vec<u32>,
    synchronisation: Synchronisation,
    subsequence_bytes: u32,
    subsequences: usize,
    headers: usize,
    plane_bytes: usize,
}

/// Blocks of threads of each kernel.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grids {
    pub(super) groups: u32,
    pub(super) synchronisation: Synchronisation,
    pub(super) scans: u32,
    pub(super) recounted: u32,
    pub(super) idct: u32,
    pub(super) tiles: u32,
}

/// Where the parts of a wave lie, in bytes from the start of its device memory. The data comes first.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places {
    /// What [`Wave::write_descriptions`] writes, in its order.
    descriptions: [usize; 11],
    records: usize,
    totals: usize,
    prefixes: usize,
    candidates: usize,
    group_links: usize,
    headers: usize,
    symbols: usize,
    planes: usize,
    /// All of it.
    pub(super) len: usize,
}

impl Places {
    /// First byte of the descriptions.
    pub(super) fn descriptions(&self) -> usize {
        self.descriptions[0]
    }

    /// First byte of the flags, the last of the descriptions.
    pub(super) fn flags(&self) -> usize {
        self.descriptions[10]
    }
}

/// Parts begin at multiples of this.
const ALIGNMENT: usize = 256;
/// Bytes of data up to which a wave is synchronised by candidates. With more, a device has no threads to spare.
pub(super) const MAX_CANDIDATES_DATA: usize = 2 << 20;

impl Wave {
    /// Describes images; what the wave held before is gone, but for its memory: making room anew for every wave takes
    /// longer than filling it.
    pub(super) fn fill(mut self, members: &[Member], synchronisation: Synchronisation) -> Self {
        self.clear();
        let mut wave = self;
        wave.synchronisation = synchronisation;
        // With the first of their entries.
        let mut tables: Vec<(&Arc<ScanTables>, u32)> = Vec::new();
        for (index, member) in members.iter().enumerate() {
            let (image, index) = (member.image, index as u32);
            wave.subsequence_bytes = image.staged.subsequence_bytes;
            for (staged, own) in image.staged.scans.iter().zip(&image.scans) {
                let known = tables.iter().find(|(known, _)| Arc::ptr_eq(known, &own.tables));
                let first_entry = known.map(|&(_, first_entry)| first_entry).unwrap_or_else(|| {
                    let first_entry = wave.entries.len() as u32;
                    wave.entries.extend_from_slice(&own.tables.entries);
                    tables.push((&own.tables, first_entry));
                    first_entry
                });
                let mut scan = Scan { image: index, first_entry, ..own.scan };
                scan.blocks.iter_mut().for_each(|block| block.first_header += wave.headers as u32);
                wave.add_scan(scan, staged, (member.first_byte + staged.data.start) as u32 / 4);
            }
            wave.add_pixels(member, index);
            wave.headers += image.header_count;
            wave.plane_bytes += image.plane_bytes;
            wave.flags.push(0);
        }
        wave
    }

    fn clear(&mut self) {
        self.entries.clear();
        self.scans.clear();
        self.segments.clear();
        self.groups.clear();
        self.recounted.clear();
        self.components.clear();
        self.uploaded_symbols.clear();
        self.idct_groups.clear();
        self.quant.clear();
        self.outputs.clear();
        self.tiles.clear();
        self.flags.clear();
        (self.subsequences, self.headers, self.plane_bytes) = (0, 0, 0);
    }

    fn add_scan(&mut self, mut scan: Scan, staged: &isopel_core::subsequences::StagedScan, first_word: u32) {
        let (first_segment, first_subsequence) = (self.segments.len() as u32, self.subsequences as u32);
        self.segments.extend(staged.segments.iter().map(|segment| Segment {
            first_word: first_word + segment.first_word,
            bits: segment.bits,
            first_subsequence: first_subsequence + segment.first_subsequence,
            first_block: segment.first_block,
            blocks: segment.blocks,
        }));
        let count = staged.segment_of.len();
        scan.first_group = self.groups.len() as u32;
        scan.groups = count.div_ceil(GROUP) as u32;
        if scan.period as usize > PHASES {
            self.synchronisation = Synchronisation::Rounds;
        }
        if scan.period < scan.blocks_per_mcu {
            self.recounted.extend(scan.first_group..scan.first_group + scan.groups);
        }
        for (first, of_group) in (0..).step_by(GROUP).zip(staged.segment_of.chunks(GROUP)) {
            self.groups.push(Group {
                scan: self.scans.len() as u32,
                first_subsequence: first_subsequence + first,
                count: of_group.len() as u32,
                first_segment: first_segment + of_group[0],
                last_segment: first_segment + of_group[of_group.len() - 1],
            });
        }
        self.subsequences += count;
        self.scans.push(scan);
    }

    fn add_pixels(&mut self, member: &Member, index: u32) {
        let first_component = self.components.len() as u32;
        let symbols = member.image.first_symbol_byte.map(|byte| (member.first_byte + byte) as u64);
        // Headers that are uploaded begin with the image's data, at a multiple of their size.
        let first_header = if symbols.is_some() { member.first_byte / 8 } else { self.headers };
        for component in &member.image.components {
            self.uploaded_symbols.push(symbols);
            let placed = Component {
                headers: component.headers + first_header as u64,
                plane: component.plane + self.plane_bytes as u64,
                first_group: self.idct_groups.len() as u32,
                quant: component.quant + self.quant.len() as u32,
                image: index,
                ..*component
            };
            self.idct_groups.extend(std::iter::repeat_n(self.components.len() as u32, idct_group_count(component)));
            self.components.push(placed);
        }
        self.quant.extend_from_slice(&member.image.quant);
        for output in &member.image.outputs {
            let placed = Output {
                target: member.target + output.target,
                first_tile: self.tiles.len() as u32,
                component: first_component + output.component,
                image: index,
                ..*output
            };
            self.tiles.extend(std::iter::repeat_n(self.outputs.len() as u32, tile_count(output) as usize));
            self.outputs.push(placed);
        }
    }

    pub(super) fn grids(&self) -> Grids {
        Grids {
            groups: self.groups.len() as u32,
            synchronisation: self.synchronisation,
            scans: self.scans.len() as u32,
            recounted: self.recounted.len() as u32,
            idct: self.idct_groups.len() as u32,
            tiles: self.tiles.len() as u32,
        }
    }

    /// Lays the wave out behind `data_len` bytes of data.
    pub(super) fn place(&self, data_len: usize) -> Places {
        let mut end = data_len;
        let mut place = |len: usize| {
            let start = end.next_multiple_of(ALIGNMENT);
            end = start + len.max(4);
            start
        };
        let descriptions = self.descriptions().map(|bytes| place(bytes.len()));
        let slots = symbol_slots(self.subsequence_bytes) as usize;
        let records = place(16 * self.subsequences);
        let [totals, prefixes] = [(); 2].map(|()| place(16 * self.groups.len()));
        let (candidates, group_links) = match self.synchronisation {
            Synchronisation::Rounds => (0, 0),
            Synchronisation::Candidates => {
                (place(CANDIDATES_BYTES * self.subsequences), place(CANDIDATES * self.groups.len()))
            }
        };
        let headers = place(8 * self.headers);
        let symbols = place(4 * slots * self.subsequences);
        let planes = place(self.plane_bytes);
        Places { descriptions, records, totals, prefixes, candidates, group_links, headers, symbols, planes, len: end }
    }

    /// Tells where the wave's memory is; gives the kernels' parameter.
    pub(super) fn set_address(&mut self, places: &Places, address: u64) -> layout::Wave {
        let at = |offset: usize| address + offset as u64;
        for (component, uploaded) in self.components.iter_mut().zip(&self.uploaded_symbols) {
            let (headers, symbols) = match *uploaded {
                Some(symbols) => (address, address + symbols),
                None => (at(places.headers), at(places.symbols)),
            };
            component.headers = headers + 8 * component.headers;
            component.symbols = symbols;
            component.plane += at(places.planes);
        }
        let [entries, scans, segments, groups, recounted, components, idct_groups, quant, outputs, tiles, flags] =
            places.descriptions.map(at);
        layout::Wave {
            data: address,
            entries,
            scans,
            segments,
            groups,
            recounted,
            records: at(places.records),
            totals: at(places.totals),
            prefixes: at(places.prefixes),
            candidates: at(places.candidates),
            group_links: at(places.group_links),
            headers: at(places.headers),
            symbols: at(places.symbols),
            flags,
            components,
            idct_groups,
            quant,
            outputs,
            tiles,
            subsequence_bytes: self.subsequence_bytes,
            group_count: self.groups.len() as u32,
            scan_count: self.scans.len() as u32,
            image_count: self.flags.len() as u32,
        }
    }

    /// What is uploaded beside the data, in the order of their places.
    fn descriptions(&self) -> [&[u8]; 11] {
        fn bytes<T: Words>(items: &[T]) -> &[u8] {
            layout::bytes_of(items)
        }
        [
            bytes(&self.entries),
            bytes(&self.scans),
            bytes(&self.segments),
            bytes(&self.groups),
            bytes(&self.recounted),
            bytes(&self.components),
            bytes(&self.idct_groups),
            bytes(&self.quant),
            bytes(&self.outputs),
            bytes(&self.tiles),
            bytes(&self.flags),
        ]
    }

    /// Writes the descriptions as they are to lie from [`Places::descriptions`] on.
    pub(super) fn write_descriptions(&self, out: &mut [u8]) {
        let mut end: usize = 0;
        for bytes in self.descriptions() {
            // Places are multiples of the alignment, as is the first.
            let start = end.next_multiple_of(ALIGNMENT);
            out[start..start + bytes.len()].copy_from_slice(bytes);
            end = start + bytes.len().max(4);
        }
    }

    /// Bytes of the flags.
    pub(super) fn flags_len(&self) -> usize {
        4 * self.flags.len()
    }
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod on_host;

#[cfg(test)]
mod tests {
    use isopel_core::{Codestream, DecodeOptions, DecodePlan, PackedCoefficients, pack_coefficients};

    use super::super::tables::KnownTables;
    use super::*;

    fn sample(name: &str) -> Vec<u8> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../samples/");
        std::fs::read(format!("{folder}{name}")).unwrap()
    }

    fn staged(name: &str, known: &KnownTables) -> StagedImage {
        let bytes = sample(name);
        let options = DecodeOptions::default();
        let codestream = Codestream::parse(&bytes, &options.limits).unwrap();
        let plan = DecodePlan::new(&codestream, &options).unwrap();
        let mut data = vec![0; bytes.len() * 2];
        StagedImage::new(&plan, plan.layout(), 128, &mut data, known).unwrap()
    }

    #[test]
    fn images_follow_each_other_without_meeting() {
        let known = KnownTables::default();
        let images = ["photo.jpg", "cmyk.jpg", "restart.jpg", "photo.jpg"].map(|name| staged(name, &known));
        let members: Vec<Member> = images
            .iter()
            .enumerate()
            .map(|(index, image)| Member { image, first_byte: index << 20, target: (index as u64) << 32 })
            .collect();
        let mut wave = Wave::default().fill(&members, Synchronisation::Candidates);
        let places = wave.place(4 << 20);
        let parameter = wave.set_address(&places, 1 << 40);
        assert_eq!((wave.flags_len(), wave.scans.len()), (16, 4));
        // The same tables are there once.
        assert_eq!(wave.scans[0].first_entry, wave.scans[3].first_entry);
        assert_ne!(wave.scans[0].first_entry, wave.scans[1].first_entry);
        // CMYK's four components share their tables.
        let cmyk = &wave.scans[1];
        assert_eq!(wave.recounted, (cmyk.first_group..cmyk.first_group + cmyk.groups).collect::<Vec<_>>());
        assert_eq!(wave.segments[0].first_word, 0);
        let restart = &wave.groups[wave.scans[2].first_group as usize];
        assert_eq!(wave.segments[restart.first_segment as usize].first_word, (2 << 20) / 4);
        for pair in wave.groups.windows(2) {
            assert_eq!(pair[0].first_subsequence + pair[0].count, pair[1].first_subsequence);
        }
        for pair in wave.components.windows(2) {
            let blocks = u64::from(pair[0].block_columns) * u64::from(pair[0].block_rows);
            assert_eq!(pair[0].headers + 8 * blocks, pair[1].headers);
            assert!(pair[0].plane + 64 * blocks <= pair[1].plane);
        }
        let last = wave.outputs.last().unwrap();
        assert_eq!(last.first_tile + tile_count(last), wave.grids().tiles);
        assert_eq!(last.target, 3 << 32);
        assert!(parameter.tiles < parameter.flags && parameter.flags < parameter.records);
        assert_eq!(parameter.flags, (1 << 40) + places.flags() as u64);
        let end = wave.components.last().map(|last| last.plane + 64 * u64::from(last.block_columns * last.block_rows));
        assert!(end.unwrap() <= (1 << 40) + places.len as u64);
    }

    /// Coefficients of the CPU's beside images that are decoded whole.
    #[test]
    fn uploaded_coefficients_are_where_components_say() {
        let bytes = sample("progressive.jpg");
        let options = DecodeOptions::default();
        let codestream = Codestream::parse(&bytes, &options.limits).unwrap();
        let plan = DecodePlan::new(&codestream, &options).unwrap();
        let mut packed = PackedCoefficients::default();
        let found = pack_coefficients(&plan, &mut packed).unwrap();
        let mut data = vec![0xEE; StagedImage::packed_len(&packed)];
        let image = StagedImage::from_packed(&plan, plan.layout(), &packed, found, &mut data).unwrap();
        let photo = staged("photo.jpg", &KnownTables::default());
        let (first_byte, address) = (1 << 20, 1 << 40);
        let members =
            [Member { image: &photo, first_byte: 0, target: 0 }, Member { image: &image, first_byte, target: 0 }];
        let mut wave = Wave::default().fill(&members, Synchronisation::Candidates);
        let places = wave.place(first_byte + data.len());
        wave.set_address(&places, address);
        assert_eq!(wave.headers, photo.header_count, "only those that kernels write have room");
        assert_eq!(wave.components[0].headers, address + places.headers as u64);
        let words: Vec<u32> = data.chunks_exact(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap())).collect();
        let word_at = |address_of: u64| (address_of - address - first_byte as u64) as usize / 4;
        let mut blocks = 0;
        for (component, window) in wave.components[photo.components.len()..].iter().zip(packed.windows()) {
            let symbols = word_at(component.symbols);
            for block in 0..window.count() {
                let header = packed.headers()[window.first_header + block];
                let place = word_at(component.headers) + 2 * block;
                let (first, count) = (words[place] as usize, words[place + 1] as usize);
                assert_eq!((first, count), ((header >> 7) as usize, (header & 127) as usize));
                assert_eq!(words[symbols + first..][..count], packed.symbols()[first..][..count]);
                blocks += 1;
            }
        }
        assert_eq!(blocks, packed.headers().len());
        assert_eq!(wave.grids().scans, 1, "no scan of the second image is left to the kernels");
    }

    #[test]
    fn descriptions_lie_where_the_parameter_says() {
        let images = ["photo.jpg", "gray.jpg"].map(|name| staged(name, &KnownTables::default()));
        let members: Vec<Member> = images.iter().map(|image| Member { image, first_byte: 0, target: 7 }).collect();
        let mut wave = Wave::default().fill(&members, Synchronisation::Candidates);
        let places = wave.place(1000);
        let parameter = wave.set_address(&places, 0);
        let mut bytes = vec![0xEE; places.flags() + wave.flags_len() - places.descriptions()];
        wave.write_descriptions(&mut bytes);
        let at = |address: u64, len: usize| &bytes[address as usize - places.descriptions()..][..len];
        assert_eq!(at(parameter.quant, 4 * wave.quant.len()), layout::bytes_of(&wave.quant));
        assert_eq!(at(parameter.outputs, 8), 7u64.to_ne_bytes());
        assert_eq!(at(parameter.flags, 8), [0; 8]);
    }
}
