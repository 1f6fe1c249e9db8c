//! Elements of columns as Python values.

use crossdock::bindings::table::offset_minutes;
use crossdock::element::{DType, NAT, TimeBase, TimeUnit, Value};
use crossdock::table::{Column, ColumnType, ColumnValue, Field};
use pyo3::exceptions::{PyMemoryError, PyOverflowError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyInt, PyList, PyString, PyTime, PyTuple};

use crate::convert;
use crate::errors::Raise;
use crate::object::wrap;
use crate::table::memory;
use crate::{moment, nested};

const DAY_IN_MILLISECONDS: i64 = 86_400_000;
const DAY_IN_MINUTES: i64 = 1440;

/// What the elements of a field mean beyond their type.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Meaning<'a> {
    OfType,
    /// Arrow's canonical extension type of identifiers.
    Uuid,
    /// That of tensors of any shape, and the field with their parameters.
    Tensor(&'a Field),
    /// That of moments with an offset from UTC each, and the numbers of the two parts.
    WithOffset {
        moments: usize,
        offsets: usize,
    },
}

impl<'a> Meaning<'a> {
    pub(super) fn of(field: &'a Field) -> Self {
        // The type of a column of a dictionary is that of its values.
        let field = match field.column_type() {
            ColumnType::Dictionary { values, .. } if field.extension().is_none() => values,
            _ => field,
        };
        match (field.column_type(), field.extension()) {
            (ColumnType::FixedBinary(16), Some(("arrow.uuid", _))) => Self::Uuid,
            (ColumnType::Struct(parts), Some(("arrow.timestamp_with_offset", _))) => Self::of_moments(parts),
            (ColumnType::Struct(_), _) if field.is_variable_shape_tensor() => Self::Tensor(field),
            _ => Self::OfType,
        }
    }

    /// That of moments with an offset, if a struct has the parts that the extension type requires.
    fn of_moments(parts: &[Field]) -> Self {
        let part = |name| parts.iter().position(|part| part.name() == name);
        match (part("timestamp"), part("offset_minutes")) {
            (Some(moments), Some(offsets))
                if parts.len() == 2
                    && matches!(
                        parts[moments].column_type(),
                        ColumnType::Timestamp { zone: Some(_), .. }
                    )
                    && are_offsets(parts[offsets].column_type()) =>
            {
                Self::WithOffset { moments, offsets }
            }
            _ => Self::OfType,
        }
    }

    /// That of the only field below a list.
    fn below(ty: &'a ColumnType) -> Self {
        ty.fields().next().map_or(Self::OfType, Self::of)
    }
}

/// Whether a type is that of offsets in minutes, themselves or behind a dictionary or runs.
fn are_offsets(ty: &ColumnType) -> bool {
    match ty {
        ColumnType::Dictionary { values, .. } | ColumnType::RunEndEncoded { values, .. } => {
            are_offsets(values.column_type())
        }
        _ => *ty == ColumnType::Fixed(DType::I16),
    }
}

/// The class of Python's identifiers.
pub(super) fn uuid_class<'py>(py: Python<'py>) -> PyResult<&'py Bound<'py, PyAny>> {
    static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let made = CLASS.get_or_try_init(py, || {
        let class = py.import(intern!(py, "uuid"))?.getattr(intern!(py, "UUID"))?;
        Ok::<_, PyErr>(class.unbind())
    })?;
    Ok(made.bind(py))
}

/// That class, if the program has imported it: otherwise there is no identifier.
pub(super) fn imported_uuid_class<'py>(py: Python<'py>) -> PyResult<Option<&'py Bound<'py, PyAny>>> {
    let modules = py.import(intern!(py, "sys"))?.getattr(intern!(py, "modules"))?;
    modules.contains(intern!(py, "uuid"))?.then(|| uuid_class(py)).transpose()
}

/// The bytes of one of Python's identifiers; `None` for other objects.
pub(super) fn identifier(object: &Bound<'_, PyAny>) -> PyResult<Option<Vec<u8>>> {
    match imported_uuid_class(object.py())? {
        Some(class) if object.is_instance(class)? => {
            let bytes = object.getattr(intern!(object.py(), "bytes"))?;
            Ok(Some(bytes.extract()?))
        }
        _ => Ok(None),
    }
}

