//! Allocate and free: the result of each is that the memory exists, and has its owner's alignment.

use std::cell::RefCell;
use std::time::Instant;

use crossdock::ledger;
use crossdock::pool::Pool;

use crate::arrow::Arrow;
use crate::companion::Companion;
use crate::harness::{self, Case, Reach, Scale, Table};
use crate::memory::{ARROW, ARROW_CAPPED, KIB, MALLOC, MIB};
use crate::{Measure, Result, loops, threads};

/// A limit far above all benchmarks: only the accounting is measured.
const FAR: usize = 1 << 40;

pub(super) fn small(_: &Measure, arrow: Option<&Arrow>) -> Result<Table> {
    let reach = Bounds { default: Some(1.6), capped: Some(2.5) };
    one_thread("allocate + free 64 B", arrow, 64, reach)
}

pub(super) fn page(_: &Measure, arrow: Option<&Arrow>) -> Result<Table> {
    let reach = Bounds { default: None, capped: None };
    one_thread("allocate + free 4 KiB", arrow, 4 * KIB, reach)
}

pub(super) fn large(_: &Measure, arrow: Option<&Arrow>) -> Result<Table> {
    let reach = Bounds { default: Some(3.0), capped: None };
    one_thread("allocate + free 1 MiB", arrow, MIB, reach)
}

const OWN: &str = "crossdock: default pool";
const OWN_FROZEN: &str = "crossdock: default pool, to a shared Buffer";
const OWN_CAPPED: &str = "crossdock: capped pool";

/// The targets of Crossdock's pools, in ratios to `malloc`.
struct Bounds {
    default: Option<f64>,
    capped: Option<f64>,
}

fn reaching<'a>(case: Case<'a>, bound: Option<f64>) -> Case<'a> {
    match bound {
        Some(bound) => case.reaching(Reach::ratio(bound, MALLOC)),
        None => case,
    }
}

fn one_thread(title: &'static str, arrow: Option<&Arrow>, nbytes: usize, bounds: Bounds) -> Result<Table> {
    let companion = Companion::with_mimalloc()?.map(RefCell::new);
    let mut cases = vec![
        Case::looped(MALLOC, 1, move |count| loops::malloc(count, nbytes)),
        Case::looped("memalign to 64 + free", 1, move |count| loops::memalign(count, nbytes)),
    ];
    if let Some(arrow) = arrow {
        let pool = arrow.capped(FAR);
        cases.push(Case::looped(ARROW, 1, move |count| arrow.allocate(count, nbytes)));
        cases.push(Case::looped(ARROW_CAPPED, 1, move |count| arrow.allocate_capped(count, nbytes, pool)));
    }
    cases.push(Case::looped("arrow-buffer", 1, move |count| loops::arrow_buffer(count, nbytes)));
    cases.push(Case::looped("bytes (unaligned)", 1, move |count| loops::bytes(count, nbytes)));
    if let Some(companion) = &companion {
        for (name, asked) in WITH_MIMALLOC {
            cases
                .push(Case::timed(name, 1, move |count| companion.borrow_mut().run(asked, 1, count, nbytes)));
        }
    }
    let own = Case::looped(OWN, 1, move |count| loops::crossdock(count, nbytes));
    cases.push(reaching(own, bounds.default));
    let own = Case::looped(OWN_FROZEN, 1, move |count| loops::crossdock_frozen(count, nbytes));
    cases.push(reaching(own, bounds.default));
    let capped = Pool::default().capped("capped", FAR)?;
    let own = Case::looped(OWN_CAPPED, 1, move |count| loops::crossdock_pool(count, nbytes, &capped));
    cases.push(reaching(own, bounds.capped));
    harness::measure(title, Scale::NANOSECONDS, &[MALLOC, ARROW], cases)
}

/// The companion's cases, and their names in the companion.
const WITH_MIMALLOC: [(&str, &str); 3] = [
    ("global allocator, program with mimalloc", "global"),
    ("arrow-buffer, program with mimalloc", "arrow-buffer"),
    ("crossdock, program with mimalloc", "crossdock"),
];

pub(super) fn two_threads(_: &Measure, arrow: Option<&Arrow>) -> Result<Table> {
    let companion = Companion::with_mimalloc()?.map(RefCell::new);
    let on_two = |name, work: fn(usize, usize) -> usize| {
        Case::timed(name, 1, move |count| threads::on_two(count, |count| work(count, 64))).threaded()
    };
    let mut cases = vec![on_two(MALLOC, loops::malloc)];
    if let Some(arrow) = arrow {
        let pool = arrow.capped(FAR);
        // The first use of a pool must be on a thread that stays.
        assert_eq!(arrow.allocate_capped(1, 64, pool), 1, "the pool works");
        let default = move |count| threads::on_two(count, |count| arrow.allocate(count, 64));
        cases.push(Case::timed(ARROW, 1, default).threaded());
        let capped = move |count| threads::on_two(count, |count| arrow.allocate_capped(count, 64, pool));
        cases.push(Case::timed(ARROW_CAPPED, 1, capped).threaded());
    }
    cases.push(on_two("arrow-buffer", loops::arrow_buffer));
    cases.push(on_two("bytes (unaligned)", loops::bytes));
    if let Some(companion) = &companion {
        for (name, asked) in WITH_MIMALLOC {
            let run = move |count| companion.borrow_mut().run(asked, 2, count, 64);
            cases.push(Case::timed(name, 1, run).threaded());
        }
    }
    cases.push(on_two(OWN, loops::crossdock).reaching(Reach::ratio(1.5, MALLOC)));
    cases.push(on_two(OWN_FROZEN, loops::crossdock_frozen).reaching(Reach::ratio(1.5, MALLOC)));
    let capped = Pool::default().capped("capped", FAR)?;
    let own = move |count| threads::on_two(count, |count| loops::crossdock_pool(count, 64, &capped));
    cases.push(Case::timed(OWN_CAPPED, 1, own).threaded().reaching(Reach::ratio(5.0, MALLOC)));
    let title = "allocate + free 64 B, 2 threads";
    harness::measure(title, Scale::NANOSECONDS, &[MALLOC, ARROW], cases)
}

/// The library cannot be built without its ledger, so the cost of the ledger while it is off is
/// part of the ratio to `malloc`.
pub(super) fn ledger(_: &Measure, _: Option<&Arrow>) -> Result<Table> {
    let frozen = |count| loops::crossdock_frozen(count, 64);
    let cases = vec![
        Case::looped(MALLOC, 1, |count| loops::malloc(count, 64)),
        Case::looped(OFF, 1, frozen).reaching(Reach::ratio(1.6, MALLOC)),
        Case::timed("ledger on", 1, move |count| {
            ledger::switch_on();
            let start = Instant::now();
            let sum = frozen(count);
            let elapsed = start.elapsed();
            ledger::switch_off();
            (elapsed, sum)
        }),
        Case::looped("ledger off again", 1, frozen).reaching(Reach::ratio(1.6, MALLOC)),
    ];
    let title = "allocate + free 64 B to a shared Buffer";
    harness::measure(title, Scale::NANOSECONDS, &[MALLOC, OFF], cases)
}

const OFF: &str = "ledger off";
