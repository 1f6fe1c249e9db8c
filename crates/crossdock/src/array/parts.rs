//! Iteration over parts of a view: rows, the indices of an axis, chunks of an axis. The layout
//! computes the parts ([`Parts`]); this module makes views of them.
//!
//! Reasons: `DESIGN.md`, "Parts are found by their number".

use std::fmt;
use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::ops::Range;
use std::ptr::NonNull;

use crate::array::{ArrayView, ArrayViewMut};
use crate::element::Element;
use crate::layout::Parts;

macro_rules! views {
    ($(#[$doc:meta])* $name:ident gives $view:ident by $make:path, $reference:ty) => {
        $(#[$doc])*
        pub struct $name<'a, T: Element, P: Parts<E>, const E: usize> {
            ptr: NonNull<u8>,
            parts: P,
            left: Range<usize>,
            lifetime: PhantomData<$reference>,
        }

        // SAFETY: it yields views, which are Send, as `T: Element` and `P: Parts` are; the pointer
        // is plain data.
        unsafe impl<T: Element, P: Parts<E>, const E: usize> Send for $name<'_, T, P, E> {}
        // SAFETY: `&self` gives no access to the elements beyond cloning a shared iterator; `T:
        // Element` and `P: Parts` are Sync.
        unsafe impl<T: Element, P: Parts<E>, const E: usize> Sync for $name<'_, T, P, E> {}

        impl<'a, T: Element, P: Parts<E>, const E: usize> $name<'a, T, P, E> {
            /// # Safety
            ///
            /// Invariant 1 holds for `ptr` and `parts`.
            #[inline]
            pub(super) unsafe fn new(ptr: NonNull<u8>, parts: P) -> Self {
                let left = 0..parts.count();
                Self { ptr, parts, left, lifetime: PhantomData }
            }

            /// Splits off the first `count` of the remaining parts.
            #[cfg_attr(not(feature = "rayon"), expect(dead_code, reason = "only threads divide the work so"))]
            pub(super) fn split(self, count: usize) -> (Self, Self) {
                let Range { start, end } = self.left;
                let middle = end.min(start.saturating_add(count));
                let before = Self { parts: self.parts.clone(), left: start..middle, ..self };
                (before, Self { left: middle..end, ..self })
            }

            /// # Safety
            ///
            /// 1. `k` is less than the number of parts.
            /// 2. A mutable iterator requests each `k` only once (invariant 1).
            #[inline]
            unsafe fn part(&self, k: usize) -> $view<'a, T, E> {
                let (layout, offset) = self.parts.part(k);
                // SAFETY: `k` is the number of a part (clause 1 of `# Safety`), whose offset is
                // that of an element, or 0 if it has none (invariant 1).
                let ptr = unsafe { self.ptr.offset(offset) };
                // SAFETY: the part's elements are among those of invariant 1; of a mutable
                // iterator, no other view has them (clause 2 of `# Safety`).
                unsafe { $make(ptr, layout) }
            }
        }

        impl<'a, T: Element, P: Parts<E>, const E: usize> Iterator for $name<'a, T, P, E> {
            type Item = $view<'a, T, E>;

            #[inline]
            fn next(&mut self) -> Option<$view<'a, T, E>> {
                let k = self.left.next()?;
                // SAFETY: 1. `left` starts as `0..parts.count()` and only shrinks; 2. it yields
                // each number once, and `split` divides it.
                Some(unsafe { self.part(k) })
            }

            #[inline]
            fn nth(&mut self, n: usize) -> Option<$view<'a, T, E>> {
                let k = self.left.nth(n)?;
                // SAFETY: 1. `left` starts as `0..parts.count()` and only shrinks; 2. it yields
                // each number once, and `split` divides it.
                Some(unsafe { self.part(k) })
            }

            #[inline]
            fn size_hint(&self) -> (usize, Option<usize>) {
                self.left.size_hint()
            }
        }

        impl<'a, T: Element, P: Parts<E>, const E: usize> DoubleEndedIterator for $name<'a, T, P, E> {
            #[inline]
            fn next_back(&mut self) -> Option<$view<'a, T, E>> {
                let k = self.left.next_back()?;
                // SAFETY: 1. `left` starts as `0..parts.count()` and only shrinks; 2. it yields
                // each number once, and `split` divides it.
                Some(unsafe { self.part(k) })
            }
        }

        impl<T: Element, P: Parts<E>, const E: usize> ExactSizeIterator for $name<'_, T, P, E> {}
        impl<T: Element, P: Parts<E>, const E: usize> FusedIterator for $name<'_, T, P, E> {}

        impl<T: Element, P: Parts<E>, const E: usize> fmt::Debug for $name<'_, T, P, E> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({} of rank {E} left)", stringify!($name), self.left.len())
            }
        }
    };
}

