//! Units of dates and durations: a base, and its multiple.

use crate::error::{Error, Kind, Result};
use std::fmt;
use std::num::NonZeroU32;

/// The base of a [`TimeUnit`], from years down to attoseconds. NumPy's list, in NumPy's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TimeBase {
    /// No unit: the count alone is known.
    Generic,
    /// Calendar years (`Y`).
    Year,
    /// Calendar months (`M`).
    Month,
    /// Seven days (`W`), counted from Thursday 1970-01-01.
    Week,
    /// 24 hours (`D`).
    Day,
    /// Hours (`h`).
    Hour,
    /// Minutes (`m`).
    Minute,
    /// Seconds (`s`), leap seconds not counted.
    Second,
    /// 10⁻³ seconds (`ms`).
    Millisecond,
    /// 10⁻⁶ seconds (`us`).
    Microsecond,
    /// 10⁻⁹ seconds (`ns`).
    Nanosecond,
    /// 10⁻¹² seconds (`ps`).
    Picosecond,
    /// 10⁻¹⁵ seconds (`fs`).
    Femtosecond,
    /// 10⁻¹⁸ seconds (`as`).
    Attosecond,
}

/// Base, the letters of NumPy, and the English name in the plural.
const BASES: [(TimeBase, &str, &str); 14] = [
    (TimeBase::Generic, "generic", "generic time units"),
    (TimeBase::Year, "Y", "years"),
    (TimeBase::Month, "M", "months"),
    (TimeBase::Week, "W", "weeks"),
    (TimeBase::Day, "D", "days"),
    (TimeBase::Hour, "h", "hours"),
    (TimeBase::Minute, "m", "minutes"),
    (TimeBase::Second, "s", "seconds"),
    (TimeBase::Millisecond, "ms", "milliseconds"),
    (TimeBase::Microsecond, "us", "microseconds"),
    (TimeBase::Nanosecond, "ns", "nanoseconds"),
    (TimeBase::Picosecond, "ps", "picoseconds"),
    (TimeBase::Femtosecond, "fs", "femtoseconds"),
    (TimeBase::Attosecond, "as", "attoseconds"),
];

impl TimeBase {
    /// The letters that NumPy writes: `Y`, `M`, …, `ns`, `as`, and `generic`.
    pub const fn symbol(self) -> &'static str {
        BASES[self as usize].1
    }

    /// The English name, in the plural.
    #[doc(hidden)]
    pub const fn plural(self) -> &'static str {
        BASES[self as usize].2
    }

    /// The base that NumPy writes with these letters.
    #[doc(hidden)]
    pub fn from_symbol(symbol: &str) -> Option<Self> {
        BASES.iter().find(|(_, letters, _)| *letters == symbol).map(|(base, ..)| *base)
    }

    /// The number of decimals of a second, for bases of a second and less.
    const fn decimals(self) -> u32 {
        match self {
            Self::Millisecond => 3,
            Self::Microsecond => 6,
            Self::Nanosecond => 9,
            Self::Picosecond => 12,
            Self::Femtosecond => 15,
            Self::Attosecond => 18,
            _ => 0,
        }
    }
}

/// The unit of a date or of a duration: a multiple of a base, such as `25us`.
///
/// ```
/// use crossdock::element::{TimeBase, TimeUnit};
///
/// let unit = TimeUnit::new(TimeBase::Microsecond, 25)?;
/// assert_eq!(unit.to_string(), "25us");
/// # Ok::<(), crossdock::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TimeUnit {
    base: TimeBase,
    /// 1. Not above `i32::MAX`, which is NumPy's bound; 1 if the base is `Generic`.
    multiple: NonZeroU32,
}

impl TimeUnit {
    /// No unit at all.
    pub const GENERIC: Self = Self::one(TimeBase::Generic);
    /// Days.
    pub const DAY: Self = Self::one(TimeBase::Day);
    /// Seconds.
    pub const SECOND: Self = Self::one(TimeBase::Second);
    /// Milliseconds.
    pub const MILLISECOND: Self = Self::one(TimeBase::Millisecond);
    /// Microseconds.
    pub const MICROSECOND: Self = Self::one(TimeBase::Microsecond);
    /// Nanoseconds.
    pub const NANOSECOND: Self = Self::one(TimeBase::Nanosecond);

    /// One of a base.
    pub const fn one(base: TimeBase) -> Self {
        Self { base, multiple: NonZeroU32::MIN }
    }

