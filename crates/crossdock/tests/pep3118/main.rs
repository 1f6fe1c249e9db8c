//! Formats of PEP 3118: as a generator meant them that computes in its own way, and as NumPy reads and writes them.
//!
//! `CROSSDOCK_SEED` and `CROSSDOCK_CASES` choose the random cases.

mod examples;
mod made;
mod numpy;
mod properties;

/// How many random cases each property test has.
fn cases() -> usize {
    match std::env::var("CROSSDOCK_CASES") {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("CROSSDOCK_CASES is {text:?}, not a number")),
        Err(_) => 4000,
    }
}