/// One element.
pub(super) fn element<'py>(
    py: Python<'py>,
    column: &Column,
    index: usize,
    meaning: Meaning<'_>,
) -> PyResult<Bound<'py, PyAny>> {
    // Behind unions, only the column that has the value, and its field, know its type.
    let Some((column, index, field)) = column.resolved(index).raise()? else {
        return Ok(py.None().into_bound(py));
    };
    let meaning = field.map_or(meaning, Meaning::of);
    match meaning {
        Meaning::Tensor(field) => match field.tensor_at(column, index) {
            // No array has null items: the struct is a dict.
            Err(error) if error.is_value() => {}
            tensor => {
                return tensor.raise()?.map_or(Ok(py.None().into_bound(py)), |tensor| wrap(py, tensor));
            }
        },
        Meaning::WithOffset { moments, offsets } => {
            let (parts, index) = (column.children(), column.offset() + index);
            return moment_with_offset(py, &parts[moments], &parts[offsets], index);
        }
        Meaning::OfType | Meaning::Uuid => {}
    }
    let ty = column.column_type();
    if let ColumnType::Struct(fields) = ty {
        let all = PyDict::new(py);
        for (field, child) in fields.iter().zip(column.children()) {
            let name = field.name();
            if all.contains(name)? {
                let text = format!(
                    "a struct with several fields {name:?} is no dict; rename them before the import"
                );
                return Err(PyValueError::new_err(text));
            }
            all.set_item(name, element(py, child, column.offset() + index, Meaning::of(field))?)?;
        }
        return Ok(all.into_any());
    }
    match column.value(index).raise()? {
        ColumnValue::Null => Ok(py.None().into_bound(py)),
        ColumnValue::Decimal(text) => {
            py.import(intern!(py, "decimal"))?.getattr(intern!(py, "Decimal"))?.call1((text,))
        }
        ColumnValue::List(items) => Ok(elements(py, &items, Meaning::below(ty))?.into_any()),
        ColumnValue::Map(entries) => {
            let pair = |index: usize| {
                let parts = entries
                    .column_type()
                    .fields()
                    .zip(entries.children())
                    .map(|(field, part)| element(py, part, entries.offset() + index, Meaning::of(field)));
                Ok(PyTuple::new(py, parts.collect::<PyResult<Vec<_>>>()?)?.into_any())
            };
            Ok(list_of(py, entries.len(), pair)?.into_any())
        }
        ColumnValue::Element(Value::Void(bytes) | Value::Bytes(bytes)) if meaning == Meaning::Uuid => {
            let keywords = PyDict::new(py);
            keywords.set_item(intern!(py, "bytes"), PyBytes::new(py, &bytes))?;
            uuid_class(py)?.call((), Some(&keywords))
        }
        ColumnValue::Element(value) => of_element(py, ty, &value),
        other => Err(PyValueError::new_err(format!("{other:?} has no value in Python"))),
    }
}

/// All elements.
pub(super) fn elements<'py>(
    py: Python<'py>,
    column: &Column,
    meaning: Meaning<'_>,
) -> PyResult<Bound<'py, PyList>> {
    memory::or_fault(std::slice::from_ref(column), elements_as_read(py, column, meaning))
}

/// As [`elements`], of a file that shrank too.
fn elements_as_read<'py>(
    py: Python<'py>,
    column: &Column,
    meaning: Meaning<'_>,
) -> PyResult<Bound<'py, PyList>> {
    let ty = column.column_type();
    let array = match ty {
        ColumnType::Fixed(dtype) if dtype.as_scalar().is_some() => Some(column.array().raise()?),
        ColumnType::Boolean => Some(column.truth_values().raise()?),
        _ => None,
    };
    if let Some(array) = array {
        let all = nested::write(py, &array)?.cast_into::<PyList>()?;
        if let Some(validity) = column.validity() {
            let nulls = validity.to_vec().raise()?.into_iter().enumerate().filter(|(_, is_valid)| !is_valid);
            for (index, _) in nulls {
                all.set_item(index, py.None())?;
            }
        }
        return Ok(all);
    }
    // Where another party may write the memory, each element is copied before it is read.
    if let Ok(text) = column.text() {
        let is_text = ty.is_utf8();
        let one = |index: usize| {
            Ok(match is_text {
                true => text.get(index).map(|text| text.map(|text| PyString::new(py, text).into_any())),
                false => text.bytes(index).map(|bytes| bytes.map(|bytes| PyBytes::new(py, bytes).into_any())),
            }
            .raise()?
            .unwrap_or_else(|| py.None().into_bound(py)))
        };
        return list_of(py, column.len(), one);
    }
    if *ty == ColumnType::Null {
        return nones(py, column.len());
    }
    list_of(py, column.len(), |index| element(py, column, index, meaning))
}

