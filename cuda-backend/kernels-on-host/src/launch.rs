//! Running a kernel.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt;
use std::sync::{Mutex, PoisonError};

use crate::memory::{Memory, RawPart};

/// In what order blocks run, and the threads of a block between two barriers. Right kernels give the same in every one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The first first.
    Forwards,
    /// The last first.
    Backwards,
    /// As a random generator has it that begins with this number.
    Shuffled(u16),
}

/// What a kernel did that it must not do. The launch ended there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake(String);

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Mistake {}

/// `Kernel` of emulator.hpp.
#[repr(C)]
struct Kernel {
    name: *const c_char,
    parameter_size: usize,
    call: unsafe extern "C" fn(*const c_void),
}

// SAFETY: names and functions of the program, which never change.
unsafe impl Sync for Kernel {}

/// `Request` of emulator.hpp.
#[repr(C)]
struct Request {
    kernel: *const Kernel,
    parameter: *const c_void,
    parts: *const RawPart,
    part_count: usize,
    grid_x: u32,
    block_x: u32,
    block_y: u32,
    order: u32,
    message: *mut c_char,
    message_size: usize,
}

macro_rules! kernels {
    ($($symbol:ident)*) => {
        unsafe extern "C" {
            $(static $symbol: Kernel;)*
            fn kernels_on_host_run(request: *const Request) -> c_int;
        }

        fn kernels() -> Vec<&'static Kernel> {
            // SAFETY: constants of the files in emulator/kernels.
            unsafe { vec![$(&$symbol),*] }
        }
    };
}

kernels! {
    kernels_on_host_synchronise kernels_on_host_join_groups kernels_on_host_sum_groups kernels_on_host_scan_totals
    kernels_on_host_guess_candidates kernels_on_host_follow_candidates kernels_on_host_link_groups
    kernels_on_host_choose_records kernels_on_host_recount kernels_on_host_write_symbols kernels_on_host_dequant_idct
    kernels_on_host_write_pixels_exact kernels_on_host_write_pixels
    kernels_on_host_shares_in_order kernels_on_host_misuses
}

/// Threads of a block at most, as on a device.
const MAX_THREADS: u32 = 1024;

/// Runs a kernel: `blocks` blocks of `threads` threads in x and y, with the bytes of its one parameter. It returns when
/// all is done.
///
/// # Errors
/// The kernel's first [`Mistake`].
///
/// # Panics
/// If there is no such kernel, its parameter has another size, or a block has no threads or too many.
pub fn launch(
    kernel: &str,
    blocks: u32,
    threads: (u32, u32),
    parameter: &[u8],
    memory: &mut Memory,
    order: Order,
) -> Result<(), Mistake> {
    // The emulator has one block at a time.
    static RUNNING: Mutex<()> = Mutex::new(());
    let has_name = |known: &&Kernel| {
        // SAFETY: names are literals.
        unsafe { CStr::from_ptr(known.name) }.to_bytes() == kernel.as_bytes()
    };
    let known = kernels().into_iter().find(has_name).unwrap_or_else(|| panic!("no kernel {kernel}"));
    assert_eq!(parameter.len(), known.parameter_size, "bytes of the parameter of {kernel}");
    assert!((1..=MAX_THREADS).contains(&(threads.0 * threads.1)), "{threads:?} threads");
    // Aligned as parameters are.
    let mut aligned = vec![0u128; parameter.len().div_ceil(size_of::<u128>())];
    // SAFETY: there is room, and neither overlaps the other.
    unsafe { std::ptr::copy_nonoverlapping(parameter.as_ptr(), aligned.as_mut_ptr().cast(), parameter.len()) };
    let parts = memory.raw_parts();
    let mut message = [0u8; 400];
    let request = Request {
        kernel: known,
        parameter: aligned.as_ptr().cast(),
        parts: parts.as_ptr(),
        part_count: parts.len(),
        grid_x: blocks,
        block_x: threads.0,
        block_y: threads.1,
        order: match order {
            Order::Forwards => 0,
            Order::Backwards => 1,
            Order::Shuffled(seed) => 2 + u32::from(seed),
        },
        message: message.as_mut_ptr().cast(),
        message_size: message.len(),
    };
    let _running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the request and what it points to live through the call, and the lock keeps others out. Kernels touch their
    // own stacks and shared variables, the parameter, and the parts, which `memory` lends: every access is checked.
    match unsafe { kernels_on_host_run(&request) } {
        0 => Ok(()),
        1 => {
            let text = CStr::from_bytes_until_nul(&message).expect("the emulator ends messages with a zero");
            Err(Mistake(text.to_string_lossy().into_owned()))
        }
        _ => panic!("no memory for the stacks of {kernel}"),
    }
}
