//! Two threads at a pool's limit: how often they hold more than it allows.
//!
//! What the threads hold is counted beside the pool: added after the pool has said yes, and subtracted before the memory
//! is freed. So a count above the limit is an excess beyond doubt. In between, the memory is written, as it would be.

use std::sync::atomic::AtomicUsize;

use crate::arrow::Arrow;
use crate::harness::{Reach, Row, Table, Unit};
use crate::memory::{ARROW_CAPPED, KIB};
use crate::{Measure, Result, threads};

const OPERATIONS: usize = 600_000;
/// Room for one of the two.
const BLOCK: usize = 4 * KIB;
const LIMIT: usize = BLOCK;

pub(super) fn limit(measure: &Measure, arrow: Option<&Arrow>) -> Result<Table> {
    let mut rows = Vec::new();
    if let Some(arrow) = arrow {
        let pool = arrow.capped(arrow.live() + LIMIT);
        assert_eq!(arrow.allocate_capped(1, BLOCK, pool), 1, "there is room for one");
        let exceeded = race(|held| arrow.race(OPERATIONS, pool, BLOCK, LIMIT, held));
        rows.push(Row { name: ARROW_CAPPED, figure: exceeded as f64, ratios: vec![], reach: None });
    }
    let _ = Reach::Figure(0.0);
    let title = "limit exceeded, 2 threads x 600k operations";
    Ok(Table { group: measure.group, title, unit: Unit::Times, against: vec![], rows })
}

/// How often the limit was exceeded by two threads.
///
/// # Panics
///
/// Where the pool never refused: then the threads never met at the limit, and the count says nothing.
fn race(run: impl Fn(&AtomicUsize) -> (usize, usize) + Sync) -> usize {
    let held = AtomicUsize::new(0);
    let sums = threads::together(|| (), || run(&held));
    let [exceeded, refused] =
        [sums.map(|sum| sum.0), sums.map(|sum| sum.1)].map(|part| part.iter().sum::<usize>());
    assert!(refused > 0, "the limit was never reached");
    exceeded
}
