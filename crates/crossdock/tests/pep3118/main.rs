//! PEP 3118: formats as a generator meant them that computes in its own way and as NumPy reads and
//! writes them, requests as CPython's own exporters answer them, and what others fill in.
//!
//! `CROSSDOCK_SEED` and `CROSSDOCK_CASES` choose the random cases.

mod examples;
mod hostile;
mod import;
mod made;
mod numpy;
mod properties;
mod requests;

/// How many random cases each property test has.
fn cases() -> usize {
    crossdock_testkit::cases(4000)
}
