//! Elements by reference, and iteration: one list for types that hold constant elements (views and
//! the guards of Read and Write leases), and one for types with exclusive access.
//!
//! The macros take the lifetime of the references, and the fields with the address of element 0 and
//! the layout. An invariant of the type makes each access sound:
//!
//! # Access
//!
//! 1. The elements that the layout reaches from that address lie in one allocation, and are
//!    initialised, aligned, and constant for that lifetime.
//! 2. In the second list, for that lifetime: they are reached through this value alone, and no two
//!    indices reach the same byte.

/// `element_access! { 'a self: self.ptr, self.layout }`
macro_rules! element_access {
    ($lifetime:lifetime $this:ident: $ptr:expr, $layout:expr) => {
        /// The element at an index, or `None` if the index is out of bounds.
        #[inline(always)]
        pub fn get(&$this, index: [usize; D]) -> Option<&$lifetime T> {
            let offset = $layout.checked_offset(index)?;
            // SAFETY: `checked_offset` found the index inside the shape, so this is the offset of
            // an element, in the allocation of element 0 (Access 1).
            let ptr = unsafe { $ptr.offset(offset) };
            // SAFETY: `ptr` is the address of an element: initialised, aligned and constant for the
            // lifetime of the result (Access 1).
            Some(unsafe { ptr.cast().as_ref() })
        }

        /// The element at an index that the caller knows to be in bounds.
        ///
        /// # Safety
        ///
        /// Each index is less than the length of its axis.
        #[inline(always)]
        pub unsafe fn get_unchecked(&$this, index: [usize; D]) -> &$lifetime T {
            // SAFETY: `# Safety` says that the index is inside the shape, so this is the offset of
            // an element, in the allocation of element 0 (Access 1).
            let ptr = unsafe { $ptr.offset($layout.offset_at(index)) };
            // SAFETY: `ptr` is the address of an element: initialised, aligned and constant for the
            // lifetime of the result (Access 1).
            unsafe { ptr.cast().as_ref() }
        }

        /// The elements as a slice, if they are C-contiguous (row-major). O(rank).
        #[inline]
        pub fn as_slice(&$this) -> Option<&$lifetime [T]> {
            if !$layout.is_contiguous(size_of::<T>(), crate::layout::Order::RowMajor) {
                return None;
            }
            let len = $layout.len();
            let ptr = if len == 0 { std::ptr::NonNull::dangling() } else { $ptr.cast() };
            // SAFETY: `is_contiguous` found `len` elements one after the other, each initialised,
            // aligned and constant (Access 1); an empty slice needs only the alignment of
            // `dangling`.
            Some(unsafe { std::slice::from_raw_parts(ptr.as_ptr(), len) })
        }

        /// The elements in row-major order.
        #[inline]
        pub fn iter(&$this) -> crate::array::Iter<$lifetime, T, D> {
            match $this.as_slice() {
                Some(slice) => crate::array::Iter::of_slice(slice),
                // SAFETY: the offsets are those of this layout's elements, which are initialised,
                // aligned and constant for the lifetime (Access 1).
                None => unsafe { crate::array::Iter::strided($ptr, $layout.offsets()) },
            }
        }

        /// The elements in row-major order, each with its index.
        #[inline]
        pub fn indexed_iter(
            &$this,
        ) -> impl DoubleEndedIterator<Item = ([usize; D], &$lifetime T)> + ExactSizeIterator + Clone {
            // SAFETY: the offsets are those of this layout's elements, which are initialised,
            // aligned and constant for the lifetime (Access 1).
            unsafe { crate::array::IndexedIter::new($ptr, $layout.indexed_offsets()) }
        }

        /// The elements in row-major order, copied (and counted).
        pub fn to_vec(&$this) -> Vec<T> {
            crate::memory::count_copied($layout.nbytes(size_of::<T>()));
            match ($this.as_slice(), crate::array::without_bytes($layout.len())) {
                (_, Some(all)) => all,
                (Some(slice), None) => slice.to_vec(),
                (None, None) => $this.iter().copied().collect(),
            }
        }
    };
}