    /// `multiple` of a base.
    ///
    /// # Errors
    ///
    /// `is_value` if `multiple` is zero or above `i32::MAX`, or is not one for `Generic`.
    pub fn new(base: TimeBase, multiple: u32) -> Result<Self> {
        match NonZeroU32::new(multiple) {
            Some(one) if one == NonZeroU32::MIN => Ok(Self::one(base)),
            Some(multiple) if base != TimeBase::Generic && multiple.get() <= i32::MAX as u32 => {
                Ok(Self { base, multiple })
            }
            Some(_) if base == TimeBase::Generic => Err(Error::new(
                Kind::Value,
                format!("a generic time unit has no multiple, but {multiple} was given"),
            )),
            _ => Err(Error::new(
                Kind::Value,
                format!("a time unit is a multiple of 1 to {} of its base, not {multiple}", i32::MAX),
            )),
        }
    }

    /// The base.
    pub const fn base(self) -> TimeBase {
        self.base
    }

    /// The multiple of the base that one count stands for.
    pub const fn multiple(self) -> u32 {
        self.multiple.get()
    }

    /// `count` of this unit, in its base. Cannot overflow: 63 bits times 31 bits.
    fn in_base(self, count: i64) -> i128 {
        i128::from(count) * i128::from(self.multiple())
    }
}

/// As NumPy writes it between brackets: `ns`, `25us`, `generic`.
impl fmt::Display for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.multiple() > 1 {
            write!(f, "{}", self.multiple())?;
        }
        f.write_str(self.base.symbol())
    }
}

impl fmt::Debug for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TimeUnit({self})")
    }
}

/// The count that stands for "not a time".
pub const NAT: i64 = i64::MIN;

/// Writes the moment `count` units after 1970-01-01T00:00 (proleptic Gregorian, no time zone) in
/// ISO 8601, as far as the unit is exact.
pub(super) fn write_date(f: &mut fmt::Formatter<'_>, count: i64, unit: TimeUnit) -> fmt::Result {
    if count == NAT {
        return f.write_str("NaT");
    }
    let count = unit.in_base(count);
    match unit.base {
        TimeBase::Generic => write!(f, "{count}"),
        TimeBase::Year => write!(f, "{:04}", 1970 + count),
        TimeBase::Month => write!(f, "{:04}-{:02}", 1970 + count.div_euclid(12), count.rem_euclid(12) + 1),
        TimeBase::Week => write_day(f, count * 7),
        TimeBase::Day => write_day(f, count),
        TimeBase::Hour => {
            write_day(f, count.div_euclid(24))?;
            write!(f, "T{:02}", count.rem_euclid(24))
        }
        TimeBase::Minute => {
            write_day(f, count.div_euclid(1440))?;
            let minute = count.rem_euclid(1440);
            write!(f, "T{:02}:{:02}", minute / 60, minute % 60)
        }
        base => {
            let decimals = base.decimals();
            let per_second = 10_i128.pow(decimals);
            let (seconds, fraction) = (count.div_euclid(per_second), count.rem_euclid(per_second));
            write_day(f, seconds.div_euclid(86_400))?;
            let second = seconds.rem_euclid(86_400);
            write!(f, "T{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60)?;
            if decimals > 0 {
                write!(f, ".{fraction:0width$}", width = decimals as usize)?;
            }
            Ok(())
        }
    }
}

/// Writes a duration as NumPy does: `75 microseconds`.
pub(super) fn write_duration(f: &mut fmt::Formatter<'_>, count: i64, unit: TimeUnit) -> fmt::Result {
    if count == NAT {
        return f.write_str("NaT");
    }
    write!(f, "{} {}", unit.in_base(count), unit.base.plural())
}

fn write_day(f: &mut fmt::Formatter<'_>, days: i128) -> fmt::Result {
    let (year, month, day) = date_of(days);
    write!(f, "{year:04}-{month:02}-{day:02}")
}

/// Days from 1 March of the year 0 to 1970-01-01.
const FROM_MARCH_OF_YEAR_0: i128 = 719_468;

/// Year, month and day of the date that lies `days` after 1970-01-01.
///
/// Eras of 400 years repeat exactly (146 097 days). Within one, years are taken to begin on 1
/// March, so that the leap day is the last of its year and the lengths of the months follow the
/// linear rule `(153 m + 2) / 5`.
fn date_of(days: i128) -> (i128, i128, i128) {
    let days = days + FROM_MARCH_OF_YEAR_0;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let months_since_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * months_since_march + 2) / 5 + 1;
    let month = (months_since_march + 2) % 12 + 1;
    (era * 400 + year_of_era + i128::from(month <= 2), month, day)
}

