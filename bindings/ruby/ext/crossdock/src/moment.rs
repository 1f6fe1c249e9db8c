//! Dates: elements of `datetime64` as `Time` in UTC, and `Time`, `DateTime` and `Date` as elements.
//!
//! A moment that is no whole number of the dtype's units does not fit.

use crossdock::element::{NAT, ScalarKind, TimeBase, TimeUnit, Value as Element};
use magnus::time::{Offset, Timespec};
use magnus::{Integer, Ruby, Value, kwargs, prelude::*};

use crate::error::{Failure, Result};
use crate::exact;

const DAY: i64 = 86_400;
/// The Julian day number of 1970-01-01.
pub(crate) const EPOCH: i64 = 2_440_588;

/// How many units a second has, or how many seconds a unit has.
enum Scale {
    PerSecond(i64),
    Seconds(i64),
    /// Of the calendar, in months.
    Months(i64),
    Unknown,
}

fn scale(unit: TimeUnit) -> Scale {
    match unit.base() {
        TimeBase::Year => Scale::Months(12),
        TimeBase::Month => Scale::Months(1),
        TimeBase::Week => Scale::Seconds(7 * DAY),
        TimeBase::Day => Scale::Seconds(DAY),
        TimeBase::Hour => Scale::Seconds(3600),
        TimeBase::Minute => Scale::Seconds(60),
        TimeBase::Second => Scale::Seconds(1),
        TimeBase::Millisecond => Scale::PerSecond(1_000),
        TimeBase::Microsecond => Scale::PerSecond(1_000_000),
        TimeBase::Nanosecond => Scale::PerSecond(1_000_000_000),
        TimeBase::Picosecond => Scale::PerSecond(1_000_000_000_000),
        TimeBase::Femtosecond => Scale::PerSecond(1_000_000_000_000_000),
        TimeBase::Attosecond => Scale::PerSecond(1_000_000_000_000_000_000),
        _ => Scale::Unknown,
    }
}

/// A `Time` in UTC; nil for NaT; the count itself if it has no unit.
pub(crate) fn to_ruby(ruby: &Ruby, count: i64, unit: TimeUnit) -> Result<Value> {
    if count == NAT {
        return Ok(ruby.qnil().as_value());
    }
    let of_base = i128::from(count) * i128::from(unit.multiple());
    let time = ruby.class_object().const_get::<_, Value>("Time")?;
    match scale(unit) {
        Scale::Unknown => Ok(ruby.integer_from_i64(count).as_value()),
        Scale::Months(months) => {
            let months = of_base * i128::from(months);
            let year = ruby.integer_from_i128(1970 + months.div_euclid(12));
            Ok(time.funcall("utc", (year, months.rem_euclid(12) as i64 + 1))?)
        }
        Scale::Seconds(seconds) => at(ruby, time, of_base * i128::from(seconds), 0, 1),
        Scale::PerSecond(parts) => {
            let whole = of_base.div_euclid(i128::from(parts));
            at(ruby, time, whole, of_base.rem_euclid(i128::from(parts)) as i64, parts)
        }
    }
}

/// The moment `seconds` and `part / parts` seconds after 1970.
fn at(ruby: &Ruby, time: Value, seconds: i128, part: i64, parts: i64) -> Result<Value> {
    if parts <= 1_000_000_000
        && let Ok(tv_sec) = i64::try_from(seconds)
    {
        let moment = Timespec { tv_sec, tv_nsec: part * (1_000_000_000 / parts) };
        return Ok(ruby.time_timespec_new(moment, Offset::utc())?.as_value());
    }
    let part: Value = ruby.module_kernel().funcall("Rational", (part, parts))?;
    let moment: Value = ruby.integer_from_i128(seconds).funcall("+", (part,))?;
    Ok(time.funcall("at", (moment, kwargs!("in" => "UTC")))?)
}

/// What a Ruby object says of time.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Moment {
    Time,
    Date,
}

