//! The kernels of the exact route, and their launches.

#![allow(unsafe_code)]

use std::ffi::{CStr, CString};
use std::sync::Arc;

use cudarc::driver::{result, sys};
use isopel_core::BackendError;

use super::layout::{self, Wave};
use super::wave::{Grids, Synchronisation};
use crate::driver::{Device, Stream};
use crate::error::{failed, from_driver};

const ENTROPY: &str = include_str!("../../kernels/entropy.ptx");
const CANDIDATES: &str = include_str!("../../kernels/candidates.ptx");
const RECONSTRUCT: &str = include_str!("../../kernels/reconstruct.ptx");

/// The loaded kernels.
#[derive(Debug)]
pub(super) struct Kernels {
    _modules: [Module; 3],
    synchronise: sys::CUfunction,
    join_groups: sys::CUfunction,
    guess_candidates: sys::CUfunction,
    follow_candidates: sys::CUfunction,
    link_groups: sys::CUfunction,
    choose_records: sys::CUfunction,
    sum_groups: sys::CUfunction,
    scan_totals: sys::CUfunction,
    recount: sys::CUfunction,
    write_symbols: sys::CUfunction,
    dequant_idct: sys::CUfunction,
    write_pixels: sys::CUfunction,
    device: Arc<Device>,
}

/// Compiled code on the device.
#[derive(Debug)]
struct Module {
    raw: sys::CUmodule,
    device: Arc<Device>,
}

impl Module {
    fn load(device: &Arc<Device>, ptx: &str) -> Result<Module, BackendError> {
        let image = CString::new(ptx).map_err(failed)?;
        let load = || {
            let _current = device.enter()?;
            // SAFETY: `image` is PTX that ends with a zero.
            unsafe { result::module::load_data(image.as_ptr().cast()) }
        };
        let raw = load().map_err(|error| from_driver("loading the kernels", error))?;
        Ok(Module { raw, device: device.clone() })
    }

    fn function(&self, name: &CStr) -> Result<sys::CUfunction, BackendError> {
        let function = || {
            let _current = self.device.enter()?;
            // SAFETY: the module is loaded.
            unsafe { result::module::get_function(self.raw, name.to_owned()) }
        };
        function().map_err(|error| from_driver("looking a kernel up", error))
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        if let Ok(_current) = self.device.enter() {
            // SAFETY: loaded by `load`; its work is done, since no wave outlives the backend.
            let _ = unsafe { result::module::unload(self.raw) };
        }
    }
}

// SAFETY: modules and functions may be used from any thread.
unsafe impl Send for Kernels {}
// SAFETY: as above.
unsafe impl Sync for Kernels {}

/// Threads of most blocks.
const THREADS: u32 = 256;
/// Of those with a thread or warp for each item.
const WARP: u32 = 32;
/// Threads that guess the state behind one subsequence.
const PHASES: u32 = layout::PHASES as u32;

impl Kernels {
    pub(super) fn load(device: &Arc<Device>) -> Result<Kernels, BackendError> {
        let load = |ptx| Module::load(device, ptx);
        let modules = [load(ENTROPY)?, load(CANDIDATES)?, load(RECONSTRUCT)?];
        let [entropy, candidates, reconstruct] = &modules;
        Ok(Kernels {
            synchronise: entropy.function(c"synchronise")?,
            join_groups: entropy.function(c"join_groups")?,
            guess_candidates: candidates.function(c"guess_candidates")?,
            follow_candidates: candidates.function(c"follow_candidates")?,
            link_groups: candidates.function(c"link_groups")?,
            choose_records: candidates.function(c"choose_records")?,
            sum_groups: entropy.function(c"sum_groups")?,
            scan_totals: entropy.function(c"scan_totals")?,
            recount: entropy.function(c"recount")?,
            write_symbols: entropy.function(c"write_symbols")?,
            dequant_idct: reconstruct.function(c"dequant_idct")?,
            write_pixels: reconstruct.function(c"write_pixels_exact")?,
            _modules: modules,
            device: device.clone(),
        })
    }

