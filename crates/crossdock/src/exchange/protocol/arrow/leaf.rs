//! The columns of elements at the bottom of lists and structs.

use core::ffi::c_void;
use std::sync::Arc;

use crate::array::DArray;
use crate::buffer::Buffer;
use crate::element::DType;
use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::arrow::abi::ArrowArray;
use crate::exchange::protocol::arrow::column::is_moment;
use crate::exchange::protocol::arrow::field::{Field, FieldKind, children, malformed, unsupported};
use crate::exchange::protocol::arrow::foreign::Foreign;
use crate::exchange::protocol::arrow::validity::{Bits, mask, nulls_are_no_times};
use crate::layout::{Layout, Order};
use crate::memory::{Birth, Place};

/// Elements that lie one after the other.
pub(super) struct Leaf<'a> {
    above: Above<'a>,
    data: *mut u8,
    /// How many elements lie before the first of these.
    first: usize,
    dtype: DType,
}

impl Leaf<'_> {
    pub(super) fn name(&self) -> &str {
        &self.above.name
    }

    /// As an array, which keeps the loan. Null dates and durations are accepted where each of them
    /// is not a time as a number, too.
    ///
    /// # Errors
    ///
    /// `is_value` where elements are null; otherwise as [`Leaf::into_array_of_all`].
    ///
    /// # Safety
    ///
    /// 1. The leaf is of this loan, on this device.
    pub(super) unsafe fn into_array(self, loan: &Arc<Foreign<ArrowArray>>, place: Place) -> Result<DArray> {
        let Some((nulls, rows)) = self.nulls().next() else {
            // SAFETY: clause 1 of `# Safety`: the leaf is of this loan, on this device.
            return unsafe { self.into_array_of_all(loan, place) };
        };
        let levels = self.above.levels.clone();
        let refused = self.named(Error::new(
            Kind::Value,
            format!(
                "{nulls} of {rows} elements are null, which no dtype says: fill them, leave them out, or take the truth values \
                 beside them (`into_array_with_validity`)"
            ),
        ));
        if !is_moment(&self.dtype) {
            return Err(refused);
        }
        // SAFETY: clause 1 of `# Safety`: the leaf is of this loan, on this device.
        let array = unsafe { self.into_array_of_all(loan, place) }?;
        match nulls_are_no_times(&levels, &array.buffer()?.0.read()?) {
            true => Ok(array),
            false => Err(refused),
        }
    }

    /// As an array, with whatever lies where an element is null.
    ///
    /// # Errors
    ///
    /// `is_malformed` for null data with elements; `is_overflow` beyond the address space; `is_unsupported` for more than 64 axes;
    /// `is_out_of_memory`.
    ///
    /// # Safety
    ///
    /// As for [`Leaf::into_array`].
    pub(super) unsafe fn into_array_of_all(
        self,
        loan: &Arc<Foreign<ArrowArray>>,
        place: Place,
    ) -> Result<DArray> {
        let layout = Layout::contiguous(&self.above.shape, self.dtype.itemsize(), Order::RowMajor);
        let begin = layout.and_then(|layout| Ok((self.begin(&layout)?, layout)));
        let (begin, layout) = begin.map_err(|error| self.named(error))?;
        let loan = loan.clone();
        // SAFETY: so many elements are memory of the device, initialised and constant until the loan is given back (Foreign 1); `begin`
        // refused what wraps around.
        let buffer = unsafe {
            Buffer::from_foreign(begin, layout.nbytes(), place, Birth::Constant, move || drop(loan))
        }?;
        DArray::from_buffer(buffer, self.dtype, layout, 0)?.permute(&self.above.order)
    }

    /// Where element 0 lies, from where all of them lie in the address space.
    fn begin(&self, layout: &Layout) -> Result<*mut u8> {
        let (nbytes, itemsize) = (layout.nbytes(), self.dtype.itemsize());
        if nbytes == 0 {
            return Ok(self.data);
        }
        if self.data.is_null() {
            return Err(malformed(format!("its data are null, for {} elements", layout.len())));
        }
        let offset = self.first.checked_mul(itemsize);
        let begin = offset.and_then(|offset| self.data.addr().checked_add(offset));
        match begin.filter(|&begin| layout.span().is_addressable(begin)) {
            Some(begin) => Ok(self.data.with_addr(begin)),
            None => Err(Error::new(
                Kind::Overflow,
                format!(
                    "address {:p} plus {} elements of {itemsize} bytes, and {nbytes} bytes from there, leaves the address space",
                    self.data, self.first
                ),
            )),
        }
    }

    /// Of each bitmap with nulls, how many of how many.
    fn nulls(&self) -> impl Iterator<Item = (usize, usize)> {
        self.above.levels.iter().map(|bits| (bits.nulls(), bits.rows())).filter(|&(nulls, _)| nulls > 0)
    }

    /// A truth value for each element, if any is null.
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

