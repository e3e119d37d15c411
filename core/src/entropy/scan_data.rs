//! A scan's data bytes without their stuffing, chunk by chunk, and libjpeg's way across restart markers.

use crate::codestream::{Marker, Scan};
use crate::warning::{Warning, Warnings};

/// Data bytes of a chunk: few enough to stay in the fastest cache.
const CHUNK: usize = 8192;
/// Bytes behind the chunk that may be read with it.
const PADDING: usize = 8;

/// Data bytes up to the next marker.
pub(super) struct ScanData<'a> {
    /// The file up to the scan's end.
    file: &'a [u8],
    /// What ends the scan: its marker, or EOI at the end of the file as libjpeg supposes.
    end: Marker,
    /// The marker that stopped the reading behind the chunk; the next restart deals with it.
    marker: Option<Marker>,
    chunk: Box<[u8; CHUNK + PADDING]>,
    /// Bytes in the chunk.
    len: usize,
    /// Data bytes before the chunk.
    passed: u64,
    /// Offset in the file of the chunk's first byte.
    start: usize,
    /// Offset behind the chunk's last byte, and behind the marker if there is one.
    next: usize,
    /// Where the chunk has a byte FF.
    stuffed: Vec<StuffedByte>,
}

/// A byte FF in the chunk.
struct StuffedByte {
    position: usize,
    /// Bytes that the file has more: the 00, and any number of FF before it.
    more: usize,
}

impl<'a> ScanData<'a> {
    pub(super) fn new(bytes: &'a [u8], scan: &Scan) -> Self {
        ScanData {
            file: &bytes[..scan.data.end],
            end: scan.end.unwrap_or(Marker::EOI),
            marker: None,
            chunk: Box::new([0; CHUNK + PADDING]),
            len: 0,
            passed: 0,
            start: scan.data.start,
            next: scan.data.start,
            stuffed: Vec::new(),
        }
    }

    /// Eight bytes of the chunk, the first highest, if there are so many.
    #[inline(always)]
    pub(super) fn eight_bytes(&self, position: usize) -> Option<u64> {
        if position + 8 > self.len {
            return None;
        }
        // The remainder changes nothing, as the chunk is never longer; it spares a check.
        let position = position % CHUNK;
        self.chunk[position..position + 8].try_into().map(u64::from_be_bytes).ok()
    }

    /// Data bytes before the chunk's byte at `position`, counted from where reading began. Of no meaning after a
    /// restart.
    #[inline(always)]
    #[cfg_attr(target_arch = "wasm32", expect(dead_code, reason = "one thread starts at the beginning"))]
    pub(super) fn data_bytes_before(&self, position: usize) -> u64 {
        self.passed + position as u64
    }

    /// The chunk's bytes from `position` on.
    pub(super) fn rest(&self, position: usize) -> &[u8] {
        &self.chunk[position..self.len]
    }

    /// Drops the chunk's bytes before `position`, but for the last 8, and adds those that follow, up to the next
    /// marker. Returns the new position of the same byte.
    pub(super) fn load_more(&mut self, position: usize) -> usize {
        if self.marker.is_some() {
            return position;
        }
        let dropped = position.saturating_sub(8);
        self.start = self.offset(dropped);
        self.passed += dropped as u64;
        self.chunk.copy_within(dropped..self.len, 0);
        self.len -= dropped;
        self.stuffed.retain_mut(|byte| {
            let kept = byte.position >= dropped;
            byte.position = byte.position.wrapping_sub(dropped);
            kept
        });
        while self.len < CHUNK && self.marker.is_none() {
            self.load_run();
        }
        position - dropped
    }

    /// Adds bytes up to and with the next FF.
    fn load_run(&mut self) {
        let rest = &self.file[self.next..];
        let room = &rest[..rest.len().min(CHUNK - self.len)];
        let plain = memchr::memchr(0xFF, room).unwrap_or(room.len());
        self.chunk[self.len..self.len + plain].copy_from_slice(&room[..plain]);
        self.len += plain;
        self.next += plain;
        if plain == room.len() && plain < rest.len() {
            return;
        }
        // Any number of FF before a 00 counts as one data byte FF, as libjpeg takes it.
        let fill = rest[plain..].iter().take_while(|&&byte| byte == 0xFF).count();
        self.next += fill;
        match rest.get(plain + fill) {
            Some(0) => {
                self.next += 1;
                self.chunk[self.len] = 0xFF;
                self.stuffed.push(StuffedByte { position: self.len, more: fill });
                self.len += 1;
            }
            Some(&code) => {
                self.next += 1;
                self.marker = Some(Marker(code));
            }
            None => self.marker = Some(self.end),
        }
    }

