//! Columns of arrays, in place.

use crate::array::DArray;
use crate::element::{DType, TimeUnit};
use crate::error::{Error, Kind, Result};
use crate::layout::Order;
use crate::table::checks::Checks;
use crate::table::column::{Column, ColumnParts};
use crate::table::column_type::ColumnType;

impl Column {
    /// The elements of an array along its only axis, in place, without nulls. O(1). Dates and
    /// durations that Arrow has become timestamps and durations; any other dtype stays itself.
    ///
    /// # Errors
    ///
    /// `is_shape` for another rank than 1; `is_layout` if the elements are not contiguous.
    pub fn from_array(array: impl Into<DArray>) -> Result<Self> {
        let array = array.into();
        let &[len] = array.shape() else {
            let text = format!("a column has one axis, but the array has shape {:?}", array.shape());
            return Err(Error::new(Kind::Shape, text));
        };
        if !array.is_contiguous(Order::RowMajor) {
            let text = format!(
                "a column's elements are contiguous, but elements of {} bytes have strides {:?}",
                array.dtype().itemsize(),
                array.strides()
            );
            return Err(Error::new(Kind::Layout, text));
        }
        let ty = of_dtype(array.dtype());
        let (buffer, _) = array.buffer()?;
        Self::new(ty, ColumnParts { len, buffers: vec![buffer], ..ColumnParts::default() }, Checks::Shape)
    }
}

/// The type of elements of a dtype.
fn of_dtype(dtype: &DType) -> ColumnType {
    let units = [TimeUnit::SECOND, TimeUnit::MILLISECOND, TimeUnit::MICROSECOND, TimeUnit::NANOSECOND];
    let of = |make: fn(TimeUnit) -> DType| units.into_iter().find(|&unit| make(unit) == *dtype);
    match (of(DType::datetime), of(DType::timedelta)) {
        (Some(unit), _) => ColumnType::Timestamp { unit, zone: None },
        (_, Some(unit)) => ColumnType::Duration(unit),
        _ => ColumnType::Fixed(dtype.clone()),
    }
}