views! {
    /// The parts of an [`ArrayView`] in order, from either end.
    ///
    /// ```
    /// use crossdock::array::ArrayView;
    ///
    /// let view = ArrayView::from_slice(&[1, 2, 3, 4, 5, 6], [2, 3])?;
    /// let sums: Vec<i32> = view.rows().map(|row| row.iter().sum()).collect();
    /// assert_eq!(sums, [6, 15]);
    /// let columns: Vec<i32> = view.axis_iter::<1>(1)?.rev().map(|column| column[[0]]).collect();
    /// assert_eq!(columns, [3, 2, 1]);
    /// let widths: Vec<usize> = view.axis_chunks(1, 2)?.map(|chunk| chunk.shape()[1]).collect();
    /// assert_eq!(widths, [2, 1]);
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Invariants
    ///
    /// 1. [`ArrayView`] 1 holds for all elements that the parts reach from `ptr`.
    Views gives ArrayView by ArrayView::new, &'a T
}

views! {
    /// The parts of an [`ArrayViewMut`] in order, from either end. They are disjoint, and may be
    /// held together.
    ///
    /// ```
    /// use crossdock::array::ArrayViewMut;
    ///
    /// let mut data = [0; 6];
    /// let mut view = ArrayViewMut::from_slice(&mut data, [2, 3])?;
    /// for (number, mut row) in view.rows_mut().enumerate() {
    ///     row.fill(number + 1);
    /// }
    /// assert_eq!(data, [1, 1, 1, 2, 2, 2]);
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Invariants
    ///
    /// 1. [`ArrayViewMut`] 1 and 2 hold for all elements that the parts reach from `ptr`, taken
    ///    together; no part is yielded twice.
    ViewsMut gives ArrayViewMut by ArrayViewMut::trusted, &'a mut T
}

impl<T: Element, P: Parts<E>, const E: usize> Clone for Views<'_, T, P, E> {
    fn clone(&self) -> Self {
        Self { ptr: self.ptr, parts: self.parts.clone(), left: self.left.clone(), lifetime: PhantomData }
    }
}

/// Iteration over parts of types that hold constant elements: `part_access! { 'a self: self.ptr,
/// self.layout }`, with the arguments of [`element_access!`](crate::array::access::element_access).
macro_rules! part_access {
    ($lifetime:lifetime $this:ident: $ptr:expr, $layout:expr) => {
        /// The lines along the last axis, in row-major order of their other indices. An array of
        /// rank 0 has no rows: the call does not compile. Each costs O(rank), and O(1) if the other
        /// axes merge into one.
        #[inline]
        pub fn rows(&$this) -> crate::array::Views<$lifetime, T, crate::layout::Lanes<D>, 1> {
            const { assert!(D > 0, "an array of rank 0 has no rows") };
            // SAFETY: the lanes are parts of this layout, whose elements satisfy [`ArrayView`] 1
            // for the lifetime (Access 1 of `element_access!`).
            unsafe { crate::array::Views::new($ptr, $layout.rows()) }
        }

        /// The lines along an axis, in row-major order of their other indices. Each costs O(rank),
        /// and O(1) if the other axes merge into one.
        ///
        /// # Errors
        ///
        /// `is_bounds` if the axis does not exist.
        pub fn lanes(&$this, axis: usize) -> Result<crate::array::Views<$lifetime, T, crate::layout::Lanes<D>, 1>> {
            let lanes = $layout.lanes(axis)?;
            // SAFETY: the lanes are parts of this layout, whose elements satisfy [`ArrayView`] 1
            // for the lifetime (Access 1 of `element_access!`).
            Ok(unsafe { crate::array::Views::new($ptr, lanes) })
        }

        /// The sub-arrays at each index of an axis, in order, without that axis. `OUT` must be `D -
        /// 1`, or the call does not compile. Each costs O(rank).
        ///
        /// # Errors
        ///
        /// `is_bounds` if the axis does not exist.
        pub fn axis_iter<const OUT: usize>(
            &$this,
            axis: usize,
        ) -> Result<crate::array::Views<$lifetime, T, crate::layout::AxisParts<OUT>, OUT>> {
            let parts = $layout.axis_parts(axis)?;
            // SAFETY: the parts are those of this layout, whose elements satisfy [`ArrayView`] 1
            // for the lifetime (Access 1 of `element_access!`).
            Ok(unsafe { crate::array::Views::new($ptr, parts) })
        }

        /// Ranges of `chunk` indices of an axis, in order; the last may be shorter. Each costs
        /// O(rank).
        ///
        /// # Errors
        ///
        /// `is_bounds` if the axis does not exist, `is_shape` for chunks of 0.
        pub fn axis_chunks(
            &$this,
            axis: usize,
            chunk: usize,
        ) -> Result<crate::array::Views<$lifetime, T, crate::layout::AxisChunks<D>, D>> {
            let parts = $layout.axis_chunks(axis, chunk)?;
            // SAFETY: the parts are those of this layout, whose elements satisfy [`ArrayView`] 1
            // for the lifetime (Access 1 of `element_access!`).
            Ok(unsafe { crate::array::Views::new($ptr, parts) })
        }
    };
}

