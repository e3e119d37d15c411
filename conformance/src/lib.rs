//! The conformance corpus and what the tests need to hold every backend to the same pixels.
//!
//! A test is a row of the [`corpus`], decoded by each of the [`backends`] that is present, compared by
//! [`compare`] within the [`tolerance`] of the route that ran. `corpus/README.md` says where the expected
//! pixels come from.

#![forbid(unsafe_code)]

pub mod backends;
pub mod compare;
pub mod corpus;
pub mod cuda;
pub mod generated;
pub mod gpu;
pub mod naive;
pub mod random;
pub mod summary;
pub mod tolerance;
pub mod writer;

use sha2::{Digest, Sha256};

/// The SHA-256 of bytes, in lower-case hexadecimal digits, as the corpus' tables have it.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
