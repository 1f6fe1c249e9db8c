//! The batches of a new table: those of a file, or rows of arrays.

use std::ops::Range;
use std::sync::Arc;

use crossdock::Casting;
use crossdock::DArray;
use crossdock::bindings::files::OutgoingArray;
use crossdock::bindings::table::with_days;
use crossdock::element::{ByteOrder, DType, DTypeKind, TimeUnit};
use crossdock::exchange::files::arrow_ipc::IpcFile;
use crossdock::layout::Order;
use crossdock::table::{
    Checks, Column, ColumnParts, ColumnType, Field, RecordBatch, RecordBatchReader, Schema,
};

use crate::convert::plan::Plan;
use crate::failure::{Failure, Result};

/// Where batches come from.
pub(super) enum TableSource {
    /// The batches of a file, or one column of each.
    File { file: IpcFile, column: Option<usize> },
    /// Rows of arrays of one length.
    Arrays(TableOfArrays),
}

/// Arrays as a table, or the fields of one of records.
pub(super) struct TableOfArrays {
    schema: Schema,
    arrays: Vec<(String, OutgoingArray)>,
    rows: usize,
    /// The rows of a batch, at most.
    step: usize,
}

impl TableSource {
    pub(super) fn schema(&self) -> crossdock::Result<Schema> {
        match self {
            Self::File { file, column: None } => Ok(file.schema().clone()),
            Self::File { file, column: Some(index) } => {
                let field = file.schema().fields()[*index].clone();
                Ok(Schema::new([field]).with_metadata(file.schema().metadata().clone()))
            }
            Self::Arrays(table) => Ok(table.schema.clone()),
        }
    }

    pub(super) fn rows(&self) -> crossdock::Result<usize> {
        match self {
            Self::File { file, .. } => file.rows(),
            Self::Arrays(table) => Ok(table.rows),
        }
    }

    /// The batches. With `most`, those of more bytes are divided.
    pub(super) fn reader(&self, most: Option<usize>) -> crossdock::Result<Reader<'_>> {
        Ok(Reader { source: self, schema: self.schema()?, next: 0, rest: None, most })
    }

    /// The batch with a number, or the rows from a number on, and the number of the next one.
    fn batch(&self, number: usize) -> crossdock::Result<Option<(RecordBatch, usize)>> {
        match self {
            Self::File { file, .. } if number >= file.len() => Ok(None),
            Self::File { file, column: None } => Ok(Some((file.batch(number)?, number + 1))),
            Self::File { file, column: Some(index) } => {
                let column = file.column(number, *index)?;
                let len = column.len();
                Ok(Some((RecordBatch::new(self.schema()?, [column], len)?, number + 1)))
            }
            Self::Arrays(table) if number >= table.rows => Ok(None),
            Self::Arrays(table) => {
                let end = table.rows.min(number + table.step);
                Ok(Some((table.batch(number..end)?, end)))
            }
        }
    }
}

/// The batches of a source.
pub(super) struct Reader<'a> {
    source: &'a TableSource,
    schema: Schema,
    next: usize,
    /// The rest of a divided batch, and the number of rows of each part.
    rest: Option<(RecordBatch, usize)>,
    most: Option<usize>,
}

impl RecordBatchReader for Reader<'_> {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn next_batch(&mut self) -> crossdock::Result<Option<RecordBatch>> {
        let (batch, step) = match self.rest.take() {
            Some(divided) => divided,
            None => match self.source.batch(self.next)? {
                Some((batch, next)) => {
                    // Programs that read the new file may rely on the rules of its types.
                    batch.check(Checks::Full)?;
                    self.next = next;
                    let step = self.step(&batch)?;
                    (batch, step)
                }
                None => return Ok(None),
            },
        };
        if batch.len() <= step {
            return Ok(Some(batch));
        }
        self.rest = Some((batch.slice(step..)?, step));
        batch.slice(..step).map(Some)
    }
}

impl Reader<'_> {
    /// The number of rows of each part of a batch. It is computed once for a batch: the parts share
    /// its buffers, so their bytes do not shrink with the rows.
    fn step(&self, batch: &RecordBatch) -> crossdock::Result<usize> {
        let Some(most) = self.most else { return Ok(usize::MAX) };
        let columns = batch.columns().collect::<crossdock::Result<Vec<_>>>()?;
        let nbytes = crossdock::bindings::table::nbytes(&columns);
        let rows = most as u128 * batch.len() as u128 / nbytes.max(1) as u128;
        Ok(usize::try_from(rows).unwrap_or(usize::MAX).max(1))
    }
}

