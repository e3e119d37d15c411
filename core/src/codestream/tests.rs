use super::*;

/// A segment with its length.
fn segment(marker: u8, contents: &[u8]) -> Vec<u8> {
    let length = (contents.len() + 2) as u16;
    [&[0xFF, marker], length.to_be_bytes().as_slice(), contents].concat()
}

fn dqt(selector: u8, value: u8) -> Vec<u8> {
    segment(0xDB, &[&[selector], [value; 64].as_slice()].concat())
}

fn sof(marker: u8, width: u16, height: u16, components: &[[u8; 3]]) -> Vec<u8> {
    let mut contents = vec![8];
    contents.extend(height.to_be_bytes());
    contents.extend(width.to_be_bytes());
    contents.push(components.len() as u8);
    contents.extend(components.concat());
    segment(marker, &contents)
}

fn sos(components: &[[u8; 2]], parameters: [u8; 3]) -> Vec<u8> {
    segment(0xDA, &[&[components.len() as u8], components.concat().as_slice(), &parameters].concat())
}

/// A DHT segment with one 1-bit code for `symbol`.
fn dht(class_and_selector: u8, symbol: u8) -> Vec<u8> {
    let mut contents = vec![class_and_selector, 1];
    contents.extend([0; 15]);
    contents.push(symbol);
    segment(0xC4, &contents)
}

const SOI: [u8; 2] = [0xFF, 0xD8];
const EOI: [u8; 2] = [0xFF, 0xD9];
const GRAY: [[u8; 3]; 1] = [[1, 0x11, 0]];
const YCC: [[u8; 3]; 3] = [[1, 0x22, 0], [2, 0x11, 0], [3, 0x11, 0]];

/// A gray baseline image of zeros with these segments after SOI.
fn gray(segments: &[Vec<u8>]) -> Vec<u8> {
    let body = [dqt(0, 1), sof(0xC0, 16, 8, &GRAY), sos(&[[1, 0]], [0, 63, 0]), vec![0; 4]].concat();
    [SOI.as_slice(), &segments.concat(), &body, &EOI].concat()
}

fn parse(bytes: &[u8]) -> Result<Codestream<'_>, Error> {
    Codestream::parse(bytes, &Limits::default())
}

fn code_and_offset(bytes: &[u8]) -> (&'static str, Option<usize>) {
    let error = parse(bytes).unwrap_err();
    (error.code(), error.offset())
}

#[test]
fn reads_a_plain_file_whole() {
    let bytes = gray(&[]);
    let codestream = parse(&bytes).unwrap();
    assert_eq!(codestream.stored_size(), Size::new(16, 8));
    assert_eq!(codestream.color_model(), ColorModel::Gray);
    assert_eq!(codestream.scans()[0].data.len(), 4);
    assert_eq!(codestream.scans()[0].end, Some(Marker::EOI));
    assert_eq!(codestream.consumed(), bytes.len());
    assert!(codestream.warnings().is_empty() && codestream.is_complete());
}

#[test]
fn header_query_stops_before_the_scan_data() {
    let mut bytes = gray(&[]);
    let scan_data = bytes.len() - 6;
    bytes.truncate(scan_data);
    let header = Codestream::parse_header(&bytes, &Limits::default()).unwrap();
    assert_eq!(header.stored_size(), Size::new(16, 8));
    assert_eq!(header.consumed(), scan_data);
}

