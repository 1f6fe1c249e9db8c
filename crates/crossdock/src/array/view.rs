//! Borrowed views: elements by reference.

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::array::access::{element_access, element_index};
use crate::array::axes::{typed_repeats, typed_views};
use crate::array::iter::Iter;
use crate::array::parts::part_access;
use crate::array::queries::typed_queries;
use crate::element::Element;
use crate::error::{Advice, Error, Kind, Result};
use crate::layout::{FixedLayout, Order};

/// A borrowed array: elements by `&T`, at the cost of a pointer. It borrows from a guard, an
/// exclusive array, or a slice.
///
/// ```
/// use crossdock::{array::ArrayView, s};
///
/// let view = ArrayView::from_slice(&[1, 2, 3, 4, 5, 6], [2, 3])?;
/// assert_eq!(view[[1, 0]], 4);
/// let backwards = view.slice(s![0, ..;-1])?;
/// assert_eq!(backwards.iter().copied().collect::<Vec<i32>>(), [3, 2, 1]);
/// # Ok::<(), crossdock::Error>(())
/// ```
///
/// # Invariants
///
/// 1. The elements that the layout reaches from `ptr` lie in one allocation. Each is initialised,
///    aligned for `T`, and constant for `'a`.
pub struct ArrayView<'a, T: Element, const D: usize> {
    pub(super) ptr: NonNull<u8>,
    pub(super) layout: FixedLayout<D>,
    lifetime: PhantomData<&'a T>,
}

impl<T: Element, const D: usize> Clone for ArrayView<'_, T, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Element, const D: usize> Copy for ArrayView<'_, T, D> {}

// SAFETY: a view gives the access of a `&[T]`, which is Send because `T: Element` is Sync; pointer
// and layout are plain data.
unsafe impl<T: Element, const D: usize> Send for ArrayView<'_, T, D> {}
// SAFETY: `&ArrayView` gives the access of a `&[T]`, which is Sync because `T: Element` is Sync.
unsafe impl<T: Element, const D: usize> Sync for ArrayView<'_, T, D> {}

impl<'a, T: Element, const D: usize> ArrayView<'a, T, D> {
    /// # Safety
    ///
    /// ArrayView 1 holds for `ptr` and `layout`.
    #[inline]
    pub(crate) unsafe fn new(ptr: NonNull<u8>, layout: FixedLayout<D>) -> Self {
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
    pub fn from_slice(slice: &'a [T], shape: [usize; D]) -> Result<Self> {
        let layout = FixedLayout::contiguous(shape, size_of::<T>(), Order::RowMajor)?;
        check_len(&shape, layout.len(), slice.len())?;
        // SAFETY: the elements of a slice are initialised, aligned, and constant for `'a`;
        // `check_len` found that the contiguous layout has exactly these elements.
        Ok(unsafe { Self::new(NonNull::from(slice).cast(), layout) })
    }

    /// A slice as a view with this layout, whose element 0 lies `offset` bytes into it. O(`D`).
    ///
    /// ```
    /// use crossdock::array::ArrayView;
    /// use crossdock::layout::FixedLayout;
    ///
    /// let columns = FixedLayout::new([2, 2], [4, -8], 4)?;
    /// let view = ArrayView::from_slice_with_layout(&[1, 2, 3, 4], columns, 8)?;
    /// assert!(view.iter().eq(&[3, 1, 4, 2]));
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_bounds` if the layout leaves the slice at either end; `is_alignment` if it reaches
    /// unaligned addresses; `is_overflow` if it was made for another item size and overflows for
    /// this one.
    pub fn from_slice_with_layout(slice: &'a [T], layout: FixedLayout<D>, offset: usize) -> Result<Self> {
        let ptr = within::<T, D>(NonNull::from(slice), &layout, offset)?;
        // SAFETY: `within` found that the layout reaches only aligned elements in the slice's
        // bytes, which are initialised, constant for `'a`, and valid values of `T` (Pod 1).
        Ok(unsafe { Self::new(ptr, layout) })
    }

    typed_queries! { self: self.layout, self.ptr }

    element_access! { 'a self: self.ptr, self.layout }
    part_access! { 'a self: self.ptr, self.layout }

    typed_views! { &self => ArrayView<'a, T> }
    typed_repeats! { &self => ArrayView<'a, T> }

    /// # Safety
    ///
    /// `layout` and `offset` are one result of an operation on this view's layout.
    #[inline(always)]
    unsafe fn moved<const E: usize>(&self, layout: FixedLayout<E>, offset: isize) -> ArrayView<'a, T, E> {
        // SAFETY: an operation on the layout returned the offset (`# Safety`): it is that of an
        // element, in the allocation of element 0 (ArrayView 1), or 0.
        let ptr = unsafe { self.ptr.offset(offset) };
        // SAFETY: the result's elements are some of this view's (`# Safety`), for which ArrayView 1
        // holds for the same `'a`.
        unsafe { ArrayView::new(ptr, layout) }
    }
}

#[cold]
#[inline(never)]
fn wrong_count(shape: &[usize], wanted: usize, given: usize) -> Error {
    Error::new(Kind::Shape, format!("shape {shape:?} has {wanted} elements, but {given} were given"))
}

pub(super) fn check_len(shape: &[usize], wanted: usize, given: usize) -> Result<()> {
    if wanted == given { Ok(()) } else { Err(wrong_count(shape, wanted, given)) }
}

/// The address of element 0, if the layout reaches only aligned elements within the slice.
pub(super) fn within<T: Element, const D: usize>(
    slice: NonNull<[T]>,
    layout: &FixedLayout<D>,
    offset: usize,
) -> Result<NonNull<u8>> {
    let layout = FixedLayout::new(*layout.shape(), *layout.strides(), size_of::<T>())?;
    layout.span(size_of::<T>()).check_window(offset, slice.len() * size_of::<T>())?;
    // SAFETY: `check_window` found `offset` inside the slice or, without elements, at most one past
    // its last byte.
    let ptr = unsafe { slice.cast::<u8>().add(offset) };
    check_aligned::<T, D>(ptr.addr().get(), &layout)?;
    Ok(ptr)
}

/// Checks that the address of element 0 and all strides are multiples of the alignment of `T`. An
/// empty array always passes.
pub(crate) fn check_aligned<T: Element, const D: usize>(
    address: usize,
    layout: &FixedLayout<D>,
) -> Result<()> {
    let align = align_of::<T>();
    if layout.is_empty() || address.is_multiple_of(align) && layout.is_aligned(align) {
        return Ok(());
    }
    Err(misaligned(address, layout.strides(), align))
}

#[cold]
#[inline(never)]
fn misaligned(address: usize, strides: &[isize], align: usize) -> Error {
    Error::new(
        Kind::Alignment,
        format!(
            "address {address:#x} or strides {strides:?} are not multiples of {align}, the alignment of the element type"
        ),
    )
    .advising(Advice::ReadByValueOrCopy)
}

element_index! { ArrayView<'_, T> }

impl<'a, T: Element, const D: usize> IntoIterator for ArrayView<'a, T, D> {
    type Item = &'a T;
    type IntoIter = Iter<'a, T, D>;

    fn into_iter(self) -> Iter<'a, T, D> {
        self.iter()
    }
}
