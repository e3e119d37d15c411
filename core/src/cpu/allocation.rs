//! Memory for pixels.

use crate::error::Error;
use crate::plan::DecodePlan;

/// Memory for a plan's packed pixels, within its limits.
pub(super) fn allocate(plan: &DecodePlan) -> Result<Vec<u8>, Error> {
    let len = plan.layout().required_len();
    plan.limits().check_memory(plan.working_memory().saturating_add(len as u64))?;
    let mut pixels = vec![0; len];
    ask_for_huge_pages(&mut pixels);
    Ok(pixels)
}

/// Asks the kernel for huge pages, where they are given on request only: a third of the time of decoding tens of
/// megapixels goes by in making small ones.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn ask_for_huge_pages(pixels: &mut [u8]) {
    const HUGE_PAGE: usize = 2 << 20;
    let start = pixels.as_ptr() as usize;
    // Only whole pages within the memory; nothing else is touched.
    let (first, end) = (start.next_multiple_of(HUGE_PAGE), (start + pixels.len()) / HUGE_PAGE * HUGE_PAGE);
    if first >= end {
        return;
    }
    // SAFETY: the range lies within `pixels`, which is borrowed mutably, and the advice changes no contents. A kernel
    // that does not know it returns an error, which leaves everything as it was.
    let _ = unsafe { libc::madvise(pixels[first - start..].as_mut_ptr().cast(), end - first, libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn ask_for_huge_pages(_: &mut [u8]) {}
