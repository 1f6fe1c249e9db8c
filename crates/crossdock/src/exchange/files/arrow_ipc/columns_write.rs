//! The columns of a batch, written: each buffer as it is, or without what a slice leaves out.

use crate::buffer::{Bitmap, BitmapBuilder, Buffer};
use crate::error::Result;
use crate::exchange::files::arrow_ipc::new_flatbuffer::{NewTable, NewValue};
use crate::exchange::files::arrow_ipc::schema_read::IpcField;
use crate::memory::count_copied;
use crate::table::{
    Column, ColumnType, IntegerKind, Integers, NewIntegers, OffsetWidth, Storage, UnionMode, VIEW, kind_of,
};

/// How many bytes more than its elements a buffer may have, to be written as it is.
const PADDING: usize = 64;

/// The parts of a message, before they are laid out.
#[derive(Debug, Default)]
pub(super) struct OutgoingColumns {
    /// A number of elements and of nulls for each column.
    pub(super) nodes: Vec<[i64; 2]>,
    pub(super) buffers: Vec<Buffer>,
    /// How many buffers each column of views has beside the views.
    counts: Vec<i64>,
    /// The values of dictionaries, the inner ones first.
    pub(super) dictionaries: Vec<(i64, Column)>,
}

impl OutgoingColumns {
    /// The table of a batch of `len` rows, whose buffers lie at these places of the body.
    pub(super) fn to_table(
        &self,
        len: usize,
        places: &[[i64; 2]],
        compression: Option<NewTable>,
    ) -> NewTable {
        let structs = |pairs: &[[i64; 2]]| {
            NewValue::Structs(
                pairs.len(),
                pairs.iter().flatten().flat_map(|number| number.to_le_bytes()).collect(),
            )
        };
        let counts = self.counts.iter().flat_map(|number| number.to_le_bytes()).collect();
        let counts = (!self.counts.is_empty()).then_some(NewValue::Structs(self.counts.len(), counts));
        NewTable::default()
            .with(0, NewValue::I64(len as i64))
            .with(1, structs(&self.nodes))
            .with(2, structs(places))
            .with_some(3, compression.map(NewValue::Table))
            .with_some(4, counts)
    }

