#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| isopel_fuzz_checks::subsequences_equal_whole(bytes));
