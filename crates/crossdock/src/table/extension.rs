//! Columns of extension types that are arrays.

use crate::array::DArray;
use crate::element::dialect::arrow::{FIXED_SHAPE_TENSOR, TensorShape};
use crate::error::{Error, Kind, Result};
use crate::table::column::Column;
use crate::table::field::Field;

impl Field {
    /// A column of this field as an array, in place, by its extension type: tensors of a fixed
    /// shape (`arrow.fixed_shape_tensor`) have their axes, in the order that the type describes.
    /// Any other column is [`Column::array`]. O(rank).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use crossdock::Array;
    /// use crossdock::table::{Checks, Column, ColumnParts, ColumnType, Field, Metadata};
    ///
    /// let items = Column::from_array(Array::from_vec((0..12u8).collect(), [12])?)?;
    /// let item = Arc::new(Field::new("item", items.column_type().clone())?);
    /// let parts = ColumnParts { len: 2, children: vec![items], ..ColumnParts::default() };
    /// let tensors = Column::new(ColumnType::FixedList { item, len: 6 }, parts, Checks::Shape)?;
    /// let metadata = Metadata::new([
    ///     ("ARROW:extension:name", "arrow.fixed_shape_tensor"),
    ///     ("ARROW:extension:metadata", r#"{"shape":[3,2],"permutation":[1,0]}"#),
    /// ]);
    /// let field = Field::new("tensors", tensors.column_type().clone())?.with_metadata(metadata);
    /// assert_eq!(field.array_of(&tensors)?.shape(), [2, 2, 3]);
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_dtype` if the column is of another type; `is_malformed` for parameters that do not
    /// describe the lists; as [`Column::array`].
    pub fn array_of(&self, column: &Column) -> Result<DArray> {
        if self.column_type() != column.column_type() {
            let (wanted, found) = (self.column_type(), column.column_type());
            let text =
                format!("column {:?} is of type {found}, but its field requires {wanted}", self.name());
            return Err(Error::new(Kind::DType, text));
        }
        self.shaped(column.array()?)
    }

    /// The array of a column of this field, with the axes of its extension type.
    pub(super) fn shaped(&self, array: DArray) -> Result<DArray> {
        let Some((FIXED_SHAPE_TENSOR, parameters)) = self.extension() else { return Ok(array) };
        let tensor = TensorShape::parse(&String::from_utf8_lossy(parameters))?;
        let (rows, inner) = array.shape().split_at(1);
        if inner.len() != 1 || tensor.checked_len() != Some(inner[0]) {
            let text =
                format!("tensors of shape {:?} are stored in lists of shape {inner:?}", tensor.shape());
            return Err(Error::new(Kind::Malformed, text));
        }
        let array = array.reshape(&[rows, tensor.shape()].concat())?;
        match tensor.permutation() {
            None => Ok(array),
            Some(axes) => {
                let axes: Vec<usize> = [0].into_iter().chain(axes.iter().map(|axis| 1 + axis)).collect();
                array.permute(&axes)
            }
        }
    }
}
