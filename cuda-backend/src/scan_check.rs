//! Whether a scan's codes are whole, without decoding a coefficient: the engines report success for damaged files too.
//!
//! Step: beside the engines. Input: a codestream whose one scan is sequential. Output: whether every code is in its
//! table, every restart interval ends where its data ends, and no coefficient is out of the range that an encoder of
//! 8-bit samples can produce, beyond which decoders wrap and clamp differently.
//!
//! Only lengths matter, so one lookup skips up to two symbols with their extra bits.

use std::cell::RefCell;

use isopel_core::{Codestream, HuffmanSpec, QuantTable};

use crate::canonical::natural;

/// Codes up to this length, with what follows them, are looked up at once.
const LOOKUP_BITS: u32 = 11;
/// Bytes behind the data that may be read: more than one block takes.
const PADDING: usize = 64 * 4 + 16;
/// Extra bits of an AC symbol below which no coefficient is out of range with quantizer steps up to 255.
const SMALL: u32 = 6;
/// The largest magnitude of a dequantised coefficient: 8 times the largest sample difference, 128, and then 8.
const RANGE: u32 = 8 * 1024;

/// Whether the only scan of a sequential file is sound. All components are in it, all steps are below 256.
pub(crate) fn is_sound(codestream: &Codestream) -> bool {
    thread_local!(static MEMORY: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) });
    MEMORY.with_borrow_mut(|memory| check(codestream, memory))
}

/// How many blocks of which component follow each other in an MCU, and with what they are decoded.
struct BlockRun<'t> {
    blocks: u32,
    dc: &'t DcTable,
    ac: &'t AcTable,
    quant: &'t QuantTable,
    predictor: i32,
}

fn check(codestream: &Codestream, memory: &mut Vec<u8>) -> bool {
    let frame = codestream.frame();
    let [scan] = codestream.scans() else { return false };
    let specs = codestream.huffman_tables();
    let mut dc_tables: Vec<(usize, DcTable)> = Vec::new();
    let mut ac_tables: Vec<(usize, AcTable)> = Vec::new();
    for part in &scan.components {
        let (Some(dc), Some(ac)) = (part.dc_table, part.ac_table) else { return false };
        if !dc_tables.iter().any(|(index, _)| *index == dc) {
            dc_tables.push((dc, DcTable::new(&specs[dc])));
        }
        if !ac_tables.iter().any(|(index, _)| *index == ac) {
            ac_tables.push((ac, AcTable::new(&specs[ac])));
        }
    }
    let mut runs = Vec::new();
    for part in &scan.components {
        let sampling = frame.components[part.component].sampling;
        let blocks =
            if scan.is_interleaved() { u32::from(sampling.horizontal) * u32::from(sampling.vertical) } else { 1 };
        let dc = dc_tables.iter().find(|(index, _)| Some(*index) == part.dc_table);
        let ac = ac_tables.iter().find(|(index, _)| Some(*index) == part.ac_table);
        let (Some((_, dc)), Some((_, ac)), Some(quant)) = (dc, ac, codestream.quant_table(part.component)) else {
            return false;
        };
        runs.push(BlockRun { blocks, dc, ac, quant, predictor: 0 });
    }
    let mut mcus = scan.mcus(frame).pixels();
    let per_segment = match u64::from(scan.restart_interval) {
        0 => u64::MAX,
        interval => interval,
    };
    for segment in codestream.restart_index(scan).segments {
        let Some(bits) = without_stuffing(&codestream.bytes()[segment], memory) else { return false };
        let count = mcus.min(per_segment);
        if count == 0 || !check_segment(memory, bits, count, &mut runs) {
            return false;
        }
        mcus -= count;
    }
    mcus == 0
}

/// Copies data without the zero bytes that follow FF, and pads it. Gives its length in bits, or `None` if there is
/// another marker in it.
fn without_stuffing(data: &[u8], memory: &mut Vec<u8>) -> Option<usize> {
    memory.clear();
    memory.reserve(data.len() + PADDING);
    let mut rest = data;
    while let Some(position) = memchr::memchr(0xFF, rest) {
        if rest.get(position + 1) != Some(&0) {
            return None;
        }
        memory.extend_from_slice(&rest[..=position]);
        rest = &rest[position + 2..];
    }
    memory.extend_from_slice(rest);
    let bits = memory.len() * 8;
    memory.resize(memory.len() + PADDING, 0);
    Some(bits)
}

