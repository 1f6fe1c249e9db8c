//! Leases of a typed array, and the access that each of them permits.

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::array::access::{element_access, element_access_mut, element_index, element_index_mut};
use crate::array::display::{DisplayHead, RacyElements, Show, printed};
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
struct CoveredArray<T, const D: usize> {
    // Held for its drop, which releases the lease.
    lease: Lease,
    ptr: NonNull<u8>,
    layout: FixedLayout<D>,
    element: PhantomData<T>,
}

// SAFETY: `lease` is Send and keeps the region alive on any thread (CoveredArray 1, Header 1); the
// elements are Send and Sync (`T: Element`), and each guard limits access to what its lease
// permits.
unsafe impl<T: Element, const D: usize> Send for CoveredArray<T, D> {}
// SAFETY: `&CoveredArray` only loads elements, which the lease permits on any thread; `lease` and
// the elements are Sync (`T: Element`).
unsafe impl<T: Element, const D: usize> Sync for CoveredArray<T, D> {}

impl<T: Element, const D: usize> CoveredArray<T, D> {
    fn get(&self, index: [usize; D]) -> Result<T> {
        let offset = self.layout.offset_of(index)?;
        // SAFETY: `offset` is the offset of an element of the layout, which reaches only bytes of
        // the lease's region (CoveredArray 1).
        let ptr = unsafe { self.ptr.offset(offset) };
        // SAFETY: `ptr` leads to an element of the region (CoveredArray 1), whose bytes are
        // initialised (Header 3). Under the lease, other writers of this program hold Share and
        // store racily; foreign code and other processes are outside its rules.
        Ok(unsafe { racy::load(ptr.as_ptr().cast()) })
    }

    fn values(&self) -> impl Iterator<Item = T> {
        self.layout.offsets().map(|offset| {
            // SAFETY: `offset` is the offset of an element of the layout, which reaches only bytes
            // of the lease's region (CoveredArray 1).
            let ptr = unsafe { self.ptr.offset(offset) };
            // SAFETY: `ptr` leads to an element of the region (CoveredArray 1), whose bytes are
            // initialised (Header 3). Under the lease, other writers of this program hold Share and
            // store racily.
            unsafe { racy::load(ptr.as_ptr().cast()) }
        })
    }

    fn head(&self, name: &'static str) -> DisplayHead<'_> {
        DisplayHead {
            name,
            dtype: T::dtype(),
            shape: self.layout.shape(),
            strides: self.layout.strides(),
            address: self.ptr.as_ptr(),
            place: self.lease.header().place(),
            more: String::new(),
        }
    }

    fn with_elements(&self, f: &mut dyn FnMut(&RacyElements)) -> Result<()> {
        let layout = self.layout.to_dynamic_trusted(size_of::<T>());
        // SAFETY: RacyElements 1: the layout reaches only bytes of the region (CoveredArray 1), and
        // a lease of any kind permits racy loads. RacyElements 2: a typed layout follows no
        // pointers.
        f(&unsafe { RacyElements::new(self.ptr, T::dtype(), layout) });
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
        pub struct $name<T: Element, const D: usize>(CoveredArray<T, D>);

        impl<T: Element, const D: usize> $name<T, D> {
            /// # Safety
            ///
            #[doc = $safety]
            #[inline]
            pub(super) unsafe fn new(lease: Lease, ptr: NonNull<u8>, layout: FixedLayout<D>) -> Self {
                Self(CoveredArray { lease, ptr, layout, element: PhantomData })
            }

            typed_queries! { self: self.0.layout, self.0.ptr }
        }

        impl<T: Element, const D: usize> Show for $name<T, D> {
            fn head(&self) -> DisplayHead<'_> {
                self.0.head(stringify!($name))
            }

            fn with_elements(&self, f: &mut dyn FnMut(&RacyElements)) -> Result<()> {
                self.0.with_elements(f)
            }
        }

        printed!([T: Element, const D: usize] $name<T, D>);
    };
}

