//! PEP 3118: formats against an independent generator and against NumPy, requests against CPython's
//! own exporters, and hostile exporters.
//!
//! `CROSSDOCK_SEED` and `CROSSDOCK_CASES` choose the random cases.

mod examples;
mod hostile;
mod import;
mod made;
mod numpy;
mod properties;
mod requests;

/// The number of random cases of each property test.
fn cases() -> usize {
    crossdock_testkit::cases(4000)
}