/// What the columns above say of their elements.
#[derive(Clone, Default)]
struct Above<'a> {
    /// The names of the structs' children, with dots between them.
    name: String,
    /// The lengths of the axes, as the elements lie.
    shape: Vec<usize>,
    /// Which of these each axis of the array is.
    order: Vec<usize>,
    /// The bitmaps that were there.
    levels: Vec<Bits<'a>>,
}

impl Above<'_> {
    /// Says in which column an error arose.
    #[cold]
    fn named(&self, error: Error) -> Error {
        match self.name.is_empty() {
            true => error,
            false => error.within(format_args!("its column {:?}", self.name)),
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
/// A column of this type, on this device, which obeys the safety section of [`take_over`](super::take_over) and stays as it is while the
/// leaves are used.
pub(super) unsafe fn leaves<'a>(field: &Field, array: &'a ArrowArray, place: Place) -> Result<Vec<Leaf<'a>>> {
    let len = length(array)?;
    let above = Above { shape: vec![len], order: vec![0], ..Above::default() };
    let mut walk = Walk { place, found: Vec::new() };
    // SAFETY: the caller's word.
    unsafe { walk.visit(field, array, 0, len, above) }?;
    Ok(walk.found)
}

struct Walk<'a> {
    place: Place,
    found: Vec<Leaf<'a>>,
}

impl<'a> Walk<'a> {
    /// Elements `start..start + len` of a column.
    ///
    /// # Safety
    ///
    /// As for [`leaves`].
    unsafe fn visit(
        &mut self,
        field: &Field,
        array: &'a ArrowArray,
        start: usize,
        len: usize,
        mut above: Above<'a>,
    ) -> Result<()> {
        let named = |error| above.named(error);
        // SAFETY: the caller's word.
        let parts = unsafe { Parts::of(field, array) }.map_err(named)?;
        let first = parts.first(start, len).map_err(named)?;
        // SAFETY: the caller's word.
        let bits = unsafe { self.bits(&parts, first, len) }.map_err(named)?;
        above.levels.extend(bits);
        match &field.kind {
            FieldKind::Values(dtype) => {
                let data = parts.buffers.get(1).map_or(std::ptr::null(), |&data| data).cast::<u8>();
                self.found.push(Leaf { data: data.cast_mut(), first, dtype: dtype.clone(), above });
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
                // SAFETY: the caller's word.
                let items = unsafe { child(&parts, 0) }.map_err(|error| above.named(error))?;
                // SAFETY: the caller's word.
                unsafe { self.visit(item, items, start, len, above) }
            }
            FieldKind::Struct(fields) => {
                for (k, field) in fields.iter().enumerate() {
                    // SAFETY: the caller's word.
                    let column = unsafe { child(&parts, k) }.map_err(|error| above.named(error))?;
                    let mut above = above.clone();
                    if !above.name.is_empty() {
                        above.name.push('.');
                    }
                    above.name.push_str(&field.name);
                    // SAFETY: the caller's word.
                    unsafe { self.visit(field, column, first, len, above) }?;
                }
                Ok(())
            }
        }
    }

