//! Conversions between date and duration elements and the objects of Python's `datetime`.

use crossdock::element::{ByteOrder, DType, NAT, ScalarKind, TimeBase, TimeUnit, Value};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDate, PyDateTime, PyDelta};

use crate::dtype::read_dtype;

const DAY: i128 = 86_400_000_000;
/// The days of 0001-01-01 and 9999-12-31, counted from 1970-01-01: the range of Python's dates.
const FIRST_DAY: i128 = -719_162;
const LAST_DAY: i128 = 2_932_896;
/// The longest Python duration.
const MOST_DAYS: i128 = 999_999_999;

/// The microseconds of one count. `None` for finer units, for months and years, and without a unit.
fn microseconds(unit: TimeUnit) -> Option<i128> {
    let base = match unit.base() {
        TimeBase::Week => 7 * DAY,
        TimeBase::Day => DAY,
        TimeBase::Hour => 3_600_000_000,
        TimeBase::Minute => 60_000_000,
        TimeBase::Second => 1_000_000,
        TimeBase::Millisecond => 1_000,
        TimeBase::Microsecond => 1,
        _ => return None,
    };
    Some(base * i128::from(unit.multiple()))
}

/// The months of one count, for calendar units.
fn months(unit: TimeUnit) -> Option<i128> {
    let base = match unit.base() {
        TimeBase::Year => 12,
        TimeBase::Month => 1,
        _ => return None,
    };
    Some(base * i128::from(unit.multiple()))
}

