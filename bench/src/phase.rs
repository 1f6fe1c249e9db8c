//! A fixed loop that no change of the library makes faster or slower: its time tells in which phase
//! of the machine a table was measured.
//!
//! Clocks, neighbours and hypervisors change the speed of all code for minutes. `Arc` alone does
//! not tell: its atomics become slower for reasons of their own.

use std::array;
use std::hint::black_box;

use crate::harness::Case;

/// The name of the case.
const PHASE: &str = "fixed loop of multiplications and loads";

const STEPS: usize = 16;

type Numbers = [usize; 256];

/// A chain of [`STEPS`] multiplications and loads from the first cache, each of which waits for the
/// one before. It has no atomics.
fn chain(numbers: &Numbers, start: usize) -> usize {
    (0..STEPS).fold(start, |number, _| numbers[number.wrapping_mul(167) % numbers.len()])
}

pub(crate) fn phase() -> Case<'static> {
    let numbers: Numbers = array::from_fn(|index| 3 * index + 1);
    let answer = chain(&numbers, 1);
    Case::new(PHASE, answer, move || chain(black_box(&numbers), black_box(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_of_the_chain_depends_on_the_one_before() {
        let numbers: Numbers = array::from_fn(|index| 3 * index + 1);
        let ends: Vec<usize> = (0..8).map(|start| chain(&numbers, start)).collect();
        let mut different = ends.clone();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), ends.len(), "{ends:?}");
        assert!(ends.iter().all(|end| numbers.contains(end)));
    }
}
