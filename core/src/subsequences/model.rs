//! The passes in plain Rust: what every kernel must come to.

mod candidates;

use super::staging::{Irregular, StagedPlan, StagedScan};
use super::tables::LookupTable;
use super::{GROUP, symbol_slots};
use crate::entropy::PackedCoefficients;
use crate::plan::DecodePlan;

/// Decodes one scan pass by pass.
///
/// The state between two subsequences is one word: bits by which the last symbol went past the end (5) |
/// next zigzag index << 5 (6) | block of the MCU, modulo the period, << 11 (4).
pub struct Model<'s> {
    plan: &'s StagedPlan,
    scan: &'s StagedScan,
    data: &'s [u8],
    tables: Vec<LookupTable>,
}

/// What was counted in a subsequence, or before it in its segment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Record {
    /// Blocks that ended.
    pub blocks: u32,
    /// Sums of DC differences, by component of the scan.
    pub dc: [i16; 4],
}

impl Record {
    fn and(&self, next: &Record) -> Record {
        let dc = std::array::from_fn(|part| self.dc[part].wrapping_add(next.dc[part]));
        Record { blocks: self.blocks.wrapping_add(next.blocks), dc }
    }
}

/// Why an image is one for the CPU; 0 if it is right.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flags(pub u32);

impl Flags {
    /// The data does not synchronise within the groups.
    pub const UNSYNCHRONISED: u32 = 1;
    /// Bits that are no code, or a run past the end of a block.
    pub const BAD_CODE: u32 = 2;
    /// Blocks are missing.
    pub const SHORT: u32 = 4;
    /// Bytes are left over behind the last block, or it took bits that are not there.
    pub const LEFT_OVER: u32 = 8;
}

/// Where a decoder stands in a segment.
#[derive(Clone, Copy)]
struct Position {
    bit: u32,
    zigzag: u32,
    phase: u32,
}

impl Position {
    fn enter(start: u32, state: u32) -> Self {
        Position { bit: start + (state & 31), zigzag: state >> 5 & 63, phase: state >> 11 }
    }

    fn state(&self, end: u32) -> u32 {
        (self.bit - end) | self.zigzag << 5 | self.phase << 11
    }
}

/// One decoded symbol.
struct Symbol {
    /// Zigzag index of its coefficient, and the value; DC differences too.
    zigzag: u32,
    value: i16,
    ends_block: bool,
    /// Whether no right file has it.
    is_bad: bool,
}

impl<'s> Model<'s> {
    /// A model of one scan of a plan; `data` is what the plan was staged into.
    pub fn new(plan: &'s DecodePlan, staged: &'s StagedPlan, scan: &'s StagedScan, data: &'s [u8]) -> Self {
        let specs = plan.codestream().huffman_tables();
        let tables = scan.tables.iter().map(|&(class, index)| LookupTable::new(class, &specs[index])).collect();
        Model { plan: staged, scan, data: &data[scan.data.clone()], tables }
    }

    fn subsequences(&self) -> usize {
        self.scan.segment_of.len()
    }

    /// First bit and end of a subsequence in its segment.
    fn bits(&self, subsequence: usize) -> (u32, u32) {
        let segment = &self.scan.segments[self.scan.segment_of[subsequence] as usize];
        let length = self.plan.subsequence_bytes * 8;
        let start = (subsequence as u32 - segment.first_subsequence) * length;
        (start, (start + length).min(segment.bits))
    }

    fn starts_segment(&self, subsequence: usize) -> bool {
        self.bits(subsequence).0 == 0
    }

    /// The 32 bits from a place on, zeros behind the data.
    fn peek(&self, subsequence: usize, bit: u32) -> u32 {
        let segment = &self.scan.segments[self.scan.segment_of[subsequence] as usize];
        let byte = segment.first_word as usize * 4 + (bit / 8) as usize;
        let eight = std::array::from_fn(|index| self.data.get(byte + index).copied().unwrap_or(0));
        (u64::from_be_bytes(eight) << (bit % 8) >> 32) as u32
    }

