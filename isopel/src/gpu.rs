//! A GPU, as a decoder uses it: files in, pixels in the host's memory out. `no_gpu.rs` stands in for it where there
//! is none.

use isopel_core::cpu::{HostBuffer, HostTarget};
use isopel_core::{Backend, DecodeOptions, Error, Image, Job, Report};
use isopel_wgpu::wgpu::DeviceType;
use isopel_wgpu::{WgpuAfter, WgpuBackend, WgpuOptions, WgpuTarget};

use crate::backend_choice::BackendUnavailable;
use crate::decoder::BatchItem;
use crate::host_memory::{Memory, copy_to_items, no_outcome, packed_layout, single};

/// A submission's pixels take no more than this, with one picture excepted, in the host's memory and again in what
/// the GPU copies to. Batches with more are several submissions.
const SUBMISSION_BYTES: usize = 1 << 30;

/// An open device.
#[derive(Debug)]
pub(crate) struct Gpu {
    backend: WgpuBackend,
}

impl From<WgpuBackend> for Gpu {
    fn from(backend: WgpuBackend) -> Gpu {
        Gpu { backend }
    }
}

impl Gpu {
    pub(crate) const BUILT_IN: bool = true;

    pub(crate) fn open(threads: usize) -> Result<Gpu, BackendUnavailable> {
        Ok(WgpuBackend::with_options(&WgpuOptions::default().threads(threads))?.into())
    }

    /// Only a GPU that is one: software that speaks Vulkan is slower than the CPU backend.
    pub(crate) fn open_hardware(threads: usize) -> Option<Gpu> {
        Gpu::open(threads).ok().filter(|gpu| gpu.backend.adapter().device_type != DeviceType::Cpu)
    }

    pub(crate) fn decode(&self, bytes: &[u8], options: &DecodeOptions) -> Result<Image, Error> {
        single("wgpu", self.decode_batch(&[bytes], options))
    }

    pub(crate) fn decode_into(&self, item: &mut BatchItem<'_>) -> Result<Report, Error> {
        single("wgpu", self.decode_batch_into(std::slice::from_mut(item)))
    }

    pub(crate) fn decode_batch(&self, files: &[&[u8]], options: &DecodeOptions) -> Vec<Result<Image, Error>> {
        let requests = files.iter().map(|jpeg| {
            let layout = packed_layout(jpeg, options, Memory::Isopels)?;
            Ok(Request { jpeg, options, len: layout.required_len() })
        });
        self.submit(requests.collect())
    }

    pub(crate) fn decode_batch_into(&self, items: &mut [BatchItem<'_>]) -> Vec<Result<Report, Error>> {
        let layouts: Vec<_> = items.iter().map(BatchItem::checked_layout).collect();
        let requests = items.iter().zip(&layouts).map(|(item, layouts)| {
            let (packed, _) = layouts.as_ref().map_err(Error::clone)?;
            Ok(Request { jpeg: item.jpeg, options: &item.options, len: packed.required_len() })
        });
        let images = self.submit(requests.collect());
        copy_to_items(images, layouts, items)
    }

    /// Decodes into packed memory. One result per request, in their order; what was an error stays that error.
    fn submit(&self, requests: Vec<Result<Request<'_>, Error>>) -> Vec<Result<Image, Error>> {
        let mut results = Vec::with_capacity(requests.len());
        let mut jobs = Vec::new();
        let mut bytes = 0_usize;
        for request in requests {
            match request {
                Err(error) => results.push(Err(error)),
                Ok(request) => {
                    if !jobs.is_empty() && bytes.saturating_add(request.len) > SUBMISSION_BYTES {
                        self.finish(std::mem::take(&mut jobs), &mut results);
                        bytes = 0;
                    }
                    bytes = bytes.saturating_add(request.len);
                    jobs.push((results.len(), request));
                    // Holds the place.
                    results.push(Err(no_outcome("wgpu")));
                }
            }
        }
        self.finish(jobs, &mut results);
        results
    }

    /// One submission of requests with their places among the results.
    fn finish(&self, requests: Vec<(usize, Request<'_>)>, results: &mut [Result<Image, Error>]) {
        let buffers: Vec<_> = requests.iter().map(|(_, request)| HostBuffer::new(vec![0; request.len])).collect();
        let job = |((_, request), buffer): (&(usize, Request<'_>), &HostBuffer)| Job {
            jpeg: request.jpeg.into(),
            options: *request.options,
            target: WgpuTarget::Host(HostTarget::packed(buffer.clone())),
        };
        let jobs = requests.iter().zip(&buffers).map(job).collect();
        for outcome in self.backend.submit(jobs, WgpuAfter::Queue).wait() {
            let pixels = std::mem::take(&mut *buffers[outcome.index].lock());
            results[requests[outcome.index].0] = outcome.result.map(|report| Image { pixels, report });
        }
    }
}

/// One image whose plan is known to be possible.
struct Request<'a> {
    jpeg: &'a [u8],
    options: &'a DecodeOptions,
    /// Bytes of the packed pixels.
    len: usize,
}
