//! Rectangles and the two pixel grids they live in.
//!
//! Step: request -> plan. Input: the [`Region`] a caller asks for, in stored or in display coordinates. Output: a
//! [`StoredRect`] that is not empty and lies inside the image, or a [`RegionError`].
//!
//! The two grids have their own types because a rectangle in the wrong one still looks plausible: most photographs
//! carry EXIF orientation 1, so the mistake only shows on the few that don't.

use std::fmt;

use crate::orientation::Orientation;

/// Width and height of an image or of a rectangle, in pixels.
///
/// ```
/// use isopel_core::Size;
///
/// let size = Size::new(640, 480);
/// assert_eq!(size.pixels(), 307_200);
/// assert_eq!(size.to_string(), "640x480");
/// assert!(!size.is_empty());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Size {
    /// Pixels in a row.
    pub width: u32,
    /// Number of rows.
    pub height: u32,
}

impl Size {
    /// A size of `width` by `height` pixels.
    pub const fn new(width: u32, height: u32) -> Self {
        Self { width, height }
    }

    /// The number of pixels; it can't overflow.
    pub const fn pixels(self) -> u64 {
        self.width as u64 * self.height as u64
    }

    /// Whether there is no pixel, that is, whether a side is 0.
    pub const fn is_empty(self) -> bool {
        self.width == 0 || self.height == 0
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.width, self.height)
    }
}

/// A rectangle of pixels in a grid not yet named: columns `x..x + width`, rows `y..y + height`.
///
/// The sums may exceed `u32`, so [`right`](Rect::right) and [`bottom`](Rect::bottom) are `u64`. To ask for a region,
/// put the rectangle into a [`StoredRect`] or a [`DisplayRect`].
///
/// ```
/// use isopel_core::{Rect, Size};
///
/// let rect = Rect::new(95, 0, 10, 10);
/// assert_eq!((rect.right(), rect.bottom()), (105, 10));
/// assert_eq!(rect.size(), Size::new(10, 10));
/// assert_eq!(rect.to_string(), "10x10+95+0");
/// assert!(!rect.is_empty());
///
/// let image = Size::new(100, 50);
/// assert!(!rect.fits_in(image));
/// assert_eq!(
///     rect.intersect(Rect::from_size(image)),
///     Some(Rect::new(95, 0, 5, 10)),
/// );
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rect {
    /// The leftmost column.
    pub x: u32,
    /// The topmost row.
    pub y: u32,
    /// Number of columns.
    pub width: u32,
    /// Number of rows.
    pub height: u32,
}

impl Rect {
    /// The rectangle of `width` by `height` pixels whose top left pixel is (`x`, `y`).
    pub const fn new(x: u32, y: u32, width: u32, height: u32) -> Self {
        Self { x, y, width, height }
    }

    /// The rectangle that covers the whole of an image of this size.
    pub const fn from_size(size: Size) -> Self {
        Self::new(0, 0, size.width, size.height)
    }

    /// The first column to the right of the rectangle.
    pub const fn right(self) -> u64 {
        self.x as u64 + self.width as u64
    }

    /// The first row below the rectangle.
    pub const fn bottom(self) -> u64 {
        self.y as u64 + self.height as u64
    }

    /// Whether there is no pixel in it, that is, whether a side is 0.
    pub const fn is_empty(self) -> bool {
        self.size().is_empty()
    }

    /// Its width and height.
    pub const fn size(self) -> Size {
        Size::new(self.width, self.height)
    }

    /// Whether it lies inside an image of this size. An empty rectangle fits too, as long as its corner is not
    /// beyond the image's right and bottom edges.
    pub const fn fits_in(self, bounds: Size) -> bool {
        self.right() <= bounds.width as u64 && self.bottom() <= bounds.height as u64
    }

