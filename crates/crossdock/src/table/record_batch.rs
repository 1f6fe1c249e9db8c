//! Columns of equal length.

use std::borrow::Cow;
use std::fmt;
use std::ops::RangeBounds;
use std::sync::Arc;

use crate::buffer::resolve_in;
use crate::error::{Error, Kind, Result};
use crate::table::column::Column;
use crate::table::schema::Schema;

/// Columns of equal length, with a schema. Names need not be unique.
///
/// Cloning and slicing are O(1) and copy nothing.
///
/// ```
/// use crossdock::Array;
/// use crossdock::table::{Column, Field, RecordBatch, Schema};
///
/// let price = Column::from_array(Array::from_vec(vec![1.5f64, 2.5, 3.5], [3])?)?;
/// let count = Column::from_array(Array::from_vec(vec![7i32, 8, 9], [3])?)?;
/// let batch = RecordBatch::from_columns([("price", price), ("count", count)])?;
/// let rest = batch.slice(1..)?;
/// assert_eq!((rest.len(), rest.columns().count()), (2, 2));
/// assert_eq!(rest.select(&[1])?.schema().to_string(), "count: int32");
/// # Ok::<(), crossdock::Error>(())
/// ```
///
/// # Invariants
///
/// 1. There are as many columns as fields, of the same types, each with at least `offset + len`
///    elements.
#[derive(Clone)]
pub struct RecordBatch {
    schema: Schema,
    columns: Arc<[Column]>,
    offset: usize,
    len: usize,
}

impl RecordBatch {
    /// These columns, in place. `len` is the number of rows, which a batch without columns has too.
    /// O(columns).
    ///
    /// # Errors
    ///
    /// `is_shape` for another number of columns than fields, or of elements than `len`; `is_dtype`
    /// for a column of another type than its field.
    pub fn new(schema: Schema, columns: impl IntoIterator<Item = Column>, len: usize) -> Result<Self> {
        let columns: Arc<[Column]> = columns.into_iter().collect();
        let (found, wanted) = (columns.len(), schema.fields().len());
        if found != wanted {
            return Err(Error::new(
                Kind::Shape,
                format!("{found} columns do not fit a schema of {wanted} fields"),
            ));
        }
        for (field, column) in schema.fields().iter().zip(&*columns) {
            let name = field.name();
            if column.len() != len {
                let text =
                    format!("column {name:?} has {} elements, but the batch has {len} rows", column.len());
                return Err(Error::new(Kind::Shape, text));
            }
            if column.column_type() != field.column_type() {
                let (found, wanted) = (column.column_type(), field.column_type());
                let text = format!("column {name:?} is of type {found}, but its field requires {wanted}");
                return Err(Error::new(Kind::DType, text));
            }
        }
        Ok(Self { schema, columns, offset: 0, len })
    }

    /// A batch of no rows.
    #[doc(hidden)]
    pub fn empty(schema: Schema) -> Result<Self> {
        let columns = schema.fields().iter().map(|field| Column::empty(field.column_type()));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        Self::new(schema, columns, 0)
    }

    /// Named columns, in place, with a schema of nullable fields. O(columns).
    ///
    /// # Errors
    ///
    /// `is_shape` for columns of different lengths; as [`Field::new`](crate::table::Field::new).
    pub fn from_columns<N: AsRef<str>>(columns: impl IntoIterator<Item = (N, Column)>) -> Result<Self> {
        let (mut fields, mut all) = (Vec::new(), Vec::new());
        for (name, column) in columns {
            fields.push(crate::table::Field::new(name, column.column_type().clone())?);
            all.push(column);
        }
        let len = all.first().map_or(0, Column::len);
        Self::new(Schema::new(fields), all, len)
    }

    /// The fields and their metadata.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The column at an index. O(1).
    ///
    /// # Errors
    ///
    /// `is_bounds`; `is_exhausted` where no more handles can be counted.
    pub fn column(&self, index: usize) -> Result<Column> {
        let column = self.columns.get(index).ok_or_else(|| no_column(index, self.columns.len()))?;
        column.slice(self.offset..self.offset + self.len)
    }

