//! Elements of columns as text, with all their digits and items.

use std::fmt::Write;

use crossdock::table::{Column, ColumnType, ColumnValue};

use crate::failure::Result;

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
            write!(text, "{value}Z[{zone}]")
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
        // The kinds of values that later versions of the library have.
        (other, _) => write!(text, "{other:?}"),
    };
    Ok(())
}

/// The type of the values behind dictionaries and runs.
fn values_of(ty: &ColumnType) -> &ColumnType {
    match ty {
        ColumnType::Dictionary { values, .. } | ColumnType::RunEndEncoded { values, .. } => {
            values_of(values.column_type())
        }
        other => other,
    }
}
