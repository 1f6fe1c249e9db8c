//! The columns of elements at the bottom of lists and structs.

use core::ffi::c_void;
use std::sync::Arc;

use crate::array::DArray;
use crate::buffer::Buffer;
use crate::element::DType;
use crate::error::{Advice, Error, Kind, Result};
use crate::exchange::protocol::arrow::abi::ArrowArray;
use crate::exchange::protocol::arrow::column::is_moment;
use crate::exchange::protocol::arrow::field::{
    ArrowField, FieldKind, MAX_COLUMNS, children, malformed, unsupported,
};
use crate::exchange::protocol::arrow::foreign::ForeignStruct;
use crate::exchange::protocol::arrow::validity::{ValidityBits, mask, nulls_are_no_times};
use crate::layout::{Layout, Order};
use crate::memory::{Birth, Place};

/// Contiguous elements of a column, all of them in the address space.
pub(super) struct LeafColumn<'a> {
    above: Above<'a>,
    /// The address of element 0.
    begin: *mut u8,
    /// The elements in memory order.
    layout: Layout,
    dtype: DType,
}

impl<'a> LeafColumn<'a> {
    /// The elements from number `first` of `data` on. No bitmap is read before it is known that
    /// there can be so many.
    ///
    /// # Errors
    ///
    /// `is_malformed` for null data with elements; `is_overflow` beyond the address space;
    /// `is_unsupported` for more than 64 axes.
    fn new(data: *mut u8, first: usize, dtype: DType, above: Above<'a>) -> Result<Self> {
        let layout = Layout::contiguous(&above.shape, dtype.itemsize(), Order::RowMajor);
        let begin = layout.and_then(|layout| Ok((begin(data, first, &layout)?, layout)));
        let (begin, layout) = begin.map_err(|error| above.named(error))?;
        Ok(Self { above, begin, layout, dtype })
    }

    pub(super) fn name(&self) -> &str {
        &self.above.name
    }

    /// The leaf as an array, which holds the struct. Null dates and durations are accepted if each
    /// of them is also not a time as a number.
    ///
    /// # Errors
    ///
    /// `is_value` if elements are null; otherwise as [`LeafColumn::into_array_of_all`].
    ///
    /// # Safety
    ///
    /// 1. The leaf is of this struct, on this device.
    pub(super) unsafe fn into_array(
        self,
        foreign: &Arc<ForeignStruct<ArrowArray>>,
        place: Place,
    ) -> Result<DArray> {
        let Some((nulls, rows)) = self.nulls().next() else {
            // SAFETY: clause 1 of `# Safety`: the leaf is of this struct, on this device, which is
            // all that `into_array_of_all` requires.
            return unsafe { self.into_array_of_all(foreign, place) };
        };
        let levels = self.above.levels.clone();
        let refused = self.named(
            Error::new(Kind::Value, format!("{nulls} of {rows} elements are null, which no dtype says"))
                .advising(Advice::NullsBeside),
        );
        if !is_moment(&self.dtype) {
            return Err(refused);
        }
        // SAFETY: clause 1 of `# Safety`: the leaf is of this struct, on this device, which is all
        // that `into_array_of_all` requires.
        let array = unsafe { self.into_array_of_all(foreign, place) }?;
        match nulls_are_no_times(&levels, &array.buffer()?.0.read()?) {
            true => Ok(array),
            false => Err(refused),
        }
    }

    /// The leaf as an array, with arbitrary values for null elements.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`.
    ///
    /// # Safety
    ///
    /// 1. The leaf is of this struct, on this device.
    pub(super) unsafe fn into_array_of_all(
        self,
        foreign: &Arc<ForeignStruct<ArrowArray>>,
        place: Place,
    ) -> Result<DArray> {
        let Self { above, begin, layout, dtype } = self;
        let foreign = foreign.clone();
        // SAFETY: clause 1 of `# Safety`: the leaf is of this struct, so its elements are memory of
        // `place`, initialised and constant until the struct is released (ForeignStruct 1);
        // `ArrayPointers::first` checked their number, and `new` refused what wraps around.
        let buffer = unsafe {
            Buffer::from_foreign(begin, layout.nbytes(), place, Birth::Constant, move || drop(foreign))
        }?;
        buffer.handle().header().mark_promised();
        DArray::from_buffer(buffer, dtype, layout, 0)?.permute(&above.order)
    }

