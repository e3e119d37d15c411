//! Application segments: JFIF (APP0), Exif orientation (APP1), ICC profile (APP2), Adobe (APP14).

use super::reader::Segment;
use crate::orientation::Orientation;

/// The JFIF segment's version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Jfif {
    /// Major version; 1.
    pub major: u8,
    /// Minor version.
    pub minor: u8,
}

impl Jfif {
    pub(crate) fn read(segment: &Segment) -> Option<Jfif> {
        match segment.contents {
            [b'J', b'F', b'I', b'F', 0, major, minor, ..] if segment.contents.len() >= 14 => {
                Some(Jfif { major: *major, minor: *minor })
            }
            _ => None,
        }
    }
}

/// The Adobe segment's colour transform: 0 none, 1 YCbCr, 2 YCCK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Adobe {
    /// The transform code.
    pub transform: u8,
}

impl Adobe {
    pub(crate) fn read(segment: &Segment) -> Option<Adobe> {
        match segment.contents {
            [b'A', b'd', b'o', b'b', b'e', _, _, _, _, _, _, transform, ..] => Some(Adobe { transform: *transform }),
            _ => None,
        }
    }
}

/// The orientation in the Exif segment's IFD0; `None` if this is no Exif segment.
///
/// Accepted: tag 0x0112 with count 1 and type SHORT or LONG, values 1 to 8. Everything else counts as
/// [`Orientation::Normal`]: a wrong tag must not cost the picture. Only IFD0 is read, so that a thumbnail's
/// IFD1 is never mistaken for the image's.
pub(crate) fn exif_orientation(segment: &Segment) -> Option<Orientation> {
    let tiff = segment.contents.strip_prefix(b"Exif\0\0")?;
    Some(tiff_orientation(tiff).unwrap_or_default())
}

fn tiff_orientation(tiff: &[u8]) -> Option<Orientation> {
    const ORIENTATION_TAG: u16 = 0x0112;
    const SHORT: u16 = 3;
    const LONG: u16 = 4;

    let big_endian = match tiff.get(..4)? {
        [b'M', b'M', 0, 42] => true,
        [b'I', b'I', 42, 0] => false,
        _ => return None,
    };
    let u16_at = |offset: usize| {
        let bytes = tiff.get(offset..offset.checked_add(2)?)?.try_into().ok()?;
        Some(if big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
    };
    let u32_at = |offset: usize| {
        let bytes = tiff.get(offset..offset.checked_add(4)?)?.try_into().ok()?;
        Some(if big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    };

    let ifd0 = u32_at(4)? as usize;
    let entries = usize::from(u16_at(ifd0)?);
    // The count may lie: entries past the segment's end read as `None` and end the search.
    for entry in 0..entries {
        let offset = ifd0.checked_add(2 + 12 * entry)?;
        if u16_at(offset)? != ORIENTATION_TAG {
            continue;
        }
        let (kind, count) = (u16_at(offset + 2)?, u32_at(offset + 4)?);
        let value = match (kind, count) {
            (SHORT, 1) => u16_at(offset + 8)?,
            (LONG, 1) => u16::try_from(u32_at(offset + 8)?).ok()?,
            _ => return None,
        };
        return Orientation::from_exif(value);
    }
    None
}

/// One segment of an ICC profile.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IccChunk<'a> {
    number: u8,
    count: u8,
    data: &'a [u8],
}

impl<'a> IccChunk<'a> {
    pub(crate) fn read(segment: &Segment<'a>) -> Option<IccChunk<'a>> {
        match segment.contents.strip_prefix(b"ICC_PROFILE\0")? {
            [number, count, data @ ..] => Some(IccChunk { number: *number, count: *count, data }),
            _ => None,
        }
    }
}

/// Puts the chunks together; `None` if one is missing or they contradict each other.
pub(crate) fn assemble_icc(chunks: &[IccChunk]) -> Option<Vec<u8>> {
    let count = chunks.first()?.count;
    let mut ordered = vec![None; usize::from(count)];
    for chunk in chunks {
        let slot = ordered.get_mut(usize::from(chunk.number).checked_sub(1)?)?;
        if chunk.count != count || slot.replace(chunk.data).is_some() {
            return None;
        }
    }
    let parts = ordered.into_iter().collect::<Option<Vec<_>>>()?;
    let profile = parts.concat();
    (!profile.is_empty()).then_some(profile)
}
