//! Random valid files in every way that files are decoded: `conformance generated` checks as many as one likes.

use isopel_conformance::backends;
use isopel_conformance::generated::{self, Check, NAMES, Report, Tally};

/// Some of everything, in a few seconds.
const FILES: u64 = 300;

#[test]
fn random_files_are_decoded_alike_by_all() {
    // What is required is there, or this fails.
    drop(backends::present());
    let (mut devices, mut absent) = (Vec::new(), Vec::new());
    for device in generated::devices(&NAMES.map(String::from)) {
        match device.ways {
            Ok(ways) => devices.extend(ways),
            Err(reason) => absent.push((device.name, reason)),
        }
    }
    let check = Check { backends: &devices, ..Check::first_files(1, FILES) };
    let start = std::time::Instant::now();
    let (tally, failures) = generated::run(&check);
    let elapsed = start.elapsed();
    println!("{}", Report { check: &check, tally: &tally, failures: &failures, absent: &absent, elapsed });
    let messages: Vec<&str> = failures.iter().map(|failure| failure.message.as_str()).collect();
    assert!(failures.is_empty(), "{}", messages.join("\n"));
    assert_eq!(tally.get("files"), FILES);
    let at_least = |tally: &Tally, what: &str, number| {
        assert!(tally.get(what) >= number, "{what}: {} times, not {number}", tally.get(what));
    };
    at_least(&tally, "cpu: files whose coefficients are those written", 250);
    at_least(&tally, "cpu: requests", 800);
    at_least(&tally, "cpu: requests, with an index", 200);
    at_least(&tally, "cpu: requests, in pieces", 30);
    at_least(&tally, "cpu: requests, in parts between restarts", 15);
    at_least(&tally, "cpu: requests, in subsequences", 400);
    for device in &devices {
        at_least(&tally, &format!("{}: requests", device.name()), 800);
    }
}
