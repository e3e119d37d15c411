//! An NVIDIA GPU, as a decoder uses it: files in, pixels in the host's memory out. `no_cuda.rs` stands in for it where
//! there is none.

use std::sync::Arc;

use isopel_core::{DecodeOptions, Error, Image, Report};
use isopel_cuda::{CudaBackend, CudaOptions};

use crate::backend_choice::BackendUnavailable;
use crate::decoder::BatchItem;
use crate::host_memory::{Memory, copy_to_items, packed_layout, single};

/// A file, and what to decode of it.
type Request = (Arc<[u8]>, DecodeOptions);

/// An open device.
#[derive(Debug)]
pub(crate) struct Cuda {
    backend: CudaBackend,
}

impl From<CudaBackend> for Cuda {
    fn from(backend: CudaBackend) -> Cuda {
        Cuda { backend }
    }
}

impl Cuda {
    pub(crate) fn open(threads: usize) -> Result<Cuda, BackendUnavailable> {
        Ok(CudaBackend::with_options(&CudaOptions::default().threads(threads))?.into())
    }

    pub(crate) fn decode(&self, bytes: &[u8], options: &DecodeOptions) -> Result<Image, Error> {
        single("cuda", self.decode_batch(&[bytes], options))
    }

    pub(crate) fn decode_into(&self, item: &mut BatchItem<'_>) -> Result<Report, Error> {
        single("cuda", self.decode_batch_into(std::slice::from_mut(item)))
    }

    pub(crate) fn decode_batch(&self, files: &[&[u8]], options: &DecodeOptions) -> Vec<Result<Image, Error>> {
        let checked = files.iter().map(|jpeg| {
            packed_layout(jpeg, options, Memory::Isopels)?;
            Ok((Arc::from(*jpeg), *options))
        });
        self.submit(checked.collect())
    }

    pub(crate) fn decode_batch_into(&self, items: &mut [BatchItem<'_>]) -> Vec<Result<Report, Error>> {
        let layouts: Vec<_> = items.iter().map(BatchItem::checked_layout).collect();
        let checked = items.iter().zip(&layouts).map(|(item, layouts)| match layouts {
            Ok(_) => Ok((Arc::from(item.jpeg), item.options)),
            Err(error) => Err(error.clone()),
        });
        let images = self.submit(checked.collect());
        copy_to_items(images, layouts, items)
    }

    /// One result per request, in their order; what was an error stays that error.
    fn submit(&self, requests: Vec<Result<Request, Error>>) -> Vec<Result<Image, Error>> {
        let good: Vec<_> = requests.iter().flatten().cloned().collect();
        let mut images = self.backend.decode_batch(&good).into_iter();
        let take =
            |request: Result<_, Error>| request.and_then(|_| single("cuda", images.next().into_iter().collect()));
        requests.into_iter().map(take).collect()
    }
}
