//! Iteration over elements together with their indices.

use std::fmt;
use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::element::Element;
use crate::layout::IndexedOffsets;

macro_rules! indexed {
    ($(#[$doc:meta])* $name:ident gives $reference:ty, by [$($to:tt)+]) => {
        $(#[$doc])*
        pub(crate) struct $name<'a, T: Element, const D: usize> {
            ptr: NonNull<u8>,
            offsets: IndexedOffsets<D>,
            lifetime: PhantomData<$reference>,
        }

        // SAFETY: it yields only references to `T`, and `T: Element` is Send and Sync; the pointer
        // and the offsets are plain data.
        unsafe impl<T: Element, const D: usize> Send for $name<'_, T, D> {}
        // SAFETY: `&self` gives no access to the elements beyond cloning a shared iterator, and `T:
        // Element` is Send and Sync.
        unsafe impl<T: Element, const D: usize> Sync for $name<'_, T, D> {}

        impl<'a, T: Element, const D: usize> $name<'a, T, D> {
            /// # Safety
            ///
            /// Invariant 1.
            #[inline]
            pub(super) unsafe fn new(ptr: NonNull<u8>, offsets: IndexedOffsets<D>) -> Self {
                Self { ptr, offsets, lifetime: PhantomData }
            }

            /// # Safety
            ///
            /// `offsets` yielded the item, and no other call uses it.
            #[inline]
            unsafe fn item(&self, (index, offset): ([usize; D], isize)) -> ([usize; D], $reference) {
                // SAFETY: `offsets` yielded `offset` (`# Safety`), so it is that of an element
                // (invariant 1).
                let ptr = unsafe { self.ptr.offset(offset) }.cast::<T>().as_ptr();
                // SAFETY: the element is initialised, aligned, and for `'a` accessible by this
                // reference (invariant 1); the offset is used once (`# Safety`).
                (index, unsafe { $($to)+ ptr })
            }
        }

        impl<'a, T: Element, const D: usize> Iterator for $name<'a, T, D> {
            type Item = ([usize; D], $reference);

            #[inline]
            fn next(&mut self) -> Option<Self::Item> {
                let item = self.offsets.next()?;
                // SAFETY: `item` was just taken from `offsets`, which yields each item once, and is
                // used here only.
                Some(unsafe { self.item(item) })
            }

            fn nth(&mut self, n: usize) -> Option<Self::Item> {
                let item = self.offsets.nth(n)?;
                // SAFETY: `item` was just taken from `offsets`, which yields each item once, and is
                // used here only.
                Some(unsafe { self.item(item) })
            }

            #[inline]
            fn size_hint(&self) -> (usize, Option<usize>) {
                self.offsets.size_hint()
            }
        }

        impl<T: Element, const D: usize> DoubleEndedIterator for $name<'_, T, D> {
            fn next_back(&mut self) -> Option<Self::Item> {
                let item = self.offsets.next_back()?;
                // SAFETY: `item` was just taken from `offsets`, which yields each item once, and is
                // used here only.
                Some(unsafe { self.item(item) })
            }
        }

        impl<T: Element, const D: usize> ExactSizeIterator for $name<'_, T, D> {}
        impl<T: Element, const D: usize> FusedIterator for $name<'_, T, D> {}

        impl<T: Element, const D: usize> fmt::Debug for $name<'_, T, D> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({} elements left)", stringify!($name), self.len())
            }
        }
    };
}

indexed! {
    /// The elements of an [`ArrayView`](crate::array::ArrayView) with their indices, in row-major
    /// order, from either end.
    ///
    /// # Invariants
    ///
    /// 1. Each offset, from `ptr`, is that of an element that is initialised, aligned, and constant
    ///    for `'a`.
    IndexedIter gives &'a T, by [&*]
}

indexed! {
    /// The elements of an [`ArrayViewMut`](crate::array::ArrayViewMut) with their indices, in
    /// row-major order, from either end, by mutable reference.
    ///
    /// # Invariants
    ///
    /// 1. Each offset, from `ptr`, is that of an element that is initialised, aligned, and for `'a`
    ///    reached through this iterator alone; no two elements overlap.
    IndexedIterMut gives &'a mut T, by [&mut *]
}

impl<T: Element, const D: usize> Clone for IndexedIter<'_, T, D> {
    fn clone(&self) -> Self {
        Self { ptr: self.ptr, offsets: self.offsets.clone(), lifetime: PhantomData }
    }
}
