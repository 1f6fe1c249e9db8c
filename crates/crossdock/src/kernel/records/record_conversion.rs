//! Which bytes of one record become which bytes of another, and which fields are converted.

use std::collections::HashMap;

use crate::element::{DType, DTypeKind, Field, Record, Scalar, no_field_among};
use crate::error::Result;
use crate::kernel::cast::unlike;
use crate::kernel::records::gaps::Gaps;
use crate::kernel::records::program::ByteRun;

/// How a record is made of another one.
pub(super) struct RecordConversion {
    /// The bytes that move, in the order of the result. With [`Gaps::Fill`], every byte that is not
    /// in `changes` is in one of the runs.
    pub(super) runs: Vec<ByteRun>,
    pub(super) changes: Vec<Change>,
}

/// A field that is converted.
pub(super) struct Change {
    /// Its name, after those of the fields that contain it.
    pub(super) path: String,
    pub(super) from: DType,
    pub(super) from_offset: usize,
    pub(super) to: DType,
    pub(super) to_offset: usize,
}

impl RecordConversion {
    /// # Errors
    ///
    /// `is_dtype` where `to` has a field that `from` lacks, or one that cannot be converted.
    pub(super) fn new(from: &Record, to: &Record, gaps: Gaps) -> Result<Self> {
        let mut parts = Self { runs: Vec::new(), changes: Vec::new() };
        parts.add(from, to, (0, 0), "", gaps)?;
        if gaps == Gaps::Fill {
            parts.fill(to.itemsize());
        }
        parts.merge();
        Ok(parts)
    }

    /// How many bytes of each record are moved or filled.
    pub(super) fn moved_nbytes(&self) -> usize {
        self.runs.iter().map(|run| run.nbytes).sum()
    }

    /// Recurses to the depth of the dtypes, which is bounded.
    fn add(&mut self, from: &Record, to: &Record, at: (usize, usize), path: &str, gaps: Gaps) -> Result<()> {
        let by_name: HashMap<&str, &Field> =
            from.fields().iter().map(|field| (field.name(), field)).collect();
        for field in to.fields() {
            let Some(source) = by_name.get(field.name()) else {
                let error = no_field_among(from.fields(), field.name());
                return Err(error.within(format_args!("a record cannot be converted to a different record")));
            };
            let (from_offset, to_offset) = (at.0 + source.offset(), at.1 + field.offset());
            let (from, to) = (source.dtype(), field.dtype());
            if from == to && (gaps == Gaps::Fill || !has_gaps(to)) {
                self.runs.push(ByteRun { from: Some(from_offset), to: to_offset, nbytes: to.itemsize() });
                continue;
            }
            let path =
                if path.is_empty() { field.name().to_owned() } else { format!("{path}.{}", field.name()) };
            match (from.kind(), to.kind()) {
                (DTypeKind::Record(from), DTypeKind::Record(to)) => {
                    self.add(from, to, (from_offset, to_offset), &path, gaps)?;
                }
                (DTypeKind::Scalar(from), DTypeKind::Scalar(to)) if from.swapped() == to => {
                    self.swap(from, from_offset, to_offset);
                }
                _ => {
                    check(from, to, gaps).map_err(|error| error.within(format_args!("field {path:?}")))?;
                    let (from, to) = (from.clone(), to.clone());
                    self.changes.push(Change { path, from, from_offset, to, to_offset });
                }
            }
        }
        Ok(())
    }

    /// A byte-swapped scalar, each of its components by itself.
    fn swap(&mut self, scalar: Scalar, from: usize, to: usize) {
        let width = scalar.alignment();
        for byte in 0..scalar.itemsize() {
            let mirrored = byte / width * width + (width - 1 - byte % width);
            self.runs.push(ByteRun { from: Some(from + mirrored), to: to + byte, nbytes: 1 });
        }
    }

    /// Zeros for all bytes that are not written otherwise.
    fn fill(&mut self, itemsize: usize) {
        let moved = self.runs.iter().map(|run| (run.to, run.to + run.nbytes));
        let changed =
            self.changes.iter().map(|change| (change.to_offset, change.to_offset + change.to.itemsize()));
        let mut covered: Vec<(usize, usize)> = moved.chain(changed).collect();
        covered.sort_unstable();
        let mut end = 0;
        for (start, stop) in covered.into_iter().chain([(itemsize, itemsize)]) {
            if start > end {
                self.runs.push(ByteRun { from: None, to: end, nbytes: start - end });
            }
            end = end.max(stop);
        }
    }

    /// Merges runs that continue each other.
    fn merge(&mut self) {
        self.runs.retain(|run| run.nbytes > 0);
        // Pairs of numbers are sorted elsewhere, too: all share one copy of std's sort.
        let mut order: Vec<_> = self.runs.iter().map(|run| run.to).zip(0_usize..).collect();
        order.sort_unstable();
        self.runs = order.into_iter().map(|(_, index)| self.runs[index]).collect();
        self.runs.dedup_by(|next, run| {
            let follows = next.to == run.to + run.nbytes
                && match (run.from, next.from) {
                    (Some(from), Some(next)) => next == from + run.nbytes,
                    (from, next) => from.is_none() && next.is_none(),
                };
            if follows {
                run.nbytes += next.nbytes;
            }
            follows
        });
    }
}

/// Checks that a conversion can refuse only values, so that a refusal of dtypes comes before
/// anything is written.
///
/// # Errors
///
/// `is_dtype` where a record lacks a field, or where only one of the two has fields or items, or
/// another number of items.
fn check(from: &DType, to: &DType, gaps: Gaps) -> Result<()> {
    match (from.kind(), to.kind()) {
        (DTypeKind::Scalar(_), DTypeKind::Scalar(_)) => Ok(()),
        (DTypeKind::Record(from), DTypeKind::Record(to)) => RecordConversion::new(from, to, gaps).map(drop),
        (DTypeKind::SubArray(from), DTypeKind::SubArray(to)) if from.shape() == to.shape() => {
            check(from.base(), to.base(), gaps)
        }
        _ => Err(unlike(from, to)),
    }
}

/// Whether an element has bytes that no scalar covers.
pub(crate) fn has_gaps(dtype: &DType) -> bool {
    match dtype.kind() {
        DTypeKind::Scalar(_) => false,
        DTypeKind::SubArray(subarray) => has_gaps(subarray.base()),
        DTypeKind::Record(record) => {
            let mut covered: Vec<_> =
                record.fields().iter().map(|field| (field.offset(), field.dtype().itemsize())).collect();
            covered.sort_unstable();
            let mut end = 0;
            let whole = covered.into_iter().all(|(offset, nbytes)| {
                let follows = offset <= end;
                end = end.max(offset + nbytes);
                follows
            });
            !whole || end < record.itemsize() || record.fields().iter().any(|field| has_gaps(field.dtype()))
        }
    }
}
