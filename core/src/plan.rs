//! Planning: request and codestream to what has to be decoded. All validation happens here, once, before any
//! backend; backends receive a plan and need not check it again.

mod mcu_grid;
mod output;
mod region;
mod writing;

pub use mcu_grid::{ComponentPlan, McuWindow};
use output::SampleGrid;
pub use output::Upsampling;
pub use writing::{Conversion, PlaneWriting};

use crate::codestream::{Codestream, ColorModel};
use crate::entropy::CodestreamIndex;
use crate::error::{Error, LimitError, MisuseError, Unsupported};
use crate::geometry::{DisplayRect, Rect, Size, StoredRect};
use crate::limits::Limits;
use crate::options::{DecodeOptions, Strictness};
use crate::orientation::{Orientation, OrientationPolicy};
use crate::pixels::{PixelFormat, PixelLayout};
use crate::scale::Scale;

/// What has to be decoded for a request: which MCUs, which components, which pixels in which format.
///
/// ```
/// use isopel_core::{Codestream, DecodeOptions, DecodePlan, DisplayRect, Limits};
/// # let bytes = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../samples/photo.jpg")).unwrap();
/// let codestream = Codestream::parse(&bytes, &Limits::default())?;
/// let options = DecodeOptions::default().region(DisplayRect::new(100, 50, 64, 48));
/// let plan = DecodePlan::new(&codestream, &options)?;
/// assert_eq!(plan.layout().required_len(), 64 * 48 * 3);
/// assert!(plan.mcus().columns.len() < 7); // only those around the region
/// # Ok::<(), isopel_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct DecodePlan<'a> {
    codestream: &'a Codestream<'a>,
    scale: Scale,
    region: StoredRect,
    orientation: Orientation,
    strictness: Strictness,
    limits: Limits,
    layout: PixelLayout,
    mcus: McuWindow,
    stored_mcus: McuWindow,
    components: Vec<ComponentPlan>,
    smooth: bool,
    index: Option<&'a CodestreamIndex>,
}

impl<'a> DecodePlan<'a> {
    /// Validates the request against the image.
    ///
    /// # Errors
    /// [`Error::Misuse`] for a region that is empty or outside the image, [`Error::Unsupported`] for a
    /// format that the image can't be given in, [`Error::Limit`] for too much working memory.
    pub fn new(codestream: &'a Codestream<'a>, options: &DecodeOptions) -> Result<Self, Error> {
        let frame = codestream.frame();
        let orientation = options.orientation.resolve(codestream.orientation());
        let scale = options.scale;
        let region = options.region.resolve(scale.of(frame.size), orientation)?;
        options.limits.check_pixels(frame.size.pixels(), codestream.bytes().len() as u64)?;
        let format = output::resolve_format(codestream, options.format)?;
        let grids = SampleGrid::all(frame, scale, format);
        let upsamplings = output::upsamplings(codestream, format, scale, &grids)?;

        let mcus = region::mcus_for(&grids, &upsamplings, region);
        let smooth = mcu_grid::smoothing_applies(codestream);
        // Smoothing looks two blocks around; two MCUs are at least that.
        let stored_mcus = if smooth { mcus.grown(2, frame.mcus()) } else { mcus.clone() };
        let components = (0..frame.components.len())
            .map(|index| ComponentPlan::new(codestream, index, &grids[index], upsamplings[index], region, &mcus))
            .collect::<Vec<_>>();
        let layout = output::packed_layout(&grids, format, region, orientation).ok_or(LimitError::Memory {
            bytes: region.rect().size().pixels().saturating_mul(format.bytes_per_pixel() as u64),
            limit: isize::MAX as u64,
        })?;
        let plan = DecodePlan {
            codestream,
            scale,
            region,
            orientation,
            strictness: options.strictness,
            limits: options.limits,
            layout,
            mcus,
            stored_mcus,
            components,
            smooth,
            index: None,
        };
        plan.limits.check_memory(plan.working_memory())?;
        Ok(plan)
    }

    /// The same plan with an index, by which what comes before its region costs nothing.
    ///
    /// # Errors
    /// [`MisuseError::IndexMismatch`] if the index was made for another file.
    pub fn with_index(mut self, index: &'a CodestreamIndex) -> Result<Self, MisuseError> {
        if !index.matches(self.codestream) {
            return Err(MisuseError::IndexMismatch);
        }
        self.index = Some(index);
        Ok(self)
    }

