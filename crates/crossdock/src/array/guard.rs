//! Leases of a typed array, and the access that each of them gives.

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::array::access::{element_access, element_access_mut, element_index, element_index_mut};
use crate::array::display::{Elements, Head, Show, printed};
use crate::array::parts::{part_access, part_access_mut};
use crate::array::queries::typed_queries;
use crate::array::view::ArrayView;
use crate::array::view_mut::ArrayViewMut;
use crate::array::without_bytes;
use crate::element::Element;
use crate::error::Result;
use crate::layout::FixedLayout;
use crate::memory::{Lease, count_copied, racy};

/// A lease, and the array that it covers.
///
/// # Invariants
///
/// 1. The layout, applied at `ptr`, reaches only bytes of the lease's region, which is on the host.
struct Covered<T, const D: usize> {
    // Kept for its drop, which gives the lease back.
    lease: Lease,
    ptr: NonNull<u8>,
    layout: FixedLayout<D>,
    element: PhantomData<T>,
}

// SAFETY: plain data under a lease, which goes to any thread; each guard answers for what it gives.
unsafe impl<T: Element, const D: usize> Send for Covered<T, D> {}
// SAFETY: as for Send.
unsafe impl<T: Element, const D: usize> Sync for Covered<T, D> {}

impl<T: Element, const D: usize> Covered<T, D> {
    fn get(&self, index: [usize; D]) -> Result<T> {
        let offset = self.layout.offset_of(index)?;
        // SAFETY: the offset of an element (Covered 1).
        let ptr = unsafe { self.ptr.offset(offset) };
        // SAFETY: Covered 1; whoever else writes holds a Share lease and does so racily, or is not
        // bound by our rules.
        Ok(unsafe { racy::load(ptr.as_ptr().cast()) })
    }

    fn values(&self) -> impl Iterator<Item = T> {
        self.layout.offsets().map(|offset| {
            // SAFETY: the offset of an element (Covered 1).
            let ptr = unsafe { self.ptr.offset(offset) };
            // SAFETY: as in `get`.
            unsafe { racy::load(ptr.as_ptr().cast()) }
        })
    }

