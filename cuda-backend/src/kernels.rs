//! The kernel that writes the caller's memory, and its loader.

#![allow(unsafe_code)]

use std::ffi::CString;
use std::sync::Arc;

use cudarc::driver::{result, sys};
use isopel_core::{BackendError, Orientation, PixelFormat, PixelLayout, Rect, Size};

use crate::driver::{Device, Stream};
use crate::error::{failed, from_driver};
use crate::nvjpeg::{Destination, SourcePixels};

const WRITE_PIXELS: &str = include_str!("../kernels/write_pixels.ptx");

/// Pictures of one launch.
const MAX_PICTURES: usize = 60;
/// Threads of a block in x and y.
const BLOCK: (u32, u32, u32) = (32, 8, 1);
/// Rows of a tile, and its width in pixels, or in bytes where rows are copied as they are.
const TILE_ROWS: u32 = 32;
const TILE_PIXELS: u32 = 32;
const TILE_BYTES: u32 = 512;

/// One rectangle to write: `Picture` of `write_pixels.cu`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Picture {
    source: u64,
    target: u64,
    target_pitch: u64,
    target_plane: u64,
    source_pitch: u32,
    x: u32,
    y: u32,
    width: u32,
    height: u32,
    first_tile: u32,
    tiles_per_row: u32,
    conversion: u32,
}

#[repr(C)]
struct Pictures {
    count: u32,
    reserved: u32,
    picture: [Picture; MAX_PICTURES],
}

impl Pictures {
    /// Up to [`MAX_PICTURES`] pictures, and how many tiles they have.
    fn new(pictures: &[Picture]) -> (Pictures, u32) {
        let mut parameter =
            Pictures { count: pictures.len() as u32, reserved: 0, picture: [Picture::NONE; MAX_PICTURES] };
        let mut tiles = 0;
        for (place, picture) in parameter.picture.iter_mut().zip(pictures) {
            *place = *picture;
            tiles = place.place(tiles);
        }
        (parameter, tiles)
    }
}

/// `Conversion` of `write_pixels.cu`.
const BYTES: u32 = 0;
const ONE_CHANNEL: u32 = 1;
const RGB_TO_RGB: u32 = 2;
const RGB_TO_BGR: u32 = 3;
const RGB_TO_RGBA: u32 = 4;
const RGB_TO_PLANES: u32 = 5;
/// `Steps` of `write_pixels.cu`.
const SWAP: u32 = 0x100;
const MIRROR_X: u32 = 0x200;
const MIRROR_Y: u32 = 0x400;

impl Picture {
    const NONE: Picture = Picture {
        source: 0,
        target: 0,
        target_pitch: 0,
        target_plane: 0,
        source_pitch: 0,
        x: 0,
        y: 0,
        width: 0,
        height: 0,
        first_tile: 0,
        tiles_per_row: 0,
        conversion: 0,
    };

    /// From decoded pixels as stored to the caller's memory at `target`: the region, upright, in the layout's format.
    /// The format is one that nvJPEG's pixels can be given in.
    pub(crate) fn from_stored(
        source: Destination,
        pixels: SourcePixels,
        region: Rect,
        orientation: Orientation,
        target: u64,
        layout: &PixelLayout,
    ) -> Picture {
        let conversion = match (pixels, layout.format()) {
            (SourcePixels::Luma, _) => ONE_CHANNEL,
            (SourcePixels::Rgb, PixelFormat::Bgr8) => RGB_TO_BGR,
            (SourcePixels::Rgb, PixelFormat::Rgba8) => RGB_TO_RGBA,
            (SourcePixels::Rgb, PixelFormat::Rgb8Planar) => RGB_TO_PLANES,
            (SourcePixels::Rgb, _) => RGB_TO_RGB,
        };
        let plane = layout.planes()[0];
        let target = target + plane.offset as u64;
        let target_plane = layout.planes().get(1).map_or(0, |second| second.offset - plane.offset) as u64;
        let same_pixels = matches!(conversion, ONE_CHANNEL | RGB_TO_RGB);
        if same_pixels && orientation == Orientation::Normal {
            let bytes = pixels.bytes() as u64;
            let first = source.address + u64::from(region.y) * source.pitch as u64 + u64::from(region.x) * bytes;
            let row = plane.size.width * bytes as u32;
            return Picture::rows(first, source.pitch, target, plane.stride, row, plane.size.height);
        }
        Picture {
            source: source.address,
            target,
            target_pitch: plane.stride as u64,
            target_plane,
            source_pitch: source.pitch as u32,
            x: region.x,
            y: region.y,
            width: plane.size.width,
            height: plane.size.height,
            conversion: conversion | steps(orientation),
            ..Picture::NONE
        }
    }

    /// Rows of bytes as they are.
    pub(crate) fn rows(
        source: u64,
        source_pitch: usize,
        target: u64,
        target_pitch: usize,
        row: u32,
        rows: u32,
    ) -> Picture {
        Picture {
            source,
            target,
            target_pitch: target_pitch as u64,
            source_pitch: source_pitch as u32,
            width: row,
            height: rows,
            conversion: BYTES,
            ..Picture::NONE
        }
    }

