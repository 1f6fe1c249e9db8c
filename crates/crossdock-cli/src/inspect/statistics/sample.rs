//! An evenly spread sample of numbers, and from it their quantiles and a histogram.

use crossdock::element::{DType, NAT, Scalar, ScalarKind, Value};

use crate::inspect::statistics::integers::Integers;

/// About how many elements are sampled; of fewer, all are.
const MOST: usize = 1 << 16;

/// The number of bars of a histogram.
pub(super) const BARS: usize = 24;

/// One of every few elements, at a position that changes, so that a regular pattern in the array
/// does not decide what is seen.
#[derive(Debug, Default)]
pub(super) struct Sample {
    /// The length of the stretches of which one element each is taken.
    every: u64,
    /// The elements until the next one of the sample, and the seed of the positions.
    until: u64,
    after: u64,
    seed: u64,
    /// Each with the number of elements that it stands for.
    values: Vec<(f64, u64)>,
}

/// Quantiles and a histogram.
#[derive(Debug)]
pub(in crate::inspect) struct Distribution {
    /// The values below which a quarter, a half and three quarters of the elements are,
    /// interpolated as NumPy's `quantile` does.
    pub(in crate::inspect) quantiles: [f64; 3],
    /// How many of the sample are in each of the equal parts of the range.
    pub(in crate::inspect) histogram: Vec<u64>,
    /// The range: the smallest and the largest finite element.
    pub(in crate::inspect) range: (f64, f64),
    /// The size of the sample, if it is not all elements.
    pub(in crate::inspect) sampled: Option<usize>,
}

impl Distribution {
    /// The histogram with half as many bars.
    pub(in crate::inspect) fn halved(&self) -> Vec<u64> {
        self.histogram.chunks(2).map(|pair| pair.iter().sum()).collect()
    }

    /// A quantile of dates or durations, as text.
    pub(in crate::inspect) fn time(&self, kind: ScalarKind, quantile: f64, dtype: &DType) -> String {
        Integers::value(kind, quantile.round() as i128).display(dtype).to_string()
    }
}

impl Sample {
    /// The stretch for an array of so many elements.
    pub(super) fn every(len: usize) -> u64 {
        (len.div_ceil(MOST) as u64).max(1)
    }

    pub(super) fn new(every: u64, place: u64) -> Self {
        let mut sample = Self { every, seed: place + 1, ..Self::default() };
        sample.choose();
        sample
    }

    /// The position in the next stretch.
    fn choose(&mut self) {
        // Xorshift: any well mixed numbers do.
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        let position = if self.every > 1 { (self.seed >> 16) % self.every } else { 0 };
        (self.until, self.after) = (self.after + position, self.every - 1 - position);
    }

    /// Takes some of the packed elements.
    pub(super) fn add(&mut self, bytes: &[u8], scalar: Scalar) {
        let width = scalar.itemsize();
        let element = |at: usize, element: &mut [u8]| element.copy_from_slice(&bytes[at..at + width]);
        self.add_by(bytes.len().checked_div(width).unwrap_or(0), scalar, element);
    }

    /// Takes some of `count` elements, which a function reads from their offsets in bytes.
    pub(super) fn add_by(&mut self, count: usize, scalar: Scalar, read: impl Fn(usize, &mut [u8])) {
        if self.every == 0 {
            return;
        }
        let count = count as u64;
        let (mut at, dtype) = (self.until, DType::from(scalar));
        let mut element = vec![0; scalar.itemsize()];
        while at < count {
            read(at as usize * element.len(), &mut element);
            if let Ok(value) = Value::read(&dtype, &element) {
                self.values.extend(number(&value).map(|number| (number, 1)));
            }
            self.choose();
            at += 1 + self.until;
        }
        self.until = at - count;
    }

    /// As a sample, all values, each with how often it occurs.
    pub(super) fn of_all(values: Vec<(f64, u64)>) -> Self {
        Self { every: 1, values, ..Self::default() }
    }

    pub(super) fn merge(&mut self, mut other: Self) {
        self.every = other.every;
        self.values.append(&mut other.values);
    }

