//! The same bytes as elements of another type.

use crate::array::{Array, ArrayView, ArrayViewMut, check_aligned};
use crate::element::Element;
use crate::error::Result;

impl<T: Element, const D: usize> Array<T, D> {
    /// The same bytes as elements of another type. If its size differs, the length of the last axis
    /// changes with it. The bytes are not converted, and may be unaligned for the new type. O(`D`).
    ///
    /// ```
    /// use crossdock::Array;
    ///
    /// let pixels = Array::from_vec(vec![[1u8, 2, 3, 4], [5, 6, 7, 8]], [2, 1])?;
    /// let channels: Array<u8, 2> = pixels.view_as()?;
    /// assert_eq!((channels.shape(), channels.get([1, 2])?), (&[2, 4], 7));
    /// assert_eq!(channels.view_as::<[u8; 2]>()?.get([0, 1])?, [3, 4]);
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_layout` if the sizes differ and the last axis has gaps; `is_shape` if its bytes are not
    /// a whole number of new elements.
    pub fn view_as<U: Element>(&self) -> Result<Array<U, D>> {
        let layout = self.layout().with_itemsize(size_of::<T>(), size_of::<U>())?;
        // SAFETY: `with_itemsize` is an operation on this array's layout that reaches the same
        // bytes from the same element 0, so the offset is 0.
        let raw = unsafe { self.raw().moved(0) };
        // SAFETY: Array 1: `with_itemsize` made the layout for `size_of::<U>()`, and it reaches the
        // same bytes as this array's layout.
        Ok(unsafe { Array::from_raw(raw, layout) })
    }
}

macro_rules! borrowed_view_as {
    ($view:ident, [$($by:tt)?] $this:ident, $make:path) => {
        impl<'a, T: Element, const D: usize> $view<'a, T, D> {
            /// The same bytes as elements of another type. If its size differs, the length of the
            /// last axis changes with it. The bytes are not converted. O(`D`).
            ///
            /// # Errors
            ///
            /// `is_layout` if the sizes differ and the last axis has gaps; `is_shape` if its bytes
            /// are not a whole number of new elements; `is_alignment`.
            pub fn view_as<U: Element>($($by)? $this) -> Result<$view<'a, U, D>> {
                let layout = $this.layout.with_itemsize(size_of::<T>(), size_of::<U>())?;
                check_aligned::<U, D>($this.ptr.addr().get(), &layout)?;
                // SAFETY: the same bytes: initialised, constant or exclusive for `'a` by the
                // invariants of `self`, and valid values of `U` (Pod 1). `check_aligned` checked
                // the alignment. Each byte keeps one index, and a mutable view is consumed.
                Ok(unsafe { $make($this.ptr, layout) })
            }
        }
    };
}

borrowed_view_as! { ArrayView, [&] self, ArrayView::new }
borrowed_view_as! { ArrayViewMut, [] self, ArrayViewMut::trusted }
