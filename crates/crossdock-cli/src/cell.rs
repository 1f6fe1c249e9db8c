//! Elements of columns as text, with all their digits and items.

use std::fmt::Write;

use crossdock::element::{TimeUnit, Value};
use crossdock::table::{Column, ColumnType, ColumnValue};

use crate::failure::Result;
use crate::terminal;

/// One element of a column: as NumPy shows elements, or `null`.
pub(crate) fn cell(column: &Column, row: usize) -> Result<String> {
    let mut text = String::new();
    show(column.column_type(), &column.value(row)?, &mut text)?;
    Ok(text)
}

/// Appends a value of a column of this type.
pub(crate) fn show(ty: &ColumnType, value: &ColumnValue, text: &mut String) -> Result<()> {
    let ty = values_of(ty);
    // Writing to a string cannot fail.
    let _ = match (value, ty) {
        (ColumnValue::Element(value), ColumnType::Fixed(dtype)) => write!(text, "{}", value.display(dtype)),
        (ColumnValue::Element(value), ColumnType::Timestamp { zone: Some(zone), .. }) => {
            write!(text, "{value}Z[{}]", terminal::shown(zone))
        }
        (ColumnValue::Element(value @ Value::TimeDelta { count, unit }), ColumnType::Time(_)) => {
            match time_of_day(*count, *unit) {
                Some(time) => write!(text, "{time}"),
                None => write!(text, "{value}"),
            }
        }
        (ColumnValue::Element(Value::Void(bytes)), ColumnType::FixedBinary(_)) => {
            write!(text, "{}", Value::Bytes(bytes.clone()))
        }
        (ColumnValue::Element(value), _) => write!(text, "{value}"),
        (ColumnValue::Decimal(digits), _) => write!(text, "{digits}"),
        (ColumnValue::List(items) | ColumnValue::Map(items), _) => {
            text.push('[');
            for index in 0..items.len() {
                text.push_str(if index > 0 { ", " } else { "" });
                show(items.column_type(), &items.value(index)?, text)?;
            }
            write!(text, "]")
        }
        (ColumnValue::Struct(values), _) => {
            text.push('{');
            let mut fields = match ty {
                ColumnType::Struct(fields) => fields.iter(),
                _ => [].iter(),
            };
            for (index, value) in values.iter().enumerate() {
                text.push_str(if index > 0 { ", " } else { "" });
                let field = fields.next();
                let _ = field.map_or(Ok(()), |field| write!(text, "{}: ", field.name().escape_debug()));
                show(field.map_or(&ColumnType::Null, |field| field.column_type()), value, text)?;
            }
            write!(text, "}}")
        }
        (ColumnValue::Null, _) => write!(text, "null"),
        // Kinds of values that later versions of the library may add.
        (other, _) => write!(text, "{other:?}"),
    };
    Ok(())
}

/// A time of day with the digits of its unit: `23:59:59.999999`; `None` if it is not within a day.
fn time_of_day(count: i64, unit: TimeUnit) -> Option<String> {
    let digits: usize = match unit {
        TimeUnit::SECOND => 0,
        TimeUnit::MILLISECOND => 3,
        TimeUnit::MICROSECOND => 6,
        TimeUnit::NANOSECOND => 9,
        _ => return None,
    };
    let per_second = 10i64.pow(digits as u32);
    let (seconds, rest) = (count.div_euclid(per_second), count.rem_euclid(per_second));
    if !(0..24 * 60 * 60).contains(&seconds) {
        return None;
    }
    let text = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    Some(if digits == 0 { text } else { format!("{text}.{rest:0digits$}") })
}

/// The type of the values behind dictionaries and runs.
pub(crate) fn values_of(ty: &ColumnType) -> &ColumnType {
    match ty {
        ColumnType::Dictionary { values, .. } | ColumnType::RunEndEncoded { values, .. } => {
            values_of(values.column_type())
        }
        other => other,
    }
}
