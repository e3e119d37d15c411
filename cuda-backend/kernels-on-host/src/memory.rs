//! What stands in for the device's memory.

#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ffi::{CString, c_char};
use std::ptr::NonNull;

/// What kernels may do with a part of the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Read it.
    Read,
    /// Read and write it.
    ReadWrite,
    /// Write each byte once, and read none.
    WriteOnce,
}

impl Access {
    /// `Access` of emulator.hpp.
    fn bits(self) -> u32 {
        const MAY_READ: u32 = 1;
        const MAY_WRITE: u32 = 2;
        const ONCE: u32 = 4;
        match self {
            Access::Read => MAY_READ,
            Access::ReadWrite => MAY_READ | MAY_WRITE,
            Access::WriteOnce => MAY_WRITE | ONCE,
        }
    }
}

/// Allocations, and the parts of them that kernels may use.
///
/// Addresses are those of this process. Every byte is [`Memory::UNWRITTEN`] until it is written.
#[derive(Debug, Default)]
pub struct Memory {
    allocations: Vec<Allocation>,
    /// By address; they do not overlap.
    parts: Vec<Part>,
}

#[derive(Debug)]
struct Part {
    start: u64,
    end: u64,
    access: Access,
    name: CString,
    /// By byte, whether anybody has written it.
    written: Vec<u8>,
}

/// `Part` of emulator.hpp.
#[repr(C)]
pub(crate) struct RawPart {
    start: usize,
    end: usize,
    written: *mut u8,
    name: *const c_char,
    access: u32,
    reserved: u32,
}

impl Memory {
    /// What memory holds that nobody has written.
    pub const UNWRITTEN: u8 = 0xA5;

    /// No memory at all.
    pub fn new() -> Self {
        Memory::default()
    }

    /// The address of `len` bytes more, a multiple of 256. Nobody may use them yet.
    pub fn allocate(&mut self, len: usize) -> u64 {
        let allocation = Allocation::new(len);
        let address = allocation.address();
        self.allocations.push(allocation);
        address
    }

    /// Lets kernels use a part of an allocation. They know it by `name` in a [`Mistake`](crate::Mistake).
    ///
    /// # Panics
    /// If it is not inside one allocation, or overlaps another part.
    pub fn allow(&mut self, name: &str, address: u64, len: usize, access: Access) {
        let end = address + len as u64;
        self.bytes(address, len);
        let index = self.parts.partition_point(|part| part.start < address);
        let is_free = self.parts.get(index).is_none_or(|next| end <= next.start)
            && (index == 0 || self.parts[index - 1].end <= address);
        assert!(is_free, "{name} overlaps another part");
        let name = CString::new(name).expect("names have no zeros");
        self.parts.insert(index, Part { start: address, end, access, name, written: vec![0; len] });
    }

    /// Writes bytes. Where they lie in parts, these count as written.
    ///
    /// # Panics
    /// If they are not inside one allocation.
    pub fn upload(&mut self, address: u64, bytes: &[u8]) {
        let allocation = self.allocations.iter_mut().find(|allocation| allocation.contains(address, bytes.len()));
        let allocation = allocation.expect("inside an allocation");
        let offset = (address - allocation.address()) as usize;
        allocation.bytes_mut()[offset..offset + bytes.len()].copy_from_slice(bytes);
        self.set_written(address, bytes.len());
    }

    /// Makes bytes count as written, whatever they hold.
    pub fn set_written(&mut self, address: u64, len: usize) {
        let end = address + len as u64;
        for part in self.parts.iter_mut().filter(|part| part.start < end && address < part.end) {
            let (first, last) = (address.max(part.start), end.min(part.end));
            part.written[(first - part.start) as usize..(last - part.start) as usize].fill(1);
        }
    }

    /// The bytes at an address.
    ///
    /// # Panics
    /// If they are not inside one allocation.
    pub fn bytes(&self, address: u64, len: usize) -> &[u8] {
        let allocation = self.allocations.iter().find(|allocation| allocation.contains(address, len));
        let allocation = allocation.expect("inside an allocation");
        let offset = (address - allocation.address()) as usize;
        &allocation.bytes()[offset..offset + len]
    }

    /// The parts as the emulator reads them; good until the memory is used otherwise.
    pub(crate) fn raw_parts(&mut self) -> Vec<RawPart> {
        let raw = |part: &mut Part| RawPart {
            start: part.start as usize,
            end: part.end as usize,
            written: part.written.as_mut_ptr(),
            name: part.name.as_ptr(),
            access: part.access.bits(),
            reserved: 0,
        };
        self.parts.iter_mut().map(raw).collect()
    }
}

/// Bytes that kernels reach by their address.
#[derive(Debug)]
struct Allocation {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the allocation is this value's own; kernels use it only while the memory is borrowed mutably.
unsafe impl Send for Allocation {}

impl Allocation {
    fn new(len: usize) -> Self {
        let layout = Layout::from_size_align(len.max(1), 256).expect("a length that can be allocated");
        // SAFETY: the size is above 0.
        let start = NonNull::new(unsafe { alloc(layout) }).unwrap_or_else(|| handle_alloc_error(layout));
        // SAFETY: `start` has room for `layout.size()` bytes, all of which this writes.
        unsafe { start.write_bytes(Memory::UNWRITTEN, layout.size()) };
        Allocation { start, layout }
    }

    fn address(&self) -> u64 {
        self.start.as_ptr().expose_provenance() as u64
    }

    fn contains(&self, address: u64, len: usize) -> bool {
        let room = self.layout.size() as u64;
        address.checked_sub(self.address()).is_some_and(|offset| offset <= room && len as u64 <= room - offset)
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: the allocation is alive, its bytes were written by `new`, and nobody changes them while it is borrowed.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.layout.size()) }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and it is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.layout.size()) }
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // SAFETY: allocated by `new` with this layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}
