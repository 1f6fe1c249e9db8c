//! Imports columns and batches of any type from Arrow's C structs, in place.

use core::ffi::c_void;
use std::sync::Arc;

use crate::buffer::Buffer;
use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::arrow::abi::{ArrowArray, ArrowSchema};
use crate::exchange::protocol::arrow::field::{children, malformed, unsupported};
use crate::exchange::protocol::arrow::foreign::ForeignStruct;
use crate::exchange::protocol::arrow::import::within;
use crate::exchange::protocol::arrow::leaf_column::length;
use crate::exchange::protocol::arrow::table_schema::{read_field, schema_of};
use crate::layout::END_OF_ADDRESSES;
use crate::memory::{Birth, Place};
use crate::table::{Checks, Column, ColumnParts, ColumnType, Field, MAX_COLUMNS, RecordBatch, Storage, VIEW};

/// Imports a column of any type, in place, with its name and type. O(buffers) with
/// [`Checks::Shape`], O(n) with [`Checks::Full`]. The structs are moved, and released when the last
/// handle or lease goes.
///
/// The memory is constant: Read and Pin leases can be taken. The producer is trusted for the size
/// of each buffer, which follows from lengths and offsets, and for nothing else.
///
/// ```
/// use crossdock::Array;
/// use crossdock::exchange::protocol::arrow;
/// use crossdock::table::{Checks, Column, Field};
///
/// let column = Column::from_array(Array::from_vec(vec![1i64, 2, 3], [3])?)?;
/// let field = Field::new("count", column.column_type().clone())?;
/// let (mut schema, mut array) = arrow::export_column(&field, &column.slice(1..)?)?.into_raw();
/// // SAFETY: just exported, and not consumed yet.
/// let (same, imported) = unsafe { arrow::import_column(&mut schema, &mut array, Checks::Full) }?;
/// assert_eq!((same, imported.len(), imported.offset()), (field, 2, 1));
/// assert_eq!(imported.buffers()[0].as_ptr(), column.buffers()[0].as_ptr());
/// # Ok::<(), crossdock::Error>(())
/// ```
///
/// # Errors
///
/// `is_malformed` for null pointers, negative numbers, released structs, and parts that contradict
/// the type; `is_unsupported` for unknown types, and too many parts or levels; `is_bounds`,
/// `is_overflow` and `is_value` as [`Column::new`]. Both structs are released then, too.
///
/// # Safety
///
/// The clauses of [`take_over`](super::take_over).
pub unsafe fn import_column(
    schema: *mut ArrowSchema,
    array: *mut ArrowArray,
    checks: Checks,
) -> Result<(Field, Column)> {
    // SAFETY: `# Safety`: `schema` is null, or points to a struct that was released or meets
    // ForeignStruct 1.
    let schema = unsafe { ForeignStruct::moved_from(schema) };
    // SAFETY: `# Safety`: `array` is null, or points to a struct that was released or meets
    // ForeignStruct 1.
    let array = unsafe { ForeignStruct::moved_from(array) };
    let imported = schema.and_then(|schema| {
        let (field, array) = (read_field(&schema)?, array?);
        let column = column_of(&field, array, checks)?;
        Ok((field, column))
    });
    imported.map_err(within)
}

/// Imports a batch, in place: a struct of columns without nulls. As [`import_column`].
///
/// # Errors
///
/// As [`import_column`]; `is_unsupported` if the column is no struct; `is_value` if it has nulls.
///
/// # Safety
///
/// The clauses of [`take_over`](super::take_over).
pub unsafe fn import_batch(
    schema: *mut ArrowSchema,
    array: *mut ArrowArray,
    checks: Checks,
) -> Result<RecordBatch> {
    // SAFETY: the clauses of `# Safety` are those of `import_column`.
    let (field, column) = unsafe { import_column(schema, array, checks) }?;
    batch_of(&field, column).map_err(within)
}

/// A struct without nulls as a batch. O(columns).
pub(super) fn batch_of(field: &Field, column: Column) -> Result<RecordBatch> {
    let schema = schema_of(field)?;
    let nulls = column.null_count()?;
    if nulls != 0 {
        return Err(Error::new(
            Kind::Value,
            format!("{nulls} of {} rows of the batch are null", column.len()),
        ));
    }
    let (start, len) = (column.offset(), column.len());
    let mut columns = column.into_children();
    for child in &mut columns {
        if (start, len) != (0, child.len()) {
            *child = child.slice(start..start + len)?;
        }
    }
    RecordBatch::new(schema, columns, len)
}

/// A column of a known type.
pub(super) fn column_of(field: &Field, array: ForeignStruct<ArrowArray>, checks: Checks) -> Result<Column> {
    column_on(field, array, Place::CPU, checks)
}

