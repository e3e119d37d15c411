//! What the last stages write: a tile's planes of pixels, and which invocations write which words of them.

use isopel_core::{
    DecodePlan, Orientation, PixelFormat, PixelLayout, PlaneWriting, Rect, Size, StoredRect, Upsampling,
};

use crate::layout::{Color, Output};

/// One plane of pixels of a tile.
#[derive(Debug, Clone)]
pub(crate) struct TileOutput {
    /// Byte of the layout at which its first row begins, and bytes from one row to the next.
    pub(crate) first_byte: u64,
    pub(crate) stride: u64,
    /// Display rows of the whole picture's plane.
    pub(crate) rows: std::ops::Range<u32>,
    /// Whether it is RGB8 or RGBA8 made of YCbCr 4:2:0.
    usual: bool,
    /// Its place in a target is still to be filled in.
    words: Output,
}

/// A stage that writes pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writer {
    /// `orient`, word by word.
    Words,
    /// `orient_quads`, with its override constants.
    Quads {
        /// Along the columns of the stored picture.
        turned: bool,
        /// Outputs of the usual kind.
        usual: bool,
    },
    /// `orient_420`, two rows of eight pixels at a time: of the usual kind, upright, in whole words.
    Pairs,
}

impl Writer {
    /// In the order of the dispatches.
    pub(crate) const ALL: [Writer; 6] = [
        Writer::Pairs,
        Writer::Quads { turned: false, usual: false },
        Writer::Quads { turned: false, usual: true },
        Writer::Quads { turned: true, usual: false },
        Writer::Quads { turned: true, usual: true },
        Writer::Words,
    ];
}

impl TileOutput {
    /// One plane of a band of a picture. `layout` is the whole's, or the band's own if `own_layout`.
    pub(crate) fn new(
        whole: &DecodePlan,
        band: &DecodePlan,
        layout: &PixelLayout,
        own_layout: bool,
        plane: usize,
    ) -> Self {
        let format = layout.format();
        let PlaneWriting { conversion: color, channels, component, .. } = PlaneWriting::new(whole, plane);
        let (region, orientation) = (whole.plane_region(plane), whole.orientation());
        let rows = band_rows(region, band.plane_region(plane), orientation);
        let place = layout.planes()[plane];
        let stored = |x: u32, y: u32| {
            let (x, y) = orientation.unmap_point(x, y, region.size());
            (region.x.wrapping_add(x) as i32, region.y.wrapping_add(y) as i32)
        };
        let (origin_x, origin_y) = stored(0, rows.start);
        let step = |(x, y): (i32, i32)| (x.wrapping_sub(origin_x), y.wrapping_sub(origin_y));
        let (across_x, across_y) = step(stored(1, rows.start));
        let (down_x, down_y) = step(stored(0, rows.start + 1));
        let first_row = if own_layout { 0 } else { rows.start };
        let words = Output {
            first_group: 0,
            items: 0,
            start: 0,
            stride: 0,
            width: place.size.width,
            rows: rows.len() as u32,
            bytes_per_pixel: format.bytes_per_pixel() as u32,
            quads: 0,
            origin_x,
            origin_y,
            across_x,
            across_y,
            down_x,
            down_y,
            color: color as u32,
            channels: u32::from_le_bytes(channels),
            component: component as u32,
        };
        TileOutput {
            first_byte: (place.offset + first_row as usize * place.stride) as u64,
            stride: place.stride as u64,
            rows,
            usual: matches!(format, PixelFormat::Rgb8 | PixelFormat::Rgba8) && color == Color::Ycc && is_420(whole),
            words,
        }
    }

    /// The same bytes of the target, each a sample of a component that has this output's rows one below the other.
    pub(crate) fn copied_from(self, component: u32) -> Self {
        let words = Output {
            width: self.row_bytes() as u32,
            bytes_per_pixel: 1,
            origin_x: 0,
            origin_y: 0,
            across_x: 1,
            across_y: 0,
            down_x: 0,
            down_y: 1,
            color: Color::Gray as u32,
            channels: 0,
            component,
            ..self.words
        };
        TileOutput { usual: false, words, ..self }
    }

    pub(crate) fn row_bytes(&self) -> u64 {
        u64::from(self.words.width) * u64::from(self.words.bytes_per_pixel)
    }

    /// Bytes from its first pixel to its last, gaps between rows included.
    pub(crate) fn len(&self) -> u64 {
        u64::from(self.words.rows - 1) * self.stride + self.row_bytes()
    }

    /// What writes it, if its first row begins at byte `start` of a binding that holds it whole.
    pub(crate) fn writers(&self, start: u64, first_component: u32) -> Vec<(Writer, Output)> {
        let placed = Output {
            start: start as u32,
            // Of a single row no stride is needed, and it may be any number.
            stride: if self.words.rows == 1 { self.row_bytes() } else { self.stride } as u32,
            component: self.words.component + first_component,
            ..self.words
        };
        let (start, stride, pixel) = (placed.start, placed.stride, placed.bytes_per_pixel);
        let rows_begin_with_words = start.is_multiple_of(4) && (placed.rows == 1 || stride.is_multiple_of(4));
        // Up to 3 pixels come before the first quad. Pixels of 4 bytes may all lie across words.
        if placed.width < 7 || pixel == 4 && !rows_begin_with_words {
            let end = u64::from(start) + self.len();
            return vec![(Writer::Words, Output { items: end.div_ceil(4) as u32 - start / 4, ..placed })];
        }
        let fills_its_words = rows_begin_with_words && placed.width.is_multiple_of(4);
        let is_upright = (placed.across_x, placed.down_y) == (1, 1);
        if self.usual && fills_its_words && is_upright && placed.origin_x % 8 == 0 {
            return vec![(
                Writer::Pairs,
                Output { items: placed.width.div_ceil(8) * pairs_of_rows(&placed), ..placed },
            )];
        }
        let placed = Output { quads: placed.width / 4, ..placed };
        let turned = placed.across_x == 0;
        // Turned pictures are written in blocks of 8 quads and 16 rows.
        let items = match turned {
            true => placed.quads.div_ceil(8) * placed.rows.div_ceil(16) * 128,
            false => placed.quads * placed.rows,
        };
        let mut writers = vec![(Writer::Quads { turned, usual: self.usual }, Output { items, ..placed })];
        if !fills_its_words {
            // Between the quads of each two rows, before the first and behind the last.
            writers.push((Writer::Words, Output { items: (placed.rows + 1) * 8, ..placed }));
        }
        writers
    }
}

/// Pairs of an odd stored row and the next that an upright output has rows of.
fn pairs_of_rows(output: &Output) -> u32 {
    let first = output.origin_y as u32;
    (first + output.rows) / 2 - first.div_ceil(2) + 1
}

fn is_420(plan: &DecodePlan) -> bool {
    let filters: Vec<Upsampling> = plan.components().iter().map(|component| component.upsampling).collect();
    filters == [Upsampling::None, Upsampling::TriangleH2V2, Upsampling::TriangleH2V2]
}

/// Display rows of a band within the whole, for one plane.
fn band_rows(whole: Rect, band: Rect, orientation: Orientation) -> std::ops::Range<u32> {
    let within = StoredRect::new(band.x - whole.x, band.y - whole.y, band.width, band.height);
    let display = orientation.map_rect(within, Size::new(whole.width, whole.height)).rect();
    display.y..display.y + display.height
}
