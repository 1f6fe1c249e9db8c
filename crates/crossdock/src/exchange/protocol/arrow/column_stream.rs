//! Columns in chunks, by Arrow's C Stream interface, in both directions.

use std::vec;

use crate::error::Result;
use crate::error::advice::Words;
use crate::exchange::protocol::arrow::abi::{ArrowArray, ArrowSchema};
use crate::exchange::protocol::arrow::c_structs::Unsent;
use crate::exchange::protocol::arrow::foreign::ForeignStruct;
use crate::exchange::protocol::arrow::stream::{next_array, schema_struct, streaming};
use crate::exchange::protocol::arrow::stream_abi::{ArrowArrayStream, ArrowDeviceArrayStream};
use crate::exchange::protocol::arrow::table_device::place_of;
use crate::exchange::protocol::arrow::table_export::new_column;
use crate::exchange::protocol::arrow::table_import::column_of;
use crate::exchange::protocol::arrow::table_schema::{export_field, read_field};
use crate::exchange::protocol::arrow::table_stream::{
    StreamSource, export_device_source, export_source, next_device_column,
};
use crate::memory::{DeviceKind, Place};
use crate::table::{Checks, Column, Field};

/// Imports all chunks of a column, in place. The struct is moved: the source is marked as released
/// when this returns.
///
/// # Errors
///
/// As [`import_stream`](super::import_stream), for columns of any type.
///
/// # Safety
///
/// The clauses of [`import_stream`](super::import_stream).
pub unsafe fn import_chunks(stream: *mut ArrowArrayStream, checks: Checks) -> Result<(Field, Vec<Column>)> {
    // SAFETY: clauses 1 to 3 of `import_stream`: `stream` is null, or points to a struct that was
    // released or meets ForeignStruct 1.
    let foreign = unsafe { ForeignStruct::moved_from(stream) };
    let imported = foreign.and_then(|mut foreign| {
        let field = read_field(&schema_struct(&mut foreign)?)?;
        let mut chunks = Vec::new();
        while let Some(array) = next_array(&mut foreign)? {
            chunks.push(column_of(&field, array, checks)?);
        }
        Ok((field, chunks))
    });
    imported.map_err(streaming)
}

/// As [`import_chunks`], by the C Device interface.
///
/// # Errors
///
/// As [`import_device_stream`](super::table_stream::import_device_stream), for columns of any type.
///
/// # Safety
///
/// The clauses of [`import_device_stream`](super::table_stream::import_device_stream).
pub unsafe fn import_device_chunks(
    stream: *mut ArrowDeviceArrayStream,
    checks: Checks,
) -> Result<(Field, Vec<Column>)> {
    // SAFETY: clauses 1 to 3 of `import_stream`: `stream` is null, or points to a struct that was
    // released or meets ForeignStruct 1.
    let foreign = unsafe { ForeignStruct::moved_from(stream) };
    let imported = foreign.and_then(|mut foreign| {
        let field = read_field(&schema_struct(&mut foreign)?)?;
        let mut chunks = Vec::new();
        while let Some(array) = next_device_column(&mut foreign)? {
            chunks.push(array.import(&field, checks)?);
        }
        Ok((field, chunks))
    });
    imported.map_err(streaming)
}

/// As [`export_chunks`], by the C Device interface: chunks in memory of this kind of device.
pub fn export_device_chunks(
    field: Field,
    chunks: Vec<Column>,
    kind: DeviceKind,
    words: Words,
) -> ArrowDeviceArrayStream {
    export_device_source(Box::new(ColumnChunks { field, chunks: chunks.into_iter() }), kind, words)
}

/// Exports the chunks of a column as a stream, in place. A chunk that
/// [`export_column`](super::export_column) refuses is an error of the stream, with advice in the
/// words of a language.
pub fn export_chunks(field: Field, chunks: Vec<Column>, words: Words) -> ArrowArrayStream {
    export_source(Box::new(ColumnChunks { field, chunks: chunks.into_iter() }), words)
}

struct ColumnChunks {
    field: Field,
    chunks: vec::IntoIter<Column>,
}

impl StreamSource for ColumnChunks {
    fn schema(&self) -> Result<ArrowSchema> {
        export_field(&self.field)
    }

    fn next(&mut self, on_device: bool) -> Result<Option<(Unsent<ArrowArray>, Place)>> {
        let Some(chunk) = self.chunks.next() else { return Ok(None) };
        let place = if on_device { place_of([&chunk])? } else { Place::CPU };
        Ok(Some((new_column(&self.field, &chunk, on_device)?, place)))
    }
}
