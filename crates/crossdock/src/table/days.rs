//! Days: NumPy counts them in 64 bits, Arrow in 32.

use crate::element::{DType, TimeUnit, Value};
use crate::error::Result;
use crate::kernel::Casting;
use crate::layout::Order;
use crate::table::checks::Checks;
use crate::table::column::{Column, ColumnParts};
use crate::table::column_type::ColumnType;

/// A column whose days, if it has NumPy's, are those of Arrow: of 32 bits, by a copy, which counts.
///
/// # Errors
///
/// `is_value` for a day that 32 bits do not have; `is_out_of_memory`; `is_conflict` while a Write
/// lease is held.
pub fn with_days(column: Column) -> Result<Column> {
    if *column.column_type() != ColumnType::Fixed(DType::datetime(TimeUnit::DAY)) {
        return Ok(column);
    }
    // The count that stands for no time has more than 32 bits.
    let counted = match column.validity() {
        Some(_) => column.fill_nulls(&Value::DateTime { count: 0, unit: TimeUnit::DAY })?,
        None => column.clone(),
    };
    let counts = counted.array()?.view_as(&DType::I64)?;
    let days = counts.cast(&DType::I32, Order::RowMajor, Casting::Checked)?;
    let validity = column.validity().map(|bits| bits.buffer().clone());
    let buffers = vec![days.buffer()?.0];
    let parts = ColumnParts { len: column.len(), validity, buffers, ..ColumnParts::default() };
    Column::new(ColumnType::Date32, parts, Checks::Shape)
}
