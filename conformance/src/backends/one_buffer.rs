//! Batches into one buffer of a device, which holds sentinels before, between and behind the pixels of the files.

use std::sync::Arc;

use isopel_core::{DecodeOptions, Error, Image, Outcome};

use super::{SENTINEL, packed_len};

pub(super) type File = (Arc<[u8]>, DecodeOptions);

/// How pixels lie in the buffer.
pub(super) struct Spacing {
    /// Sentinels between the pixels of two files, at least.
    pub(super) gap: usize,
    /// What the offsets of the files behind the first are multiples of.
    pub(super) alignment: usize,
    /// A batch is split where its pixels would take more than this.
    pub(super) max_bytes: usize,
}

/// Files that share a buffer.
pub(super) struct Part<'f> {
    pub(super) files: &'f [File],
    /// Where in the buffer the pixels of each begin.
    pub(super) offsets: Vec<usize>,
    /// The buffer's length.
    pub(super) len: usize,
}

/// Decodes files as one submission, or several if they are large: `decode_part` submits a part into a buffer of
/// sentinels, and gives the outcomes and what the buffer holds then.
pub(super) fn decode_in_parts(
    files: &[File],
    spacing: &Spacing,
    decode_part: impl Fn(&Part) -> (Vec<Outcome>, Vec<u8>),
) -> Vec<Result<Image, Error>> {
    let mut images = Vec::with_capacity(files.len());
    let mut rest = files;
    while !rest.is_empty() {
        let part = Part::first_of(rest, spacing);
        let (outcomes, bytes) = decode_part(&part);
        images.extend(part.images(outcomes, &bytes));
        rest = &rest[part.files.len()..];
    }
    images
}

impl<'f> Part<'f> {
    /// As many of the first files as fit into a buffer, at least one.
    fn first_of(files: &'f [File], spacing: &Spacing) -> Self {
        let mut offsets = Vec::new();
        let mut end = spacing.gap;
        for (jpeg, options) in files {
            // Files without a plan need no room.
            let len = packed_len(jpeg, options).unwrap_or(0);
            if !offsets.is_empty() && end + len > spacing.max_bytes {
                break;
            }
            offsets.push(end);
            end = (end + len + spacing.gap).next_multiple_of(spacing.alignment);
        }
        Part { files: &files[..offsets.len()], offsets, len: end }
    }

    /// The images in the buffer's bytes. Nothing around them may have been written.
    fn images(&self, outcomes: Vec<Outcome>, bytes: &[u8]) -> Vec<Result<Image, Error>> {
        assert_eq!(outcomes.len(), self.files.len(), "one outcome per job");
        let is_untouched = |gap: &[u8]| gap.iter().all(|&byte| byte == SENTINEL);
        let mut gap_start = 0;
        let mut images = Vec::with_capacity(self.files.len());
        for (index, (outcome, &offset)) in outcomes.into_iter().zip(&self.offsets).enumerate() {
            assert_eq!(outcome.index, index, "outcomes come in the jobs' order");
            assert!(is_untouched(&bytes[gap_start..offset]), "job {index}: bytes {gap_start} to {offset} are not its");
            gap_start = match &outcome.result {
                Ok(report) => offset + report.layout.required_len(),
                // What failed may have written anything into its place.
                Err(_) => self.offsets.get(index + 1).copied().unwrap_or(self.len),
            };
            images.push(outcome.result.map(|report| Image { pixels: bytes[offset..gap_start].to_vec(), report }));
        }
        assert!(is_untouched(&bytes[gap_start..]), "bytes from {gap_start} are nobody's");
        images
    }
}