/// A column of a known type, whose buffers are memory of this place.
pub(super) fn column_on(
    field: &Field,
    array: ForeignStruct<ArrowArray>,
    place: Place,
    checks: Checks,
) -> Result<Column> {
    let keep = Arc::new(array);
    let import = TableImport { keep: &keep, place };
    // SAFETY: ForeignStruct 1: `keep` holds the column unreleased, and it follows the specification
    // (clauses 1 and 2 of `TableImport::column`).
    let column = unsafe { import.column(field.column_type(), keep.get()) }?;
    column.check(checks)?;
    Ok(column)
}

/// The columns that an import leaves out: the name of each, and why.
pub(super) type RefusedColumns = Vec<(String, Error)>;

/// Some of the children of a struct, with these numbers, as a column of `field`. With `skips`, the
/// children that cannot be imported are left out of both, and returned with the errors.
pub(super) fn children_of(
    field: &Field,
    kept: &[usize],
    array: ForeignStruct<ArrowArray>,
    checks: Checks,
    skips: bool,
) -> Result<(Field, Column, RefusedColumns)> {
    let keep = Arc::new(array);
    let import = TableImport { keep: &keep, place: Place::CPU };
    let array = keep.get();
    let (len, offset) = import.window(array)?;
    // SAFETY: ForeignStruct 1: `keep` holds the column unreleased, and it follows the
    // specification.
    let pointers = unsafe { import.pointers(array, field.column_type()) }?;
    let validity = import.validity(array, pointers[0], len + offset)?;
    // SAFETY: ForeignStruct 1: `children` is null or points to `n_children` pointers, which stay
    // unchanged until the release.
    let pointers = unsafe { children(array.n_children, array.children, "array", MAX_COLUMNS) }?;
    let (mut fields, mut below, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    for (field, &k) in field.column_type().fields().zip(kept) {
        let child = pointers.get(k).ok_or_else(|| malformed(format!("its array has no child {k}")));
        let column = child.and_then(|&child| {
            // SAFETY: ForeignStruct 1: a pointer to a child is null, or points to a struct that
            // lives as long as its parent.
            let child = unsafe { child.as_ref() }.filter(|child| child.release.is_some());
            let child =
                child.ok_or_else(|| malformed(format!("child {k} of its array is null or released")))?;
            // SAFETY: clause 1 of `column`: the child belongs to `keep` and was not released (the
            // filter above). Clause 2: it belongs to a column that follows the specification.
            let column = unsafe { import.column(field.column_type(), child) }?;
            if column.len() < len + offset {
                let text = format!("it has {} elements, but the batch {}", column.len(), len + offset);
                return Err(malformed(text));
            }
            column.check(checks)?;
            Ok(column)
        });
        match column.map_err(|error| error.within(format_args!("column {:?}", field.name()))) {
            Ok(column) => {
                fields.push(field.clone());
                below.push(column);
            }
            Err(error) if skips => refused.push((field.name().to_owned(), error)),
            Err(error) => return Err(error),
        }
    }
    let ty = ColumnType::Struct(fields.into());
    let field = Field::new(field.name(), ty.clone())?.with_metadata(field.metadata().clone());
    let parts = ColumnParts { len, offset, validity, children: below, ..ColumnParts::default() };
    Ok((field, Column::new(ty, parts, Checks::Shape)?, refused))
}

/// Imports a column and those below it, which one struct keeps alive.
struct TableImport<'a> {
    keep: &'a Arc<ForeignStruct<ArrowArray>>,
    place: Place,
}

