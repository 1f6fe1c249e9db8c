//! Ruby's item formats: as Ruby reads them where it is right, and beside oracles that read them in another way.
//!
//! `CROSSDOCK_SEED` and `CROSSDOCK_CASES` choose the random cases.

mod dtypes;
mod grammar;
mod items;
mod oracle;
mod recorded;

/// How many random cases each property test has.
fn cases() -> usize {
    match std::env::var("CROSSDOCK_CASES") {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("CROSSDOCK_CASES is {text:?}, not a number")),
        Err(_) => 4000,
    }
}
