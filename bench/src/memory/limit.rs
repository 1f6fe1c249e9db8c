//! Two threads at a pool's limit: how often they hold more than it allows.
//!
//! A counter beside the pool has the threads' bytes: they are added after the pool has granted
//! them, and subtracted before they are freed. So a count above the limit proves an excess. In
//! between, the memory is written, as in a real program.

use std::hint::black_box;
use std::mem::MaybeUninit;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

use crossdock::pool::Pool;
use crossdock_measure::{Figure, Reach, Unit};

use crate::arrow::Arrow;
use crate::harness::{Row, Table};
use crate::memory::{ARROW_CAPPED, KIB};
use crate::{Measure, Result, threads};

const OPERATIONS: usize = 600_000;
/// Room for one of the two.
const BLOCK: usize = 4 * KIB;
const LIMIT: usize = BLOCK;

pub(super) fn limit(_: &Measure, arrow: Option<&Arrow>) -> Result<Table> {
    let mut rows = Vec::new();
    if let Some(arrow) = arrow {
        let pool = arrow.capped(arrow.live() + LIMIT);
        assert_eq!(arrow.allocate_capped(1, BLOCK, pool), 1, "there is room for one");
        let exceeded = race(|held| arrow.race(OPERATIONS, pool, BLOCK, LIMIT, held));
        rows.push(Row { name: ARROW_CAPPED, figure: Figure::alone(exceeded as f64, Unit::Times) });
    }
    let pool = Pool::default().capped("capped", LIMIT)?;
    assert!(pool.mutable(BLOCK).is_ok(), "there is room for one");
    let exceeded = race(|held| own(&pool, held));
    let figure = Figure::alone(exceeded as f64, Unit::Times).reaching(Some(Reach::value(0.0)));
    rows.push(Row { name: "crossdock: capped pool", figure });
    let title = "limit exceeded, 2 threads x 600k operations";
    Ok(Table { title, unit: Unit::Times, against: vec![], rows, bars: false })
}

/// The same with Arrow's pool, in `peers/arrow.cc`.
fn own(pool: &Pool, held: &AtomicUsize) -> (usize, usize) {
    let (mut exceeded, mut refused) = (0, 0);
    for _ in 0..OPERATIONS {
        let Ok(mut buffer) = pool.mutable(BLOCK) else {
            refused += 1;
            continue;
        };
        exceeded += usize::from(held.fetch_add(BLOCK, SeqCst) + BLOCK > LIMIT);
        black_box(&mut buffer).spare_capacity_mut().fill(MaybeUninit::new(7));
        held.fetch_sub(BLOCK, SeqCst);
    }
    (exceeded, refused)
}

/// How often the limit was exceeded by two threads.
///
/// # Panics
///
/// If the pool never refused: then the threads were never at the limit at the same time, and the
/// count proves nothing.
fn race(run: impl Fn(&AtomicUsize) -> (usize, usize) + Sync) -> usize {
    let held = AtomicUsize::new(0);
    let sums = threads::together(|| (), || run(&held));
    let [exceeded, refused] =
        [sums.map(|sum| sum.0), sums.map(|sum| sum.1)].map(|part| part.iter().sum::<usize>());
    assert!(refused > 0, "the limit was never reached");
    exceeded
}
