#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| isopel_fuzz_checks::index_changes_nothing(bytes));
