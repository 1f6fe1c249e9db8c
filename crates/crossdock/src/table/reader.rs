//! A sequence of batches.

use crate::error::Result;
use crate::table::record_batch::RecordBatch;
use crate::table::schema::Schema;

/// A sequence of batches with one schema, one at a time: a file, a stream of another library.
///
/// ```
/// use crossdock::table::{RecordBatch, RecordBatchReader, Schema};
///
/// fn rows(reader: &mut dyn RecordBatchReader) -> crossdock::Result<usize> {
///     let mut rows = 0;
///     while let Some(batch) = reader.next_batch()? {
///         rows += batch.len();
///     }
///     Ok(rows)
/// }
/// # assert_eq!(rows(&mut [RecordBatch::new(Schema::default(), [], 3)?].into_iter()
/// #     .collect::<crossdock::table::Batches>())?, 3);
/// # Ok::<(), crossdock::Error>(())
/// ```
pub trait RecordBatchReader {
    /// The schema of all batches.
    fn schema(&self) -> &Schema;

    /// The next batch; `None` after the last, and then always.
    ///
    /// # Errors
    ///
    /// Those of the source. A reader that failed has no more batches.
    fn next_batch(&mut self) -> Result<Option<RecordBatch>>;
}

/// The remaining batches of a reader. O(batches), and whatever they cost the source.
///
/// # Errors
///
/// Those of the source.
pub fn remaining(reader: &mut (impl RecordBatchReader + ?Sized)) -> Result<Vec<RecordBatch>> {
    let mut batches = Vec::new();
    while let Some(batch) = reader.next_batch()? {
        batches.push(batch);
    }
    Ok(batches)
}

/// Batches in memory as a sequence. Those of an empty list have no fields.
#[derive(Debug, Default)]
pub struct Batches {
    schema: Schema,
    batches: std::vec::IntoIter<RecordBatch>,
}

impl FromIterator<RecordBatch> for Batches {
    fn from_iter<I: IntoIterator<Item = RecordBatch>>(batches: I) -> Self {
        let batches: Vec<_> = batches.into_iter().collect();
        let schema = batches.first().map(|batch| batch.schema().clone()).unwrap_or_default();
        Self { schema, batches: batches.into_iter() }
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        Ok(self.batches.next())
    }
}
