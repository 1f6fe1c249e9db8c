//! The columns of a file as arrays under their names, for what knows arrays only.

use crate::array::DArray;
use crate::error::{Advice, Error, Kind, Result};
use crate::exchange::files::arrow_ipc::file::IpcFile;
use crate::exchange::files::contents::{Contents, Encoded, Entry};
use crate::exchange::files::format::Format;
use crate::table::{Column, ColumnType, Field};

/// The columns of fixed width as arrays: in place if there is one batch that is not compressed,
/// else joined; booleans of a bit each become bytes. Reads the metadata of each batch.
pub(in crate::exchange::files) fn contents(file: &IpcFile) -> Result<Contents> {
    let rows = file.rows()?;
    let whole = match file.len() {
        1 if !file.is_compressed(0)? => Some(file.batch(0)?),
        _ => None,
    };
    let (mut entries, mut refused) = (Vec::new(), Vec::new());
    for (index, field) in file.schema().fields().iter().enumerate() {
        let name = field.name().to_owned();
        let entry = match &whole {
            Some(batch) if *field.column_type() != ColumnType::Boolean => batch
                .column(index)
                .and_then(|column| array(field, &column))
                .map(|array| Entry::mapped(name, array)),
            _ => empty(field).map(|empty| {
                let (dtype, mut shape) = (empty.dtype().clone(), empty.shape().to_vec());
                shape[0] = rows;
                Entry::encoded(name, dtype, shape, Joined { file: file.clone(), index })
            }),
        };
        match entry {
            Ok(entry) => entries.push(entry),
            Err(error) => refused.push((field.name().to_owned(), error)),
        }
    }
    let metadata = file.schema().metadata().iter();
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let metadata = metadata.map(|(key, value)| (text(key), text(value))).collect();
    Ok(Contents::new(Format::Arrow, entries, metadata).with_refused(refused))
}

/// An array of no elements, as those of a column.
pub(super) fn empty(field: &Field) -> Result<DArray> {
    array(field, &Column::empty(field.column_type())?)
}

/// The elements of a column, if an array says all that they are.
pub(super) fn array(field: &Field, column: &Column) -> Result<DArray> {
    let ty = field.column_type();
    if matches!(ty, ColumnType::Dictionary { .. } | ColumnType::Decimal { .. } | ColumnType::Interval(_)) {
        let text = format!("it is a column of {ty}, whose meaning no array has");
        return Err(Error::new(Kind::Unsupported, text).advising(Advice::OpenAsTable));
    }
    let nulls = column.null_count()?;
    if nulls != 0 {
        return Err(has_nulls(nulls, column.len()));
    }
    if *ty == ColumnType::Boolean {
        return column.truth_values();
    }
    field.array_of(column).map_err(|error| {
        if error.is_unsupported() {
            let text = format!("it is a column of {ty}, which is no array");
            return Error::caused(Kind::Unsupported, text, error).advising(Advice::OpenAsTable);
        }
        error
    })
}

/// The error of a column with nulls.
#[cold]
pub(super) fn has_nulls(nulls: usize, len: usize) -> Error {
    let text = format!("{nulls} of {len} elements are null, which no array has");
    Error::new(Kind::Value, text).advising(Advice::OpenAsTable)
}

/// A column in several batches, in a compressed one, or of bits.
struct Joined {
    file: IpcFile,
    index: usize,
}

impl Encoded for Joined {
    fn what(&self) -> &'static str {
        match self.file.schema().fields()[self.index].column_type() {
            ColumnType::Boolean => "a column of bits",
            _ if self.file.len() == 1 => "a compressed column",
            _ => "a column in several batches",
        }
    }

    fn decode(&self) -> Result<DArray> {
        let columns = (0..self.file.len()).map(|batch| self.file.column(batch, self.index));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let field = &self.file.schema().fields()[self.index];
        for column in &columns {
            array(field, column)?;
        }
        let joined = match &columns[..] {
            [] => Column::empty(field.column_type())?,
            [one] => one.clone(),
            _ => Column::concat(&columns)?,
        };
        array(field, &joined)
    }
}
