//! Measures what an export costs, and what a copy would cost.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crossdock::DArray;
use crossdock::layout::Order;
use crossdock_measure::{Contender, Limits, SAMPLE, median, rounds};

use crate::failure::Result;

/// The median duration of one run in nanoseconds, over samples of several runs each.
pub(crate) fn median_ns<R>(operation: impl FnMut() -> Result<R>) -> Result<f64> {
    median_of(31, SAMPLE, operation)
}

/// The median duration of a copy of all elements to new memory, in nanoseconds.
pub(crate) fn copy(array: &DArray) -> Result<f64> {
    // A sample without a minimum duration is one copy.
    median_of(5, Duration::ZERO, || Ok(array.to_order(Order::RowMajor)?))
}

fn median_of<R>(samples: usize, sample: Duration, mut operation: impl FnMut() -> Result<R>) -> Result<f64> {
    let run = move |count| {
        let start = Instant::now();
        for _ in 0..count {
            black_box(operation()?);
        }
        Ok(start.elapsed())
    };
    let limits = Limits { most: samples, least: samples, budget: Duration::ZERO };
    let mut samples = rounds(&mut [Contender { sample, ..Contender::new(run) }], limits)?;
    Ok(median(samples.swap_remove(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Failure;
    use crate::status;

    #[test]
    fn a_sample_without_a_length_is_one_run() {
        let mut runs = 0;
        let count = || {
            runs += 1;
            Ok(())
        };
        let ns = median_of(5, Duration::ZERO, count).unwrap();
        // Two runs warm up.
        assert!(ns > 0.0 && runs == 2 + 5, "{runs} runs, {ns} ns each");
    }

    #[test]
    fn a_failure_keeps_its_words_and_its_status() {
        let shrank = || Failure::new("no array").with_status(status::SHRANK);
        let failure = median_ns(|| Err::<(), _>(shrank())).unwrap_err();
        assert_eq!(format!("{failure:?}"), format!("{:?}", shrank()));
    }
}