fn check_segment(data: &[u8], bits: usize, mcus: u64, runs: &mut [BlockRun]) -> bool {
    let mut reader = Bits { data, next: 0, buffer: 0, count: 0 };
    runs.iter_mut().for_each(|run| run.predictor = 0);
    for _ in 0..mcus {
        for run in &mut *runs {
            for _ in 0..run.blocks {
                // One block can't read past the padding.
                if reader.position() > bits || !check_block(&mut reader, run) {
                    return false;
                }
            }
        }
    }
    // Only the padding of the last byte may be left.
    let position = reader.position();
    position <= bits && bits - position < 8
}

/// Most significant bit first.
struct Bits<'d> {
    data: &'d [u8],
    next: usize,
    /// The next bits are the highest; those below `count` are not valid yet, or are repeated by the next refill.
    buffer: u64,
    count: u32,
}

impl Bits<'_> {
    /// At least 56 valid bits.
    #[inline(always)]
    fn refill(&mut self) {
        let bytes = self.data.get(self.next..self.next + 8).map_or([0; 8], |bytes| bytes.try_into().unwrap_or([0; 8]));
        self.buffer |= u64::from_be_bytes(bytes) >> self.count;
        self.next += ((63 - self.count) >> 3) as usize;
        self.count |= 56;
    }

    #[inline(always)]
    fn peek(&self, bits: u32) -> u32 {
        (self.buffer >> 32 >> (32 - bits)) as u32
    }

    #[inline(always)]
    fn skip(&mut self, bits: u32) {
        self.buffer <<= bits;
        self.count -= bits;
    }

    fn position(&self) -> usize {
        self.next * 8 - self.count as usize
    }
}

#[inline]
fn check_block(reader: &mut Bits, run: &mut BlockRun) -> bool {
    reader.refill();
    let entry = run.dc.lookup[reader.peek(LOOKUP_BITS) as usize];
    let (code, size) = match entry {
        (0, _) => match run.dc.codes.decode(reader.peek(16)) {
            Some((length, size)) => (length, u32::from(size)),
            None => return false,
        },
        (length, size) => (u32::from(length), u32::from(size)),
    };
    if size > 11 {
        return false;
    }
    reader.skip(code);
    if size > 0 {
        let value = reader.peek(size) as i32;
        // T.81 F.2.2.1, EXTEND.
        run.predictor += if value < 1 << (size - 1) { value - (1 << size) + 1 } else { value };
        reader.skip(size);
    }
    let step = u32::from(run.quant.values[0]);
    if run.predictor.unsigned_abs().saturating_mul(step) > RANGE + step {
        return false;
    }
    let mut k = 1;
    while k < 64 {
        reader.refill();
        let entry = run.ac.lookup[reader.peek(LOOKUP_BITS) as usize];
        if entry.bits == 0 {
            let Some(advance) = check_one_symbol(reader, run, k) else { return false };
            k += advance;
        } else if k + u32::from(entry.first_advance) < 64 {
            reader.skip(u32::from(entry.bits));
            k += u32::from(entry.advance);
        } else {
            reader.skip(u32::from(entry.first_bits));
            k += u32::from(entry.first_advance);
        }
    }
    // Either an end of block, or exactly the last coefficient.
    k == 64 || k >= END
}

/// What an end of block adds to the zigzag index.
const END: u32 = 128;

/// Symbols with long codes, large coefficients, or no meaning. Gives what it adds to the zigzag index.
#[cold]
fn check_one_symbol(reader: &mut Bits, run: &BlockRun, k: u32) -> Option<u32> {
    let (length, symbol) = run.ac.codes.decode(reader.peek(16))?;
    let (zeros, size) = (u32::from(symbol >> 4), u32::from(symbol & 15));
    let advance = match (zeros, size) {
        (0, 0) => END,
        (15, 0) => 16,
        (_, 0) => return None,
        _ => {
            let index = k + zeros;
            if index > 63 || size > 10 {
                return None;
            }
            let step = u32::from(run.quant.values[natural(index as usize)]);
            if (1 << (size - 1)) * step > RANGE + step {
                return None;
            }
            zeros + 1
        }
    };
    reader.skip(length + size);
    Some(advance)
}

