//! Borrowed views that may be written.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};
use std::ptr::NonNull;

use crate::array::iter::IterMut;
use crate::array::view::{ArrayView, check_numel, index_panic};
use crate::element::Element;
use crate::error::{Error, Kind, Result};
use crate::layout::{FixedLayout, Order, SliceSpec};

/// A borrowed array that nobody else touches: elements by `&mut T`.
///
/// It can be divided into disjoint parts, which coexist ([`ArrayViewMut::split_at`]).
///
/// ```
/// use crossdock::{array::ArrayViewMut, s};
///
/// let mut data = [0; 6];
/// let view = ArrayViewMut::from_slice(&mut data, [2, 3])?;
/// let (mut top, mut bottom) = view.split_at(0, 1)?;
/// top[[0, 2]] = 7;
/// bottom[[0, 0]] = 8;
/// assert_eq!(data, [0, 0, 7, 8, 0, 0]);
/// # Ok::<(), crossdock::Error>(())
/// ```
///
/// # Invariants
///
/// 1. Every element that the layout reaches from `ptr` is initialised and aligned for `T`, and for `'a` reached through
///    this view alone.
/// 2. No two indices reach the same byte.
pub struct ArrayViewMut<'a, T: Element, const D: usize> {
    ptr: NonNull<u8>,
    layout: FixedLayout<D>,
    lifetime: PhantomData<&'a mut T>,
}

// SAFETY: a view is a `&mut [T]` with strides, and `T: Element` is Send and Sync.
unsafe impl<T: Element, const D: usize> Send for ArrayViewMut<'_, T, D> {}
// SAFETY: as for Send.
unsafe impl<T: Element, const D: usize> Sync for ArrayViewMut<'_, T, D> {}

impl<'a, T: Element, const D: usize> ArrayViewMut<'a, T, D> {
    /// # Safety
    ///
    /// ArrayViewMut 1.
    ///
    /// # Errors
    ///
    /// `is_layout` where two indices may reach the same byte (ArrayViewMut 2).
    pub(crate) unsafe fn new(ptr: NonNull<u8>, layout: FixedLayout<D>) -> Result<Self> {
        Self::check_injective(&layout)?;
        // SAFETY: the caller's word, and injective as just checked.
        Ok(unsafe { Self::trusted(ptr, layout) })
    }

    /// ArrayViewMut 2.
    pub(super) fn check_injective(layout: &FixedLayout<D>) -> Result<()> {
        if layout.is_injective(size_of::<T>()) {
            return Ok(());
        }
        let overlap = overlap(layout.shape(), layout.strides());
        Err(Error::new(Kind::Layout, format!("{overlap}: share the array, or copy it")))
    }

    /// # Safety
    ///
    /// ArrayViewMut 1 and 2.
    #[inline]
    pub(crate) unsafe fn trusted(ptr: NonNull<u8>, layout: FixedLayout<D>) -> Self {
        Self { ptr, layout, lifetime: PhantomData }
    }

    #[inline]
    pub(super) fn ptr(&self) -> NonNull<u8> {
        self.ptr
    }

    /// A slice, seen row-major. O(1).
    ///
    /// # Errors
    ///
    /// `is_shape` where the shape has another number of elements.
    pub fn from_slice(slice: &'a mut [T], shape: [usize; D]) -> Result<Self> {
        let layout = FixedLayout::contiguous(shape, size_of::<T>(), Order::RowMajor)?;
        check_numel(&shape, layout.numel(), slice.len())?;
        // SAFETY: a mutable slice is initialised, aligned, and ours for its lifetime.
        unsafe { Self::new(NonNull::from(slice).cast(), layout) }
    }

    /// The lengths of the axes.
    #[inline]
    pub fn shape(&self) -> &[usize; D] {
        self.layout.shape()
    }

    /// The distance between neighbours along each axis, in bytes.
    #[inline]
    pub fn strides(&self) -> &[isize; D] {
        self.layout.strides()
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.layout.numel()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The address of element 0.
    #[inline]
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.ptr.as_ptr().cast()
    }

