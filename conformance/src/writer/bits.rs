//! Bits to the bytes of a scan (T.81 F.1.2.3).

/// Appends bits to a file, with a zero byte behind each FF.
pub(crate) struct BitWriter<'a> {
    file: &'a mut Vec<u8>,
    held: u64,
    count: u32,
}

impl<'a> BitWriter<'a> {
    pub(crate) fn new(file: &'a mut Vec<u8>) -> Self {
        BitWriter { file, held: 0, count: 0 }
    }

    /// The lowest `count` bits, at most 32; those above must be 0.
    pub(crate) fn put(&mut self, bits: u32, count: u32) {
        self.held = self.held << count | u64::from(bits);
        self.count += count;
        while self.count >= 8 {
            self.count -= 8;
            let byte = (self.held >> self.count) as u8;
            self.file.push(byte);
            if byte == 0xFF {
                self.file.push(0);
            }
        }
    }

    /// Fills up the last byte with ones.
    pub(crate) fn flush(&mut self) {
        self.put(0x7F, 7);
        self.count = 0;
    }

    /// Bytes between the bits so far and those to come, such as a marker.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.flush();
        self.file.extend_from_slice(bytes);
    }
}

/// Bits of a value's magnitude.
pub(crate) fn size_of(value: i16) -> u32 {
    16 - value.unsigned_abs().leading_zeros()
}

/// The bits that are sent for a value of this size: negative ones are sent less one.
pub(crate) fn value_bits(value: i16, size: u32) -> u32 {
    let sent = if value < 0 { value - 1 } else { value };
    sent as u16 as u32 & ((1 << size) - 1)
}
