//! The columns of a message, read: in place, or decoded.

use crate::buffer::Buffer;
use crate::error::{Error, Kind, Result};
use crate::exchange::files::arrow_ipc::codec::{self, IpcCompression};
use crate::exchange::files::arrow_ipc::flatbuffer::{Table, malformed, number, unsupported};
use crate::exchange::files::arrow_ipc::message::V4;
use crate::exchange::files::arrow_ipc::schema_read::IpcField;
use crate::pool::Pool;
use crate::table::{Checks, Column, ColumnParts, Storage, UnionMode};

/// The alignment of the widest elements that have one.
const ALIGNMENT: usize = 8;

/// What a reader permits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Permissions {
    /// The most bytes of the decoded buffers of a message.
    pub(super) limit: u64,
    /// Whether buffers that are not aligned are copied.
    pub(super) may_copy: bool,
}

/// Gives the dictionary with an identifier.
pub(super) type Dictionaries<'a> = &'a dyn Fn(i64) -> Result<Column>;

/// Reads the columns of a batch, one after the other.
pub(super) struct ColumnsReader<'a, N, B, V> {
    nodes: N,
    buffers: B,
    /// The numbers of buffers of columns of views.
    counts: V,
    body: &'a Buffer,
    codec: Option<IpcCompression>,
    version: i16,
    permissions: Permissions,
    dictionaries: Dictionaries<'a>,
}

/// The number of rows of a batch, and its columns of these types: all of them, or only the one with
/// this number, so that no other is decoded.
///
/// # Errors
///
/// `is_malformed` for parts that contradict each other or the schema; `is_bounds` for buffers
/// beyond the body; `is_alignment` for buffers that are not aligned and must not be copied; as
/// [`Column::new`] and [`codec::decode`].
pub(super) fn columns(
    batch: Table<'_>,
    version: i16,
    body: &Buffer,
    fields: &[IpcField],
    only: Option<usize>,
    permissions: Permissions,
    dictionaries: Dictionaries<'_>,
) -> Result<(usize, Vec<Column>)> {
    let len = count(batch.i64(0)?, "rows of a batch")?;
    let mut reader = ColumnsReader {
        nodes: batch.vector(1, 16)?.elements::<16>(),
        buffers: batch.vector(2, 16)?.elements::<16>(),
        counts: batch.vector(4, 8)?.elements::<8>(),
        body,
        codec: codec::of_batch(batch)?,
        version,
        permissions,
        dictionaries,
    };
    let mut columns = Vec::with_capacity(if only.is_some() { 1 } else { fields.len() });
    for (index, field) in fields.iter().enumerate() {
        match only {
            Some(only) if only != index => reader.skip(field)?,
            _ => columns.push(reader.column(field)?),
        }
    }
    match reader.nodes.next() {
        None => Ok((len, columns)),
        Some(_) => Err(malformed("a batch has more columns than its schema")),
    }
}

fn count(number: i64, of: &str) -> Result<usize> {
    usize::try_from(number).map_err(|_| malformed(format!("the number of {of} is {number}")))
}

