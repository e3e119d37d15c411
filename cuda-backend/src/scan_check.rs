//! Whether a scan's codes are whole, without decoding a coefficient: the engines report success for damaged files too.
//!
//! Step: beside the engines. Input: a codestream whose one scan is sequential. Output: whether every code is in its
//! table, every restart interval ends where its data ends, and no coefficient is out of the range that an encoder of
//! 8-bit samples can produce, beyond which decoders wrap and clamp differently.
//!
//! Only lengths matter, so one lookup skips all the symbols, with their extra bits, that a few bits determine.

use std::cell::RefCell;
use std::rc::Rc;

use isopel_core::{Codestream, DecodePlan, HuffmanSpec, McuRow, QuantTable, ZIGZAG};

/// Bits that are looked up at once.
const LOOKUP_BITS: u32 = 12;
/// Bytes behind the data that may be read: more than one block takes.
const PADDING: usize = 64 * 4 + 16;
/// Extra bits of an AC symbol below which no coefficient is out of range with quantizer steps up to 255.
const SMALL: u32 = 6;
/// The largest magnitude of a dequantised coefficient: 8 times the largest sample difference, 128, and then 8.
const RANGE: u32 = 8 * 1024;

/// Whether the only scan of a sequential file is sound. All components are in it, all steps are below 256.
pub(crate) fn is_sound(codestream: &Codestream) -> bool {
    thread_local!(static MEMORY: RefCell<Memory> = RefCell::default());
    MEMORY.with_borrow_mut(|memory| check(codestream, memory))
}

/// Whether all coefficients of a row of MCUs are in the range that an encoder of 8-bit samples can produce.
pub(crate) fn is_in_range(plan: &DecodePlan, row: &McuRow) -> bool {
    plan.components().iter().enumerate().filter(|(_, component)| component.needed).all(|(index, component)| {
        let rows = u32::from(component.sampling.vertical);
        (row.index() * rows..(row.index() + 1) * rows).all(|block_row| {
            component.block_columns.clone().all(|column| {
                let block = row.block(index, block_row, column);
                block.iter().zip(&component.quant).all(|(&coefficient, &step)| {
                    u32::from(coefficient.unsigned_abs()) * u32::from(step) <= RANGE + u32::from(step)
                })
            })
        })
    })
}

/// What a thread keeps from one file to the next.
#[derive(Default)]
struct Memory {
    data: Vec<u8>,
    /// Most files have the same tables.
    tables: Vec<(HuffmanSpec, Rc<AcTable>)>,
}

impl Memory {
    const TABLES: usize = 8;

    fn ac_table(&mut self, spec: &HuffmanSpec) -> Rc<AcTable> {
        if let Some((_, table)) = self.tables.iter().find(|(known, _)| known == spec) {
            return table.clone();
        }
        let table = Rc::new(AcTable::new(spec));
        if self.tables.len() == Self::TABLES {
            self.tables.remove(0);
        }
        self.tables.push((spec.clone(), table.clone()));
        table
    }
}

/// How many blocks of which component follow each other in an MCU, and with what they are decoded.
struct BlockRun<'t> {
    blocks: u32,
    dc: &'t Codes,
    ac: &'t AcTable,
    quant: &'t QuantTable,
    predictor: i32,
}

