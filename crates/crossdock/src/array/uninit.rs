//! New arrays whose elements are still to be written.

use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::slice;

use crate::array::{Array, RawArray, ShapeSpec};
use crate::buffer::UninitBuffer;
use crate::element::Element;
use crate::error::Result;
use crate::layout::{FixedLayout, Order};

/// A new array whose elements are not initialised yet: written once, and then an [`Array`].
///
/// It is on the host and contiguous. What lies behind an `Array` is initialised always, which is
/// why this is another type.
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
    /// Invariant 1: aligned for `T`, and of as many bytes as the elements of `layout`, which is
    /// contiguous, have.
    fresh: UninitBuffer,
    layout: FixedLayout<D>,
    order: Order,
    element: PhantomData<T>,
}

impl<T: Element, const D: usize> Array<T, D> {
    /// Elements to be written.
    ///
    /// # Errors
    ///
    /// `is_overflow`, `is_out_of_memory`; `is_place` for a device, whose memory the processor does
    /// not write.
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

    /// The elements, to be written, in the order in which they lie.
    #[inline]
    pub fn as_uninit_mut(&mut self) -> &mut [MaybeUninit<T>] {
        let ptr = self.fresh.as_uninit_mut().as_mut_ptr().cast();
        // SAFETY: UninitArray 1: so many elements, aligned, in memory that is ours alone; what is
        // not initialised may be seen as such.
        unsafe { slice::from_raw_parts_mut(ptr, self.layout.len()) }
    }

    /// One value everywhere. Writes every element.
    pub fn fill(mut self, value: T) -> Array<T, D> {
        // Elements without bytes have nothing to be written, however many they are.
        if size_of::<T>() > 0 {
            self.as_uninit_mut().fill(MaybeUninit::new(value));
        }
        // SAFETY: every element was written, and an element has no bytes that are not (Pod 2).
        unsafe { self.assume_init() }
    }

    /// What a function says of each index. It is asked once for each, in the order in which the
    /// elements lie.
    pub fn fill_with(mut self, mut value: impl FnMut([usize; D]) -> T) -> Array<T, D> {
        let indices = self.layout.indices(self.order);
        for (element, index) in self.as_uninit_mut().iter_mut().zip(indices) {
            element.write(value(index));
        }
        // SAFETY: as many indices as elements, so every one was written, and an element has no
        // bytes that are not (Pod 2).
        unsafe { self.assume_init() }
    }

    /// Takes the caller's word that every element has been written. O(1).
    ///
    /// # Safety
    ///
    /// Every element of [`UninitArray::as_uninit_mut`] is initialised.
    pub unsafe fn assume_init(self) -> Array<T, D> {
        // SAFETY: initialised (the caller's word).
        let buffer = unsafe { self.fresh.assume_init() };
        let (handle, ptr, _, readonly) = buffer.into_parts();
        // SAFETY: a contiguous layout reaches just the bytes of its elements (UninitArray 1).
        let raw = unsafe { RawArray::from_parts(handle, ptr, readonly) };
        // SAFETY: as just said (Array 1).
        unsafe { Array::from_raw(raw, self.layout) }
    }
}

impl<T: Element, const D: usize> fmt::Debug for UninitArray<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UninitArray({}, shape {:?})", T::dtype(), self.layout.shape())
    }
}
