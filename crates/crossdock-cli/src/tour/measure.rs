//! What a hand-over costs, and what a copy would have.

use std::hint::black_box;
use std::time::Instant;

use crossdock::DArray;
use crossdock::layout::Order;

use crate::failure::Result;

/// The median of nanoseconds that one run takes, over samples of several runs each.
pub(crate) fn median_ns<R>(mut operation: impl FnMut() -> Result<R>) -> Result<f64> {
    const SAMPLES: usize = 31;
    const RUNS: usize = 64;
    let mut samples = Vec::with_capacity(SAMPLES);
    for _ in 0..SAMPLES {
        let start = Instant::now();
        for _ in 0..RUNS {
            black_box(operation()?);
        }
        samples.push(start.elapsed().as_nanos() as f64 / RUNS as f64);
    }
    Ok(median(samples))
}

/// The median of nanoseconds that a copy of all elements into new memory takes.
pub(crate) fn copy(array: &DArray) -> Result<f64> {
    let mut samples = Vec::new();
    for _ in 0..5 {
        let start = Instant::now();
        black_box(array.to_order(Order::RowMajor)?);
        samples.push(start.elapsed().as_nanos() as f64);
    }
    Ok(median(samples))
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}