guard! {
    /// A Read lease of an array: while it is held the elements are constant, so they are accessed
    /// by `&T`.
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
    /// The Write lease of an array: while it is held its holder has exclusive access, so elements
    /// are accessed by `&mut T`.
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
    /// A Share lease of an array: its holder loads and stores single elements by value, while other
    /// holders of Share do the same.
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
    /// A Pin lease of an array: its holder loads elements by value, while holders of Share may
    /// write.
    ///
    /// ```
    /// use crossdock::Array;
    ///
    /// let array = Array::from_vec(vec![1, 2, 3], [3])?;
    /// let pinned = array.pin()?;
    /// array.set([1], 20)?; // permitted: no lease promises constancy
    /// assert_eq!(pinned.values().sum::<i32>(), 24);
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ArrayPin, "Covered 1 under a Pin lease."
}

impl<T: Element, const D: usize> ArrayRead<T, D> {
    /// The elements, by reference.
    #[inline]
    pub fn view(&self) -> ArrayView<'_, T, D> {
        // SAFETY: the elements lie in the region (CoveredArray 1), are aligned (`# Safety` of
        // `new`), initialised (Header 3), and constant under the Read lease, which outlives the
        // borrow.
        unsafe { ArrayView::new(self.0.ptr, self.0.layout) }
    }

    element_access! { '_ self: self.0.ptr, self.0.layout }
    part_access! { '_ self: self.0.ptr, self.0.layout }

    /// The memory from element 0 to the last element, gaps included, as elements; `None` if a
    /// stride is negative or not a multiple of the element size.
    ///
    /// Not on [`ArrayView`]: another `&mut` may exist to the gaps of a view, but not to those under
    /// a Read lease.
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
        // SAFETY: elements and gaps lie in one region (CoveredArray 1), hence are initialised
        // (Header 3), and constant under the Read lease. Element 0 is aligned (`# Safety` of
        // `new`), and `len` elements fit in the span.
        Some(unsafe { std::slice::from_raw_parts(self.as_ptr(), len) })
    }
}

element_index! { ArrayRead<T> }

impl<T: Element, const D: usize> ArrayWrite<T, D> {
    /// The elements, by reference.
    #[inline]
    pub fn view(&self) -> ArrayView<'_, T, D> {
        // SAFETY: the elements lie in the region (CoveredArray 1), are aligned (`# Safety` of
        // `new`), initialised (Header 3), and constant while `self` is borrowed: the Write lease
        // excludes all other access.
        unsafe { ArrayView::new(self.0.ptr, self.0.layout) }
    }

    /// The elements, by mutable reference.
    #[inline]
    pub fn view_mut(&mut self) -> ArrayViewMut<'_, T, D> {
        // SAFETY: the elements lie in the region (CoveredArray 1) and are initialised (Header 3);
        // the layout is aligned and injective (`# Safety` of `new`). The Write lease excludes all
        // other access, and `&mut self` all access through this guard.
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
    /// The current value of the element at an index, of any alignment.
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
        // SAFETY: `offset` is the offset of an element of the layout, which reaches only bytes of
        // the lease's region (CoveredArray 1).
        let ptr = unsafe { self.0.ptr.offset(offset) };
        // SAFETY: `ptr` leads to an element of the region (CoveredArray 1). Share leases are
        // refused on read-only handles, and exclude Read and Write leases, so no holder relies on
        // constancy.
        unsafe { racy::store(ptr.as_ptr().cast(), value) };
        Ok(())
    }

    /// The elements by value in row-major order, each loaded when the iterator reaches it.
    pub fn values(&self) -> impl Iterator<Item = T> {
        self.0.values()
    }

    /// The current elements in row-major order, copied (and counted).
    pub fn to_vec(&self) -> Vec<T> {
        self.0.to_vec()
    }
}

impl<T: Element, const D: usize> ArrayPin<T, D> {
    /// The current value of the element at an index, of any alignment.
    ///
    /// # Errors
    ///
    /// `is_bounds`.
    pub fn get(&self, index: [usize; D]) -> Result<T> {
        self.0.get(index)
    }

    /// The elements by value in row-major order, each loaded when the iterator reaches it.
    pub fn values(&self) -> impl Iterator<Item = T> {
        self.0.values()
    }

    /// The current elements in row-major order, copied (and counted).
    pub fn to_vec(&self) -> Vec<T> {
        self.0.to_vec()
    }
}
