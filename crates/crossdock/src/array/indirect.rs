//! Indirect arrays: rows that lie anywhere, behind a table of pointers.

use std::mem::ManuallyDrop;

use crate::array::make::check_itemsize;
use crate::array::{DArray, RawArray};
use crate::buffer::Buffer;
use crate::element::{DType, Element};
use crate::error::{Error, Kind, Result, try_with_capacity};
use crate::kernel;
use crate::layout::{AxisSlice, Layout, Order, Reading, Way};
use crate::memory::{Birth, Place};

/// Pointers to rows, as an owner keeps them: raw parts of a vector.
struct Table {
    ptr: *mut *mut u8,
    len: usize,
    capacity: usize,
}

// SAFETY: the pointers are plain data to whoever owns the table; the rows are covered by leases.
unsafe impl Send for Table {}

impl Table {
    fn new(pointers: Vec<*mut u8>) -> Self {
        let mut pointers = ManuallyDrop::new(pointers);
        Self { ptr: pointers.as_mut_ptr(), len: pointers.len(), capacity: pointers.capacity() }
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        // SAFETY: the parts of one vector, which is made anew here only.
        drop(unsafe { Vec::from_raw_parts(self.ptr, self.len, self.capacity) });
    }
}

impl DArray {
    /// Rows of equal length as one array of two axes, none of them copied: a table of pointers
    /// stands in front of them, and the first axis follows it (`suboffsets`, in the words of PEP
    /// 3118). O(rows), for the table.
    ///
    /// Every view of it that can be expressed is a view; one row of it is an array without pointers
    /// again. [`DArray::to_order`] makes one block of it.
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
    /// `is_shape` where the rows are not of one length; `is_out_of_memory`.
    pub fn from_rows<T: Element>(mut rows: Vec<Vec<T>>) -> Result<Self> {
        let len = rows.first().map_or(0, Vec::len);
        if let Some((index, row)) = rows.iter().enumerate().find(|(_, row)| row.len() != len) {
            let text = format!("row {index} has {} elements, but the first has {len}", row.len());
            return Err(Error::new(Kind::Shape, text));
        }
        let shape = [rows.len(), len];
        let mut pointers = try_with_capacity(rows.len())?;
        pointers.extend(rows.iter_mut().map(|row| row.as_mut_ptr().cast::<u8>()));
        let strides = [size_of::<*mut u8>() as isize, size_of::<T>() as isize];
        let layout = Layout::with_suboffsets(&shape, &strides, &[Some(0), None], size_of::<T>())?;
        // SAFETY: each pointer leads to the elements of one row, as many as the layout says,
        // initialised and reached by nobody else. The vectors are only kept, neither touched nor
        // moved into a place where they would be.
        unsafe { Self::over_table(pointers, T::dtype(), layout, Birth::Sole, move || drop(rows)) }
    }

    /// Adopts an indirect array of another library: PEP 3118's `suboffsets`, at any rank. `release`
    /// is called exactly once: when the last holder goes, on whichever thread that is, or before
    /// this returns an error.
    ///
    /// The pointers are followed here, once, and what they lead to is put into one table of our
    /// own, so that nobody can change it later. O(pointers); no element is copied.
    ///
    /// # Errors
    ///
    /// `is_dtype` where dtype and layout have different item sizes; `is_malformed` for a null
    /// pointer on the way to an element, with the index; `is_overflow`, `is_out_of_memory`.
    ///
    /// # Safety
    ///
    /// Now, the pointers that the layout follows from `ptr` may be read, and lead on as the layout
    /// says. Until `release` is called, the bytes from the lowest to the highest element behind
    /// each pointer are initialised and valid for reads, and unless `birth` is `Constant` for
    /// writes; as for others who touch them, `birth` says the same as for [`Buffer::from_foreign`].
    pub unsafe fn from_indirect(
        ptr: *const u8,
        dtype: DType,
        layout: &Layout,
        birth: Birth,
        release: impl FnOnce() + Send + 'static,
    ) -> Result<Self> {
        let release = Release(Some(release));
        check_itemsize(&dtype, layout)?;
        // SAFETY: the caller's word.
        let (pointers, layout) = unsafe { flattened(ptr.cast_mut(), layout) }?;
        // SAFETY: the caller's word: the same elements by one table.
        unsafe { Self::over_table(pointers, dtype, layout, birth, move || drop(release)) }
    }

