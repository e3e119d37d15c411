//! Crops and turns of pictures, written pixel by pixel from the definitions and sharing nothing with the
//! decoder's own geometry.

use isopel_core::{Image, PixelFormat, Rect};

/// A picture whose pixels can be picked one by one: one plane, or one channel-interleaved picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Pixels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Bytes per pixel.
    pub depth: usize,
    /// The bytes, packed.
    pub bytes: Vec<u8>,
}

impl Picture {
    /// The planes of an image as pictures; one for interleaved formats.
    pub fn planes(image: &Image) -> Vec<Picture> {
        let layout = &image.report.layout;
        let depth = layout.format().bytes_per_pixel();
        let planes = layout.planes().iter().map(|plane| {
            let (width, height) = (plane.size.width, plane.size.height);
            let mut bytes = Vec::with_capacity(width as usize * height as usize * depth);
            for y in 0..height as usize {
                let start = plane.offset + y * plane.stride;
                bytes.extend_from_slice(&image.pixels[start..start + width as usize * depth]);
            }
            Picture { width, height, depth, bytes }
        });
        planes.collect()
    }

    /// The bytes of one pixel.
    pub fn pixel(&self, x: u32, y: u32) -> &[u8] {
        let start = (y as usize * self.width as usize + x as usize) * self.depth;
        &self.bytes[start..start + self.depth]
    }

    /// The part under a rectangle.
    pub fn crop(&self, rect: Rect) -> Picture {
        let mut bytes = Vec::new();
        for y in rect.y..rect.y + rect.height {
            for x in rect.x..rect.x + rect.width {
                bytes.extend_from_slice(self.pixel(x, y));
            }
        }
        Picture { width: rect.width, height: rect.height, depth: self.depth, bytes }
    }

    /// The picture as an EXIF orientation, 1 to 8, says it is to be shown.
    pub fn shown_with(&self, exif: u8) -> Picture {
        let (width, height) = shown_size(exif, self.width, self.height);
        let mut bytes = Vec::with_capacity(self.bytes.len());
        for y in 0..height {
            for x in 0..width {
                let (stored_x, stored_y) = stored_pixel(exif, x, y, self.width, self.height);
                bytes.extend_from_slice(self.pixel(stored_x, stored_y));
            }
        }
        Picture { width, height, depth: self.depth, bytes }
    }
}

/// Width and height as shown.
pub fn shown_size(exif: u8, width: u32, height: u32) -> (u32, u32) {
    if exif >= 5 { (height, width) } else { (width, height) }
}

/// Which stored pixel is shown at (`x`, `y`). EXIF 2.32, tag 0x0112: where row 0 and column 0 are seen.
pub fn stored_pixel(exif: u8, x: u32, y: u32, width: u32, height: u32) -> (u32, u32) {
    match exif {
        1 => (x, y),                          // row 0 top, column 0 left
        2 => (width - 1 - x, y),              // top, right
        3 => (width - 1 - x, height - 1 - y), // bottom, right
        4 => (x, height - 1 - y),             // bottom, left
        5 => (y, x),                          // row 0 left, column 0 top
        6 => (y, height - 1 - x),             // right, top
        7 => (width - 1 - y, height - 1 - x), // right, bottom
        8 => (width - 1 - y, x),              // left, bottom
        _ => panic!("no EXIF orientation {exif}"),
    }
}

/// The stored rectangle that is shown in `shown`.
pub fn stored_rect(exif: u8, shown: Rect, width: u32, height: u32) -> Rect {
    let corner = stored_pixel(exif, shown.x, shown.y, width, height);
    let opposite = stored_pixel(exif, shown.x + shown.width - 1, shown.y + shown.height - 1, width, height);
    let (left, right) = (corner.0.min(opposite.0), corner.0.max(opposite.0));
    let (top, bottom) = (corner.1.min(opposite.1), corner.1.max(opposite.1));
    Rect::new(left, top, right - left + 1, bottom - top + 1)
}

/// The samples of a component with factors `sampling`, of at most `max`, that the pixels of `stored` touch.
pub fn component_rect(stored: Rect, sampling: (u32, u32), max: (u32, u32)) -> Rect {
    // Pixel x lies under the samples from floor(x * Hi / Hmax) to ceil((x + 1) * Hi / Hmax) - 1.
    let span = |start: u32, length: u32, factor: u32, max: u32| {
        let first = start * factor / max;
        let end = ((start + length) * factor).div_ceil(max);
        (first, end - first)
    };
    let (x, width) = span(stored.x, stored.width, sampling.0, max.0);
    let (y, height) = span(stored.y, stored.height, sampling.1, max.1);
    Rect::new(x, y, width, height)
}

/// What a region decode has to give: the planes of `full`, an image in stored orientation, cropped to
/// `stored` and shown with `exif`. `sampling` is each component's factors.
pub fn expected_planes(full: &Image, stored: Rect, exif: u8, sampling: &[(u32, u32)]) -> Vec<Picture> {
    let max = sampling.iter().fold((1, 1), |max, &(h, v)| (max.0.max(h), max.1.max(v)));
    let planes = Picture::planes(full).into_iter().enumerate().map(|(index, plane)| {
        let rect = match full.report.layout.format() {
            // At smaller scales the picture may be a part of a sample larger than a plane.
            PixelFormat::ComponentPlanes => component_rect(stored, sampling[index], max)
                .intersect(Rect::new(0, 0, plane.width, plane.height))
                .expect("every pixel lies over a sample"),
            _ => stored,
        };
        plane.crop(rect).shown_with(exif)
    });
    planes.collect()
}