/// A date as NumPy's `item()` returns it: a `date` for units of a day and more, a `datetime` for
/// units down to microseconds. Finer units, and dates out of Python's range, return the count. NaT
/// returns None.
pub(crate) fn date(py: Python<'_>, count: i64, unit: TimeUnit) -> PyResult<Bound<'_, PyAny>> {
    if count == NAT || unit.base() == TimeBase::Generic {
        return Ok(py.None().into_bound(py));
    }
    let number = || Ok(count.into_pyobject(py)?.into_any());
    if let Some(months) = months(unit) {
        let since = i128::from(count) * months + 1970 * 12;
        let (year, month) = (since.div_euclid(12), since.rem_euclid(12) as u8 + 1);
        return match i32::try_from(year) {
            Ok(year @ 1..=9999) => Ok(PyDate::new(py, year, month, 1)?.into_any()),
            _ => number(),
        };
    }
    let Some(step) = microseconds(unit) else { return number() };
    let since = i128::from(count) * step;
    let days = since.div_euclid(DAY);
    if !(FIRST_DAY..=LAST_DAY).contains(&days) {
        return number();
    }
    if matches!(unit.base(), TimeBase::Week | TimeBase::Day) {
        let ordinal = days - FIRST_DAY + 1;
        return class(py, "date")?.call_method1(intern!(py, "fromordinal"), (ordinal as i64,));
    }
    epoch(py)?.call_method1(intern!(py, "__add__"), (delta(py, since)?,))
}

/// A duration as NumPy's `item()` returns it: a `timedelta` for units of weeks to microseconds.
/// Other units, and durations out of range, return the count. NaT returns None.
pub(crate) fn duration(py: Python<'_>, count: i64, unit: TimeUnit) -> PyResult<Bound<'_, PyAny>> {
    if count == NAT {
        return Ok(py.None().into_bound(py));
    }
    match microseconds(unit).map(|step| i128::from(count) * step) {
        Some(long) if (-MOST_DAYS..=MOST_DAYS).contains(&long.div_euclid(DAY)) => {
            Ok(delta(py, long)?.into_any())
        }
        _ => Ok(count.into_pyobject(py)?.into_any()),
    }
}

/// A Python duration of this many microseconds.
fn delta(py: Python<'_>, microseconds: i128) -> PyResult<Bound<'_, PyDelta>> {
    let (days, rest) = (microseconds.div_euclid(DAY), microseconds.rem_euclid(DAY));
    PyDelta::new(py, days as i32, (rest / 1_000_000) as i32, (rest % 1_000_000) as i32, false)
}

fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import(intern!(py, "datetime"))?.getattr(name)
}

fn epoch<'py>(py: Python<'py>) -> PyResult<&'py Bound<'py, PyDateTime>> {
    static EPOCH: PyOnceLock<Py<PyDateTime>> = PyOnceLock::new();
    let made =
        EPOCH.get_or_try_init(py, || PyDateTime::new(py, 1970, 1, 1, 0, 0, 0, 0, None).map(Bound::unbind))?;
    Ok(made.bind(py))
}

/// The unit of a dtype, and whether it counts dates rather than durations.
fn unit_of(dtype: &DType) -> Option<(TimeUnit, bool)> {
    match dtype.as_scalar()?.kind() {
        ScalarKind::DateTime(unit) => Some((unit, true)),
        ScalarKind::TimeDelta(unit) => Some((unit, false)),
        _ => None,
    }
}

/// Like [`from_python`], for an element that counts time; `None` for other elements.
pub(crate) fn for_element(object: &Bound<'_, PyAny>, dtype: &DType) -> PyResult<Option<Value>> {
    if unit_of(dtype).is_some() { from_python(object, Some(dtype)) } else { Ok(None) }
}

/// The dtype for values that are all dates, or all durations, of one unit. `None` for other values.
pub(crate) fn common(values: &[Value]) -> Option<crossdock::Result<DType>> {
    let kind = |value: &Value| match *value {
        Value::DateTime { unit, .. } => Some(ScalarKind::DateTime(unit)),
        Value::TimeDelta { unit, .. } => Some(ScalarKind::TimeDelta(unit)),
        _ => None,
    };
    let first = kind(values.first()?)?;
    let all = values.iter().all(|value| kind(value) == Some(first));
    all.then(|| DType::scalar(first, ByteOrder::NATIVE))
}

/// Makes each NaT without a unit one of the kind of the first date or duration with a unit. A
/// duration stays one.
pub(crate) fn adopt_units(values: &mut [Value]) {
    let of = |value: &Value| match *value {
        Value::DateTime { unit, .. } if unit != TimeUnit::GENERIC => Some((unit, true)),
        Value::TimeDelta { unit, .. } if unit != TimeUnit::GENERIC => Some((unit, false)),
        _ => None,
    };
    let Some((wanted, is_date)) = values.iter().find_map(of) else { return };
    for nat in values {
        match *nat {
            Value::DateTime { count: NAT, unit: TimeUnit::GENERIC } => *nat = value(NAT, wanted, is_date),
            Value::TimeDelta { count: NAT, unit: TimeUnit::GENERIC } if !is_date => {
                *nat = value(NAT, wanted, false);
            }
            _ => {}
        }
    }
}

fn value(count: i64, unit: TimeUnit, is_date: bool) -> Value {
    if is_date { Value::DateTime { count, unit } } else { Value::TimeDelta { count, unit } }
}

/// An object as a date or duration: a value of `dtype` if that counts time, for which integers and
/// None are valid too; otherwise in the object's own unit. `None` if the object is neither.
pub(crate) fn from_python(object: &Bound<'_, PyAny>, dtype: Option<&DType>) -> PyResult<Option<Value>> {
    let py = object.py();
    let wanted = dtype.and_then(unit_of);
    if let Some((unit, is_date)) = wanted {
        if object.is_none() {
            return Ok(Some(value(NAT, unit, is_date)));
        }
        if let Ok(count) = object.extract::<i64>() {
            return Ok(Some(value(count, unit, is_date)));
        }
    }
    let name = object.get_type().name()?;
    let name = name.to_string_lossy();
    if name == "NaTType" {
        // `adopt_units` gives it a unit.
        let (unit, is_date) = wanted.unwrap_or((TimeUnit::GENERIC, true));
        return Ok(Some(value(NAT, unit, is_date)));
    }
    if let Some(exact) = of_pandas(object, &name)? {
        return from_python(&exact, dtype);
    }
    if let Ok(delta) = object.cast::<PyDelta>() {
        return fit(object, whole(delta)?, wanted, false, TimeUnit::MICROSECOND).map(Some);
    }
    let is_moment = object.is_instance_of::<PyDateTime>();
    if is_moment || object.is_instance_of::<PyDate>() {
        let since = if is_moment {
            if !object.getattr(intern!(py, "tzinfo"))?.is_none() {
                return Err(PyValueError::new_err(format!(
                    "{object} has a time zone, and elements have none: convert it to UTC and drop its tzinfo"
                )));
            }
            let since = object.call_method1(intern!(py, "__sub__"), (epoch(py)?,))?;
            whole(since.cast::<PyDelta>()?)?
        } else {
            let ordinal: i64 = object.call_method0(intern!(py, "toordinal"))?.extract()?;
            (i128::from(ordinal) - 1 + FIRST_DAY) * DAY
        };
        if let Some((unit, true)) = wanted
            && let Some(months) = months(unit)
        {
            return of_calendar(object, since, unit, months).map(Some);
        }
        let own = if is_moment { TimeUnit::MICROSECOND } else { TimeUnit::DAY };
        return fit(object, since, wanted, true, own).map(Some);
    }
    // NumPy's scalars, whose buffers are bytes.
    if !is_scalar(object)? {
        return Ok(None);
    }
    let of = read_dtype(&object.getattr("dtype")?)?;
    let Some((unit, is_date)) = unit_of(&of) else { return Ok(None) };
    let count: i64 = object.call_method1("astype", ("int64",))?.extract()?;
    match wanted {
        Some((other, _)) if other != unit && count != NAT => match microseconds(unit) {
            Some(step) => fit(object, i128::from(count) * step, wanted, is_date, unit).map(Some),
            None => Err(inexact(object, other)),
        },
        Some((other, _)) => Ok(Some(value(count, other, is_date))),
        None => Ok(Some(value(count, unit, is_date))),
    }
}

/// Whether an object is a NumPy date or duration.
pub(crate) fn is_scalar(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let name = object.get_type().name()?;
    Ok(matches!(name.to_string_lossy().as_ref(), "datetime64" | "timedelta64"))
}

/// The NumPy value of a pandas date or duration with nanoseconds, by the name of its class. These
/// are instances of Python's own classes, which would lose the nanoseconds.
fn of_pandas<'py>(object: &Bound<'py, PyAny>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = object.py();
    let part = match name {
        "Timestamp" => intern!(py, "nanosecond"),
        "Timedelta" => intern!(py, "nanoseconds"),
        _ => return Ok(None),
    };
    let Some(nanoseconds) = object.getattr_opt(part)? else { return Ok(None) };
    // A time zone is refused, as with Python's own dates.
    let has_zone = object.getattr_opt(intern!(py, "tzinfo"))?.is_some_and(|zone| !zone.is_none());
    match nanoseconds.is_truthy()? && !has_zone {
        true => object.call_method0(intern!(py, "to_numpy")).map(Some),
        false => Ok(None),
    }
}

