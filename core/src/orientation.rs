//! The 8 EXIF orientations: where each stored pixel is displayed, and back.
//!
//! Step: plan (regions) and reconstruct (the final write). Input: a size, point or rectangle of one grid. Output: the
//! same of the other grid.
//!
//! Every orientation is an optional exchange of x and y, followed by an optional mirroring of each axis. All methods
//! are derived from that one table, so they can't disagree with one another.

use std::fmt;

use crate::geometry::{DisplayRect, Rect, Size, StoredRect};

/// What is done to the stored pixels to display them.
///
/// The discriminants are the values of the EXIF `Orientation` tag (0x0112). EXIF itself says where the stored top row
/// and left column end up; the names here say what brings them there.
///
/// ```
/// use isopel_core::{Orientation, Size};
///
/// let orientation = Orientation::from_exif(6).unwrap();
/// assert_eq!(orientation, Orientation::Rotate90);
/// assert_eq!(orientation.to_exif(), 6);
/// assert_eq!(orientation.to_string(), "rotate 90° clockwise");
///
/// // The stored top left pixel is shown in the top right corner.
/// let stored = Size::new(640, 480);
/// assert_eq!(orientation.map_size(stored), Size::new(480, 640));
/// assert_eq!(orientation.map_point(0, 0, stored), (479, 0));
/// assert_eq!(orientation.unmap_point(479, 0, stored), (0, 0));
///
/// assert_eq!(orientation.inverse(), Orientation::Rotate270);
/// assert_eq!(orientation.then(orientation), Orientation::Rotate180);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Orientation {
    /// Shown as stored.
    #[default]
    Normal = 1,
    /// Left and right are exchanged.
    FlipHorizontal = 2,
    /// Turned by half a turn.
    Rotate180 = 3,
    /// Top and bottom are exchanged.
    FlipVertical = 4,
    /// Mirrored across the diagonal from top left to bottom right: rows become columns.
    Transpose = 5,
    /// Turned by 90 degrees clockwise.
    Rotate90 = 6,
    /// Mirrored across the diagonal from top right to bottom left.
    Transverse = 7,
    /// Turned by 270 degrees clockwise, that is, by 90 degrees counter-clockwise.
    Rotate270 = 8,
}

impl Orientation {
    /// All orientations, in the order of their EXIF values.
    ///
    /// ```
    /// use isopel_core::Orientation;
    ///
    /// let swapping = Orientation::ALL.iter().filter(|o| o.swaps_axes());
    /// assert_eq!(swapping.count(), 4);
    /// ```
    pub const ALL: [Orientation; 8] = [
        Orientation::Normal,
        Orientation::FlipHorizontal,
        Orientation::Rotate180,
        Orientation::FlipVertical,
        Orientation::Transpose,
        Orientation::Rotate90,
        Orientation::Transverse,
        Orientation::Rotate270,
    ];

    /// The orientation of an EXIF tag's value, or `None` for a value that EXIF doesn't define.
    pub const fn from_exif(value: u16) -> Option<Self> {
        match value {
            1 => Some(Orientation::Normal),
            2 => Some(Orientation::FlipHorizontal),
            3 => Some(Orientation::Rotate180),
            4 => Some(Orientation::FlipVertical),
            5 => Some(Orientation::Transpose),
            6 => Some(Orientation::Rotate90),
            7 => Some(Orientation::Transverse),
            8 => Some(Orientation::Rotate270),
            _ => None,
        }
    }

    /// The EXIF tag's value, 1 to 8.
    pub const fn to_exif(self) -> u8 {
        self as u8
    }

    /// Whether stored rows are displayed as columns, so that width and height are exchanged.
    pub const fn swaps_axes(self) -> bool {
        self.steps().swap
    }

    /// The orientation that undoes this one.
    pub const fn inverse(self) -> Self {
        let Steps { swap, mirror_x, mirror_y } = self.steps();
        // Undoing means to mirror first and exchange after. Moving the exchange to the front again gives each
        // mirroring the other axis.
        if swap { Self::from_steps(swap, mirror_y, mirror_x) } else { self }
    }

    /// This orientation, followed by `other`.
    ///
    /// ```
    /// use isopel_core::Orientation;
    ///
    /// let both = Orientation::Rotate90.then(Orientation::FlipHorizontal);
    /// assert_eq!(both, Orientation::Transpose);
    /// ```
    pub const fn then(self, other: Orientation) -> Orientation {
        let first = self.steps();
        let second = other.steps();
        // The second exchange is moved in front of the first mirrorings, which gives each of them the other axis.
        let (first_x, first_y) =
            if second.swap { (first.mirror_y, first.mirror_x) } else { (first.mirror_x, first.mirror_y) };
        Self::from_steps(first.swap != second.swap, first_x != second.mirror_x, first_y != second.mirror_y)
    }

    /// The displayed size of an image stored as `stored`.
    pub const fn map_size(self, stored: Size) -> Size {
        if self.swaps_axes() { Size::new(stored.height, stored.width) } else { stored }
    }

    /// Where the stored pixel (`x`, `y`) of an image stored as `stored` is displayed.
    ///
    /// A point outside the image gives a point outside the displayed image.
    pub const fn map_point(self, x: u32, y: u32, stored: Size) -> (u32, u32) {
        let pixel = self.map(Rect::new(x, y, 1, 1), stored);
        (pixel.x, pixel.y)
    }

