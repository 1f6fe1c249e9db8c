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

        /// Where all elements lie as a slice, the compiler sees that, and there is little to set up
        /// for a short row.
        enum $ways<'a, T: Element, const D: usize> {
            Slice(<$run as IntoIterator>::IntoIter),
            /// 1. Each offset, from `ptr`, is that of an element as the iterator's documentation
            ///    says.
            Strided { ptr: NonNull<u8>, offsets: Offsets<D> },
        }

        // SAFETY: an iterator over references, where `T: Element` is Send and Sync.
        unsafe impl<T: Element, const D: usize> Send for $name<'_, T, D> {}
        // SAFETY: as for Send.
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
                // SAFETY: the offset of an element (Strided 1).
                let element = unsafe { ptr.offset(offsets.next()?) }.cast::<T>().as_ptr();
                // SAFETY: Strided 1: given out just here.
                Some(unsafe { $($to)+ element })
            }

            #[inline]
            fn size_hint(&self) -> (usize, Option<usize>) {
                match &self.0 {
                    $ways::Slice(elements) => elements.size_hint(),
                    $ways::Strided { offsets, .. } => offsets.size_hint(),
                }
            }

            /// Runs without gaps are slices, whose loops the compiler vectorises.
            #[inline]
            fn fold<B, F: FnMut(B, $item) -> B>(self, init: B, mut f: F) -> B {
                let (ptr, offsets) = match self.0 {
                    $ways::Slice(elements) => return elements.fold(init, f),
                    $ways::Strided { ptr, offsets } => (ptr, offsets),
                };
                // SAFETY: the offset of an element (Strided 1).
                let at = |offset: isize| unsafe { ptr.offset(offset) }.cast::<T>().as_ptr();
                if offsets.run_stride() == size_of::<T>() as isize {
                    return offsets.fold_runs(init, |result, offset, len| {
                        // SAFETY: elements of one run, which lie as a slice (Strided 1), given out
                        // just here.
                        let run = unsafe { $from_raw_parts(at(offset), len) };
                        run.into_iter().fold(result, &mut f)
                    });
                }
                // SAFETY: Strided 1: given out just here.
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
    /// initialised, aligned, and for `'a` reached by nobody else; none comes twice.
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
    /// The elements that are left.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

impl<T: Element, const D: usize> fmt::Debug for IterMut<'_, T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IterMut({} elements left)", self.len())
    }
}
