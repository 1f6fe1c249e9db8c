//! Memory that can be shared later, beside the anonymous pool.

use std::hint::black_box;
use std::mem::MaybeUninit;
use std::time::Duration;

use crossdock::exchange::protocol::shm;
use crossdock::pool::Pool;
use crossdock::view::Request;
use crossdock::{Array, DArray};

use crate::arrow::Arrow;
use crate::harness::{self, Case, Reach, Scale, Table};
use crate::memory::{KIB, MIB};
use crate::{Measure, Result};

const ANONYMOUS: &str = "crossdock: anonymous pool";
const SHAREABLE: &str = "crossdock: shareable pool";
const QUIET: Duration = Duration::from_millis(500);
const LIMIT: usize = 1 << 30;
const SEVEN: u8 = 7;

/// The two pools, which keep the same.
fn pools() -> crossdock::Result<[Pool; 2]> {
    Ok([Pool::caching(LIMIT, QUIET)?, Pool::shareable(LIMIT, QUIET)?])
}

/// The last byte of a new block that was filled.
fn filled(pool: &Pool, nbytes: usize) -> crossdock::Result<usize> {
    let mut fresh = pool.uninit(nbytes)?;
    fresh.as_uninit_mut().fill(MaybeUninit::new(SEVEN));
    // SAFETY: every byte was written above.
    let buffer = unsafe { fresh.assume_init() };
    let bytes = buffer.read()?;
    Ok(usize::from(black_box(&bytes)[nbytes - 1]))
}

/// The result of each is the last byte.
pub(super) fn large(_: &Measure, _: Option<&Arrow>) -> Result<Table> {
    const WHOLE: usize = 64 * MIB;
    let [anonymous, shareable] = pools()?;
    let last = usize::from(SEVEN);
    let cases = vec![
        Case::new(ANONYMOUS, last, || filled(&anonymous, WHOLE).unwrap_or(0)),
        Case::new(SHAREABLE, last, || filled(&shareable, WHOLE).unwrap_or(0))
            .reaching(Reach::ratio(0.9, ANONYMOUS)),
    ];
    let cases = cases.into_iter().map(Case::settled).collect();
    let title = "allocate + write + free 64 MiB, shareable";
    harness::measure(title, Scale::gigabytes(WHOLE), &[ANONYMOUS], cases)
}

/// The result of each is the last byte.
pub(super) fn page(_: &Measure, _: Option<&Arrow>) -> Result<Table> {
    let [anonymous, shareable] = pools()?;
    let (nbytes, last) = (4 * KIB, usize::from(SEVEN));
    let cases = vec![
        Case::new(ANONYMOUS, last, || filled(&anonymous, nbytes).unwrap_or(0)),
        Case::new(SHAREABLE, last, || filled(&shareable, nbytes).unwrap_or(0)),
    ];
    let title = "allocate + write + free 4 KiB, shareable";
    harness::measure(title, Scale::NANOSECONDS, &[ANONYMOUS], cases)
}

/// What the sender does for an array that was filled: a descriptor of the memory, and a text that
/// describes the array. The result is the length of the text, if nothing was copied.
pub(super) fn export(_: &Measure, _: Option<&Arrow>) -> Result<Table> {
    const NBYTES: usize = 1 << 30;
    let [_, pool] = pools()?;
    let array = Array::<u8, 1>::zeros(([NBYTES], &pool))?;
    array.write()?.view_mut().fill(SEVEN);
    let array = DArray::from(array);
    let lent = || {
        let exported = shm::export(black_box(&array), &Request::share()).ok()?;
        let text = exported.description().to_text().ok()?;
        (exported.copied_nbytes() == 0).then_some(text.len())
    };
    let expected = lent().ok_or("the array is copied")?;
    let cases = vec![
        Case::new("crossdock: shm::export and its text", expected, || lent().unwrap_or(0))
            .reaching(Reach::value(15_000.0)),
    ];
    harness::measure("export 1 GiB of a shareable pool", Scale::NANOSECONDS, &[], cases)
}
