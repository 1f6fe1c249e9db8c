//! Tables on their way into `.npy` files: a batch at a time.

use std::fmt;
use std::io::Write;
use std::sync::Arc;

use crate::array::DArray;
use crate::element::{DType, TimeUnit};
use crate::error::{Error, Kind, Result};
use crate::exchange::files::arrow_ipc::entries;
use crate::exchange::files::arrow_ipc::file::IpcFile;
use crate::exchange::files::elements::{self, release_pages};
use crate::exchange::files::new_file::{put, write_error};
use crate::exchange::files::npy::NpyHeader;
#[cfg(feature = "npz")]
use crate::exchange::files::npy::NpyMember;
use crate::exchange::files::outgoing::OutgoingArray;
use crate::kernel::Casting;
use crate::layout::Order;
use crate::table::{Column, ColumnType, Field, RecordBatch, Schema};

/// The memory for converted elements, unless it is set.
const MEMORY: usize = 64 << 20;

/// A column of an Arrow IPC file, or its rows as records, to be written as an `.npy` file: a batch
/// at a time, so that a file of any size takes the memory of a batch.
#[derive(Clone)]
pub struct OutgoingRows {
    file: IpcFile,
    part: RowsPart,
    dtype: DType,
    /// The shape of the whole array.
    shape: Vec<usize>,
    memory: usize,
    progress: Arc<dyn Fn(usize) + Send + Sync>,
}

/// The rows of an Arrow IPC file, and the nulls of each column: counted once for all columns.
#[derive(Clone, Debug)]
pub struct RowCounts {
    rows: usize,
    nulls: Vec<usize>,
}

impl RowCounts {
    /// Reads the metadata of each batch. O(batches × columns).
    ///
    /// # Errors
    ///
    /// As [`IpcFile::batch`].
    pub fn of(file: &IpcFile) -> Result<Self> {
        let mut nulls = vec![0usize; file.schema().fields().len()];
        let mut rows = 0usize;
        for batch in 0..file.len() {
            let (len, counts) = file.counts(batch)?;
            let sum = rows.checked_add(len);
            let text = || format!("a batch has {len} rows behind {rows} others");
            rows = sum.ok_or_else(|| Error::new(Kind::Malformed, text()))?;
            for (sum, count) in nulls.iter_mut().zip(counts) {
                *sum = sum.saturating_add(count);
            }
        }
        Ok(Self { rows, nulls })
    }

    /// The nulls of each column.
    pub fn nulls(&self) -> &[usize] {
        &self.nulls
    }

    /// The rows of all batches.
    pub fn rows(&self) -> usize {
        self.rows
    }
}

/// What becomes the array.
#[derive(Clone)]
enum RowsPart {
    Column(usize),
    /// Rows of the columns with these numbers.
    Records(Vec<usize>),
}

impl OutgoingRows {
    /// A column. `counts` are those of `file`. O(1).
    ///
    /// # Errors
    ///
    /// `is_unsupported` for a type that no array has; `is_value` if elements are null; `is_bounds`.
    pub fn column(file: &IpcFile, index: usize, counts: &RowCounts) -> Result<Self> {
        let field = file.schema().fields().get(index);
        let field = field.ok_or_else(|| Error::new(Kind::Bounds, format!("there is no column {index}")))?;
        let named = |error: Error| error.within(format_args!("column {:?}", field.name()));
        let empty = entries::empty(field).map_err(named)?;
        let (rows, nulls) = (counts.rows, counts.nulls.get(index).copied().unwrap_or(0));
        if nulls > 0 {
            return Err(named(entries::has_nulls(nulls, rows)));
        }
        let empty = with_dates(field.column_type(), empty)?;
        let shape = [&[rows], &empty.shape()[1..]].concat();
        Ok(Self::new(file, RowsPart::Column(index), empty.dtype().clone(), shape))
    }

    /// The rows as packed records of the columns with these numbers. `counts` are those of `file`.
    /// O(columns).
    ///
    /// # Errors
    ///
    /// As [`OutgoingRows::column`] and [`RecordBatch::to_records`].
    pub fn records(file: &IpcFile, columns: &[usize], counts: &RowCounts) -> Result<Self> {
        columns.iter().try_for_each(|&index| Self::column(file, index, counts).map(drop))?;
        let empty = RecordBatch::empty(file.schema().clone())?;
        let dtype = records(&empty.select(columns)?)?.dtype().clone();
        Ok(Self::new(file, RowsPart::Records(columns.to_vec()), dtype, vec![counts.rows]))
    }

    fn new(file: &IpcFile, part: RowsPart, dtype: DType, shape: Vec<usize>) -> Self {
        let progress = Arc::new(|_| {});
        Self { file: file.clone(), part, dtype, shape, memory: MEMORY, progress }
    }

