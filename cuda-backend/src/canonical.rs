//! The file as nvJPEG gets it: headers written anew from our own parse, and the scans' own bytes. What nvJPEG might read
//! differently - metadata, stray segments, table numbers, heights from DNL, tables that Motion JPEG leaves out - is not
//! in it.

use isopel_core::{Codestream, CodingProcess, HuffmanSpec, QuantTable, Scan, ZIGZAG};

/// Writes the file. The caller has made sure that every component has a quantization table of 8-bit steps and that
/// no scan needs more than four tables of a class, two for baseline.
pub(crate) fn canonical(codestream: &Codestream) -> Vec<u8> {
    let frame = codestream.frame();
    let data: usize = codestream.scans().iter().map(|scan| scan.data.len() + 1024).sum();
    let mut file = Vec::with_capacity(data + 1024);
    file.extend([0xFF, 0xD8]);
    let single = frame.components.len() == 1;
    for (index, _) in frame.components.iter().enumerate() {
        if let Some(table) = codestream.quant_table(index) {
            quant_table(&mut file, index as u8, table);
        }
    }
    let start_of_frame = if frame.process == CodingProcess::Progressive { 0xC2 } else { 0xC0 };
    let mut contents = vec![8];
    contents.extend((frame.size.height as u16).to_be_bytes());
    contents.extend((frame.size.width as u16).to_be_bytes());
    contents.push(frame.components.len() as u8);
    for (index, component) in frame.components.iter().enumerate() {
        let sampling = component.sampling;
        // One component alone is never interleaved, whatever its factors.
        let factors = if single { 0x11 } else { sampling.horizontal << 4 | sampling.vertical };
        contents.extend([index as u8 + 1, factors, index as u8]);
    }
    segment(&mut file, start_of_frame, &contents);
    let mut interval = 0;
    for scan in codestream.scans() {
        write_scan(&mut file, codestream, scan, &mut interval);
    }
    file.extend([0xFF, 0xD9]);
    file
}

fn write_scan(file: &mut Vec<u8>, codestream: &Codestream, scan: &Scan, interval: &mut u16) {
    let mut header = vec![scan.components.len() as u8];
    let mut tables: [Vec<usize>; 2] = Default::default();
    for part in &scan.components {
        let mut selector = |class: usize, table: Option<usize>| match table {
            None => 0,
            Some(table) => {
                let known = tables[class].iter().position(|&known| known == table);
                known.unwrap_or_else(|| {
                    tables[class].push(table);
                    tables[class].len() - 1
                }) as u8
            }
        };
        let (dc, ac) = (selector(0, part.dc_table), selector(1, part.ac_table));
        header.extend([part.component as u8 + 1, dc << 4 | ac]);
    }
    for (class, tables) in tables.iter().enumerate() {
        for (selector, &table) in tables.iter().enumerate() {
            huffman_table(file, (class << 4 | selector) as u8, &codestream.huffman_tables()[table]);
        }
    }
    if *interval != scan.restart_interval {
        *interval = scan.restart_interval;
        segment(file, 0xDD, &interval.to_be_bytes());
    }
    let progressive = codestream.frame().is_progressive();
    header.extend(if progressive {
        [scan.spectral_start, scan.spectral_end, scan.approximation_high << 4 | scan.approximation_low]
    } else {
        [0, 63, 0]
    });
    segment(file, 0xDA, &header);
    file.extend(&codestream.bytes()[scan.data.clone()]);
}

fn quant_table(file: &mut Vec<u8>, selector: u8, table: &QuantTable) {
    let mut contents = vec![selector];
    contents.extend(ZIGZAG.map(|natural| table.values[usize::from(natural)] as u8));
    segment(file, 0xDB, &contents);
}

fn huffman_table(file: &mut Vec<u8>, class_and_selector: u8, table: &HuffmanSpec) {
    let mut contents = vec![class_and_selector];
    contents.extend(table.counts);
    contents.extend(&table.symbols);
    segment(file, 0xC4, &contents);
}

fn segment(file: &mut Vec<u8>, marker: u8, contents: &[u8]) {
    file.extend([0xFF, marker]);
    file.extend((contents.len() as u16 + 2).to_be_bytes());
    file.extend(contents);
}

#[cfg(test)]
mod tests {
    use isopel_conformance::corpus;
    use isopel_core::{Codestream, DecodeOptions, DecodePlan, Limits, OrientationPolicy, cpu};

    use super::*;
    use crate::route::{RouteSupport, choose};

    /// Every file of the corpus that would go to nvJPEG has the same pixels in its canonical form.
    #[test]
    fn canonical_files_have_the_same_pixels() {
        let mut checked = 0;
        for (row, jpeg) in corpus::decodable(u64::MAX).unwrap() {
            let options = DecodeOptions::default().orientation(OrientationPolicy::Ignore);
            let codestream = Codestream::parse(&jpeg, &Limits::default()).unwrap();
            let Ok(plan) = DecodePlan::new(&codestream, &options) else { continue };
            if choose(&plan, &RouteSupport::ALL).is_err() {
                continue;
            }
            let file = canonical(&codestream);
            let again = Codestream::parse(&file, &Limits::default()).unwrap_or_else(|e| panic!("{}: {e}", row.path));
            assert_eq!(again.color_model(), codestream.color_model(), "{}", row.path);
            let (expected, found) = (cpu::decode(&plan), cpu::decode(&DecodePlan::new(&again, &options).unwrap()));
            assert!(expected.unwrap().pixels == found.unwrap().pixels, "{}", row.path);
            checked += 1;
        }
        assert!(checked > 60, "{checked} files");
    }
}
