//! Arrays of records as batches, and back.

use std::hint::black_box;

use crossdock::DArray;
use crossdock::buffer::Buffer;
use crossdock::element::DType;
use crossdock::layout::{Layout, Order};
use crossdock::table::RecordBatch;

use crate::arrow::Arrow;
use crate::harness::{self, Case, Reach, Scale, Table};
use crate::{Measure, Result};

const LIMIT: &str = "memcpy of the records";
const COUNT: usize = 1 << 20;
const TO_REACH: f64 = 0.8;

/// Records of 8 + 4 + 4 + 8 bytes.
fn records() -> Result<DArray> {
    let fields = [("price", DType::F64), ("count", DType::I32), ("kind", DType::U32), ("time", DType::I64)];
    let dtype = DType::packed_record(fields)?;
    let bytes: Vec<u8> = (0..COUNT * dtype.itemsize()).map(|k| (k % 251) as u8).collect();
    let layout = Layout::contiguous(&[COUNT], dtype.itemsize(), Order::RowMajor)?;
    Ok(DArray::from_buffer(Buffer::from_vec(bytes)?, dtype, layout, 0)?)
}

fn memcpy(nbytes: usize) -> Case<'static> {
    let (source, mut target) = (vec![7u8; nbytes], vec![1u8; nbytes]);
    Case::new(LIMIT, 7, move || {
        black_box(&mut target[..]).copy_from_slice(black_box(&source));
        usize::from(black_box(&target)[nbytes - 1])
    })
}

pub(super) fn to_columns(_: &Measure, _: Option<&Arrow>) -> Result<Table> {
    let records = records()?;
    let nbytes = COUNT * records.dtype().itemsize();
    let cases = vec![
        memcpy(nbytes),
        Case::new("RecordBatch::from_records", COUNT, || {
            let batch = RecordBatch::from_records(black_box(&records));
            black_box(&batch).as_ref().map_or(0, |batch| batch.len())
        })
        .reaching(Reach::ratio(TO_REACH, LIMIT)),
    ];
    let cases = cases.into_iter().map(Case::settled).collect();
    harness::measure("1 Mi records of 24 bytes to columns", Scale::gigabytes(nbytes), &[LIMIT], cases)
}

pub(super) fn from_columns(_: &Measure, _: Option<&Arrow>) -> Result<Table> {
    let records = records()?;
    let nbytes = COUNT * records.dtype().itemsize();
    let batch = RecordBatch::from_records(&records)?;
    assert!(batch.to_records()?.equals(&records)?, "the records are those that the columns came from");
    let cases = vec![
        memcpy(nbytes),
        Case::new("RecordBatch::to_records", COUNT, || {
            let records = black_box(&batch).to_records();
            black_box(&records).as_ref().map_or(0, |records| records.len())
        })
        .reaching(Reach::ratio(TO_REACH, LIMIT)),
    ];
    let cases = cases.into_iter().map(Case::settled).collect();
    harness::measure("columns to 1 Mi records of 24 bytes", Scale::gigabytes(nbytes), &[LIMIT], cases)
}
