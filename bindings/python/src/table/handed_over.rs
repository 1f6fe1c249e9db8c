//! What happens to the columns of a table on their way to a consumer.

use crossdock::bindings::table::addresses;
use crossdock::memory::LeaseKind;
use crossdock::table::{Column, ColumnType, Field, RecordBatch, Schema};
use pyo3::prelude::*;

use crate::errors::{Raise, text};

/// Name, type, what a consumer of Arrow gets and why, what an array gets and why, and the number of
/// batches.
pub(super) type HandedOver = (String, String, &'static str, String, &'static str, String, usize);

const IN_PLACE: &str = "in place";
const COPIES: &str = "copies";
const REFUSES: &str = "refuses";

/// Each column of the batches of a table, of which `others` are another import: a producer that
/// copies gives another address to each.
pub(super) fn columns(
    schema: &Schema,
    batches: &[RecordBatch],
    others: &[RecordBatch],
) -> PyResult<Vec<HandedOver>> {
    let mut all = Vec::new();
    for (index, field) in schema.fields().iter().enumerate() {
        let chunks = batches.iter().map(|batch| batch.column(index));
        let chunks = chunks.collect::<crossdock::Result<Vec<_>>>().raise()?;
        let others = others.iter().map(|batch| batch.column(index));
        let others = others.collect::<crossdock::Result<Vec<_>>>().unwrap_or_default();
        let (outcome, reason) = to_arrow(&chunks, &others);
        let (array, array_reason) = to_array(field, &chunks);
        let ty = field.column_type().to_string();
        all.push((field.name().to_owned(), ty, outcome, reason, array, array_reason, chunks.len()));
    }
    Ok(all)
}

fn to_arrow(chunks: &[Column], others: &[Column]) -> (&'static str, String) {
    if let Some(error) = chunks.iter().find_map(|chunk| chunk.lease(LeaseKind::Read).err()) {
        return (REFUSES, text(&error));
    }
    let of = |chunks: &[Column]| chunks.iter().map(addresses).collect::<Vec<_>>();
    let (first, second) = (of(chunks), of(others));
    let copied = first.iter().zip(&second).filter(|(one, other)| one != other).count();
    if first.len() == second.len() && 0 < copied && copied < first.len() {
        let text = format!("its producer copies {copied} of its {} batches for each export", first.len());
        return (COPIES, text);
    }
    let (first, second) = (first.concat(), second.concat());
    let moved = first.iter().zip(&second).filter(|(one, other)| one != other).count();
    match moved {
        0 if first.len() == second.len() => (IN_PLACE, String::new()),
        0 => (COPIES, "its producer exports other chunks each time".into()),
        _ if moved == first.len() => (COPIES, "its producer makes another column for each export".into()),
        _ => (COPIES, format!("its producer copies {moved} of its {} buffers for each export", first.len())),
    }
}

fn to_array(field: &Field, chunks: &[Column]) -> (&'static str, String) {
    match chunks {
        [only] => return chunk_to_array(field, only),
        [] => return (IN_PLACE, String::new()),
        _ => {}
    }
    let reasons = chunks.iter().map(|chunk| chunk_to_array(field, chunk).1);
    let reasons: Vec<_> = reasons.filter(|reason| !reason.is_empty()).collect();
    let apart = format!("its {} chunks lie apart", chunks.len());
    let text = match reasons.first() {
        None => apart,
        Some(reason) if reasons.len() == chunks.len() => format!("{apart}, and in each: {reason}"),
        Some(reason) => format!("{apart}, and in {} of them: {reason}", reasons.len()),
    };
    (COPIES, text)
}

fn chunk_to_array(field: &Field, column: &Column) -> (&'static str, String) {
    let is_filled = matches!(column.null_count(), Ok(0));
    match column.complete_array() {
        Ok(_) if matches!(field.column_type(), ColumnType::Dictionary { .. }) => {
            (COPIES, "its indices refer to a dictionary".into())
        }
        Ok(_) => (IN_PLACE, String::new()),
        Err(error) => {
            let of_bits = *field.column_type() == ColumnType::Boolean && is_filled;
            (COPIES, if of_bits { "its elements are bits".into() } else { error.fact().to_string() })
        }
    }
}
