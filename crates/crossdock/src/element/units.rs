//! Converts dates and durations between units.

use crate::element::time::{NAT, TimeBase, TimeUnit, days_to_month, month_to_days};

/// A count converted to another unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Converted {
    /// The same date or duration.
    Exact(i64),
    /// Rounded down: the last count of the coarser unit that is not later, or not longer.
    Floor(i64),
    /// Above the range of the unit.
    Above,
    /// Below the range of the unit.
    Below,
}

impl Converted {
    fn new(count: i128, is_exact: bool) -> Self {
        match i64::try_from(count) {
            // That number stands for NaT.
            Ok(NAT) => Self::Below,
            Ok(count) if is_exact => Self::Exact(count),
            Ok(count) => Self::Floor(count),
            Err(_) => Self::beyond(count < 0),
        }
    }

    fn beyond(is_negative: bool) -> Self {
        if is_negative { Self::Below } else { Self::Above }
    }

    /// The nearest count in range.
    pub(super) fn saturated(self) -> i64 {
        match self {
            Self::Exact(count) | Self::Floor(count) => count,
            Self::Above => i64::MAX,
            Self::Below => NAT + 1,
        }
    }
}

/// Converts a date. A year or a month becomes its first day; a count without a unit is unchanged,
/// as in NumPy.
pub(super) fn date(count: i64, from: TimeUnit, to: TimeUnit) -> Converted {
    if let Some(same) = unchanged(count, from, to) {
        return same;
    }
    let ticks = i128::from(count) * i128::from(from.multiple());
    match (months_in(from.base()), months_in(to.base())) {
        (Some(months), None) => {
            // At most 2⁶³ · 2³¹ · 12 months.
            let days = month_to_days(ticks * months);
            scaled(days, (TimeBase::Day, 1), to, count < 0)
        }
        (None, Some(months)) => {
            let second = attoseconds_in(from.base());
            let day = attoseconds_in(TimeBase::Day);
            let (days, mut is_exact) = match second.checked_div(day).filter(|&days| days > 0) {
                Some(days) => (ticks * days, true),
                None => (ticks.div_euclid(day / second), ticks.rem_euclid(day / second) == 0),
            };
            let (month, is_first) = days_to_month(days);
            is_exact &= is_first;
            let unit = months * i128::from(to.multiple());
            Converted::new(month.div_euclid(unit), is_exact && month.rem_euclid(unit) == 0)
        }
        _ => length(count, from, to),
    }
}

/// Converts a duration. Between years or months and shorter units, a month has the average length
/// over 400 years, as in NumPy; so only zero is exact.
pub(super) fn duration(count: i64, from: TimeUnit, to: TimeUnit) -> Converted {
    if let Some(same) = unchanged(count, from, to) {
        return same;
    }
    if months_in(from.base()).is_some() == months_in(to.base()).is_some() {
        return length(count, from, to);
    }
    /// Days and months in 400 years, the period of the calendar.
    const DAYS: i128 = 146_097;
    const MONTHS: i128 = 4800;
    let day = attoseconds_in(TimeBase::Day);
    let part = |unit: TimeUnit| match months_in(unit.base()) {
        Some(months) => (months * DAYS * day, i128::from(unit.multiple())),
        None => (attoseconds_in(unit.base()) * MONTHS, i128::from(unit.multiple())),
    };
    match ratio(count.into(), part(from), part(to), count < 0) {
        Converted::Exact(count) if count != 0 => Converted::Floor(count),
        converted => converted,
    }
}

/// Conversions that need no arithmetic.
fn unchanged(count: i64, from: TimeUnit, to: TimeUnit) -> Option<Converted> {
    let is_kept = count == NAT || from == to || [from, to].contains(&TimeUnit::GENERIC);
    is_kept.then_some(Converted::Exact(count))
}

/// Converts between two calendar units, or between two units of fixed length.
fn length(count: i64, from: TimeUnit, to: TimeUnit) -> Converted {
    scaled(count.into(), (from.base(), from.multiple()), to, count < 0)
}

fn scaled(count: i128, (base, multiple): (TimeBase, u32), to: TimeUnit, is_negative: bool) -> Converted {
    let size = |base| months_in(base).unwrap_or_else(|| attoseconds_in(base));
    ratio(count, (size(base), multiple.into()), (size(to.base()), to.multiple().into()), is_negative)
}

