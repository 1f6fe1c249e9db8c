//! Batches of one type as arrays of two axes.

use crate::array::DArray;
use crate::buffer::Buffer;
use crate::error::{Error, Kind, Result};
use crate::kernel::Casting;
use crate::layout::{Layout, Order};
use crate::table::record_batch::RecordBatch;

impl RecordBatch {
    /// The rows and columns as an array of two axes, if all columns have one dtype and no nulls: in
    /// place where they lie in one allocation at equal distances, as those of one array do.
    /// Otherwise copies, and counts, them into new memory, one column after the other.
    ///
    /// ```
    /// use crossdock::layout::Order;
    /// use crossdock::table::{Column, RecordBatch};
    /// use crossdock::{Array, DArray, s};
    ///
    /// let array = Array::from_vec(vec![1.5f64, 2.5, 3.5, 4.5], [2, 2])?.permute([1, 0])?;
    /// let column = |k: usize| Column::from_array(array.slice(s![.., k])?);
    /// let batch = RecordBatch::from_columns([("a", column(0)?), ("b", column(1)?)])?;
    /// let both = batch.to_array()?;
    /// assert_eq!((both.as_ptr(), both.to_string()), (array.as_ptr().cast(), array.to_string()));
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_dtype` for columns of different dtypes; `is_shape` for no columns, and columns with
    /// further axes; `is_value` if elements are null; `is_unsupported` for columns without a fixed
    /// width, decimals and dictionaries; `is_out_of_memory`; `is_conflict` while a Write lease is
    /// held.
    #[doc(hidden)]
    pub fn to_array(&self) -> Result<DArray> {
        let mut columns = Vec::with_capacity(self.schema().fields().len());
        for (field, column) in self.schema().fields().iter().zip(self.columns()) {
            let array = column?.value_array();
            columns.push(array.map_err(|error| error.within(format_args!("column {:?}", field.name())))?);
        }
        let Some(first) = columns.first() else {
            return Err(Error::new(
                Kind::Shape,
                "a batch without columns is no array, since it has no dtype",
            ));
        };
        for (field, array) in self.schema().fields().iter().zip(&columns) {
            if array.dtype() != first.dtype() {
                let (name, found, wanted) = (field.name(), array.dtype(), first.dtype());
                let text = format!("column {name:?} has dtype {found}, but the first column has {wanted}");
                return Err(Error::new(Kind::DType, text));
            }
            if array.shape().len() != 1 {
                let text = format!(
                    "column {:?} has shape {:?}, but the columns of an array have one axis",
                    field.name(),
                    array.shape()
                );
                return Err(Error::new(Kind::Shape, text));
            }
        }
        match in_place(&columns)? {
            Some(array) => Ok(array),
            None => copied(&columns),
        }
    }
}

/// The columns as one array, if they lie in one allocation at equal distances.
fn in_place(columns: &[DArray]) -> Result<Option<DArray>> {
    let (rows, itemsize) = (columns[0].len(), columns[0].dtype().itemsize());
    if rows == 0 {
        return Ok(None);
    }
    let mut windows = Vec::with_capacity(columns.len());
    for column in columns {
        let (buffer, offset) = column.buffer()?;
        windows.push((buffer.as_ptr().addr() + offset, buffer));
    }
    let (first, buffer) = &windows[0];
    let distance = |pair: &[(usize, Buffer)]| pair[1].0.wrapping_sub(pair[0].0).cast_signed();
    let step = windows.get(..2).map_or((rows * itemsize).cast_signed(), distance);
    let is_one = windows
        .windows(2)
        .all(|pair| std::ptr::eq(pair[0].1.header(), pair[1].1.header()) && distance(pair) == step);
    if !is_one {
        return Ok(None);
    }
    let is_readonly = windows.iter().any(|(_, buffer)| buffer.is_readonly());
    let whole = Buffer::whole(buffer.try_clone()?.into_parts().0);
    let whole = if is_readonly { whole.into_readonly() } else { whole };
    let layout = Layout::new(&[rows, columns.len()], &[itemsize.cast_signed(), step], itemsize)?;
    // Within the allocation: each column is.
    let offset = first - whole.as_ptr().addr();
    DArray::from_buffer(whole, columns[0].dtype().clone(), layout, offset).map(Some)
}

fn copied(columns: &[DArray]) -> Result<DArray> {
    let shape = [columns[0].len(), columns.len()];
    let array = DArray::zeros(columns[0].dtype().clone(), &shape, Order::ColumnMajor)?;
    for (k, column) in columns.iter().enumerate() {
        array.slice(crate::s![.., k])?.assign(column, Casting::Checked)?;
    }
    Ok(array)
}