    /// The first column with this name. O(columns).
    ///
    /// # Errors
    ///
    /// `is_bounds` if there is none, with the names; as [`RecordBatch::column`].
    pub fn column_named(&self, name: &str) -> Result<Column> {
        match self.schema.index_of(name) {
            Some(index) => self.column(index),
            None => {
                Err(Error::new(Kind::Bounds, format!("there is no column {name:?} among {}", self.names())))
            }
        }
    }

    /// Some of the names, for an error.
    fn names(&self) -> String {
        const MOST: usize = 10;
        let fields = self.schema.fields();
        let names: Vec<_> = fields.iter().take(MOST).map(|field| format!("{:?}", field.name())).collect();
        let more =
            if fields.len() > MOST { format!(" and {} more", fields.len() - MOST) } else { String::new() };
        format!("{}{more}", names.join(", "))
    }

    /// The names, and the columns before they are sliced to the batch's rows.
    pub(crate) fn named_columns(&self) -> impl Iterator<Item = (&str, &Column)> {
        self.schema.fields().iter().map(|field| field.name()).zip(&*self.columns)
    }

    /// The columns, in the order of the fields. O(1) each.
    pub fn columns(&self) -> impl ExactSizeIterator<Item = Result<Column>> {
        (0..self.columns.len()).map(|index| self.column(index))
    }

    /// As [`RecordBatch::columns`], without a new handle where a column has no other rows.
    pub(crate) fn columns_in_place(&self) -> impl Iterator<Item = Result<Cow<'_, Column>>> {
        self.columns.iter().map(|column| match column.len() == self.len {
            true => Ok(Cow::Borrowed(column)),
            false => column.slice(self.offset..self.offset + self.len).map(Cow::Owned),
        })
    }

    /// Some of the rows. O(1).
    ///
    /// # Errors
    ///
    /// `is_bounds`.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        let range = resolve_in(&range, self.len, ["rows", "a batch of", "rows"])?;
        Ok(Self {
            schema: self.schema.clone(),
            columns: self.columns.clone(),
            offset: self.offset + range.start,
            len: range.len(),
        })
    }

    /// The columns at these indices, in this order; repetitions are permitted. O(indices).
    ///
    /// # Errors
    ///
    /// `is_bounds`.
    pub fn select(&self, indices: &[usize]) -> Result<Self> {
        let count = self.columns.len();
        if let Some(&index) = indices.iter().find(|&&index| index >= count) {
            return Err(no_column(index, count));
        }
        let fields = indices.iter().map(|&index| self.schema.fields()[index].clone());
        let schema = Schema::new(fields).with_metadata(self.schema.metadata().clone());
        let columns = indices.iter().map(|&index| self.columns[index].clone()).collect();
        Ok(Self { schema, columns, ..*self })
    }

    /// The same columns under these names. O(columns).
    ///
    /// # Errors
    ///
    /// `is_shape` for another number of names than columns.
    pub fn rename<N: AsRef<str>>(&self, names: impl IntoIterator<Item = N>) -> Result<Self> {
        let names: Vec<N> = names.into_iter().collect();
        let (found, wanted) = (names.len(), self.columns.len());
        if found != wanted {
            return Err(Error::new(Kind::Shape, format!("{found} names do not fit {wanted} columns")));
        }
        let fields = self.schema.fields().iter().zip(names);
        let fields = fields.map(|(field, name)| field.clone().with_name(name));
        let schema = Schema::new(fields).with_metadata(self.schema.metadata().clone());
        Ok(Self { schema, columns: self.columns.clone(), ..*self })
    }
}

#[cold]
fn no_column(index: usize, count: usize) -> Error {
    Error::new(Kind::Bounds, format!("column {index} is out of bounds for {count} columns"))
}

impl fmt::Debug for RecordBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecordBatch({} rows; {:?})", self.len, self.schema.fields())
    }
}
