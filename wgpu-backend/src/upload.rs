//! What a wave uploads: one buffer of sections, filled by several threads.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use bytemuck::{Pod, cast_slice};

use crate::wave::Section;

/// Memory of tables that is used again: what is fresh costs a page fault every 4 KiB, and a wave's tables have
/// megabytes.
#[derive(Default)]
pub(crate) struct TableMemory(Mutex<Vec<Vec<u32>>>);

impl TableMemory {
    /// Kept at most: two for each of some waves that are recorded at once.
    const KEPT: usize = 16;
    /// Words of the largest that is kept.
    const LARGEST: usize = 4 << 20;

    /// Memory without contents.
    pub(crate) fn take(&self) -> Vec<u32> {
        let mut memory = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        memory.clear();
        memory
    }

    /// Takes back what has been copied.
    pub(crate) fn put(&self, memory: Vec<u32>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < Self::KEPT && memory.capacity() <= Self::LARGEST {
            kept.push(memory);
        }
    }
}

/// What the upload buffer will hold: tables that are made for it, and coefficients or entropy-coded data, which are
/// copied once, from where the CPU's part of decoding left them.
pub(crate) struct Upload<'t> {
    parts: Vec<Part<'t>>,
    tables: Vec<u32>,
    len: u64,
    alignment: u64,
}

/// Bytes of the upload buffer.
struct Part<'t> {
    /// Zeros before it, to align it.
    gap: usize,
    contents: Contents<'t>,
}

/// What a part holds.
pub(crate) enum Contents<'t> {
    /// A range of the upload's own tables.
    Tables(Range<usize>),
    /// Coefficients.
    Words(&'t [u32]),
    /// Entropy-coded data, or samples.
    Data(&'t [u8]),
}

impl Contents<'_> {
    /// Bytes of one picture's data that are written at once, so that several threads can share it.
    const PIECE: usize = 128 << 10;

    fn in_pieces(self) -> Vec<Self> {
        match self {
            Contents::Data(data) if data.len() > Self::PIECE => data.chunks(Self::PIECE).map(Contents::Data).collect(),
            small => vec![small],
        }
    }
}

/// A range of the upload buffer that is written at once.
pub(crate) struct UploadChunk {
    pub(crate) offset: u64,
    pub(crate) len: u64,
    parts: Range<usize>,
}

impl<'t> Upload<'t> {
    /// Nothing yet; sections are aligned to these bytes.
    pub(crate) fn new(alignment: u64, memory: Vec<u32>) -> Self {
        Upload { parts: Vec::new(), tables: memory, len: 0, alignment }
    }

    /// Bytes of the buffer.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// What sections of other buffers are to be aligned to as well.
    pub(crate) fn alignment(&self) -> u64 {
        self.alignment
    }

    /// The memory of the tables.
    pub(crate) fn into_memory(self) -> Vec<u32> {
        self.tables
    }

    /// Appends a section with a table.
    pub(crate) fn append<T: Pod>(&mut self, items: &[T]) -> Section {
        let table = self.table(items);
        self.append_all([table])
    }