    /// The bitmap of these elements, unless the producer says that no element of the column is null.
    ///
    /// # Safety
    ///
    /// As for [`leaves`].
    unsafe fn bits(&self, parts: &Parts<'a>, first: usize, len: usize) -> Result<Option<Bits<'a>>> {
        let (nulls, length) = (parts.array.null_count, parts.array.length);
        let bitmap = parts.buffers.first().map_or(std::ptr::null(), |&bitmap| bitmap);
        if nulls < -1 || nulls > length {
            return Err(malformed(format!("it has {nulls} nulls among {length} elements")));
        }
        if nulls == 0 || bitmap.is_null() && nulls == -1 || len == 0 {
            return Ok(None);
        }
        if bitmap.is_null() {
            return Err(malformed(format!("it has {nulls} nulls, and no bitmap that says which")));
        }
        if !self.place.is_host() {
            return Err(unsupported(format!(
                "which of its elements are null is written on {}, where it cannot be read from here: count the nulls there, or \
                 copy the column to the processor",
                self.place
            )));
        }
        let bytes = Layout::contiguous(&[(first % 8 + len).div_ceil(8)], 1, Order::RowMajor)?.span();
        let begin = bitmap.addr().checked_add(first / 8);
        if !begin.is_some_and(|begin| bytes.is_addressable(begin)) {
            let text =
                format!("its bitmap at {bitmap:p}, bits {first}..{first}+{len}, leaves the address space");
            return Err(Error::new(Kind::Overflow, text));
        }
        // SAFETY: the caller's word: a bit for each element of the column, of which these are some.
        Ok(Some(unsafe { Bits::new(bitmap.cast(), first, len) }))
    }
}

/// What a struct points to, once the numbers of it are those of its type.
struct Parts<'a> {
    array: &'a ArrowArray,
    buffers: &'a [*const c_void],
    children: &'a [*mut ArrowArray],
}

impl<'a> Parts<'a> {
    /// # Safety
    ///
    /// As for [`leaves`].
    unsafe fn of(field: &Field, array: &'a ArrowArray) -> Result<Self> {
        let (buffers, below) = match &field.kind {
            FieldKind::Values(_) => (2, 0),
            FieldKind::List { .. } => (1, 1),
            FieldKind::Struct(fields) => (1, fields.len()),
        };
        if array.n_buffers != buffers || array.n_children != below as i64 {
            return Err(malformed(format!(
                "it has {} buffers and {} children, and its type {buffers} and {below}",
                array.n_buffers, array.n_children
            )));
        }
        if !array.dictionary.is_null() {
            return Err(malformed("it has a dictionary, and its type has none"));
        }
        if array.buffers.is_null() {
            return Err(malformed(format!("its buffers are null, and there are {buffers}")));
        }
        if !array.buffers.is_aligned() {
            return Err(malformed(format!(
                "its buffers are listed at {:p}, which is no address of pointers",
                array.buffers
            )));
        }
        // SAFETY: the caller's word.
        let buffers = unsafe { std::slice::from_raw_parts(array.buffers, buffers as usize) };
        // SAFETY: the caller's word.
        let children = unsafe { children(array.n_children, array.children, "array") }?;
        Ok(Self { array, buffers, children })
    }

    /// The first of the elements `start..start + len`, counted as the buffers do.
    fn first(&self, start: usize, len: usize) -> Result<usize> {
        let length = length(self.array)?;
        if start.checked_add(len).is_none_or(|end| end > length) {
            return Err(Error::new(
                Kind::Bounds,
                format!("elements {start}..{start}+{len} are wanted of a column of {length}"),
            ));
        }
        let offset = self.array.offset;
        usize::try_from(offset)
            .map_err(|_| malformed(format!("its offset is {offset}")))?
            .checked_add(start)
            .filter(|first| first.checked_add(len).is_some())
            .ok_or_else(|| too_long(start, len))
    }
}

fn length(array: &ArrowArray) -> Result<usize> {
    usize::try_from(array.length).map_err(|_| malformed(format!("its length is {}", array.length)))
}

/// One of the columns below.
///
/// # Safety
///
/// As for [`leaves`].
unsafe fn child<'a>(parts: &Parts<'a>, k: usize) -> Result<&'a ArrowArray> {
    let child = parts.children.get(k).copied().unwrap_or_default();
    // SAFETY: the caller's word: null, or to a struct that is there as long as the one above it.
    unsafe { child.as_ref() }
        .filter(|child| child.release.is_some())
        .ok_or_else(|| malformed(format!("child {k} of its array is null, or was released")))
}

fn times(elements: usize, size: usize) -> Result<usize> {
    elements.checked_mul(size).ok_or_else(|| too_long(elements, size))
}

#[cold]
fn too_long(elements: usize, more: usize) -> Error {
    let text = format!("{elements} elements, and {more} more or times as many, cannot be addressed");
    Error::new(Kind::Overflow, text)
}
