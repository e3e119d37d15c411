//! Types of nvjpeg.h. Enums are 4-byte integers, since a library may return values that an older header lacks.

use std::ffi::{c_int, c_uchar, c_void};

use crate::{tDevFree, tDevFreeV2, tDevMalloc, tDevMallocV2, tPinnedFree, tPinnedMalloc};

macro_rules! integers {
    ($($(#[$docs:meta])* $name:ident($integer:ty) { $($(#[$value_docs:meta])* $value:ident = $number:expr,)* })*) => {
        $(
            $(#[$docs])*
            #[repr(transparent)]
            #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
            pub struct $name(pub $integer);

            impl $name {
                $($(#[$value_docs])* pub const $value: $name = $name($number);)*
            }
        )*
    };
}

integers! {
    /// What a call says of itself.
    nvjpegStatus_t(u32) {
        /// Done.
        SUCCESS = 0,
        /// The handle is not there.
        NOT_INITIALIZED = 1,
        /// A parameter is wrong.
        INVALID_PARAMETER = 2,
        /// The file is wrong, or so nvJPEG thinks.
        BAD_JPEG = 3,
        /// The file is of a kind that is not decoded.
        JPEG_NOT_SUPPORTED = 4,
        /// No memory.
        ALLOCATOR_FAILURE = 5,
        /// CUDA failed.
        EXECUTION_FAILED = 6,
        /// The device is too old.
        ARCH_MISMATCH = 7,
        /// nvJPEG failed.
        INTERNAL_ERROR = 8,
        /// This backend does not do this.
        IMPLEMENTATION_NOT_SUPPORTED = 9,
        /// The file is cut off.
        INCOMPLETE_BITSTREAM = 10,
    }
    /// Which code decodes.
    nvjpegBackend_t(u32) {
        /// nvJPEG's choice.
        DEFAULT = 0,
        /// Entropy decoding on the CPU.
        HYBRID = 1,
        /// Entropy decoding on the SMs.
        GPU_HYBRID = 2,
        /// The JPEG engines.
        HARDWARE = 3,
        /// `GPU_HYBRID` from files in device memory.
        GPU_HYBRID_DEVICE = 4,
        /// `HARDWARE` from files in device memory.
        HARDWARE_DEVICE = 5,
        /// Lossless files.
        LOSSLESS_JPEG = 6,
    }
    /// The format of decoded pixels.
    nvjpegOutputFormat_t(u32) {
        /// Components as stored.
        UNCHANGED = 0,
        /// Y, Cb, Cr planes at their own resolution.
        YUV = 1,
        /// Luma only.
        Y = 2,
        /// Three planes.
        RGB = 3,
        /// Three planes, blue first.
        BGR = 4,
        /// Interleaved.
        RGBI = 5,
        /// Interleaved, blue first.
        BGRI = 6,
        /// 16-bit samples as stored.
        UNCHANGEDI_U16 = 7,
    }
    /// Chroma sampling; -1 for unknown.
    nvjpegChromaSubsampling_t(i32) {
        /// 4:4:4.
        CSS_444 = 0,
        /// 4:2:2.
        CSS_422 = 1,
        /// 4:2:0.
        CSS_420 = 2,
        /// 4:4:0.
        CSS_440 = 3,
        /// 4:1:1.
        CSS_411 = 4,
        /// 4:1:0.
        CSS_410 = 5,
        /// No chroma.
        CSS_GRAY = 6,
        /// 4:1:0 with vertical factors.
        CSS_410V = 7,
        /// Anything else.
        CSS_UNKNOWN = -1,
    }
    /// The coding process.
    nvjpegJpegEncoding_t(u32) {
        /// Not known.
        UNKNOWN = 0x0,
        /// SOF0.
        BASELINE_DCT = 0xC0,
        /// SOF1.
        EXTENDED_SEQUENTIAL_DCT_HUFFMAN = 0xC1,
        /// SOF2.
        PROGRESSIVE_DCT_HUFFMAN = 0xC2,
        /// SOF3.
        LOSSLESS_HUFFMAN = 0xC3,
    }
    /// The reduction of the output.
    nvjpegScaleFactor_t(u32) {
        /// Full size.
        NONE = 0,
        /// Half.
        HALF = 1,
        /// A quarter.
        QUARTER = 2,
        /// An eighth.
        EIGHTH = 3,
    }
    /// The EXIF orientation.
    nvjpegExifOrientation_t(u32) {
        /// Not known.
        UNKNOWN = 0,
        /// As stored.
        NORMAL = 1,
    }
    /// Which version number.
    libraryPropertyType(u32) {
        /// Major.
        MAJOR_VERSION = 0,
        /// Minor.
        MINOR_VERSION = 1,
        /// Patch.
        PATCH_LEVEL = 2,
    }
}

/// Interpolate chroma as libjpeg does (since 12.1), for `nvjpegCreateEx`.
pub const NVJPEG_FLAGS_UPSAMPLING_WITH_INTERPOLATION: u32 = 32;

/// Channels of an [`nvjpegImage_t`].
pub const NVJPEG_MAX_COMPONENT: usize = 4;

macro_rules! handles {
    ($($(#[$docs:meta])* $name:ident)*) => {
        $(
            $(#[$docs])*
            #[repr(transparent)]
            #[derive(Debug, Clone, Copy, PartialEq, Eq)]
            pub struct $name(pub *mut c_void);

            impl $name {
                /// No object.
                pub const NULL: $name = $name(std::ptr::null_mut());
            }
        )*
    };
}

handles! {
    /// The library's handle.
    nvjpegHandle_t
    /// A thread's decoding state.
    nvjpegJpegState_t
    /// A decoder of the decoupled calls.
    nvjpegJpegDecoder_t
    /// A parsed file.
    nvjpegJpegStream_t
    /// Decode parameters.
    nvjpegDecodeParams_t
    /// Pinned memory.
    nvjpegBufferPinned_t
    /// Device memory.
    nvjpegBufferDevice_t
    /// A stream of the CUDA runtime, which is one of the driver.
    cudaStream_t
}

/// Where pixels go: up to four channels with their pitches in bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct nvjpegImage_t {
    /// Device addresses.
    pub channel: [*mut c_uchar; NVJPEG_MAX_COMPONENT],
    /// Bytes from one row to the next.
    pub pitch: [usize; NVJPEG_MAX_COMPONENT],
}

/// A device allocator.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct nvjpegDevAllocator_t {
    /// Allocates.
    pub dev_malloc: Option<tDevMalloc>,
    /// Frees.
    pub dev_free: Option<tDevFree>,
}

/// An allocator of pinned memory.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct nvjpegPinnedAllocator_t {
    /// Allocates.
    pub pinned_malloc: Option<tPinnedMalloc>,
    /// Frees.
    pub pinned_free: Option<tPinnedFree>,
}

/// A stream-ordered device allocator.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct nvjpegDevAllocatorV2_t {
    /// Allocates.
    pub dev_malloc: Option<tDevMallocV2>,
    /// Frees.
    pub dev_free: Option<tDevFreeV2>,
    /// Handed to both.
    pub dev_ctx: *mut c_void,
}

/// A stream-ordered allocator of pinned memory.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct nvjpegPinnedAllocatorV2_t {
    /// Allocates.
    pub pinned_malloc: Option<tDevMallocV2>,
    /// Frees.
    pub pinned_free: Option<tDevFreeV2>,
    /// Handed to both.
    pub pinned_ctx: *mut c_void,
}

const _: () = assert!(size_of::<c_int>() == 4);

#[cfg(test)]
mod tests {
    use std::mem::{align_of, offset_of, size_of};

    use super::*;

    #[test]
    fn integers_are_as_wide_as_c_enums() {
        assert_eq!(
            [size_of::<nvjpegStatus_t>(), size_of::<nvjpegBackend_t>(), size_of::<nvjpegOutputFormat_t>()],
            [4; 3]
        );
        assert_eq!([size_of::<nvjpegChromaSubsampling_t>(), size_of::<nvjpegJpegEncoding_t>()], [4; 2]);
        assert_eq!([size_of::<libraryPropertyType>(), size_of::<nvjpegScaleFactor_t>()], [4; 2]);
        assert_eq!(size_of::<nvjpegExifOrientation_t>(), 4);
        assert_eq!(nvjpegChromaSubsampling_t::CSS_UNKNOWN.0, -1);
    }

    #[cfg(target_pointer_width = "64")]
    #[test]
    fn structures_lie_as_in_c() {
        assert_eq!((size_of::<nvjpegImage_t>(), align_of::<nvjpegImage_t>()), (64, 8));
        assert_eq!((offset_of!(nvjpegImage_t, channel), offset_of!(nvjpegImage_t, pitch)), (0, 32));
        assert_eq!((size_of::<nvjpegDevAllocator_t>(), size_of::<nvjpegPinnedAllocator_t>()), (16, 16));
        assert_eq!((size_of::<nvjpegDevAllocatorV2_t>(), size_of::<nvjpegPinnedAllocatorV2_t>()), (24, 24));
        assert_eq!(offset_of!(nvjpegDevAllocatorV2_t, dev_ctx), 16);
        assert_eq!(size_of::<nvjpegHandle_t>(), 8);
        assert_eq!(size_of::<Option<tDevMalloc>>(), 8);
    }
}
