//! Recipe and coefficients to a file's bytes (T.81 Annex B).

use std::collections::BTreeMap;

use isopel_core::CodingProcess;

use super::content::Plane;
use super::frame::Component;
use super::huffman::{Codes, Style, Table, typical};
use super::recipe::{Exif, Recipe};
use super::scan::Scan;
use super::symbols::{Symbol, symbols};
use crate::random::Random;
use crate::writer::bits::BitWriter;

/// Writes a file. `random` decides about codes that are as good as others.
pub(crate) fn write(recipe: &Recipe, planes: &[Plane], random: &mut Random) -> Vec<u8> {
    let lent = |slot| recipe.markers.lent_tables.then(|| typical(slot)).flatten();
    let mut writer = Writer {
        recipe,
        file: vec![0xFF, 0xD8],
        quantizers: [None; 4],
        tables: std::array::from_fn(|slot| lent(slot as u8)),
        restart_interval: 0,
    };
    writer.metadata();
    if recipe.markers.early_tables {
        writer.quantizers(&(0..recipe.frame.components.len()).collect::<Vec<_>>());
    }
    writer.frame();
    for scan in &recipe.scans {
        writer.quantizers(&scan.components);
        writer.scan(scan, &symbols(&recipe.frame, scan, planes), random);
    }
    writer.marker(0xD9);
    writer.file
}

struct Writer<'r> {
    recipe: &'r Recipe,
    file: Vec<u8>,
    /// What decoders know: the table of each selector.
    quantizers: [Option<[u16; 64]>; 4],
    /// The Huffman table of each slot.
    tables: [Option<Table>; 8],
    restart_interval: u16,
}