/// A list of the values that `one` gives for each index.
fn list_of<'py>(
    py: Python<'py>,
    len: usize,
    one: impl Fn(usize) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyList>> {
    let all = nones(py, len)?;
    for index in 0..len {
        all.set_item(index, one(index)?)?;
    }
    Ok(all)
}

/// A list of `None`s. It is allocated at once: nulls and runs need no memory of their own, so a
/// column may claim any number of elements.
fn nones(py: Python<'_>, len: usize) -> PyResult<Bound<'_, PyList>> {
    let repeated = PyList::new(py, [py.None()])?.call_method1(intern!(py, "__mul__"), (len,));
    match repeated {
        Ok(all) => Ok(all.cast_into::<PyList>()?),
        Err(error) if error.is_instance_of::<PyMemoryError>(py) => Err(PyMemoryError::new_err(format!(
            "a list of {len} elements needs {} bytes, which could not be allocated; convert a slice at a time",
            (len as u128) * size_of::<usize>() as u128
        ))),
        Err(error) => Err(error),
    }
}

fn of_element<'py>(py: Python<'py>, ty: &ColumnType, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match (ty, value) {
        (ColumnType::Date32, Value::DateTime { count, .. }) => day(py, *count),
        (ColumnType::Date64, Value::DateTime { count, .. }) => {
            day(py, if *count == NAT { NAT } else { count.div_euclid(DAY_IN_MILLISECONDS) })
        }
        (ColumnType::Timestamp { unit, zone }, Value::DateTime { count, .. }) => {
            let naive = match in_microseconds(*count, *unit) {
                Some((count, unit)) => moment::date(py, count, unit)?,
                None => return of_numpy(py, "datetime64", *count, *unit),
            };
            match zone {
                _ if is_count(&naive) => of_numpy(py, "datetime64", *count, *unit),
                Some(zone) if !naive.is_none() => match in_zone(&naive, zone) {
                    // The clocks of the zone show a year that Python does not have.
                    Err(error) if error.is_instance_of::<PyOverflowError>(py) => {
                        of_numpy(py, "datetime64", *count, *unit)
                    }
                    made => made,
                },
                _ => Ok(naive),
            }
        }
        (ColumnType::Duration(unit), Value::TimeDelta { count, .. }) => {
            let made = match in_microseconds(*count, *unit) {
                Some((count, unit)) => moment::duration(py, count, unit)?,
                None => return of_numpy(py, "timedelta64", *count, *unit),
            };
            if is_count(&made) { of_numpy(py, "timedelta64", *count, *unit) } else { Ok(made) }
        }
        (ColumnType::Time(unit), Value::TimeDelta { count, .. }) => time_of_day(py, *count, *unit),
        _ => convert::to_python(py, value),
    }
}

/// A day, counted from 1970-01-01.
fn day(py: Python<'_>, count: i64) -> PyResult<Bound<'_, PyAny>> {
    let unit = TimeUnit::one(TimeBase::Day);
    let made = moment::date(py, count, unit)?;
    if is_count(&made) { of_numpy(py, "datetime64", count, unit) } else { Ok(made) }
}

/// Whether a time came as its count, since Python's classes do not have it.
fn is_count(made: &Bound<'_, PyAny>) -> bool {
    made.is_instance_of::<PyInt>()
}

/// Nanoseconds as microseconds, which are the smallest unit of Python's datetime. `None` if they
/// are no whole number of them.
fn in_microseconds(count: i64, unit: TimeUnit) -> Option<(i64, TimeUnit)> {
    // The count that stands for no time does so in every unit.
    if unit != TimeUnit::NANOSECOND || count == NAT {
        return Some((count, unit));
    }
    (count % 1000 == 0).then_some((count / 1000, TimeUnit::MICROSECOND))
}

/// A time that Python's classes do not have, as a scalar of NumPy: of moments, in UTC.
fn of_numpy<'py>(py: Python<'py>, class: &str, count: i64, unit: TimeUnit) -> PyResult<Bound<'py, PyAny>> {
    let numpy = py.import(intern!(py, "numpy")).map_err(|_| {
        PyValueError::new_err(format!(
            "{count} {unit} are no whole number of microseconds in the range of Python's datetime; `array()` has the \
             counts, and with NumPy installed they are numpy.{class}"
        ))
    })?;
    numpy.getattr(class)?.call1((count, unit.to_string()))
}

