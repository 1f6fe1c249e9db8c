//! Columns of extension types that are arrays.

use crate::array::DArray;
use crate::element::dialect::arrow::{FIXED_SHAPE_TENSOR, TensorShape};
use crate::error::{Error, Kind, Result};
use crate::layout::MAX_RANK;
use crate::table::column::Column;
use crate::table::column_type::ColumnType;
use crate::table::field::Field;
use crate::table::value::ColumnValue;

/// Arrow's canonical extension type of tensors each of which has its own shape.
const VARIABLE_SHAPE_TENSOR: &str = "arrow.variable_shape_tensor";

impl Field {
    /// A column of this field as an array, in place, by its extension type: tensors of a fixed
    /// shape (`arrow.fixed_shape_tensor`) have their axes, in the order that the type describes.
    /// Any other column is [`Column::array`]. O(rank), and O(bytes) of the type's parameters, which
    /// each call parses.
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
    /// (`arrow.variable_shape_tensor`): a struct of the lists `data`, of the items, and `shape`, of
    /// the lengths of the axes. Booleans become bytes, by a copy, which counts. `None` for nulls.
    /// O(rank), and O(bytes) of the type's parameters, which each call parses, apart from that
    /// copy.
    ///
    /// # Errors
    ///
    /// `is_malformed` for parts and parameters that are no tensor; `is_shape` for lengths that do
    /// not fit the list; `is_unsupported` for more axes than arrays have, and for items that no
    /// array has; `is_value` if items are null; as [`Column::value`].
    #[doc(hidden)]
    pub fn tensor_at(&self, column: &Column, index: usize) -> Result<Option<DArray>> {
        let malformed = |text: String| Error::new(Kind::Malformed, text);
        let parts = match column.value(index)? {
            ColumnValue::Null => return Ok(None),
            ColumnValue::Struct(parts) => parts,
            _ => vec![],
        };
        let part = |name| self.part(name).and_then(|(at, _)| parts.get(at));
        let (Some(ColumnValue::List(items)), Some(ColumnValue::List(lengths))) =
            (part("data"), part("shape"))
        else {
            let ty = column.column_type();
            return Err(malformed(format!(
                "tensor {index} of type {ty} is no struct of the lists \"data\" and \"shape\""
            )));
        };
        if lengths.len() > MAX_RANK {
            let text = format!("tensor {index} has {} axes; at most {MAX_RANK} are supported", lengths.len());
            return Err(Error::new(Kind::Unsupported, text));
        }
        let length = |value: Result<ColumnValue>| {
            let found = match value? {
                ColumnValue::Element(value) => match value.as_i64().map(usize::try_from) {
                    Some(Ok(length)) => return Ok(length),
                    _ => value.to_string(),
                },
                ColumnValue::Null => "null".to_owned(),
                _ => format!("type {}", lengths.column_type()),
            };
            Err(malformed(format!("tensor {index} has an axis of length {found}")))
        };
        let shape = lengths.values().map(length).collect::<Result<Vec<_>>>()?;
        let parameters = self.extension().map_or(&b""[..], |(_, parameters)| parameters);
        let tensor = TensorShape::of_any(shape, &String::from_utf8_lossy(parameters))?;
        if tensor.checked_len() != Some(items.len()) {
            let (shape, len) = (tensor.shape(), items.len());
            let text = format!("tensor {index} of shape {shape:?} is stored in a list of {len} elements");
            return Err(Error::new(Kind::Shape, text));
        }
        let array = items.value_array()?.reshape(tensor.shape())?;
        tensor.permutation().map_or(Ok(array.clone()), |axes| array.permute(axes)).map(Some)
    }

    /// Whether [`Field::tensor_at`] gives the elements: the field is of that extension type, with
    /// the parts that the type requires, and arrays have items of this type.
    #[doc(hidden)]
    pub fn is_variable_shape_tensor(&self) -> bool {
        let has_array = |ty: &ColumnType| match ty {
            ColumnType::Boolean => true,
            ColumnType::Dictionary { .. } | ColumnType::Decimal { .. } => false,
            _ => ty.dtype().is_some(),
        };
        let is_integer = |ty: &ColumnType| {
            matches!(ty, ColumnType::Fixed(dtype)
                if dtype.as_scalar().is_some_and(|scalar| scalar.kind().is_integer()))
        };
        self.extension().is_some_and(|(name, _)| name == VARIABLE_SHAPE_TENSOR)
            && self.part("data").and_then(|(_, part)| item_of(part)).is_some_and(has_array)
            && self.part("shape").and_then(|(_, part)| item_of(part)).is_some_and(is_integer)
    }

    /// The only part of a struct with this name, and its number.
    fn part(&self, name: &str) -> Option<(usize, &Self)> {
        let ColumnType::Struct(parts) = self.column_type() else { return None };
        let mut named = parts.iter().enumerate().filter(|(_, part)| part.name() == name);
        named.next().filter(|_| named.next().is_none())
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

/// The type of the items of a list of any kind.
fn item_of(list: &Field) -> Option<&ColumnType> {
    match list.column_type() {
        ColumnType::List { item, .. }
        | ColumnType::ListView { item, .. }
        | ColumnType::FixedList { item, .. } => Some(item.column_type()),
        _ => None,
    }
}