    /// Decodes the symbol at a position, for a block of the MCU, and moves the position behind it.
    fn symbol(&self, subsequence: usize, position: &mut Position) -> Symbol {
        let block = &self.scan.blocks[position.phase as usize];
        let table = if position.zigzag == 0 { block.dc } else { block.ac };
        let bits = self.peek(subsequence, position.bit);
        let entry = self.tables[table].entry(bits >> 16);
        let value = match entry.size() {
            0 => 0,
            size => {
                let raw = (bits >> (32 - entry.bits()) & ((1 << size) - 1)) as i32;
                (if raw >> (size - 1) == 0 { raw + 1 - (1 << size) } else { raw }) as i16
            }
        };
        let next = position.zigzag + entry.advance();
        let zigzag = next.wrapping_sub(1) & 63;
        let is_bad = entry.advance() == 0 || next > 64 && entry.advance() != 64;
        let ends_block = next >= 64;
        position.bit += entry.bits();
        position.zigzag = if ends_block { 0 } else { next };
        if ends_block {
            position.phase = (position.phase + 1) % self.scan.period;
        }
        Symbol { zigzag, value, ends_block, is_bad }
    }

    /// Decodes a subsequence from a state: the state behind it, and what it has. `block` is the index of the block in
    /// progress in its segment if that is known.
    fn count(&self, subsequence: usize, state: u32, block: Option<u32>) -> (u32, Record) {
        let (start, end) = self.bits(subsequence);
        let mut position = Position::enter(start, state);
        let mut record = Record::default();
        while position.bit < end {
            let before = position;
            let symbol = self.symbol(subsequence, &mut position);
            let in_mcu = match block {
                Some(block) => block.wrapping_add(record.blocks) % self.scan.blocks.len() as u32,
                None => before.phase,
            };
            if before.zigzag == 0 && (block.is_some() || self.tells_blocks_apart()) {
                let sum = &mut record.dc[self.scan.blocks[in_mcu as usize].part];
                *sum = sum.wrapping_add(symbol.value);
            }
            record.blocks += u32::from(symbol.ends_block);
        }
        (position.state(end), record)
    }

    /// Whether the tables tell the blocks of an MCU apart.
    fn tells_blocks_apart(&self) -> bool {
        self.scan.period as usize == self.scan.blocks.len()
    }

    /// Groups of [`GROUP`] subsequences find the states behind each of theirs: every one is decoded as if a block began
    /// with it, then again from the state before it for as long as that changes. The first of a group begins with its
    /// guess unless a segment begins there. Where the tables do not tell the blocks of an MCU apart, DC sums are 0.
    pub fn synchronise(&self) -> (Vec<u32>, Vec<Record>) {
        let (mut states, mut records): (Vec<u32>, Vec<Record>) =
            (0..self.subsequences()).map(|subsequence| self.count(subsequence, 0, None)).unzip();
        for first in (0..self.subsequences()).step_by(GROUP) {
            let end = (first + GROUP).min(self.subsequences());
            let mut changed: Vec<usize> = (first + 1..end).filter(|&index| !self.starts_segment(index)).collect();
            while !changed.is_empty() {
                let entries: Vec<u32> = changed.iter().map(|&subsequence| states[subsequence - 1]).collect();
                let mut next = Vec::new();
                for (subsequence, entry) in changed.into_iter().zip(entries) {
                    let (state, record) = self.count(subsequence, entry, None);
                    records[subsequence] = record;
                    let goes_on = subsequence + 1 < end && !self.starts_segment(subsequence + 1);
                    if std::mem::replace(&mut states[subsequence], state) != state && goes_on {
                        next.push(subsequence + 1);
                    }
                }
                changed = next;
            }
        }
        (states, records)
    }

    /// Goes on from the end of each group into the next, for as long as that changes its states. All groups at once,
    /// from the states that they had; one that changes its last state has come too late for the next, which is flagged.
    pub fn join_groups(&self, states: &mut [u32], records: &mut [Record]) -> Flags {
        let firsts = (GROUP..self.subsequences()).step_by(GROUP);
        let entries: Vec<(usize, u32)> = firsts.map(|first| (first, states[first - 1])).collect();
        let mut flags = Flags::default();
        for (first, mut entry) in entries {
            let end = (first + GROUP).min(self.subsequences());
            for subsequence in first..end {
                if self.starts_segment(subsequence) {
                    break;
                }
                let (state, record) = self.count(subsequence, entry, None);
                records[subsequence] = record;
                if std::mem::replace(&mut states[subsequence], state) == state {
                    break;
                }
                entry = state;
                if subsequence + 1 == end && end < self.subsequences() && !self.starts_segment(end) {
                    flags.0 |= Flags::UNSYNCHRONISED;
                }
            }
        }
        flags
    }

