//! Arrays from literals: nested lists.

use crate::array::Array;
use crate::element::Element;
use crate::error::{Error, Kind, Result};

/// Nested lists of elements, `D` deep: arrays, slices and vectors in any mixture, or for rank 0 an
/// element. Up to rank 8.
///
/// The rank must be stated, because `[f32; 3]` is also an element.
///
/// ```
/// use crossdock::Array;
///
/// let matrix = Array::<_, 2>::from_nested([[1, 2, 3], [4, 5, 6]])?;
/// assert_eq!(matrix.get([1, 2])?, 6);
/// let rows: Vec<Vec<f32>> = vec![vec![0.5], vec![1.5]];
/// assert_eq!(Array::<f32, 2>::from_nested(rows)?.shape(), &[2, 1]);
/// let ragged = Array::<u8, 2>::from_nested([vec![1, 2], vec![3]]).unwrap_err();
/// assert_eq!(
///     ragged.to_string(),
///     "axis 1 has lists of 2 and of 1 elements; all lists of an axis must have the same length"
/// );
/// # Ok::<(), crossdock::Error>(())
/// ```
pub trait Nested<T, const D: usize> {
    /// Records the lengths of the lists from `axis` on, which must be equal within each axis.
    #[doc(hidden)]
    fn measure(&self, axis: usize, shape: &mut [Option<usize>; 8]) -> Result<()>;

    /// Appends the elements in row-major order.
    #[doc(hidden)]
    fn append(&self, elements: &mut Vec<T>);
}

impl<T: Element> Nested<T, 0> for T {
    fn measure(&self, _: usize, _: &mut [Option<usize>; 8]) -> Result<()> {
        Ok(())
    }

    fn append(&self, elements: &mut Vec<T>) {
        elements.push(*self);
    }
}

fn measure(len: usize, axis: usize, shape: &mut [Option<usize>; 8]) -> Result<()> {
    match shape[axis].replace(len) {
        Some(first) if first != len => Err(Error::new(
            Kind::Shape,
            format!(
                "axis {axis} has lists of {first} and of {len} elements; all lists of an axis must have the \
                same length"
            ),
        )),
        _ => Ok(()),
    }
}

macro_rules! nested {
    ($($rank:literal of $inner:literal),*) => {
        $(
            nested!($rank, $inner, [R; N], const N: usize);
            nested!($rank, $inner, &[R],);
            nested!($rank, $inner, Vec<R>,);
        )*
    };
    ($rank:literal, $inner:literal, $list:ty, $($generic:tt)*) => {
        impl<T: Element, R: Nested<T, $inner>, $($generic)*> Nested<T, $rank> for $list {
            fn measure(&self, axis: usize, shape: &mut [Option<usize>; 8]) -> Result<()> {
                measure(self.len(), axis, shape)?;
                self.iter().try_for_each(|inner| inner.measure(axis + 1, shape))
            }

            fn append(&self, elements: &mut Vec<T>) {
                self.iter().for_each(|inner| inner.append(elements));
            }
        }
    };
}

nested!(1 of 0, 2 of 1, 3 of 2, 4 of 3, 5 of 4, 6 of 5, 7 of 6, 8 of 7);

impl<T: Element, const D: usize> Array<T, D> {
    /// An array of the elements of nested lists, row-major, in new memory. For literals and small
    /// data: the elements are collected in a vector.
    ///
    /// # Errors
    ///
    /// `is_shape` if lists of one axis have different lengths; `is_out_of_memory`.
    pub fn from_nested(nested: impl Nested<T, D>) -> Result<Self> {
        let mut shape = [None; 8];
        nested.measure(0, &mut shape)?;
        let mut elements = Vec::new();
        nested.append(&mut elements);
        // An axis of length 0 has no inner lists to measure.
        Self::from_vec(elements, std::array::from_fn(|axis| shape[axis].unwrap_or(0)))
    }
}