    /// Gives the picture its place among the tiles of a launch; returns the first tile of the next one.
    fn place(&mut self, first_tile: u32) -> u32 {
        let tile = if self.conversion & 0xFF == BYTES { TILE_BYTES } else { TILE_PIXELS };
        self.first_tile = first_tile;
        self.tiles_per_row = self.width.div_ceil(tile);
        first_tile + self.tiles_per_row * self.height.div_ceil(TILE_ROWS)
    }
}

/// The three steps by which the kernel finds the stored pixel of a displayed one, taken from where the corners of a
/// picture go.
fn steps(orientation: Orientation) -> u32 {
    let stored = Size::new(2, 2);
    let (origin_x, origin_y) = orientation.map_point(0, 0, stored);
    let mut steps = 0;
    if orientation.swaps_axes() {
        steps |= SWAP;
    }
    if origin_x == 1 {
        steps |= MIRROR_X;
    }
    if origin_y == 1 {
        steps |= MIRROR_Y;
    }
    steps
}

/// The loaded kernel.
#[derive(Debug)]
pub(crate) struct Kernels {
    module: sys::CUmodule,
    write_pixels: sys::CUfunction,
    device: Arc<Device>,
}

// SAFETY: modules and functions may be used from any thread.
unsafe impl Send for Kernels {}
// SAFETY: as above.
unsafe impl Sync for Kernels {}

impl Kernels {
    pub(crate) fn load(device: &Arc<Device>) -> Result<Kernels, BackendError> {
        let image = CString::new(WRITE_PIXELS).map_err(failed)?;
        let load = || {
            let _current = device.enter()?;
            // SAFETY: `image` is PTX that ends with a zero.
            let module = unsafe { result::module::load_data(image.as_ptr().cast()) }?;
            // SAFETY: the module is loaded.
            let write_pixels = unsafe { result::module::get_function(module, c"write_pixels".to_owned()) }?;
            Ok(Kernels { module, write_pixels, device: device.clone() })
        };
        load().map_err(|error| from_driver("loading the kernels", error))
    }

    /// Queues the writing of pictures on a stream.
    ///
    /// # Safety
    /// Until the work is done, sources must hold the pixels that they are said to, targets must be memory of the
    /// device with room for them, and nobody else may use the targets.
    pub(crate) unsafe fn write(&self, pictures: &[Picture], stream: &Stream) -> Result<(), BackendError> {
        for pictures in pictures.chunks(MAX_PICTURES) {
            let (mut parameter, tiles) = Pictures::new(pictures);
            let mut launch = || {
                let _current = self.device.enter()?;
                let mut arguments = [(&raw mut parameter).cast()];
                // SAFETY: the kernel's one parameter is a `Pictures`, which the call copies. The caller vouches for
                // what it points to.
                unsafe {
                    result::launch_kernel(self.write_pixels, (tiles, 1, 1), BLOCK, 0, stream.raw(), &mut arguments)
                }
            };
            launch().map_err(|error| from_driver("starting the kernel write_pixels", error))?;
        }
        Ok(())
    }
}

impl Drop for Kernels {
    fn drop(&mut self) {
        if let Ok(_current) = self.device.enter() {
            // SAFETY: loaded by `load`; its work is done, since pools and fences outlive no backend's work.
            let _ = unsafe { result::module::unload(self.module) };
        }
    }
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod on_host;

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};

    use super::*;

    #[test]
    fn pictures_lie_as_the_kernel_reads_them() {
        assert_eq!(size_of::<Picture>(), 64);
        assert_eq!(offset_of!(Picture, source_pitch), 32);
        assert_eq!(offset_of!(Picture, conversion), 60);
        assert_eq!(offset_of!(Pictures, picture), 8);
        let declared = format!("write_pixels_param_0[{}]", size_of::<Pictures>());
        assert!(WRITE_PIXELS.contains(&declared), "the PTX's parameter is not {declared}");
    }

    /// What the kernel does with the steps, against the table of orientations.
    #[test]
    fn steps_lead_to_the_stored_pixel() {
        let stored = Size::new(5, 3);
        for orientation in Orientation::ALL {
            let steps = steps(orientation);
            let shown = orientation.map_size(stored);
            for column in 0..shown.width {
                for row in 0..shown.height {
                    let x = if steps & MIRROR_X != 0 { shown.width - 1 - column } else { column };
                    let y = if steps & MIRROR_Y != 0 { shown.height - 1 - row } else { row };
                    let (x, y) = if steps & SWAP != 0 { (y, x) } else { (x, y) };
                    assert_eq!((x, y), orientation.unmap_point(column, row, stored), "{orientation:?}");
                }
            }
        }
    }

    #[test]
    fn tiles_cover_each_picture_once() {
        let mut narrow = Picture { width: 33, height: 65, conversion: RGB_TO_BGR, ..Picture::NONE };
        assert_eq!(narrow.place(10), 10 + 2 * 3);
        assert_eq!((narrow.first_tile, narrow.tiles_per_row), (10, 2));
        let mut rows = Picture::rows(0, 0, 0, 0, 513, 1);
        assert_eq!(rows.place(0), 2);
    }
}
