//! Indirect arrays: rows at arbitrary addresses, reached through a table of pointers.
//!
//! Reasons: `DESIGN.md`, "An indirect array has one table".

use std::mem::ManuallyDrop;

use crate::array::from_memory::check_itemsize;
use crate::array::{DArray, RawArray};
use crate::buffer::Buffer;
use crate::element::{DType, Element};
use crate::error::{Error, Kind, Result, try_with_capacity};
use crate::kernel;
use crate::layout::{AxisSlice, Indirection, Layout, Order, RangeSemantics};
use crate::memory::{Birth, Place};

/// Pointers to rows: the raw parts of a vector.
///
/// # Invariants
///
/// 1. `ptr`, `len` and `capacity` are the parts of one vector, which this value owns.
struct RowPointers {
    ptr: *mut *mut u8,
    len: usize,
    capacity: usize,
}

// SAFETY: the table owns its vector (RowPointers 1) and never follows the pointers in it; access to
// the rows is covered by leases (Header 5).
unsafe impl Send for RowPointers {}

impl RowPointers {
    fn new(pointers: Vec<*mut u8>) -> Self {
        let mut pointers = ManuallyDrop::new(pointers);
        Self { ptr: pointers.as_mut_ptr(), len: pointers.len(), capacity: pointers.capacity() }
    }
}

impl Drop for RowPointers {
    fn drop(&mut self) {
        // SAFETY: the fields are the parts of one vector that this value owns (RowPointers 1), and
        // `drop` runs once.
        drop(unsafe { Vec::from_raw_parts(self.ptr, self.len, self.capacity) });
    }
}

