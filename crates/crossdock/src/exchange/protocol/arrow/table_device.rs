//! Columns and batches by Arrow's C Device interface, in both directions: in memory of the CPU as
//! by the C Data interface, in that of other devices if they have addresses and the CPU need not
//! read the buffers to know their sizes.

use std::sync::Arc;

use crate::buffer::Buffer;
use crate::device::{Effect, Event};
use crate::error::{Advice, Result};
use crate::exchange::protocol::arrow::abi::{ArrowArray, ArrowDeviceArray, ArrowSchema};
use crate::exchange::protocol::arrow::event;
use crate::exchange::protocol::arrow::export::{Exported, on_place};
use crate::exchange::protocol::arrow::field::{malformed, unsupported};
use crate::exchange::protocol::arrow::foreign::ForeignStruct;
use crate::exchange::protocol::arrow::import::{place, within};
use crate::exchange::protocol::arrow::table_export::{exporting, new_batch, new_column};
use crate::exchange::protocol::arrow::table_import::{batch_of, column_on};
use crate::exchange::protocol::arrow::table_schema::{as_struct, new_schema, read_field};
use crate::memory::Place;
use crate::table::{Checks, Column, Field, RecordBatch, visit};

/// A producer's column on a device, moved here and not checked yet.
pub(super) struct DeviceColumn {
    array: ForeignStruct<ArrowArray>,
    place: Place,
    /// The event to wait for before the memory is accessed.
    event: Option<Arc<dyn Event>>,
}

impl DeviceColumn {
    /// Moves a column here, and marks its source as released.
    ///
    /// # Errors
    ///
    /// As [`take_over_device`](super::take_over_device).
    ///
    /// # Safety
    ///
    /// 1. `theirs` is null or meets clause 1 of [`take_over_device`](super::take_over_device).
    /// 2. Its event meets clause 2 there.
    pub(super) unsafe fn moved_from(theirs: *mut ArrowDeviceArray) -> Result<Self> {
        // SAFETY: clause 1 of `# Safety`: `theirs` is null, or points to a struct that no other
        // party uses.
        let Some(theirs) = (unsafe { theirs.as_mut() }) else {
            return Err(malformed("the pointer to its array is null"));
        };
        // SAFETY: clause 1 of `# Safety`: the column in the struct was released or meets
        // ForeignStruct 1, and no other party uses it.
        let array = unsafe { ForeignStruct::moved_from(&mut theirs.array) }?;
        let place = place(theirs)?;
        // SAFETY: clause 2 of `# Safety`: `sync_event` is null or points to an event's handle of
        // the driver of `place`; the event lives, since `array` holds the column unreleased.
        let event = unsafe { event::taken_over(theirs, place) }?;
        Ok(Self { array, place, event })
    }

    /// The column, of a known type.
    pub(super) fn import(self, field: &Field, checks: Checks) -> Result<Column> {
        let column = column_on(field, self.array, self.place, checks)?;
        if let Some(event) = &self.event {
            let mut noted = Ok(());
            visit(&column, &mut |buffer: &Buffer| {
                if noted.is_ok() {
                    noted = buffer.note_event(event.clone(), Effect::Writes);
                }
            });
            noted?;
        }
        Ok(column)
    }
}

/// As [`import_column`](super::import_column), by the C Device interface: in memory of any device
/// that has addresses. Text and bytes are imported from memory that the CPU can read.
///
/// # Errors
///
/// As [`import_column`](super::import_column) and [`take_over_device`](super::take_over_device).
///
/// # Safety
///
/// The clauses of [`take_over_device`](super::take_over_device).
pub unsafe fn import_device_column(
    schema: *mut ArrowSchema,
    array: *mut ArrowDeviceArray,
    checks: Checks,
) -> Result<(Field, Column)> {
    // SAFETY: clause 1 of `take_over_device`: `schema` is null, or points to a struct that was
    // released or meets ForeignStruct 1.
    let schema = unsafe { ForeignStruct::moved_from(schema) };
    // SAFETY: clauses 1 and 2 of `take_over_device` are those of `moved_from`.
    let array = unsafe { DeviceColumn::moved_from(array) };
    let imported = schema.and_then(|schema| {
        let (field, array) = (read_field(&schema)?, array?);
        let column = array.import(&field, checks)?;
        Ok((field, column))
    });
    imported.map_err(within)
}

/// As [`import_batch`](super::import_batch), by the C Device interface.
///
/// # Errors
///
/// As [`import_device_column`] and [`import_batch`](super::import_batch).
///
/// # Safety
///
/// The clauses of [`take_over_device`](super::take_over_device).
pub unsafe fn import_device_batch(
    schema: *mut ArrowSchema,
    array: *mut ArrowDeviceArray,
    checks: Checks,
) -> Result<RecordBatch> {
    // SAFETY: the clauses of `# Safety` are those of `import_device_column`.
    let (field, column) = unsafe { import_device_column(schema, array, checks) }?;
    batch_of(&field, column).map_err(within)
}

/// The one device of columns.
///
/// # Errors
///
/// `is_unsupported` for several devices, and for memory without addresses.
pub(super) fn place_of<'a>(columns: impl IntoIterator<Item = &'a Column>) -> Result<Place> {
    let mut found: Option<Place> = None;
    let (mut other, mut is_addressed) = (None, true);
    for column in columns {
        visit(column, &mut |buffer: &Buffer| {
            let (first, place) = (found.unwrap_or(buffer.place()), buffer.place());
            found =
                Some(if first.is_host() && place.is_host() && first != place { Place::CPU } else { first });
            if first.is_host() != place.is_host() || !place.is_host() && first != place {
                other = Some(place);
            }
            is_addressed &= place.is_host() || place.is_addressed() && buffer.handle().has_addresses();
        });
    }
    if let (Some(first), Some(other)) = (found, other) {
        let text = format!("its buffers are on {first} and on {other}, and a column of Arrow has one device");
        return Err(unsupported(text));
    }
    let place = found.unwrap_or(Place::CPU);
    if is_addressed {
        return Ok(place);
    }
    let text = format!("Arrow requires addresses, but this memory on {place} has none");
    Err(unsupported(text).advising(Advice::CopyToCpu))
}

/// As [`export_column`](super::export_column), by the C Device interface. It waits for work in
/// flight.
///
/// # Errors
///
/// As [`export_column`](super::export_column); `is_unsupported` for buffers on several devices, and
/// for memory of a device without addresses.
pub fn export_device_column(field: &Field, column: &Column) -> Result<Exported<ArrowDeviceArray>> {
    let schema = new_schema(field).map_err(exporting)?;
    let place = place_of([column]).map_err(exporting)?;
    Ok(Exported::of_device_column(schema, on_place(new_column(field, column, true)?.send(), place)))
}

/// As [`export_batch`](super::export_batch), by the C Device interface. It waits for work in
/// flight.
///
/// # Errors
///
/// As [`export_device_column`].
pub fn export_device_batch(batch: &RecordBatch) -> Result<Exported<ArrowDeviceArray>> {
    let schema = as_struct(batch.schema()).and_then(|field| new_schema(&field)).map_err(exporting)?;
    let place = place_of(batch.named_columns().map(|(_, column)| column)).map_err(exporting)?;
    let array = new_batch(batch, true).map_err(exporting)?.send();
    Ok(Exported::of_device_column(schema, on_place(array, place)))
}