    /// Whether both write the same bytes, so that their elements are equal.
    ///
    /// # Errors
    ///
    /// As [`Buffer::equals`].
    pub(super) fn equals(&self, other: &Self) -> Result<bool> {
        let is_alike = self.nodes == other.nodes
            && self.buffers.len() == other.buffers.len()
            && self.dictionaries.len() == other.dictionaries.len();
        if !is_alike || !self.dictionaries.iter().zip(&other.dictionaries).all(|(a, b)| a.1.is_same(&b.1)) {
            return Ok(false);
        }
        for (one, other) in self.buffers.iter().zip(&other.buffers) {
            if !one.equals(other)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Elements of some bytes each.
    fn elements(&mut self, buffer: &Buffer, start: usize, len: usize, nbytes: usize) -> Result<()> {
        self.buffers.push(buffer.slice(start * nbytes..(start + len) * nbytes)?);
        Ok(())
    }

    fn bits(&mut self, bits: &Bitmap) -> Result<()> {
        self.buffers.push(bits.to_buffer()?);
        Ok(())
    }

    /// Adds a column.
    ///
    /// # Errors
    ///
    /// `is_bounds` and `is_malformed` for offsets, views and run ends that break the rules;
    /// `is_overflow`; `is_conflict` while a Write lease is held; `is_place` on a device;
    /// `is_out_of_memory`.
    pub(super) fn add(&mut self, field: &IpcField, column: &Column) -> Result<()> {
        let storage = column.column_type().storage();
        let (start, len) = (column.offset(), column.len());
        let rows = start..start + len;
        let nulls = column.null_count()?;
        self.nodes.push([len as i64, nulls as i64]);
        if column.column_type().has_validity() {
            match column.validity() {
                Some(validity) if nulls > 0 => self.bits(validity)?,
                _ => self.buffers.push(Buffer::zeroed(0)?),
            }
        }
        let (buffers, children) = (column.buffers(), column.children());
        match storage {
            Storage::Null => {}
            Storage::Bits => self.bits(&Bitmap::new(buffers[0].try_clone()?, start, len)?)?,
            Storage::Fixed(_) if field.is_packed => {
                let mut bits = BitmapBuilder::with_capacity(len)?;
                let bytes = Integers::at(&buffers[0], IntegerKind::I8)?;
                bytes.for_each(rows, |_, byte| bits.append(byte != 0))?;
                count_copied(len.div_ceil(8));
                self.buffers.push(bits.finish().0);
            }
            Storage::Fixed(nbytes) => {
                self.elements(&buffers[0], start, len, nbytes)?;
                if let (Some(id), Some(values)) = (field.dictionary, column.dictionary()) {
                    self.dictionaries.push((id, values.clone()));
                }
            }
            Storage::Bytes(width, _) => {
                let range = self.offsets(column, width, buffers[1].nbytes())?;
                self.buffers.push(buffers[1].slice(range)?);
            }
            Storage::Views(_) if is_whole(column, VIEW) => self.views(buffers, len)?,
            // Only the bytes that its views refer to.
            Storage::Views(_) => self.views(column.compact()?.buffers(), len)?,
            Storage::List(width) => {
                let range = self.offsets(column, width, children[0].len())?;
                self.add(&field.below[0], &children[0].slice(range)?)?;
            }
            Storage::ListView(width) => self.list_views(field, column, width)?,
            Storage::FixedList(of) => {
                self.add(&field.below[0], &children[0].slice(start * of..(start + len) * of)?)?
            }
            Storage::Struct => self.children(field, column, |_| rows.clone())?,
            Storage::RunEnds => self.runs(field, column)?,
            Storage::Union(UnionMode::Sparse) => {
                self.elements(&buffers[0], start, len, 1)?;
                self.children(field, column, |_| rows.clone())?;
            }
            Storage::Union(UnionMode::Dense) => self.dense(field, column)?,
        }
        Ok(())
    }

    fn children(
        &mut self,
        field: &IpcField,
        column: &Column,
        range: impl Fn(usize) -> std::ops::Range<usize>,
    ) -> Result<()> {
        for (k, (field, child)) in field.below.iter().zip(column.children()).enumerate() {
            self.add(field, &child.slice(range(k))?)?;
        }
        Ok(())
    }

    /// Offsets from 0 on, and the range that those of the column cover.
    fn offsets(
        &mut self,
        column: &Column,
        width: OffsetWidth,
        extent: usize,
    ) -> Result<std::ops::Range<usize>> {
        let (buffer, start, len) = (&column.buffers()[0], column.offset(), column.len());
        if len > 0 {
            let offsets = Integers::at(buffer, width)?;
            let (first, last) = (offsets.get(start)?, offsets.get(start + len)?);
            // Those between are as trustworthy in the file as they are here.
            if let (0, Ok(last)) = (first, usize::try_from(last)) {
                self.elements(buffer, start, len + 1, width.nbytes())?;
                return Ok(0..last);
            }
        }
        let mut offsets = NewIntegers::new(IntegerKind::from(width))?;
        offsets.push(0)?;
        let range = offsets.push_offsets(column, width, extent)?;
        self.buffers.push(offsets.finish());
        Ok(range)
    }

    fn views(&mut self, buffers: &[Buffer], len: usize) -> Result<()> {
        self.elements(&buffers[0], 0, len, VIEW)?;
        self.counts.push(buffers.len() as i64 - 1);
        for buffer in &buffers[1..] {
            self.buffers.push(buffer.try_clone()?);
        }
        Ok(())
    }

    fn list_views(&mut self, field: &IpcField, column: &Column, width: OffsetWidth) -> Result<()> {
        let (buffers, child) = (column.buffers(), &column.children()[0]);
        if is_whole(column, width.nbytes()) {
            self.elements(&buffers[0], 0, column.len(), width.nbytes())?;
            self.elements(&buffers[1], 0, column.len(), width.nbytes())?;
            return self.add(&field.below[0], child);
        }
        let (mut first, mut last) = (i64::MAX, 0);
        let lists = ListViews::of(column, width)?;
        lists.for_each(|offset, size| {
            if size > 0 {
                (first, last) = (first.min(offset), last.max(offset.saturating_add(size)));
            }
            Ok(())
        })?;
        let first = first.min(last);
        let mut offsets = NewIntegers::new(IntegerKind::from(width))?;
        let mut sizes = NewIntegers::new(IntegerKind::from(width))?;
        lists.for_each(|offset, size| {
            offsets.push(if size > 0 { offset.saturating_sub(first) } else { 0 })?;
            sizes.push(size)
        })?;
        self.buffers.extend([offsets.finish(), sizes.finish()]);
        self.add(&field.below[0], &child.slice(extent(first)..extent(last))?)
    }

    fn runs(&mut self, field: &IpcField, column: &Column) -> Result<()> {
        let ends = &column.children()[0];
        let last = match ends.len().checked_sub(1) {
            Some(last) => Integers::at(&ends.buffers()[0], kind_of(ends))?.get(ends.offset() + last)?,
            None => 0,
        };
        let is_whole = column.offset() == 0 && last == column.len() as i64;
        let compact = if is_whole { column.clone() } else { column.compact()? };
        let runs = compact.children()[0].len();
        self.children(field, &compact, |_| 0..runs)
    }

    fn dense(&mut self, field: &IpcField, column: &Column) -> Result<()> {
        let (start, len, buffers) = (column.offset(), column.len(), column.buffers());
        self.elements(&buffers[0], start, len, 1)?;
        if is_whole(column, 1) {
            self.elements(&buffers[1], start, len, 4)?;
            return self.children(field, column, |k| 0..column.children()[k].len());
        }
        let ColumnType::Union { ids, .. } = column.column_type() else { return Ok(()) };
        let of = Integers::at(&buffers[0], IntegerKind::I8)?;
        let offsets = Integers::at(&buffers[1], IntegerKind::I32)?;
        let child = |at: usize| -> Result<usize> {
            let id = of.get(at)?;
            // An identifier of no child stays wrong, with the offsets of the first one.
            Ok(ids.iter().position(|&known| i64::from(known) == id).unwrap_or(0))
        };
        let mut ranges = vec![(i64::MAX, 0); ids.len().max(1)];
        offsets.for_each(start..start + len, |at, offset| {
            let range = &mut ranges[child(at)?];
            *range = (range.0.min(offset), range.1.max(offset.saturating_add(1)));
            Ok(())
        })?;
        let ranges: Vec<_> = ranges.into_iter().map(|(first, end)| (first.min(end), end)).collect();
        let mut rebased = NewIntegers::new(IntegerKind::I32)?;
        offsets.for_each(start..start + len, |at, offset| rebased.push(offset - ranges[child(at)?].0))?;
        self.buffers.push(rebased.finish());
        self.children(field, column, |k| extent(ranges[k].0)..extent(ranges[k].1))
    }
}

/// An offset from untrusted memory, which a slice compares with its bounds.
fn extent(offset: i64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

/// Whether the first buffer has nothing but the column's elements.
fn is_whole(column: &Column, nbytes: usize) -> bool {
    column.offset() == 0 && column.buffers()[0].nbytes() <= column.len() * nbytes + PADDING
}

/// The offsets and sizes of lists; those of null ones are 0.
struct ListViews<'a> {
    column: &'a Column,
    offsets: Integers,
    sizes: Integers,
}

impl<'a> ListViews<'a> {
    fn of(column: &'a Column, width: OffsetWidth) -> Result<Self> {
        let [offsets, sizes] = [0, 1].map(|buffer| Integers::at(&column.buffers()[buffer], width));
        Ok(Self { column, offsets: offsets?, sizes: sizes? })
    }

    fn for_each(&self, mut each: impl FnMut(i64, i64) -> Result<()>) -> Result<()> {
        let start = self.column.offset();
        self.offsets.for_each(start..start + self.column.len(), |at, offset| {
            let is_valid = self.column.validity().map_or(Ok(true), |bits| bits.get(at - start))?;
            if is_valid { each(offset, self.sizes.get(at)?) } else { each(0, 0) }
        })
    }
}
