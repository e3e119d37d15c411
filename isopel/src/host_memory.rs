//! Pixels that a device gives back, in the host's memory: how much of it, and where.

use isopel_core::{
    BackendError, BackendErrorKind, Codestream, DecodeOptions, DecodePlan, Error, Image, MisuseError, PixelLayout,
    Report,
};

use crate::decoder::BatchItem;

/// Whose memory the pixels end up in: the caller's own does not count towards the limit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Memory {
    Isopels,
    Callers,
}

impl BatchItem<'_> {
    /// The packed layout, and the one in `output`, which is known to fit.
    pub(crate) fn checked_layout(&self) -> Result<(PixelLayout, PixelLayout), Error> {
        let packed = packed_layout(self.jpeg, &self.options, Memory::Callers)?;
        let strided = self.strided(packed.clone())?;
        let (len, needed) = (self.output.len(), strided.required_len());
        if len < needed {
            return Err(MisuseError::BufferTooShort { len, needed }.into());
        }
        Ok((packed, strided))
    }
}

/// How the pixels lie in memory, if the image can be decoded within its limits.
pub(crate) fn packed_layout(jpeg: &[u8], options: &DecodeOptions, memory: Memory) -> Result<PixelLayout, Error> {
    let codestream = Codestream::parse(jpeg, &options.limits)?;
    let plan = DecodePlan::new(&codestream, options)?;
    let pixels = if memory == Memory::Isopels { plan.layout().required_len() as u64 } else { 0 };
    options.limits.check_memory(plan.working_memory().saturating_add(pixels))?;
    Ok(plan.layout().clone())
}

/// Copies packed images to where their items want them; `layouts` are the items' [`BatchItem::checked_layout`]s.
pub(crate) fn copy_to_items(
    images: Vec<Result<Image, Error>>,
    layouts: Vec<Result<(PixelLayout, PixelLayout), Error>>,
    items: &mut [BatchItem<'_>],
) -> Vec<Result<Report, Error>> {
    let copy = |((image, layouts), item): ((Result<Image, Error>, Result<_, Error>), &mut BatchItem<'_>)| {
        let (image, (packed, strided)): (Image, (PixelLayout, PixelLayout)) = (image?, layouts?);
        copy_rows(&image.pixels, &packed, item.output, &strided);
        let mut report = image.report;
        report.layout = strided;
        Ok(report)
    };
    images.into_iter().zip(layouts).zip(items).map(copy).collect()
}

/// Bytes between rows are left alone.
fn copy_rows(from: &[u8], from_layout: &PixelLayout, to: &mut [u8], to_layout: &PixelLayout) {
    let bytes_per_pixel = from_layout.format().bytes_per_pixel();
    for (from_plane, to_plane) in from_layout.planes().iter().zip(to_layout.planes()) {
        let row_bytes = from_plane.size.width as usize * bytes_per_pixel;
        for row in 0..from_plane.size.height as usize {
            let source = from_plane.offset + row * from_plane.stride;
            let destination = to_plane.offset + row * to_plane.stride;
            to[destination..destination + row_bytes].copy_from_slice(&from[source..source + row_bytes]);
        }
    }
}

/// The only result of a batch of one.
pub(crate) fn single<T>(backend: &'static str, results: Vec<Result<T, Error>>) -> Result<T, Error> {
    results.into_iter().next().unwrap_or_else(|| Err(no_outcome(backend)))
}

/// The error of an image that nothing became of.
pub(crate) fn no_outcome(backend: &'static str) -> Error {
    let message = "the submission was dropped".to_owned();
    BackendError { backend, kind: BackendErrorKind::Failed, message }.into()
}