/// Iteration over mutable parts: `part_access_mut! { self: self.ptr, self.layout }`.
macro_rules! part_access_mut {
    ($this:ident: $ptr:expr, $layout:expr) => {
        /// The lines along the last axis, in row-major order of their other indices, as mutable
        /// views. An array of rank 0 has no rows: the call does not compile. Each costs O(rank),
        /// and O(1) if the other axes merge into one.
        #[inline]
        pub fn rows_mut(&mut $this) -> crate::array::ViewsMut<'_, T, crate::layout::Lanes<D>, 1> {
            const { assert!(D > 0, "an array of rank 0 has no rows") };
            // SAFETY: the lanes are disjoint parts of this layout, whose elements satisfy
            // [`ArrayViewMut`] 1 and 2 (Access 1 and 2 of `element_access_mut!`); `&mut self` is
            // borrowed for the result's lifetime.
            unsafe { crate::array::ViewsMut::new($ptr, $layout.rows()) }
        }

        /// The lines along an axis, in row-major order of their other indices, as mutable views.
        /// Each costs O(rank), and O(1) if the other axes merge into one.
        ///
        /// # Errors
        ///
        /// `is_bounds` if the axis does not exist.
        pub fn lanes_mut(&mut $this, axis: usize) -> Result<crate::array::ViewsMut<'_, T, crate::layout::Lanes<D>, 1>> {
            let lanes = $layout.lanes(axis)?;
            // SAFETY: the lanes are disjoint parts of this layout, whose elements satisfy
            // [`ArrayViewMut`] 1 and 2 (Access 1 and 2 of `element_access_mut!`); `&mut self` is
            // borrowed for the result's lifetime.
            Ok(unsafe { crate::array::ViewsMut::new($ptr, lanes) })
        }

        /// The sub-arrays at each index of an axis, in order, without that axis, as mutable views.
        /// `OUT` must be `D - 1`, or the call does not compile. Each costs O(rank).
        ///
        /// # Errors
        ///
        /// `is_bounds` if the axis does not exist.
        pub fn axis_iter_mut<const OUT: usize>(
            &mut $this,
            axis: usize,
        ) -> Result<crate::array::ViewsMut<'_, T, crate::layout::AxisParts<OUT>, OUT>> {
            let parts = $layout.axis_parts(axis)?;
            // SAFETY: the parts are disjoint parts of this layout, whose elements satisfy
            // [`ArrayViewMut`] 1 and 2 (Access 1 and 2 of `element_access_mut!`); `&mut self` is
            // borrowed for the result's lifetime.
            Ok(unsafe { crate::array::ViewsMut::new($ptr, parts) })
        }

        /// Ranges of `chunk` indices of an axis, in order, as mutable views; the last may be
        /// shorter. Each costs O(rank).
        ///
        /// # Errors
        ///
        /// `is_bounds` if the axis does not exist, `is_shape` for chunks of 0.
        pub fn axis_chunks_mut(
            &mut $this,
            axis: usize,
            chunk: usize,
        ) -> Result<crate::array::ViewsMut<'_, T, crate::layout::AxisChunks<D>, D>> {
            let parts = $layout.axis_chunks(axis, chunk)?;
            // SAFETY: the parts are disjoint parts of this layout, whose elements satisfy
            // [`ArrayViewMut`] 1 and 2 (Access 1 and 2 of `element_access_mut!`); `&mut self` is
            // borrowed for the result's lifetime.
            Ok(unsafe { crate::array::ViewsMut::new($ptr, parts) })
        }
    };
}

pub(crate) use {part_access, part_access_mut};