/// Converts `count` of one unit to another, each given as (size, multiple). If the product
/// overflows, the result is out of range, too: after reduction the divisor is small, since one size
/// divides the other up to a factor below 2¹³, and multiples have 31 bits.
fn ratio(count: i128, from: (i128, i128), to: (i128, i128), is_negative: bool) -> Converted {
    let common = gcd(from.0, to.0);
    let (times, by) = (from.0 / common * from.1, to.0 / common * to.1);
    let common = gcd(times, by);
    let (times, by) = (times / common, by / common);
    match count.checked_mul(times) {
        Some(product) => Converted::new(product.div_euclid(by), product.rem_euclid(by) == 0),
        None => Converted::beyond(is_negative),
    }
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Months in a calendar unit.
fn months_in(base: TimeBase) -> Option<i128> {
    match base {
        TimeBase::Year => Some(12),
        TimeBase::Month => Some(1),
        _ => None,
    }
}

/// Attoseconds in a unit of fixed length.
fn attoseconds_in(base: TimeBase) -> i128 {
    const SECOND: i128 = 1_000_000_000_000_000_000;
    match base {
        TimeBase::Week => 604_800 * SECOND,
        TimeBase::Day => 86_400 * SECOND,
        TimeBase::Hour => 3600 * SECOND,
        TimeBase::Minute => 60 * SECOND,
        TimeBase::Second => SECOND,
        TimeBase::Millisecond => SECOND / 1000,
        TimeBase::Microsecond => SECOND / 1_000_000,
        TimeBase::Nanosecond => SECOND / 1_000_000_000,
        TimeBase::Picosecond => 1_000_000,
        TimeBase::Femtosecond => 1000,
        // Calendar units are handled by `months_in`; generic counts are never converted.
        TimeBase::Attosecond | TimeBase::Generic | TimeBase::Year | TimeBase::Month => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::Converted::{Above, Below, Exact, Floor};
    use super::*;

    fn unit(text: &str) -> TimeUnit {
        let at = text.find(|letter: char| !letter.is_ascii_digit()).unwrap();
        let base = TimeBase::from_symbol(&text[at..]).unwrap();
        TimeUnit::new(base, text[..at].parse().unwrap_or(1)).unwrap()
    }

    #[test]
    fn counts_become_those_that_numpy_makes_of_them() {
        // Results of `astype` in NumPy 2.4.6, which wraps or refuses where this gives `Above` or
        // `Below`.
        for (count, from, to, as_date, as_duration) in [
            (1, "D", "s", Exact(86_400), Exact(86_400)),
            (-1, "s", "D", Floor(-1), Floor(-1)),
            (-1, "s", "m", Floor(-1), Floor(-1)),
            (1 << 62, "D", "s", Above, Above),
            (-(1 << 62), "D", "s", Below, Below),
            (i64::MAX, "Y", "M", Above, Above),
            (i64::MAX, "s", "Y", Floor(292_277_024_626), Floor(292_277_024_626)),
            (1, "generic", "D", Exact(1), Exact(1)),
            (1, "D", "generic", Exact(1), Exact(1)),
            (5, "25us", "ns", Exact(125_000), Exact(125_000)),
            (5, "ns", "25us", Floor(0), Floor(0)),
            (-5, "ns", "25us", Floor(-1), Floor(-1)),
            (13, "M", "Y", Floor(1), Floor(1)),
            (-13, "M", "Y", Floor(-2), Floor(-2)),
            (-24, "M", "Y", Exact(-2), Exact(-2)),
            (100, "Y", "D", Exact(36_525), Floor(36_524)),
            (400, "Y", "D", Exact(146_097), Floor(146_097)),
            (1, "M", "D", Exact(31), Floor(30)),
            (-1, "M", "D", Exact(-31), Floor(-31)),
            (31, "D", "M", Exact(1), Floor(1)),
            (400, "D", "M", Floor(13), Floor(13)),
            (-400, "D", "M", Floor(-14), Floor(-14)),
            (10, "D", "W", Floor(1), Floor(1)),
            (-10, "D", "W", Floor(-2), Floor(-2)),
            (7, "h", "3D", Floor(0), Floor(0)),
            (7, "25h", "3D", Floor(2), Floor(2)),
            (2, "3M", "2Y", Floor(0), Floor(0)),
            (NAT, "D", "s", Exact(NAT), Exact(NAT)),
            (1 << 50, "D", "M", Floor(36_991_310_929_345), Floor(36_991_310_929_345)),
            (1 << 62, "h", "Y", Floor(526_098_644_328_469), Floor(526_098_644_328_469)),
            (i64::MAX, "2000000000Y", "as", Above, Above),
            (NAT + 1, "2147483647W", "as", Below, Below),
        ] {
            assert_eq!(date(count, unit(from), unit(to)), as_date, "{count} {from} to {to}, a date");
            assert_eq!(duration(count, unit(from), unit(to)), as_duration, "{count} {from} to {to}");
        }
    }

    #[test]
    fn what_is_exact_comes_back() {
        let units =
            ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as", "7D", "25us", "3M"];
        let mut seed = 1u64;
        for from in units {
            for to in units {
                for _ in 0..200 {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let count = (seed as i64) >> (seed >> 58);
                    for convert in [date, duration] {
                        match convert(count, unit(from), unit(to)) {
                            Exact(there) => {
                                assert_eq!(
                                    convert(there, unit(to), unit(from)),
                                    Exact(count),
                                    "{count} {from} {to}"
                                );
                            }
                            // The result is not later than the original, and the next count is.
                            Floor(there) => {
                                let back = convert(there, unit(to), unit(from)).saturated();
                                assert!(back <= count, "{count} {from} {to}: {there}, {back}");
                            }
                            Above => assert!(count > 0),
                            Below => assert!(count < 0 && count != NAT),
                        }
                    }
                }
            }
        }
    }
}