fn check(codestream: &Codestream, memory: &mut Memory) -> bool {
    let frame = codestream.frame();
    let [scan] = codestream.scans() else { return false };
    let specs = codestream.huffman_tables();
    let mut tables = Vec::new();
    for part in &scan.components {
        let (Some(dc), Some(ac)) = (part.dc_table, part.ac_table) else { return false };
        tables.push((Codes::new(&specs[dc]), memory.ac_table(&specs[ac])));
    }
    let mut runs = Vec::new();
    for (part, (dc, ac)) in scan.components.iter().zip(&tables) {
        let sampling = frame.components[part.component].sampling;
        let blocks =
            if scan.is_interleaved() { u32::from(sampling.horizontal) * u32::from(sampling.vertical) } else { 1 };
        let Some(quant) = codestream.quant_table(part.component) else { return false };
        runs.push(BlockRun { blocks, dc, ac, quant, predictor: 0 });
    }
    let mut mcus = scan.mcus(frame).pixels();
    let per_segment = match u64::from(scan.restart_interval) {
        0 => u64::MAX,
        interval => interval,
    };
    for segment in codestream.restart_index(scan).segments {
        let Some(bits) = without_stuffing(&codestream.bytes()[segment], &mut memory.data) else { return false };
        let count = mcus.min(per_segment);
        if count == 0 || !check_segment(&memory.data, bits, count, &mut runs) {
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
    // Passed by value, so that it stays in registers.
    let mut reader = Bits { data, next: 0, buffer: 0, count: 0 };
    runs.iter_mut().for_each(|run| run.predictor = 0);
    for _ in 0..mcus {
        for run in &mut *runs {
            for _ in 0..run.blocks {
                // One block can't read past the padding.
                if reader.position() > bits {
                    return false;
                }
                match check_block(reader, run) {
                    Some(behind) => reader = behind,
                    None => return false,
                }
            }
        }
    }
    // Only the padding of the last byte may be left.
    let position = reader.position();
    position <= bits && bits - position < 8
}

/// Most significant bit first.
#[derive(Clone, Copy)]
struct Bits<'d> {
    data: &'d [u8],
    next: usize,
    /// The next bits are the highest; those below `count` are not valid yet, or are repeated by the next refill.
    buffer: u64,
    count: u32,
}

impl Bits<'_> {
    /// At least 56 valid bits. Behind the padding there are zeros.
    #[inline(always)]
    fn refill(&mut self) {
        if let Some(bytes) = self.data[self.next.min(self.data.len())..].first_chunk::<8>() {
            self.buffer |= u64::from_be_bytes(*bytes) >> self.count;
        }
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

#[inline(always)]
fn check_block<'d>(mut reader: Bits<'d>, run: &mut BlockRun) -> Option<Bits<'d>> {
    reader.refill();
    let (length, size) = run.dc.decode(reader.peek(16))?;
    let size = u32::from(size);
    if size > 11 {
        return None;
    }
    reader.skip(length);
    if size > 0 {
        let value = reader.peek(size) as i32;
        // T.81 F.2.2.1, EXTEND.
        run.predictor += if value < 1 << (size - 1) { value - (1 << size) + 1 } else { value };
        reader.skip(size);
    }
    let step = u32::from(run.quant.values[0]);
    if run.predictor.unsigned_abs().saturating_mul(step) > RANGE + step {
        return None;
    }
    let mut k = 1;
    while k < 64 {
        if reader.count < 32 {
            reader.refill();
        }
        let entry = run.ac.lookup[reader.peek(LOOKUP_BITS) as usize & (LOOKUP_SIZE - 1)];
        let next = k + u32::from(entry.advance);
        if next < 64 {
            reader.skip(u32::from(entry.bits));
            k = next;
            continue;
        }
        // The end of a block: by its code, or exactly at the last coefficient.
        if entry.bits > 0 && (next == 64 || (END..END + 64).contains(&next)) {
            reader.skip(u32::from(entry.bits));
            return Some(reader);
        }
        // Of several symbols some belong to the next block, or one needs a closer look.
        let (bits, advance) = check_one_symbol(reader.peek(16), run, k)?;
        reader.skip(bits);
        k += advance;
    }
    (k == 64 || k >= END).then_some(reader)
}

/// What an end of block adds to the zigzag index.
const END: u32 = 128;

/// One symbol, of any kind. Gives its bits and what it adds to the zigzag index.
#[inline(never)]
fn check_one_symbol(bits: u32, run: &BlockRun, k: u32) -> Option<(u32, u32)> {
    let (length, symbol) = run.ac.codes.decode(bits)?;
    let (zeros, size) = (u32::from(symbol >> 4), u32::from(symbol & 15));
    let advance = match (zeros, size) {
        (0, 0) => END,
        (15, 0) if k + 16 <= 64 => 16,
        (_, 0) => return None,
        _ => {
            let index = k + zeros;
            if index > 63 || size > 10 {
                return None;
            }
            let step = u32::from(run.quant.values[usize::from(ZIGZAG[index as usize])]);
            if (1 << (size - 1)) * step > RANGE + step {
                return None;
            }
            zeros + 1
        }
    };
    Some((length + size, advance))
}

/// Canonical Huffman codes of all lengths (T.81 C.2 and F.2.2.3).
struct Codes {
    /// Length and symbol by the first `SHORT_CODE` bits; length 0: a longer code, or none.
    short: [(u8, u8); 1 << SHORT_CODE],
    /// Per length from 1: the first code that is longer, in 16 bits; and what to add to a code for its symbol's index.
    limits: [(u32, i32); 16],
    symbols: Vec<u8>,
}

