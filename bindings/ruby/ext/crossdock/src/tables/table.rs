//! The class `Crossdock::Table`.

use std::path::PathBuf;
use std::sync::Arc;

use crossdock::bindings::table::{self, cut, grid};
use crossdock::exchange::files::Format;
use crossdock::exchange::files::arrow_ipc::{IpcCompression, IpcOptions};
use crossdock::layout::{AxisSlice, Order};
use crossdock::table::{Field, RecordBatch, Schema};
use crossdock::{Casting, DArray};
use magnus::{
    DataTypeFunctions, RArray, RModule, Ruby, TryConvert, TypedData, Value, function, method, prelude::*,
};

use crate::blocking::without_lock;
use crate::error::{Failure, Result};
use crate::handle::Wrapped;
use crate::keep;
use crate::pressure::{ReportedMemory, again};
use crate::tables::column::{ColumnContent, RubyColumn};
use crate::tables::content::{Content, Reported};
use crate::tables::stream::OwnBatches;
use crate::value::name;

/// `Crossdock::Table`.
#[derive(TypedData)]
#[magnus(class = "Crossdock::Table", free_immediately, size)]
pub(super) struct RubyTable(Content<TableContent>);

/// Named columns of equal length, in batches.
pub(super) struct TableContent {
    schema: Schema,
    /// Batches of this schema.
    batches: Vec<RecordBatch>,
    len: usize,
    kept: Option<Arc<ReportedMemory>>,
}

impl DataTypeFunctions for RubyTable {
    fn size(&self) -> usize {
        size_of::<Self>() + self.0.told()
    }
}

impl Reported for TableContent {
    const NAME: &str = "table";

    fn kept(&self) -> Option<Arc<ReportedMemory>> {
        self.kept.clone()
    }
}

impl RubyTable {
    fn sharing(
        schema: Schema,
        batches: Vec<RecordBatch>,
        len: usize,
        kept: Option<Arc<ReportedMemory>>,
    ) -> Self {
        Self(Content::new(TableContent { schema, batches, len, kept }))
    }

    pub(super) fn content(&self, ruby: &Ruby) -> Result<Arc<TableContent>> {
        self.0.open(ruby)
    }

    /// A table of new memory, or of another producer's.
    pub(super) fn new(schema: Schema, batches: Vec<RecordBatch>) -> Result<Self> {
        let mut columns = Vec::new();
        for batch in &batches {
            for column in batch.columns() {
                columns.push(column?);
            }
        }
        let kept = ReportedMemory::new(table::nbytes(&columns))?;
        let len = batches.iter().map(RecordBatch::len).sum();
        Ok(Self::sharing(schema, batches, len, kept))
    }
}

impl TableContent {
    pub(super) fn schema(&self) -> &Schema {
        &self.schema
    }

    pub(super) fn batches(&self) -> &[RecordBatch] {
        &self.batches
    }

    /// The column at an index, which is in bounds.
    fn column(&self, index: usize) -> Result<ColumnContent> {
        let field = &self.schema.fields()[index];
        let chunks = self.batches.iter().map(|batch| batch.column(index));
        Ok(ColumnContent::sharing(field.clone(), chunks.collect::<crossdock::Result<_>>()?, self.kept()))
    }
}

// ===== methods

fn column_names(ruby: &Ruby, this: &RubyTable) -> Result<RArray> {
    let (this, names) = (this.content(ruby)?, ruby.ary_new());
    for field in this.schema.fields() {
        names.push(field.name())?;
    }
    Ok(names)
}

fn size(ruby: &Ruby, this: &RubyTable) -> Result<usize> {
    Ok(this.content(ruby)?.len)
}

fn release(this: &RubyTable) {
    this.0.close();
    keep::give_back();
}

fn is_released(this: &RubyTable) -> bool {
    this.0.is_closed()
}

fn column(ruby: &Ruby, this: &RubyTable, index: usize) -> Result<RubyColumn> {
    let this = this.content(ruby)?;
    if index >= this.schema.fields().len() {
        let text = format!("column {index} is out of bounds for {} columns", this.schema.fields().len());
        return Err(Failure::index(ruby, text));
    }
    Ok(RubyColumn::with(this.column(index)?))
}