    /// Bounds the memory for converted elements. `progress` is called with the number of bytes
    /// whenever elements have been written.
    pub fn streamed(mut self, memory: usize, progress: impl Fn(usize) + Send + Sync + 'static) -> Self {
        (self.memory, self.progress) = (memory, Arc::new(progress));
        self
    }

    /// The bytes of all elements.
    pub fn nbytes(&self) -> usize {
        self.shape.iter().fold(self.dtype.itemsize(), |nbytes, &len| nbytes.saturating_mul(len))
    }

    /// Writes the `.npy` file. Copies, and counts, the bytes of all elements.
    ///
    /// # Errors
    ///
    /// `is_unsupported` for a dtype that NumPy cannot express; `is_io` if the writer fails; as
    /// [`IpcFile::batch`]; `is_fault` if a guarded file shrank; `is_conflict` if its number of rows
    /// changed.
    pub fn write(&self, mut writer: impl Write) -> Result<()> {
        let header = NpyHeader::new(self.dtype.clone(), &self.shape, Order::RowMajor)?.to_bytes()?;
        put(&mut writer, &header)?;
        let mut rows = 0;
        for batch in 0..self.file.len() {
            match &self.part {
                RowsPart::Column(index) => {
                    let field = &self.file.schema().fields()[*index];
                    let array = entries::array(field, &self.file.column(batch, *index)?)?;
                    let array = with_dates(field.column_type(), array)?;
                    rows += array.shape()[0];
                    self.elements(&mut writer, array)?;
                }
                RowsPart::Records(columns) => {
                    let batch = self.file.batch(batch)?.select(columns)?;
                    rows += batch.len();
                    self.records_of(&mut writer, &batch)?;
                }
            }
        }
        if rows != self.shape[0] {
            let text = format!("the file changed: it had {} rows and now has {rows}", self.shape[0]);
            return Err(Error::new(Kind::Conflict, text));
        }
        writer.flush().map_err(write_error)
    }

    /// Columns under their names, as the members of an archive: see [`OutgoingRows::write`].
    ///
    /// # Errors
    ///
    /// As [`OutgoingRows::write`] and [`npz::write`](crate::exchange::files::npz::write).
    #[cfg(feature = "npz")]
    pub fn write_all<N: AsRef<str>>(
        writer: impl Write,
        columns: &[(N, Self)],
        is_deflated: bool,
    ) -> Result<()> {
        crate::exchange::files::npz::encode(writer, columns, is_deflated)
    }

    fn records_of(&self, writer: &mut impl Write, batch: &RecordBatch) -> Result<()> {
        let step = (self.memory / self.dtype.itemsize().max(1)).max(1);
        for start in (0..batch.len()).step_by(step) {
            let rows = batch.slice(start..batch.len().min(start + step))?;
            self.elements(writer, records(&rows)?)?;
            for column in rows.columns() {
                column?.array().iter().for_each(release_pages);
            }
            self.file.buffer().fault().map_or(Ok(()), Err)?;
        }
        Ok(())
    }

    fn elements(&self, writer: &mut impl Write, array: DArray) -> Result<()> {
        let progress = self.progress.clone();
        let outgoing = OutgoingArray::new(array).streamed(self.memory, move |nbytes| progress(nbytes));
        elements::write(writer, &outgoing, Order::RowMajor)?;
        self.file.buffer().fault().map_or(Ok(()), Err)
    }
}

/// Days of 32 bits as NumPy's dates, by a copy, which counts; other elements as they are.
fn with_dates(ty: &ColumnType, array: DArray) -> Result<DArray> {
    match ty {
        ColumnType::Date32 => array
            .cast(&DType::I64, Order::RowMajor, Casting::Checked)?
            .view_as(&DType::datetime(TimeUnit::DAY)),
        _ => Ok(array),
    }
}

/// The rows as records, with NumPy's dates.
fn records(rows: &RecordBatch) -> Result<DArray> {
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for (field, column) in rows.schema().fields().iter().zip(rows.columns()) {
        let (field, column) = match (field.column_type(), column?) {
            (ty @ ColumnType::Date32, column) => {
                let dates = Column::from_array(with_dates(ty, entries::array(field, &column)?)?)?;
                (Field::new(field.name(), dates.column_type().clone())?, dates)
            }
            (_, column) => (field.clone(), column),
        };
        fields.push(field);
        columns.push(column);
    }
    RecordBatch::new(Schema::new(fields), columns, rows.len())?.to_records()
}

#[cfg(feature = "npz")]
impl NpyMember for OutgoingRows {
    fn encode(&self, writer: &mut dyn Write) -> Result<()> {
        self.write(writer)
    }
}

impl fmt::Debug for OutgoingRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OutgoingRows({} {:?} of {:?})", self.dtype, self.shape, self.file)
    }
}
