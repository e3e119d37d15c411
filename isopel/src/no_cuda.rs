//! What stands in for `cuda.rs` in builds without the feature `cuda`, and on the web: there is no device.

use isopel_core::{DecodeOptions, Error, Image, Report};

use crate::backend_choice::{BackendChoice, BackendUnavailable};
use crate::decoder::BatchItem;

/// Never exists.
#[derive(Debug)]
pub(crate) enum Cuda {}

impl Cuda {
    pub(crate) fn open(_threads: usize) -> Result<Cuda, BackendUnavailable> {
        let backend = BackendChoice::Cuda;
        Err(match cfg!(feature = "cuda") {
            true => BackendUnavailable::Blocks { backend },
            false => BackendUnavailable::NotBuilt { backend },
        })
    }

    pub(crate) fn decode(&self, _: &[u8], _: &DecodeOptions) -> Result<Image, Error> {
        match *self {}
    }

    pub(crate) fn decode_into(&self, _: &mut BatchItem<'_>) -> Result<Report, Error> {
        match *self {}
    }

    pub(crate) fn decode_batch(&self, _: &[&[u8]], _: &DecodeOptions) -> Vec<Result<Image, Error>> {
        match *self {}
    }

    pub(crate) fn decode_batch_into(&self, _: &mut [BatchItem<'_>]) -> Vec<Result<Report, Error>> {
        match *self {}
    }
}