/// Canonical Huffman codes of all lengths (T.81 C.2 and F.2.2.3).
struct Codes {
    /// Per length from 1: the first code that is longer, in 16 bits; and what to add to a code for its symbol's index.
    limits: [(u32, i32); 16],
    symbols: Vec<u8>,
}

impl Codes {
    fn new(spec: &HuffmanSpec) -> Self {
        let (mut code, mut index) = (0i32, 0i32);
        let limits = std::array::from_fn(|length| {
            let count = i32::from(spec.counts[length]);
            let offset = index - code;
            code += count;
            index += count;
            let limit = (code as u32) << (15 - length);
            code <<= 1;
            (limit, offset)
        });
        Codes { limits, symbols: spec.symbols.clone() }
    }

    /// The length and symbol of the code that these 16 bits begin with.
    fn decode(&self, bits: u32) -> Option<(u32, u8)> {
        let length = self.limits.iter().position(|&(limit, _)| bits < limit)?;
        let index = (bits >> (15 - length)) as i32 + self.limits[length].1;
        Some((length as u32 + 1, *self.symbols.get(index as usize)?))
    }
}

/// Code lengths and sizes of DC differences; length 0: not in `LOOKUP_BITS`.
struct DcTable {
    lookup: Vec<(u8, u8)>,
    codes: Codes,
}

impl DcTable {
    fn new(spec: &HuffmanSpec) -> Self {
        let codes = Codes::new(spec);
        let entry = |bits: u32| match codes.decode(bits << (16 - LOOKUP_BITS)) {
            Some((length, size)) if length <= LOOKUP_BITS => (length as u8, size),
            _ => (0, 0),
        };
        DcTable { lookup: (0..1 << LOOKUP_BITS).map(entry).collect(), codes }
    }
}

/// One or two AC symbols.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Symbols {
    /// Bits of all, with their extra bits; 0: look at the symbol alone.
    bits: u8,
    /// What all add to the zigzag index.
    advance: u8,
    /// The same of the first.
    first_bits: u8,
    first_advance: u8,
}

struct AcTable {
    lookup: Vec<Symbols>,
    codes: Codes,
}

impl AcTable {
    fn new(spec: &HuffmanSpec) -> Self {
        let codes = Codes::new(spec);
        // Code length, length with extra bits, advance.
        let single = |bits: u32, known: u32| -> Option<(u32, u32, u32)> {
            let (length, symbol) = codes.decode(bits)?;
            let (zeros, size) = (u32::from(symbol >> 4), u32::from(symbol & 15));
            if length > known || size > SMALL {
                return None;
            }
            match (zeros, size) {
                (0, 0) => Some((length, length, END)),
                (15, 0) => Some((length, length, 16)),
                (_, 0) => None,
                _ => Some((length, length + size, zeros + 1)),
            }
        };
        let entry = |bits: u32| {
            let bits = bits << (16 - LOOKUP_BITS);
            let Some((_, first_bits, first_advance)) = single(bits, LOOKUP_BITS) else { return Symbols::default() };
            let second = if first_advance < END && first_bits < LOOKUP_BITS {
                single(bits << first_bits & 0xFFFF, LOOKUP_BITS - first_bits)
            } else {
                None
            };
            let (_, second_bits, second_advance) = second.unwrap_or_default();
            Symbols {
                bits: (first_bits + second_bits) as u8,
                advance: (first_advance + second_advance) as u8,
                first_bits: first_bits as u8,
                first_advance: first_advance as u8,
            }
        };
        AcTable { lookup: (0..1 << LOOKUP_BITS).map(entry).collect(), codes }
    }
}

#[cfg(test)]
mod tests {
    use isopel_conformance::corpus;
    use isopel_conformance::random::{self, Random};
    use isopel_core::{DecodeOptions, DecodePlan, Limits, decode_coefficients};

    use super::*;
    use crate::route::{NvjpegRoute, RouteSupport, choose};

