//! [`Show`] for arrays and borrowed views. Guards and memory views implement it in their own
//! modules.

use std::ptr::NonNull;

use crate::array::display::{DisplayHead, RacyElements, Show, printed};
use crate::array::{Array, ArrayView, ArrayViewMut, DArray, RawArray};
use crate::element::Element;
use crate::error::Result;
use crate::layout::Layout;
use crate::memory::{LeaseKind, Place};

fn said(raw: &RawArray) -> String {
    if raw.is_readonly() { ", read-only".into() } else { String::new() }
}

impl<T: Element, const D: usize> Show for Array<T, D> {
    fn head(&self) -> DisplayHead<'_> {
        DisplayHead {
            name: "Array",
            dtype: T::dtype(),
            shape: self.shape(),
            strides: self.strides(),
            address: self.as_ptr().cast(),
            place: self.place(),
            more: said(self.raw()),
        }
    }

    fn with_elements(&self, f: &mut dyn FnMut(&RacyElements)) -> Result<()> {
        let _lease = self.raw().lease_at_once(LeaseKind::Pin)?;
        let layout = self.layout().to_dynamic_trusted(size_of::<T>());
        // SAFETY: RacyElements 1: the layout reaches only bytes of the array (Array 1), under the
        // Pin lease `_lease`. RacyElements 2: a typed layout follows no pointers.
        f(&unsafe { RacyElements::new(self.raw().ptr(), T::dtype(), layout) });
        Ok(())
    }
}

impl Show for DArray {
    fn head(&self) -> DisplayHead<'_> {
        DisplayHead {
            name: "DArray",
            dtype: self.dtype().clone(),
            shape: self.shape(),
            strides: self.strides(),
            address: self.as_ptr(),
            place: self.place(),
            more: said(self.raw()),
        }
    }

    fn with_elements(&self, f: &mut dyn FnMut(&RacyElements)) -> Result<()> {
        let _lease = self.raw().lease_at_once(LeaseKind::Pin)?;
        // SAFETY: RacyElements 1: DArray 1 and 2, under the Pin lease `_lease`. RacyElements 2:
        // pointers of a table are never written (RawArray 3).
        f(&unsafe { RacyElements::new(self.raw().ptr(), self.dtype().clone(), self.layout().clone()) });
        Ok(())
    }
}

impl<T: Element, const D: usize> Show for ArrayView<'_, T, D> {
    fn head(&self) -> DisplayHead<'_> {
        DisplayHead {
            name: "ArrayView",
            dtype: T::dtype(),
            shape: self.shape(),
            strides: self.strides(),
            address: self.as_ptr().cast(),
            place: Place::CPU,
            more: String::new(),
        }
    }

    fn with_elements(&self, f: &mut dyn FnMut(&RacyElements)) -> Result<()> {
        let layout = Layout::new(self.shape(), self.strides(), size_of::<T>())?;
        let Some(ptr) = NonNull::new(self.as_ptr().cast_mut().cast()) else { return Ok(()) };
        // SAFETY: RacyElements 1: the elements are initialised and constant (ArrayView 1), so they
        // may be loaded racily. RacyElements 2: a typed layout follows no pointers.
        f(&unsafe { RacyElements::new(ptr, T::dtype(), layout) });
        Ok(())
    }
}

impl<T: Element, const D: usize> Show for ArrayViewMut<'_, T, D> {
    fn head(&self) -> DisplayHead<'_> {
        DisplayHead {
            name: "ArrayViewMut",
            dtype: T::dtype(),
            shape: self.shape(),
            strides: self.strides(),
            address: self.as_view().as_ptr().cast(),
            place: Place::CPU,
            more: String::new(),
        }
    }

    fn with_elements(&self, f: &mut dyn FnMut(&RacyElements)) -> Result<()> {
        self.as_view().with_elements(f)
    }
}

printed!([T: Element, const D: usize] Array<T, D>);
printed!([] DArray);
printed!([T: Element, const D: usize] ArrayView<'_, T, D>);
printed!([T: Element, const D: usize] ArrayViewMut<'_, T, D>);
