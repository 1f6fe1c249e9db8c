//! Batches through Arrow's C Data interface, beside arrow-rs, and slices.
//!
//! Both libraries import the same structs of one producer, whose release frees nothing, so that the
//! figure is the consumer's work alone: reading both structs, and releasing what it made.

use std::hint::black_box;
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::{Array as _, StructArray};
use crossdock::Array;
use crossdock::exchange::protocol::arrow::abi::{ArrowArray, ArrowSchema};
use crossdock::exchange::protocol::arrow::{export_batch, import_batch};
use crossdock::table::{Checks, Column, RecordBatch};

use crate::arrow::Arrow;
use crate::harness::{self, Case, Reach, Scale, Table};
use crate::tables::columns::{self, ROWS};
use crate::{Measure, Result};

const FROM_FFI: &str = "arrow-rs: from_ffi + drop";
const TO_FFI: &str = "arrow-rs: to_ffi + release";
const ARC: &str = "Arc::clone + drop";

/// The structs of one exported batch, as often as needed.
///
/// # Invariants
///
/// 1. `schema` and `array` were exported and are never released.
struct Exports {
    schema: ArrowSchema,
    array: ArrowArray,
}

unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: the interface: the consumer passes its own struct, which no other code uses.
    unsafe { (*schema).release = None };
}

unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: the interface: the consumer passes its own struct, which no other code uses.
    unsafe { (*array).release = None };
}

impl Exports {
    fn of(batch: &RecordBatch) -> Result<Self> {
        let (schema, array) = export_batch(batch)?.into_raw();
        Ok(Self { schema, array })
    }

    fn next(&self) -> (ArrowSchema, ArrowArray) {
        let schema = ArrowSchema { release: Some(release_schema), ..self.schema };
        let array = ArrowArray { release: Some(release_array), ..self.array };
        (schema, array)
    }

    /// Imported by Crossdock; the number of rows and columns.
    fn import(&self) -> usize {
        let (mut schema, mut array) = black_box(self).next();
        // SAFETY: Exports 1: both structs follow the interface, and what they refer to lives on.
        let batch = unsafe { import_batch(&mut schema, &mut array, Checks::Shape) };
        black_box(&batch).as_ref().map_or(0, |batch| batch.len() + batch.schema().fields().len())
    }

    /// Imported by arrow-rs.
    fn theirs(&self) -> arrow_data::ArrayData {
        let (schema, mut array) = black_box(self).next();
        // SAFETY: both structs have the layout that the interface prescribes.
        let array = unsafe { FFI_ArrowArray::from_raw((&raw mut array).cast()) };
        // SAFETY: both structs have the layout that the interface prescribes.
        let schema = unsafe { &*(&raw const schema).cast::<FFI_ArrowSchema>() };
        // SAFETY: Exports 1: both structs follow the interface, and what they refer to lives on.
        unsafe { from_ffi(array, schema) }.expect("arrow-rs imports what Crossdock exports")
    }
}

fn import(title: &'static str, batch: &RecordBatch) -> Result<Table> {
    let exports = Exports::of(batch)?;
    let columns = batch.schema().fields().len();
    let answer = ROWS + columns;
    let cases = vec![
        Case::new(FROM_FFI, answer, || {
            let data = black_box(exports.theirs());
            data.len() + data.child_data().len()
        }),
        Case::new("arrow-rs: from_ffi to a RecordBatch + drop", answer, || {
            let batch = black_box(arrow_array::RecordBatch::from(StructArray::from(exports.theirs())));
            batch.num_rows() + batch.num_columns()
        }),
        Case::new("crossdock: import_batch + drop", answer, || exports.import())
            .reaching(Reach::ratio(1.0, FROM_FFI)),
    ];
    harness::measure(title, Scale::NANOSECONDS, &[FROM_FFI], cases)
}

