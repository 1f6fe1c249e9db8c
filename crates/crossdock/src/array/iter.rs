//! Iteration over elements, in row-major order.

use std::fmt;
use std::iter::FusedIterator;
use std::ptr::NonNull;
use std::slice;

use crate::element::Element;
use crate::layout::Offsets;

macro_rules! elements {
    (
        $(#[$doc:meta])* $name:ident gives $item:ty, by [$($to:tt)+],
        in runs of $run:ty, by $from_raw_parts:path, and $ways:ident
    ) => {
        $(#[$doc])*
        pub struct $name<'a, T: Element, const D: usize>($ways<'a, T, D>);

        /// The slice variant lets the compiler vectorise, and costs little setup for a short row.
        enum $ways<'a, T: Element, const D: usize> {
            Slice(<$run as IntoIterator>::IntoIter),
            /// 1. Each offset, from `ptr`, is that of an element as the iterator's documentation
            ///    describes.
            Strided { ptr: NonNull<u8>, offsets: Offsets<D> },
        }

        // SAFETY: it yields only references to `T`, and `T: Element` is Send and Sync; the pointer
        // and the offsets are plain data.
        unsafe impl<T: Element, const D: usize> Send for $name<'_, T, D> {}
        // SAFETY: `&self` gives no access to the elements beyond cloning a shared iterator, and `T:
        // Element` is Send and Sync.
        unsafe impl<T: Element, const D: usize> Sync for $name<'_, T, D> {}

        impl<'a, T: Element, const D: usize> $name<'a, T, D> {
            #[inline]
            pub(super) fn of_slice(slice: $run) -> Self {
                Self($ways::Slice(slice.into_iter()))
            }

            /// # Safety
            ///
            /// Strided 1.
            #[inline]
            pub(super) unsafe fn strided(ptr: NonNull<u8>, offsets: Offsets<D>) -> Self {
                Self($ways::Strided { ptr, offsets })
            }
        }

        impl<'a, T: Element, const D: usize> Iterator for $name<'a, T, D> {
            type Item = $item;

            #[inline]
            fn next(&mut self) -> Option<$item> {
                let (ptr, offsets) = match &mut self.0 {
                    $ways::Slice(elements) => return elements.next(),
                    $ways::Strided { ptr, offsets } => (ptr, offsets),
                };
                // SAFETY: `offsets` yielded this offset, so it is that of an element in the
                // allocation of `ptr` (Strided 1).
                let element = unsafe { ptr.offset(offsets.next()?) }.cast::<T>().as_ptr();
                // SAFETY: the element satisfies the iterator's documentation (Strided 1): constant,
                // or for a mutable iterator at one offset only, which `offsets` yields once.
                Some(unsafe { $($to)+ element })
            }

            #[inline]
            fn size_hint(&self) -> (usize, Option<usize>) {
                match &self.0 {
                    $ways::Slice(elements) => elements.size_hint(),
                    $ways::Strided { offsets, .. } => offsets.size_hint(),
                }
            }

            /// Contiguous runs are slices, whose loops the compiler vectorises.
            #[inline]
            fn fold<B, F: FnMut(B, $item) -> B>(self, init: B, mut f: F) -> B {
                let (ptr, offsets) = match self.0 {
                    $ways::Slice(elements) => return elements.fold(init, f),
                    $ways::Strided { ptr, offsets } => (ptr, offsets),
                };
                // SAFETY: `at` is called below with offsets that `offsets` yields, which are those
                // of elements in the allocation of `ptr` (Strided 1).
                let at = |offset: isize| unsafe { ptr.offset(offset) }.cast::<T>().as_ptr();
                if offsets.run_stride() == size_of::<T>() as isize {
                    return offsets.fold_runs(init, |result, offset, len| {
                        // SAFETY: the step of the runs is `size_of::<T>()`, so `len` elements lie
                        // one after the other (Strided 1): constant, or in a mutable iterator only
                        // in this run, which `fold_runs` yields once.
                        let run = unsafe { $from_raw_parts(at(offset), len) };
                        run.into_iter().fold(result, &mut f)
                    });
                }
                // SAFETY: the element satisfies the iterator's documentation (Strided 1): constant,
                // or for a mutable iterator at one offset only, which `offsets` yields once.
                offsets.fold(init, |result, offset| f(result, unsafe { $($to)+ at(offset) }))
            }
        }

        impl<T: Element, const D: usize> ExactSizeIterator for $name<'_, T, D> {}
        impl<T: Element, const D: usize> FusedIterator for $name<'_, T, D> {}
    };
}

elements! {
    /// The elements of an [`ArrayView`](crate::array::ArrayView), in row-major order: initialised,
    /// aligned, and constant for `'a`.
    Iter gives &'a T, by [&*], in runs of &'a [T], by slice::from_raw_parts, and Ways
}

elements! {
    /// The elements of an [`ArrayViewMut`](crate::array::ArrayViewMut), in row-major order:
    /// initialised, aligned, and for `'a` reached through this iterator alone; each is yielded
    /// once.
    IterMut gives &'a mut T, by [&mut *], in runs of &'a mut [T], by slice::from_raw_parts_mut, and WaysMut
}

impl<T: Element, const D: usize> Clone for Iter<'_, T, D> {
    fn clone(&self) -> Self {
        Self(match &self.0 {
            Ways::Slice(elements) => Ways::Slice(elements.clone()),
            Ways::Strided { ptr, offsets } => Ways::Strided { ptr: *ptr, offsets: offsets.clone() },
        })
    }
}

impl<T: Element + fmt::Debug, const D: usize> fmt::Debug for Iter<'_, T, D> {
    /// The remaining elements.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

impl<T: Element, const D: usize> fmt::Debug for IterMut<'_, T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IterMut({} elements left)", self.len())
    }
}
