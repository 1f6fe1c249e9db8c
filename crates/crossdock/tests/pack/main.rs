//! Ruby's item formats: read as Ruby reads them where Ruby is right, and compared with independent
//! oracles.
//!
//! `CROSSDOCK_SEED` and `CROSSDOCK_CASES` choose the random cases.

mod dtypes;
mod grammar;
mod items;
mod oracle;
mod recorded;

/// The default number of random cases of each property test.
const CASES: usize = 4000;

fn cases() -> usize {
    crossdock_testkit::cases(CASES)
}