    /// Offset in the file of the chunk's byte at `position`; behind the last one, what is read next, which may lie
    /// behind a marker.
    pub(super) fn offset(&self, position: usize) -> usize {
        if position == self.len { self.next } else { self.data_offset(position) }
    }

    /// Offset in the file of the chunk's byte at `position`, or of what follows the last one.
    pub(super) fn data_offset(&self, position: usize) -> usize {
        let stuffing: usize =
            self.stuffed.iter().take_while(|byte| byte.position < position).map(|byte| byte.more).sum();
        self.start + position + stuffing
    }

    /// Data bytes from the chunk's byte at `position` to the scan's end; markers and fill bytes are not counted.
    pub(super) fn bytes_from(&self, position: usize) -> usize {
        let rest = &self.file[self.offset(position).min(self.file.len())..];
        let is_data = |(index, &byte): (usize, &u8)| match byte {
            0xFF => rest.get(index + 1) == Some(&0),
            _ => index == 0 || rest[index - 1] != 0xFF,
        };
        rest.iter().enumerate().filter(|&entry| is_data(entry)).count()
    }

    /// Empties the chunk; reading goes on at a place of the file.
    pub(super) fn jump(&mut self, offset: usize) {
        self.next = offset.min(self.file.len());
        self.marker = None;
        self.len = 0;
        self.stuffed.clear();
    }

    /// Empties the chunk; reading goes on from its byte at `position`.
    fn rewind(&mut self, position: usize) {
        if position < self.len {
            self.next = self.offset(position);
            self.marker = None;
        }
        self.len = 0;
        self.stuffed.clear();
    }

    /// Skips to the expected restart marker, or resynchronises as libjpeg's `jpeg_resync_to_restart` does.
    /// Returns whether there is data to read: if not, a marker lies ahead that only a later restart (or
    /// nothing) can pass.
    ///
    /// `position` is the next byte's in the chunk, before which `read_ahead` were taken but not used. The chunk
    /// then begins anew.
    pub(super) fn restart(
        &mut self,
        position: usize,
        read_ahead: usize,
        expected: u8,
        warnings: &mut Warnings,
    ) -> bool {
        self.rewind(position);
        let mut marker = match self.marker {
            Some(marker) => {
                if read_ahead > 0 {
                    warnings.push(Warning::BytesBeforeRestart { count: read_ahead, offset: self.next });
                }
                marker
            }
            None => self.next_marker(read_ahead, warnings),
        };
        if marker.restart_number() == Some(expected) {
            self.marker = None;
            return true;
        }
        warnings.push(Warning::RestartMismatch { found: marker, expected, offset: self.next.saturating_sub(2) });
        loop {
            let ahead = marker.restart_number().map(|number| (number + 8 - expected) % 8);
            match ahead {
                // Not a marker of a scan at all: look further.
                None if marker.is_below_sof() => {}
                // The scan is over, or one or two restarts were lost: this interval stays empty.
                None | Some(1 | 2) => {
                    self.marker = Some(marker);
                    return false;
                }
                // An earlier one again: look further.
                Some(6 | 7) => {}
                // The expected one, or too far off to believe: read on behind it.
                Some(_) => {
                    self.marker = None;
                    return true;
                }
            }
            marker = self.next_marker(0, warnings);
        }
    }

    /// Skips bytes to the next marker.
    fn next_marker(&mut self, already_skipped: usize, warnings: &mut Warnings) -> Marker {
        let mut skipped = already_skipped;
        let marker = loop {
            let rest = &self.file[self.next..];
            let Some(to_ff) = memchr::memchr(0xFF, rest) else {
                skipped += rest.len();
                self.next = self.file.len();
                break self.end;
            };
            let fill = rest[to_ff..].iter().take_while(|&&byte| byte == 0xFF).count();
            skipped += to_ff;
            self.next += to_ff + fill;
            match self.file.get(self.next) {
                None => break self.end,
                Some(0) => {
                    self.next += 1;
                    skipped += 2;
                }
                Some(&code) => {
                    self.next += 1;
                    break Marker(code);
                }
            }
        };
        if skipped > 0 {
            warnings.push(Warning::BytesBeforeRestart { count: skipped, offset: self.next.saturating_sub(2) });
        }
        marker
    }
}

#[cfg(test)]
mod tests;
