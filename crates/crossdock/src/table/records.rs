//! Arrays of records as batches, and back.

use crate::array::DArray;
use crate::error::{Error, Kind, Result};
use crate::table::column::Column;
use crate::table::column_type::ColumnType;
use crate::table::field::Field;
use crate::table::record_batch::RecordBatch;

impl RecordBatch {
    /// An array of records as a batch with a column for each field. Copies, and counts, the fields
    /// in one pass ([`DArray::to_columns`]).
    ///
    /// ```
    /// use crossdock::element::DType;
    /// use crossdock::layout::Order;
    /// use crossdock::{DArray, table::RecordBatch};
    ///
    /// let trade = DType::packed_record([("price", DType::F64), ("kind", DType::U8)])?;
    /// let trades = DArray::zeros(trade, &[100], Order::RowMajor)?;
    /// let batch = RecordBatch::from_records(&trades)?;
    /// assert_eq!(batch.schema().to_string(), "price: float64 not null\nkind: uint8 not null");
    /// assert_eq!(batch.to_records()?.dtype(), trades.dtype());
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_dtype` if the elements are no records; `is_shape` for another rank than 1, also of a
    /// field that is an array; as [`DArray::to_columns`].
    pub fn from_records(records: &DArray) -> Result<Self> {
        let columns = records.to_columns()?.into_iter();
        let columns = columns.map(|(name, array)| {
            let column = Column::from_array(array);
            Ok((column.map_err(|error| error.within(format_args!("column {name:?}")))?, name))
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let fields = columns.iter().map(|(column, name)| {
            let field = crate::table::Field::new(name, column.column_type().clone())?;
            Ok(field.with_nullable(column.validity().is_some()))
        });
        let schema = crate::table::Schema::new(fields.collect::<Result<Vec<_>>>()?);
        Self::new(schema, columns.into_iter().map(|(column, _)| column), records.len())
    }

    /// The rows as an array of packed records, one for each row, in new memory. Lists of a fixed
    /// size and tensors become sub-arrays, and structs records. Copies, and counts, all columns in
    /// one pass ([`DArray::from_columns_of_shape`]), and those of structs once for each level.
    ///
    /// # Errors
    ///
    /// `is_value` if elements are null, with their number: [`Column::fill_nulls`] first;
    /// `is_unsupported` for columns without a fixed width, decimals, whose scale a record would
    /// lose, and dictionaries; as [`DArray::from_columns`]: names that are empty or repeated, no
    /// columns, structs without fields.
    pub fn to_records(&self) -> Result<DArray> {
        let columns = self.schema().fields().iter().zip(self.columns());
        let columns = columns.map(|(field, column)| Ok((field, column?))).collect::<Result<Vec<_>>>()?;
        joined(self.len(), &columns)
    }
}

/// Columns of `rows` elements each as the fields of records.
fn joined(rows: usize, columns: &[(&Field, Column)]) -> Result<DArray> {
    let array = |(field, column): &(&Field, Column)| elements(field, column);
    let arrays = columns.iter().map(array).collect::<Result<Vec<_>>>()?;
    let named: Vec<_> = columns.iter().map(|(field, _)| field.name()).zip(&arrays).collect();
    match named.is_empty() {
        true => DArray::from_columns(&named),
        false => DArray::from_columns_of_shape(&[rows], &named),
    }
}

/// The elements of a column, of which none may be null.
fn elements(field: &Field, column: &Column) -> Result<DArray> {
    let (nulls, len, name) = (column.null_count()?, column.len(), field.name());
    if nulls > 0 {
        let text = format!("{nulls} of {len} elements of column {name:?} are null");
        return Err(Error::new(Kind::Value, text));
    }
    let array = match column.column_type() {
        ColumnType::Struct(fields) => {
            let rows = column.offset()..column.offset() + len;
            let parts = fields.iter().zip(column.children());
            let parts = parts.map(|(field, part)| Ok((field, part.slice(rows.clone())?)));
            parts.collect::<Result<Vec<_>>>().and_then(|parts| joined(len, &parts))
        }
        _ => column.value_array().and_then(|array| field.shaped(array)),
    };
    array.map_err(|error| error.within(format_args!("column {name:?}")))
}
