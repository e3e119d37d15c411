//! Runs isopel's CUDA kernels on the CPU, so that tests need no GPU.
//!
//! The sources in `cuda-backend/kernels` are compiled as they are, behind a header that stands in for CUDA. Blocks run
//! one after the other; the threads of a block are fibers that give way at barriers and at the operations of warps, in
//! an [`Order`] that the test chooses. Every load and store is checked before it happens, which the compiler's
//! instrumentation makes possible: whether it lies in a part of [`Memory`] that is for it, whether what it reads was
//! written by anybody, and whether threads use shared memory with no barrier between. Barriers that not all threads reach,
//! masks that do not fit, shifts and sums that C++ does not define, and accesses that are not aligned are found as well.
//! The first [`Mistake`] ends the launch.
//!
//! What this does not show: blocks that run at the same time, and anything of speed.
//!
//! Only for Linux with glibc; needs a C++ compiler (GCC or Clang). Elsewhere the crate is empty.

#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![deny(unsafe_code)]

mod launch;
mod memory;

pub use launch::{Mistake, Order, launch};
pub use memory::{Access, Memory};
