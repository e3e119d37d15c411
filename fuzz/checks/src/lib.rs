//! What the fuzz targets check. Each function takes any bytes and panics if a promise is broken; errors and
//! warnings about the bytes are fine.

#![forbid(unsafe_code)]

use isopel_core::subsequences::{self, Flags};
use isopel_core::{
    Codestream, CodestreamIndex, DecodeOptions, DecodePlan, DisplayRect, Image, Limits, Orientation, OrientationPolicy,
    PackedCoefficients, PixelFormat, Scale, Strictness, cpu, pack_coefficients,
};

/// Large enough for every class of file, small enough for many runs a second.
fn limits() -> Limits {
    Limits { max_pixels: 1 << 18, max_work: 1 << 18, ..Limits::default() }
}

/// Parsing never panics, and what it gives lies within the file.
pub fn parse(bytes: &[u8]) {
    let header = Codestream::parse_header(bytes, &limits());
    let Ok(codestream) = Codestream::parse(bytes, &limits()) else { return };
    let header = header.expect("a file that parses has a header that parses");
    assert_eq!(header.stored_size(), codestream.stored_size());
    assert_eq!(header.orientation(), codestream.orientation());
    assert!(codestream.consumed() <= bytes.len());
    for scan in codestream.scans() {
        assert!(scan.data.start <= scan.data.end && scan.data.end <= bytes.len());
        let index = codestream.restart_index(scan);
        assert_eq!(index.segments.first().map(|segment| segment.start), Some(scan.data.start));
        assert_eq!(index.segments.last().map(|segment| segment.end), Some(scan.data.end));
    }
    codestream.icc_profile();
}

/// Planning never panics, and its layout is that of the request.
pub fn plan(bytes: &[u8]) {
    let Ok(codestream) = Codestream::parse(bytes, &limits()) else { return };
    let mut choice = Choice::from_bytes(bytes);
    let rect = DisplayRect::new(choice.any(), choice.any(), choice.any(), choice.any());
    let format = choice.format();
    let options = DecodeOptions::default().limits(limits()).region(rect).format(format).scale(choice.scale());
    if let Ok(plan) = DecodePlan::new(&codestream, &options) {
        assert_eq!(plan.output_size(), rect.rect().size());
        assert!(rect.rect().fits_in(options.scale.of(codestream.display_size())));
    }
}

/// Decoding never panics; it fills all pixels or says why not. Strict decoding differs only in refusing damage.
pub fn decode(bytes: &[u8]) {
    let mut choice = Choice::from_bytes(bytes);
    let options = DecodeOptions::default().limits(limits()).format(choice.format()).scale(choice.scale());
    let Some(image) = decode_image(bytes, &options) else { return };
    assert_eq!(image.pixels.len(), image.report.layout.required_len());
    assert!(image.report.valid_rows <= image.report.region.rect().height);
    let strict = decode_image(bytes, &options.strictness(Strictness::Strict));
    match strict {
        Some(strict) => assert_eq!(strict.pixels, image.pixels),
        None => assert!(image.report.is_damaged()),
    }
}

/// Any region under any orientation equals the crop of the whole picture, also in damaged files.
pub fn region_equals_crop(bytes: &[u8]) {
    let mut choice = Choice::from_bytes(bytes);
    let format = [PixelFormat::Rgb8, PixelFormat::Gray8, PixelFormat::Rgba8][choice.below(3) as usize];
    let orientation = Orientation::ALL[choice.below(8) as usize];
    let options = DecodeOptions::default()
        .limits(limits())
        .format(format)
        .scale(choice.scale())
        .orientation(OrientationPolicy::Set(orientation));
    let Some(whole) = decode_image(bytes, &options) else { return };
    let size = whole.size();
    let (x, y) = (choice.below(size.width), choice.below(size.height));
    let (width, height) = (1 + choice.below(size.width - x), 1 + choice.below(size.height - y));
    let region = decode_image(bytes, &options.region(DisplayRect::new(x, y, width, height)))
        .expect("a region of a picture that decodes decodes");
    let pixel = format.bytes_per_pixel();
    let (row, from) = (width as usize * pixel, x as usize * pixel);
    for (index, region_row) in region.pixels.chunks_exact(row).enumerate() {
        let start = (y as usize + index) * size.width as usize * pixel + from;
        assert!(
            region_row == &whole.pixels[start..start + row],
            "row {index} of {width}x{height}+{x}+{y} under {orientation:?} as {format} at {}",
            options.scale
        );
    }
}