impl Writer<'_> {
    fn marker(&mut self, code: u8) {
        self.file.extend(std::iter::repeat_n(0xFF, 1 + self.recipe.markers.fill));
        self.file.push(code);
    }

    fn segment(&mut self, code: u8, contents: &[u8]) {
        self.marker(code);
        self.file.extend_from_slice(&(2 + contents.len() as u16).to_be_bytes());
        self.file.extend_from_slice(contents);
    }

    fn metadata(&mut self) {
        let markers = &self.recipe.markers;
        if markers.jfif {
            self.segment(0xE0, b"JFIF\0\x01\x02\x00\x00\x01\x00\x01\x00\x00");
        }
        if let Some(exif) = markers.exif {
            self.segment(0xE1, &exif_segment(exif));
        }
        if let Some(transform) = markers.adobe_transform {
            self.segment(0xEE, &[b"Adobe\0\x64\0\0\0\0".as_slice(), &[transform]].concat());
        }
        if markers.comment {
            self.segment(0xFE, b"\xFF\xD8 not a picture \xFF\xDA");
        }
    }

    /// The tables of components as far as decoders don't know them.
    fn quantizers(&mut self, components: &[usize]) {
        for &index in components {
            let Component { quant_selector, quant_table, .. } = self.recipe.frame.components[index];
            let known = &mut self.quantizers[usize::from(quant_selector)];
            if known.replace(quant_table) == Some(quant_table) {
                continue;
            }
            let wide = self.recipe.markers.wide_quantizers || quant_table.iter().any(|&step| step > 255);
            let mut contents = vec![u8::from(wide) << 4 | quant_selector];
            for step in quant_table {
                contents.extend_from_slice(&step.to_be_bytes()[usize::from(!wide)..]);
            }
            self.segment(0xDB, &contents);
        }
    }

    fn frame(&mut self) {
        let frame = &self.recipe.frame;
        let mut contents = vec![8];
        contents.extend_from_slice(&(frame.size.height as u16).to_be_bytes());
        contents.extend_from_slice(&(frame.size.width as u16).to_be_bytes());
        contents.push(frame.components.len() as u8);
        for component in &frame.components {
            let (across, down) = component.sampling;
            contents.extend_from_slice(&[component.id, across << 4 | down, component.quant_selector]);
        }
        let code = match frame.process {
            CodingProcess::ExtendedSequential => 0xC1,
            CodingProcess::Progressive => 0xC2,
            _ => 0xC0,
        };
        self.segment(code, &contents);
    }

    fn scan(&mut self, scan: &Scan, symbols: &[Symbol], random: &mut Random) {
        self.tables_for(scan, symbols, random);
        if self.restart_interval != scan.restart_interval {
            self.restart_interval = scan.restart_interval;
            self.segment(0xDD, &scan.restart_interval.to_be_bytes());
        }
        let mut contents = vec![scan.components.len() as u8];
        for (&index, (dc, ac)) in scan.components.iter().zip(scan.dc_selectors.iter().zip(&scan.ac_selectors)) {
            contents.extend_from_slice(&[self.recipe.frame.components[index].id, dc << 4 | ac]);
        }
        contents.extend_from_slice(&[scan.band.0, scan.band.1, scan.high << 4 | scan.low]);
        self.segment(0xDA, &contents);
        let codes: [Option<Codes>; 8] = std::array::from_fn(|slot| self.tables[slot].as_ref().map(Table::codes));
        let fill = vec![0xFF; 1 + self.recipe.markers.fill];
        let mut restarts = 0;
        let mut bits = BitWriter::new(&mut self.file);
        for &symbol in symbols {
            match symbol {
                Symbol::Coded { slot, symbol, count, bits: value } => {
                    let codes = codes[usize::from(slot)].as_ref().expect("the scan's tables were made");
                    let (code, length) = codes[usize::from(symbol)];
                    assert!(length > 0, "the table was made for all symbols");
                    bits.put(code.into(), length.into());
                    bits.put(value.into(), count.into());
                }
                Symbol::Bare { count, bits: value } => bits.put(value.into(), count.into()),
                Symbol::Restart => {
                    bits.bytes(&[fill.as_slice(), &[0xD0 | (restarts % 8)]].concat());
                    restarts = (restarts + 1) % 8;
                }
            }
        }
        bits.flush();
    }

    /// Makes the tables that a scan needs, and writes those that decoders don't have.
    fn tables_for(&mut self, scan: &Scan, symbols: &[Symbol], random: &mut Random) {
        let sequential = self.recipe.frame.process != CodingProcess::Progressive;
        let mut frequencies: BTreeMap<u8, BTreeMap<u8, u64>> = BTreeMap::new();
        // A sequential scan names tables of both kinds, needed or not.
        if sequential {
            let slots = scan.dc_selectors.iter().copied().chain(scan.ac_selectors.iter().map(|ac| 4 + ac));
            slots.for_each(|slot| _ = frequencies.entry(slot).or_default());
        }
        for symbol in symbols {
            if let Symbol::Coded { slot, symbol, .. } = symbol {
                *frequencies.entry(*slot).or_default().entry(*symbol).or_default() += 1;
            }
        }
        let mut segment = Vec::new();
        for (slot, frequencies) in frequencies {
            let known = self.tables[usize::from(slot)].take();
            // Annex K's tables serve for many scans.
            let table = match known {
                Some(table) if scan.style == Style::Typical && serves(&table, &frequencies) => {
                    self.tables[usize::from(slot)] = Some(table.clone());
                    if self.recipe.markers.lent_tables || !self.recipe.markers.repeat_tables {
                        continue;
                    }
                    table
                }
                _ => Table::make(scan.style, slot, &frequencies, random),
            };
            segment.push(((slot / 4) << 4) | (slot % 4));
            segment.extend_from_slice(&table.counts);
            segment.extend_from_slice(&table.symbols);
            self.tables[usize::from(slot)] = Some(table);
            if !self.recipe.markers.joined_tables {
                self.segment(0xC4, &std::mem::take(&mut segment));
            }
        }
        if !segment.is_empty() {
            self.segment(0xC4, &segment);
        }
    }
}

/// Whether a table has codes for all of these.
fn serves(table: &Table, frequencies: &BTreeMap<u8, u64>) -> bool {
    frequencies.keys().all(|symbol| table.symbols.contains(symbol))
}

/// Exif with one entry, the orientation.
fn exif_segment(exif: Exif) -> Vec<u8> {
    let short = |value: u16| if exif.big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
    let long = |value: u32| if exif.big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
    let order: &[u8] = if exif.big_endian { b"MM" } else { b"II" };
    let mut segment = b"Exif\0\0".to_vec();
    segment.extend_from_slice(order);
    segment.extend_from_slice(&short(42));
    segment.extend_from_slice(&long(8));
    segment.extend_from_slice(&short(1));
    segment.extend_from_slice(&short(0x0112));
    segment.extend_from_slice(&short(3));
    segment.extend_from_slice(&long(1));
    segment.extend_from_slice(&short(exif.orientation.to_exif().into()));
    segment.extend_from_slice(&short(0));
    segment.extend_from_slice(&long(0));
    segment
}
