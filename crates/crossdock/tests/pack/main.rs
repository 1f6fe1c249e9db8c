//! Ruby's item formats: as Ruby reads them where it is right, and beside oracles that read them in
//! another way.
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