/// What several threads decode is what one does, damage that goes unnoticed included; they leave files with noticed
/// damage to one.
pub fn pieces_equal_whole(bytes: &[u8]) {
    let mut choice = Choice::from_bytes(bytes);
    let orientation = Orientation::ALL[choice.below(8) as usize];
    let options = DecodeOptions::default()
        .limits(limits())
        .format(choice.format())
        .scale(choice.scale())
        .orientation(OrientationPolicy::Set(orientation));
    let Ok(codestream) = Codestream::parse(bytes, &options.limits) else { return };
    let Ok(plan) = DecodePlan::new(&codestream, &options) else { return };
    let (pieces, rows) = (2 + choice.below(6) as usize, 1 + choice.below(40) as usize);
    let Ok(Some(parallel)) = cpu::decode_in_pieces(&plan, pieces, rows) else { return };
    let serial = cpu::decode(&plan).expect("what pieces give, the whole gives");
    assert_eq!(parallel.report, serial.report, "{pieces} pieces, bands of {rows} rows");
    assert!(parallel.pixels == serial.pixels, "{pieces} pieces, bands of {rows} rows");
}

/// A region is the same with an index and without.
pub fn index_changes_nothing(bytes: &[u8]) {
    let mut choice = Choice::from_bytes(bytes);
    let Ok(codestream) = Codestream::parse(bytes, &limits()) else { return };
    let Some(index) = CodestreamIndex::build(&codestream) else { return };
    let rect = DisplayRect::new(choice.below(32), choice.below(32), 1 + choice.below(64), 1 + choice.below(64));
    let options = DecodeOptions::default().limits(limits()).format(choice.format()).scale(choice.scale()).region(rect);
    let Ok(plan) = DecodePlan::new(&codestream, &options) else { return };
    let without = cpu::decode(&plan);
    let with = cpu::decode(&plan.with_index(&index).expect("made for this file"));
    match (with, without) {
        (Ok(with), Ok(without)) => {
            assert_eq!(with.report, without.report, "{rect:?}");
            assert!(with.pixels == without.pixels, "{rect:?}");
        }
        (with, without) => assert_eq!(with.err(), without.err(), "{rect:?}"),
    }
}

/// What the passes of GPU backends find is what the serial decoder finds, or flagged; nothing that it would warn of goes
/// without a flag.
pub fn subsequences_equal_whole(bytes: &[u8]) {
    let mut choice = Choice::from_bytes(bytes);
    let mut options = DecodeOptions::default().limits(limits()).format(choice.format()).scale(choice.scale());
    if choice.below(2) == 0 {
        let rect = DisplayRect::new(choice.below(32), choice.below(32), 1 + choice.below(64), 1 + choice.below(64));
        options = options.region(rect);
    }
    let Ok(codestream) = Codestream::parse(bytes, &options.limits) else { return };
    let Ok(plan) = DecodePlan::new(&codestream, &options) else { return };
    let subsequence_bytes = [16, 32, 128][choice.below(3) as usize];
    let Ok(decoded) = subsequences::decode(&plan, subsequence_bytes) else { return };
    if decoded.flags != Flags::default() {
        return;
    }
    let mut serial = PackedCoefficients::default();
    let report = pack_coefficients(&plan, &mut serial).expect("what has no flag has no damage");
    assert_eq!(decoded.first_difference(&serial), None, "subsequences of {subsequence_bytes} bytes");
    assert_eq!(report.warnings, codestream.warnings());
    assert_eq!(report.valid_rows, plan.region().rect().height);
}

