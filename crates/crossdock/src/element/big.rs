//! Natural numbers of any size, with the few operations that decimal digits and exact comparisons
//! of floats need.

use std::cmp::Ordering;

/// The power of five that fits one limb, and its exponent.
const FIVES: (u64, u32) = (5_u64.pow(27), 27);

/// A natural number: limbs, the least significant first, without zeros at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BigNatural(Vec<u64>);

impl BigNatural {
    /// `number * 2^shift`.
    pub(crate) fn shifted(number: u128, shift: u32) -> Self {
        let (limbs, bits) = ((shift / 64) as usize, shift % 64);
        let (low, high) = (number << bits, number.checked_shr(128 - bits).unwrap_or(0));
        let mut all = vec![0; limbs];
        all.extend([low as u64, (low >> 64) as u64, high as u64]);
        Self(all).trimmed()
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    /// Multiplies by a factor that is not zero.
    pub(crate) fn multiply(&mut self, factor: u64) {
        let mut carry = 0;
        for limb in &mut self.0 {
            let product = u128::from(*limb) * u128::from(factor) + carry;
            *limb = product as u64;
            carry = product >> 64;
        }
        if carry > 0 {
            self.0.push(carry as u64);
        }
    }

    /// Multiplies by `10^power`.
    pub(crate) fn multiply_by_tens(&mut self, power: u32) {
        let (most, exponent) = FIVES;
        (0..power / exponent).for_each(|_| self.multiply(most));
        self.multiply(5_u64.pow(power % exponent));
        self.shift_left(power);
    }

    fn shift_left(&mut self, bits: u32) {
        let (limbs, bits) = ((bits / 64) as usize, bits % 64);
        self.multiply(1 << bits);
        if !self.is_zero() {
            self.0.splice(..0, std::iter::repeat_n(0, limbs));
        }
    }

    pub(crate) fn add(&self, other: &Self) -> Self {
        let mut sum = Vec::with_capacity(self.0.len().max(other.0.len()) + 1);
        let mut carry = false;
        for at in 0..self.0.len().max(other.0.len()) {
            let (limb, one) = self.limb(at).overflowing_add(other.limb(at));
            let (limb, two) = limb.overflowing_add(carry.into());
            sum.push(limb);
            carry = one || two;
        }
        sum.push(carry.into());
        Self(sum).trimmed()
    }

    /// Subtracts a number that is not greater.
    pub(crate) fn subtract(&mut self, other: &Self) {
        let mut borrow = false;
        for at in 0..self.0.len() {
            let (limb, one) = self.0[at].overflowing_sub(other.limb(at));
            let (limb, two) = limb.overflowing_sub(borrow.into());
            self.0[at] = limb;
            borrow = one || two;
        }
        self.trim();
    }

    fn limb(&self, at: usize) -> u64 {
        self.0.get(at).copied().unwrap_or(0)
    }

    fn trimmed(mut self) -> Self {
        self.trim();
        self
    }

    fn trim(&mut self) {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }
}

impl PartialOrd for BigNatural {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for BigNatural {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_limbs = || self.0.iter().rev().cmp(other.0.iter().rev());
        self.0.len().cmp(&other.0.len()).then_with(by_limbs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small(number: u128) -> BigNatural {
        BigNatural::shifted(number, 0)
    }

    #[test]
    fn small_numbers_are_computed_as_by_the_cpu() {
        let mut rng = fastrand::Rng::with_seed(7);
        for _ in 0..2000 {
            let (one, other) = (rng.u128(..) >> rng.u32(1..128), rng.u128(..) >> rng.u32(1..128));
            assert_eq!(small(one).add(&small(other)), small(one + other));
            assert_eq!(small(one).cmp(&small(other)), one.cmp(&other));
            let mut rest = small(one.max(other));
            rest.subtract(&small(one.min(other)));
            assert_eq!(rest, small(one.abs_diff(other)));
            let (number, factor) = (rng.u64(..), rng.u64(1..));
            let mut product = small(number.into());
            product.multiply(factor);
            assert_eq!(product, small(u128::from(number) * u128::from(factor)));
        }
    }

    #[test]
    fn shifts_and_tens_are_repeated_products() {
        for power in [0, 1, 26, 27, 28, 63, 64, 65, 200] {
            let (mut tens, mut twos) = (small(7), small(u128::MAX));
            (0..power).for_each(|_| {
                tens.multiply(10);
                twos.multiply(2);
            });
            let mut got = small(7);
            got.multiply_by_tens(power);
            assert_eq!((got, BigNatural::shifted(u128::MAX, power)), (tens, twos), "{power}");
        }
        assert!(BigNatural::shifted(0, 1000).is_zero() && small(0) < small(1));
    }
}