impl TableOfArrays {
    /// The arrays of a plan. One batch if they are columns as they are; else batches of at most
    /// `memory` bytes.
    pub(super) fn of_plan(plan: &Plan, memory: usize, is_divided: bool) -> Result<Self> {
        let fail = |text: String| Err(Failure::new(text));
        let native = |(name, outgoing): &(String, OutgoingArray)| {
            let dtype = outgoing.dtype().with_byte_order(ByteOrder::NATIVE);
            let outgoing = outgoing.clone();
            let is_native = *outgoing.dtype() == dtype;
            (name.clone(), if is_native { outgoing } else { outgoing.cast(dtype, Casting::Checked) })
        };
        let arrays: Vec<_> = plan.arrays().iter().map(native).collect();
        let mut rows = None;
        for (name, outgoing) in &arrays {
            let Some(&len) = outgoing.array().shape().first() else {
                return fail(format!("array {name:?} is one element, and no column of a table"));
            };
            match rows.replace((name, len)) {
                Some((other, before)) if before != len => {
                    return fail(format!(
                        "array {other:?} has {before} rows, but {name:?} has {len}; the columns of a table \
                        have the same length: convert them one by one, as FILE:NAME"
                    ));
                }
                _ => {}
            }
            if arrays.len() > 1 && matches!(outgoing.dtype().kind(), DTypeKind::Record(_)) {
                return fail(format!(
                    "array {name:?} has records, whose fields are columns of a table of their own; convert it \
                    alone, as FILE:{name}"
                ));
            }
        }
        let Some((_, rows)) = rows else {
            return fail("there are no arrays, which columns could be of".into());
        };
        let of_row = |(_, outgoing): &(String, OutgoingArray)| {
            let inner: usize = outgoing.array().shape()[1..].iter().product();
            inner.saturating_mul(outgoing.dtype().itemsize())
        };
        let nbytes: usize = arrays.iter().map(of_row).fold(0, usize::saturating_add);
        let step = match !is_divided && arrays.iter().all(|(_, outgoing)| is_in_place(outgoing)) {
            true => rows.max(1),
            false => (memory / nbytes.max(1)).max(1),
        };
        let mut table = Self { schema: Schema::default(), arrays, rows, step };
        let fields = table.columns(0..0)?.into_iter().map(|(name, column)| {
            let ty = column.column_type();
            Ok(Field::new(name, ty.clone())?.with_nullable(is_time(ty)))
        });
        table.schema = Schema::new(fields.collect::<crossdock::Result<Vec<_>>>()?);
        Ok(table)
    }

    fn batch(&self, rows: Range<usize>) -> crossdock::Result<RecordBatch> {
        let len = rows.len();
        let columns = self.columns(rows)?.into_iter().map(|(_, column)| column);
        RecordBatch::new(self.schema.clone(), columns, len)
    }

    fn columns(&self, rows: Range<usize>) -> crossdock::Result<Vec<(String, Column)>> {
        let mut columns = Vec::with_capacity(self.arrays.len());
        for (name, outgoing) in &self.arrays {
            let part = outgoing.array().slice_axis(0, rows.clone())?;
            let part = match is_as_it_is(outgoing) {
                true => part,
                false => outgoing.convert(&part, Order::RowMajor)?,
            };
            let named = match part.dtype().kind() {
                DTypeKind::Record(_) => part.to_columns()?,
                _ => vec![(name.clone(), part)],
            };
            if let Some(fault) = outgoing.array().fault() {
                return Err(fault);
            }
            for (name, array) in named {
                let column = column(&array).map_err(|error| error.within(format_args!("column {name:?}")))?;
                columns.push((name, column));
            }
        }
        Ok(columns)
    }
}

/// Whether elements of this type can be null: NaT becomes null.
fn is_time(ty: &ColumnType) -> bool {
    matches!(ty, ColumnType::Timestamp { .. } | ColumnType::Duration(_) | ColumnType::Date32)
}

/// Whether the elements need no conversion before they become columns.
fn is_as_it_is(outgoing: &OutgoingArray) -> bool {
    let array = outgoing.array();
    outgoing.dtype() == array.dtype()
        && match array.dtype().kind() {
            DTypeKind::Scalar(_) => array.is_contiguous(Order::RowMajor),
            DTypeKind::Record(_) => true,
            _ => false,
        }
}

/// Whether the elements are a column without a copy. Records are divided into fields, bytes of
/// booleans become bits, and days of 64 bits become those of 32.
fn is_in_place(outgoing: &OutgoingArray) -> bool {
    let dtype = outgoing.dtype();
    let is_copied =
        dtype.as_record().is_some() || [DType::BOOL, DType::datetime(TimeUnit::DAY)].contains(dtype);
    is_as_it_is(outgoing) && !is_copied
}

/// An array as a column, of which further axes are lists of a fixed size.
fn column(array: &DArray) -> crossdock::Result<Column> {
    let shape = array.shape();
    let mut column = with_days(Column::from_array(array.reshape(&[array.len()])?)?)?;
    for axis in (1..shape.len()).rev() {
        // By the type alone, as in the schema, which is made from no rows.
        let ty = column.column_type();
        let item = Field::new("item", ty.clone())?.with_nullable(is_time(ty));
        let ty = ColumnType::FixedList { item: Arc::new(item), len: shape[axis] };
        let len = shape[..axis].iter().product();
        let parts = ColumnParts { len, children: vec![column], ..ColumnParts::default() };
        column = Column::new(ty, parts, Checks::Shape)?;
    }
    Ok(column)
}