    fn head(&self, name: &'static str) -> Head<'_> {
        Head {
            name,
            dtype: T::dtype(),
            shape: self.layout.shape(),
            strides: self.layout.strides(),
            address: self.ptr.as_ptr(),
            place: self.lease.header().place(),
            more: String::new(),
        }
    }

    fn look(&self, f: &mut dyn FnMut(&Elements)) -> Result<()> {
        let layout = self.layout.to_dynamic_trusted(size_of::<T>());
        // SAFETY: Covered 1; every lease permits racy loads.
        f(&unsafe { Elements::new(self.ptr, T::dtype(), layout) });
        Ok(())
    }

    fn to_vec(&self) -> Vec<T> {
        count_copied(self.layout.nbytes(size_of::<T>()));
        without_bytes(self.layout.len()).unwrap_or_else(|| self.values().collect())
    }
}

macro_rules! guard {
    ($(#[$doc:meta])* $name:ident, $safety:literal) => {
        $(#[$doc])*
        pub struct $name<T: Element, const D: usize>(Covered<T, D>);

        impl<T: Element, const D: usize> $name<T, D> {
            /// # Safety
            ///
            #[doc = $safety]
            #[inline]
            pub(super) unsafe fn new(lease: Lease, ptr: NonNull<u8>, layout: FixedLayout<D>) -> Self {
                Self(Covered { lease, ptr, layout, element: PhantomData })
            }

            typed_queries! { self: self.0.layout, self.0.ptr }
        }

        impl<T: Element, const D: usize> Show for $name<T, D> {
            fn head(&self) -> Head<'_> {
                self.0.head(stringify!($name))
            }

            fn look(&self, f: &mut dyn FnMut(&Elements)) -> Result<()> {
                self.0.look(f)
            }
        }

        printed!([T: Element, const D: usize] $name<T, D>);
    };
}

guard! {
    /// A Read lease of an array: while it is held nobody writes, so elements are had by `&T`.
    ///
    /// ```
    /// use crossdock::Array;
    ///
    /// let array = Array::from_vec(vec![1, 2, 3, 4], [2, 2])?;
    /// let guard = array.read()?;
    /// assert_eq!((guard[[1, 0]], guard.iter().max()), (3, Some(&4)));
    /// assert!(array.write().unwrap_err().is_conflict());
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ArrayRead, "Covered 1 under a Read lease, with aligned elements."
}

guard! {
    /// The Write lease of an array: while it is held nobody else touches the memory, so elements
    /// are had by `&mut T`.
    ///
    /// ```
    /// use crossdock::Array;
    ///
    /// let array = Array::<f32, 2>::zeros([2, 3])?;
    /// let mut guard = array.write()?;
    /// guard[[1, 2]] = 0.5;
    /// guard.view_mut().iter_mut().for_each(|element| *element += 1.0);
    /// drop(guard);
    /// assert_eq!(array.get([1, 2])?, 1.5);
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ArrayWrite, "Covered 1 under a Write lease, with aligned elements and an injective layout."
}

guard! {
    /// A Share lease of an array: others may write at any time, and so may the holder, one element
    /// by value at a time.
    ///
    /// ```
    /// use crossdock::Array;
    ///
    /// let array = Array::<u32, 1>::zeros([4])?;
    /// let (left, right) = (array.share()?, array.share()?);
    /// left.set([2], 7)?;
    /// assert_eq!(right.get([2])?, 7);
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ArrayShare, "Covered 1 under a Share lease."
}

guard! {
    /// A Pin lease of an array: others may write at any time; the holder loads elements by value.
    ///
    /// ```
    /// use crossdock::Array;
    ///
    /// let array = Array::from_vec(vec![1, 2, 3], [3])?;
    /// let pinned = array.pin()?;
    /// array.set([1], 20)?; // nobody relies on constancy, so this is permitted
    /// assert_eq!(pinned.values().sum::<i32>(), 24);
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ArrayPin, "Covered 1 under a Pin lease."
}

impl<T: Element, const D: usize> ArrayRead<T, D> {
    /// The elements, by reference.
    #[inline]
    pub fn view(&self) -> ArrayView<'_, T, D> {
        // SAFETY: Covered 1, aligned (`new`), initialised (Header 3), and constant under the Read
        // lease, which lives as long as the borrow.
        unsafe { ArrayView::new(self.0.ptr, self.0.layout) }
    }

    element_access! { '_ self: self.0.ptr, self.0.layout }
    part_access! { '_ self: self.0.ptr, self.0.layout }

    /// Everything from element 0 to the last one that lies behind it, gaps included, as elements;
    /// `None` where a stride is negative or no whole number of elements.
    ///
    /// Not on [`ArrayView`]: the gaps of a view may be somebody's `&mut`, those under a Read lease
    /// are nobody's.
    #[cfg_attr(not(feature = "image-0_25"), expect(dead_code, reason = "only images are described so"))]
    pub(crate) fn as_covering_slice(&self) -> Option<&[T]> {
        let size = size_of::<T>();
        let whole = self.strides().iter().zip(self.shape()).all(|(&stride, &len)| {
            len <= 1 || stride >= 0 && size > 0 && stride.unsigned_abs().is_multiple_of(size)
        });
        if !whole || self.is_empty() {
            return whole.then_some(&[]);
        }
        let len = self.0.layout.span(size).nbytes().checked_div(size)?;
        // SAFETY: Covered 1 holds for the gaps too: they lie between two elements of the same
        // region, hence are initialised (Header 3), and constant under the lease. Element 0 is
        // aligned (`new`).
        Some(unsafe { std::slice::from_raw_parts(self.as_ptr(), len) })
    }
}

element_index! { ArrayRead<T> }

impl<T: Element, const D: usize> ArrayWrite<T, D> {
    /// The elements, by reference.
    #[inline]
    pub fn view(&self) -> ArrayView<'_, T, D> {
        // SAFETY: as for a Read lease: the Write lease excludes all other access.
        unsafe { ArrayView::new(self.0.ptr, self.0.layout) }
    }

    /// The elements, by mutable reference.
    #[inline]
    pub fn view_mut(&mut self) -> ArrayViewMut<'_, T, D> {
        // SAFETY: Covered 1, aligned and injective (`new`); the Write lease excludes all other
        // access, and `&mut self` all through this guard.
        unsafe { ArrayViewMut::trusted(self.0.ptr, self.0.layout) }
    }

    element_access! { '_ self: self.0.ptr, self.0.layout }
    part_access! { '_ self: self.0.ptr, self.0.layout }
    element_access_mut! { self: self.0.ptr, self.0.layout }
    part_access_mut! { self: self.0.ptr, self.0.layout }
}

element_index! { ArrayWrite<T> }
element_index_mut! { ArrayWrite<T> }

impl<T: Element, const D: usize> ArrayShare<T, D> {
    /// The element at an index, of any alignment, as it is at this moment.
    ///
    /// # Errors
    ///
    /// `is_bounds`.
    pub fn get(&self, index: [usize; D]) -> Result<T> {
        self.0.get(index)
    }

    /// Writes the element at an index, of any alignment.
    ///
    /// # Errors
    ///
    /// `is_bounds`.
    pub fn set(&self, index: [usize; D], value: T) -> Result<()> {
        let offset = self.0.layout.offset_of(index)?;
        // SAFETY: the offset of an element (Covered 1).
        let ptr = unsafe { self.0.ptr.offset(offset) };
        // SAFETY: Covered 1; Share is not given on read-only handles, and excludes whoever relies
        // on constancy.
        unsafe { racy::store(ptr.as_ptr().cast(), value) };
        Ok(())
    }

    /// The elements by value in row-major order, each as it is when it is loaded.
    pub fn values(&self) -> impl Iterator<Item = T> {
        self.0.values()
    }

    /// The elements of this moment in row-major order, copied (and counted).
    pub fn to_vec(&self) -> Vec<T> {
        self.0.to_vec()
    }
}

impl<T: Element, const D: usize> ArrayPin<T, D> {
    /// The element at an index, of any alignment, as it is at this moment.
    ///
    /// # Errors
    ///
    /// `is_bounds`.
    pub fn get(&self, index: [usize; D]) -> Result<T> {
        self.0.get(index)
    }

    /// The elements by value in row-major order, each as it is when it is loaded.
    pub fn values(&self) -> impl Iterator<Item = T> {
        self.0.values()
    }

    /// The elements of this moment in row-major order, copied (and counted).
    pub fn to_vec(&self) -> Vec<T> {
        self.0.to_vec()
    }
}
