//! New arrays with uninitialised elements.

use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::slice;

use crate::array::{Array, RawArray, ShapeSpec};
use crate::buffer::UninitBuffer;
use crate::element::Element;
use crate::error::Result;
use crate::layout::{FixedLayout, Order};

/// A new array with uninitialised elements, which becomes an [`Array`] once they are written.
///
/// It is on the host and contiguous. It is a separate type because the memory of an `Array` is
/// always initialised.
///
/// ```
/// use crossdock::Array;
///
/// let mut fresh = Array::<u16, 2>::uninit([2, 3])?;
/// for (number, element) in fresh.as_uninit_mut().iter_mut().enumerate() {
///     element.write(number as u16);
/// }
/// // SAFETY: every element was written above.
/// let array = unsafe { fresh.assume_init() };
/// assert_eq!(array.get([1, 2])?, 5);
/// # Ok::<(), crossdock::Error>(())
/// ```
pub struct UninitArray<T: Element, const D: usize> {
    /// Invariant 1: aligned for `T`, with exactly the bytes of the elements of `layout`, which is
    /// contiguous.
    fresh: UninitBuffer,
    layout: FixedLayout<D>,
    order: Order,
    element: PhantomData<T>,
}

impl<T: Element, const D: usize> Array<T, D> {
    /// An array with uninitialised elements.
    ///
    /// # Errors
    ///
    /// `is_overflow`, `is_out_of_memory`; `is_place` for a device, whose memory the CPU does not
    /// write.
    pub fn uninit<'a>(shape: impl ShapeSpec<'a, D>) -> Result<UninitArray<T, D>> {
        let (shape, options) = shape.resolve();
        let order = options.order;
        let layout = FixedLayout::contiguous(shape, size_of::<T>(), order)?;
        let fresh = options.uninit(layout.nbytes(size_of::<T>()), align_of::<T>())?;
        Ok(UninitArray { fresh, layout, order, element: PhantomData })
    }
}

impl<T: Element, const D: usize> UninitArray<T, D> {
    /// Shape and strides.
    #[inline]
    pub fn layout(&self) -> &FixedLayout<D> {
        &self.layout
    }

    /// The uninitialised elements in memory order.
    #[inline]
    pub fn as_uninit_mut(&mut self) -> &mut [MaybeUninit<T>] {
        let ptr = self.fresh.as_uninit_mut().as_mut_ptr().cast();
        // SAFETY: `fresh` holds `layout.len()` aligned elements (UninitArray 1), and `&mut self`
        // borrows it exclusively; `MaybeUninit` needs no initialised bytes.
        unsafe { slice::from_raw_parts_mut(ptr, self.layout.len()) }
    }

    /// Writes one value to every element.
    pub fn fill(mut self, value: T) -> Array<T, D> {
        // Elements of size 0 need no writes, and a loop over them could be very long.
        if size_of::<T>() > 0 {
            self.as_uninit_mut().fill(MaybeUninit::new(value));
        }
        // SAFETY: `fill` wrote every element, and an element has no padding that stays
        // uninitialised (Pod 2); elements of size 0 have no bytes.
        unsafe { self.assume_init() }
    }

    /// Writes the results of a function, which is called once for each index, in memory order.
    pub fn fill_with(mut self, mut value: impl FnMut([usize; D]) -> T) -> Array<T, D> {
        let indices = self.layout.indices(self.order);
        for (element, index) in self.as_uninit_mut().iter_mut().zip(indices) {
            element.write(value(index));
        }
        // SAFETY: there are as many indices as elements, so the loop wrote every one; an element
        // has no padding that stays uninitialised (Pod 2).
        unsafe { self.assume_init() }
    }

    /// Asserts that every element has been written. O(1).
    ///
    /// # Safety
    ///
    /// Every element of [`UninitArray::as_uninit_mut`] is initialised.
    pub unsafe fn assume_init(self) -> Array<T, D> {
        // SAFETY: `# Safety` says that every element is initialised, and the buffer has no other
        // bytes (UninitArray 1).
        let buffer = unsafe { self.fresh.assume_init() };
        let (handle, ptr, _, readonly) = buffer.into_parts();
        // SAFETY: 1. the contiguous layout reaches from `ptr` exactly the bytes of the buffer
        // (UninitArray 1); 2. a constant buffer is read-only (Buffer 2).
        let raw = unsafe { RawArray::from_parts(handle, ptr, readonly) };
        // SAFETY: Array 1: `layout`, made for `size_of::<T>()`, reaches from `ptr` exactly the
        // bytes of the buffer (UninitArray 1).
        unsafe { Array::from_raw(raw, self.layout) }
    }
}

impl<T: Element, const D: usize> fmt::Debug for UninitArray<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UninitArray({}, shape {:?})", T::dtype(), self.layout.shape())
    }
}
