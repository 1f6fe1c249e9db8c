//! Arrays of records as batches, and back.

use crate::array::DArray;
use crate::error::{Error, Kind, Result};
use crate::table::column::Column;
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

    /// The rows as an array of packed records, in new memory. Copies, and counts, all columns in
    /// one pass ([`DArray::from_columns`]).
    ///
    /// # Errors
    ///
    /// `is_value` if elements are null, with their number: [`Column::fill_nulls`] first;
    /// `is_unsupported` for columns without a fixed width, decimals, whose scale a record would
    /// lose, and dictionaries; as [`DArray::from_columns`]: names that are empty or repeated, no
    /// columns.
    pub fn to_records(&self) -> Result<DArray> {
        let mut arrays = Vec::new();
        for (field, column) in self.schema().fields().iter().zip(self.columns()) {
            let (column, name) = (column?, field.name());
            let nulls = column.null_count()?;
            if nulls > 0 {
                let text = format!("{nulls} of {} elements of column {name:?} are null", column.len());
                return Err(Error::new(Kind::Value, text));
            }
            let array =
                column.value_array().map_err(|error| error.within(format_args!("column {name:?}")))?;
            arrays.push((name, array));
        }
        let named: Vec<(&str, &DArray)> = arrays.iter().map(|(name, array)| (*name, array)).collect();
        DArray::from_columns(&named)
    }
}
