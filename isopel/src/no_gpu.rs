//! What stands in for `gpu.rs` in builds without the feature `wgpu`, and on the web: there is no GPU.

use isopel_core::{DecodeOptions, Error, Image, Report};

use crate::backend_choice::{BackendChoice, BackendUnavailable};
use crate::decoder::BatchItem;

/// Never exists.
#[derive(Debug)]
pub(crate) enum Gpu {}

impl Gpu {
    pub(crate) const BUILT_IN: bool = false;

    pub(crate) fn open(_threads: usize) -> Result<Gpu, BackendUnavailable> {
        let backend = BackendChoice::Wgpu;
        Err(match cfg!(feature = "wgpu") {
            true => BackendUnavailable::Blocks { backend },
            false => BackendUnavailable::NotBuilt { backend },
        })
    }

    pub(crate) fn open_hardware(_threads: usize) -> Option<Gpu> {
        None
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