    /// `None` if no value is finite.
    pub(super) fn distribution(mut self, range: Option<(f64, f64)>) -> Option<Distribution> {
        self.values.retain(|(value, _)| !value.is_nan());
        self.values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let total: u64 = self.values.iter().map(|(_, count)| count).sum();
        let finite = || self.values.iter().filter(|(value, _)| value.is_finite());
        let (low, high) = (finite().next()?.0, finite().next_back()?.0);
        // The extremes of all elements, which the sample may have missed.
        let within = range.filter(|(least, greatest)| least.is_finite() && greatest.is_finite());
        let (low, high) = within.unwrap_or((low, high));
        let mut histogram = vec![0; BARS];
        for &(value, count) in finite() {
            // Halves, so that the difference of the largest numbers does not overflow.
            let share = (value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
            let bar = if high > low { (share * BARS as f64) as usize } else { BARS / 2 };
            histogram[bar.min(BARS - 1)] += count;
        }
        let at = |place: u64| {
            let mut before = 0;
            let found = self.values.iter().find(|(_, count)| {
                before += count;
                place < before
            });
            found.map_or(f64::NAN, |found| found.0)
        };
        let quantile = |share: f64| {
            let place = share * (total - 1) as f64;
            let (lower, upper) = (at(place.floor() as u64), at(place.ceil() as u64));
            if lower == upper { lower } else { lower + (upper - lower) * place.fract() }
        };
        Some(Distribution {
            quantiles: [0.25, 0.5, 0.75].map(quantile),
            histogram,
            range: (low, high),
            sampled: (self.every > 1).then_some(self.values.len()),
        })
    }
}

/// A value as a number; dates and durations as their counts.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::DateTime { count, .. } | Value::TimeDelta { count, .. } => {
            (*count != NAT).then_some(*count as f64)
        }
        other => other.as_f64(),
    }
}

/// Whether quantiles of this kind are numbers, and not dates or durations.
pub(in crate::inspect) fn counts_time(kind: ScalarKind) -> bool {
    matches!(kind, ScalarKind::DateTime(_) | ScalarKind::TimeDelta(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampled(values: &[f64], chunk: usize) -> Distribution {
        let mut sample = Sample::new(Sample::every(values.len()), 0);
        let scalar = DType::F64.as_scalar().unwrap();
        for chunk in values.chunks(chunk) {
            let bytes: Vec<u8> = chunk.iter().flat_map(|value| value.to_ne_bytes()).collect();
            sample.add(&bytes, scalar);
        }
        sample.distribution(None).unwrap()
    }

    #[test]
    fn a_short_array_is_seen_whole() {
        let found = sampled(&[4.0, 1.0, 2.0, f64::NAN, 3.0], 2);
        assert_eq!((found.quantiles, found.range, found.sampled), ([1.75, 2.5, 3.25], (1.0, 4.0), None));
        assert_eq!((found.histogram[0], found.histogram.iter().sum::<u64>()), (1, 4));
        let weighted = Sample::of_all(vec![(0.0, 3), (10.0, 1)]).distribution(None).unwrap();
        assert_eq!(weighted.quantiles, [0.0, 0.0, 2.5]);
        let same = sampled(&[7.0; 9], 4);
        assert_eq!((same.quantiles, same.histogram[BARS / 2]), ([7.0; 3], 9));
        assert!(Sample::of_all(vec![(f64::INFINITY, 1)]).distribution(None).is_none());
    }

    #[test]
    fn a_long_array_is_seen_in_part_from_end_to_end_and_a_pattern_does_not_mislead() {
        let values: Vec<f64> = (0..1_000_000).map(|at| f64::from(at % 16)).collect();
        for chunk in [1 << 10, 4097, 1 << 20] {
            let found = sampled(&values, chunk);
            let size = found.sampled.unwrap();
            assert_eq!(size, 1_000_000usize.div_ceil(16), "{chunk}");
            let [low, middle, high] = found.quantiles;
            let is_near = |found: f64, expected: f64| (found - expected).abs() <= 1.0;
            assert!(is_near(low, 3.5) && is_near(middle, 7.5) && is_near(high, 11.5), "{found:?}");
            assert!(found.histogram.iter().filter(|&&count| count > 0).count() == 16, "{found:?}");
        }
    }
}
