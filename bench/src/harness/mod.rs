//! Times operations beside their peers: rounds of all cases in turn, so that noise meets them alike.

mod record;
mod table;

use std::time::{Duration, Instant};

pub(crate) use table::{Reach, Row, Table, Unit};

/// At most so many rounds; each gives every case one sample.
const MOST_ROUNDS: usize = 401;
/// At least so many, however long one takes.
const LEAST_ROUNDS: usize = 9;
/// About how long a table takes: slow operations get fewer rounds.
const BUDGET: Duration = Duration::from_secs(6);
/// How long one sample takes; at least one operation is in it.
const SAMPLE: Duration = Duration::from_micros(500);
/// The same where a sample starts threads, or has an operation before it that is not timed.
const LONG_SAMPLE: Duration = Duration::from_millis(8);

/// One operation, as often as is asked: how long that took, and the sum of its answers.
type Loop<'a> = Box<dyn FnMut(usize) -> (Duration, usize) + 'a>;

/// One operation.
pub(crate) struct Case<'a> {
    name: &'static str,
    answer: usize,
    sample: Duration,
    settles: bool,
    reach: Option<Reach>,
    run: Loop<'a>,
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
    pub(crate) fn timed(
        name: &'static str,
        answer: usize,
        run: impl FnMut(usize) -> (Duration, usize) + 'a,
    ) -> Self {
        Self { name, answer, sample: SAMPLE, settles: false, reach: None, run: Box::new(run) }
    }

    /// With samples that are long enough to start threads for.
    pub(crate) fn threaded(mut self) -> Self {
        self.sample = LONG_SAMPLE;
        self
    }

    /// With one operation before each sample that is not timed: for what is claimed of an operation that is repeated, and
    /// would not be so while the other cases have their turns.
    pub(crate) fn settled(mut self) -> Self {
        self.settles = true;
        self.sample = LONG_SAMPLE;
        self
    }

    /// With what it should reach.
    pub(crate) fn reaching(mut self, reach: Reach) -> Self {
        self.reach = Some(reach);
        self
    }

    /// How long `count` operations take.
    ///
    /// # Panics
    ///
    /// Where the operation gave a wrong answer.
    fn sample(&mut self, count: usize) -> Duration {
        if self.settles {
            (self.run)(1);
        }
        let (elapsed, sum) = (self.run)(count);
        assert_eq!(sum, self.answer.wrapping_mul(count), "{}: wrong answer", self.name);
        elapsed
    }

    /// How many operations fill a sample, found by doing more and more of them, which also warms up. The shorter of two
    /// samples counts: the first operation of all, or a moment of another process, tells nothing of the next.
    fn calibrate(&mut self) -> usize {
        let mut count = 1;
        loop {
            let elapsed = self.sample(count).min(self.sample(count));
            if elapsed * 4 >= self.sample {
                let each = elapsed.as_secs_f64() / count as f64;
                return ((self.sample.as_secs_f64() / each) as usize).max(1);
            }
            count *= 4;
        }
    }
}

/// Measures all cases in turn, round by round. The ratios are to those of the cases that `against` names; one that is
/// not there has no column.
pub(crate) fn measure(
    group: &'static str,
    title: &'static str,
    unit: Unit,
    against: &[&'static str],
    mut cases: Vec<Case<'_>>,
) -> Table {
    let counts: Vec<usize> = cases.iter_mut().map(Case::calibrate).collect();
    let mut samples = vec![Vec::with_capacity(MOST_ROUNDS); cases.len()];
    let mut spent = Duration::ZERO;
    for round in 0..MOST_ROUNDS {
        if round >= LEAST_ROUNDS && spent >= BUDGET {
            break;
        }
        let start = Instant::now();
        for ((case, &count), samples) in cases.iter_mut().zip(&counts).zip(&mut samples) {
            samples.push(unit.figure(case.sample(count), count));
        }
        spent += start.elapsed();
    }
    let against: Vec<_> =
        against.iter().filter_map(|peer| cases.iter().position(|case| case.name == *peer)).collect();
    let rows = cases.iter().zip(&samples).map(|(case, own)| Row {
        name: case.name,
        figure: median(own.clone()),
        ratios: against.iter().map(|&peer| ratio(own, &samples[peer])).collect(),
        reach: case.reach,
    });
    let rows = rows.collect();
    Table { group, title, unit, against: against.iter().map(|&peer| cases[peer].name).collect(), rows }
}

/// The median over the rounds of one case's figure divided by the peer's in the same round.
fn ratio(own: &[f64], peer: &[f64]) -> f64 {
    median(own.iter().zip(peer).map(|(own, peer)| own / peer).collect())
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
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
        let table = measure("group", "title", Unit::Nanoseconds, &["peer", "absent"], cases);
        assert_eq!(table.against, ["peer"]);
        let own = &table.rows[1];
        assert!((own.figure - 150.0).abs() < 1e-6 && (own.ratios[0] - 1.5).abs() < 1e-6);
    }

    #[test]
    fn throughput_counts_bytes_and_more_is_better() {
        let cases = vec![case("peer", 100), case("own", 50)];
        let table = measure("group", "title", Unit::gigabytes(200), &["peer"], cases);
        let own = &table.rows[1];
        assert!((own.figure - 4.0).abs() < 1e-6 && (own.ratios[0] - 2.0).abs() < 1e-6);
    }

    #[test]
    #[should_panic(expected = "own: wrong answer")]
    fn a_wrong_answer_is_noticed() {
        let wrong = Case::new("own", 3, || 4);
        measure("group", "title", Unit::Nanoseconds, &[], vec![wrong]);
    }
}