/// The columns at these indices, in place.
fn columns(ruby: &Ruby, this: &RubyTable, indices: Vec<usize>) -> Result<RubyTable> {
    let this = this.content(ruby)?;
    let fields = indices.iter().filter_map(|&index| this.schema.fields().get(index).cloned());
    let schema = Schema::new(fields).with_metadata(this.schema.metadata().clone());
    let batches = this.batches.iter().map(|batch| batch.select(&indices));
    let batches = batches.collect::<crossdock::Result<_>>()?;
    Ok(RubyTable::sharing(schema, batches, this.len, this.kept()))
}

/// The same columns under other names, in place.
fn renamed(ruby: &Ruby, this: &RubyTable, names: Vec<String>) -> Result<RubyTable> {
    let this = this.content(ruby)?;
    let fields = this.schema.fields().iter().zip(&names);
    let fields = fields.map(|(field, name)| field.clone().with_name(name));
    let schema = Schema::new(fields).with_metadata(this.schema.metadata().clone());
    let batches = this.batches.iter().map(|batch| batch.rename(&names));
    let batches = batches.collect::<crossdock::Result<_>>()?;
    Ok(RubyTable::sharing(schema, batches, this.len, this.kept()))
}

/// Rows from a start on, which Ruby code has checked.
fn rows(ruby: &Ruby, this: &RubyTable, start: usize, len: usize) -> Result<RubyTable> {
    let this = this.content(ruby)?;
    let end = start.saturating_add(len).min(this.len);
    let start = start.min(end);
    let batches = table::parts(start..end, this.batches.iter().map(RecordBatch::len)).into_iter();
    let batches = batches.map(|(index, range)| this.batches[index].slice(range));
    let batches = batches.collect::<crossdock::Result<_>>()?;
    Ok(RubyTable::sharing(this.schema.clone(), batches, end - start, this.kept()))
}

/// The same elements in new memory, in batches of the same lengths.
fn copy(ruby: &Ruby, this: &RubyTable) -> Result<RubyTable> {
    let this = this.content(ruby)?;
    let copied = |batch: &RecordBatch| -> crossdock::Result<RecordBatch> {
        let columns = batch.columns().map(|column| column?.compact());
        let columns = columns.collect::<crossdock::Result<Vec<_>>>()?;
        RecordBatch::new(this.schema.clone(), columns, batch.len())
    };
    let batches = again(ruby, || Ok(this.batches.iter().map(copied).collect::<crossdock::Result<_>>()?))?;
    RubyTable::new(this.schema.clone(), batches)
}

/// The elements of each column in these rows, which Ruby code has checked.
fn values(ruby: &Ruby, this: &RubyTable, start: usize, len: usize) -> Result<RArray> {
    let (this, all) = (this.content(ruby)?, ruby.ary_new());
    let end = start.saturating_add(len).min(this.len);
    for index in 0..this.schema.fields().len() {
        all.push(this.column(index)?.slice(start.min(end)..end)?.values(ruby)?)?;
    }
    Ok(all)
}

fn batches(ruby: &Ruby, this: &RubyTable) -> Result<RArray> {
    let (this, all) = (this.content(ruby)?, ruby.ary_new());
    for batch in &this.batches {
        all.push(RubyTable::sharing(this.schema.clone(), vec![batch.clone()], batch.len(), this.kept()))?;
    }
    Ok(all)
}

fn to_records(ruby: &Ruby, this: &RubyTable) -> Result<Wrapped> {
    let of = |batch: &RecordBatch| {
        again(ruby, || {
            batch.to_records().map_err(|error| match error.is_value() {
                true => Failure::refused(ruby, error.to_string()),
                false if error.is_unsupported() => Failure::of_type(ruby, error.to_string()),
                false => error.into(),
            })
        })
    };
    let this = this.content(ruby)?;
    let records = match &this.batches[..] {
        [] => of(&RecordBatch::empty(this.schema.clone())?)?,
        [only] => of(only)?,
        several => {
            let parts: Vec<DArray> = several.iter().map(of).collect::<Result<_>>()?;
            let all = DArray::zeros(parts[0].dtype().clone(), &[this.len], Order::RowMajor)?;
            let mut start = 0;
            for part in &parts {
                let stop = start + part.len().cast_signed();
                let rows = AxisSlice::Range { start: Some(start), stop: Some(stop), step: 1 };
                all.slice([rows])?.assign(part, Casting::Checked)?;
                start = stop;
            }
            all
        }
    };
    Wrapped::new(ruby, records)
}

