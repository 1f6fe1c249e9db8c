//! Columns in chunks, one for each batch, as the classes of Python and Ruby have them.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use crate::error::{Error, Kind, Result};
use crate::table::column::Column;
use crate::table::lease::visit;
use crate::table::record_batch::RecordBatch;
use crate::table::schema::Schema;

/// The chunk of an element, and the element's index in it.
pub fn chunk_of(chunks: &[Column], mut index: usize) -> Option<(&Column, usize)> {
    for chunk in chunks {
        if index < chunk.len() {
            return Some((chunk, index));
        }
        index -= chunk.len();
    }
    None
}

/// Which ranges of which chunks a range of all of them covers: at least one, so that an empty part
/// keeps a chunk. `lens` are the lengths of the chunks.
pub fn parts(range: Range<usize>, lens: impl Iterator<Item = usize>) -> Vec<(usize, Range<usize>)> {
    let mut parts = Vec::new();
    let mut start = 0_usize;
    for (index, len) in lens.enumerate() {
        // Only chunks of nulls have so many elements that their sum does not fit.
        let behind = start.saturating_add(len);
        let (first, end) = (range.start.max(start), range.end.min(behind));
        if first < end || (parts.is_empty() && range.is_empty() && first <= behind) {
            parts.push((index, first - start..first.max(end) - start));
        }
        start = behind;
    }
    parts
}

/// Columns of equal length as batches, in place: as few as there can be without joining chunks, and
/// none if a column has no chunk.
///
/// # Errors
///
/// `is_overflow` if the chunks of a column have more than 2⁶⁴ - 1 elements; as
/// [`RecordBatch::new`].
pub fn batches(schema: &Schema, columns: &[&[Column]]) -> Result<Vec<RecordBatch>> {
    let batch = |range: Range<usize>| {
        let part = |chunks: &&[Column]| {
            let lens = chunks.iter().map(Column::len);
            let part = parts(range.clone(), lens).into_iter().next();
            part.map(|(index, range)| chunks[index].slice(range))
        };
        let columns = columns.iter().filter_map(part).collect::<Result<Vec<_>>>()?;
        RecordBatch::new(schema.clone(), columns, range.len())
    };
    aligned(columns)?.into_iter().map(batch).collect()
}

/// The longest ranges of rows that lie in one chunk of each column.
fn aligned(columns: &[&[Column]]) -> Result<Vec<Range<usize>>> {
    if columns.iter().any(|chunks| chunks.is_empty()) {
        return Ok(Vec::new());
    }
    let mut ends = BTreeSet::new();
    for chunks in columns {
        let mut end = 0_usize;
        for chunk in *chunks {
            end = end.checked_add(chunk.len()).ok_or_else(|| {
                let text = format!("its chunks have more than {} elements together", usize::MAX);
                Error::new(Kind::Overflow, text)
            })?;
            ends.insert(end);
        }
    }
    let mut start = 0;
    let mut all: Vec<_> = ends.into_iter().map(|end| std::mem::replace(&mut start, end)..end).collect();
    if all.len() > 1 {
        all.retain(|range| !range.is_empty());
    }
    if all.is_empty() {
        all.push(0..0);
    }
    Ok(all)
}

/// The bytes of all buffers of columns, each buffer once.
pub fn nbytes<'a>(columns: impl IntoIterator<Item = &'a Column>) -> usize {
    let mut seen: HashMap<usize, usize> = HashMap::new();
    for column in columns {
        visit(column, &mut |buffer| {
            let known = seen.entry(buffer.address()).or_default();
            *known = buffer.nbytes().max(*known);
        });
    }
    seen.into_values().sum()
}

/// The addresses of all buffers of a column that have bytes, in their order.
pub fn addresses(column: &Column) -> Vec<usize> {
    let mut found = Vec::new();
    visit(column, &mut |buffer| {
        if buffer.nbytes() > 0 {
            found.push(buffer.address());
        }
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Array;
    use crate::table::checks::Checks;
    use crate::table::column::ColumnParts;
    use crate::table::column_type::ColumnType;
    use crate::table::field::Field;

    fn column(len: usize) -> Column {
        Column::from_array(Array::<u8, 1>::from_vec(vec![7; len], [len]).unwrap()).unwrap()
    }

    #[test]
    fn a_range_covers_parts_of_chunks_and_at_least_one() {
        let of = |range| parts(range, [2, 0, 3].into_iter());
        assert_eq!(of(0..5), [(0, 0..2), (2, 0..3)]);
        assert_eq!(of(1..3), [(0, 1..2), (2, 0..1)]);
        assert_eq!(of(2..2), [(0, 2..2)]);
        assert_eq!(of(5..5), [(2, 3..3)]);
        assert!(parts(0..0, std::iter::empty()).is_empty());
        let most = usize::MAX;
        assert_eq!(parts(most - 1..most, [most, most].into_iter()), [(0, most - 1..most)]);
    }

    #[test]
    fn an_index_is_one_of_a_chunk() {
        let chunks = [column(2), column(0), column(3)];
        let index = |index| chunk_of(&chunks, index).map(|(chunk, index)| (chunk.len(), index));
        assert_eq!(
            [0, 1, 2, 4, 5].map(index),
            [Some((2, 0)), Some((2, 1)), Some((3, 0)), Some((3, 2)), None]
        );
    }

    #[test]
    fn chunks_that_end_elsewhere_are_cut_into_batches() {
        let schema =
            Schema::new(["x", "y"].map(|name| Field::new(name, column(0).column_type().clone()).unwrap()));
        let (x, y) = ([column(2), column(0), column(3)], [column(1), column(4)]);
        let lens = |columns: &[&[Column]]| {
            batches(&schema, columns).unwrap().iter().map(RecordBatch::len).collect::<Vec<_>>()
        };
        assert_eq!(lens(&[&x, &y]), [1, 1, 3]);
        assert_eq!(lens(&[&[column(0)], &[column(0)]]), [0]);
        assert!(lens(&[&x, &[]]).is_empty());
        let nulls = |len| {
            Column::new(ColumnType::Null, ColumnParts { len, ..ColumnParts::default() }, Checks::Full)
                .unwrap()
        };
        let most = usize::MAX / 4;
        let schema = Schema::new([Field::new("n", ColumnType::Null).unwrap()]);
        let chunks = [nulls(most), nulls(most)];
        assert_eq!(batches(&schema, &[&chunks]).unwrap().len(), 2);
        let chunks = [nulls(most), nulls(most), nulls(most), nulls(most), nulls(4)];
        assert!(batches(&schema, &[&chunks]).unwrap_err().is_overflow());
        let shared = column(4);
        let half = shared.slice(..2).unwrap();
        assert_eq!(nbytes([&shared, &half, &column(3)]), 7);
    }
}
