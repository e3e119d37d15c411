//! Finding markers and dropping stuffing, many bytes at a time: [`codestream::stuffing`](crate::codestream::stuffing) has
//! the plain code. In photographs a byte FF comes every 60 to 2000 bytes: sometimes too often to search from one to the
//! next.

use super::Level;
use crate::codestream::stuffing::{self, Unstuffed};

/// [`stuffing::find_marker`].
pub(crate) fn find_marker(level: Level, bytes: &[u8], start: usize) -> Option<usize> {
    match level {
        // SAFETY: `available`, which makes the levels, has seen that the processor has their features.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { avx2::find_marker(bytes, start) },
        _ => stuffing::find_marker(bytes, start),
    }
}

/// [`stuffing::unstuff`].
pub(crate) fn unstuff(level: Level, bytes: &[u8], out: &mut [u8]) -> Unstuffed {
    match level {
        // SAFETY: `is_available` has seen that the processor has its features.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 if avx512::is_available() => unsafe { avx512::unstuff(bytes, out) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { avx2::unstuff(bytes, out) },
        _ => stuffing::unstuff(bytes, out),
    }
}

/// Where the processor has vectors of 64 bytes and an instruction that moves chosen ones together: half the time of
/// [`avx2`] where FFs are frequent. Memory, not this, is the limit of [`find_marker`].
#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::*;

    use super::{Unstuffed, stuffing};

    /// Bytes of a vector.
    const WIDTH: usize = 64;

    pub(super) fn is_available() -> bool {
        use std::arch::is_x86_feature_detected as has;
        has!("avx512f") && has!("avx512bw") && has!("avx512vbmi2") && has!("popcnt")
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
    pub(super) fn unstuff(bytes: &[u8], out: &mut [u8]) -> Unstuffed {
        let Some((&first, place)) = bytes.first().zip(out.first_mut()) else { return stuffing::unstuff(bytes, out) };
        *place = first;
        let (mut read, mut written) = (1, 1);
        let ff = _mm512_set1_epi8(-1);
        // The byte before the vector, too.
        while let Some(source) = bytes[read - 1..].first_chunk::<{ WIDTH + 1 }>()
            && let Some(target) = out[written..].first_chunk_mut::<WIDTH>()
        {
            let here = load(source, 1);
            let behind_ff = _mm512_cmpeq_epi8_mask(load(source, 0), ff);
            if _mm512_mask_test_epi8_mask(behind_ff, here, here) != 0 {
                break;
            }
            let data = _mm512_maskz_compress_epi8(!behind_ff, here);
            // SAFETY: writes the target's bytes, which may lie anywhere.
            unsafe { _mm512_storeu_si512(target.as_mut_ptr().cast(), data) };
            read += WIDTH;
            written += WIDTH - behind_ff.count_ones() as usize;
        }
        // Whether the last byte is data, the next one tells.
        if bytes[read - 1] == 0xFF {
            (read, written) = (read - 1, written - 1);
        }
        let rest = stuffing::unstuff(&bytes[read..], &mut out[written..]);
        Unstuffed { read: read + rest.read, written: written + rest.written }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load(bytes: &[u8], at: usize) -> __m512i {
        let vector = &bytes[at..at + WIDTH];
        // SAFETY: reads the vector's bytes, which may lie anywhere.
        unsafe { _mm512_loadu_si512(vector.as_ptr().cast()) }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::{Unstuffed, stuffing};

    /// Bytes of a vector.
    const WIDTH: usize = 32;
    /// Vectors of a group, which are looked at before it is asked whether there was something in them.
    const VECTORS: usize = 4;

    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    pub(super) fn find_marker(bytes: &[u8], start: usize) -> Option<usize> {
        let (ff, one) = (_mm256_set1_epi8(-1), _mm256_set1_epi8(1));
        let mut at = start;
        // Each byte is looked at with the one behind it.
        while let Some(window) = bytes.get(at..at + VECTORS * WIDTH + 1) {
            let mut found = _mm256_setzero_si256();
            for vector in 0..VECTORS {
                let here = load(window, vector * WIDTH);
                let code = load(window, vector * WIDTH + 1);
                // One more than FF and 00 is at most 1.
                let next = _mm256_add_epi8(code, one);
                let no_code = _mm256_cmpeq_epi8(_mm256_min_epu8(next, one), next);
                found = _mm256_or_si256(found, _mm256_andnot_si256(no_code, _mm256_cmpeq_epi8(here, ff)));
            }
            if _mm256_movemask_epi8(found) != 0 {
                break;
            }
            at += VECTORS * WIDTH;
        }
        // What is left, or what holds the marker.
        stuffing::find_marker(bytes, at)
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    pub(super) fn unstuff(bytes: &[u8], out: &mut [u8]) -> Unstuffed {
        let Some((&first, place)) = bytes.first().zip(out.first_mut()) else { return stuffing::unstuff(bytes, out) };
        *place = first;
        let (mut read, mut written) = (1, 1);
        let (ff, zero) = (_mm256_set1_epi8(-1), _mm256_setzero_si256());
        'data: loop {
            // Without an FF in it, a group is copied at once.
            while let Some(source) = bytes[read - 1..].first_chunk::<{ VECTORS * WIDTH + 1 }>()
                && let Some(target) = out[written..].first_chunk_mut::<{ VECTORS * WIDTH }>()
            {
                let mut found = zero;
                for vector in 0..VECTORS {
                    found = _mm256_or_si256(found, _mm256_cmpeq_epi8(load(source, vector * WIDTH), ff));
                }
                if _mm256_movemask_epi8(found) != 0 {
                    break;
                }
                target.copy_from_slice(&source[1..]);
                read += VECTORS * WIDTH;
                written += VECTORS * WIDTH;
            }
            for _ in 0..VECTORS {
                // One byte before the vector, and a vector behind it.
                let Some(source) = bytes[read - 1..].first_chunk::<{ 2 * WIDTH + 2 }>() else { break 'data };
                let Some(target) = out[written..].first_chunk_mut::<{ 2 * WIDTH }>() else { break 'data };
                let here = load(source, 1);
                let behind_ff = _mm256_movemask_epi8(_mm256_cmpeq_epi8(load(source, 0), ff)) as u32;
                let zeros = _mm256_movemask_epi8(_mm256_cmpeq_epi8(here, zero)) as u32;
                if behind_ff & !zeros != 0 {
                    break 'data;
                }
                store(target, 0, here);
                let (mut stuffed, mut dropped) = (behind_ff, 0);
                // What is behind a stuffed byte moves over it. Without one it is stored where it belongs anyway, so that
                // most vectors need no branch.
                loop {
                    let place = stuffed.trailing_zeros() as usize;
                    store(target, place - dropped, load(source, place + 2));
                    stuffed &= stuffed.wrapping_sub(1);
                    dropped += 1;
                    if stuffed == 0 {
                        break;
                    }
                }
                read += WIDTH;
                written += WIDTH - behind_ff.count_ones() as usize;
            }
        }
        // Whether the last byte is data, the next one tells.
        if bytes[read - 1] == 0xFF {
            (read, written) = (read - 1, written - 1);
        }
        let rest = stuffing::unstuff(&bytes[read..], &mut out[written..]);
        Unstuffed { read: read + rest.read, written: written + rest.written }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(bytes: &[u8], at: usize) -> __m256i {
        let vector = &bytes[at..at + WIDTH];
        // SAFETY: reads the vector's bytes, which may lie anywhere.
        unsafe { _mm256_loadu_si256(vector.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn store(bytes: &mut [u8], at: usize, value: __m256i) {
        let vector = &mut bytes[at..at + WIDTH];
        // SAFETY: writes the vector's bytes, which may lie anywhere.
        unsafe { _mm256_storeu_si256(vector.as_mut_ptr().cast(), value) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (*state ^ *state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed ^ mixed >> 27
    }

    /// Bytes of which one in `rarity` is FF, and one in `others` of those has something else than 00 behind it.
    fn data(len: usize, rarity: u64, others: u64, state: &mut u64) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(len + 1);
        while bytes.len() < len {
            if !random(state).is_multiple_of(rarity) {
                bytes.push(random(state) as u8 % 0xFF);
                continue;
            }
            let code = match random(state) % 3 {
                _ if !random(state).is_multiple_of(others) => 0,
                0 => 0xFF,
                1 => 0xD0,
                _ => random(state) as u8,
            };
            bytes.extend([0xFF, code]);
        }
        bytes.truncate(len);
        bytes
    }

    type Unstuff = fn(&[u8], &mut [u8]) -> Unstuffed;

    /// All versions of [`unstuff`] that this processor runs.
    fn versions() -> Vec<(&'static str, Unstuff)> {
        #[cfg_attr(not(target_arch = "x86_64"), expect(unused_mut, reason = "there is no more"))]
        let mut versions: Vec<(&'static str, Unstuff)> =
            vec![("detected", |b, out| unstuff(Level::detected(), b, out))];
        #[cfg(target_arch = "x86_64")]
        {
            if Level::available().contains(&Level::Avx2) {
                // SAFETY: the level has the features.
                versions.push(("avx2", |bytes, out| unsafe { avx2::unstuff(bytes, out) }));
            }
            if avx512::is_available() {
                // SAFETY: the features are available.
                versions.push(("avx512", |bytes, out| unsafe { avx512::unstuff(bytes, out) }));
            }
        }
        versions
    }

    /// All versions give what the plain code gives, with this much room.
    fn assert_equal_plain(bytes: &[u8], room: usize) {
        let run = |unstuff: Unstuff| {
            let mut out = vec![0xEE; room];
            let done = unstuff(bytes, &mut out);
            out.truncate(done.written);
            (done, out)
        };
        let plain = run(stuffing::unstuff);
        for (name, version) in versions() {
            assert!(run(version) == plain, "{name}: {bytes:02X?}");
        }
        let mut at = 0;
        while let Some(found) = Level::available().into_iter().fold(stuffing::find_marker(bytes, at), |plain, level| {
            assert_eq!(find_marker(level, bytes, at), plain, "{} from {at}: {bytes:02X?}", level.name());
            plain
        }) {
            at = found + 1;
        }
    }

    #[test]
    fn every_place_of_a_marker_is_found() {
        for len in 0..300 {
            for place in 0..len {
                for code in [0x00, 0x01, 0xD3, 0xFE, 0xFF] {
                    let mut bytes: Vec<u8> = (0..len).map(|byte| byte as u8 & 0x7F).collect();
                    bytes[place] = 0xFF;
                    if let Some(next) = bytes.get_mut(place + 1) {
                        *next = code;
                    }
                    assert_equal_plain(&bytes, len);
                }
            }
        }
    }

    #[test]
    fn random_data_comes_out_as_from_the_plain_code() {
        let mut state = 1;
        for case in 0..20_000 {
            let len = random(&mut state) as usize % 1000;
            let rarity = [1, 2, 5, 20, 80, 300, 1000][case % 7];
            let others = [1, 4, 50, u64::MAX][case / 7 % 4];
            // Each alignment, too.
            let skipped = random(&mut state) as usize % 64;
            let bytes = data(len + skipped, rarity, others, &mut state);
            let bytes = &bytes[skipped..];
            let needed = stuffing::unstuff(bytes, &mut vec![0; bytes.len()]).written;
            let room = needed + random(&mut state) as usize % 100;
            assert_equal_plain(bytes, room);
        }
    }

    #[test]
    fn too_little_room_is_a_panic_and_no_write_elsewhere() {
        for (name, version) in versions() {
            let mut out = [0xEE; 1200];
            let panics =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| version(&[7; 1000], &mut out[..999])));
            assert!(panics.is_err(), "{name}");
            assert!(out[999..] == [0xEE; 201], "{name}");
        }
    }
}
