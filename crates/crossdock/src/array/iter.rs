//! Iteration over elements, in row-major order.

use std::fmt;
use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::element::Element;
use crate::layout::Offsets;

/// The elements of an [`ArrayView`](crate::array::ArrayView), in row-major order.
///
/// # Invariants
///
/// 1. Each offset, from `ptr`, is that of an element that is initialised, aligned, and constant for `'a`.
#[derive(Clone)]
pub struct Iter<'a, T: Element, const D: usize> {
    ptr: NonNull<u8>,
    offsets: Offsets<D>,
    lifetime: PhantomData<&'a T>,
}

// SAFETY: an iterator over `&T`, where `T: Element` is Send and Sync.
unsafe impl<T: Element, const D: usize> Send for Iter<'_, T, D> {}
// SAFETY: as for Send.
unsafe impl<T: Element, const D: usize> Sync for Iter<'_, T, D> {}

impl<T: Element, const D: usize> Iter<'_, T, D> {
    /// # Safety
    ///
    /// Iter 1.
    #[inline]
    pub(super) unsafe fn new(ptr: NonNull<u8>, offsets: Offsets<D>) -> Self {
        Self { ptr, offsets, lifetime: PhantomData }
    }
}

impl<'a, T: Element, const D: usize> Iterator for Iter<'a, T, D> {
    type Item = &'a T;

    #[inline]
    fn next(&mut self) -> Option<&'a T> {
        let offset = self.offsets.next()?;
        // SAFETY: Iter 1.
        let ptr = unsafe { self.ptr.offset(offset) };
        // SAFETY: Iter 1.
        Some(unsafe { ptr.cast().as_ref() })
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.offsets.size_hint()
    }

    /// Runs without gaps are slices, whose loops the compiler vectorises.
    #[inline]
    fn fold<B, F: FnMut(B, &'a T) -> B>(self, init: B, mut f: F) -> B {
        let first = self.ptr;
        // SAFETY: the offset of an element (Iter 1).
        let at = |offset: isize| unsafe { first.offset(offset) }.cast::<T>();
        if self.offsets.run_stride() == size_of::<T>() as isize {
            return self.offsets.fold_runs(init, |result, offset, len| {
                // SAFETY: elements of one run, which lie as a slice (Iter 1).
                let run = unsafe { std::slice::from_raw_parts(at(offset).as_ptr(), len) };
                run.iter().fold(result, &mut f)
            });
        }
        // SAFETY: Iter 1.
        self.offsets.fold(init, |result, offset| f(result, unsafe { at(offset).as_ref() }))
    }
}

impl<T: Element, const D: usize> ExactSizeIterator for Iter<'_, T, D> {}
impl<T: Element, const D: usize> FusedIterator for Iter<'_, T, D> {}

impl<T: Element + fmt::Debug, const D: usize> fmt::Debug for Iter<'_, T, D> {
    /// The elements that are left.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

/// The elements of an [`ArrayViewMut`](crate::array::ArrayViewMut), in row-major order.
///
/// # Invariants
///
/// 1. Each offset, from `ptr`, is that of an element that is initialised, aligned, and for `'a` reached by nobody else;
///    no two are the same.
pub struct IterMut<'a, T: Element, const D: usize> {
    ptr: NonNull<u8>,
    offsets: Offsets<D>,
    lifetime: PhantomData<&'a mut T>,
}

// SAFETY: an iterator over `&mut T`, where `T: Element` is Send and Sync.
unsafe impl<T: Element, const D: usize> Send for IterMut<'_, T, D> {}
// SAFETY: as for Send.
unsafe impl<T: Element, const D: usize> Sync for IterMut<'_, T, D> {}

impl<T: Element, const D: usize> IterMut<'_, T, D> {
    /// # Safety
    ///
    /// IterMut 1.
    #[inline]
    pub(super) unsafe fn new(ptr: NonNull<u8>, offsets: Offsets<D>) -> Self {
        Self { ptr, offsets, lifetime: PhantomData }
    }
}

impl<'a, T: Element, const D: usize> Iterator for IterMut<'a, T, D> {
    type Item = &'a mut T;

    #[inline]
    fn next(&mut self) -> Option<&'a mut T> {
        let offset = self.offsets.next()?;
        // SAFETY: IterMut 1.
        let ptr = unsafe { self.ptr.offset(offset) };
        // SAFETY: IterMut 1: this element is given out just here.
        Some(unsafe { ptr.cast().as_mut() })
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.offsets.size_hint()
    }

    /// Runs without gaps are slices, whose loops the compiler vectorises.
    #[inline]
    fn fold<B, F: FnMut(B, &'a mut T) -> B>(self, init: B, mut f: F) -> B {
        let first = self.ptr;
        // SAFETY: the offset of an element (IterMut 1).
        let at = |offset: isize| unsafe { first.offset(offset) }.cast::<T>();
        if self.offsets.run_stride() == size_of::<T>() as isize {
            return self.offsets.fold_runs(init, |result, offset, len| {
                // SAFETY: elements of one run, which lie as a slice (IterMut 1).
                let run = unsafe { std::slice::from_raw_parts_mut(at(offset).as_ptr(), len) };
                run.iter_mut().fold(result, &mut f)
            });
        }
        // SAFETY: IterMut 1: this element is given out just here.
        self.offsets.fold(init, |result, offset| f(result, unsafe { at(offset).as_mut() }))
    }
}

impl<T: Element, const D: usize> ExactSizeIterator for IterMut<'_, T, D> {}
impl<T: Element, const D: usize> FusedIterator for IterMut<'_, T, D> {}

impl<T: Element, const D: usize> fmt::Debug for IterMut<'_, T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IterMut({} elements left)", self.len())
    }
}
