//! Columns of arrays, in place.

use crate::array::DArray;
use crate::buffer::{BitmapBuilder, Buffer};
use crate::element::{DType, NAT, ScalarKind, TimeUnit};
use crate::error::{Error, Kind, Result};
use crate::layout::Order;
use crate::memory::count_copied;
use crate::table::checks::Checks;
use crate::table::column::{Column, ColumnParts};
use crate::table::column_type::{ColumnType, OffsetWidth};
use crate::table::integers::Integers;

impl Column {
    /// The elements of an array along its only axis, in place. O(1). Dates and durations that Arrow
    /// has become timestamps and durations; any other dtype stays itself.
    ///
    /// Dates and durations are read once, unless they are on a device: those that are not a time
    /// ([`NAT`]) are null. If there are any, copies, and counts, a byte for eight elements.
    ///
    /// # Errors
    ///
    /// `is_shape` for another rank than 1; `is_layout` if the elements are not contiguous;
    /// `is_conflict` for dates and durations while a Write lease is held.
    pub fn from_array(array: impl Into<DArray>) -> Result<Self> {
        let array = array.into();
        let &[len] = array.shape() else {
            let text = format!("a column has one axis, but the array has shape {:?}", array.shape());
            return Err(Error::new(Kind::Shape, text));
        };
        if !array.is_contiguous(Order::RowMajor) {
            let text = format!(
                "a column's elements are contiguous, but elements of {} bytes have strides {:?}; copy them first",
                array.dtype().itemsize(),
                array.strides()
            );
            return Err(Error::new(Kind::Layout, text));
        }
        let ty = of_dtype(array.dtype());
        let (buffer, _) = array.buffer()?;
        let validity = validity_of(array.dtype(), &buffer, len)?;
        let parts = ColumnParts { len, validity, buffers: vec![buffer], ..ColumnParts::default() };
        Self::new(ty, parts, Checks::Shape)
    }
}

/// The bitmap of dates and durations; `None` if all of them are a time, and for other dtypes.
fn validity_of(dtype: &DType, buffer: &Buffer, len: usize) -> Result<Option<Buffer>> {
    let kind = dtype.as_scalar().map(|scalar| scalar.kind());
    if !matches!(kind, Some(ScalarKind::DateTime(_) | ScalarKind::TimeDelta(_))) || !buffer.is_host() {
        return Ok(None);
    }
    let no_time = if dtype.is_native() { NAT } else { NAT.swap_bytes() };
    let counts = Integers::at(buffer, OffsetWidth::I64)?;
    let mut first = None;
    counts.for_each(0..len, |index, count| {
        if count == no_time && first.is_none() {
            first = Some(index);
        }
        Ok(())
    })?;
    if first.is_none() {
        return Ok(None);
    }
    let mut bits = BitmapBuilder::with_capacity(len)?;
    counts.for_each(0..len, |_, count| bits.append(count != no_time))?;
    count_copied(len.div_ceil(8));
    Ok(Some(bits.finish().0))
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
