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

/// An n-dimensional array of `T` with `D` axes: a handle on memory that somebody owns.
///
/// Cloning, slicing, permuting and reshaping are O(`D`), copy no element and allocate nothing.
/// Every such handle keeps the memory alive; none gives access by itself. Elements are had under a
/// lease ([`Array::read`], [`Array::write`], [`Array::share`], [`Array::pin`]), by value one at a
/// time ([`Array::get`], [`Array::set`]), or by `&mut` from the only handle
/// ([`Array::as_view_mut`]). Handles go to any thread.
///
/// Strides are in bytes and of either sign, and elements may be unaligned (a field of packed
/// records is an array, too): then they are had by value, not by reference.
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
/// Cloning, and whatever else makes another handle (slicing, permuting, …), panics if the memory
/// already has 2²³ - 1 handles, which only a program that leaks them reaches.
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
    /// Array 1.
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

    /// The same array with rows that lie `nbytes` bytes apart: images with padded rows. O(`D`).
    ///
    /// The rows may reach any byte of the memory, also those in front of and behind the buffer, or
    /// the view, that the array was made of: a window is no fence. Where it should be one,
    /// partition the memory.
    ///
    /// # Errors
    ///
    /// `is_bounds` where the rows then leave the memory; `is_shape` for rank 0.
    pub fn with_row_stride(self, nbytes: usize) -> Result<Self> {
        let mut strides = *self.layout.strides();
        let Some(first) = strides.first_mut() else {
            return Err(Error::new(Kind::Shape, "an array of rank 0 has no rows"));
        };
        *first = isize::try_from(nbytes).map_err(|_| {
            Error::new(Kind::Overflow, format!("a row stride of {nbytes} bytes is too large"))
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
    /// The offset and the layout came together from an operation on this array's layout.
    #[inline]
    pub(super) unsafe fn moved<const E: usize>(&self, layout: FixedLayout<E>, offset: isize) -> Array<T, E> {
        // SAFETY: the caller's word.
        let raw = unsafe { self.raw.moved(offset) };
        Array { raw, layout, element: PhantomData }
    }

    typed_views! { &self => Array<T> }
    typed_repeats! { &self => Array<T> }

    /// The same array, never to be written through this handle or what is made from it.
    pub fn into_readonly(mut self) -> Self {
        self.raw.set_readonly();
        self
    }

    /// The memory from the lowest to the highest byte that the array touches, and how far into it
    /// element 0 lies. O(`D`).
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
    /// `is_conflict` while a Share or Write lease is held, or where the memory is aliased;
    /// `is_alignment`; `is_place`.
    pub fn read(&self) -> Result<ArrayRead<T, D>> {
        self.check_aligned()?;
        let lease = self.raw.lease(LeaseKind::Read)?;
        // SAFETY: Array 1, aligned as just checked, and `lease` refuses devices.
        Ok(unsafe { ArrayRead::new(lease, self.raw.ptr(), self.layout) })
    }

    /// Takes the Write lease: elements by `&mut T`. O(`D` log `D`).
    ///
    /// # Errors
    ///
    /// `is_conflict` while any lease is held, or where the memory is aliased; `is_layout` where
    /// elements overlap (a broadcast array); `is_read_only`; `is_alignment`; `is_place`.
    pub fn write(&self) -> Result<ArrayWrite<T, D>> {
        self.check_aligned()?;
        ArrayViewMut::<T, D>::check_injective(&self.layout)?;
        let lease = self.raw.lease(LeaseKind::Write)?;
        // SAFETY: Array 1, aligned and injective as just checked, and `lease` refuses devices.
        Ok(unsafe { ArrayWrite::new(lease, self.raw.ptr(), self.layout) })
    }

    /// Takes a Share lease: racy loads and stores, beside others who do the same. O(1).
    ///
    /// # Errors
    ///
    /// `is_conflict` while a Read or Write lease is held; `is_read_only`; `is_place`.
    pub fn share(&self) -> Result<ArrayShare<T, D>> {
        let lease = self.raw.lease(LeaseKind::Share)?;
        // SAFETY: Array 1, and `lease` refuses devices.
        Ok(unsafe { ArrayShare::new(lease, self.raw.ptr(), self.layout) })
    }

    /// Takes a Pin lease: racy loads, beside anyone but a Write lease. O(1).
    ///
    /// # Errors
    ///
    /// `is_conflict` while a Write lease is held; `is_place`.
    pub fn pin(&self) -> Result<ArrayPin<T, D>> {
        let lease = self.raw.lease(LeaseKind::Pin)?;
        // SAFETY: Array 1, and `lease` refuses devices.
        Ok(unsafe { ArrayPin::new(lease, self.raw.ptr(), self.layout) })
    }

    /// The elements by `&mut T`, with no lease at all: this is the only handle. O(`D` log `D`).
    ///
    /// # Errors
    ///
    /// `is_conflict`, which says how many leases or other handles there are and by which protocols
    /// the memory went out; `is_layout` where elements overlap; `is_read_only`; `is_alignment`;
    /// `is_place`.
    pub fn as_view_mut(&mut self) -> Result<ArrayViewMut<'_, T, D>> {
        self.check_aligned()?;
        self.raw.exclusive()?;
        // SAFETY: Array 1, aligned as just checked. The handle is exclusive and mutably borrowed,
        // so no lease or other handle can come to be while the view lives.
        unsafe { ArrayViewMut::new(self.raw.ptr(), self.layout) }
    }

    fn check_aligned(&self) -> Result<()> {
        check_aligned::<T, D>(self.raw.ptr().addr().get(), &self.layout)
    }
}
