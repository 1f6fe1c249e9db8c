//! Days: NumPy counts them in 64 bits, Arrow in 32.

use crate::buffer::Bitmap;
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
    let validity = column.validity().map(Bitmap::to_buffer).transpose()?;
    let buffers = vec![days.buffer()?.0];
    let parts = ColumnParts { len: column.len(), validity, buffers, ..ColumnParts::default() };
    Column::new(ColumnType::Date32, parts, Checks::Shape)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::Buffer;
    use crate::memory::copied_bytes_here;

    #[test]
    fn days_of_a_slice_keep_their_nulls() {
        let buffers = vec![Buffer::from_vec(vec![0i64, 1, 2, 3]).unwrap()];
        let validity = Some(Buffer::from_static(&[0b1010u8]).unwrap());
        let parts = ColumnParts { len: 4, validity, buffers, ..ColumnParts::default() };
        let ty = ColumnType::Fixed(DType::datetime(TimeUnit::DAY));
        let column = Column::new(ty, parts, Checks::Shape).unwrap();
        for (start, valid) in [(0, &[false, true, false, true][..]), (1, &[true, false, true]), (3, &[true])]
        {
            let before = copied_bytes_here();
            let days = with_days(column.slice(start..).unwrap()).unwrap();
            // Without nulls, in 32 bits, and the bits if they begin within a byte.
            let len = valid.len() as u64;
            let copied = len * 8 + len * 4 + u64::from(start > 0);
            assert_eq!(copied_bytes_here() - before, copied, "{start}");
            assert_eq!(*days.column_type(), ColumnType::Date32);
            assert_eq!(days.validity().unwrap().to_vec().unwrap(), valid);
            let bytes = days.buffers()[0].read().unwrap();
            let counts = bytes.as_chunks::<4>().0.iter().map(|&count| i32::from_ne_bytes(count));
            for (index, (count, _)) in counts.zip(valid).enumerate().filter(|(_, (_, is_valid))| **is_valid) {
                assert_eq!(count as usize, start + index);
            }
        }
    }
}
