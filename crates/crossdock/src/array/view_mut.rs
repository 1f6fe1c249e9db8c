//! Borrowed views that may be written.

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::array::access::{element_access, element_access_mut, element_index, element_index_mut};
use crate::array::axes::typed_views;
use crate::array::parts::{part_access, part_access_mut};
use crate::array::queries::typed_queries;
use crate::array::view::{ArrayView, check_len, within};
use crate::element::Element;
use crate::error::{Error, Kind, Result};
use crate::layout::{FixedLayout, Order};

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
/// 1. Every element that the layout reaches from `ptr` is initialised and aligned for `T`, and for
///    `'a` reached through this view alone.
/// 2. No two indices reach the same byte.
pub struct ArrayViewMut<'a, T: Element, const D: usize> {
    pub(super) ptr: NonNull<u8>,
    pub(super) layout: FixedLayout<D>,
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
        check_len(&shape, layout.len(), slice.len())?;
        // SAFETY: a mutable slice is initialised, aligned, and ours for its lifetime.
        unsafe { Self::new(NonNull::from(slice).cast(), layout) }
    }

    /// A slice, seen through a layout whose element 0 lies `offset` bytes into it. O(`D` log `D`).
    ///
    /// # Errors
    ///
    /// As [`ArrayView::from_slice_with_layout`], and `is_layout` where elements overlap.
    pub fn from_slice_with_layout(slice: &'a mut [T], layout: FixedLayout<D>, offset: usize) -> Result<Self> {
        let ptr = within::<T, D>(NonNull::from(slice), &layout, offset)?;
        // SAFETY: a mutable slice is initialised, and ours for its lifetime; the layout reaches its
        // bytes alone, aligned.
        unsafe { Self::new(ptr, layout) }
    }

    typed_queries! { self: self.layout, self.ptr }

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

    element_access! { '_ self: self.ptr, self.layout }
    part_access! { '_ self: self.ptr, self.layout }
    element_access_mut! { self: self.ptr, self.layout }
    part_access_mut! { self: self.ptr, self.layout }

    typed_views! { self => ArrayViewMut<'a, T> }

    /// # Safety
    ///
    /// Offset and layout came together from an operation on this view's layout, by which no element
    /// has two indices. `self` is given up, or what else is made of it has no index in common.
    #[inline(always)]
    unsafe fn moved<const E: usize>(&self, layout: FixedLayout<E>, offset: isize) -> ArrayViewMut<'a, T, E> {
        // SAFETY: the caller's word, and ArrayViewMut 1.
        let ptr = unsafe { self.ptr.offset(offset) };
        // SAFETY: some of this view's elements, each at one index (ArrayViewMut 2).
        unsafe { ArrayViewMut::trusted(ptr, layout) }
    }
}

/// Why neither a copy nor `&mut` may write to the elements.
#[cold]
pub(crate) fn overlap(shape: &[usize], strides: &[isize]) -> String {
    format!(
        "elements of shape {shape:?} with strides {strides:?} overlap: what is written to one would change another"
    )
}

element_index! { ArrayViewMut<'_, T> }
element_index_mut! { ArrayViewMut<'_, T> }