    /// For each bitmap with nulls, the number of nulls and of rows.
    fn nulls(&self) -> impl Iterator<Item = (usize, usize)> {
        self.above.levels.iter().map(|bits| (bits.nulls(), bits.rows())).filter(|&(nulls, _)| nulls > 0)
    }

    /// A boolean for each element, if any is null.
    ///
    /// # Errors
    ///
    /// `is_overflow`; `is_unsupported` for more than 64 axes; `is_out_of_memory`.
    pub(super) fn validity(&self) -> Result<Option<DArray>> {
        if self.nulls().next().is_none() {
            return Ok(None);
        }
        mask(&self.above.levels, &self.above.shape)?.permute(&self.above.order).map(Some)
    }

    #[cold]
    fn named(&self, error: Error) -> Error {
        self.above.named(error)
    }
}

/// The address of element number `first` of `data`, from which all elements are in the address
/// space.
fn begin(data: *mut u8, first: usize, layout: &Layout) -> Result<*mut u8> {
    let (nbytes, itemsize) = (layout.nbytes(), layout.itemsize());
    if nbytes == 0 {
        return Ok(data);
    }
    if data.is_null() {
        return Err(malformed(format!("its data pointer is null, but it has {} elements", layout.len())));
    }
    let offset = first.checked_mul(itemsize);
    let begin = offset.and_then(|offset| data.addr().checked_add(offset));
    match begin.filter(|&begin| layout.span().is_addressable(begin)) {
        Some(begin) => Ok(data.with_addr(begin)),
        None => Err(Error::new(
            Kind::Overflow,
            format!(
                "{nbytes} bytes at address {data:p} plus {first} elements of {itemsize} bytes exceed the \
                address space"
            ),
        )),
    }
}

/// What the parent columns determine about a leaf's elements.
#[derive(Clone, Default)]
struct Above<'a> {
    /// The names of the structs' children, joined by dots.
    name: String,
    /// The lengths of the axes, in memory order.
    shape: Vec<usize>,
    /// For each axis of the array, its number in memory order.
    order: Vec<usize>,
    /// The bitmaps found so far.
    levels: Vec<ValidityBits<'a>>,
}

impl Above<'_> {
    /// Adds the column's name to an error.
    #[cold]
    fn named(&self, error: Error) -> Error {
        match self.name.is_empty() {
            true => error,
            false => error.within(format_args!("column {:?}", self.name)),
        }
    }
}

/// The leaves of a column, in the order of the schema.
///
/// # Errors
///
/// As [`Imported::into_array`](super::Imported::into_array).
///
/// # Safety
///
/// 1. `array` is a column of the type `field`, on `place`.
/// 2. It meets the clauses of [`take_over`](super::take_over).
/// 3. It is not released, and stays unchanged, while the leaves are used.
pub(super) unsafe fn leaves<'a>(
    field: &ArrowField,
    array: &'a ArrowArray,
    place: Place,
) -> Result<Vec<LeafColumn<'a>>> {
    let len = length(array)?;
    let above = Above { shape: vec![len], order: vec![0], ..Above::default() };
    let mut walk = LeafWalk { place, found: Vec::new() };
    // SAFETY: clauses 1 to 3 of `# Safety` are those of `visit`, for the same column, type and
    // place.
    unsafe { walk.visit(field, array, 0, len, above) }?;
    Ok(walk.found)
}

struct LeafWalk<'a> {
    place: Place,
    found: Vec<LeafColumn<'a>>,
}