const SHORT_CODE: u32 = 8;

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
        let mut codes = Codes { short: [(0, 0); 1 << SHORT_CODE], limits, symbols: spec.symbols.clone() };
        for bits in 0..1 << SHORT_CODE {
            if let Some((length, symbol)) = codes.decode_long(bits << (16 - SHORT_CODE))
                && length <= SHORT_CODE
            {
                codes.short[bits as usize] = (length as u8, symbol);
            }
        }
        codes
    }

    /// The length and symbol of the code that these 16 bits begin with.
    #[inline]
    fn decode(&self, bits: u32) -> Option<(u32, u8)> {
        let (length, symbol) = self.short[(bits >> (16 - SHORT_CODE)) as usize & ((1 << SHORT_CODE) - 1)];
        if length > 0 { Some((u32::from(length), symbol)) } else { self.decode_long(bits) }
    }

    fn decode_long(&self, bits: u32) -> Option<(u32, u8)> {
        let length = self.limits.iter().position(|&(limit, _)| bits < limit)?;
        let index = (bits >> (15 - length)) as i32 + self.limits[length].1;
        Some((length as u32 + 1, *self.symbols.get(index as usize)?))
    }
}

/// As many AC symbols as `LOOKUP_BITS` bits determine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Symbols {
    /// Bits of all, with their extra bits; 0: look at the first symbol alone.
    bits: u8,
    /// What all add to the zigzag index. An end of block is always the last.
    advance: u8,
}

const LOOKUP_SIZE: usize = 1 << LOOKUP_BITS;

struct AcTable {
    lookup: Box<[Symbols; LOOKUP_SIZE]>,
    codes: Codes,
}

impl AcTable {
    fn new(spec: &HuffmanSpec) -> Self {
        // Single symbols: length of the code, with extra bits, advance.
        let mut single = vec![(0u8, Symbols::default()); LOOKUP_SIZE];
        let (mut code, mut index) = (0usize, 0usize);
        for length in 1..=LOOKUP_BITS {
            let width = 1 << (LOOKUP_BITS - length);
            for _ in 0..spec.counts[length as usize - 1] {
                let symbol = spec.symbols.get(index).copied().unwrap_or(0);
                if let Some(symbols) = one_symbol(length, symbol) {
                    single[code..code + width].fill((length as u8, symbols));
                }
                (code, index) = (code + width, index + 1);
            }
        }
        let mut lookup = Box::new([Symbols::default(); LOOKUP_SIZE]);
        for (bits, entry) in lookup.iter_mut().enumerate() {
            let mut all = Symbols::default();
            // Until an end of block, and as long as the next code is whole.
            while u32::from(all.bits) < LOOKUP_BITS && u32::from(all.advance) < END {
                let (length, next) = single[bits << all.bits & (LOOKUP_SIZE - 1)];
                let is_whole = length > 0 && u32::from(all.bits + length) <= LOOKUP_BITS;
                if !is_whole || u32::from(all.advance) + u32::from(next.advance) >= END + 64 {
                    break;
                }
                all.bits += next.bits;
                all.advance += next.advance;
            }
            // An entry of no bits must not look like progress.
            *entry = if all.bits == 0 { Symbols { bits: 0, advance: 64 } } else { all };
        }
        AcTable { lookup, codes: Codes::new(spec) }
    }
}

/// A symbol that needs no closer look, with its code of this length.
fn one_symbol(length: u32, symbol: u8) -> Option<Symbols> {
    let (zeros, size) = (symbol >> 4, symbol & 15);
    let advance = match (zeros, size) {
        (0, 0) => END as u8,
        (15, 0) => 16,
        (_, 0) => return None,
        _ => zeros + 1,
    };
    (u32::from(size) <= SMALL).then_some(Symbols { bits: length as u8 + size, advance })
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
    fn symbols_are_skipped_together_up_to_the_end_of_a_block() {
        // Codes 0: EOB, 10: run 0 size 1, 110: run 1 size 2, 1110: ZRL.
        let counts = [1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let table = AcTable::new(&HuffmanSpec { counts, symbols: vec![0, 1, 0x12, 0xF0] });
        let entry = |text: &str| table.lookup[usize::from_str_radix(&text.replace(' ', ""), 2).unwrap()];
        // 10 + 1 bit, then 0.
        assert_eq!(entry("101 0 00000000"), Symbols { bits: 4, advance: 1 + 128 });
        // 110 + 2 bits, 1110, and 10 whose extra bit is not among the 12.
        assert_eq!(entry("11001 1110 101"), Symbols { bits: 12, advance: 2 + 16 + 1 });
        assert_eq!(entry("11001 11001 10"), Symbols { bits: 13, advance: 2 + 2 + 1 });
        // The end of a block ends the entry: what follows belongs to another.
        assert_eq!(entry("0 101 00000000"), Symbols { bits: 1, advance: 128 });
        // 1111... is no code.
        assert_eq!(entry("111111111111"), Symbols { bits: 0, advance: 64 });
    }
}
