//! Elements by reference, and iteration: one list for all that hold constant elements (views and
//! the guards of Read and Write leases), and one for those that nobody else touches.
//!
//! The macros are told the lifetime of the references, and where the type keeps the address of
//! element 0 and the layout. What makes each access sound is an invariant of that type: the
//! elements that the layout reaches from there are initialised, aligned, and constant (or, in the
//! second list, ours alone) for that lifetime.

/// `element_access! { 'a self: self.ptr, self.layout }`
macro_rules! element_access {
    ($lifetime:lifetime $this:ident: $ptr:expr, $layout:expr) => {
        /// The element at an index, or `None` where there is none.
        #[inline(always)]
        pub fn get(&$this, index: [usize; D]) -> Option<&$lifetime T> {
            let offset = $layout.checked_offset(index)?;
            // SAFETY: an offset that the layout gives for an index inside of it.
            let ptr = unsafe { $ptr.offset(offset) };
            // SAFETY: such an element may be had by reference.
            Some(unsafe { ptr.cast().as_ref() })
        }

        /// The element at an index that is known to be inside.
        ///
        /// # Safety
        ///
        /// Each index is less than the length of its axis.
        #[inline(always)]
        pub unsafe fn get_unchecked(&$this, index: [usize; D]) -> &$lifetime T {
            // SAFETY: an offset that the layout gives for an index inside of it (the caller's
            // word).
            let ptr = unsafe { $ptr.offset($layout.offset_at(index)) };
            // SAFETY: such an element may be had by reference.
            unsafe { ptr.cast().as_ref() }
        }

        /// The elements as a slice, where they lie row-major without gaps. O(rank).
        #[inline]
        pub fn as_slice(&$this) -> Option<&$lifetime [T]> {
            if !$layout.is_contiguous(size_of::<T>(), crate::layout::Order::RowMajor) {
                return None;
            }
            let len = $layout.len();
            let ptr = if len == 0 { std::ptr::NonNull::dangling() } else { $ptr.cast() };
            // SAFETY: without gaps, as just checked, each may be had by reference; an empty slice
            // needs only alignment.
            Some(unsafe { std::slice::from_raw_parts(ptr.as_ptr(), len) })
        }

        /// The elements in row-major order.
        #[inline]
        pub fn iter(&$this) -> crate::array::Iter<$lifetime, T, D> {
            match $this.as_slice() {
                Some(slice) => crate::array::Iter::of_slice(slice),
                // SAFETY: the layout's offsets are those of elements that may be had by reference.
                None => unsafe { crate::array::Iter::strided($ptr, $layout.offsets()) },
            }
        }

        /// The elements in row-major order, each with its index.
        #[inline]
        pub fn indexed_iter(
            &$this,
        ) -> impl DoubleEndedIterator<Item = ([usize; D], &$lifetime T)> + ExactSizeIterator + Clone {
            // SAFETY: the layout's offsets are those of elements that may be had by reference.
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
        /// The element at an index, to be written, or `None` where there is none.
        #[inline(always)]
        pub fn get_mut(&mut $this, index: [usize; D]) -> Option<&mut T> {
            let offset = $layout.checked_offset(index)?;
            // SAFETY: an offset that the layout gives for an index inside of it.
            let ptr = unsafe { $ptr.offset(offset) };
            // SAFETY: such an element is ours alone, and `&mut self` is borrowed.
            Some(unsafe { ptr.cast().as_mut() })
        }

        /// The element at an index that is known to be inside, to be written.
        ///
        /// # Safety
        ///
        /// Each index is less than the length of its axis.
        #[inline(always)]
        pub unsafe fn get_unchecked_mut(&mut $this, index: [usize; D]) -> &mut T {
            // SAFETY: an offset that the layout gives for an index inside of it (the caller's
            // word).
            let ptr = unsafe { $ptr.offset($layout.offset_at(index)) };
            // SAFETY: such an element is ours alone, and `&mut self` is borrowed.
            unsafe { ptr.cast().as_mut() }
        }

        /// The address of element 0, to be written.
        #[inline]
        pub fn as_mut_ptr(&mut $this) -> *mut T {
            $ptr.as_ptr().cast()
        }

        /// The elements as a slice, where they lie row-major without gaps, to be written. O(rank).
        #[inline]
        pub fn as_mut_slice(&mut $this) -> Option<&mut [T]> {
            if !$layout.is_contiguous(size_of::<T>(), crate::layout::Order::RowMajor) {
                return None;
            }
            let len = $layout.len();
            let ptr = if len == 0 { std::ptr::NonNull::dangling() } else { $ptr.cast() };
            // SAFETY: without gaps, as just checked, each is ours alone; an empty slice needs only
            // alignment.
            Some(unsafe { std::slice::from_raw_parts_mut(ptr.as_ptr(), len) })
        }

        /// The elements in row-major order, to be written.
        #[inline]
        pub fn iter_mut(&mut $this) -> crate::array::IterMut<'_, T, D> {
            if $layout.is_contiguous(size_of::<T>(), crate::layout::Order::RowMajor) {
                return crate::array::IterMut::of_slice($this.as_mut_slice().unwrap_or_default());
            }
            // SAFETY: the layout's offsets are those of elements that are ours alone; it gives none
            // twice.
            unsafe { crate::array::IterMut::strided($ptr, $layout.offsets()) }
        }

        /// The elements in row-major order, each with its index, to be written.
        #[inline]
        pub fn indexed_iter_mut(
            &mut $this,
        ) -> impl DoubleEndedIterator<Item = ([usize; D], &mut T)> + ExactSizeIterator {
            // SAFETY: the layout's offsets are those of elements that are ours alone; it gives none
            // twice.
            unsafe { crate::array::IndexedIterMut::new($ptr, $layout.indexed_offsets()) }
        }

        /// Writes one value to every element.
        pub fn fill(&mut $this, value: T) {
            $this.iter_mut().for_each(|element| *element = value);
        }
    };
}

/// `a[[i, j]]`, and iteration by `for`, over what has [`element_access!`].
macro_rules! element_index {
    ($type:ident<$($of:tt),*>) => {
        impl<T: crate::element::Element, const D: usize> std::ops::Index<[usize; D]> for $type<$($of),*, D> {
            type Output = T;

            /// # Panics
            ///
            /// Where the index is outside.
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

/// `a[[i, j]] = …`, and iteration by `for`, over what has [`element_access_mut!`].
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

/// Panics where the index is outside, as a slice does.
#[cold]
#[inline(never)]
#[track_caller]
pub(super) fn index_panic(index: &[usize], shape: &[usize]) -> ! {
    panic!("index {index:?} is out of bounds for shape {shape:?}")
}
