//! Arrays whose element type and rank the compiler knows.

use std::marker::PhantomData;

use crate::array::RawArray;
use crate::array::axes::{typed_repeats, typed_views};
use crate::array::guard::{ArrayPin, ArrayRead, ArrayShare, ArrayWrite};
use crate::array::queries::{memory_queries, typed_queries};
use crate::array::view::check_aligned;
use crate::array::view_mut::ArrayViewMut;
use crate::buffer::Buffer;
use crate::element::Element;
use crate::error::{Error, Kind, Result};
use crate::layout::FixedLayout;
use crate::memory::LeaseKind;

/// An n-dimensional array of `T` with `D` axes: a handle on memory that an owner keeps alive.
///
/// Cloning, slicing, permuting and reshaping are O(`D`), copy no element and allocate nothing.
/// Every handle keeps the memory alive; none gives access by itself. Elements are accessed under a
/// lease ([`Array::read`], [`Array::write`], [`Array::share`], [`Array::pin`]), by value one at a
/// time ([`Array::get`], [`Array::set`]), or by `&mut` from the only handle
/// ([`Array::as_view_mut`]). Handles go to any thread.
///
/// Strides are in bytes and of either sign. Elements may be unaligned, such as a field of packed
/// records: they are accessed by value, not by reference.
///
/// ```
/// use crossdock::{Array, s};
///
/// let image = Array::from_vec(vec![1u8, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], [2, 2, 3])?; // adopted, not copied
/// let red = image.slice(s![.., .., 0])?; // another handle on the same bytes
/// drop(image);
/// assert_eq!(red.shape(), &[2, 2]);
/// assert_eq!(red.read()?.iter().map(|&pixel| u32::from(pixel)).sum::<u32>(), 1 + 4 + 7 + 10);
/// # Ok::<(), crossdock::Error>(())
/// ```
///
/// # Panics
///
/// Cloning, and every operation that makes another handle (slicing, permuting, …), panics if the
/// memory already has 2²³ - 1 handles, which only a program that leaks them reaches.
#[derive(Clone)]
pub struct Array<T: Element, const D: usize> {
    /// Invariant 1: `layout`, made for elements of `size_of::<T>()` bytes, goes with `raw`
    /// (RawArray 1).
    raw: RawArray,
    layout: FixedLayout<D>,
    element: PhantomData<T>,
}

impl<T: Element, const D: usize> Array<T, D> {
    /// # Safety
    ///
    /// `layout`, made for elements of `size_of::<T>()` bytes, goes with `raw` (Array 1).
    pub(crate) unsafe fn from_raw(raw: RawArray, layout: FixedLayout<D>) -> Self {
        Self { raw, layout, element: PhantomData }
    }

    #[inline]
    pub(crate) fn raw(&self) -> &RawArray {
        &self.raw
    }

    pub(super) fn into_raw(self) -> (RawArray, FixedLayout<D>) {
        (self.raw, self.layout)
    }

    /// The same array with rows `nbytes` bytes apart: images with padded rows. O(`D`).
    ///
    /// The rows may reach any byte of the memory, including bytes before and after the buffer or
    /// view that the array was made of. To forbid that, partition the memory.
    ///
    /// # Errors
    ///
    /// `is_bounds` if the rows leave the memory; `is_shape` for rank 0.
    pub fn with_row_stride(self, nbytes: usize) -> Result<Self> {
        let mut strides = *self.layout.strides();
        let Some(first) = strides.first_mut() else {
            return Err(Error::new(Kind::Shape, "an array of rank 0 has no rows"));
        };
        *first = isize::try_from(nbytes).map_err(|_| {
            Error::new(Kind::Overflow, format!("the row stride of {nbytes} bytes is too large"))
        })?;
        let layout = FixedLayout::new(*self.layout.shape(), strides, size_of::<T>())?;
        self.raw.check_span(layout.span(size_of::<T>()))?;
        Ok(Self { layout, ..self })
    }

    // ===== queries

    typed_queries! { self: self.layout, self.raw.ptr() }
    memory_queries! { self }

    // ===== narrower handles

    /// # Safety
    ///
    /// `layout` and `offset` are one result of an operation on this array's layout.
    #[inline]
    pub(super) unsafe fn moved<const E: usize>(&self, layout: FixedLayout<E>, offset: isize) -> Array<T, E> {
        // SAFETY: `layout` and `offset` are one result of an operation on this array's layout (`#
        // Safety`), which is what `RawArray::moved` requires.
        let raw = unsafe { self.raw.moved(offset) };
        Array { raw, layout, element: PhantomData }
    }

