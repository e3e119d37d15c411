//! Parsing: file bytes to a [`Codestream`], without decoding a coefficient.
//!
//! Input: the file. Output: frame, scans with the tables in force at each, byte ranges, orientation, colour
//! model. The rules are T.81 Annex B, and where files break them, libjpeg-turbo's.

mod app;
mod frame;
mod marker;
mod reader;
mod restart;
mod scan;
pub(crate) mod stuffing;
mod tables;

pub use app::{Adobe, Jfif};
pub use frame::{CodingProcess, Component, Frame, Sampling};
pub use marker::Marker;
pub use restart::RestartIndex;
pub use scan::{Scan, ScanComponent};
pub use tables::{HuffmanClass, HuffmanSpec, QuantTable};

pub(crate) use scan::CoefficientPrecision;
pub use tables::ZIGZAG;

use std::fmt;

use crate::error::{Error, FormatError, FormatErrorKind};
use crate::geometry::Size;
use crate::limits::Limits;
use crate::orientation::Orientation;
use crate::warning::{Warning, Warnings};
use app::{IccChunk, assemble_icc, exif_orientation};
use reader::{Reader, Segment};
use restart::find_scan_end;
use tables::{default_huffman, read_dht, read_dqt, read_dri};

/// The colour model of the stored components.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ColorModel {
    /// One component.
    Gray,
    /// Y, Cb, Cr.
    YCbCr,
    /// R, G, B.
    Rgb,
    /// C, M, Y, K; Adobe's files have 255 for no ink.
    Cmyk,
    /// C, M, Y coded as Y, Cb, Cr, and K.
    Ycck,
    /// Two components of unknown meaning.
    Unknown,
}

impl ColorModel {
    /// The usual name, such as `YCbCr`.
    pub fn name(self) -> &'static str {
        match self {
            ColorModel::Gray => "gray",
            ColorModel::YCbCr => "YCbCr",
            ColorModel::Rgb => "RGB",
            ColorModel::Cmyk => "CMYK",
            ColorModel::Ycck => "YCCK",
            ColorModel::Unknown => "unknown",
        }
    }
}

impl fmt::Display for ColorModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A parsed JPEG file. Borrows the file's bytes; holds no coefficients.
///
/// ```
/// use isopel_core::{Codestream, Limits};
/// # let bytes = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../samples/photo.jpg")).unwrap();
/// let codestream = Codestream::parse(&bytes, &Limits::default())?;
/// println!("{} {}", codestream.display_size(), codestream.color_model());
/// for scan in codestream.scans() {
///     println!("scan data at {:?}", scan.data);
/// }
/// # Ok::<(), isopel_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Codestream<'a> {
    bytes: &'a [u8],
    frame: Frame,
    scans: Vec<Scan>,
    huffman_tables: Vec<HuffmanSpec>,
    /// Each component's table at its first scan; later redefinitions do not count.
    quant_tables: Vec<Option<QuantTable>>,
    precision: Vec<CoefficientPrecision>,
    jfif: Option<Jfif>,
    adobe: Option<Adobe>,
    orientation: Orientation,
    color_model: ColorModel,
    icc_chunks: Vec<IccChunk<'a>>,
    comments: Vec<&'a [u8]>,
    restart_interval: u16,
    warnings: Warnings,
    consumed: usize,
}