impl TableImport<'_> {
    /// # Safety
    ///
    /// 1. `array` is `self.keep`, or below it, and was not released.
    /// 2. It follows the specification.
    unsafe fn column(&self, ty: &ColumnType, array: &ArrowArray) -> Result<Column> {
        let (len, offset) = self.window(array)?;
        let end = len + offset;
        // SAFETY: clauses 1 and 2 of `# Safety`.
        let pointers = unsafe { self.pointers(array, ty) }?;
        let (validity, pointers) = match ty.has_validity() {
            true => (self.validity(array, pointers[0], end)?, &pointers[1..]),
            false => (None, pointers),
        };
        // SAFETY: clauses 1 and 2 of `# Safety`.
        let buffers = unsafe { self.buffers(ty, pointers, end) }?;
        // SAFETY: clauses 1 and 2 of `# Safety`.
        let (children, dictionary) = unsafe { self.below(ty, array) }?;
        let parts = ColumnParts { len, offset, validity, buffers, children, dictionary };
        Column::new(ty.clone(), parts, Checks::Shape)
    }

    /// The length and the offset, whose sum is an index.
    fn window(&self, array: &ArrowArray) -> Result<(usize, usize)> {
        let len = length(array)?;
        let offset = usize::try_from(array.offset)
            .map_err(|_| malformed(format!("its offset is {}, which is negative", array.offset)))?;
        match len.checked_add(offset).filter(|&end| end < isize::MAX as usize) {
            Some(_) => Ok((len, offset)),
            None => Err(Error::new(
                Kind::Overflow,
                format!("{len} elements from element {offset} on exceed the address space"),
            )),
        }
    }

    /// The addresses of the buffers, as many as the type requires or more.
    ///
    /// # Safety
    ///
    /// The clauses of [`TableImport::column`].
    unsafe fn pointers<'b>(&self, array: &'b ArrowArray, ty: &ColumnType) -> Result<&'b [*const c_void]> {
        let (count, variadic) = ty.storage().buffer_count();
        let wanted = count + usize::from(ty.has_validity()) + usize::from(variadic);
        let found = usize::try_from(array.n_buffers).ok().filter(|&found| found <= MAX_COLUMNS);
        // Polars gives nulls a validity bitmap, as Arrow once had it.
        let more = variadic || *ty == ColumnType::Null && found == Some(1);
        let found = found.filter(|&found| found == wanted || more && found > wanted).ok_or_else(|| {
            let at_least = if variadic { "at least " } else { "" };
            malformed(format!("it has {} buffers, but {ty} requires {at_least}{wanted}", array.n_buffers))
        })?;
        if found == 0 {
            return Ok(&[]);
        }
        if array.buffers.is_null() || !array.buffers.is_aligned() {
            let text =
                format!("the pointer to its {found} buffers, {:p}, is null or not aligned", array.buffers);
            return Err(malformed(text));
        }
        // SAFETY: clauses 1 and 2 of `# Safety`: the column was not released, so `buffers` points
        // to `n_buffers` pointers, unchanged until then; it is not null and aligned (checked
        // above).
        Ok(unsafe { std::slice::from_raw_parts(array.buffers, found) })
    }

    /// The bitmap, unless the producer announces a column without nulls.
    fn validity(&self, array: &ArrowArray, pointer: *const c_void, end: usize) -> Result<Option<Buffer>> {
        let (nulls, length) = (array.null_count, array.length);
        if nulls < -1 || nulls > length {
            return Err(malformed(format!("it has {nulls} nulls among {length} elements")));
        }
        if nulls == 0 || pointer.is_null() && nulls == -1 {
            return Ok(None);
        }
        if pointer.is_null() {
            return Err(malformed(format!("it has {nulls} nulls, but no validity bitmap")));
        }
        self.buffer(pointer, end.div_ceil(8)).map(Some)
    }

    /// The buffers of the type, without validity.
    ///
    /// # Safety
    ///
    /// The clauses of [`TableImport::column`], for the column of these pointers; `end` is its
    /// length and offset together.
    unsafe fn buffers(&self, ty: &ColumnType, pointers: &[*const c_void], end: usize) -> Result<Vec<Buffer>> {
        let sized = |index: usize, nbytes: usize| self.buffer(pointers[index], nbytes);
        if !self.place.is_host() && matches!(ty.storage(), Storage::Bytes(..) | Storage::Views(_)) && end > 0
        {
            return Err(unsupported(format!(
                "the CPU cannot read on {} how many bytes elements of type {ty} have; copy the column to the CPU",
                self.place
            )));
        }
        Ok(match ty.storage() {
            Storage::Null | Storage::FixedList(_) | Storage::Struct | Storage::RunEnds => vec![],
            Storage::Bits => vec![sized(0, end.div_ceil(8))?],
            Storage::Fixed(nbytes) => vec![sized(0, times(end, nbytes)?)?],
            Storage::List(width) => vec![self.offsets(pointers[0], end, width.nbytes())?],
            Storage::ListView(width) => {
                let nbytes = times(end, width.nbytes())?;
                vec![sized(0, nbytes)?, sized(1, nbytes)?]
            }
            Storage::Bytes(width, _) => {
                let offsets = self.offsets(pointers[0], end, width.nbytes())?;
                let last = match offsets.nbytes() {
                    // Without elements no offset is followed.
                    _ if end == 0 => 0,
                    0 => 0,
                    nbytes => last_offset(&offsets.read()?[nbytes - width.nbytes()..])?,
                };
                vec![offsets, sized(1, last)?]
            }
            Storage::Views(_) => {
                let (count, sizes) = (pointers.len() - 2, pointers[pointers.len() - 1]);
                let sizes = self.buffer(sizes, times(count, size_of::<i64>())?)?;
                let mut buffers = vec![sized(0, times(end, VIEW)?)?];
                for (k, size) in sizes.read()?.chunks_exact(size_of::<i64>()).enumerate() {
                    buffers.push(sized(1 + k, last_offset(size)?)?);
                }
                buffers
            }
            Storage::Union(_) => {
                let mut buffers = vec![sized(0, end)?];
                if pointers.len() > 1 {
                    buffers.push(sized(1, times(end, size_of::<i32>())?)?);
                }
                buffers
            }
        })
    }

    /// Offsets, which a column without elements may lack.
    fn offsets(&self, pointer: *const c_void, end: usize, nbytes: usize) -> Result<Buffer> {
        let count = if end == 0 && pointer.is_null() { 0 } else { end + 1 };
        self.buffer(pointer, times(count, nbytes)?)
    }

    /// One buffer, which keeps the producer's struct alive.
    fn buffer(&self, pointer: *const c_void, nbytes: usize) -> Result<Buffer> {
        let pointer = pointer.cast::<u8>().cast_mut();
        if pointer.is_null() && nbytes != 0 {
            return Err(malformed(format!("the pointer to a buffer of {nbytes} bytes is null")));
        }
        if pointer.addr().checked_add(nbytes).is_none_or(|end| end > END_OF_ADDRESSES) {
            let text = format!("{nbytes} bytes at address {pointer:p} exceed the address space");
            return Err(Error::new(Kind::Overflow, text));
        }
        let keep = self.keep.clone();
        // SAFETY: the interface (ForeignStruct 1): the buffers of a column that was not released
        // have the sizes that its type, length, offset and offsets require, in memory of
        // `self.place`, initialised and constant until the release, which `keep` puts off.
        let buffer = unsafe {
            Buffer::from_foreign(pointer, nbytes, self.place, Birth::Constant, move || drop(keep))
        }?;
        buffer.handle().header().mark_promised();
        Ok(buffer)
    }

    /// The children and the dictionary.
    ///
    /// # Safety
    ///
    /// The clauses of [`TableImport::column`].
    unsafe fn below(&self, ty: &ColumnType, array: &ArrowArray) -> Result<(Vec<Column>, Option<Column>)> {
        // SAFETY: clauses 1 and 2 of `# Safety`: `children` is null or points to `n_children`
        // pointers, which stay unchanged until the release.
        let pointers = unsafe { children(array.n_children, array.children, "array", MAX_COLUMNS) }?;
        let is_dictionary = matches!(ty, ColumnType::Dictionary { .. });
        if is_dictionary == array.dictionary.is_null() {
            let has = if is_dictionary { "no" } else { "a" };
            return Err(malformed(format!("it has {has} dictionary, unlike {ty}")));
        }
        let wanted = ty.fields().count() - usize::from(is_dictionary);
        if pointers.len() != wanted {
            return Err(malformed(format!("it has {} children, but {ty} requires {wanted}", pointers.len())));
        }
        let (mut below, mut dictionary) = (Vec::with_capacity(pointers.len()), None);
        let pointers = if is_dictionary { &[array.dictionary][..] } else { pointers };
        for (k, (field, &child)) in ty.fields().zip(pointers).enumerate() {
            // SAFETY: clause 2 of `# Safety`: a pointer to a child is null, or points to a struct
            // that lives as long as its parent.
            let child = unsafe { child.as_ref() }.filter(|child| child.release.is_some());
            let child =
                child.ok_or_else(|| malformed(format!("child {k} of its array is null or released")))?;
            // SAFETY: clause 1 of `column`: the child belongs to `array` and was not released (the
            // filter above). Clause 2: it belongs to a column that follows the specification.
            let column = unsafe { self.column(field.column_type(), child) };
            let column = column.map_err(|error| error.within(format_args!("column {:?}", field.name())))?;
            if is_dictionary { dictionary = Some(column) } else { below.push(column) }
        }
        Ok((below, dictionary))
    }
}

/// A number of bytes: an offset or a size, of 32 or 64 bits.
fn last_offset(bytes: &[u8]) -> Result<usize> {
    let number = match *bytes {
        [a, b, c, d] => i64::from(i32::from_ne_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => i64::from_ne_bytes([a, b, c, d, e, f, g, h]),
        _ => -1,
    };
    usize::try_from(number)
        .map_err(|_| malformed(format!("an offset or a size is {number}, which is negative")))
}

fn times(count: usize, nbytes: usize) -> Result<usize> {
    count.checked_mul(nbytes).ok_or_else(|| {
        Error::new(Kind::Overflow, format!("{count} times {nbytes} bytes exceed the address space"))
    })
}