/// The month of a day, counted from January 1970, and whether the day is the first of that month.
pub(super) fn days_to_month(days: i128) -> (i128, bool) {
    let (year, month, day) = date_of(days);
    ((year - 1970) * 12 + month - 1, day == 1)
}

/// The first day of a month counted from January 1970.
pub(super) fn month_to_days(months: i128) -> i128 {
    // In this calendar the year begins in March.
    let months = months + 1970 * 12 - 2;
    let (year, since_march) = (months.div_euclid(12), months.rem_euclid(12));
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * since_march + 2) / 5;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year
        - FROM_MARCH_OF_YEAR_0
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Date(i64, TimeUnit);

    impl fmt::Display for Date {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write_date(f, self.0, self.1)
        }
    }

    fn date(count: i64, base: TimeBase) -> String {
        Date(count, TimeUnit::one(base)).to_string()
    }

    #[test]
    fn dates_are_written_as_numpy_writes_them() {
        use TimeBase::*;
        // Results of numpy.datetime64 2.4.6.
        for (count, base, text) in [
            (-2000, Year, "-030"),
            (-1970, Year, "0000"),
            (56, Year, "2026"),
            (100_000, Year, "101970"),
            (-3970, Month, "1639-03"),
            (2900, Week, "2025-07-31"),
            (20_000, Day, "2024-10-04"),
            (5, Hour, "1970-01-01T05"),
            (5, Minute, "1970-01-01T00:05"),
            (5, Second, "1970-01-01T00:00:05"),
            (5, Millisecond, "1970-01-01T00:00:00.005"),
            (5, Nanosecond, "1970-01-01T00:00:00.000000005"),
            (-5, Attosecond, "1969-12-31T23:59:59.999999999999999995"),
            (i64::MIN + 1, Attosecond, "1969-12-31T23:59:50.776627963145224193"),
            (1 << 62, Day, "12626367463885247-04-15"),
            (1 << 62, Year, "4611686018427389874"),
            (i64::MIN, Day, "NaT"),
        ] {
            assert_eq!(date(count, base), text, "{count} {base:?}");
        }
        let coarse = TimeUnit::new(Microsecond, 25).unwrap();
        assert_eq!(Date(3, coarse).to_string(), "1970-01-01T00:00:00.000075");
    }

    #[test]
    fn days_follow_one_another_through_leap_years() {
        // An oracle that only counts.
        let (mut year, mut month, mut day) = (1583, 1, 1);
        let first = -141_349;
        for days in first..first + 400_000 {
            assert_eq!(date(days, TimeBase::Day), format!("{year:04}-{month:02}-{day:02}"), "day {days}");
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let last = match month {
                2 if leap => 29,
                2 => 28,
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            day += 1;
            if day > last {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
    }

    #[test]
    fn extreme_counts_and_multiples_do_not_overflow() {
        for (base, ..) in BASES {
            for multiple in [1, i32::MAX as u32] {
                if base == TimeBase::Generic && multiple > 1 {
                    continue;
                }
                let unit = TimeUnit::new(base, multiple).unwrap();
                for count in [i64::MIN, i64::MIN + 1, -1, 0, i64::MAX] {
                    assert!(!Date(count, unit).to_string().is_empty());
                }
            }
        }
    }

    #[test]
    fn multiples_are_checked() {
        assert!(TimeUnit::new(TimeBase::Day, 0).unwrap_err().is_value());
        assert!(TimeUnit::new(TimeBase::Day, 1 << 31).unwrap_err().is_value());
        assert!(TimeUnit::new(TimeBase::Generic, 2).unwrap_err().is_value());
        assert_eq!(TimeUnit::new(TimeBase::Generic, 1).unwrap(), TimeUnit::GENERIC);
    }

    #[test]
    fn bases_stand_at_their_own_index() {
        for (index, (base, symbol, _)) in BASES.into_iter().enumerate() {
            assert_eq!(base as usize, index);
            assert_eq!(TimeBase::from_symbol(symbol), Some(base));
        }
    }
}
