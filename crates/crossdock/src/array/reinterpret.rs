//! The same bytes as elements of another type.

use crate::array::{Array, ArrayView, ArrayViewMut, check_aligned};
use crate::element::Element;
use crate::error::Result;

impl<T: Element, const D: usize> Array<T, D> {
    /// The same bytes as elements of another type. Where its size is another, the last axis has so
    /// many more or fewer elements. Nothing is converted: the bytes are what they are, and may be
    /// unaligned for the new type. O(`D`).
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
    /// `is_layout` where the sizes differ and the elements of the last axis do not lie without
    /// gaps; `is_shape` where its bytes are no whole number of new elements.
    pub fn view_as<U: Element>(&self) -> Result<Array<U, D>> {
        let layout = self.layout().with_itemsize(size_of::<T>(), size_of::<U>())?;
        // SAFETY: element 0 stays where it is, and the layout reaches the same bytes.
        let raw = unsafe { self.raw().moved(0) };
        // SAFETY: as above; the layout was made for the size of `U`.
        Ok(unsafe { Array::from_raw(raw, layout) })
    }
}

macro_rules! borrowed_view_as {
    ($view:ident, [$($by:tt)?] $this:ident, $make:path) => {
        impl<'a, T: Element, const D: usize> $view<'a, T, D> {
            /// The same bytes as elements of another type. Where its size is another, the last axis
            /// has so many more or fewer elements. Nothing is converted: the bytes are what they
            /// are. O(`D`).
            ///
            /// # Errors
            ///
            /// `is_layout` where the sizes differ and the elements of the last axis do not lie
            /// without gaps; `is_shape` where its bytes are no whole number of new elements;
            /// `is_alignment`.
            pub fn view_as<U: Element>($($by)? $this) -> Result<$view<'a, U, D>> {
                let layout = $this.layout.with_itemsize(size_of::<T>(), size_of::<U>())?;
                check_aligned::<U, D>($this.ptr.addr().get(), &layout)?;
                // SAFETY: the same bytes, initialised and of any value (Pod), aligned as just
                // checked, each at one index if it was before; `self` is given up where that
                // matters.
                Ok(unsafe { $make($this.ptr, layout) })
            }
        }
    };
}

borrowed_view_as! { ArrayView, [&] self, ArrayView::new }
borrowed_view_as! { ArrayViewMut, [] self, ArrayViewMut::trusted }