    /// Launches that decode a wave to samples of its components, in their order.
    pub(super) fn decoding(grids: &Grids) -> Vec<Launch> {
        let idct = Launch::new("dequant_idct", |kernels| kernels.dequant_idct, grids.idct, THREADS);
        if grids.groups == 0 {
            // The CPU has read all scans.
            return vec![idct];
        }
        let mut launches = match grids.synchronisation {
            Synchronisation::Candidates => vec![
                Launch::new("guess_candidates", |kernels| kernels.guess_candidates, grids.groups * PHASES, THREADS),
                Launch::new("follow_candidates", |kernels| kernels.follow_candidates, grids.groups * PHASES, THREADS),
                Launch::new("link_groups", |kernels| kernels.link_groups, grids.groups, THREADS),
                Launch::new("choose_records", |kernels| kernels.choose_records, grids.groups, THREADS),
            ],
            Synchronisation::Rounds => vec![
                Launch::new("synchronise", |kernels| kernels.synchronise, grids.groups, THREADS),
                Launch::new("join_groups", |kernels| kernels.join_groups, grids.groups.div_ceil(WARP), WARP),
                Launch::new("sum_groups", |kernels| kernels.sum_groups, grids.groups, THREADS),
            ],
        };
        launches.push(Launch::new("scan_totals", |kernels| kernels.scan_totals, grids.scans, WARP));
        if grids.recounted > 0 {
            launches.extend([
                Launch::new("recount", |kernels| kernels.recount, grids.recounted, THREADS),
                Launch::new("sum_groups, again", |kernels| kernels.sum_groups, grids.groups, THREADS),
                Launch::new("scan_totals, again", |kernels| kernels.scan_totals, grids.scans, WARP),
            ]);
        }
        launches.extend([Launch::new("write_symbols", |kernels| kernels.write_symbols, grids.groups, THREADS), idct]);
        launches
    }

    /// The launch that writes the pixels of all images that have no flag.
    pub(super) fn writing(grids: &Grids) -> Launch {
        Launch::new("write_pixels_exact", |kernels| kernels.write_pixels, grids.tiles, THREADS)
    }

    /// Queues kernels.
    ///
    /// # Safety
    /// The parameter must describe memory of the device that nobody else uses until the work is done, with the
    /// descriptions uploaded by then. For the writing that goes for the targets too.
    pub(super) unsafe fn launch(&self, launches: &[Launch], wave: &Wave, stream: &Stream) -> Result<(), BackendError> {
        let all = || {
            let _current = self.device.enter()?;
            let mut parameter = *wave;
            for &Launch { function, blocks, threads, .. } in launches {
                let mut arguments = [(&raw mut parameter).cast()];
                // SAFETY: every kernel's one parameter is a `Wave`, which the call copies; the caller vouches for what
                // it points to.
                unsafe {
                    result::launch_kernel(
                        function(self),
                        (blocks, 1, 1),
                        (threads, 1, 1),
                        0,
                        stream.raw(),
                        &mut arguments,
                    )
                }?;
            }
            Ok(())
        };
        all().map_err(|error| from_driver("starting the kernels", error))
    }
}

/// One kernel to start.
#[derive(Debug, Clone, Copy)]
pub(super) struct Launch {
    /// The kernel, and behind a comma which time it is started.
    pub(super) name: &'static str,
    function: fn(&Kernels) -> sys::CUfunction,
    pub(super) blocks: u32,
    pub(super) threads: u32,
}

impl Launch {
    fn new(name: &'static str, function: fn(&Kernels) -> sys::CUfunction, blocks: u32, threads: u32) -> Self {
        Launch { name, function, blocks, threads }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parameter_has_the_size_that_the_kernels_read() {
        for (ptx, kernel) in
            [(ENTROPY, "write_symbols"), (CANDIDATES, "choose_records"), (RECONSTRUCT, "write_pixels_exact")]
        {
            let declared = format!("{kernel}_param_0[{}]", size_of::<Wave>());
            assert!(ptx.contains(&declared), "the PTX's parameter is not {declared}");
        }
    }
}