    /// `None`: not for the engines.
    fn verdict(jpeg: &[u8]) -> Option<bool> {
        let codestream = Codestream::parse(jpeg, &Limits::default()).ok()?;
        let plan = DecodePlan::new(&codestream, &DecodeOptions::default()).ok()?;
        let choice = choose(&plan, &RouteSupport::ALL).ok()?;
        (choice.route == NvjpegRoute::Engines).then(|| is_sound(&codestream))
    }

    /// What the full entropy decoder says: warnings beyond those of the parse.
    fn has_new_warnings(jpeg: &[u8]) -> bool {
        let codestream = Codestream::parse(jpeg, &Limits::default()).unwrap();
        let plan = DecodePlan::new(&codestream, &DecodeOptions::default()).unwrap();
        let report = decode_coefficients(&plan, |_| ()).unwrap();
        report.warnings != codestream.warnings()
    }

    #[test]
    fn whole_files_are_sound() {
        let (mut sound, mut unsound) = (0, Vec::new());
        for (row, jpeg) in corpus::decodable(u64::MAX).unwrap() {
            match verdict(&jpeg) {
                Some(true) => sound += 1,
                Some(false) if !has_new_warnings(&jpeg) => unsound.push(row.path),
                _ => {}
            }
        }
        assert!(sound > 50, "{sound}");
        // Coefficients out of range, which decoders treat differently; and what is legal but so rare that nobody knows
        // what the engines make of it.
        let names: Vec<&str> = unsound.iter().filter_map(|path| path.rsplit('/').next()).collect();
        let expected = [
            "container-extra-bytes-before-eoi.jpg",
            "container-fill-bytes.jpg",
            "damage-dc-accumulates.jpg",
            "restart-fill-before-rst.jpg",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn damage_is_found_wherever_the_full_decoder_finds_it() {
        let mut random = Random::new(random::seed(0x5CAD));
        let files: Vec<Vec<u8>> = corpus::decodable(100_000).unwrap().into_iter().map(|(_, jpeg)| jpeg).collect();
        let files: Vec<&Vec<u8>> = files.iter().filter(|jpeg| verdict(jpeg) == Some(true)).collect();
        let (mut sound, mut unsound) = (0, 0);
        for round in 0..6_000 {
            let mut jpeg = files[round % files.len()].clone();
            let start = Codestream::parse(&jpeg, &Limits::default()).unwrap().scans()[0].data.start;
            for _ in 0..=random.below_u32(2) {
                let place = start + random.below_u32((jpeg.len() - start) as u32) as usize;
                jpeg[place] ^= 1 << random.below_u32(8);
            }
            match verdict(&jpeg) {
                None => {}
                Some(false) => unsound += 1,
                Some(true) => {
                    sound += 1;
                    assert!(!has_new_warnings(&jpeg), "round {round}");
                }
            }
        }
        // Both verdicts must come up, or this shows nothing.
        assert!(sound > 300 && unsound > 1_000, "{sound} sound, {unsound} unsound");
    }

    #[test]
    fn two_symbols_are_skipped_as_one_by_one() {
        let bits = |text: &str| usize::from_str_radix(&text.replace(' ', ""), 2).unwrap();
        // Codes 0: EOB, 10: run 0 size 1, 110: run 1 size 2, 1110: ZRL.
        let spec =
            HuffmanSpec { counts: [1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], symbols: vec![0, 1, 0x12, 0xF0] };
        let table = AcTable::new(&spec);
        // 10 + 1 bit, then 0.
        let pair = table.lookup[bits("101 0 0000000")];
        assert_eq!(pair, Symbols { bits: 4, advance: 1 + 128, first_bits: 3, first_advance: 1 });
        // 110 + 2 bits, then 1110.
        let pair = table.lookup[bits("11001 1110 00")];
        assert_eq!(pair, Symbols { bits: 9, advance: 2 + 16, first_bits: 5, first_advance: 2 });
        // The end of a block ends the entry: what follows belongs to another.
        let end = table.lookup[bits("0 101 0000000")];
        assert_eq!(end, Symbols { bits: 1, advance: 128, first_bits: 1, first_advance: 128 });
        // 1111... is no code.
        assert_eq!(table.lookup[bits("11111111111")].bits, 0);
    }
}
