//! Borrowed mutable views.

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::array::access::{element_access, element_access_mut, element_index, element_index_mut};
use crate::array::axes::typed_views;
use crate::array::parts::{part_access, part_access_mut};
use crate::array::queries::typed_queries;
use crate::array::view::{ArrayView, check_len, within};
use crate::element::Element;
use crate::error::{Advice, Error, Kind, Result};
use crate::layout::{FixedLayout, Order};

/// A borrowed array with exclusive access: elements by `&mut T`.
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
/// 1. The elements that the layout reaches from `ptr` lie in one allocation. Each is initialised,
///    aligned for `T`, and for `'a` reached through this view alone.
/// 2. No two indices reach the same byte.
pub struct ArrayViewMut<'a, T: Element, const D: usize> {
    pub(super) ptr: NonNull<u8>,
    pub(super) layout: FixedLayout<D>,
    lifetime: PhantomData<&'a mut T>,
}

// SAFETY: a view gives the access of a `&mut [T]`, which is Send because `T: Element` is Send;
// pointer and layout are plain data.
unsafe impl<T: Element, const D: usize> Send for ArrayViewMut<'_, T, D> {}
// SAFETY: `&ArrayViewMut` gives the access of a `&[T]`, which is Sync because `T: Element` is Sync.
unsafe impl<T: Element, const D: usize> Sync for ArrayViewMut<'_, T, D> {}

impl<'a, T: Element, const D: usize> ArrayViewMut<'a, T, D> {
    /// # Safety
    ///
    /// ArrayViewMut 1 holds for `ptr` and `layout`.
    ///
    /// # Errors
    ///
    /// `is_layout` if two indices may reach the same byte (ArrayViewMut 2).
    pub(crate) unsafe fn new(ptr: NonNull<u8>, layout: FixedLayout<D>) -> Result<Self> {
        Self::check_injective(&layout)?;
        // SAFETY: 1. `# Safety` is ArrayViewMut 1 for `ptr` and `layout`; 2. `check_injective`
        // found that no two indices share a byte.
        Ok(unsafe { Self::trusted(ptr, layout) })
    }

    /// Checks ArrayViewMut 2.
    pub(super) fn check_injective(layout: &FixedLayout<D>) -> Result<()> {
        if layout.is_injective(size_of::<T>()) {
            return Ok(());
        }
        let overlap = overlap(layout.shape(), layout.strides());
        Err(Error::new(Kind::Layout, overlap).advising(Advice::ShareOrCopy))
    }

    /// # Safety
    ///
    /// 1. ArrayViewMut 1 holds for `ptr` and `layout`.
    /// 2. ArrayViewMut 2 holds for `layout`.
    #[inline]
    pub(crate) unsafe fn trusted(ptr: NonNull<u8>, layout: FixedLayout<D>) -> Self {
        Self { ptr, layout, lifetime: PhantomData }
    }

    #[inline]
    pub(super) fn ptr(&self) -> NonNull<u8> {
        self.ptr
    }

    /// A slice as a row-major view. O(1).
    ///
    /// # Errors
    ///
    /// `is_shape` if the shape has another number of elements.
    pub fn from_slice(slice: &'a mut [T], shape: [usize; D]) -> Result<Self> {
        let layout = FixedLayout::contiguous(shape, size_of::<T>(), Order::RowMajor)?;
        check_len(&shape, layout.len(), slice.len())?;
        // SAFETY: the elements of a mutable slice are initialised, aligned, and exclusive for `'a`;
        // `check_len` found that the contiguous layout has exactly these elements.
        unsafe { Self::new(NonNull::from(slice).cast(), layout) }
    }

    /// A slice as a view with this layout, whose element 0 lies `offset` bytes into it. O(`D` log
    /// `D`).
    ///
    /// # Errors
    ///
    /// As [`ArrayView::from_slice_with_layout`], and `is_layout` if elements overlap.
    pub fn from_slice_with_layout(slice: &'a mut [T], layout: FixedLayout<D>, offset: usize) -> Result<Self> {
        let ptr = within::<T, D>(NonNull::from(slice), &layout, offset)?;
        // SAFETY: `within` found that the layout reaches only aligned elements in the slice's
        // bytes, which are initialised, exclusive for `'a`, and valid values of `T` (Pod 1).
        unsafe { Self::new(ptr, layout) }
    }

    typed_queries! { self: self.layout, self.ptr }

    /// The same elements, read-only while the result lives.
    #[inline]
    pub fn as_view(&self) -> ArrayView<'_, T, D> {
        // SAFETY: the elements are initialised, aligned and reached through this view alone
        // (ArrayViewMut 1), and the shared borrow of `self` prevents writes through it.
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
    /// 1. `layout` and `offset` are one result of an operation on this view's layout that gives no
    ///    element two indices.
    /// 2. `self` is consumed, and other results made from it have no element in common with this
    ///    one.
    #[inline(always)]
    unsafe fn moved<const E: usize>(&self, layout: FixedLayout<E>, offset: isize) -> ArrayViewMut<'a, T, E> {
        // SAFETY: clause 1 of `# Safety`: the offset is that of an element, in the allocation of
        // element 0 (ArrayViewMut 1), or 0.
        let ptr = unsafe { self.ptr.offset(offset) };
        // SAFETY: 1. the result's elements are some of this view's, and only the result reaches
        // them (clause 2 of `# Safety`); 2. each has one index (clause 1, ArrayViewMut 2).
        unsafe { ArrayViewMut::trusted(ptr, layout) }
    }
}

/// The reason why neither a copy nor `&mut` may write to the elements.
#[cold]
pub(crate) fn overlap(shape: &[usize], strides: &[isize]) -> String {
    format!(
        "elements of shape {shape:?} with strides {strides:?} may overlap, so a write to one element \
        could change another"
    )
}

element_index! { ArrayViewMut<'_, T> }
element_index_mut! { ArrayViewMut<'_, T> }