impl DArray {
    /// Rows of equal length as one array of two axes, zero-copy: the first axis follows a table of
    /// pointers to the rows (`suboffsets` in PEP 3118). O(rows), for the table.
    ///
    /// Slices are views if suboffsets can express them, and one row is a direct array.
    /// [`DArray::to_order`] copies it to one block.
    ///
    /// ```
    /// use crossdock::layout::Order;
    /// use crossdock::{Array, DArray, s};
    ///
    /// let array = DArray::from_rows(vec![vec![1, 2, 3], vec![4, 5, 6]])?;
    /// assert_eq!(array.get(&[1, 2])?.as_i64(), Some(6));
    /// let row = Array::<i32, 1>::try_from(array.slice(s![1, ..;-1])?)?; // in place
    /// assert_eq!(row.read()?.to_vec(), [6, 5, 4]);
    /// assert!(array.to_order(Order::RowMajor)?.layout().suboffsets().is_none());
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_shape` if the rows differ in length; `is_out_of_memory`.
    pub fn from_rows<T: Element>(mut rows: Vec<Vec<T>>) -> Result<Self> {
        let len = rows.first().map_or(0, Vec::len);
        if let Some((index, row)) = rows.iter().enumerate().find(|(_, row)| row.len() != len) {
            let text = format!(
                "row {index} has {} elements, but row 0 has {len}; all rows must have the same length",
                row.len()
            );
            return Err(Error::new(Kind::Shape, text));
        }
        let shape = [rows.len(), len];
        let mut pointers = try_with_capacity(rows.len())?;
        pointers.extend(rows.iter_mut().map(|row| row.as_mut_ptr().cast::<u8>()));
        let strides = [size_of::<*mut u8>() as isize, size_of::<T>() as isize];
        let layout = Layout::with_suboffsets(&shape, &strides, &[Some(0), None], size_of::<T>())?;
        // SAFETY: 1. `pointers` has `rows.len()` entries, and `layout` gives the second to last
        // axis suboffset 0; 2. each leads to the heap block of one row, of `len` initialised
        // elements, which the closure keeps alive and untouched; `rows` is its only owner; 3.
        // `layout` was made for `size_of::<T>()` (Element 1).
        unsafe { Self::over_table(pointers, T::dtype(), layout, Birth::Sole, move || drop(rows)) }
    }

    /// Adopts an indirect array of another library: PEP 3118's `suboffsets`, at any rank. `release`
    /// is called exactly once: when the last holder is dropped, on any thread, or before this
    /// returns an error.
    ///
    /// This call follows the pointers once and copies the addresses of the rows to a new table, so
    /// the producer cannot change them later. O(pointers); no element is copied.
    ///
    /// # Errors
    ///
    /// `is_dtype` if dtype and layout have different item sizes; `is_malformed` for a null pointer
    /// on the way to an element, with the index; `is_overflow`, `is_out_of_memory`.
    ///
    /// # Safety
    ///
    /// 1. During the call, the pointers that the layout follows from `ptr` may be read, and lead on
    ///    as the layout describes.
    /// 2. Until `release` is called, the bytes from the lowest to the highest element behind each
    ///    pointer are initialised and valid for reads, and for writes unless `birth` is `Constant`.
    /// 3. `birth` describes other accesses to them, as for [`Buffer::from_foreign`].
    pub unsafe fn from_indirect(
        ptr: *const u8,
        dtype: DType,
        layout: &Layout,
        birth: Birth,
        release: impl FnOnce() + Send + 'static,
    ) -> Result<Self> {
        let release = RowsRelease(Some(release));
        check_itemsize(&dtype, layout)?;
        // SAFETY: clause 1 of `# Safety`: during this call the pointers that `layout` follows from
        // `ptr` may be read, and lead on as it describes.
        let (pointers, layout) = unsafe { flattened(ptr.cast_mut(), layout) }?;
        // SAFETY: 1. `flattened` returned `layout` for `pointers`; 2. they lead to the elements of
        // clauses 2 and 3 of `# Safety`, which live until `release` is called; 3. `check_itemsize`
        // found equal item sizes, which `flattened` keeps.
        unsafe { Self::over_table(pointers, dtype, layout, birth, move || drop(release)) }
    }

    /// # Safety
    ///
    /// 1. `layout` is that of `pointers` in row-major order, which its last axis with a suboffset,
    ///    0, follows. Without elements it has no suboffsets.
    /// 2. The elements behind each pointer satisfy clauses 2 and 3 of [`DArray::from_indirect`].
    /// 3. `dtype` has the item size of `layout`.
    unsafe fn over_table(
        pointers: Vec<*mut u8>,
        dtype: DType,
        layout: Layout,
        birth: Birth,
        release: impl FnOnce() + Send + 'static,
    ) -> Result<Self> {
        let table = RowPointers::new(pointers);
        let (start, nbytes) = (table.ptr.cast::<u8>(), table.len * size_of::<*mut u8>());
        let keep = move || {
            release();
            drop(table);
        };
        // SAFETY: the table has `nbytes` initialised bytes, which no code writes: safe code reaches
        // only the elements behind it (RawArray 1 and 3). The closure keeps table and elements
        // alive until it is called.
        let buffer = unsafe { Buffer::from_foreign(start, nbytes, Place::CPU, birth, keep) }?;
        let raw = RawArray::new(buffer, 0, layout.span())?;
        // SAFETY: 1. `RawArray::new` checked the span in the table, and the pointers lead to the
        // elements (clauses 1 and 2 of `# Safety`); 2. `dtype` has the item size of `layout`
        // (clause 3 of `# Safety`).
        Ok(unsafe { Self::from_raw(raw, dtype, layout) })
    }

    /// A slice of an indirect array, as a view if possible. It may follow a pointer now.
    #[cold]
    pub(super) fn slice_indirect(&self, axes: &[AxisSlice], reading: RangeSemantics) -> Result<Self> {
        let (layout, indirection) = self.layout().slice_following(axes, reading)?;
        Ok(self.along(layout, indirection))
    }

    fn along(&self, layout: Layout, indirection: Indirection) -> Self {
        let mut at = self.raw().ptr().as_ptr();
        for distance in indirection.distances {
            // SAFETY: `slice_following` made the indirection for this array's layout, so `distance`
            // leads to a pointer of its table (DArray 1), which is never written (RawArray 3).
            at = unsafe { kernel::dereference(at.wrapping_offset(distance)) };
        }
        // SAFETY: `layout` and `indirection` are one result of `slice_following` on this array's
        // layout, and `at` is the end of the indirection's pointers.
        let raw = unsafe { self.raw().at(at.wrapping_offset(indirection.offset)) };
        // SAFETY: 1. `layout` belongs to the address at which `raw` lies, the end of the way; 2. a
        // slice keeps the item size (DArray 2).
        unsafe { Self::from_raw(raw, self.dtype().clone(), layout) }
    }

    /// Whether elements are reached through pointers: the layout has suboffsets.
    #[inline]
    pub fn is_indirect(&self) -> bool {
        self.layout().suboffsets().is_some()
    }
}

