//! Operations that are measured together: their figures, and the ratios between them.

use std::time::{Duration, Instant};

use crate::{
    Contender, Engine, Figure, LONG_SAMPLE, Limits, Reach, Result, Scale, Task, median, ratio, rounds,
};

/// One operation of a comparison.
pub struct Case<'a> {
    name: &'static str,
    reach: Option<Reach>,
    contender: Contender<'a>,
}

impl<'a> Case<'a> {
    /// An operation that returns `answer`.
    pub fn new(name: &'static str, answer: usize, mut operation: impl FnMut() -> usize + 'a) -> Self {
        Self::looped(name, answer, move |count| {
            let mut sum = 0usize;
            for _ in 0..count {
                sum = sum.wrapping_add(operation());
            }
            sum
        })
    }

    /// A loop over an operation that returns `answer`: called with the number of repetitions, it
    /// returns the sum.
    pub fn looped(
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

    /// A loop that measures its own time.
    ///
    /// # Panics
    ///
    /// During the measurement, if an operation returns a wrong answer.
    pub fn timed(
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

    /// A loop that measures its own time, and whose answers were checked before.
    pub fn proven(name: &'static str, run: impl FnMut(usize) -> Result<Duration> + 'a) -> Self {
        Self { name, reach: None, contender: Contender::new(run) }
    }

    /// A work performed by an engine, run once here to check its answer. `None` if the engine
    /// declines it.
    ///
    /// # Errors
    ///
    /// Those of the engine, or a wrong answer.
    pub fn of(engine: &'a dyn Engine, task: &'a Task) -> Result<Option<Self>> {
        let Some(job) = engine.job(task)? else { return Ok(None) };
        Ok(Some(Self::proven(engine.name(), job.proven(task)?).threaded()))
    }

    /// With samples that are long enough to start threads.
    #[must_use]
    pub fn threaded(mut self) -> Self {
        self.contender.sample = LONG_SAMPLE;
        self
    }

    /// With one untimed operation before each sample: for claims about a repeated operation, whose
    /// caches the other cases evict in their turns.
    #[must_use]
    pub fn settled(mut self) -> Self {
        self.contender.settles = true;
        self.threaded()
    }

    /// With a bound to reach.
    #[must_use]
    pub fn reaching(self, reach: Reach) -> Self {
        Self { reach: Some(reach), ..self }
    }

    /// The name.
    pub fn name(&self) -> &'static str {
        self.name
    }
}

/// Measures all cases in turn, round by round. Each figure has a ratio to each case that `against`
/// names; a name without a case has none.
///
/// # Errors
///
/// Those of the cases.
pub fn compare(
    cases: Vec<Case<'_>>,
    against: &[&str],
    scale: Scale,
    limits: Limits,
) -> Result<Vec<(&'static str, Figure)>> {
    let (named, mut contenders): (Vec<_>, Vec<_>) =
        cases.into_iter().map(|case| ((case.name, case.reach), case.contender)).unzip();
    let samples = rounds(&mut contenders, limits)?;
    let samples: Vec<Vec<f64>> = samples
        .into_iter()
        .map(|samples| samples.into_iter().map(|nanoseconds| scale.value(nanoseconds)).collect())
        .collect();
    let peers = against.iter().filter_map(|peer| named.iter().position(|(name, _)| name == peer));
    let peers: Vec<_> = peers.map(|peer| (named[peer].0, &samples[peer])).collect();
    let figure = |own: &Vec<f64>, reach| {
        let ratios = peers.iter().map(|(peer, theirs)| (ratio(own, theirs), (*peer).to_owned()));
        Figure { value: median(own.clone()), unit: scale.unit(), ratios: ratios.collect(), reach }
    };
    let named = named.into_iter().zip(&samples);
    Ok(named.map(|((name, reach), own)| (name, figure(own, reach))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { most: 5, least: 3, budget: Duration::from_millis(1) };

    /// A case with a simulated clock.
    fn case(name: &'static str, nanoseconds: u64) -> Case<'static> {
        Case::timed(name, 3, move |count| (Duration::from_nanos(nanoseconds * count as u64), 3 * count))
    }

    #[test]
    fn figures_and_ratios_are_those_of_the_clock() {
        let cases = vec![case("peer", 100), case("own", 150)];
        let figures = compare(cases, &["peer", "absent"], Scale::NANOSECONDS, LIMITS).unwrap();
        let (name, own) = &figures[1];
        assert_eq!((*name, own.ratios.len()), ("own", 1));
        assert!((own.value - 150.0).abs() < 1e-6 && (own.ratio("peer").unwrap() - 1.5).abs() < 1e-6);
    }

    #[test]
    fn throughput_counts_bytes_and_more_is_better() {
        let cases = vec![case("peer", 100), case("own", 50).reaching(Reach::ratio(1.9, "peer"))];
        let figures = compare(cases, &["peer"], Scale::gigabytes(200), LIMITS).unwrap();
        let own = &figures[1].1;
        assert!((own.value - 4.0).abs() < 1e-6 && (own.ratio("peer").unwrap() - 2.0).abs() < 1e-6);
        assert_eq!((own.met(), figures[0].1.met()), (Some(true), None));
    }

    #[test]
    #[should_panic(expected = "own: wrong answer")]
    fn a_wrong_answer_is_noticed() {
        let wrong = Case::new("own", 3, || 4);
        compare(vec![wrong], &[], Scale::NANOSECONDS, LIMITS).unwrap();
    }
}
