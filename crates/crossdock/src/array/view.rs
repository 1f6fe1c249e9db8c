//! Borrowed views: elements by reference.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Index;
use std::ptr::NonNull;

use crate::array::iter::Iter;
use crate::element::Element;
use crate::error::{Error, Kind, Result};
use crate::layout::{FixedLayout, Order, SliceSpec};
use crate::memory::count_copied;

/// A borrowed array: elements by `&T`, at the cost of a pointer. It comes from a guard, from an exclusive array, or from a
/// slice, and lives no longer than that.
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
/// 1. Every element that the layout reaches from `ptr` is initialised, aligned for `T`, and constant for `'a`.
pub struct ArrayView<'a, T: Element, const D: usize> {
    ptr: NonNull<u8>,
    layout: FixedLayout<D>,
    lifetime: PhantomData<&'a T>,
}

impl<T: Element, const D: usize> Clone for ArrayView<'_, T, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Element, const D: usize> Copy for ArrayView<'_, T, D> {}

// SAFETY: a view is a `&[T]` with strides, and `T: Element` is Send and Sync.
unsafe impl<T: Element, const D: usize> Send for ArrayView<'_, T, D> {}
// SAFETY: as for Send.
unsafe impl<T: Element, const D: usize> Sync for ArrayView<'_, T, D> {}

impl<'a, T: Element, const D: usize> ArrayView<'a, T, D> {
    /// # Safety
    ///
    /// ArrayView 1.
    #[inline]
    pub(crate) unsafe fn new(ptr: NonNull<u8>, layout: FixedLayout<D>) -> Self {
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
    pub fn from_slice(slice: &'a [T], shape: [usize; D]) -> Result<Self> {
        let layout = FixedLayout::contiguous(shape, size_of::<T>(), Order::RowMajor)?;
        check_numel(&shape, layout.numel(), slice.len())?;
        // SAFETY: a slice is initialised, aligned, and constant for its lifetime; the layout covers just its elements.
        Ok(unsafe { Self::new(NonNull::from(slice).cast(), layout) })
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
    pub fn as_ptr(&self) -> *const T {
        self.ptr.as_ptr().cast()
    }

    /// The element at an index, or `None` where there is none.
    #[inline(always)]
    pub fn get(&self, index: [usize; D]) -> Option<&'a T> {
        let offset = self.layout.checked_offset(index)?;
        // SAFETY: an offset that the layout gives for an index inside of it (ArrayView 1).
        let ptr = unsafe { self.ptr.offset(offset) };
        // SAFETY: ArrayView 1.
        Some(unsafe { ptr.cast().as_ref() })
    }

    /// The element at an index that is known to be inside.
    ///
    /// # Safety
    ///
    /// Each index is less than the length of its axis.
    #[inline(always)]
    pub unsafe fn get_unchecked(&self, index: [usize; D]) -> &'a T {
        // SAFETY: an offset that the layout gives for an index inside of it (the caller's word, ArrayView 1).
        let ptr = unsafe { self.ptr.offset(self.layout.offset_at(index)) };
        // SAFETY: ArrayView 1.
        unsafe { ptr.cast().as_ref() }
    }

    /// Part of the view, named by [`s!`](crate::s). O(rank).
    ///
    /// # Errors
    ///
    /// `is_bounds` where a range or an index leaves its axis.
    #[inline(always)]
    pub fn slice<S, const OUT: usize>(&self, slices: S) -> Result<ArrayView<'a, T, OUT>>
    where
        S: SliceSpec<D, OUT>,
    {
        let (layout, offset) = self.layout.slice(slices)?;
        // SAFETY: the offset goes with the layout (ArrayView 1).
        Ok(unsafe { self.moved(layout, offset) })
    }

    /// The axes in another order: axis `k` of the result is axis `axes[k]` of this view. O(rank).
    ///
    /// # Errors
    ///
    /// `is_shape` where `axes` does not name every axis once.
    pub fn permute(&self, axes: [usize; D]) -> Result<Self> {
        // SAFETY: a permuted layout reaches the same elements.
        Ok(unsafe { self.moved(self.layout.permute(axes)?, 0) })
    }