/// A date that is the beginning of a month count; `microseconds` count from 1970-01-01.
fn of_calendar(
    object: &Bound<'_, PyAny>,
    microseconds: i128,
    unit: TimeUnit,
    months: i128,
) -> PyResult<Value> {
    let part = |name: &str| object.getattr(name)?.extract::<i64>().map(i128::from);
    let since = (part("year")? - 1970) * 12 + part("month")? - 1;
    let begins = part("day")? == 1 && microseconds.rem_euclid(DAY) == 0 && since.rem_euclid(months) == 0;
    match i64::try_from(since.div_euclid(months)) {
        Ok(count) if begins => Ok(value(count, unit, true)),
        _ => Err(inexact(object, unit)),
    }
}

/// The microseconds of a duration.
fn whole(delta: &Bound<'_, PyDelta>) -> PyResult<i128> {
    let part = |name: &str| delta.getattr(name)?.extract::<i64>().map(i128::from);
    Ok(part("days")? * DAY + part("seconds")? * 1_000_000 + part("microseconds")?)
}

/// Microseconds in the requested unit, or in the object's own by default.
fn fit(
    object: &Bound<'_, PyAny>,
    microseconds: i128,
    wanted: Option<(TimeUnit, bool)>,
    is_date: bool,
    own: TimeUnit,
) -> PyResult<Value> {
    let unit = wanted.map_or(own, |(unit, _)| unit);
    let exact = match (self::microseconds(unit), unit.base()) {
        (Some(step), _) => (microseconds.rem_euclid(step) == 0).then(|| microseconds.div_euclid(step)),
        (None, TimeBase::Year | TimeBase::Month | TimeBase::Generic) => None,
        (None, _) => finer(unit).and_then(|(per, multiple)| {
            let counts = microseconds * per;
            (counts.rem_euclid(multiple) == 0).then(|| counts.div_euclid(multiple))
        }),
    };
    let count = exact.and_then(|count| i64::try_from(count).ok()).filter(|&count| count != NAT);
    count.map(|count| value(count, unit, is_date)).ok_or_else(|| inexact(object, unit))
}

/// For units finer than a microsecond: how many base units make one microsecond, and how many make
/// one count.
fn finer(unit: TimeUnit) -> Option<(i128, i128)> {
    let per = match unit.base() {
        TimeBase::Nanosecond => 1_000,
        TimeBase::Picosecond => 1_000_000,
        TimeBase::Femtosecond => 1_000_000_000,
        TimeBase::Attosecond => 1_000_000_000_000,
        _ => return None,
    };
    Some((per, i128::from(unit.multiple())))
}

fn inexact(object: &Bound<'_, PyAny>, unit: TimeUnit) -> PyErr {
    PyValueError::new_err(format!("{object} is no whole number of the unit {unit} that fits an element"))
}