    /// The stored pixel that is displayed at (`x`, `y`), in an image stored as `stored`.
    ///
    /// A point outside the displayed image gives a point outside the stored image.
    pub const fn unmap_point(self, x: u32, y: u32, stored: Size) -> (u32, u32) {
        self.inverse().map_point(x, y, self.map_size(stored))
    }

    /// Where the pixels of `rect` are displayed, in an image stored as `stored`.
    ///
    /// A rectangle that doesn't [fit](Rect::fits_in) into the image gives one that doesn't fit into the displayed
    /// image, so a check may come before or after.
    ///
    /// ```
    /// use isopel_core::{DisplayRect, Orientation, Size, StoredRect};
    ///
    /// let stored = Size::new(100, 50);
    /// let rect = StoredRect::new(0, 0, 30, 10);
    /// let display = Orientation::FlipHorizontal.map_rect(rect, stored);
    /// assert_eq!(display, DisplayRect::new(70, 0, 30, 10));
    /// assert_eq!(Orientation::FlipHorizontal.unmap_rect(display, stored), rect);
    /// ```
    pub const fn map_rect(self, rect: StoredRect, stored: Size) -> DisplayRect {
        DisplayRect::from_rect(self.map(rect.rect(), stored))
    }

    /// The stored pixels that are displayed in `rect`, in an image stored as `stored`: what
    /// [`map_rect`](Orientation::map_rect) does, undone.
    pub const fn unmap_rect(self, rect: DisplayRect, stored: Size) -> StoredRect {
        let display = self.map_size(stored);
        StoredRect::from_rect(self.inverse().map(rect.rect(), display))
    }

    const fn map(self, rect: Rect, from: Size) -> Rect {
        let Steps { swap, mirror_x, mirror_y } = self.steps();
        let to = self.map_size(from);
        let mut rect = if swap { Rect::new(rect.y, rect.x, rect.height, rect.width) } else { rect };
        if mirror_x {
            rect.x = mirror(rect.x, rect.width, to.width);
        }
        if mirror_y {
            rect.y = mirror(rect.y, rect.height, to.height);
        }
        rect
    }

    const fn steps(self) -> Steps {
        let (swap, mirror_x, mirror_y) = match self {
            Orientation::Normal => (false, false, false),
            Orientation::FlipHorizontal => (false, true, false),
            Orientation::Rotate180 => (false, true, true),
            Orientation::FlipVertical => (false, false, true),
            Orientation::Transpose => (true, false, false),
            Orientation::Rotate90 => (true, true, false),
            Orientation::Transverse => (true, true, true),
            Orientation::Rotate270 => (true, false, true),
        };
        Steps { swap, mirror_x, mirror_y }
    }

    const fn from_steps(swap: bool, mirror_x: bool, mirror_y: bool) -> Self {
        match (swap, mirror_x, mirror_y) {
            (false, false, false) => Orientation::Normal,
            (false, true, false) => Orientation::FlipHorizontal,
            (false, true, true) => Orientation::Rotate180,
            (false, false, true) => Orientation::FlipVertical,
            (true, false, false) => Orientation::Transpose,
            (true, true, false) => Orientation::Rotate90,
            (true, true, true) => Orientation::Transverse,
            (true, false, true) => Orientation::Rotate270,
        }
    }
}

impl fmt::Display for Orientation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Orientation::Normal => "keep as stored",
            Orientation::FlipHorizontal => "flip left to right",
            Orientation::Rotate180 => "rotate 180°",
            Orientation::FlipVertical => "flip top to bottom",
            Orientation::Transpose => "flip across the diagonal from top left to bottom right",
            Orientation::Rotate90 => "rotate 90° clockwise",
            Orientation::Transverse => "flip across the diagonal from top right to bottom left",
            Orientation::Rotate270 => "rotate 270° clockwise",
        })
    }
}

/// Which orientation the decoded pixels are given.
///
/// ```
/// use isopel_core::{Orientation, OrientationPolicy};
///
/// let exif = Orientation::Rotate90;
/// assert_eq!(OrientationPolicy::default().resolve(exif), exif);
/// assert_eq!(OrientationPolicy::Ignore.resolve(exif), Orientation::Normal);
///
/// let set = OrientationPolicy::Set(Orientation::Rotate180);
/// assert_eq!(set.resolve(exif), Orientation::Rotate180);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum OrientationPolicy {
    /// The orientation that the file's EXIF data names.
    #[default]
    Apply,
    /// None: the pixels come as stored, and display coordinates are stored coordinates.
    Ignore,
    /// This one, whatever the file says.
    Set(Orientation),
}

impl OrientationPolicy {
    /// The orientation to apply to a file whose EXIF data names `exif`.
    pub const fn resolve(self, exif: Orientation) -> Orientation {
        match self {
            OrientationPolicy::Apply => exif,
            OrientationPolicy::Ignore => Orientation::Normal,
            OrientationPolicy::Set(orientation) => orientation,
        }
    }
}

/// An orientation taken apart: exchange x and y, then mirror within the displayed size.
struct Steps {
    swap: bool,
    mirror_x: bool,
    mirror_y: bool,
}

/// The start of the span `start..start + length`, once the axis `0..total` is mirrored.
///
/// It wraps instead of saturating. Where the span fits, nothing wraps. Where it doesn't, the true start is negative,
/// and the wrapped start plus `length` is `total - start` plus a multiple of 2^32 that exceeds `start`: beyond `total`
/// again. Saturating would turn a span that doesn't fit into one that does.
const fn mirror(start: u32, length: u32, total: u32) -> u32 {
    total.wrapping_sub(start).wrapping_sub(length)
}

#[cfg(test)]
mod tests;