impl<'b, N, B, V> ColumnsReader<'_, N, B, V>
where
    N: Iterator<Item = &'b [u8; 16]>,
    B: Iterator<Item = &'b [u8; 16]>,
    V: Iterator<Item = &'b [u8; 8]>,
{
    fn column(&mut self, field: &IpcField) -> Result<Column> {
        let column = self.parts(field).and_then(|parts| Column::new(field.ty.clone(), parts, Checks::Shape));
        column.map_err(|error| error.within(format_args!("column {:?}", field.name)))
    }

    fn parts(&mut self, field: &IpcField) -> Result<ColumnParts> {
        let node = self.nodes.next().ok_or_else(|| malformed("a batch has fewer columns than its schema"))?;
        let len = count(number(node, 0), "elements")?;
        let nulls = number(node, 8);
        if nulls < 0 || nulls > number(node, 0) {
            return Err(malformed(format!("it has {nulls} nulls among {len} elements")));
        }
        let storage = field.ty.storage();
        let validity = self.validity(field, len, nulls)?;
        let mut buffers = Vec::new();
        match storage {
            Storage::Null | Storage::FixedList(_) | Storage::Struct | Storage::RunEnds => {}
            Storage::Bits => buffers.push(self.buffer(1)?),
            Storage::Fixed(nbytes) => {
                // The greatest power of two that divides the width; 0 has as many as there are.
                buffers.push(self.buffer(1 << nbytes.trailing_zeros().min(ALIGNMENT.ilog2()))?);
            }
            Storage::Bytes(width, _) => {
                buffers.push(self.buffer(width.nbytes())?);
                buffers.push(self.buffer(1)?);
            }
            Storage::Views(_) => {
                let found = self.data_buffers()?;
                buffers.push(self.buffer(ALIGNMENT)?);
                // Each takes bytes of the metadata, or is the error that none is left.
                for _ in 0..found {
                    buffers.push(self.buffer(1)?);
                }
            }
            Storage::List(width) => buffers.push(self.buffer(width.nbytes())?),
            Storage::ListView(width) => {
                buffers.push(self.buffer(width.nbytes())?);
                buffers.push(self.buffer(width.nbytes())?);
            }
            Storage::Union(mode) => {
                buffers.push(self.buffer(1)?);
                if mode == UnionMode::Dense {
                    buffers.push(self.buffer(4)?);
                }
            }
        }
        let children = field.below.iter().map(|child| self.column(child)).collect::<Result<_>>()?;
        let dictionary = field.dictionary.map(|id| (self.dictionaries)(id)).transpose()?;
        Ok(ColumnParts { len, offset: 0, validity, buffers, children, dictionary })
    }

    /// Passes over what describes a column.
    fn skip(&mut self, field: &IpcField) -> Result<()> {
        self.nodes.next().ok_or_else(|| malformed("a batch has fewer columns than its schema"))?;
        if field.ty.has_validity() || self.is_old_union(field) {
            self.place()?;
        }
        let (fixed, _) = field.ty.storage().buffer_count();
        let further = match field.ty.storage() {
            Storage::Views(_) => self.data_buffers()?,
            _ => 0,
        };
        for _ in 0..fixed {
            self.place()?;
        }
        for _ in 0..further {
            self.place()?;
        }
        field.below.iter().try_for_each(|child| self.skip(child))
    }

    /// The number of buffers of bytes of a column of views.
    fn data_buffers(&mut self) -> Result<usize> {
        let found = self.counts.next().map(|count| i64::from_le_bytes(*count));
        count(found.ok_or_else(|| malformed("its number of buffers is missing"))?, "buffers")
    }

    /// Whether it is a union of version 4, which has a bitmap.
    fn is_old_union(&self, field: &IpcField) -> bool {
        self.version == V4 && matches!(field.ty.storage(), Storage::Union(_))
    }

    /// The bitmap, if there are nulls.
    fn validity(&mut self, field: &IpcField, len: usize, nulls: i64) -> Result<Option<Buffer>> {
        let is_old_union = self.is_old_union(field);
        if !field.ty.has_validity() && !is_old_union {
            return Ok(None);
        }
        let (offset, nbytes) = self.place()?;
        if nulls == 0 {
            return Ok(None);
        }
        if is_old_union {
            return Err(unsupported(format!(
                "{nulls} of {len} elements of a union are null by a bitmap, which version 5 of the metadata has not; \
                 write it again with Arrow 1.0 or later"
            )));
        }
        if nbytes == 0 {
            return Err(malformed(format!("it has {nulls} nulls, but no validity bitmap")));
        }
        self.at(offset, nbytes, 1).map(Some)
    }

    /// The offset and the size of the next buffer.
    fn place(&mut self) -> Result<(i64, i64)> {
        let place =
            self.buffers.next().ok_or_else(|| malformed("a batch has fewer buffers than its columns"))?;
        Ok((number(place, 0), number(place, 8)))
    }

    fn buffer(&mut self, alignment: usize) -> Result<Buffer> {
        let (offset, nbytes) = self.place()?;
        self.at(offset, nbytes, alignment)
    }

    fn at(&mut self, offset: i64, nbytes: i64, alignment: usize) -> Result<Buffer> {
        let range = usize::try_from(offset).ok().zip(usize::try_from(nbytes).ok());
        let range = range.and_then(|(start, nbytes)| Some(start..start.checked_add(nbytes)?));
        let range = range.filter(|range| range.end <= self.body.nbytes()).ok_or_else(|| {
            let text = format!(
                "a buffer has {nbytes} bytes from byte {offset} of its body on, which has {}",
                self.body.nbytes()
            );
            Error::new(Kind::Bounds, text)
        })?;
        let buffer = self.body.slice(range)?;
        let buffer = match self.codec {
            None => buffer,
            Some(codec) => codec::decode(codec, &buffer, &mut self.permissions.limit)?,
        };
        if buffer.nbytes() == 0 || buffer.is_aligned_to(alignment) {
            return Ok(buffer);
        }
        if !self.permissions.may_copy {
            let text = format!(
                "a buffer at byte {offset} of its body is not aligned to {alignment} bytes; read the file into memory \
                 instead of mapping it, which copies such a buffer"
            );
            return Err(Error::new(Kind::Alignment, text));
        }
        buffer.ensure_alignment(64, &Pool::try_default()?)
    }
}
