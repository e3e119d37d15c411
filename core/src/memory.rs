//! Large pieces of memory.

/// Asks the kernel for huge pages, where they are given on request only: a third of the time of decoding tens of
/// megapixels goes by in making small ones.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
pub(crate) fn ask_for_huge_pages<T>(memory: &mut [T]) {
    const HUGE_PAGE: usize = 2 << 20;
    let start = memory.as_mut_ptr().cast::<u8>();
    // Only whole pages within the memory; nothing else is touched.
    let first = (start as usize).next_multiple_of(HUGE_PAGE) - start as usize;
    let end = ((start as usize + size_of_val(memory)) / HUGE_PAGE * HUGE_PAGE).saturating_sub(start as usize);
    if first >= end {
        return;
    }
    // SAFETY: the range lies within `memory`, which is borrowed mutably, and the advice changes no contents. A kernel
    // that does not know it returns an error, which leaves everything as it was.
    let _ = unsafe { libc::madvise(start.add(first).cast(), end - first, libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn ask_for_huge_pages<T>(_: &mut [T]) {}