    /// The pixels in both rectangles, or `None` if there are none.
    pub fn intersect(self, other: Rect) -> Option<Rect> {
        let x = self.x.max(other.x);
        let y = self.y.max(other.y);
        let right = self.right().min(other.right());
        let bottom = self.bottom().min(other.bottom());
        // The conversions can't fail: a side of the overlap is at most the same side of either rectangle.
        let width = u32::try_from(right.checked_sub(x.into())?).ok()?;
        let height = u32::try_from(bottom.checked_sub(y.into())?).ok()?;
        let overlap = Rect::new(x, y, width, height);
        (!overlap.is_empty()).then_some(overlap)
    }
}

impl fmt::Display for Rect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}+{}", self.size(), self.x, self.y)
    }
}

/// A rectangle in stored coordinates: the codestream's own pixel grid, before any orientation is applied.
///
/// Only [`Orientation`] turns it into a [`DisplayRect`].
///
/// ```
/// use isopel_core::{Orientation, Rect, Size, StoredRect};
///
/// let stored = StoredRect::new(0, 0, 30, 10);
/// assert_eq!(stored, StoredRect::from_rect(Rect::new(0, 0, 30, 10)));
///
/// let display = Orientation::Rotate90.map_rect(stored, Size::new(100, 50));
/// assert_eq!(display.rect(), Rect::new(40, 0, 10, 30));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StoredRect(Rect);

impl StoredRect {
    /// The rectangle of `width` by `height` stored pixels whose top left pixel is (`x`, `y`).
    pub const fn new(x: u32, y: u32, width: u32, height: u32) -> Self {
        Self(Rect::new(x, y, width, height))
    }

    /// Declares that `rect` is in stored coordinates.
    pub const fn from_rect(rect: Rect) -> Self {
        Self(rect)
    }

    /// The bare rectangle.
    pub const fn rect(self) -> Rect {
        self.0
    }
}

/// A rectangle in display coordinates: the pixel grid of the image as shown, after its orientation is applied.
///
/// Only [`Orientation`] turns it into a [`StoredRect`].
///
/// ```
/// use isopel_core::{DisplayRect, Orientation, Rect, Size};
///
/// let display = DisplayRect::new(40, 0, 10, 30);
/// assert_eq!(display, DisplayRect::from_rect(Rect::new(40, 0, 10, 30)));
///
/// let stored = Orientation::Rotate90.unmap_rect(display, Size::new(100, 50));
/// assert_eq!(stored.rect(), Rect::new(0, 0, 30, 10));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DisplayRect(Rect);

impl DisplayRect {
    /// The rectangle of `width` by `height` displayed pixels whose top left pixel is (`x`, `y`).
    pub const fn new(x: u32, y: u32, width: u32, height: u32) -> Self {
        Self(Rect::new(x, y, width, height))
    }

    /// Declares that `rect` is in display coordinates.
    pub const fn from_rect(rect: Rect) -> Self {
        Self(rect)
    }

    /// The bare rectangle.
    pub const fn rect(self) -> Rect {
        self.0
    }
}

/// The pixel grid that a coordinate is counted in.
///
/// ```
/// use isopel_core::Space;
///
/// assert_eq!(Space::Stored.to_string(), "stored");
/// assert_eq!(Space::Display.to_string(), "display");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Space {
    /// The codestream's own grid, see [`StoredRect`].
    Stored,
    /// The grid of the image as shown, see [`DisplayRect`].
    Display,
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Space::Stored => "stored",
            Space::Display => "display",
        })
    }
}

/// The part of an image to decode.
///
/// ```
/// use isopel_core::{DisplayRect, Orientation, Region, Size, StoredRect};
///
/// // A portrait photograph, stored as landscape.
/// let stored_size = Size::new(100, 50);
/// let orientation = Orientation::Rotate90;
///
/// let top_left = Region::from(DisplayRect::new(0, 0, 20, 10));
/// assert_eq!(
///     top_left.resolve(stored_size, orientation),
///     Ok(StoredRect::new(0, 30, 10, 20)),
/// );
/// assert_eq!(
///     Region::Full.resolve(stored_size, orientation),
///     Ok(StoredRect::new(0, 0, 100, 50)),
/// );
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Region {
    /// The whole image.
    #[default]
    Full,
    /// A rectangle of the codestream's own grid.
    Stored(StoredRect),
    /// A rectangle of the image as shown.
    Display(DisplayRect),
}