    /// What lies before each subsequence in its segment.
    pub fn scan(&self, records: &[Record]) -> Vec<Record> {
        let mut before = Record::default();
        let mut prefixes = Vec::with_capacity(records.len());
        for (subsequence, record) in records.iter().enumerate() {
            if self.starts_segment(subsequence) {
                before = Record::default();
            }
            prefixes.push(before);
            before = before.and(record);
        }
        prefixes
    }

    /// Whether [`recount`](Self::recount) and a second [`scan`](Self::scan) are needed.
    pub fn needs_recount(&self) -> bool {
        !self.tells_blocks_apart()
    }

    /// Sums of DC differences once the number of blocks before each subsequence is known.
    pub fn recount(&self, states: &[u32], prefixes: &[Record], records: &mut [Record]) {
        for (subsequence, before) in prefixes.iter().enumerate() {
            let entry = self.entry_state(subsequence, states);
            records[subsequence] = self.count(subsequence, entry, Some(before.blocks)).1;
        }
    }

    fn entry_state(&self, subsequence: usize, states: &[u32]) -> u32 {
        if self.starts_segment(subsequence) { 0 } else { states[subsequence - 1] }
    }

    /// Writes the blocks that start in each subsequence: headers (first symbol << 7 | number of symbols) and symbols
    /// (value << 16 | zigzag index). Symbols of a subsequence start at its index times [`symbol_slots`].
    pub fn write(&self, states: &[u32], prefixes: &[Record], headers: &mut [u32], symbols: &mut [u32]) -> Flags {
        let mut flags = 0;
        for (subsequence, before) in prefixes.iter().enumerate() {
            flags |= self.write_subsequence(subsequence, states, before, headers, symbols);
        }
        Flags(flags)
    }

    fn write_subsequence(
        &self,
        subsequence: usize,
        states: &[u32],
        before: &Record,
        headers: &mut [u32],
        symbols: &mut [u32],
    ) -> u32 {
        let segment = &self.scan.segments[self.scan.segment_of[subsequence] as usize];
        let (start, end) = self.bits(subsequence);
        let mut position = Position::enter(start, self.entry_state(subsequence, states));
        let mut block = before.blocks;
        let mut predictions = before.dc;
        let mut flags = 0;
        let mut next_slot = subsequence * symbol_slots(self.plan.subsequence_bytes) as usize;
        let mut first_slot = next_slot;
        // A block that began earlier is written from there.
        let mut is_own = position.zigzag == 0;
        let mut left = position.bit >= end;
        // The last block that starts here is followed past the end.
        while block < segment.blocks && (!left || is_own && position.zigzag != 0) {
            let before = position;
            let symbol = self.symbol(subsequence, &mut position);
            if symbol.is_bad {
                // Nothing that follows makes it right. Also, symbols might need more slots than there are.
                flags |= Flags::BAD_CODE;
                break;
            }
            let mut value = symbol.value;
            if before.zigzag == 0 {
                is_own = true;
                first_slot = next_slot;
                let in_mcu = (block % self.scan.blocks.len() as u32) as usize;
                let prediction = &mut predictions[self.scan.blocks[in_mcu].part];
                *prediction = prediction.wrapping_add(value);
                value = *prediction;
            }
            if is_own && value != 0 {
                symbols[next_slot] = u32::from(value as u16) << 16 | symbol.zigzag;
                next_slot += 1;
            }
            if symbol.ends_block {
                if is_own {
                    let count = (next_slot - first_slot) as u32;
                    self.place_block(segment.first_block + block, (first_slot as u32) << 7 | count, headers);
                }
                block += 1;
                if block == segment.blocks && segment.bits.wrapping_sub(position.bit) >= 8 {
                    flags |= Flags::LEFT_OVER;
                }
            }
            if !left && position.bit >= end {
                left = true;
                if block < segment.blocks && position.state(end) != states[subsequence] {
                    flags |= Flags::UNSYNCHRONISED;
                }
            }
        }
        if end == segment.bits && block < segment.blocks {
            flags |= Flags::SHORT;
        }
        flags
    }

    /// Keeps a block's header if its window has the block.
    fn place_block(&self, index: u32, header: u32, headers: &mut [u32]) {
        let blocks = self.scan.blocks.len() as u32;
        let (mcu, block) = (index / blocks, &self.scan.blocks[(index % blocks) as usize]);
        let (mcu_row, mcu_column) = (mcu / self.scan.mcus_across, mcu % self.scan.mcus_across);
        let window = &self.plan.windows[block.component];
        let row = (mcu_row * block.rows + block.row).wrapping_sub(window.first_row);
        let column = (mcu_column * block.columns + block.column).wrapping_sub(window.first_column);
        if row < window.rows && column < window.columns {
            headers[window.first_header + (row * window.columns + column) as usize] = header;
        }
    }
}

