//! The description of an array in the memory of a descriptor, or in bytes that are sent.

pub(crate) mod frame;
mod text;

use std::ops::Range;

use crate::element::DType;
use crate::error::{Error, Kind, Result};
use crate::layout::Layout;

/// An array behind a descriptor, without the descriptor: plain data that can be sent as text.
///
/// # Invariants
///
/// 1. The layout has the itemsize of the dtype.
/// 2. `offset` plus either end of the layout's span is in the range of `u64`.
#[derive(Clone, Debug)]
pub struct Description {
    dtype: DType,
    layout: Layout,
    offset: u64,
    writable: bool,
}

impl Description {
    /// An array of this shape and these strides (in bytes), with element 0 at byte `offset` of the
    /// descriptor.
    ///
    /// # Errors
    ///
    /// `is_shape` if shape and strides differ in number; `is_overflow`; `is_bounds` if elements
    /// would begin before byte 0.
    pub fn new(
        dtype: DType,
        shape: &[usize],
        strides: &[isize],
        offset: u64,
        writable: bool,
    ) -> Result<Self> {
        let layout = Layout::new(shape, strides, dtype.itemsize())?;
        Self::from_layout(dtype, layout, offset, writable)
    }

    pub(crate) fn from_layout(dtype: DType, layout: Layout, offset: u64, writable: bool) -> Result<Self> {
        let span = layout.span();
        let low = offset.checked_add_signed(span.low() as i64);
        let high = offset.checked_add_signed(span.high() as i64);
        match (low, high) {
            (Some(_), Some(_)) => Ok(Self { dtype, layout, offset, writable }),
            _ => Err(Error::new(
                Kind::Bounds,
                format!(
                    "with element 0 at byte {offset}, the array covers bytes {}..{}, which no file can have",
                    i128::from(offset) + span.low() as i128,
                    i128::from(offset) + span.high() as i128
                ),
            )),
        }
    }

    /// The type of the elements.
    pub fn dtype(&self) -> &DType {
        &self.dtype
    }

    /// Shape, strides and item size.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The byte of the descriptor where element `[0, 0, …]` begins.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The bytes of the descriptor from the lowest to the highest of the elements, gaps included.
    /// If a stride is negative, the range begins before [`offset`](Self::offset).
    #[doc(hidden)]
    pub fn span(&self) -> Range<u64> {
        let span = self.layout.span();
        // Neither sum wraps (Description 2).
        let at = |end: isize| self.offset.wrapping_add_signed(end as i64);
        at(span.low())..at(span.high())
    }

    /// Whether the descriptor may be mapped for writing.
    pub fn is_writable(&self) -> bool {
        self.writable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_span_surrounds_every_element() {
        let described = Description::new(DType::I16, &[3, 4], &[-100, 2], 1000, false).unwrap();
        assert_eq!((described.span(), described.layout().nbytes()), (800..1008, 24));
        let empty = Description::new(DType::I16, &[0, 4], &[-100, 2], 7, false).unwrap();
        assert_eq!(empty.span(), 7..7);
        let scalar = Description::new(DType::F64, &[], &[], u64::MAX - 8, false).unwrap();
        assert_eq!(scalar.span(), u64::MAX - 8..u64::MAX);
    }

    #[test]
    fn numbers_that_leave_the_descriptor_are_refused() {
        let front = Description::new(DType::U8, &[2], &[-8], 7, false).unwrap_err();
        assert!(front.is_bounds() && front.to_string().contains("-1..8"), "{front}");
        assert!(Description::new(DType::F64, &[], &[], u64::MAX - 7, false).unwrap_err().is_bounds());
        assert!(Description::new(DType::F64, &[2], &[8, 8], 0, false).unwrap_err().is_shape());
        assert!(Description::new(DType::F64, &[usize::MAX], &[8], 0, false).unwrap_err().is_overflow());
    }
}
