//! Memory of the caller's in the kernels' emulator.

use isopel_core::PixelLayout;
use isopel_kernels_on_host::{Access, Memory};

/// Makes room for pixels, and lets kernels write each once.
pub(crate) fn allow_target(memory: &mut Memory, layout: &PixelLayout, misalignment: usize) -> u64 {
    let address = memory.allocate(misalignment + layout.required_len()) + misalignment as u64;
    for plane in layout.planes() {
        let row = plane.size.width as usize * layout.format().bytes_per_pixel();
        let first = address + plane.offset as u64;
        memory.allow_rows("pixels", first, row, plane.stride, plane.size.height as usize, Access::WriteOnce);
    }
    address
}
