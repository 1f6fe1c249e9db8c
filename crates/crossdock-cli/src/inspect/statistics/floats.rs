//! Sums of floats.

use crate::inspect::statistics::moments::Moments;

#[derive(Debug)]
pub(super) struct Floats {
    pub(super) count: u64,
    pub(super) nan: u64,
    pub(super) zeros: u64,
    pub(super) least: f64,
    pub(super) greatest: f64,
    pub(super) sum: f64,
    pub(super) moments: Moments,
}

/// A float that is compared as it is, and added up as a double.
pub(super) trait Float: Copy + PartialOrd + Into<f64> {
    const INFINITY: Self;
    const MINUS_INFINITY: Self;
    const ZERO: Self;
}

impl Float for f32 {
    const INFINITY: Self = Self::INFINITY;
    const MINUS_INFINITY: Self = Self::NEG_INFINITY;
    const ZERO: Self = 0.0;
}

impl Float for f64 {
    const INFINITY: Self = Self::INFINITY;
    const MINUS_INFINITY: Self = Self::NEG_INFINITY;
    const ZERO: Self = 0.0;
}

/// How many sums run in parallel: two vectors of the widest instructions.
const LANES: usize = 16;

/// The values of a block, whose counts fit into 32 bits.
const BLOCK: usize = 1 << 12;

impl Floats {
    pub(super) const NONE: Self = Self {
        count: 0,
        nan: 0,
        zeros: 0,
        least: f64::INFINITY,
        greatest: f64::NEG_INFINITY,
        sum: 0.0,
        moments: Moments::NONE,
    };

    /// Adds packed floats. Several parallel sums are faster, and round less than one long sum.
    #[inline(always)]
    pub(super) fn add<F: Float, const N: usize>(&mut self, bytes: &[u8], decode: impl Fn([u8; N]) -> F) {
        for words in bytes.as_chunks::<N>().0.chunks(BLOCK) {
            let first: f64 = decode(words[0]).into();
            let origin = if first.is_finite() { first } else { 0.0 };
            let (mut least, mut greatest) = ([F::INFINITY; LANES], [F::MINUS_INFINITY; LANES]);
            let (mut numbers, mut zeros) = ([0u32; LANES], [0u32; LANES]);
            let (mut sum, mut squares) = ([0f64; LANES], [0f64; LANES]);
            let mut group = |words: &[[u8; N]]| {
                for (lane, &word) in words.iter().enumerate() {
                    let value = decode(word);
                    // A NaN is neither smaller nor larger.
                    least[lane] = if value < least[lane] { value } else { least[lane] };
                    greatest[lane] = if value > greatest[lane] { value } else { greatest[lane] };
                    let is_number = value.partial_cmp(&value).is_some();
                    numbers[lane] += u32::from(is_number);
                    zeros[lane] += u32::from(value == F::ZERO);
                    let distance = if is_number { value.into() - origin } else { 0.0 };
                    sum[lane] += distance;
                    squares[lane] += distance * distance;
                }
            };
            let (groups, rest) = words.as_chunks::<LANES>();
            groups.iter().for_each(|words| group(words));
            group(rest);
            let count = numbers.iter().sum::<u32>().into();
            self.nan += words.len() as u64 - count;
            if count == 0 {
                continue;
            }
            self.zeros += u64::from(zeros.iter().sum::<u32>());
            let fold =
                |lanes: [F; LANES], f: fn(f64, f64) -> f64| lanes.into_iter().map(Into::into).reduce(f);
            self.least = self.least.min(fold(least, f64::min).unwrap_or(f64::INFINITY));
            self.greatest = self.greatest.max(fold(greatest, f64::max).unwrap_or(f64::NEG_INFINITY));
            let (sum, squares): (f64, f64) = (sum.iter().sum(), squares.iter().sum());
            self.count += count;
            self.sum += sum + origin * count as f64;
            self.moments.merge(Moments::of(count, origin, sum, squares));
        }
    }

    /// Adds one value that occurs `count` times.
    pub(super) fn add_one(&mut self, value: f64, count: u64) {
        if value.is_nan() {
            self.nan += count;
            return;
        }
        self.count += count;
        self.zeros += if value == 0.0 { count } else { 0 };
        self.least = self.least.min(value);
        self.greatest = self.greatest.max(value);
        self.sum += value * count as f64;
        self.moments.merge(Moments::of(count, value, 0.0, 0.0));
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.nan += other.nan;
        self.zeros += other.zeros;
        self.least = self.least.min(other.least);
        self.greatest = self.greatest.max(other.greatest);
        self.sum += other.sum;
        self.moments.merge(other.moments);
    }
}
