//! Markers and stuffed zeros among entropy-coded bytes (T.81 B.1.1.5): a byte FF of the data is followed by 00, which is
//! no data, and any other code behind FF makes a marker. The plain code, which [`simd`](crate::simd) is held against.

/// The first marker from `start` on: the offset of its FF, which neither 00 nor another FF follows.
pub(crate) fn find_marker(bytes: &[u8], start: usize) -> Option<usize> {
    let mut rest = bytes.get(start..)?;
    loop {
        rest = &rest[memchr::memchr(0xFF, rest)?..];
        match rest.get(1)? {
            0x00 | 0xFF => rest = &rest[1..],
            _ => return Some(bytes.len() - rest.len()),
        }
    }
}

/// How far [`unstuff`] came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unstuffed {
    /// Bytes that were read.
    pub(crate) read: usize,
    /// Bytes that were written: those read without their stuffing.
    pub(crate) written: usize,
}

/// Copies data without its stuffing to the start of `out`, up to the end or to the first FF that no 00 follows. What
/// `out` holds behind it has no meaning.
///
/// # Panics
/// If `out` is too short.
pub(crate) fn unstuff(bytes: &[u8], out: &mut [u8]) -> Unstuffed {
    let Unstuffed { mut read, mut written } = Unstuffed { read: 0, written: 0 };
    loop {
        let rest = &bytes[read..];
        let run = memchr::memchr(0xFF, rest).unwrap_or(rest.len());
        out[written..written + run].copy_from_slice(&rest[..run]);
        read += run;
        written += run;
        if rest.get(run + 1) != Some(&0) {
            return Unstuffed { read, written };
        }
        out[written] = 0xFF;
        read += 2;
        written += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_neither_stuffing_nor_fill() {
        let bytes = [0xFF, 0xD8, 1, 0xFF, 0, 0xFF, 0xFF, 0xD9, 0xFF, 0xFF, 0, 0xFF];
        assert_eq!(find_marker(&bytes, 0), Some(0));
        assert_eq!(find_marker(&bytes, 1), Some(6));
        assert_eq!(find_marker(&bytes, 7), None, "FF FF 00, and FF at the end");
        assert_eq!(find_marker(&bytes, 100), None);
    }

    #[test]
    fn data_is_copied_up_to_what_is_none() {
        let unstuffed = |bytes: &[u8]| {
            let mut out = [0; 16];
            let Unstuffed { read, written } = unstuff(bytes, &mut out);
            (read, out[..written].to_vec())
        };
        assert_eq!(unstuffed(&[]), (0, vec![]));
        assert_eq!(unstuffed(&[1, 0xFF, 0, 0, 2]), (5, vec![1, 0xFF, 0, 2]));
        assert_eq!(unstuffed(&[0xFF, 0, 0xFF, 0]), (4, vec![0xFF, 0xFF]));
        assert_eq!(unstuffed(&[1, 0xFF, 0, 0xFF, 0xD0, 2]), (3, vec![1, 0xFF]));
        assert_eq!(unstuffed(&[1, 0xFF, 0xFF, 0]), (1, vec![1]));
        assert_eq!(unstuffed(&[1, 2, 0xFF]), (2, vec![1, 2]));
    }
}
