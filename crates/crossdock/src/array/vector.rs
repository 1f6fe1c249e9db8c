//! Conversion of arrays back to the vectors that they adopted.

use crate::array::{Array, RawArray};
use crate::element::Element;
use crate::error::{Advice, Error, Kind, Rejected, Result};
use crate::layout::Order;

impl<T: Element, const D: usize> Array<T, D> {
    /// Returns the adopted vector if this is the only handle on it. Its elements are the array's in
    /// row-major order. O(`D`).
    ///
    /// Use [`Array::transpose`] first for column-major arrays.
    ///
    /// ```
    /// use crossdock::{Array, s};
    ///
    /// let array = Array::from_vec(vec![1, 2, 3, 4, 5, 6], [2, 3])?;
    /// let top = array.slice(s![0, ..])?;
    /// let refused = array.try_into_vec().unwrap_err();
    /// assert!(refused.error.is_conflict()); // `top` has it, too
    /// drop(top);
    /// assert_eq!(refused.value.try_into_vec()?, [1, 2, 3, 4, 5, 6]); // nothing was lost
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The array is returned with the error. `is_layout` if the elements are not C-contiguous
    /// (row-major); otherwise as [`Buffer::try_into_vec`](crate::buffer::Buffer::try_into_vec):
    /// among others, for memory that was not a vector's, such as a pool's, and for memory that is
    /// shared.
    pub fn try_into_vec(self) -> Result<Vec<T>, Rejected<Self>> {
        self.try_into_vec_in_order(Order::RowMajor)
    }

    /// Like `try_into_vec`, for elements contiguous in `order`, in that order.
    pub(crate) fn try_into_vec_in_order(self, order: Order) -> Result<Vec<T>, Rejected<Self>> {
        if !self.is_contiguous(order) {
            let text = format!(
                "elements of shape {:?} with strides {:?} are not contiguous in {order} order, as a vector is",
                self.shape(),
                self.strides()
            );
            return Err(Rejected {
                value: self,
                error: Error::new(Kind::Layout, text).advising(Advice::CopyElements),
            });
        }
        let buffer = match self.buffer() {
            // A contiguous array begins with element 0.
            Ok((buffer, _)) => buffer,
            Err(error) => return Err(Rejected { value: self, error }),
        };
        let (raw, layout) = self.into_raw();
        drop(raw);
        buffer.try_into_vec().map_err(|Rejected { value, error }| {
            let (handle, ptr, _, readonly) = value.into_parts();
            // SAFETY: 1. the rejected buffer is the contiguous layout's span, which begins at
            // element 0; 2. a constant buffer is read-only (Buffer 2).
            let raw = unsafe { RawArray::from_parts(handle, ptr, readonly) };
            // SAFETY: Array 1: `layout`, made for `size_of::<T>()`, is that of this array, and the
            // buffer is its span from element 0.
            Rejected { value: unsafe { Self::from_raw(raw, layout) }, error }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::Buffer;
    use crate::memory::{Birth, Place};
    use crate::s;

    #[test]
    fn a_vector_comes_back_of_any_rank() {
        let vec = vec![1i64, 2, 3, 4, 5, 6];
        let address = vec.as_ptr();
        let cube = Array::from_vec(vec, [1, 2, 3]).unwrap();
        let vec = cube.try_into_vec().unwrap();
        assert_eq!(vec.as_ptr(), address);
        let top = Array::from_vec(vec, [2, 3]).unwrap().slice(s![0, ..]).unwrap();
        let top = top.try_into_vec().unwrap();
        assert_eq!((top.as_ptr(), &top[..]), (address, &[1, 2, 3][..]));
        assert_eq!(Array::from_vec(vec![7u8], []).unwrap().try_into_vec().unwrap(), [7]);
        let empty = Array::from_vec(Vec::<f32>::new(), [3, 0]).unwrap();
        assert!(empty.try_into_vec().unwrap().is_empty());
    }

    /// The array is returned unchanged.
    #[track_caller]
    fn refused<const D: usize>(array: Array<u16, D>, says: &str) -> (Array<u16, D>, Error) {
        let (address, layout) = (array.as_ptr(), *array.layout());
        let Rejected { value, error } = array.try_into_vec().unwrap_err();
        assert_eq!((value.as_ptr(), value.layout()), (address, &layout));
        assert!(error.to_string().contains(says), "{error}");
        (value, error)
    }

    #[test]
    fn what_is_not_the_front_of_a_vector_comes_back() {
        let array = || Array::from_vec((0..6u16).collect(), [2, 3]).unwrap();
        // The only handle on what is left of an array.
        let cut = |f: fn(&Array<u16, 2>) -> Array<u16, 2>| f(&array());
        assert!(refused(cut(|array| array.transpose()), "[2, 6]").1.is_layout());
        assert!(refused(cut(|array| array.slice(s![.., ..2]).unwrap()), "[6, 2]").1.is_layout());
        assert!(refused(cut(|array| array.reverse(0).unwrap()), "-6").1.is_layout());
        assert!(refused(cut(|array| array.slice(s![1.., ..]).unwrap()), "byte 6").1.is_bounds());
        assert!(refused(array().into_readonly(), "read-only").1.is_read_only());
        assert!(refused(Array::<u16, 2>::zeros([2, 3]).unwrap(), "adopted from a vector").1.is_unsupported());
        let mut others = [0u16; 6];
        let ptr = others.as_mut_ptr().cast();
        // SAFETY: the numbers are initialised, outlive the handles, and are not accessed while
        // these live.
        let aliased = unsafe { Buffer::from_foreign(ptr, 12, Place::CPU, Birth::Aliased, || {}) };
        let aliased = Array::from_buffer(aliased.unwrap(), [2, 3]).unwrap();
        assert!(refused(aliased, "another owner").1.is_conflict());
    }

    #[test]
    fn an_array_that_others_have_comes_back_and_goes_once_they_are_gone() {
        let array = Array::from_vec((0..6u16).collect(), [2, 3]).unwrap();
        let other = array.slice(s![0, ..]).unwrap();
        let (array, error) = refused(array, "2 handles");
        assert!(error.is_conflict());
        drop(other);
        assert_eq!(array.try_into_vec().unwrap(), [0, 1, 2, 3, 4, 5]);
    }
}