/// What a scan's symbols and a plan's headers came to.
pub struct Decoded {
    /// Per scan, its symbols: slots that were not used are 0.
    pub symbols: Vec<Vec<u32>>,
    /// Per block of the plan's windows.
    pub headers: Vec<u32>,
    /// Of all scans.
    pub flags: Flags,
    /// Which scan each component is in; `None` if the plan does not need it.
    scan_of: Vec<Option<usize>>,
}

impl Decoded {
    /// The index of the first header whose block is not what the serial decoder found; `None` if all are.
    pub fn first_difference(&self, serial: &PackedCoefficients) -> Option<usize> {
        // Blocks of several scans are packed in natural order, so both are sorted.
        let block = |symbols: &[u32], header: u32| {
            let mut symbols = symbols[(header >> 7) as usize..][..(header & 127) as usize].to_vec();
            symbols.sort_by_key(|symbol| symbol & 63);
            symbols
        };
        let windows = serial.windows().iter().zip(&self.scan_of);
        let mut headers = windows.flat_map(|(window, &scan)| {
            (window.first_header..window.first_header + window.count()).map(move |header| (header, scan))
        });
        let differs = |&(index, scan): &(usize, Option<usize>)| {
            let here = scan.map(|scan| block(&self.symbols[scan], self.headers[index]));
            here != Some(block(serial.symbols(), serial.headers()[index]))
        };
        headers.find(differs).map(|(index, _)| index)
    }
}

