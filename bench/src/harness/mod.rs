//! Times operations beside their peers: rounds of all cases in turn, so that noise meets them alike.

pub(crate) mod record;
mod table;

use std::time::{Duration, Instant};

use crossdock_measure::{Contender, LONG_SAMPLE, Limits, median, ratio, rounds};

use crate::Result;

pub(crate) use table::{Reach, Row, Table, Unit};

/// For operations that are quick.
const LIMITS: Limits = Limits { most: 401, least: 9, budget: Duration::from_secs(3) };

/// One operation.
pub(crate) struct Case<'a> {
    name: &'static str,
    reach: Option<Reach>,
    contender: Contender<'a>,
}

impl<'a> Case<'a> {
    /// An operation that returns `answer`.
    pub(crate) fn new(name: &'static str, answer: usize, mut operation: impl FnMut() -> usize + 'a) -> Self {
        Self::looped(name, answer, move |count| {
            let mut sum = 0usize;
            for _ in 0..count {
                sum = sum.wrapping_add(operation());
            }
            sum
        })
    }

    /// A loop over an operation that returns `answer`: called with how often, it returns the sum.
    pub(crate) fn looped(
        name: &'static str,
        answer: usize,
        mut operations: impl FnMut(usize) -> usize + 'a,
    ) -> Self {
        Self::timed(name, answer, move |count| {
            let start = Instant::now();
            let sum = operations(count);
            (start.elapsed(), sum)
        })
    }

    /// A loop that takes its own time.
    ///
    /// # Panics
    ///
    /// When it is measured, where an operation gave a wrong answer.
    pub(crate) fn timed(
        name: &'static str,
        answer: usize,
        mut run: impl FnMut(usize) -> (Duration, usize) + 'a,
    ) -> Self {
        Self::proven(name, move |count| {
            let (elapsed, sum) = run(count);
            assert_eq!(sum, answer.wrapping_mul(count), "{name}: wrong answer");
            Ok(elapsed)
        })
    }

    /// A loop that takes its own time, and whose answers were looked at before.
    pub(crate) fn proven(name: &'static str, run: impl FnMut(usize) -> Result<Duration> + 'a) -> Self {
        Self { name, reach: None, contender: Contender::new(run) }
    }

    /// With samples that are long enough to start threads for.
    pub(crate) fn threaded(mut self) -> Self {
        self.contender.sample = LONG_SAMPLE;
        self
    }

    /// With one operation before each sample that is not timed: for what is claimed of an operation that is repeated, and
    /// would not be so while the other cases have their turns.
    pub(crate) fn settled(mut self) -> Self {
        self.contender.settles = true;
        self.threaded()
    }

    /// With what it should reach.
    pub(crate) fn reaching(self, reach: Reach) -> Self {
        Self { reach: Some(reach), ..self }
    }
}

/// Measures all cases in turn, round by round. The ratios are to those of the cases that `against` names; one that is
/// not there has no column.
pub(crate) fn measure(
    title: &'static str,
    unit: Unit,
    against: &[&'static str],
    cases: Vec<Case<'_>>,
) -> Result<Table> {
    measure_within(LIMITS, title, unit, against, cases)
}

/// The same with other limits.
pub(crate) fn measure_within(
    limits: Limits,
    title: &'static str,
    unit: Unit,
    against: &[&'static str],
    cases: Vec<Case<'_>>,
) -> Result<Table> {
    let named: Vec<_> = cases.iter().map(|case| (case.name, case.reach)).collect();
    let mut contenders: Vec<_> = cases.into_iter().map(|case| case.contender).collect();
    let samples = rounds(&mut contenders, limits)?;
    let samples: Vec<Vec<f64>> =
        samples.into_iter().map(|samples| samples.into_iter().map(|ns| unit.figure(ns)).collect()).collect();
    let against: Vec<_> =
        against.iter().filter_map(|peer| named.iter().position(|(name, _)| name == peer)).collect();
    let rows = named.iter().zip(&samples).map(|(&(name, reach), own)| Row {
        name,
        figure: median(own.clone()),
        ratios: against.iter().map(|&peer| ratio(own, &samples[peer])).collect(),
        reach,
    });
    let rows = rows.collect();
    let against = against.iter().map(|&peer| named[peer].0).collect();
    Ok(Table { title, unit, against, rows, bars: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A case whose clock is ours.
    fn case(name: &'static str, nanoseconds: u64) -> Case<'static> {
        Case::timed(name, 3, move |count| (Duration::from_nanos(nanoseconds * count as u64), 3 * count))
    }

    #[test]
    fn figures_and_ratios_are_those_of_the_clock() {
        let cases = vec![case("peer", 100), case("own", 150)];
        let table = measure("title", Unit::Nanoseconds, &["peer", "absent"], cases).unwrap();
        assert_eq!(table.against, ["peer"]);
        let own = &table.rows[1];
        assert!((own.figure - 150.0).abs() < 1e-6 && (own.ratios[0] - 1.5).abs() < 1e-6);
    }

    #[test]
    fn throughput_counts_bytes_and_more_is_better() {
        let cases = vec![case("peer", 100), case("own", 50)];
        let table = measure("title", Unit::gigabytes(200), &["peer"], cases).unwrap();
        let own = &table.rows[1];
        assert!((own.figure - 4.0).abs() < 1e-6 && (own.ratios[0] - 2.0).abs() < 1e-6);
    }

    #[test]
    #[should_panic(expected = "own: wrong answer")]
    fn a_wrong_answer_is_noticed() {
        let wrong = Case::new("own", 3, || 4);
        measure("title", Unit::Nanoseconds, &[], vec![wrong]).unwrap();
    }
}
