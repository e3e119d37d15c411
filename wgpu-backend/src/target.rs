//! Where pixels go on a wgpu device.

use isopel_core::cpu::{HostBuffer, HostTarget};
use isopel_core::{DecodePlan, Error, MisuseError, PixelFormat, PixelLayout};

/// The memory that a job's pixels are written to.
#[derive(Debug, Clone)]
pub enum WgpuTarget {
    /// A storage buffer of the caller's.
    Buffer(BufferTarget),
    /// A texture of the caller's: `rgba8unorm` or `rgba8uint`, with usage `COPY_DST`, at least as large as the
    /// picture. The job's format must be [`PixelFormat::Rgba8`].
    Texture(wgpu::Texture),
    /// Memory of the host; the pixels are read back.
    Host(HostTarget),
}

/// Where pixels lie in a buffer.
#[derive(Debug, Clone)]
pub struct BufferTarget {
    /// A buffer with usage `STORAGE`.
    pub buffer: wgpu::Buffer,
    /// Byte offset of the first pixel, a multiple of 4.
    pub offset: u64,
    /// Bytes from one row to the next; `None` for packed rows.
    pub stride: Option<usize>,
}

impl BufferTarget {
    /// Packed pixels at the buffer's start.
    pub fn packed(buffer: wgpu::Buffer) -> Self {
        BufferTarget { buffer, offset: 0, stride: None }
    }
}

/// Where a job's pixels go, once it is planned.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// Memory of the caller's.
    Given(WgpuTarget),
    /// Host memory that gets its length from the plan.
    NewHostMemory(HostBuffer),
    /// None: planning panics, for the test of what a panic costs.
    #[cfg(test)]
    Panic,
}

impl Place {
    pub(crate) fn target_for(self, plan: &DecodePlan) -> Result<WgpuTarget, Error> {
        match self {
            Place::Given(target) => Ok(target),
            Place::NewHostMemory(buffer) => {
                let len = plan.layout().required_len();
                plan.limits().check_memory(plan.working_memory().saturating_add(len as u64))?;
                *buffer.lock() = vec![0; len];
                Ok(WgpuTarget::Host(HostTarget::packed(buffer)))
            }
            #[cfg(test)]
            Place::Panic => panic!("there is no place"),
        }
    }
}

impl WgpuTarget {
    /// How the pixels will lie in the target. Textures have no layout; theirs is the device's.
    pub(crate) fn layout(&self, packed: &PixelLayout) -> Result<PixelLayout, MisuseError> {
        match self {
            WgpuTarget::Host(HostTarget { stride: Some(stride), .. }) => packed.clone().with_stride(*stride),
            _ => self.device_layout(packed),
        }
    }

    /// How pixels lie on the device, before they go to the host's memory or a texture.
    pub(crate) fn device_layout(&self, packed: &PixelLayout) -> Result<PixelLayout, MisuseError> {
        let stride = match self {
            WgpuTarget::Buffer(target) => target.stride,
            WgpuTarget::Host(_) => None,
            WgpuTarget::Texture(_) => {
                let row = packed.size().width as usize * packed.format().bytes_per_pixel();
                Some(row.next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT as usize))
            }
        };
        match stride {
            Some(stride) => packed.clone().with_stride(stride),
            None => Ok(packed.clone()),
        }
    }

    /// Whether pixels in its layout can go there.
    pub(crate) fn check(&self, layout: &PixelLayout) -> Result<(), MisuseError> {
        let unsuitable = |message: &str| Err(MisuseError::Target(message.to_string()));
        match self {
            WgpuTarget::Buffer(target) => {
                if !target.buffer.usage().contains(wgpu::BufferUsages::STORAGE) {
                    return unsuitable("the buffer lacks usage STORAGE");
                }
                if !target.offset.is_multiple_of(4) {
                    return unsuitable("the offset is not a multiple of 4");
                }
                // The last word is written whole.
                let needed = (target.offset as usize).saturating_add(layout.required_len());
                let needed = needed.checked_next_multiple_of(4).unwrap_or(usize::MAX);
                let len = target.buffer.size() as usize;
                if len < needed { Err(MisuseError::BufferTooShort { len, needed }) } else { Ok(()) }
            }
            WgpuTarget::Texture(texture) => {
                let size = layout.size();
                if layout.format() != PixelFormat::Rgba8 {
                    return unsuitable("textures take the format rgba8");
                }
                if !matches!(texture.format(), wgpu::TextureFormat::Rgba8Unorm | wgpu::TextureFormat::Rgba8Uint) {
                    return unsuitable("the texture's format is neither rgba8unorm nor rgba8uint");
                }
                if !texture.usage().contains(wgpu::TextureUsages::COPY_DST) {
                    return unsuitable("the texture lacks usage COPY_DST");
                }
                if texture.width() < size.width || texture.height() < size.height {
                    return unsuitable(&format!("the texture is smaller than {size}"));
                }
                Ok(())
            }
            WgpuTarget::Host(target) => {
                let needed = target.offset.saturating_add(layout.required_len());
                let len = target.buffer.lock().len();
                if len < needed { Err(MisuseError::BufferTooShort { len, needed }) } else { Ok(()) }
            }
        }
    }
}
