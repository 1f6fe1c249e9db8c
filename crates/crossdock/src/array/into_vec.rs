//! Back from an array to the vector that it was made of.

use crate::array::{Array, RawArray};
use crate::element::Element;
use crate::error::{Error, Kind, Rejected, Result};
use crate::layout::Order;

impl<T: Element, const D: usize> Array<T, D> {
    /// Gives the vector back that was adopted, with what was written to it since: the elements, row-major. O(`D`): nothing is copied.
    /// (`array.read()?.to_vec()` copies, from anywhere.)
    ///
    /// ```
    /// use crossdock::{Array, memory::copied_bytes};
    ///
    /// let before = copied_bytes();
    /// let array = Array::from_vec(vec![1, 2, 3, 4, 5, 6], [2, 3])?;
    /// array.set([1, 2], 60)?;
    /// assert_eq!(array.try_into_vec()?, [1, 2, 3, 4, 5, 60]);
    /// assert_eq!(copied_bytes(), before);
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The array comes back with the error. `is_layout` where the elements do not lie row-major without gaps (those of a column-major
    /// array are the elements of its transpose); otherwise as [`Buffer::try_into_vec`](crate::memory::Buffer::try_into_vec), among others `is_conflict` where there is
    /// another handle, and `is_unsupported` where the memory is no vector's.
    pub fn try_into_vec(self) -> Result<Vec<T>, Rejected<Self>> {
        self.try_into_vec_in_order(Order::RowMajor)
    }

    /// The same of an array whose elements lie in an order: they come in that order.
    pub(crate) fn try_into_vec_in_order(self, order: Order) -> Result<Vec<T>, Rejected<Self>> {
        if !self.is_contiguous(order) {
            let (shape, strides) = (self.shape(), self.strides());
            let error = Error::new(
                Kind::Layout,
                format!(
                    "shape {shape:?} with strides {strides:?} is not {order:?} without gaps, as the elements of a vector are asked for: \
                     copy the array"
                ),
            );
            return Err(Rejected { value: self, error });
        }
        let (buffer, offset) = match self.buffer() {
            Ok(parts) => parts,
            Err(error) => return Err(Rejected { value: self, error }),
        };
        let (raw, layout) = self.into_raw();
        drop(raw);
        buffer.try_into_vec().map_err(|Rejected { value: buffer, error }| {
            let (handle, ptr, _, readonly) = buffer.into_parts();
            // SAFETY: the window is the layout's span, in which element 0 lies so deep.
            let ptr = unsafe { ptr.add(offset) };
            // SAFETY: the layout reaches the bytes of the window alone; a constant buffer is read-only (Buffer 2).
            let raw = unsafe { RawArray::from_parts(handle, ptr, readonly) };
            // SAFETY: as just said (Array 1).
            Rejected { value: unsafe { Self::from_raw(raw, layout) }, error }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::s;

    #[test]
    fn the_vector_comes_back_in_place() {
        let vec = vec![1u8, 2, 3, 4, 5, 6];
        let address = vec.as_ptr();
        let array = Array::from_vec(vec, [2, 3]).unwrap();
        let vec = array.transpose().transpose();
        drop(array);
        let vec = vec.try_into_vec().unwrap();
        assert_eq!(vec.as_ptr(), address);
        assert_eq!(vec, [1, 2, 3, 4, 5, 6]);
        let transposed = Array::from_vec_in_order(vec, [3, 2], Order::ColumnMajor).unwrap();
        let vec = transposed.try_into_vec_in_order(Order::ColumnMajor).unwrap();
        assert_eq!(vec.as_ptr(), address);
        assert!(Array::<u64, 2>::from_vec(vec![], [0, 3]).unwrap().try_into_vec().unwrap().is_empty());
        assert_eq!(Array::<u64, 0>::from_vec(vec![7], []).unwrap().try_into_vec().unwrap(), [7]);
    }

    #[test]
    fn what_is_no_vector_comes_back_as_it_was() {
        let array = || Array::from_vec(vec![1u32, 2, 3, 4, 5, 6], [2, 3]).unwrap();
        type Case = (Array<u32, 2>, fn(&Error) -> bool);
        let cut: [Case; 5] = [
            (array().transpose(), Error::is_layout),
            (array().slice(s![.., ..;-1]).unwrap(), Error::is_layout),
            (array().slice(s![1.., ..]).unwrap(), Error::is_bounds),
            (array().into_readonly(), Error::is_read_only),
            (Array::zeros([2, 3]).unwrap(), Error::is_unsupported),
        ];
        for (array, is_expected) in cut {
            let (address, strides, values) =
                (array.as_ptr(), *array.strides(), array.read().unwrap().to_vec());
            let Rejected { value, error } = array.try_into_vec().unwrap_err();
            assert!(is_expected(&error), "{error}");
            assert_eq!((value.as_ptr(), *value.strides()), (address, strides));
            assert_eq!(value.read().unwrap().to_vec(), values);
        }
        let shared = array();
        let other = shared.clone();
        let Rejected { value, error } = shared.try_into_vec().unwrap_err();
        assert!(error.is_conflict(), "{error}");
        drop(other);
        assert_eq!(value.try_into_vec().unwrap(), [1, 2, 3, 4, 5, 6]);
    }
}
