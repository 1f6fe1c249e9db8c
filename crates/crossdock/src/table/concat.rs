//! Columns copied to new memory, one after the other.

use crate::buffer::{Bitmap, BitmapBuilder, Buffer, MutableBuffer, ReadOrPinLease};
use crate::error::{Error, Kind, Result};
use crate::memory::count_copied;
use crate::table::checks::Checks;
use crate::table::column::{Column, ColumnParts};
use crate::table::column_type::{ColumnType, OffsetWidth, Storage, UnionMode};
use crate::table::concat_bytes::{NewIntegers, concat_bytes, concat_views};
use crate::table::full::Validity;
use crate::table::integers::{IntegerKind, Integers};
use crate::table::shape::{kind_of, times};

impl Column {
    /// The elements of all columns, one after the other, in new memory of the default pool. Copies,
    /// and counts, the bytes of the elements: of slices, only those that belong to them; children
    /// of list views and dense unions whole. Different dictionaries are joined, with repetitions.
    ///
    /// ```
    /// use crossdock::Array;
    /// use crossdock::table::Column;
    ///
    /// let column = Column::from_array(Array::from_vec(vec![1i32, 2, 3], [3])?)?;
    /// let twice = Column::concat(&[column.slice(2..)?, column])?;
    /// assert_eq!(twice.array()?.equals(&Array::from_vec(vec![3i32, 1, 2, 3], [4])?.into())?, true);
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_dtype` for columns of different types; `is_shape` for no columns; `is_overflow` if
    /// offsets, indices or run ends exceed their width; `is_bounds` and `is_malformed` for offsets,
    /// views and run ends that break the rules; `is_fault` if a guarded file shrank; `is_conflict`
    /// while a Write lease is held; `is_place` on a device; `is_out_of_memory`.
    pub fn concat(columns: &[Self]) -> Result<Self> {
        let Some((first, rest)) = columns.split_first() else {
            return Err(Error::new(Kind::Shape, "no columns cannot be joined, since they have no type"));
        };
        let joined = Self::concat_as_read(columns, first, rest);
        columns.iter().find_map(Self::fault).map_or(joined, Err)
    }

    /// As [`Column::concat`], of files that shrank too.
    fn concat_as_read(columns: &[Self], first: &Self, rest: &[Self]) -> Result<Self> {
        let ty = first.column_type();
        if let Some(other) = rest.iter().find(|column| column.column_type() != ty) {
            let text = format!("columns of type {ty} and {} cannot be joined", other.column_type());
            return Err(Error::new(Kind::DType, text));
        }
        let parts = ColumnParts {
            len: columns.iter().try_fold(0, |sum: usize, column| add(sum, column.len()))?,
            validity: validity(columns)?,
            ..ColumnParts::default()
        };
        Self::new(ty.clone(), fill(columns, parts)?, Checks::Shape)
    }

    /// The elements in new memory of the default pool, without those that the buffers contain
    /// besides. Copies, and counts, them. As [`Column::concat`] of this column only.
    ///
    /// # Errors
    ///
    /// As [`Column::concat`].
    pub fn compact(&self) -> Result<Self> {
        Self::concat(std::slice::from_ref(self))
    }
}

fn add(one: usize, other: usize) -> Result<usize> {
    one.checked_add(other).ok_or_else(|| {
        Error::new(Kind::Overflow, format!("{one} and {other} elements exceed the address space"))
    })
}

/// The bitmaps of all columns; `None` if none has one.
fn validity(columns: &[Column]) -> Result<Option<Buffer>> {
    if columns.iter().all(|column| column.validity().is_none()) {
        return Ok(None);
    }
    let mut bits = BitmapBuilder::new()?;
    for column in columns {
        match column.validity() {
            Some(validity) => validity.append_to(&mut bits)?,
            None => bits.append_n(column.len(), true)?,
        }
    }
    count_copied(bits.len().div_ceil(8));
    Ok(Some(bits.finish().0))
}

/// The children at `k`, each narrowed to the elements that `range` returns for its parent.
fn joined_children(
    columns: &[Column],
    k: usize,
    mut range: impl FnMut(&Column) -> Result<std::ops::Range<usize>>,
) -> Result<Column> {
    let part = |column: &Column| column.children()[k].slice(range(column)?);
    Column::concat(&columns.iter().map(part).collect::<Result<Vec<_>>>()?)
}

fn fill(columns: &[Column], mut parts: ColumnParts) -> Result<ColumnParts> {
    let ty = columns[0].column_type();
    let count = columns[0].children().len();
    let window = |column: &Column| Ok(column.offset()..column.offset() + column.len());
    match ty.storage() {
        Storage::Null => {}
        Storage::Bits => {
            let mut bits = BitmapBuilder::with_capacity(parts.len)?;
            for column in columns {
                let source = Bitmap::new(column.buffers()[0].try_clone()?, column.offset(), column.len())?;
                source.append_to(&mut bits)?;
            }
            count_copied(parts.len.div_ceil(8));
            parts.buffers = vec![bits.finish().0];
        }
        Storage::Fixed(nbytes) => fixed(columns, nbytes, &mut parts)?,
        Storage::Bytes(width, _) => parts.buffers = concat_bytes(columns, width)?,
        Storage::Views(_) => parts.buffers = concat_views(columns, parts.len)?,
        Storage::List(width) => {
            let (offsets, ranges) = lists(columns, width)?;
            let mut ranges = ranges.into_iter();
            parts.buffers = vec![offsets];
            parts.children = vec![joined_children(columns, 0, |_| Ok(ranges.next().unwrap_or(0..0)))?];
        }
        Storage::ListView(width) => list_views(columns, width, &mut parts)?,
        Storage::FixedList(len) => {
            let range = |column: &Column| {
                let start = times(column.offset(), len)?;
                Ok(start..start + column.len() * len)
            };
            parts.children = vec![joined_children(columns, 0, range)?];
        }
        Storage::Struct => {
            parts.children =
                (0..count).map(|k| joined_children(columns, k, window)).collect::<Result<_>>()?;
        }
        Storage::RunEnds => runs(columns, &mut parts)?,
        Storage::Union(mode) => {
            let ids = columns.iter().map(|column| (&column.buffers()[0], column.offset(), column.len()));
            parts.buffers = vec![copied(ids, 1)?];
            match mode {
                UnionMode::Sparse => {
                    parts.children =
                        (0..count).map(|k| joined_children(columns, k, window)).collect::<Result<_>>()?;
                }
                UnionMode::Dense => dense(columns, &mut parts)?,
            }
        }
    }
    Ok(parts)
}

/// Elements of some bytes each, from several buffers.
fn copied<'a>(parts: impl Iterator<Item = (&'a Buffer, usize, usize)>, nbytes: usize) -> Result<Buffer> {
    let mut bytes = MutableBuffer::new()?;
    for (buffer, start, len) in parts {
        let (old, len) = (bytes.nbytes(), times(len, nbytes)?);
        bytes.resize(old + len)?;
        ReadOrPinLease::at(buffer)?.copy_out(start * nbytes, &mut bytes[old..])?;
        buffer.check_fault()?;
        count_copied(len);
    }
    Ok(bytes.freeze())
}

/// Elements of a fixed width, and the dictionary of indices.
fn fixed(columns: &[Column], nbytes: usize, parts: &mut ColumnParts) -> Result<()> {
    let dictionaries: Vec<Column> = columns.iter().filter_map(Column::dictionary).cloned().collect();
    let is_one = dictionaries.windows(2).all(|pair| pair[0].is_same(&pair[1]));
    if is_one {
        let windows = columns.iter().map(|column| (&column.buffers()[0], column.offset(), column.len()));
        parts.buffers = vec![copied(windows, nbytes)?];
        parts.dictionary = dictionaries.first().map(Column::compact).transpose()?;
        return Ok(());
    }
    let mut indices = NewIntegers::new(kind_of(&columns[0]))?;
    let mut base = 0;
    for (column, values) in columns.iter().zip(&dictionaries) {
        let (start, end) = (column.offset(), column.offset() + column.len());
        let validity = Validity::of(column)?;
        Integers::at(&column.buffers()[0], kind_of(column))?.for_each(start..end, |at, index| {
            let is_valid = validity.is_valid(at - start)?;
            indices.push(if is_valid { index.saturating_add(base) } else { 0 })
        })?;
        base += values.len() as i64;
    }
    parts.buffers = vec![indices.finish()];
    parts.dictionary = Some(Column::concat(&dictionaries)?);
    Ok(())
}

/// New offsets of lists, and for each column the range of its child that they refer to.
fn lists(columns: &[Column], width: OffsetWidth) -> Result<(Buffer, Vec<std::ops::Range<usize>>)> {
    let mut offsets = NewIntegers::new(IntegerKind::from(width))?;
    let mut ranges = Vec::new();
    offsets.push(0)?;
    for column in columns {
        ranges.push(offsets.push_offsets(column, width, column.children()[0].len())?);
    }
    Ok((offsets.finish(), ranges))
}

fn list_views(columns: &[Column], width: OffsetWidth, parts: &mut ColumnParts) -> Result<()> {
    let mut offsets = NewIntegers::new(IntegerKind::from(width))?;
    let mut sizes = NewIntegers::new(IntegerKind::from(width))?;
    let mut base = 0;
    for column in columns {
        let of = Integers::at(&column.buffers()[1], width)?;
        let (start, end) = (column.offset(), column.offset() + column.len());
        let validity = Validity::of(column)?;
        Integers::at(&column.buffers()[0], width)?.for_each(start..end, |at, offset| {
            let is_valid = validity.is_valid(at - start)?;
            offsets.push(if is_valid { offset.saturating_add(base) } else { 0 })?;
            sizes.push(if is_valid { of.get(at)? } else { 0 })
        })?;
        base += column.children()[0].len() as i64;
    }
    parts.buffers = vec![offsets.finish(), sizes.finish()];
    parts.children = vec![joined_children(columns, 0, |column| Ok(0..column.children()[0].len()))?];
    Ok(())
}

fn runs(columns: &[Column], parts: &mut ColumnParts) -> Result<()> {
    let mut ends = NewIntegers::new(kind_of(&columns[0].children()[0]))?;
    let (mut base, mut ranges) = (0, Vec::new());
    for column in columns {
        let run_ends = &column.children()[0];
        let (first, count) = (run_ends.offset(), run_ends.len());
        let (offset, len) = (column.offset() as i64, column.len() as i64);
        let (mut start, mut end, mut before) = (0, 0, 0);
        Integers::at(&run_ends.buffers()[0], kind_of(run_ends))?.for_each(
            first..first + count,
            |at, run| {
                if run <= before {
                    let text = format!("a run ends at element {run}, but the one before at {before}");
                    return Err(Error::new(Kind::Malformed, text));
                }
                if run <= offset {
                    start = at - first + 1;
                    end = start;
                } else if before.max(offset) < offset + len {
                    ends.push(base + (run - offset).min(len))?;
                    end = at - first + 1;
                }
                before = run;
                Ok(())
            },
        )?;
        if before < offset + len && len > 0 {
            let text = format!("its runs end at element {before}, but it has {}", offset + len);
            return Err(Error::new(Kind::Bounds, text));
        }
        base += len;
        ranges.push(start..end);
    }
    let ColumnType::RunEndEncoded { run_ends, .. } = columns[0].column_type() else { return Ok(()) };
    let len = ends.len();
    let of_ends = ColumnParts { len, buffers: vec![ends.finish()], ..ColumnParts::default() };
    let of_ends = Column::new(run_ends.column_type().clone(), of_ends, Checks::Shape)?;
    let mut ranges = ranges.into_iter();
    let values = joined_children(columns, 1, |_| Ok(ranges.next().unwrap_or(0..0)))?;
    parts.children = vec![of_ends, values];
    Ok(())
}

fn dense(columns: &[Column], parts: &mut ColumnParts) -> Result<()> {
    let ColumnType::Union { ids, .. } = columns[0].column_type() else { return Ok(()) };
    let mut offsets = NewIntegers::new(IntegerKind::I32)?;
    let mut bases = vec![0; ids.len()];
    for column in columns {
        let of = Integers::at(&column.buffers()[0], IntegerKind::I8)?;
        let (start, end) = (column.offset(), column.offset() + column.len());
        Integers::at(&column.buffers()[1], IntegerKind::I32)?.for_each(start..end, |at, offset| {
            let id = of.get(at)?;
            let child = ids.iter().position(|&known| i64::from(known) == id).ok_or_else(|| {
                Error::new(Kind::Malformed, format!("the identifier {id} at index {at} is that of no child"))
            })?;
            offsets.push(offset.saturating_add(bases[child]))
        })?;
        for (base, child) in bases.iter_mut().zip(column.children()) {
            *base += child.len() as i64;
        }
    }
    parts.buffers.push(offsets.finish());
    let whole = |k: usize| joined_children(columns, k, |column| Ok(0..column.children()[k].len()));
    parts.children = (0..ids.len()).map(whole).collect::<Result<_>>()?;
    Ok(())
}