#[test]
fn errors_name_kind_and_place() {
    assert_eq!(code_and_offset(b""), ("empty", Some(0)));
    assert_eq!(code_and_offset(b"\xFF"), ("not-jpeg", Some(0)));
    assert_eq!(code_and_offset(&SOI), ("truncated", Some(2)));
    assert_eq!(code_and_offset(&[SOI, EOI].concat()), ("no-image", Some(2)));
    assert_eq!(code_and_offset(&[SOI, SOI].concat()), ("duplicate-soi", Some(2)));
    assert_eq!(code_and_offset(&[&SOI, sos(&[[1, 0]], [0, 63, 0]).as_slice()].concat()), ("bad-order", Some(2)));
    let frame = sof(0xC0, 8, 8, &GRAY);
    let twice = [&SOI, frame.as_slice(), &frame].concat();
    assert_eq!(code_and_offset(&twice), ("duplicate-sof", Some(2 + frame.len())));
    let no_quant = [&SOI, frame.as_slice(), &sos(&[[1, 0]], [0, 63, 0]), &EOI].concat();
    assert_eq!(code_and_offset(&no_quant), ("missing-table", Some(2 + frame.len())));
    assert_eq!(code_and_offset(&[&SOI, sof(0xC0, 0, 8, &GRAY).as_slice()].concat()), ("zero-dimension", Some(2)));
    assert_eq!(code_and_offset(&[&SOI, sof(0xC0, 8, 8, &[[1, 0x15, 0]]).as_slice()].concat()).0, "bad-sampling");
    assert_eq!(code_and_offset(&[&SOI, dqt(4, 1).as_slice()].concat()), ("bad-table-selector", Some(2)));
    assert_eq!(code_and_offset(&[&SOI, segment(0xDB, &[0, 1, 2]).as_slice()].concat()), ("bad-length", Some(2)));
    assert_eq!(code_and_offset(&[SOI, [0xFF, 0x42]].concat()), ("unexpected-marker", Some(2)));
    let error = parse(&[SOI, SOI].concat()).unwrap_err();
    assert_eq!(error.marker(), Some(Marker::SOI));
    assert!(error.to_string().contains("at byte 2, in SOI"), "{error}");
}

#[test]
fn unsupported_processes_are_named() {
    for (marker, code) in [
        (0xC3, "unsupported-lossless"),
        (0xC5, "unsupported-hierarchical"),
        (0xC9, "unsupported-arithmetic"),
        (0xCA, "unsupported-arithmetic"),
        (0xCB, "unsupported-lossless"),
        (0xDE, "unsupported-hierarchical"),
        (0xF7, "unsupported-process"),
    ] {
        assert_eq!(code_and_offset(&[&SOI, sof(marker, 8, 8, &GRAY).as_slice()].concat()), (code, Some(2)));
    }
}

#[test]
fn fill_bytes_are_silent_and_junk_is_reported() {
    let filled = gray(&[vec![0xFF, 0xFF, 0xFF], segment(0xFE, b"hello")]);
    let codestream = parse(&filled).unwrap();
    assert!(codestream.warnings().is_empty());
    assert_eq!(codestream.comments(), [b"hello"]);
    let junk = gray(&[segment(0xFE, b""), vec![1, 2, 0xFF, 0, 3]]);
    assert!(matches!(
        parse(&junk).unwrap().warnings()[..],
        [Warning::StrayBytes { count: 5, marker: Marker::DQT, .. }]
    ));
}

#[test]
fn a_missing_end_is_a_warning() {
    let mut bytes = gray(&[]);
    bytes.truncate(bytes.len() - 2);
    let codestream = parse(&bytes).unwrap();
    assert_eq!(codestream.warnings(), [Warning::MissingEoi { offset: bytes.len() }]);
}

#[test]
fn what_follows_a_whole_image_never_fails_it() {
    let mut bytes = gray(&[]);
    bytes.truncate(bytes.len() - 2);
    bytes.extend(sof(0xC0, 8, 8, &GRAY));
    assert!(matches!(parse(&bytes).unwrap().warnings()[..], [Warning::AfterImage { .. }]));
}

#[test]
fn dnl_defines_a_missing_height() {
    let with_dnl = |dnl: &[u8]| {
        let body = [dqt(0, 1), sof(0xC0, 16, 0, &GRAY), sos(&[[1, 0]], [0, 63, 0]), vec![0; 4]].concat();
        [SOI.as_slice(), &body, dnl, &EOI].concat()
    };
    let bytes = with_dnl(&segment(0xDC, &[0, 24]));
    assert_eq!(parse(&bytes).unwrap().stored_size(), Size::new(16, 24));
    assert_eq!(code_and_offset(&with_dnl(&[])).0, "zero-dimension");
    assert_eq!(code_and_offset(&with_dnl(&segment(0xDC, &[0, 0]))).0, "zero-dimension");
}

