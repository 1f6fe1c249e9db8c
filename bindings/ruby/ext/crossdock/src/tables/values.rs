//! Elements of columns as Ruby objects.
//!
//! | type | in Ruby |
//! |---|---|
//! | null | `nil` |
//! | numbers, booleans, text, bytes | as elements of arrays (`value.rs`) |
//! | dates | `Date` |
//! | timestamps | `Time`, in UTC or at the type's offset from it |
//! | decimals | `BigDecimal` |
//! | times of day, durations, intervals of months | `Integer`, the count of the type's unit |
//! | lists | `Array` |
//! | structs | `Hash` with Strings |
//! | maps | `Array` of pairs |

use crossdock::bindings::table::offset_minutes;
use crossdock::element::{NAT, TimeBase, TimeUnit, Value as Element};
use crossdock::table::{Column, ColumnType, ColumnValue};
use magnus::value::ReprValue;
use magnus::{RArray, Ruby, Value, prelude::*, time::Offset, time::Timespec};

use crate::convert;
use crate::error::{Failure, Result};
use crate::moment::EPOCH;
use crate::value::{array_of, to_ruby};

const DAY_IN_MILLISECONDS: i64 = 86_400_000;

/// One element.
pub(super) fn element(ruby: &Ruby, column: &Column, index: usize) -> Result<Value> {
    of_value(ruby, column.column_type(), column.value(index)?)
}

/// All elements.
pub(super) fn elements(ruby: &Ruby, column: &Column) -> Result<RArray> {
    let ty = column.column_type();
    if matches!(ty, ColumnType::Fixed(dtype) if dtype.as_scalar().is_some()) {
        let all = RArray::try_convert(convert::nested(ruby, &column.array()?)?)?;
        if let Some(validity) = column.validity() {
            for (index, _) in validity.to_vec()?.into_iter().enumerate().filter(|(_, is_valid)| !is_valid) {
                all.store(index as isize, ruby.qnil())?;
            }
        }
        return Ok(all);
    }
    let all = array_of(column.len())?;
    // Where another party may write the memory, each element is copied before it is read.
    if let Ok(text) = column.text() {
        for index in 0..text.len() {
            let string = match ty.is_utf8() {
                true => text.get(index)?.map(|text| ruby.str_new(text)),
                false => text.bytes(index)?.map(|bytes| ruby.str_from_slice(bytes)),
            };
            all.push(string)?;
        }
        return Ok(all);
    }
    for value in column.values() {
        all.push(of_value(ruby, ty, value?)?)?;
    }
    Ok(all)
}

fn of_value(ruby: &Ruby, ty: &ColumnType, value: ColumnValue) -> Result<Value> {
    let nil = || ruby.qnil().as_value();
    match value {
        ColumnValue::Null => Ok(nil()),
        ColumnValue::Element(value) => of_element(ruby, meant(ty), &value),
        ColumnValue::Decimal(text) => {
            // The constant is a class; the function of its name is in Kernel.
            constant(ruby, "BigDecimal", "bigdecimal")?;
            Ok(ruby.module_kernel().funcall("BigDecimal", (text,))?)
        }
        ColumnValue::List(column) => Ok(elements(ruby, &column)?.as_value()),
        ColumnValue::Map(entries) => {
            let types: Vec<_> = entries.column_type().fields().map(|field| field.column_type()).collect();
            let pairs = array_of(entries.len())?;
            for entry in entries.values() {
                let ColumnValue::Struct(values) = entry? else { continue };
                let pair = array_of(2)?;
                for (ty, value) in types.iter().zip(values) {
                    pair.push(of_value(ruby, ty, value)?)?;
                }
                pairs.push(pair)?;
            }
            Ok(pairs.as_value())
        }
        ColumnValue::Struct(values) => {
            // Otherwise a struct in a union, whose names are not known here.
            let ColumnType::Struct(fields) = meant(ty) else {
                let all = array_of(values.len())?;
                for value in values {
                    all.push(of_value(ruby, &ColumnType::Null, value)?)?;
                }
                return Ok(all.as_value());
            };
            let all = ruby.hash_new();
            for (field, value) in fields.iter().zip(values) {
                let name = field.name();
                if all.funcall::<_, _, bool>("key?", (name,))? {
                    let text = format!(
                        "a struct with several fields {name:?} is no Hash; rename them before the import"
                    );
                    return Err(Failure::ours(ruby, text));
                }
                all.aset(name, of_value(ruby, field.column_type(), value)?)?;
            }
            Ok(all.as_value())
        }
        other => Err(Failure::ours(ruby, format!("{other:?} has no value in Ruby"))),
    }
}

/// The type that the elements of dictionaries and runs have.
fn meant(ty: &ColumnType) -> &ColumnType {
    match ty {
        ColumnType::Dictionary { values, .. } | ColumnType::RunEndEncoded { values, .. } => {
            meant(values.column_type())
        }
        other => other,
    }
}

fn of_element(ruby: &Ruby, ty: &ColumnType, value: &Element) -> Result<Value> {
    match (ty, value) {
        (_, Element::DateTime { count: NAT, .. }) => Ok(ruby.qnil().as_value()),
        (ColumnType::Date32, Element::DateTime { count, .. }) => date(ruby, *count),
        (ColumnType::Date64, Element::DateTime { count, .. }) => {
            date(ruby, count.div_euclid(DAY_IN_MILLISECONDS))
        }
        (ColumnType::Timestamp { unit, zone }, Element::DateTime { count, .. }) => {
            time(ruby, *count, *unit, zone.as_deref())
        }
        _ => to_ruby(ruby, value),
    }
}

fn date(ruby: &Ruby, days: i64) -> Result<Value> {
    let days =
        days.checked_add(EPOCH).ok_or_else(|| Failure::ours(ruby, format!("day {days} is out of range")))?;
    // Gregorian throughout, as Arrow's: by default, Ruby's Date changes the calendar in 1582.
    Ok(constant(ruby, "Date", "date")?.funcall("jd", (days, f64::NEG_INFINITY))?)
}

fn time(ruby: &Ruby, count: i64, unit: TimeUnit, zone: Option<&str>) -> Result<Value> {
    let per_second = match unit.base() {
        TimeBase::Second => 1,
        TimeBase::Millisecond => 1_000,
        TimeBase::Microsecond => 1_000_000,
        _ => 1_000_000_000,
    };
    let moment = Timespec {
        tv_sec: count.div_euclid(per_second),
        tv_nsec: count.rem_euclid(per_second) * (1_000_000_000 / per_second),
    };
    // Ruby has every offset of less than a day, and no rules of zones with names.
    let offset = zone.and_then(offset_minutes).and_then(|minutes| Offset::from_secs(60 * minutes).ok());
    let offset = offset.unwrap_or_else(Offset::utc);
    Ok(ruby.time_timespec_new(moment, offset)?.as_value())
}

/// A constant of a library, which is loaded when it is first needed.
fn constant(ruby: &Ruby, name: &str, library: &str) -> Result<Value> {
    if let Ok(known) = ruby.class_object().const_get(name) {
        return Ok(known);
    }
    ruby.require(library)?;
    Ok(ruby.class_object().const_get(name)?)
}
