//! Pixel formats and how they lie in memory.

use std::fmt;

use crate::error::MisuseError;
use crate::geometry::Size;

/// A format of decoded pixels. All samples are 8 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PixelFormat {
    /// Interleaved red, green, blue: 3 bytes per pixel.
    Rgb8,
    /// Interleaved red, green, blue, 255: 4 bytes per pixel.
    Rgba8,
    /// Interleaved blue, green, red: 3 bytes per pixel.
    Bgr8,
    /// One byte of luma per pixel.
    Gray8,
    /// Three planes, red, green, blue (channels first, as tensors have them).
    Rgb8Planar,
    /// The file's own components as stored, one plane each at its own resolution, without upsampling or
    /// colour conversion: Y, Cb, Cr for most files.
    ComponentPlanes,
    /// Interleaved cyan, magenta, yellow, black as libjpeg-turbo gives them: 4 bytes per pixel. Adobe's
    /// files store them inverted (255 = no ink), and that is left as it is.
    Cmyk8,
}

impl PixelFormat {
    /// All formats.
    pub const ALL: [PixelFormat; 7] = [
        PixelFormat::Rgb8,
        PixelFormat::Rgba8,
        PixelFormat::Bgr8,
        PixelFormat::Gray8,
        PixelFormat::Rgb8Planar,
        PixelFormat::ComponentPlanes,
        PixelFormat::Cmyk8,
    ];

    /// Bytes from one pixel to the next in a row.
    pub fn bytes_per_pixel(self) -> usize {
        match self {
            PixelFormat::Rgb8 | PixelFormat::Bgr8 => 3,
            PixelFormat::Rgba8 | PixelFormat::Cmyk8 => 4,
            PixelFormat::Gray8 | PixelFormat::Rgb8Planar | PixelFormat::ComponentPlanes => 1,
        }
    }

    /// The name used on the command line and in messages, such as `rgb8-planar`.
    pub fn name(self) -> &'static str {
        match self {
            PixelFormat::Rgb8 => "rgb8",
            PixelFormat::Rgba8 => "rgba8",
            PixelFormat::Bgr8 => "bgr8",
            PixelFormat::Gray8 => "gray8",
            PixelFormat::Rgb8Planar => "rgb8-planar",
            PixelFormat::ComponentPlanes => "component-planes",
            PixelFormat::Cmyk8 => "cmyk8",
        }
    }
}

impl fmt::Display for PixelFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The format asked for: a certain one, or whatever comes closest to the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormatRequest {
    /// `Gray8` for one component, `Rgb8` for three, `Cmyk8` for four.
    Source,
    /// This format, whatever the file holds.
    Exactly(PixelFormat),
}

impl Default for FormatRequest {
    fn default() -> Self {
        FormatRequest::Exactly(PixelFormat::Rgb8)
    }
}

/// Where one plane of pixels lies in the output buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlaneLayout {
    /// Byte offset of the plane's first pixel.
    pub offset: usize,
    /// Width and height in pixels of the plane, after orientation.
    pub size: Size,
    /// Bytes from one row to the next.
    pub stride: usize,
}

/// How pixels lie in an output buffer: one plane for interleaved formats, three for
/// [`PixelFormat::Rgb8Planar`], one per component for [`PixelFormat::ComponentPlanes`].
///
/// [`DecodePlan::layout`](crate::DecodePlan::layout) gives the packed layout;
/// [`with_stride`](PixelLayout::with_stride) makes room between the rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PixelLayout {
    format: PixelFormat,
    size: Size,
    planes: Vec<PlaneLayout>,
}

impl PixelLayout {
    /// The layout without gaps for planes of these sizes; `None` if this machine can't address it.
    pub(crate) fn packed(format: PixelFormat, size: Size, plane_sizes: &[Size]) -> Option<Self> {
        let plane = |&size: &Size| PlaneLayout { offset: 0, size, stride: row_bytes(format, size) };
        PixelLayout { format, size, planes: plane_sizes.iter().map(plane).collect() }.with_planes_in_order()
    }

    /// The same pixels with `stride` bytes from one row to the next, in every plane.
    ///
    /// # Errors
    /// [`MisuseError::Stride`] if a row does not fit, [`MisuseError::LayoutTooLarge`] if this machine can't
    /// address the result.
    pub fn with_stride(mut self, stride: usize) -> Result<Self, MisuseError> {
        for plane in &mut self.planes {
            let row = row_bytes(self.format, plane.size);
            if stride < row {
                return Err(MisuseError::Stride { stride, row });
            }
            plane.stride = stride;
        }
        self.with_planes_in_order().ok_or(MisuseError::LayoutTooLarge { stride })
    }

    /// Puts each plane behind the one before.
    fn with_planes_in_order(mut self) -> Option<Self> {
        let mut offset = 0usize;
        for plane in &mut self.planes {
            plane.offset = offset;
            offset = offset.checked_add(plane.stride.checked_mul(plane.size.height as usize)?)?;
        }
        (offset <= isize::MAX as usize).then_some(self)
    }

    /// Whether this is `other` with other strides.
    pub(crate) fn has_pixels_of(&self, other: &PixelLayout) -> bool {
        let sizes = |layout: &PixelLayout| layout.planes.iter().map(|plane| plane.size).collect::<Vec<_>>();
        self.format == other.format && self.size == other.size && sizes(self) == sizes(other)
    }

    /// The pixel format.
    pub fn format(&self) -> PixelFormat {
        self.format
    }

    /// Width and height in pixels, after orientation.
    pub fn size(&self) -> Size {
        self.size
    }

    /// The planes, in the order of the format.
    pub fn planes(&self) -> &[PlaneLayout] {
        &self.planes
    }

    /// Bytes of the buffer that the pixels need. The last row needs no padding.
    pub fn required_len(&self) -> usize {
        self.planes
            .iter()
            .map(|plane| {
                let row = row_bytes(self.format, plane.size);
                plane.offset + plane.stride * (plane.size.height as usize - 1) + row
            })
            .max()
            .unwrap_or(0)
    }
}

/// Bytes in one row of pixels. A row of at most 65,535 pixels always fits.
fn row_bytes(format: PixelFormat, size: Size) -> usize {
    size.width as usize * format.bytes_per_pixel()
}