    pub(crate) fn index(&self) -> Option<&'a CodestreamIndex> {
        self.index
    }

    /// The plan of a band: the same request for fewer rows of the output, counted from its top.
    ///
    /// # Errors
    /// [`Error::Misuse`] if there are no such rows.
    pub fn band(&self, rows: std::ops::Range<u32>) -> Result<Self, Error> {
        let whole = self.orientation.map_rect(self.region, self.stored_size()).rect();
        let band = DisplayRect::new(whole.x, whole.y.saturating_add(rows.start), whole.width, rows.len() as u32);
        let mut options = DecodeOptions::default()
            .region(band)
            .scale(self.scale)
            .orientation(OrientationPolicy::Set(self.orientation))
            .format(self.format())
            .limits(self.limits);
        options.strictness = self.strictness;
        let band = DecodePlan::new(self.codestream, &options)?;
        Ok(DecodePlan { index: self.index, ..band })
    }

    /// The parsed file.
    pub fn codestream(&self) -> &'a Codestream<'a> {
        self.codestream
    }

    /// The size to decode at.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// Width and height of the whole picture at the plan's scale, as stored: what [`region`](Self::region) lies in.
    pub fn stored_size(&self) -> Size {
        self.scale.of(self.codestream.stored_size())
    }

    /// The region in stored coordinates of the scaled picture.
    pub fn region(&self) -> StoredRect {
        self.region
    }

    /// The orientation that is applied in the last write.
    pub fn orientation(&self) -> Orientation {
        self.orientation
    }

    /// The pixel format.
    pub fn format(&self) -> PixelFormat {
        self.layout.format()
    }

    /// The packed layout of the output.
    pub fn layout(&self) -> &PixelLayout {
        &self.layout
    }

    /// Width and height of the output, after orientation.
    pub fn output_size(&self) -> Size {
        self.layout.size()
    }

    /// How many of the file's own pixels the output shows: at a smaller scale more than it has. Most of the work of decoding
    /// is entropy decoding, which grows with these.
    pub fn file_pixels(&self) -> u64 {
        let side = u64::from(self.scale.denominator());
        self.output_size().pixels() * side * side
    }

    /// The interleaved MCUs that are reconstructed: those under the region and under its chroma context.
    pub fn mcus(&self) -> &McuWindow {
        &self.mcus
    }

    /// What each component of the frame contributes.
    pub fn components(&self) -> &[ComponentPlan] {
        &self.components
    }

    /// What each output plane shows, in stored coordinates of that plane: the region's pixels, or for
    /// [`PixelFormat::ComponentPlanes`] the component's samples under it.
    pub fn plane_region(&self, plane: usize) -> Rect {
        match self.format() {
            PixelFormat::ComponentPlanes => self.components[plane].samples,
            _ => self.region.rect(),
        }
    }

    /// Whether damage is an error.
    pub fn strictness(&self) -> Strictness {
        self.strictness
    }

    /// What the image may cost.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Whether libjpeg's block smoothing estimates coefficients that an incomplete progressive file left out.
    pub fn smooths_blocks(&self) -> bool {
        self.smooth
    }

    /// The MCUs whose coefficients are kept when they are kept at all.
    pub(crate) fn stored_mcus(&self) -> &McuWindow {
        &self.stored_mcus
    }

    /// Bytes of coefficients and samples that decoding holds at once, without the output.
    pub fn working_memory(&self) -> u64 {
        let frame = self.codestream.frame();
        let (columns, rows) = (self.stored_mcus.columns.len() as u64, self.stored_mcus.rows.len() as u64);
        let mut bytes = 0;
        for component in &self.components {
            let blocks_per_mcu_row = columns * u64::from(component.sampling.horizontal);
            let sampling_rows = u64::from(component.sampling.vertical);
            // Two MCU rows of samples, and upsampled rows.
            let samples_per_block = u64::from(component.block_size * component.block_size);
            bytes += 2 * samples_per_block * blocks_per_mcu_row * sampling_rows + 8 * u64::from(frame.size.width);
            // Coefficients of one MCU row, or of all.
            let coefficient_rows = if self.codestream.has_multiple_scans() { rows } else { 1 };
            bytes += 129 * blocks_per_mcu_row * sampling_rows * coefficient_rows;
        }
        if frame.is_progressive() && self.stored_mcus != McuWindow::whole(frame.mcus()) {
            let masks: u64 = (0..self.components.len()).map(|index| 8 * frame.blocks(index).pixels()).sum();
            bytes += masks;
        }
        bytes
    }
}

/// The colour model as an error names it.
fn unsupported_conversion(color: ColorModel, format: PixelFormat) -> Error {
    Unsupported::Conversion { color: color.name(), format }.into()
}

/// Formats to decode a file of `count` components to when the caller leaves the choice.
fn source_format(count: usize) -> Option<PixelFormat> {
    match count {
        1 => Some(PixelFormat::Gray8),
        3 => Some(PixelFormat::Rgb8),
        4 => Some(PixelFormat::Cmyk8),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