impl Moment {
    /// `Time` and `DateTime`, or `Date`. The library `date` may be loaded at any time.
    pub(crate) fn of(ruby: &Ruby, value: Value) -> Option<Self> {
        let is = |name: &str| {
            let class: std::result::Result<Value, _> = ruby.class_object().const_get(name);
            class.is_ok_and(|class| class.funcall("===", (value,)).unwrap_or(false))
        };
        if is("Time") || is("DateTime") { Some(Self::Time) } else { is("Date").then_some(Self::Date) }
    }
}

/// A `Time`, `DateTime` or `Date` as an element.
///
/// # Errors
///
/// `RangeError` if the unit does not express it exactly, or the count does not fit.
pub(crate) fn from_ruby(ruby: &Ruby, value: Value, moment: Moment, unit: TimeUnit) -> Result<Element> {
    Ok(Element::DateTime { count: count(ruby, value, moment, unit)?, unit })
}

/// The count of an element, with the errors of [`from_ruby`].
pub(crate) fn count(ruby: &Ruby, value: Value, moment: Moment, unit: TimeUnit) -> Result<i64> {
    let kind = ScalarKind::DateTime(unit);
    // Of a DateTime: a Time has no such method before the library `date` is loaded.
    let shown: Value = match moment {
        Moment::Time if value.respond_to("to_time", false)? => value.funcall("to_time", ())?,
        _ => value,
    };
    let misfit = || Failure::misfit(ruby, shown, kind);
    let count = match (moment, scale(unit)) {
        (_, Scale::Unknown) => None,
        (_, Scale::Months(months)) => whole_months(ruby, shown, moment)?
            .map(|count| (count, months * i64::from(unit.multiple())))
            .filter(|(count, months)| count % months == 0)
            .map(|(count, months)| count / months),
        (_, Scale::Seconds(seconds)) => {
            let unit_seconds = ruby.integer_from_i128(i128::from(seconds) * i128::from(unit.multiple()));
            quotient(ruby, seconds_of(ruby, shown, moment)?, 1, unit_seconds)?
        }
        (_, Scale::PerSecond(parts)) => {
            let multiple = ruby.integer_from_i64(i64::from(unit.multiple()));
            quotient(ruby, seconds_of(ruby, shown, moment)?, parts, multiple)?
        }
    };
    // The least count is NaT.
    count.filter(|&count| count != NAT).ok_or_else(misfit)
}

/// The seconds since 1970, as a Rational or an Integer.
fn seconds_of(ruby: &Ruby, value: Value, moment: Moment) -> Result<Value> {
    Ok(match moment {
        Moment::Time => value.funcall("to_r", ())?,
        Moment::Date => {
            let days: Value = value.funcall::<_, _, Value>("jd", ())?.funcall("-", (EPOCH,))?;
            days.funcall("*", (ruby.integer_from_i64(DAY),))?
        }
    })
}

/// `seconds * parts / unit`, if it is whole and fits.
fn quotient(ruby: &Ruby, seconds: Value, parts: i64, unit: Integer) -> Result<Option<i64>> {
    let units: Value = seconds.funcall::<_, _, Value>("to_r", ())?.funcall("*", (parts,))?;
    let count: Value = units.funcall("/", (unit,))?;
    Ok(exact::whole(ruby, count)?.and_then(|count| count.to_i64().ok()))
}

/// The months since 1970-01, if a month begins at this moment in UTC.
fn whole_months(ruby: &Ruby, value: Value, moment: Moment) -> Result<Option<i64>> {
    let value: Value = match moment {
        Moment::Time => value.funcall("getutc", ())?,
        Moment::Date => value.funcall("gregorian", ())?,
    };
    let begins = match moment {
        Moment::Date => true,
        Moment::Time => {
            let midnight: Value = ruby.class_object().const_get::<_, Value>("Time")?.funcall(
                "utc",
                (value.funcall::<_, _, Value>("year", ())?, value.funcall::<_, _, i64>("month", ())?),
            )?;
            midnight.funcall("==", (value,))?
        }
    };
    if !begins || value.funcall::<_, _, i64>("day", ())? != 1 {
        return Ok(None);
    }
    let (year, month): (i64, i64) = (value.funcall("year", ())?, value.funcall("month", ())?);
    Ok((year - 1970).checked_mul(12).and_then(|months| months.checked_add(month - 1)))
}