fn grid_of(ruby: &Ruby, this: &RubyTable) -> Result<String> {
    let this = this.content(ruby)?;
    let fields = this.schema.fields();
    let name = |index: usize| cut(fields[index].name());
    let cells = |index: usize, rows: &[Option<usize>]| {
        let column = this.column(index)?;
        let cell = |row: &Option<usize>| match row {
            Some(row) => cut(&column.shown(ruby, *row, "to_s")),
            None => "...".to_owned(),
        };
        Ok(rows.iter().map(cell).collect())
    };
    grid((this.len, fields.len()), name, cells)
}

/// Writes the table to an Arrow IPC file.
fn save_to(ruby: &Ruby, this: &RubyTable, path: PathBuf, compress: Value) -> Result<()> {
    let compression = match compress {
        no if !no.to_bool() => None,
        yes if yes.is_kind_of(ruby.class_true_class()) => Some(IpcCompression::Lz4),
        by => match name(ruby, by)?.as_str() {
            "lz4" => Some(IpcCompression::Lz4),
            "zstd" => Some(IpcCompression::Zstd),
            other => {
                let text = format!("compress: {other:?} is none: give :lz4, :zstd, true or false");
                return Err(Failure::argument(ruby, text));
            }
        },
    };
    if Format::named(&path) != Some(Format::Arrow) {
        let text = format!(
            "{path:?}: such a file holds no table: name a file .arrow, .feather or .arrows; `to_records` gives an array of \
             records, and `table[name].array` the array of a column, which go into other files"
        );
        return Err(Failure::argument(ruby, text));
    }
    let this = this.content(ruby)?;
    let options = compression.into_iter().fold(IpcOptions::new(), IpcOptions::compression);
    again(ruby, || {
        let mut reader = OwnBatches::of(&this);
        Ok(without_lock(|| options.save(&path, &mut reader))??)
    })
}

// ===== creation

/// A table of columns under their names.
fn of_columns(ruby: &Ruby, names: Vec<String>, columns: RArray) -> Result<RubyTable> {
    let (mut fields, mut all): (Vec<Field>, Vec<Arc<ColumnContent>>) = (Vec::new(), Vec::new());
    for (index, name) in names.into_iter().enumerate() {
        let column = <&RubyColumn>::try_convert(columns.entry(index as isize)?)?.content(ruby)?;
        let (len, first) = (column.len(), all.first().map_or(column.len(), |first| first.len()));
        if len != first {
            let text = format!(
                "column {name:?} has {len} elements, but the columns before it have {first} elements"
            );
            return Err(Failure::argument(ruby, text));
        }
        fields.push(column.field().clone().with_name(&name));
        all.push(column);
    }
    let schema = Schema::new(fields);
    let chunks: Vec<_> = all.iter().map(|column| column.chunks()).collect();
    let batches = table::batches(&schema, &chunks)?;
    RubyTable::new(schema, batches)
}

/// An array of records as a table, by a copy.
fn of_records(ruby: &Ruby, records: Wrapped) -> Result<RubyTable> {
    let array = records.array()?;
    let batch = again(ruby, || Ok(RecordBatch::from_records(&array)?))?;
    RubyTable::new(batch.schema().clone(), vec![batch])
}

pub(super) fn init(ruby: &Ruby, module: RModule) -> std::result::Result<(), magnus::Error> {
    let class = module.define_class("Table", ruby.class_object())?;
    class.undef_default_alloc_func();
    // Looked up once, here: later, several Ractors may need it at the same time.
    let _class = RubyTable::class(ruby);
    class.define_method("names", method!(column_names, 0))?;
    class.define_method("size", method!(size, 0))?;
    class.define_method("batches", method!(batches, 0))?;
    class.define_method("copy", method!(copy, 0))?;
    class.define_method("to_records", method!(to_records, 0))?;
    class.define_method("release", method!(release, 0))?;
    class.define_method("released?", method!(is_released, 0))?;
    class.define_private_method("grid", method!(grid_of, 0))?;
    class.define_private_method("save_to", method!(save_to, 2))?;
    class.define_private_method("column_at", method!(column, 1))?;
    class.define_private_method("columns_at", method!(columns, 1))?;
    class.define_private_method("renamed", method!(renamed, 1))?;
    class.define_private_method("rows", method!(rows, 2))?;
    class.define_private_method("values", method!(values, 2))?;
    class.define_singleton_method("of_columns", function!(of_columns, 2))?;
    class.define_singleton_method("of_records", function!(of_records, 1))
}