/// A moment in UTC, as the clocks of a time zone show it.
fn in_zone<'py>(naive: &Bound<'py, PyAny>, zone: &str) -> PyResult<Bound<'py, PyAny>> {
    let py = naive.py();
    let datetime = py.import(intern!(py, "datetime"))?;
    let timezone = datetime.getattr(intern!(py, "timezone"))?;
    let utc = timezone.getattr(intern!(py, "utc"))?;
    let aware = PyDict::new(py);
    aware.set_item("tzinfo", &utc)?;
    let aware = naive.call_method(intern!(py, "replace"), (), Some(&aware))?;
    if zone.eq_ignore_ascii_case("utc") {
        return Ok(aware);
    }
    let zone = match offset_minutes(zone) {
        Some(minutes) => {
            let seconds = (0, minutes * 60);
            timezone.call1((datetime.getattr(intern!(py, "timedelta"))?.call1(seconds)?,))?
        }
        None => py.import(intern!(py, "zoneinfo"))?.getattr(intern!(py, "ZoneInfo"))?.call1((zone,))?,
    };
    aware.call_method1(intern!(py, "astimezone"), (zone,))
}

/// A moment with a time zone, as the clocks at its offset from UTC in minutes show it: in UTC if
/// Python has no such zone, or its clocks show a year that Python does not have. Moments that
/// Python's classes do not have are NumPy's, in UTC.
fn moment_with_offset<'py>(
    py: Python<'py>,
    moments: &Column,
    offsets: &Column,
    index: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let moment = element(py, moments, index, Meaning::OfType)?;
    // Of one without a zone, `astimezone` would take the zone of the machine.
    if moment.getattr_opt(intern!(py, "tzinfo"))?.is_none_or(|zone| zone.is_none()) {
        return Ok(moment);
    }
    let datetime = py.import(intern!(py, "datetime"))?;
    let timezone = datetime.getattr(intern!(py, "timezone"))?;
    let utc = timezone.getattr(intern!(py, "utc"))?;
    let zone = match offsets.value(index).raise()? {
        ColumnValue::Element(Value::Int(minutes)) if minutes.abs() < DAY_IN_MINUTES => {
            let seconds = (0, minutes * 60);
            timezone.call1((datetime.getattr(intern!(py, "timedelta"))?.call1(seconds)?,))?
        }
        _ => utc.clone(),
    };
    match moment.call_method1(intern!(py, "astimezone"), (zone,)) {
        Err(error) if error.is_instance_of::<PyOverflowError>(py) => {
            moment.call_method1(intern!(py, "astimezone"), (utc,))
        }
        made => made,
    }
}

fn time_of_day(py: Python<'_>, count: i64, unit: TimeUnit) -> PyResult<Bound<'_, PyAny>> {
    let Some((count, unit)) = in_microseconds(count, unit) else {
        return of_numpy(py, "timedelta64", count, unit);
    };
    let step = match unit.base() {
        TimeBase::Second => 1_000_000,
        TimeBase::Millisecond => 1_000,
        _ => 1,
    };
    let Some(all) = count.checked_mul(step).filter(|all| (0..86_400_000_000).contains(all)) else {
        return Ok(PyInt::new(py, count).into_any());
    };
    let (seconds, microseconds) = (all / 1_000_000, (all % 1_000_000) as u32);
    let (hours, minutes) = ((seconds / 3600) as u8, (seconds / 60 % 60) as u8);
    Ok(PyTime::new(py, hours, minutes, (seconds % 60) as u8, microseconds, None)?.into_any())
}

/// One element as text for people: an error in place of an element that cannot be read.
pub(super) fn shown(
    py: Python<'_>,
    column: &Column,
    index: usize,
    meaning: Meaning<'_>,
    is_quoted: bool,
) -> String {
    let value = element(py, column, index, meaning);
    let text = value.and_then(|value| if is_quoted { value.repr() } else { value.str() });
    text.map_or_else(|error| format!("<{}>", error.value(py)), |text| text.to_string())
}