impl Region {
    /// The stored pixels that this region names, in an image stored as `stored_size` and shown with `orientation`.
    ///
    /// The result is never empty and always lies inside the image. Nothing is clamped: a caller who wants the part
    /// that exists can [`intersect`](Rect::intersect) first.
    ///
    /// # Errors
    ///
    /// [`RegionError`], with the rectangle and the bounds in the caller's own coordinates, if the region is empty or
    /// reaches outside the image.
    pub fn resolve(self, stored_size: Size, orientation: Orientation) -> Result<StoredRect, RegionError> {
        match self {
            Region::Full => {
                let whole = Rect::from_size(stored_size);
                check(whole, stored_size, Space::Stored)?;
                Ok(StoredRect::from_rect(whole))
            }
            Region::Stored(stored) => {
                check(stored.rect(), stored_size, Space::Stored)?;
                Ok(stored)
            }
            Region::Display(display) => {
                // Checked before it is mapped, so that the message speaks of the numbers that the caller gave.
                let bounds = orientation.map_size(stored_size);
                check(display.rect(), bounds, Space::Display)?;
                Ok(orientation.unmap_rect(display, stored_size))
            }
        }
    }
}

impl From<StoredRect> for Region {
    fn from(rect: StoredRect) -> Self {
        Region::Stored(rect)
    }
}

impl From<DisplayRect> for Region {
    fn from(rect: DisplayRect) -> Self {
        Region::Display(rect)
    }
}

/// Why a [`Region`] can't be decoded.
///
/// ```
/// use isopel_core::{DisplayRect, Orientation, Rect, Region, RegionError, Size, Space};
///
/// let error = Region::from(DisplayRect::new(95, 0, 10, 10))
///     .resolve(Size::new(50, 100), Orientation::Rotate90)
///     .unwrap_err();
/// assert_eq!(
///     error,
///     RegionError::OutOfBounds {
///         region: Rect::new(95, 0, 10, 10),
///         bounds: Size::new(100, 50),
///         space: Space::Display,
///     },
/// );
/// assert_eq!(
///     error.to_string(),
///     "region 10x10+95+0 does not fit into the 100x50 image in display coordinates: \
///      x + width must be at most 100",
/// );
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum RegionError {
    /// The region has no pixel; [`Region::Full`] gives this for an image without pixels.
    #[error("region {region} in {space} coordinates is empty: width and height must be at least 1")]
    Empty {
        /// The region as the caller gave it.
        region: Rect,
        /// The grid that `region` is counted in.
        space: Space,
    },
    /// The region reaches beyond the image's right or bottom edge.
    #[error(
        "region {region} does not fit into the {bounds} image in {space} coordinates: {}",
        requirement(*region, *bounds)
    )]
    OutOfBounds {
        /// The region as the caller gave it.
        region: Rect,
        /// The image's size in the same grid.
        bounds: Size,
        /// The grid that `region` and `bounds` are counted in.
        space: Space,
    },
}

fn check(region: Rect, bounds: Size, space: Space) -> Result<(), RegionError> {
    if region.is_empty() {
        return Err(RegionError::Empty { region, space });
    }
    if !region.fits_in(bounds) {
        return Err(RegionError::OutOfBounds { region, bounds, space });
    }
    Ok(())
}

/// What a caller has to change; names only the axes that are wrong.
fn requirement(region: Rect, bounds: Size) -> String {
    let Size { width, height } = bounds;
    let too_wide = region.right() > u64::from(width);
    let too_high = region.bottom() > u64::from(height);
    match (too_wide, too_high) {
        (true, true) => {
            format!("x + width must be at most {width} and y + height at most {height}")
        }
        (true, false) => format!("x + width must be at most {width}"),
        // Not reached with neither wrong, unless somebody builds the error by hand.
        (false, _) => format!("y + height must be at most {height}"),
    }
}

#[cfg(test)]
mod tests;