impl<'a> LeafWalk<'a> {
    /// Visits elements `start..start + len` of a column.
    ///
    /// # Safety
    ///
    /// The clauses of [`leaves`], for `field` and `array`.
    unsafe fn visit(
        &mut self,
        field: &ArrowField,
        array: &'a ArrowArray,
        start: usize,
        len: usize,
        mut above: Above<'a>,
    ) -> Result<()> {
        let named = |error| above.named(error);
        // SAFETY: `# Safety`: `array` is a column of the type `field` that meets the clauses of
        // `leaves`.
        let parts = unsafe { ArrayPointers::of(field, array) }.map_err(named)?;
        let first = parts.first(start, len).map_err(named)?;
        // SAFETY: `# Safety`: `parts` are those of `array`, which meets the clauses of `leaves`;
        // `ArrayPointers::first` found `first..first + len` within the column.
        let bits = unsafe { self.bits(&parts, first, len) }.map_err(named)?;
        above.levels.extend(bits);
        match &field.kind {
            FieldKind::Values(dtype) => {
                let data = parts.buffers.get(1).map_or(std::ptr::null(), |&data| data).cast::<u8>();
                self.found.push(LeafColumn::new(data.cast_mut(), first, dtype.clone(), above)?);
                Ok(())
            }
            FieldKind::List { len: size, tensor, item } => {
                let (start, len) = (times(first, *size)?, times(len, *size)?);
                let axes = above.shape.len();
                above.shape.extend(tensor.shape());
                match tensor.permutation() {
                    Some(axes_of) => above.order.extend(axes_of.iter().map(|axis| axes + axis)),
                    None => above.order.extend(axes..above.shape.len()),
                }
                // SAFETY: clauses 2 and 3 of `leaves`: `parts` are those of `array`, whose pointers
                // to children stay unchanged.
                let items = unsafe { child(&parts, 0) }.map_err(|error| above.named(error))?;
                // SAFETY: clause 2 of `leaves`: `items` is the child of a list, so it is a column
                // of the type `item` and meets the clauses, too.
                unsafe { self.visit(item, items, start, len, above) }
            }
            FieldKind::Struct(fields) => {
                for (k, field) in fields.iter().enumerate() {
                    // SAFETY: clauses 2 and 3 of `leaves`: `parts` are those of `array`, whose
                    // pointers to children stay unchanged.
                    let column = unsafe { child(&parts, k) }.map_err(|error| above.named(error))?;
                    let mut above = above.clone();
                    if !above.name.is_empty() {
                        above.name.push('.');
                    }
                    above.name.push_str(&field.name);
                    // SAFETY: clause 2 of `leaves`: `column` is child `k` of a struct, so it is a
                    // column of the type of field `k` and meets the clauses, too.
                    unsafe { self.visit(field, column, first, len, above) }?;
                }
                Ok(())
            }
        }
    }

    /// The bitmap of these elements, unless the producer announces a column without nulls.
    ///
    /// # Safety
    ///
    /// 1. `parts` are those of a column that meets the clauses of [`leaves`].
    /// 2. Elements `first..first + len`, counted as the buffers do, are within the column.
    unsafe fn bits(
        &self,
        parts: &ArrayPointers<'a>,
        first: usize,
        len: usize,
    ) -> Result<Option<ValidityBits<'a>>> {
        let (nulls, length) = (parts.array.null_count, parts.array.length);
        let bitmap = parts.buffers.first().map_or(std::ptr::null(), |&bitmap| bitmap);
        if nulls < -1 || nulls > length {
            return Err(malformed(format!("it has {nulls} nulls among {length} elements")));
        }
        if nulls == 0 || bitmap.is_null() && nulls == -1 || len == 0 {
            return Ok(None);
        }
        if bitmap.is_null() {
            return Err(malformed(format!("it has {nulls} nulls, but no validity bitmap")));
        }
        if !self.place.is_host() {
            let text = format!("its validity bitmap is on {}, where the CPU cannot read it", self.place);
            return Err(unsupported(text).advising(Advice::CopyToCpu));
        }
        let bytes = Layout::contiguous(&[(first % 8 + len).div_ceil(8)], 1, Order::RowMajor)?.span();
        let begin = bitmap.addr().checked_add(first / 8);
        if !begin.is_some_and(|begin| bytes.is_addressable(begin)) {
            let text = format!(
                "bits {first}..{first}+{len} of its validity bitmap at {bitmap:p} exceed the address \
                    space"
            );
            return Err(Error::new(Kind::Overflow, text));
        }
        // SAFETY: clauses 1 and 2 of `# Safety`: the bitmap has a bit for each element of the
        // column, these among them, and stays constant. It is not null, on the host and in the
        // address space (checked above).
        Ok(Some(unsafe { ValidityBits::new(bitmap.cast(), first, len) }))
    }
}