    /// The axes in reverse order. O(rank).
    pub fn transpose(&self) -> Self {
        // SAFETY: a permuted layout reaches the same elements.
        unsafe { self.moved(self.layout.transpose(), 0) }
    }

    /// # Safety
    ///
    /// Offset and layout came together from an operation on this view's layout.
    #[inline(always)]
    unsafe fn moved<const E: usize>(&self, layout: FixedLayout<E>, offset: isize) -> ArrayView<'a, T, E> {
        // SAFETY: the caller's word, and ArrayView 1.
        let ptr = unsafe { self.ptr.offset(offset) };
        // SAFETY: as above.
        unsafe { ArrayView::new(ptr, layout) }
    }

    /// The elements as a slice, where they lie row-major without gaps. O(rank).
    pub fn as_slice(&self) -> Option<&'a [T]> {
        if !self.layout.is_contiguous(size_of::<T>(), Order::RowMajor) {
            return None;
        }
        let ptr = if self.is_empty() { NonNull::dangling() } else { self.ptr.cast() };
        // SAFETY: ArrayView 1, and contiguous as just checked; an empty slice needs only alignment.
        Some(unsafe { std::slice::from_raw_parts(ptr.as_ptr(), self.len()) })
    }

    /// The elements in row-major order.
    pub fn iter(&self) -> Iter<'a, T> {
        // SAFETY: the layout's offsets are those of elements (ArrayView 1).
        unsafe { Iter::new(self.ptr, self.layout.offsets()) }
    }

    /// The elements in row-major order, copied (and counted).
    pub fn to_vec(&self) -> Vec<T> {
        count_copied(self.layout.nbytes(size_of::<T>()));
        match self.as_slice() {
            Some(slice) => slice.to_vec(),
            None => self.iter().copied().collect(),
        }
    }
}

#[cold]
#[inline(never)]
fn wrong_count(shape: &[usize], wanted: usize, given: usize) -> Error {
    Error::new(Kind::Shape, format!("shape {shape:?} has {wanted} elements, but {given} were given"))
}

pub(super) fn check_numel(shape: &[usize], wanted: usize, given: usize) -> Result<()> {
    if wanted == given { Ok(()) } else { Err(wrong_count(shape, wanted, given)) }
}

/// Element 0 and all strides are multiples of the alignment of `T`; where there are no elements, anything is.
pub(crate) fn check_aligned<T: Element, const D: usize>(
    ptr: NonNull<u8>,
    layout: &FixedLayout<D>,
) -> Result<()> {
    let (address, align) = (ptr.addr().get(), align_of::<T>());
    if layout.numel() == 0 || address.is_multiple_of(align) && layout.is_aligned(align) {
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
            "address {address:#x} or strides {strides:?} are not multiples of {align}, the alignment of the element type: take \
             elements by value, or copy the array"
        ),
    )
}

/// Panics where the index is outside, as a slice does.
#[cold]
#[inline(never)]
#[track_caller]
pub(super) fn index_panic(index: &[usize], shape: &[usize]) -> ! {
    panic!("index {index:?} is out of bounds for shape {shape:?}")
}

impl<T: Element, const D: usize> Index<[usize; D]> for ArrayView<'_, T, D> {
    type Output = T;

    /// # Panics
    ///
    /// Where the index is outside.
    #[inline(always)]
    fn index(&self, index: [usize; D]) -> &T {
        match self.get(index) {
            Some(element) => element,
            None => index_panic(&index, self.shape()),
        }
    }
}

impl<'a, T: Element, const D: usize> IntoIterator for ArrayView<'a, T, D> {
    type Item = &'a T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T: Element + fmt::Debug, const D: usize> fmt::Debug for ArrayView<'_, T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ArrayView {:?} ", self.shape())?;
        f.debug_list().entries(self.iter()).finish()
    }
}