/// Calls the closure when it is dropped.
struct RowsRelease<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> Drop for RowsRelease<F> {
    fn drop(&mut self) {
        if let Some(release) = self.0.take() {
            release();
        }
    }
}

/// Flattens all pointer tables into one, with an entry for each index of the axes up to the last
/// that dereferences.
///
/// # Safety
///
/// The pointers that the layout follows from `ptr` may be read during the call, and lead on as the
/// layout describes.
unsafe fn flattened(ptr: *mut u8, layout: &Layout) -> Result<(Vec<*mut u8>, Layout)> {
    let (shape, itemsize) = (layout.shape(), layout.itemsize());
    let Some(last) = layout.indirect_axes().checked_sub(1).filter(|_| !shape.contains(&0)) else {
        if layout.is_empty() {
            return Ok((Vec::new(), Layout::contiguous(shape, itemsize, Order::RowMajor)?));
        }
        return Err(Error::new(
            Kind::Layout,
            format!(
                "the layout of shape {shape:?} has no suboffsets, so it follows no pointers; create a \
                buffer of the memory instead"
            ),
        ));
    };
    let outer = &shape[..=last];
    let count = outer.iter().product();
    let mut pointers = try_with_capacity(count)?;
    let mut index = vec![0; shape.len()];
    let pointed = Layout::scalar(size_of::<*mut u8>()).span();
    let row = Layout::new(&shape[last + 1..], &layout.strides()[last + 1..], itemsize)?.span();
    for position in 0..count {
        kernel::set_index(&mut index[..=last], outer, position);
        let unaddressable =
            |error: Error| error.within(format_args!("on the way to element {index:?} of {shape:?}"));
        let null = || {
            Error::new(
                Kind::Malformed,
                format!("a null pointer on the way to element {index:?} of {shape:?}"),
            )
        };
        let mut distances = layout.distances(&index)?;
        let mut at = ptr.wrapping_offset(distances.next().unwrap_or(0));
        for distance in distances {
            if at.is_null() {
                return Err(null());
            }
            pointed.check_address(at.addr()).map_err(unaddressable)?;
            // SAFETY: `# Safety`: the layout follows a pointer at `at`, which may be read; `at` was
            // found non-null and addressable above.
            let next = unsafe { kernel::dereference(at) };
            if next.is_null() {
                return Err(null());
            }
            // First the pointer alone, so that the sum cannot wrap, then the row that it points to.
            pointed.check_address(next.addr()).map_err(unaddressable)?;
            at = next.wrapping_offset(distance);
        }
        row.check_address(at.addr()).map_err(unaddressable)?;
        pointers.push(at);
    }
    let pointer = size_of::<*mut u8>();
    let table = Layout::contiguous(outer, pointer, Order::RowMajor)?;
    let strides: Vec<isize> = table.strides().iter().chain(&layout.strides()[last + 1..]).copied().collect();
    let suboffsets: Vec<Option<isize>> = (0..shape.len()).map(|axis| (axis == last).then_some(0)).collect();
    Ok((pointers, Layout::with_suboffsets(shape, &strides, &suboffsets, itemsize)?))
}