#[test]
fn tables_are_those_in_force_at_the_scan() {
    let scan = |component| [sos(&[[component, 0]], [0, 63, 0]), vec![0; 4]].concat();
    let parts = [
        dqt(0, 1),
        sof(0xC0, 8, 8, &YCC),
        dht(0x00, 5),
        dht(0x10, 6),
        scan(1),
        dqt(0, 2),
        dht(0x00, 7),
        scan(2),
        scan(3),
        EOI.to_vec(),
    ];
    let bytes = [SOI.to_vec(), parts.concat()].concat();
    let codestream = parse(&bytes).unwrap();
    let dc_symbol = |scan: usize| {
        let table = codestream.scans()[scan].components[0].dc_table.unwrap();
        codestream.huffman_tables()[table].symbols[0]
    };
    assert_eq!([dc_symbol(0), dc_symbol(1), dc_symbol(2)], [5, 7, 7]);
    let quant = |component| codestream.quant_table(component).unwrap().values[0];
    assert_eq!([quant(0), quant(1), quant(2)], [1, 2, 2]);
    assert!(codestream.has_multiple_scans());
}

#[test]
fn a_component_without_scan_is_reported() {
    let body = [dqt(0, 1), sof(0xC0, 8, 8, &YCC), sos(&[[1, 0]], [0, 63, 0]), vec![0; 4]].concat();
    let bytes = [SOI.as_slice(), &body, &EOI].concat();
    let warnings = parse(&bytes).unwrap().warnings();
    assert_eq!(warnings, [Warning::ComponentMissing { component: 1 }, Warning::ComponentMissing { component: 2 }]);
    assert!(warnings[0].is_damage());
}

#[test]
fn exif_orientation_is_read_in_both_byte_orders_and_bounded() {
    let exif = |tiff: &[u8]| {
        let bytes = gray(&[segment(0xE1, &[b"Exif\0\0", tiff].concat())]);
        parse(&bytes).unwrap().orientation()
    };
    let little = |kind: u8, count: u8, value: [u8; 4]| {
        let entry = [0x12, 0x01, kind, 0, count, 0, 0, 0, value[0], value[1], value[2], value[3]];
        exif(&[b"II\x2A\0\x08\0\0\0\x01\0".as_slice(), &entry].concat())
    };
    assert_eq!(little(3, 1, [6, 0, 0, 0]), Orientation::Rotate90);
    assert_eq!(little(4, 1, [8, 0, 0, 0]), Orientation::Rotate270);
    assert_eq!(little(4, 1, [8, 0, 1, 0]), Orientation::Normal);
    assert_eq!(little(1, 1, [6, 0, 0, 0]), Orientation::Normal);
    assert_eq!(little(3, 2, [6, 0, 0, 0]), Orientation::Normal);
    assert_eq!(little(3, 1, [9, 0, 0, 0]), Orientation::Normal);
    let big = b"MM\0\x2A\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x05\0\0";
    assert_eq!(exif(big), Orientation::Transpose);
    for end in 0..big.len() {
        exif(&big[..end]);
    }
    // An offset at the end of the address space must not overflow.
    assert_eq!(exif(b"MM\0\x2A\xFF\xFF\xFF\xFF"), Orientation::Normal);
}