    typed_views! { &self => Array<T> }
    typed_repeats! { &self => Array<T> }

    /// The same array, read-only through this handle and all handles made from it.
    pub fn into_readonly(mut self) -> Self {
        self.raw.set_readonly();
        self
    }

    /// The memory from the lowest to the highest byte that the array touches, and the offset of
    /// element 0 in it. O(`D`).
    ///
    /// # Errors
    ///
    /// `is_exhausted` if the memory already has the maximum number of handles.
    pub fn buffer(&self) -> Result<(Buffer, usize)> {
        self.raw.buffer(self.layout.span(size_of::<T>()))
    }

    // ===== access

    /// Takes a Read lease: constant elements, by `&T`. O(`D`).
    ///
    /// # Errors
    ///
    /// `is_conflict` while a Share or Write lease is held, or if the memory is aliased;
    /// `is_alignment`; `is_place`.
    pub fn read(&self) -> Result<ArrayRead<T, D>> {
        self.check_aligned()?;
        let lease = self.raw.lease(LeaseKind::Read)?;
        // SAFETY: CoveredArray 1: the layout reaches only bytes of the region (Array 1), on the
        // host, since `lease` refuses devices. `check_aligned` checked the alignment.
        Ok(unsafe { ArrayRead::new(lease, self.raw.ptr(), self.layout) })
    }

    /// Takes the Write lease: elements by `&mut T`. O(`D` log `D`).
    ///
    /// # Errors
    ///
    /// `is_conflict` while any lease is held, or if the memory is aliased; `is_layout` if elements
    /// overlap (a broadcast array); `is_read_only`; `is_alignment`; `is_place`.
    pub fn write(&self) -> Result<ArrayWrite<T, D>> {
        self.check_aligned()?;
        ArrayViewMut::<T, D>::check_injective(&self.layout)?;
        let lease = self.raw.lease(LeaseKind::Write)?;
        // SAFETY: CoveredArray 1: the layout reaches only bytes of the region (Array 1), on the
        // host, since `lease` refuses devices. `check_aligned` and `check_injective` checked the
        // rest.
        Ok(unsafe { ArrayWrite::new(lease, self.raw.ptr(), self.layout) })
    }

    /// Takes a Share lease: racy loads and stores, concurrent with other holders of Share and Pin.
    /// O(1).
    ///
    /// # Errors
    ///
    /// `is_conflict` while a Read or Write lease is held; `is_read_only`; `is_place`.
    pub fn share(&self) -> Result<ArrayShare<T, D>> {
        let lease = self.raw.lease(LeaseKind::Share)?;
        // SAFETY: CoveredArray 1, under the Share lease just taken: the layout reaches only bytes
        // of the region (Array 1), on the host, since `lease` refuses devices.
        Ok(unsafe { ArrayShare::new(lease, self.raw.ptr(), self.layout) })
    }

    /// Takes a Pin lease: racy loads, concurrent with all leases but Write. O(1).
    ///
    /// # Errors
    ///
    /// `is_conflict` while a Write lease is held; `is_place`.
    pub fn pin(&self) -> Result<ArrayPin<T, D>> {
        let lease = self.raw.lease(LeaseKind::Pin)?;
        // SAFETY: CoveredArray 1, under the Pin lease just taken: the layout reaches only bytes of
        // the region (Array 1), on the host, since `lease` refuses devices.
        Ok(unsafe { ArrayPin::new(lease, self.raw.ptr(), self.layout) })
    }

    /// The elements by `&mut T`, without a lease, because this is the only handle. O(`D` log `D`).
    ///
    /// # Errors
    ///
    /// `is_conflict`, with the number of leases and other handles and the protocols by which the
    /// memory was exported; `is_layout` if elements overlap; `is_read_only`; `is_alignment`;
    /// `is_place`.
    pub fn as_view_mut(&mut self) -> Result<ArrayViewMut<'_, T, D>> {
        self.check_aligned()?;
        self.raw.exclusive()?;
        // SAFETY: the layout reaches only initialised bytes of the region (Array 1, Header 3), and
        // `check_aligned` checked the alignment. `exclusive` found the only handle, which is
        // mutably borrowed, so no lease or other handle can be created while the view lives.
        unsafe { ArrayViewMut::new(self.raw.ptr(), self.layout) }
    }

    fn check_aligned(&self) -> Result<()> {
        check_aligned::<T, D>(self.raw.ptr().addr().get(), &self.layout)
    }
}