/// `element_access_mut! { self: self.ptr, self.layout }`
macro_rules! element_access_mut {
    ($this:ident: $ptr:expr, $layout:expr) => {
        /// The element at an index by mutable reference, or `None` if the index is out of bounds.
        #[inline(always)]
        pub fn get_mut(&mut $this, index: [usize; D]) -> Option<&mut T> {
            let offset = $layout.checked_offset(index)?;
            // SAFETY: `checked_offset` found the index inside the shape, so this is the offset of
            // an element, in the allocation of element 0 (Access 1).
            let ptr = unsafe { $ptr.offset(offset) };
            // SAFETY: `ptr` is the address of an initialised, aligned element (Access 1); only this
            // value reaches it (Access 2), and `&mut self` is borrowed for the result's lifetime.
            Some(unsafe { ptr.cast().as_mut() })
        }

        /// The element, by mutable reference, at an index that the caller knows to be in bounds.
        ///
        /// # Safety
        ///
        /// Each index is less than the length of its axis.
        #[inline(always)]
        pub unsafe fn get_unchecked_mut(&mut $this, index: [usize; D]) -> &mut T {
            // SAFETY: `# Safety` says that the index is inside the shape, so this is the offset of
            // an element, in the allocation of element 0 (Access 1).
            let ptr = unsafe { $ptr.offset($layout.offset_at(index)) };
            // SAFETY: `ptr` is the address of an initialised, aligned element (Access 1); only this
            // value reaches it (Access 2), and `&mut self` is borrowed for the result's lifetime.
            unsafe { ptr.cast().as_mut() }
        }

        /// The address of element 0, for writing.
        #[inline]
        pub fn as_mut_ptr(&mut $this) -> *mut T {
            $ptr.as_ptr().cast()
        }

        /// The elements as a mutable slice, if they are C-contiguous (row-major). O(rank).
        #[inline]
        pub fn as_mut_slice(&mut $this) -> Option<&mut [T]> {
            if !$layout.is_contiguous(size_of::<T>(), crate::layout::Order::RowMajor) {
                return None;
            }
            let len = $layout.len();
            let ptr = if len == 0 { std::ptr::NonNull::dangling() } else { $ptr.cast() };
            // SAFETY: `is_contiguous` found `len` initialised, aligned elements one after the other
            // (Access 1), which only this value reaches (Access 2); an empty slice needs only
            // alignment.
            Some(unsafe { std::slice::from_raw_parts_mut(ptr.as_ptr(), len) })
        }

        /// The elements in row-major order, by mutable reference.
        #[inline]
        pub fn iter_mut(&mut $this) -> crate::array::IterMut<'_, T, D> {
            if $layout.is_contiguous(size_of::<T>(), crate::layout::Order::RowMajor) {
                return crate::array::IterMut::of_slice($this.as_mut_slice().unwrap_or_default());
            }
            // SAFETY: the offsets are those of this layout's elements, initialised and aligned
            // (Access 1), reached through this value alone and each at one index (Access 2).
            unsafe { crate::array::IterMut::strided($ptr, $layout.offsets()) }
        }

        /// The elements in row-major order by mutable reference, each with its index.
        #[inline]
        pub fn indexed_iter_mut(
            &mut $this,
        ) -> impl DoubleEndedIterator<Item = ([usize; D], &mut T)> + ExactSizeIterator {
            // SAFETY: the offsets are those of this layout's elements, initialised and aligned
            // (Access 1), reached through this value alone and each at one index (Access 2).
            unsafe { crate::array::IndexedIterMut::new($ptr, $layout.indexed_offsets()) }
        }

        /// Writes one value to every element.
        pub fn fill(&mut $this, value: T) {
            $this.iter_mut().for_each(|element| *element = value);
        }
    };
}

/// `a[[i, j]]`, and iteration by `for`, for types with [`element_access!`].
macro_rules! element_index {
    ($type:ident<$($of:tt),*>) => {
        impl<T: crate::element::Element, const D: usize> std::ops::Index<[usize; D]> for $type<$($of),*, D> {
            type Output = T;

            /// # Panics
            ///
            /// If the index is out of bounds.
            #[inline(always)]
            fn index(&self, index: [usize; D]) -> &T {
                match self.get(index) {
                    Some(element) => element,
                    None => crate::array::access::index_panic(&index, self.shape()),
                }
            }
        }

        impl<'i, T: crate::element::Element, const D: usize> IntoIterator for &'i $type<$($of),*, D> {
            type Item = &'i T;
            type IntoIter = crate::array::Iter<'i, T, D>;

            fn into_iter(self) -> crate::array::Iter<'i, T, D> {
                self.iter()
            }
        }
    };
}

/// `a[[i, j]] = …`, and iteration by `for`, for types with [`element_access_mut!`].
macro_rules! element_index_mut {
    ($type:ident<$($of:tt),*>) => {
        impl<T: crate::element::Element, const D: usize> std::ops::IndexMut<[usize; D]> for $type<$($of),*, D> {
            #[inline(always)]
            fn index_mut(&mut self, index: [usize; D]) -> &mut T {
                let shape = *self.shape();
                match self.get_mut(index) {
                    Some(element) => element,
                    None => crate::array::access::index_panic(&index, &shape),
                }
            }
        }

        impl<'i, T: crate::element::Element, const D: usize> IntoIterator for &'i mut $type<$($of),*, D> {
            type Item = &'i mut T;
            type IntoIter = crate::array::IterMut<'i, T, D>;

            fn into_iter(self) -> crate::array::IterMut<'i, T, D> {
                self.iter_mut()
            }
        }
    };
}

pub(crate) use {element_access, element_access_mut, element_index, element_index_mut};

/// Panics if the index is out of bounds, as a slice does.
#[cold]
#[inline(never)]
#[track_caller]
pub(super) fn index_panic(index: &[usize], shape: &[usize]) -> ! {
    panic!("index {index:?} is out of bounds for shape {shape:?}")
}