fn export(title: &'static str, batch: &RecordBatch) -> Result<Table> {
    let data = Exports::of(batch)?.theirs();
    let theirs = arrow_array::RecordBatch::from(StructArray::from(data.clone()));
    let answer = ROWS + batch.schema().fields().len();
    let count = |(array, _schema): &(FFI_ArrowArray, FFI_ArrowSchema)| array.len() + array.num_children();
    let cases = vec![
        Case::new(TO_FFI, answer, || {
            let exported = to_ffi(black_box(&data));
            black_box(&exported).as_ref().map_or(0, count)
        }),
        Case::new("arrow-rs: to_ffi of a RecordBatch + release", answer, || {
            let exported = to_ffi(&StructArray::from(black_box(&theirs).clone()).into_data());
            black_box(&exported).as_ref().map_or(0, count)
        }),
        Case::new("crossdock: export_batch + release", answer, || {
            let exported = export_batch(black_box(batch));
            black_box(&exported)
                .as_ref()
                .map_or(0, |exported| (exported.array().length + exported.array().n_children) as usize)
        })
        .reaching(Reach::ratio(1.0, TO_FFI)),
    ];
    harness::measure(title, Scale::NANOSECONDS, &[TO_FFI], cases)
}

pub(super) fn import_fixed(_: &Measure, _: Option<&Arrow>) -> Result<Table> {
    import("import + release, 100 fixed columns", &columns::fixed(100)?)
}

pub(super) fn import_mixed(_: &Measure, _: Option<&Arrow>) -> Result<Table> {
    import("import + release, 20 mixed columns", &columns::mixed(4)?)
}

pub(super) fn export_fixed(_: &Measure, _: Option<&Arrow>) -> Result<Table> {
    export("export + release, 100 fixed columns", &columns::fixed(100)?)
}

pub(super) fn export_mixed(_: &Measure, _: Option<&Arrow>) -> Result<Table> {
    export("export + release, 20 mixed columns", &columns::mixed(4)?)
}

/// A slice costs the same whatever the number of elements.
pub(super) fn slice(_: &Measure, _: Option<&Arrow>) -> Result<Table> {
    const LONG: usize = 16 << 20;
    let arc = Arc::new(41usize);
    let array = |len: usize| Column::from_array(Array::from_vec(vec![0u8; len], [len])?);
    let (short, long) = (array(ROWS)?, array(LONG)?);
    let text = columns::text(&columns::words(ROWS), true)?;
    let mixed = columns::mixed(4)?;
    let theirs = arrow_array::RecordBatch::from(StructArray::from(Exports::of(&mixed)?.theirs()));
    let their_column = arrow_array::UInt8Array::from(vec![0u8; ROWS]);
    let of = |column: &Column, len: usize| {
        let slice = black_box(black_box(column).slice(black_box(3)..len));
        slice.map_or(0, |slice| slice.len())
    };
    let cases = vec![
        Case::new(ARC, 41, || **black_box(&Arc::clone(black_box(&arc)))),
        Case::new("arrow-rs: 1,024 numbers", ROWS - 3, || {
            black_box(black_box(&their_column).slice(black_box(3), ROWS - 3)).len()
        }),
        Case::new("Column::slice, 1,024 numbers", ROWS - 3, || of(&short, ROWS)),
        Case::new("Column::slice, 16 Mi numbers", LONG - 3, || of(&long, LONG)),
        Case::new("Column::slice, text with nulls", ROWS - 3, || of(&text, ROWS)),
        Case::new("arrow-rs: a batch of 20 columns", ROWS - 3, || {
            black_box(black_box(&theirs).slice(black_box(3), ROWS - 3)).num_rows()
        }),
        Case::new("RecordBatch::slice, 20 columns", ROWS - 3, || {
            let slice = black_box(black_box(&mixed).slice(black_box(3)..));
            slice.map_or(0, |slice| slice.len())
        }),
    ];
    harness::measure("slice + drop of columns", Scale::NANOSECONDS, &[ARC], cases)
}
