//! Tables of files, those that a process publishes, and those that it reads.

use std::io::Write;

use crate::buffer::Buffer;
use crate::error::{Error, Kind, Result, short};
pub(super) use crate::exchange::files::arrow_ipc::IpcFile as TableFile;
use crate::exchange::files::arrow_ipc::{IpcFile, IpcOptions};
use crate::exchange::files::set_tables::HeldTable;
use crate::exchange::files::{Format, OpenOptions, first_bytes, magic};
use crate::exchange::protocol::hold::{DraftSet, Set, TableExtent};
use crate::memory::copied_bytes_here;
use crate::table::{Checks, RecordBatch, RecordBatchReader, Schema};

/// The table in the bytes of a file. Each batch that is not compressed was read, and met these
/// checks. `None` for another format.
pub(in crate::exchange::files) fn opened(
    options: &OpenOptions,
    bytes: &Buffer,
    checks: Checks,
) -> Result<Option<HeldTable>> {
    if magic::format(&first_bytes(bytes)?) != Some(Format::Arrow) {
        return Ok(None);
    }
    let file = options.read_table(bytes.try_clone()?)?;
    let mut encoded = None;
    for index in 0..file.len() {
        if file.is_compressed(index)? {
            encoded = Some("compressed");
            continue;
        }
        let before = copied_bytes_here();
        let batch = file.batch(index)?;
        batch.check(checks).map_err(|error| error.within(format_args!("batch {index}")))?;
        if copied_bytes_here() != before {
            encoded = encoded.or(Some("a table with unaligned buffers or with dictionaries in parts"));
        }
    }
    let (rows, columns) = (file.rows()?, file.schema().fields().len());
    let extent = TableExtent { nbytes: bytes.nbytes(), rows, columns };
    Ok(Some(HeldTable { file, extent, encoded_because: encoded }))
}

/// Writes a table without compression. Returns its rows and columns.
pub(in crate::exchange::files) fn write(writer: &mut dyn Write, table: &HeldTable) -> Result<(usize, usize)> {
    // A stream may replace its dictionaries, which a file cannot.
    write_checked(writer, &mut table.file.reader(), table.file.is_stream())
}

/// Checks and writes all batches. Returns the rows and columns.
pub(in crate::exchange::files) fn write_checked(
    mut writer: &mut dyn Write,
    reader: &mut dyn RecordBatchReader,
    is_stream: bool,
) -> Result<(usize, usize)> {
    let mut counted = CheckedReader { reader, rows: 0 };
    match is_stream {
        true => IpcOptions::new().write_stream(&mut writer, &mut counted)?,
        false => IpcOptions::new().write_file(&mut writer, &mut counted)?,
    }
    Ok((counted.rows, counted.schema().fields().len()))
}

/// Counts the rows of another reader, and checks its batches: processes that read the set may rely
/// on the rules of their types.
struct CheckedReader<'a> {
    reader: &'a mut dyn RecordBatchReader,
    rows: usize,
}

impl RecordBatchReader for CheckedReader<'_> {
    fn schema(&self) -> &Schema {
        self.reader.schema()
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let Some(batch) = self.reader.next_batch()? else { return Ok(None) };
        batch.check(Checks::Full)?;
        self.rows = self.rows.saturating_add(batch.len());
        Ok(Some(batch))
    }
}

impl DraftSet {
    /// Writes a table into the set: the batches of a reader, as an Arrow IPC file. Copies, and
    /// counts, the bytes of the columns, once; processes that read the set copy none.
    ///
    /// ```
    /// use crossdock::Array;
    /// use crossdock::exchange::protocol::hold::SetBuilder;
    /// use crossdock::memory::copied_bytes_here;
    /// use crossdock::table::{Batches, Column, RecordBatch};
    ///
    /// let price = Column::from_array(Array::from_vec(vec![1.5f64, 2.5], [2])?)?;
    /// let batch = RecordBatch::from_columns([("price", price)])?;
    /// let mut draft = SetBuilder::new().allocate(&"m@1".parse()?)?;
    /// draft.write_table("trades", &mut Batches::from_iter([batch]))?;
    /// let set = draft.seal()?.open()?;
    /// let before = copied_bytes_here();
    /// let trades = set.table("trades")?;
    /// assert_eq!(trades.batch(0)?.column_named("price")?.array()?.to_string(), "[1.5 2.5]");
    /// assert_eq!(copied_bytes_here(), before);
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_conflict` if the set has the name; as [`IpcOptions::write_file`]; `is_malformed` and
    /// others for columns that break the rules of their types. The set is then as before.
    pub fn write_table(&mut self, name: &str, reader: &mut dyn RecordBatchReader) -> Result<()> {
        self.append_table(name, |writer| write_checked(writer, reader, false))
            .map_err(|error| error.within(format_args!("table {}", short(name))))
    }
}

impl Set {
    /// The table of this name, whose columns lie in the memory of the set. They are constant,
    /// unless the set is mapped. O(batches).
    ///
    /// A batch is checked in full ([`Checks::Full`]) when it is first read, so that other libraries
    /// may rely on its offsets, indices and text: O(n) in the columns that have such. The batches
    /// of a mapped set are not: other libraries get copies of them, which are checked.
    ///
    /// # Errors
    ///
    /// `is_bounds` if the set has no entry of this name; `is_unsupported` if it is an array;
    /// as [`IpcFile::from_buffer`], and `is_malformed` if it has other rows or columns than the
    /// manifest of the set says: nothing that another process wrote is trusted.
    pub fn table(&self, name: &str) -> Result<IpcFile> {
        let (extent, bytes) = self.table_bytes(name)?;
        let opened = IpcFile::of_another_process(bytes).and_then(|file| {
            let (rows, columns) = (file.rows()?, file.schema().fields().len());
            if (rows, columns) == (extent.rows, extent.columns) {
                return Ok(file);
            }
            let text = format!(
                "it has {rows} rows and {columns} columns, but the manifest says {} and {}",
                extent.rows, extent.columns
            );
            Err(Error::new(Kind::Malformed, text))
        });
        opened.map_err(|error| error.within(format_args!("table {} of {}", short(name), self.label())))
    }
}