/// The arrays of pointers of a struct, whose lengths were compared with its type.
struct ArrayPointers<'a> {
    array: &'a ArrowArray,
    buffers: &'a [*const c_void],
    children: &'a [*mut ArrowArray],
}

impl<'a> ArrayPointers<'a> {
    /// # Safety
    ///
    /// The clauses of [`leaves`], for `field` and `array`.
    unsafe fn of(field: &ArrowField, array: &'a ArrowArray) -> Result<Self> {
        let (buffers, below) = match &field.kind {
            FieldKind::Values(_) => (2, 0),
            FieldKind::List { .. } => (1, 1),
            FieldKind::Struct(fields) => (1, fields.len()),
        };
        if array.n_buffers != buffers || array.n_children != below as i64 {
            return Err(malformed(format!(
                "it has {} buffers and {} children, but its type requires {buffers} and {below}",
                array.n_buffers, array.n_children
            )));
        }
        if !array.dictionary.is_null() {
            return Err(malformed("it has a dictionary, but its type has none"));
        }
        if array.buffers.is_null() {
            return Err(malformed(format!("it has {buffers} buffers, but the pointer to them is null")));
        }
        if !array.buffers.is_aligned() {
            return Err(malformed(format!(
                "the pointer to its buffers, {:p}, is not aligned",
                array.buffers
            )));
        }
        // SAFETY: clauses 2 and 3 of `leaves`: `array.buffers` points to `n_buffers` pointers,
        // which is `buffers` (checked above); it is not null and aligned (checked above).
        let buffers = unsafe { std::slice::from_raw_parts(array.buffers, buffers as usize) };
        // SAFETY: clauses 2 and 3 of `leaves`: `array.children` is null or points to `n_children`
        // pointers, which stay unchanged for `'a`.
        let children = unsafe { children(array.n_children, array.children, "array", MAX_COLUMNS) }?;
        Ok(Self { array, buffers, children })
    }

    /// The index in the buffers of the first of the elements `start..start + len`.
    fn first(&self, start: usize, len: usize) -> Result<usize> {
        let length = length(self.array)?;
        if start.checked_add(len).is_none_or(|end| end > length) {
            return Err(Error::new(
                Kind::Bounds,
                format!("elements {start}..{start}+{len} are out of bounds for a column of length {length}"),
            ));
        }
        let offset = self.array.offset;
        usize::try_from(offset)
            .map_err(|_| malformed(format!("its offset is {offset}, which is negative")))?
            .checked_add(start)
            .filter(|first| first.checked_add(len).is_some())
            .ok_or_else(|| too_long(start, len))
    }
}

pub(super) fn length(array: &ArrowArray) -> Result<usize> {
    usize::try_from(array.length)
        .map_err(|_| malformed(format!("its length is {}, which is negative", array.length)))
}

/// A child column.
///
/// # Safety
///
/// `parts` are those of a column that meets the clauses of [`leaves`].
unsafe fn child<'a>(parts: &ArrayPointers<'a>, k: usize) -> Result<&'a ArrowArray> {
    let child = parts.children.get(k).copied().unwrap_or_default();
    // SAFETY: `# Safety`, clause 2 of `leaves`: a pointer to a child is null, or points to a struct
    // that lives as long as its parent.
    unsafe { child.as_ref() }
        .filter(|child| child.release.is_some())
        .ok_or_else(|| malformed(format!("child {k} of its array is null or released")))
}

fn times(elements: usize, size: usize) -> Result<usize> {
    elements.checked_mul(size).ok_or_else(|| too_long(elements, size))
}

#[cold]
fn too_long(elements: usize, more: usize) -> Error {
    let text = format!("{elements} and {more} elements exceed the address space");
    Error::new(Kind::Overflow, text)
}