#[test]
fn colour_follows_jfif_then_adobe_then_identifiers() {
    let color = |segments: &[Vec<u8>], ids: [u8; 3]| {
        let components = ids.map(|id| [id, 0x11, 0]);
        let scan = sos(&ids.map(|id| [id, 0]), [0, 63, 0]);
        let body = [dqt(0, 1), sof(0xC0, 8, 8, &components), scan, vec![0; 4]].concat();
        let bytes = [SOI.as_slice(), &segments.concat(), &body, &EOI].concat();
        parse(&bytes).unwrap().color_model()
    };
    let jfif = segment(0xE0, b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0");
    let adobe = |transform| segment(0xEE, &[b"Adobe\0\x64\0\0\0\0".as_slice(), &[transform]].concat());
    assert_eq!(color(&[], [1, 2, 3]), ColorModel::YCbCr);
    assert_eq!(color(&[], *b"RGB"), ColorModel::Rgb);
    assert_eq!(color(std::slice::from_ref(&jfif), *b"RGB"), ColorModel::YCbCr);
    assert_eq!(color(&[adobe(0)], [1, 2, 3]), ColorModel::Rgb);
    assert_eq!(color(&[adobe(1)], *b"RGB"), ColorModel::YCbCr);
    assert_eq!(color(&[adobe(0), jfif], [1, 2, 3]), ColorModel::YCbCr);
}

#[test]
fn icc_profiles_are_put_together_in_order() {
    let chunk = |number: u8, count: u8, data: &[u8]| {
        segment(0xE2, &[b"ICC_PROFILE\0".as_slice(), &[number, count], data].concat())
    };
    let profile = |chunks: &[Vec<u8>]| {
        let bytes = gray(chunks);
        let codestream = parse(&bytes).unwrap();
        (codestream.icc_profile(), codestream.warnings())
    };
    assert_eq!(profile(&[chunk(2, 2, b"b"), chunk(1, 2, b"a")]), (Some(b"ab".to_vec()), vec![]));
    for broken in [vec![chunk(1, 2, b"a")], vec![chunk(0, 0, b"a")], vec![chunk(1, 1, b"a"), chunk(1, 1, b"a")]] {
        assert_eq!(profile(&broken), (None, vec![Warning::IccIncomplete]));
    }
}

#[test]
fn the_restart_index_cuts_the_scan_at_its_markers() {
    let data = [1, 0xFF, 0x00, 0xFF, 0xD0, 2, 0xFF, 0xFF, 0xD1, 3];
    let body = [dqt(0, 1), segment(0xDD, &[0, 1]), sof(0xC0, 24, 8, &GRAY), sos(&[[1, 0]], [0, 63, 0])].concat();
    let bytes = [SOI.as_slice(), &body, &data, &EOI].concat();
    let codestream = parse(&bytes).unwrap();
    let index = codestream.restart_index(&codestream.scans()[0]);
    let start = codestream.scans()[0].data.start;
    let segments: Vec<&[u8]> = index.segments.iter().map(|segment| &bytes[segment.clone()]).collect();
    assert_eq!(segments, [&[1, 0xFF, 0][..], &[2, 0xFF], &[3]]);
    assert_eq!(index.segments[0].start, start);
    assert!(index.in_order);
    assert_eq!(codestream.restart_interval(), 1);
}

#[test]
fn limits_are_checked_before_anything_is_decoded() {
    let large = [dqt(0, 1), sof(0xC0, 65500, 65500, &GRAY), sos(&[[1, 0]], [0, 63, 0]), vec![0; 4]].concat();
    let bytes = [SOI.as_slice(), &large, &EOI].concat();
    assert_eq!(parse(&bytes).unwrap_err().code(), "limit-pixels");
    let limits = Limits { max_pixels: u64::MAX, ..Limits::default() };
    assert_eq!(Codestream::parse(&bytes, &limits).unwrap_err().code(), "limit-pixels-per-byte");
    let limits = Limits { max_work: 1, ..Limits::default() };
    assert_eq!(Codestream::parse(&gray(&[]), &limits).unwrap_err().code(), "limit-work");
    let limits = Limits { max_metadata: 4, ..Limits::default() };
    assert_eq!(Codestream::parse(&gray(&[segment(0xFE, b"hello")]), &limits).unwrap_err().code(), "limit-metadata");
}

#[test]
fn zigzag_begins_and_ends_as_in_the_standard() {
    let natural = |zigzag: usize| usize::from(ZIGZAG[zigzag]);
    assert_eq!([0, 1, 2, 3, 4, 5, 6].map(natural), [0, 1, 8, 16, 9, 2, 3]);
    assert_eq!([61, 62, 63].map(natural), [55, 62, 63]);
    let mut all: Vec<usize> = (0..64).map(natural).collect();
    all.sort_unstable();
    assert_eq!(all, (0..64).collect::<Vec<_>>());
}