    /// Copies a table, to be appended.
    pub(crate) fn table<T: Pod>(&mut self, items: &[T]) -> Contents<'t> {
        let start = self.tables.len();
        self.tables.extend_from_slice(cast_slice(items));
        Contents::Tables(start..self.tables.len())
    }

    /// Appends the table by which workgroups find what is theirs: their number, then an index for each, of items that
    /// have these numbers of workgroups. Gives the number of all too.
    pub(crate) fn append_groups(&mut self, counts: impl Iterator<Item = u32>) -> (Section, u32) {
        let start = self.tables.len();
        self.tables.push(0);
        for (index, count) in counts.enumerate() {
            self.tables.extend(std::iter::repeat_n(index as u32, count as usize));
        }
        let groups = (self.tables.len() - start - 1) as u32;
        self.tables[start] = groups;
        let table = Contents::Tables(start..self.tables.len());
        (self.append_all([table]), groups)
    }

    /// Appends parts that follow each other without gaps, as one section.
    pub(crate) fn append_all(&mut self, parts: impl IntoIterator<Item = Contents<'t>>) -> Section {
        let offset = self.len.next_multiple_of(self.alignment);
        let mut gap = (offset - self.len) as usize;
        self.len = offset;
        for contents in parts.into_iter().flat_map(Contents::in_pieces) {
            self.len += self.bytes(&contents).len() as u64;
            self.parts.push(Part { gap: std::mem::take(&mut gap), contents });
        }
        if self.len == offset {
            // A binding may not be empty.
            let contents = self.table(&[0u32]);
            self.parts.push(Part { gap, contents });
            self.len += 4;
        }
        Section { offset, size: self.len - offset }
    }

    fn bytes<'s>(&'s self, contents: &'s Contents<'t>) -> &'s [u8] {
        match contents {
            Contents::Tables(range) => cast_slice(&self.tables[range.clone()]),
            Contents::Words(words) => cast_slice(words),
            Contents::Data(data) => data,
        }
    }

    /// Cuts the upload into chunks of about `len` bytes, so that several threads can write it: memory that the
    /// GPU reads is slow to write to for one.
    pub(crate) fn chunks(&self, len: u64) -> Vec<UploadChunk> {
        let mut chunks = Vec::new();
        let mut chunk = UploadChunk { offset: 0, len: 0, parts: 0..0 };
        for (index, part) in self.parts.iter().enumerate() {
            chunk.len += (part.gap + self.bytes(&part.contents).len()) as u64;
            chunk.parts.end = index + 1;
            if chunk.len >= len {
                let next = UploadChunk { offset: chunk.offset + chunk.len, len: 0, parts: index + 1..index + 1 };
                chunks.push(std::mem::replace(&mut chunk, next));
            }
        }
        if chunk.len > 0 {
            chunks.push(chunk);
        }
        chunks
    }

    /// Writes a chunk of the buffer.
    pub(crate) fn write_chunk(&self, chunk: &UploadChunk, memory: wgpu::WriteOnly<[u8]>) {
        let mut rest = memory;
        for part in &self.parts[chunk.parts.clone()] {
            let bytes = self.bytes(&part.contents);
            let (_, after) = rest.split_at(part.gap);
            let (mut place, after) = after.split_at(bytes.len());
            place.copy_from_slice(bytes);
            rest = after;
        }
    }

    /// The whole buffer.
    #[cfg(test)]
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut buffer = Vec::new();
        for part in &self.parts {
            buffer.resize(buffer.len() + part.gap, 0);
            buffer.extend_from_slice(self.bytes(&part.contents));
        }
        buffer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_aligned_and_hold_what_was_appended() {
        let (words, data) = ([1u32, 2, 3], [4u8, 5, 6, 7]);
        let mut upload = Upload::new(256, Vec::new());
        let sections = [
            upload.append(&words),
            upload.append_groups([2, 0, 3].into_iter()).0,
            upload.append_all([Contents::Data(&data), Contents::Words(&words)]),
            upload.append_all([]),
        ];
        let bytes = upload.to_bytes();
        assert_eq!(bytes.len() as u64, upload.len());
        let of = |index: usize| -> Vec<u8> {
            let Section { offset, size } = sections[index];
            assert_eq!(offset % 256, 0);
            bytes[offset as usize..(offset + size) as usize].to_vec()
        };
        assert_eq!(of(0), cast_slice::<u32, u8>(&words));
        assert_eq!(of(1), cast_slice::<u32, u8>(&[5, 0, 0, 2, 2, 2]));
        assert_eq!(of(2), [&data[..], cast_slice(&words)].concat());
        assert_eq!(of(3), [0; 4]);
    }

    #[test]
    fn chunks_cover_the_buffer() {
        let data = vec![9u8; 1000];
        let mut upload = Upload::new(64, Vec::new());
        for _ in 0..10 {
            upload.append_all([Contents::Data(&data)]);
        }
        for len in [1, 1500, 1 << 20] {
            let chunks = upload.chunks(len);
            assert_eq!(chunks.iter().map(|chunk| chunk.len).sum::<u64>(), upload.len());
            assert!(chunks.windows(2).all(|two| two[0].offset + two[0].len == two[1].offset));
        }
        assert_eq!(upload.chunks(1).len(), 10);
        let large: Vec<u8> = (0..300_000u32).map(|place| place as u8).collect();
        let mut upload = Upload::new(64, Vec::new());
        upload.append_all([Contents::Data(&large)]);
        assert_eq!(upload.chunks(100_000).len(), 3);
        assert_eq!(upload.to_bytes(), large);
    }

    #[test]
    fn memory_is_used_again() {
        let memory = TableMemory::default();
        let mut upload = Upload::new(16, memory.take());
        upload.append(&[7u32; 1000]);
        let tables = upload.into_memory();
        let (capacity, place) = (tables.capacity(), tables.as_ptr());
        memory.put(tables);
        let again = memory.take();
        assert_eq!((again.len(), again.capacity(), again.as_ptr()), (0, capacity, place));
    }
}