    /// The same elements, read-only while the result lives.
    #[inline]
    pub fn as_view(&self) -> ArrayView<'_, T, D> {
        // SAFETY: ArrayViewMut 1: nobody writes while this view is borrowed.
        unsafe { ArrayView::new(self.ptr, self.layout) }
    }

    /// The same elements for a shorter time, so that this view can be used again afterwards.
    pub fn reborrow(&mut self) -> ArrayViewMut<'_, T, D> {
        ArrayViewMut { ptr: self.ptr, layout: self.layout, lifetime: PhantomData }
    }

    /// The element at an index, or `None` where there is none.
    #[inline(always)]
    pub fn get_mut(&mut self, index: [usize; D]) -> Option<&mut T> {
        let offset = self.layout.checked_offset(index)?;
        // SAFETY: an offset that the layout gives for an index inside of it (ArrayViewMut 1).
        let ptr = unsafe { self.ptr.offset(offset) };
        // SAFETY: ArrayViewMut 1, and `&mut self`.
        Some(unsafe { ptr.cast().as_mut() })
    }

    /// Part of the view, named by [`s!`](crate::s). O(rank).
    ///
    /// # Errors
    ///
    /// `is_bounds` where a range or an index leaves its axis.
    pub fn slice<S, const OUT: usize>(self, slices: S) -> Result<ArrayViewMut<'a, T, OUT>>
    where
        S: SliceSpec<D, OUT>,
    {
        let (layout, offset) = self.layout.slice(slices)?;
        // SAFETY: the offset goes with the layout.
        let ptr = unsafe { self.ptr.offset(offset) };
        // Some of the indices of an injective layout.
        Ok(ArrayViewMut { ptr, layout, lifetime: PhantomData })
    }

    /// Two views: the indices of `axis` before `index`, and those from it on. O(rank).
    ///
    /// # Errors
    ///
    /// `is_bounds` where there is no such axis, or its length is less than `index`.
    pub fn split_at(self, axis: usize, index: usize) -> Result<(Self, Self)> {
        let (before, behind, offset) = self.layout.split_at(axis, index)?;
        // SAFETY: the offset goes with the layout.
        let ptr = unsafe { self.ptr.offset(offset) };
        // Disjoint sets of the indices of an injective layout (ArrayViewMut 2).
        Ok((
            Self { ptr: self.ptr, layout: before, lifetime: PhantomData },
            Self { ptr, layout: behind, lifetime: PhantomData },
        ))
    }

    /// The elements as a slice, where they lie row-major without gaps. O(rank).
    pub fn as_mut_slice(&mut self) -> Option<&mut [T]> {
        if !self.layout.is_contiguous(size_of::<T>(), Order::RowMajor) {
            return None;
        }
        let ptr = if self.is_empty() { NonNull::dangling() } else { self.ptr.cast() };
        // SAFETY: ArrayViewMut 1, and contiguous as just checked; an empty slice needs only alignment.
        Some(unsafe { std::slice::from_raw_parts_mut(ptr.as_ptr(), self.len()) })
    }

    /// The elements in row-major order, to be written.
    pub fn iter_mut(&mut self) -> IterMut<'_, T> {
        // SAFETY: the layout's offsets are those of elements, each of which is given once (ArrayViewMut 1 and 2).
        unsafe { IterMut::new(self.ptr, self.layout.offsets()) }
    }

    /// Writes one value to every element.
    pub fn fill(&mut self, value: T) {
        self.iter_mut().for_each(|element| *element = value);
    }
}

/// Why there is no mutable access by reference.
#[cold]
pub(crate) fn overlap(shape: &[usize], strides: &[isize]) -> String {
    format!("elements of shape {shape:?} with strides {strides:?} overlap, so they cannot be had by `&mut`")
}

impl<T: Element, const D: usize> Index<[usize; D]> for ArrayViewMut<'_, T, D> {
    type Output = T;

    /// # Panics
    ///
    /// Where the index is outside.
    #[inline(always)]
    fn index(&self, index: [usize; D]) -> &T {
        match self.as_view().get(index) {
            Some(element) => element,
            None => index_panic(&index, self.shape()),
        }
    }
}

impl<T: Element, const D: usize> IndexMut<[usize; D]> for ArrayViewMut<'_, T, D> {
    #[inline(always)]
    fn index_mut(&mut self, index: [usize; D]) -> &mut T {
        let shape = *self.shape();
        match self.get_mut(index) {
            Some(element) => element,
            None => index_panic(&index, &shape),
        }
    }
}

impl<T: Element + fmt::Debug, const D: usize> fmt::Debug for ArrayViewMut<'_, T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ArrayViewMut {:?} ", self.shape())?;
        f.debug_list().entries(self.as_view().iter()).finish()
    }
}