/// Any request gives the same pixels or the same error on the GPU as on the CPU, also for damaged files.
///
/// # Panics
/// Also if no GPU can be opened.
#[cfg(feature = "wgpu")]
pub fn gpu_equals_cpu(bytes: &[u8]) {
    use std::sync::OnceLock;

    use isopel_wgpu::{EntropyDecoding, WgpuBackend, WgpuOptions};

    static BACKENDS: [OnceLock<WgpuBackend>; 2] = [OnceLock::new(), OnceLock::new()];
    let mut choice = Choice::from_bytes(bytes);
    // Half of the inputs have their entropy decoded by shaders.
    let way = choice.below(2) as usize;
    let entropy = [EntropyDecoding::Cpu, EntropyDecoding::Gpu][way];
    let open = || WgpuBackend::with_options(&WgpuOptions::default().entropy(entropy));
    let backend = BACKENDS[way].get_or_init(|| open().unwrap_or_else(|error| panic!("no wgpu: {error}")));
    let orientation = Orientation::ALL[choice.below(8) as usize];
    let mut options = DecodeOptions::default()
        .limits(limits())
        .format(choice.format())
        .scale(choice.scale())
        .orientation(OrientationPolicy::Set(orientation));
    if choice.below(2) == 0 {
        let rect = DisplayRect::new(choice.below(32), choice.below(32), 1 + choice.below(64), 1 + choice.below(64));
        options = options.region(rect);
    }
    let on_cpu = Codestream::parse(bytes, &options.limits)
        .and_then(|codestream| cpu::decode(&DecodePlan::new(&codestream, &options)?));
    match (on_cpu, backend.decode(bytes, &options)) {
        (Ok(mut on_cpu), Ok(on_gpu)) => {
            on_cpu.report.route = on_gpu.report.route;
            assert!(on_cpu.pixels == on_gpu.pixels, "pixels differ with {options:?}");
            assert_eq!(on_cpu.report, on_gpu.report);
        }
        (on_cpu, on_gpu) => assert_eq!(on_cpu.err(), on_gpu.err(), "{options:?}"),
    }
}

fn decode_image(bytes: &[u8], options: &DecodeOptions) -> Option<Image> {
    let codestream = Codestream::parse(bytes, &options.limits).ok()?;
    let plan = DecodePlan::new(&codestream, options).ok()?;
    cpu::decode(&plan).ok()
}

/// Choices that depend on nothing but the input, so that every finding repeats.
struct Choice(Random);

impl Choice {
    fn from_bytes(bytes: &[u8]) -> Self {
        let hash = bytes
            .iter()
            .fold(0xCBF2_9CE4_8422_2325, |hash: u64, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3));
        Choice(Random::new(hash))
    }

    fn below(&mut self, end: u32) -> u32 {
        self.0.below(u64::from(end)) as u32
    }

    /// Mostly small numbers, sometimes extreme ones.
    fn any(&mut self) -> u32 {
        match self.0.below(8) {
            0 => u32::MAX - self.below(4),
            1 => self.below(70_000),
            _ => self.below(64),
        }
    }

    /// Every second time full size.
    fn scale(&mut self) -> Scale {
        Scale::ALL[(self.below(6) as usize).saturating_sub(2)]
    }

    fn format(&mut self) -> PixelFormat {
        PixelFormat::ALL[self.below(PixelFormat::ALL.len() as u32) as usize]
    }
}

/// A small reproducible generator (a Weyl sequence with mixing).
pub struct Random(u64);

impl Random {
    /// The same seed gives the same numbers everywhere.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    /// A number from 0 to `end - 1`; `end` must not be 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.number() % end
    }
}
