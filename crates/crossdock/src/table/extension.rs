//! Columns of extension types that are arrays.

use crate::array::DArray;
use crate::element::Value;
use crate::element::dialect::arrow::{FIXED_SHAPE_TENSOR, TensorShape};
use crate::error::{Error, Kind, Result};
use crate::layout::MAX_RANK;
use crate::table::column::Column;
use crate::table::field::Field;
use crate::table::value::ColumnValue;

/// Arrow's canonical extension type of tensors each of which has its own shape.
const VARIABLE_SHAPE_TENSOR: &str = "arrow.variable_shape_tensor";

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

    /// One element of a column of this field as an array, in place, if it is a tensor of any shape
    /// (`arrow.variable_shape_tensor`): a struct of a list and of the lengths of the axes. `None`
    /// for nulls. O(rank).
    ///
    /// # Errors
    ///
    /// `is_malformed` for parts and parameters that are no tensor; `is_shape` for lengths that do
    /// not fit the list; `is_unsupported` for more axes than arrays have; `is_value` if items are
    /// null; as [`Column::value`].
    #[doc(hidden)]
    pub fn tensor_at(&self, column: &Column, index: usize) -> Result<Option<DArray>> {
        let malformed = |text: String| Error::new(Kind::Malformed, text);
        let parts = match column.value(index)? {
            ColumnValue::Null => return Ok(None),
            ColumnValue::Struct(parts) => parts,
            _ => vec![],
        };
        let [ColumnValue::List(items), ColumnValue::List(lengths)] = &parts[..] else {
            let ty = column.column_type();
            return Err(malformed(format!(
                "tensor {index} of type {ty} is no list with a list of its lengths"
            )));
        };
        if lengths.len() > MAX_RANK {
            let text = format!("tensor {index} has {} axes; at most {MAX_RANK} are supported", lengths.len());
            return Err(Error::new(Kind::Unsupported, text));
        }
        let length = |value: Result<ColumnValue>| match value? {
            ColumnValue::Element(Value::Int(length)) if length >= 0 => Ok(length as usize),
            other => Err(malformed(format!("tensor {index} has an axis of length {other:?}"))),
        };
        let shape = lengths.values().map(length).collect::<Result<Vec<_>>>()?;
        let parameters = self.extension().map_or(&b""[..], |(_, parameters)| parameters);
        let tensor = TensorShape::of_any(shape, &String::from_utf8_lossy(parameters))?;
        if tensor.checked_len() != Some(items.len()) {
            let (shape, len) = (tensor.shape(), items.len());
            let text = format!("tensor {index} of shape {shape:?} is stored in a list of {len} elements");
            return Err(Error::new(Kind::Shape, text));
        }
        let array = items.complete_array()?.reshape(tensor.shape())?;
        tensor.permutation().map_or(Ok(array.clone()), |axes| array.permute(axes)).map(Some)
    }

    /// Whether [`Field::tensor_at`] gives the elements.
    #[doc(hidden)]
    pub fn is_variable_shape_tensor(&self) -> bool {
        self.extension().is_some_and(|(name, _)| name == VARIABLE_SHAPE_TENSOR)
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
