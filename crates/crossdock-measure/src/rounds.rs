//! Samples of several operations in turn, so that a noisy moment affects all of them equally.

use std::time::Duration;

use crate::Result;

/// The duration of a sample, which has at least one operation.
pub const SAMPLE: Duration = Duration::from_micros(500);
/// The duration of a sample that starts threads, or follows an untimed operation.
pub const LONG_SAMPLE: Duration = Duration::from_millis(8);

/// The limits on the number of rounds.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The maximum number of rounds.
    pub most: usize,
    /// The minimum number of rounds, however long one takes.
    pub least: usize,
    /// The approximate time for all rounds: slow operations get fewer rounds.
    pub budget: Duration,
}

/// An operation that is measured with others.
pub struct Contender<'a> {
    /// The approximate duration of one of its samples.
    pub sample: Duration,
    /// With one untimed operation before each sample: for claims about a repeated operation, which
    /// would not hold while the others have their turns.
    pub settles: bool,
    /// Performs the operation the requested number of times, and returns the time.
    pub run: Box<dyn FnMut(usize) -> Result<Duration> + 'a>,
}

impl<'a> Contender<'a> {
    /// One with short samples, which does not settle.
    pub fn new(run: impl FnMut(usize) -> Result<Duration> + 'a) -> Self {
        Self { sample: SAMPLE, settles: false, run: Box::new(run) }
    }

    fn sample(&mut self, count: usize) -> Result<Duration> {
        if self.settles {
            (self.run)(1)?;
        }
        (self.run)(count)
    }

    /// Finds the number of operations that fill a sample by performing more and more of them, which
    /// also warms up. The shorter of two samples counts: a first operation, or interference by
    /// another process, does not predict the next.
    fn calibrate(&mut self) -> Result<usize> {
        let mut count = 1;
        loop {
            let elapsed = self.sample(count)?.min(self.sample(count)?);
            if elapsed * 4 >= self.sample {
                let each = elapsed.as_secs_f64() / count as f64;
                return Ok(((self.sample.as_secs_f64() / each) as usize).max(1));
            }
            count *= 4;
        }
    }
}

/// Takes one sample of each contender in every round. Returns, for each, the nanoseconds of one
/// operation, round by round.
///
/// # Errors
///
/// Those of the contenders.
pub fn rounds(contenders: &mut [Contender<'_>], limits: Limits) -> Result<Vec<Vec<f64>>> {
    let counts = contenders.iter_mut().map(Contender::calibrate).collect::<Result<Vec<_>>>()?;
    let mut samples = vec![Vec::with_capacity(limits.most); contenders.len()];
    let mut spent = Duration::ZERO;
    for round in 0..limits.most {
        if round >= limits.least && spent >= limits.budget {
            break;
        }
        for ((contender, &count), samples) in contenders.iter_mut().zip(&counts).zip(&mut samples) {
            let elapsed = contender.sample(count)?;
            samples.push(elapsed.as_secs_f64().max(1e-12) * 1e9 / count as f64);
            spent += elapsed;
        }
    }
    Ok(samples)
}

/// The median of at least one number.
pub fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

/// The median over the rounds of the ratio of two contenders' numbers in the same round.
pub fn ratio(own: &[f64], other: &[f64]) -> f64 {
    median(own.iter().zip(other).map(|(own, other)| own / other).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { most: 5, least: 3, budget: Duration::from_millis(1) };

    /// A contender with a simulated clock.
    fn contender(nanoseconds: u64) -> Contender<'static> {
        Contender::new(move |count| Ok(Duration::from_nanos(nanoseconds * count as u64)))
    }

    #[test]
    fn samples_are_those_of_the_clock() {
        let samples = rounds(&mut [contender(100), contender(150)], LIMITS).unwrap();
        assert!((median(samples[1].clone()) - 150.0).abs() < 1e-6, "{samples:?}");
        assert!((ratio(&samples[1], &samples[0]) - 1.5).abs() < 1e-6, "{samples:?}");
    }

    #[test]
    fn rounds_end_with_the_budget_but_not_before_the_least() {
        let slow = rounds(&mut [contender(40_000_000)], LIMITS).unwrap();
        assert_eq!(slow[0].len(), LIMITS.least);
        let quick =
            rounds(&mut [contender(10)], Limits { budget: Duration::from_secs(1), ..LIMITS }).unwrap();
        assert_eq!(quick[0].len(), LIMITS.most);
    }

    #[test]
    fn a_contender_that_fails_ends_it() {
        let failing = Contender::new(|_| Err("no".into()));
        assert_eq!(rounds(&mut [failing], LIMITS).unwrap_err().to_string(), "no");
    }
}