/// Decodes a plan pass by pass, with subsequences of `subsequence_bytes` bytes.
///
/// # Errors
/// [`Irregular`] says why the plan is one for the CPU.
pub fn decode(plan: &DecodePlan, subsequence_bytes: u32) -> Result<Decoded, Irregular> {
    let mut data = vec![0; StagedPlan::max_data_len(plan)];
    let staged = StagedPlan::stage(plan, subsequence_bytes, &mut data)?;
    let blocks = staged.windows.iter().map(|window| window.count()).sum();
    let has = |scan: &StagedScan, component| scan.blocks.iter().any(|block| block.component == component);
    let scan_of = |component| staged.scans.iter().position(|scan| has(scan, component));
    let mut decoded = Decoded {
        symbols: Vec::new(),
        headers: vec![0; blocks],
        flags: Flags::default(),
        scan_of: (0..staged.windows.len()).map(scan_of).collect(),
    };
    for scan in &staged.scans {
        let model = Model::new(plan, &staged, scan, &data);
        let (mut states, mut records) = model.synchronise();
        decoded.flags.0 |= model.join_groups(&mut states, &mut records).0;
        let mut prefixes = model.scan(&records);
        if model.needs_recount() {
            model.recount(&states, &prefixes, &mut records);
            prefixes = model.scan(&records);
        }
        let mut symbols = vec![0; scan.segment_of.len() * symbol_slots(subsequence_bytes) as usize];
        let flags = model.write(&states, &prefixes, &mut decoded.headers, &mut symbols);
        decoded.flags.0 |= flags.0;
        decoded.symbols.push(symbols);
    }
    Ok(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::pack_coefficients;
    use crate::geometry::StoredRect;
    use crate::limits::Limits;
    use crate::{Codestream, DecodeOptions};

    pub(super) fn sample(name: &str) -> Vec<u8> {
        std::fs::read(format!("{}/../samples/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
    }

    fn with_plan<T>(bytes: &[u8], options: &DecodeOptions, then: impl FnOnce(&DecodePlan) -> T) -> T {
        let codestream = Codestream::parse(bytes, &Limits::default()).unwrap();
        then(&DecodePlan::new(&codestream, options).unwrap())
    }

    /// A model of a file's first scan.
    pub(super) fn with_model<T>(bytes: &[u8], subsequence_bytes: u32, then: impl FnOnce(&Model) -> T) -> T {
        with_plan(bytes, &DecodeOptions::default(), |plan| {
            let mut data = vec![0; StagedPlan::max_data_len(plan)];
            let staged = StagedPlan::stage(plan, subsequence_bytes, &mut data).unwrap();
            then(&Model::new(plan, &staged, &staged.scans[0], &data))
        })
    }

    /// Whether a file of one scan gives the symbols that the serial decoder gives; `None` if it is flagged.
    fn equals_serial(bytes: &[u8], options: &DecodeOptions, subsequence_bytes: u32) -> Option<bool> {
        with_plan(bytes, options, |plan| {
            let decoded = decode(plan, subsequence_bytes).ok().filter(|decoded| decoded.flags == Flags::default())?;
            let mut serial = PackedCoefficients::default();
            pack_coefficients(plan, &mut serial).unwrap();
            Some(decoded.first_difference(&serial).is_none())
        })
    }

    #[test]
    fn equals_the_serial_decoder() {
        for name in ["photo.jpg", "gray.jpg", "restart.jpg", "portrait-exif6.jpg", "cmyk.jpg"] {
            for subsequence_bytes in [16, 32, 128, 1024] {
                let equals = equals_serial(&sample(name), &DecodeOptions::default(), subsequence_bytes);
                assert_eq!(equals, Some(true), "{name}, {subsequence_bytes} bytes");
            }
        }
    }

    #[test]
    fn regions_have_the_blocks_of_their_windows() {
        let region = StoredRect::new(100, 90, 75, 33);
        for name in ["photo.jpg", "restart.jpg"] {
            assert_eq!(
                equals_serial(&sample(name), &DecodeOptions::default().region(region), 64),
                Some(true),
                "{name}"
            );
        }
    }

    #[test]
    fn segments_below_the_region_are_not_staged() {
        let region = StoredRect::new(0, 0, 20, 20);
        let staged_len = |options: &DecodeOptions| {
            with_plan(&sample("restart.jpg"), options, |plan| {
                StagedPlan::stage(plan, 128, &mut vec![0; StagedPlan::max_data_len(plan)]).unwrap().data_len
            })
        };
        let (part, whole) =
            (staged_len(&DecodeOptions::default().region(region)), staged_len(&DecodeOptions::default()));
        assert!(part * 4 < whole, "{part} of {whole}");
    }

    #[test]
    fn blocks_are_told_apart_where_the_tables_differ() {
        let recounts = |name: &str| {
            with_plan(&sample(name), &DecodeOptions::default(), |plan| {
                let mut data = vec![0; StagedPlan::max_data_len(plan)];
                let staged = StagedPlan::stage(plan, 128, &mut data).unwrap();
                let model = Model::new(plan, &staged, &staged.scans[0], &data);
                (staged.scans[0].period as usize, staged.scans[0].blocks.len(), model.needs_recount())
            })
        };
        assert_eq!(recounts("photo.jpg"), (6, 6, false));
        assert_eq!(recounts("gray.jpg"), (1, 1, false));
        assert_eq!(recounts("cmyk.jpg"), (1, 4, true));
    }

    #[test]
    fn damage_is_flagged() {
        let flags = |bytes: &[u8]| {
            with_plan(bytes, &DecodeOptions::default(), |plan| decode(plan, 32).map(|decoded| decoded.flags.0))
        };
        assert_eq!(flags(&sample("truncated.jpg")).unwrap() & Flags::SHORT, Flags::SHORT);
        let photo = sample("photo.jpg");
        let end = photo.len() - 2;
        let longer = [&photo[..end], &[0x55; 9], &photo[end..]].concat();
        assert_eq!(flags(&longer), Ok(Flags::LEFT_OVER));
        assert_eq!(flags(&sample("progressive.jpg")), Err(Irregular::Progressive));
        let restart = sample("restart.jpg");
        let marker = restart.windows(2).position(|pair| pair == [0xFF, 0xD1]).unwrap();
        let mut wrong = restart.clone();
        wrong[marker + 1] = 0xD3;
        assert_eq!(flags(&wrong), Err(Irregular::Restart { offset: marker }));
        wrong[marker + 1] = 0xFF;
        assert_eq!(flags(&wrong), Err(Irregular::Fill { offset: marker }));
    }

    /// Damage may leave data that is as right as any other; what matters is that nothing wrong goes without a flag.
    #[test]
    fn damaged_data_is_flagged_or_what_the_serial_decoder_makes_of_it() {
        let photo = sample("photo.jpg");
        let mut flagged = 0;
        for step in 0..60 {
            let mut damaged = photo.clone();
            let place = 2000 + step * 131;
            damaged[place] ^= 1 << (step % 8);
            match equals_serial(&damaged, &DecodeOptions::default(), 64) {
                Some(equal) => assert!(equal, "byte {place}"),
                None => flagged += 1,
            }
        }
        assert!((1..60).contains(&flagged), "{flagged} flagged");
    }
}