    /// # Safety
    ///
    /// `layout` is that of `pointers`, one after the other in row-major order, of which each leads,
    /// with suboffset 0, to elements as for [`DArray::from_indirect`]. Without elements it has no
    /// suboffsets.
    unsafe fn over_table(
        pointers: Vec<*mut u8>,
        dtype: DType,
        layout: Layout,
        birth: Birth,
        release: impl FnOnce() + Send + 'static,
    ) -> Result<Self> {
        let table = Table::new(pointers);
        let (start, nbytes) = (table.ptr.cast::<u8>(), table.len * size_of::<*mut u8>());
        let keep = move || {
            release();
            drop(table);
        };
        // SAFETY: the table, which nobody writes: only the elements behind it are reached by safe
        // code (RawArray 1 and 3). It and the elements stay until the closure is called.
        let buffer = unsafe { Buffer::from_foreign(start, nbytes, Place::CPU, birth, keep) }?;
        let raw = RawArray::new(buffer, 0, layout.span())?;
        // SAFETY: the span was just checked, and the pointers lead to the elements (the caller's
        // word).
        Ok(unsafe { Self::from_raw(raw, dtype, layout) })
    }

    /// What a slice of an indirect array is: a view wherever there is one, for which a pointer may
    /// have to be followed now.
    #[cold]
    pub(super) fn slice_indirect(&self, axes: &[AxisSlice], reading: Reading) -> Result<Self> {
        let (layout, way) = self.layout().slice_following(axes, reading)?;
        Ok(self.along(layout, way))
    }

    fn along(&self, layout: Layout, way: Way) -> Self {
        let mut at = self.raw().ptr().as_ptr();
        for hop in way.hops {
            // SAFETY: the way leads over pointers of this array (DArray 1), which nobody writes
            // (RawArray 3).
            at = unsafe { kernel::follow(at.wrapping_offset(hop)) };
        }
        // SAFETY: layout and way came together (DArray 1).
        let raw = unsafe { self.raw().at(at.wrapping_offset(way.offset)) };
        // SAFETY: as above; an item has the size that it had (DArray 2).
        unsafe { Self::from_raw(raw, self.dtype().clone(), layout) }
    }

    /// Whether elements are reached over pointers: a layout with suboffsets.
    #[inline]
    pub fn is_indirect(&self) -> bool {
        self.layout().suboffsets().is_some()
    }
}

/// Called when it is dropped.
struct Release<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> Drop for Release<F> {
    fn drop(&mut self) {
        if let Some(release) = self.0.take() {
            release();
        }
    }
}

/// One table for all pointers on the way: one for each index of the axes up to the last that
/// dereferences.
///
/// # Safety
///
/// As [`DArray::from_indirect`], for now.
unsafe fn flattened(ptr: *mut u8, layout: &Layout) -> Result<(Vec<*mut u8>, Layout)> {
    let (shape, itemsize) = (layout.shape(), layout.itemsize());
    let Some(last) = layout.indirect_axes().checked_sub(1).filter(|_| !shape.contains(&0)) else {
        if layout.is_empty() {
            return Ok((Vec::new(), Layout::contiguous(shape, itemsize, Order::RowMajor)?));
        }
        return Err(Error::new(
            Kind::Layout,
            format!("shape {shape:?} without suboffsets follows no pointers: make a buffer of the memory"),
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
        let mut hops = layout.hops(&index)?;
        let mut at = ptr.wrapping_offset(hops.next().unwrap_or(0));
        for hop in hops {
            if at.is_null() {
                return Err(null());
            }
            pointed.check_address(at.addr()).map_err(unaddressable)?;
            // SAFETY: the caller's word.
            let next = unsafe { kernel::follow(at) };
            if next.is_null() {
                return Err(null());
            }
            // First the pointer alone, so that the sum cannot wrap, and then what it points to.
            pointed.check_address(next.addr()).map_err(unaddressable)?;
            at = next.wrapping_offset(hop);
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