impl<'a> Codestream<'a> {
    /// Parses a whole file: every marker up to the end of the image.
    ///
    /// # Errors
    /// [`Error::Format`] for what is no valid JPEG, [`Error::Unsupported`] for coding processes that isopel
    /// does not decode, [`Error::Limit`] for files that would cost more than `limits` allow.
    pub fn parse(bytes: &'a [u8], limits: &Limits) -> Result<Codestream<'a>, Error> {
        Parser::new(bytes, limits, Extent::Whole).parse()
    }

    /// Parses up to the first scan only, in microseconds: size, coding process, components, orientation and
    /// colour are known, the scans are not (there is one, without data, to show that the image has begun).
    ///
    /// # Errors
    /// As [`Codestream::parse`], for what comes before the first scan's data.
    pub fn parse_header(bytes: &'a [u8], limits: &Limits) -> Result<Codestream<'a>, Error> {
        Parser::new(bytes, limits, Extent::Header).parse()
    }

    /// The file's bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The frame: size, coding process and components.
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    /// The scans in file order. A sequential image whose first scan has all components has only that one.
    pub fn scans(&self) -> &[Scan] {
        &self.scans
    }

    /// All Huffman tables that any DHT segment (or the defaults for Motion JPEG) defined, in file order.
    pub fn huffman_tables(&self) -> &[HuffmanSpec] {
        &self.huffman_tables
    }

    /// The quantization table of a component; `None` if no scan carries it.
    pub fn quant_table(&self, component: usize) -> Option<&QuantTable> {
        self.quant_tables[component].as_ref()
    }

    /// Size in pixels as stored.
    pub fn stored_size(&self) -> Size {
        self.frame.size
    }

    /// Size in pixels after the EXIF orientation.
    pub fn display_size(&self) -> Size {
        self.orientation.map_size(self.frame.size)
    }

    /// The EXIF orientation; [`Orientation::Normal`] if there is none or it is invalid.
    pub fn orientation(&self) -> Orientation {
        self.orientation
    }

    /// The colour model, by libjpeg's rules: JFIF, then Adobe, then component identifiers.
    pub fn color_model(&self) -> ColorModel {
        self.color_model
    }

    /// The JFIF segment, if there is one.
    pub fn jfif(&self) -> Option<Jfif> {
        self.jfif
    }

    /// The Adobe segment, if there is one.
    pub fn adobe(&self) -> Option<Adobe> {
        self.adobe
    }

    /// The comments' bytes, in file order.
    pub fn comments(&self) -> &[&'a [u8]] {
        &self.comments
    }

    /// MCUs per restart interval at the first scan, 0 for none.
    pub fn restart_interval(&self) -> u16 {
        self.restart_interval
    }

    /// The ICC profile, put together from its segments. `None` if there is none or it is incomplete.
    pub fn icc_profile(&self) -> Option<Vec<u8>> {
        assemble_icc(&self.icc_chunks)
    }

    /// The restart intervals of a scan.
    pub fn restart_index(&self, scan: &Scan) -> RestartIndex {
        RestartIndex::new(self.bytes, scan.data.clone())
    }

    /// What was untidy so far. Decoding may find more.
    pub fn warnings(&self) -> Vec<Warning> {
        self.warnings.clone().into_vec()
    }

    /// Bytes from the start of the file to the end of the image; what follows is somebody else's.
    pub fn consumed(&self) -> usize {
        self.consumed
    }

    /// Whether every bit of every coefficient has been sent. Progressive files may stop before.
    pub fn is_complete(&self) -> bool {
        !self.frame.is_progressive()
            || self.precision.iter().all(|component| component.unknown_bits.iter().all(|&bits| bits == 0))
    }

    pub(crate) fn precision(&self, component: usize) -> &CoefficientPrecision {
        &self.precision[component]
    }

    pub(crate) fn warnings_so_far(&self) -> &Warnings {
        &self.warnings
    }

    /// Whether coefficients have to be stored until the last scan is read.
    pub(crate) fn has_multiple_scans(&self) -> bool {
        self.frame.is_progressive()
            || self.scans.first().is_some_and(|scan| scan.components.len() < self.frame.components.len())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    Header,
    Whole,
}

/// What the segments have defined so far.
struct Parser<'a, 'l> {
    bytes: &'a [u8],
    limits: &'l Limits,
    extent: Extent,
    reader: Reader<'a>,
    frame: Option<Frame>,
    scans: Vec<Scan>,
    huffman_tables: Vec<HuffmanSpec>,
    /// Indices into `huffman_tables`, by class and selector.
    huffman_slots: [[Option<usize>; 4]; 2],
    quant_slots: [Option<QuantTable>; 4],
    quant_tables: Vec<Option<QuantTable>>,
    precision: Vec<CoefficientPrecision>,
    restart_interval: u16,
    first_restart_interval: u16,
    jfif: Option<Jfif>,
    adobe: Option<Adobe>,
    orientation: Option<Orientation>,
    icc_chunks: Vec<IccChunk<'a>>,
    comments: Vec<&'a [u8]>,
    metadata_bytes: u64,
    work: u64,
    warnings: Warnings,
}

impl<'a, 'l> Parser<'a, 'l> {
    fn new(bytes: &'a [u8], limits: &'l Limits, extent: Extent) -> Self {
        Parser {
            bytes,
            limits,
            extent,
            reader: Reader::new(bytes, 0),
            frame: None,
            scans: Vec::new(),
            huffman_tables: Vec::new(),
            huffman_slots: [[None; 4]; 2],
            quant_slots: [None; 4],
            quant_tables: Vec::new(),
            precision: Vec::new(),
            restart_interval: 0,
            first_restart_interval: 0,
            jfif: None,
            adobe: None,
            orientation: None,
            icc_chunks: Vec::new(),
            comments: Vec::new(),
            metadata_bytes: 0,
            work: 0,
            warnings: Warnings::default(),
        }
    }

    fn parse(mut self) -> Result<Codestream<'a>, Error> {
        match self.bytes {
            [] => return Err(FormatError::new(FormatErrorKind::Empty, 0, None).into()),
            [0xFF, 0xD8, ..] => self.reader.seek(2),
            _ => return Err(FormatError::new(FormatErrorKind::NotJpeg, 0, None).into()),
        }
        loop {
            let image_complete = self.has_whole_sequential_image();
            match self.read_one_segment() {
                Ok(Progress::Continue) => {}
                Ok(Progress::ScanRead) if self.extent == Extent::Header => break,
                Ok(Progress::ScanRead) => {}
                Ok(Progress::End) => break,
                // The pixels are all there: what follows can only be untidy, and libjpeg-turbo, too, has put
                // them out before it looks.
                Err(Error::Format(error)) if image_complete => {
                    self.warnings.push(Warning::AfterImage {
                        kind: error.kind().clone(),
                        offset: error.offset(),
                        marker: error.marker(),
                    });
                    break;
                }
                Err(Error::Unsupported(unsupported)) if image_complete => {
                    let offset = self.reader.position();
                    let (kind, marker) = (FormatErrorKind::UnexpectedMarker, Error::from(unsupported).marker());
                    self.warnings.push(Warning::AfterImage { kind, offset, marker });
                    break;
                }
                // A progressive file that ends within a segment ends early, like one that ends between them.
                Err(Error::Format(error)) if *error.kind() == FormatErrorKind::Truncated && !self.scans.is_empty() => {
                    self.warnings.push(Warning::MissingEoi { offset: self.bytes.len() });
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        self.finish()
    }

    fn has_whole_sequential_image(&self) -> bool {
        match (&self.frame, self.scans.first()) {
            (Some(frame), Some(scan)) => !frame.is_progressive() && scan.components.len() == frame.components.len(),
            _ => false,
        }
    }

    fn read_one_segment(&mut self) -> Result<Progress, Error> {
        let Some(found) = self.reader.next_marker() else {
            if self.scans.is_empty() {
                return Err(FormatError::new(FormatErrorKind::Truncated, self.bytes.len(), None).into());
            }
            self.warnings.push(Warning::MissingEoi { offset: self.bytes.len() });
            return Ok(Progress::End);
        };
        let (marker, offset) = (found.marker, found.offset);
        if found.stray_bytes > 0 {
            self.warnings.push(Warning::StrayBytes { count: found.stray_bytes, marker, offset });
        }
        let error = |kind| Err(FormatError::new(kind, offset, Some(marker)).into());

        if let Some(process) = Frame::process_of(marker, offset) {
            let process = process?;
            if self.frame.is_some() {
                return error(FormatErrorKind::DuplicateSof);
            }
            let segment = self.reader.segment(marker, offset)?;
            let frame = Frame::read(&segment, process)?;
            self.quant_tables = vec![None; frame.components.len()];
            self.precision = vec![CoefficientPrecision::nothing_known(); frame.components.len()];
            self.frame = Some(frame);
            return Ok(Progress::Continue);
        }
        match marker {
            Marker::SOI => error(FormatErrorKind::DuplicateSoi),
            Marker::EOI if self.scans.is_empty() => error(FormatErrorKind::NoImage),
            Marker::EOI => Ok(Progress::End),
            Marker::SOS => {
                let segment = self.reader.segment(marker, offset)?;
                self.read_scan(&segment)?;
                Ok(Progress::ScanRead)
            }
            Marker::TEM => Ok(Progress::Continue),
            _ if marker.restart_number().is_some() => Ok(Progress::Continue),
            // Reserved codes might have any length: going on would be guessing.
            _ if marker.is_below_sof() => error(FormatErrorKind::UnexpectedMarker),
            _ => {
                let segment = self.reader.segment(marker, offset)?;
                self.read_tables_or_metadata(&segment)?;
                Ok(Progress::Continue)
            }
        }
    }

    fn read_tables_or_metadata(&mut self, segment: &Segment<'a>) -> Result<(), Error> {
        match segment.marker {
            Marker::DQT => read_dqt(segment, |selector, table| self.quant_slots[selector] = Some(table))?,
            Marker::DHT => read_dht(segment, |class, selector, table| {
                self.huffman_slots[class as usize][selector] = Some(self.huffman_tables.len());
                self.huffman_tables.push(table);
            })?,
            Marker::DRI => self.restart_interval = read_dri(segment)?,
            Marker::COM => {
                self.charge_metadata(segment)?;
                self.comments.push(segment.contents);
            }
            _ if segment.marker.app_number().is_some() => {
                self.charge_metadata(segment)?;
                // What comes after the first scan describes something else (T.81 puts it before the frame).
                if self.scans.is_empty() {
                    self.read_app(segment);
                }
            }
            // DNL outside its place, DAC: nothing to learn from them.
            _ => {}
        }
        Ok(())
    }

    fn charge_metadata(&mut self, segment: &Segment) -> Result<(), Error> {
        self.metadata_bytes += segment.contents.len() as u64;
        Ok(self.limits.check_metadata(self.metadata_bytes)?)
    }

    fn read_app(&mut self, segment: &Segment<'a>) {
        match segment.marker.app_number() {
            Some(0) => {
                if let Some(jfif) = Jfif::read(segment) {
                    if jfif.major != 1 {
                        self.warnings.push(Warning::JfifVersion { major: jfif.major, minor: jfif.minor });
                    }
                    self.jfif = Some(jfif);
                }
            }
            // The first Exif segment counts.
            Some(1) => self.orientation = self.orientation.or_else(|| exif_orientation(segment)),
            Some(2) => self.icc_chunks.extend(IccChunk::read(segment)),
            Some(14) => self.adobe = Adobe::read(segment).or(self.adobe),
            _ => {}
        }
    }

    fn read_scan(&mut self, segment: &Segment<'a>) -> Result<(), Error> {
        let Some(frame) = &self.frame else {
            return Err(segment.error(FormatErrorKind::ScanBeforeFrame).into());
        };
        if self.has_whole_sequential_image() {
            return Err(segment.error(FormatErrorKind::UnexpectedMarker).into());
        }
        let progressive = frame.is_progressive();
        let mut scan = Scan::read(segment, frame)?;
        let blocks_per_mcu = scan.blocks_per_mcu(frame);
        if blocks_per_mcu > 10 {
            return Err(segment.error(FormatErrorKind::McuTooLarge { blocks: blocks_per_mcu }).into());
        }
        if progressive {
            scan.check_progressive().map_err(|kind| segment.error(kind))?;
        } else if (scan.spectral_start, scan.spectral_end, scan.approximation_high, scan.approximation_low)
            != (0, 63, 0, 0)
        {
            self.warnings.push(Warning::SpectralSelectionIgnored { offset: segment.offset });
        }
        scan.restart_interval = self.restart_interval;
        // A header query must not read megabytes of scan data, unless it has to look for the height.
        if self.extent == Extent::Whole || frame.size.height == 0 {
            (scan.data, scan.end) = find_scan_end(self.bytes, self.reader.position(), self.restart_interval);
            self.reader.seek(scan.data.end);
        }
        if self.scans.is_empty() {
            self.first_restart_interval = self.restart_interval;
            self.settle_height(&scan, segment)?;
        }
        self.resolve_tables(&mut scan, segment)?;

        let frame = self.frame.as_ref().expect("checked above");
        self.work += scan.block_count(frame);
        self.limits.check_work(self.scans.len() + 1, self.work)?;
        self.scans.push(scan);
        let scan = &self.scans[self.scans.len() - 1];
        if progressive {
            for part in &scan.components {
                self.precision[part.component].record(scan, part.component, self.scans.len(), &mut self.warnings);
            }
        }
        Ok(())
    }

    /// A height of 0 in the frame header is defined by DNL after the first scan (T.81 B.2.5).
    fn settle_height(&mut self, scan: &Scan, sos: &Segment) -> Result<(), Error> {
        let frame = self.frame.as_mut().expect("a scan follows a frame");
        if frame.size.height == 0 {
            let sof = |kind| FormatError::new(kind, frame.offset, None);
            if scan.end != Some(Marker::DNL) {
                return Err(sof(FormatErrorKind::ZeroDimension).into());
            }
            let mut after = Reader::new(self.bytes, scan.data.end + 2);
            frame.size.height = match after.segment(Marker::DNL, scan.data.end)?.contents {
                &[high, low] => u32::from(u16::from_be_bytes([high, low])),
                _ => return Err(sos.error(FormatErrorKind::BadLength).into()),
            };
            if frame.size.height == 0 {
                return Err(sof(FormatErrorKind::ZeroDimension).into());
            }
        }
        Ok(self.limits.check_pixels(frame.size.pixels(), self.bytes.len() as u64)?)
    }

    /// Fixes the tables in force at this scan: later segments may redefine them.
    fn resolve_tables(&mut self, scan: &mut Scan, segment: &Segment) -> Result<(), Error> {
        let frame = self.frame.as_ref().expect("a scan follows a frame");
        let progressive = frame.is_progressive();
        for part in &mut scan.components {
            let quant_table = &mut self.quant_tables[part.component];
            if quant_table.is_none() {
                let selector = frame.components[part.component].quant_selector;
                let missing = FormatErrorKind::MissingTable { class: "quantization", selector };
                let slot = self.quant_slots.get(usize::from(selector)).copied().flatten();
                *quant_table = Some(slot.ok_or_else(|| segment.error(missing))?);
            }
        }
        for class in [HuffmanClass::Dc, HuffmanClass::Ac] {
            if !scan.needs(class, progressive) {
                continue;
            }
            for index in 0..scan.components.len() {
                let part = scan.components[index];
                let selector = if class == HuffmanClass::Dc { part.dc_selector } else { part.ac_selector };
                let table = self.huffman_table(class, selector, progressive, segment)?;
                let part = &mut scan.components[index];
                if class == HuffmanClass::Dc {
                    part.dc_table = Some(table);
                } else {
                    part.ac_table = Some(table);
                }
            }
        }
        Ok(())
    }

    fn huffman_table(
        &mut self,
        class: HuffmanClass,
        selector: u8,
        progressive: bool,
        segment: &Segment,
    ) -> Result<usize, FormatError> {
        let missing = || segment.error(FormatErrorKind::MissingTable { class: class.table_name(), selector });
        let slot = usize::from(selector);
        let index = match *self.huffman_slots[class as usize].get(slot).ok_or_else(missing)? {
            Some(index) => index,
            // Frames of Motion JPEG come without tables; libjpeg lends the defaults to sequential files.
            None => {
                let table = if progressive { None } else { default_huffman(class, slot) };
                self.huffman_tables.push(table.ok_or_else(missing)?);
                let index = self.huffman_tables.len() - 1;
                self.huffman_slots[class as usize][slot] = Some(index);
                index
            }
        };
        if !self.huffman_tables[index].is_valid(class) {
            return Err(segment.error(FormatErrorKind::BadHuffmanTable));
        }
        Ok(index)
    }

    fn finish(mut self) -> Result<Codestream<'a>, Error> {
        let frame = self.frame.expect("the loop ends only after a scan");
        let color_model = guess_color_model(&frame, self.jfif, self.adobe, &mut self.warnings);
        if !self.icc_chunks.is_empty() && assemble_icc(&self.icc_chunks).is_none() {
            self.warnings.push(Warning::IccIncomplete);
        }
        if self.extent == Extent::Whole {
            for (component, _) in self.quant_tables.iter().enumerate().filter(|(_, table)| table.is_none()) {
                self.warnings.push(Warning::ComponentMissing { component: component as u8 });
            }
        }
        Ok(Codestream {
            bytes: self.bytes,
            frame,
            scans: self.scans,
            huffman_tables: self.huffman_tables,
            quant_tables: self.quant_tables,
            precision: self.precision,
            jfif: self.jfif,
            adobe: self.adobe,
            orientation: self.orientation.unwrap_or_default(),
            color_model,
            icc_chunks: self.icc_chunks,
            comments: self.comments,
            restart_interval: self.first_restart_interval,
            warnings: self.warnings,
            consumed: self.reader.position(),
        })
    }
}

enum Progress {
    Continue,
    ScanRead,
    End,
}

/// libjpeg's rules (its `default_decompress_parms`): with three components JFIF means YCbCr, else Adobe's
/// transform decides, else the identifiers 'R', 'G', 'B'; with four only Adobe's transform counts.
fn guess_color_model(frame: &Frame, jfif: Option<Jfif>, adobe: Option<Adobe>, warnings: &mut Warnings) -> ColorModel {
    let mut unknown_transform = |transform, assumed| {
        warnings.push(Warning::AdobeTransform { transform });
        assumed
    };
    match (frame.components.len(), adobe.map(|adobe| adobe.transform)) {
        (1, _) => ColorModel::Gray,
        (3, _) if jfif.is_some() => ColorModel::YCbCr,
        (3, Some(0)) => ColorModel::Rgb,
        (3, Some(1)) => ColorModel::YCbCr,
        (3, Some(transform)) => unknown_transform(transform, ColorModel::YCbCr),
        (3, None) => {
            let ids: Vec<u8> = frame.components.iter().map(|component| component.id).collect();
            if ids == *b"RGB" { ColorModel::Rgb } else { ColorModel::YCbCr }
        }
        (4, None | Some(0)) => ColorModel::Cmyk,
        (4, Some(2)) => ColorModel::Ycck,
        (4, Some(transform)) => unknown_transform(transform, ColorModel::Ycck),
        _ => ColorModel::Unknown,
    }
}

#[cfg(test)]
mod tests;
