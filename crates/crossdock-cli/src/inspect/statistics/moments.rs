//! Count, mean and squared deviations, which are merged without the loss of a difference of large
//! sums.

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moments {
    pub(super) count: f64,
    mean: f64,
    /// The sum of the squares of the distances from the mean.
    squares: f64,
}

impl Moments {
    pub(super) const NONE: Self = Self { count: 0.0, mean: 0.0, squares: 0.0 };

    /// Of `count` values whose differences from `origin` have this sum and sum of squares.
    #[inline(always)]
    pub(super) fn of(count: u64, origin: f64, sum: f64, squares: f64) -> Self {
        let count = count as f64;
        Self { count, mean: origin + sum / count, squares: (squares - sum / count * sum).max(0.0) }
    }

    /// Chan, Golub and LeVeque's update.
    #[inline(always)]
    pub(super) fn merge(&mut self, other: Self) {
        if other.count == 0.0 {
            return;
        }
        let count = self.count + other.count;
        let distance = other.mean - self.mean;
        self.squares += other.squares + distance * distance * (self.count / count) * other.count;
        self.mean += distance * (other.count / count);
        self.count = count;
    }

    /// The standard deviation of all elements, if it is finite.
    pub(super) fn std(&self) -> Option<f64> {
        Some((self.squares / self.count).sqrt()).filter(|std| std.is_finite())
    }
}
