//! Generic code over element types and ranks, applied to an array of dynamic dtype and rank.

use std::fmt;

use crate::array::{Array, DArray};
use crate::dispatch;
use crate::element::{Element, Value};
use crate::error::Rejected;

/// The element types that a [`Visitor`] receives: the native integers and floats of 1 to 8 bytes.
pub trait Native:
    Element + PartialEq + PartialOrd + Default + fmt::Debug + fmt::Display + Into<Value> + sealed::Sealed
{
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! native {
    ($($ty:ty),+) => {
        $(
            impl sealed::Sealed for $ty {}
            impl Native for $ty {}
        )+
    };
}

crate::__natives!({@hand_to} native);

/// A function over all element types and ranks, for [`DArray::visit`]. If each type needs its own
/// code, or only a few types are supported, the macro [`dispatch!`](crate::dispatch) is shorter.
///
/// ```
/// use crossdock::array::{Native, Visitor};
/// use crossdock::{Array, DArray};
///
/// struct Greatest;
///
/// impl Visitor for Greatest {
///     type Output = crossdock::Result<Option<String>>;
///
///     fn visit<T: Native, const D: usize>(self, array: Array<T, D>) -> Self::Output {
///         let elements = array.read()?;
///         let greatest = elements.iter().max_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Less));
///         Ok(greatest.map(ToString::to_string))
///     }
/// }
///
/// let array = DArray::from(Array::<_, 2>::from_nested([[1.5f32, 8.25], [3.0, -1.0]])?);
/// assert_eq!(array.visit(Greatest)??.as_deref(), Some("8.25"));
/// # Ok::<(), crossdock::Error>(())
/// ```
pub trait Visitor {
    /// The result type.
    type Output;

    /// Called once, with the typed array.
    fn visit<T: Native, const D: usize>(self, array: Array<T, D>) -> Self::Output;
}

/// A function over all element types and ranks of two arrays of equal dtype and rank, for
/// [`DArray::visit_with`].
pub trait PairVisitor {
    /// The result type.
    type Output;

    /// Called once, with the typed arrays.
    fn visit<T: Native, const D: usize>(self, first: Array<T, D>, second: Array<T, D>) -> Self::Output;
}

impl DArray {
    /// Calls the visitor with the typed array: of a native integer or float, of rank 0 to 8.
    /// O(rank). The method is compiled 90 times.
    ///
    /// # Errors
    ///
    /// `is_dtype` for elements of any other type, `is_shape` for a higher rank; the array is
    /// returned with the reason.
    #[expect(clippy::result_large_err, reason = "what comes back is the array, in place")]
    pub fn visit<V: Visitor>(self, visitor: V) -> Result<V::Output, Rejected<Self>> {
        dispatch!(self, |array| visitor.visit(array))
    }

    /// Calls the visitor with this array and another one of the same dtype and rank, like
    /// [`DArray::visit`].
    ///
    /// # Errors
    ///
    /// As [`DArray::visit`]; `is_dtype` and `is_shape` also if the two differ. Both are returned
    /// with the reason.
    #[expect(clippy::result_large_err, reason = "what comes back are the arrays, in place")]
    pub fn visit_with<V: PairVisitor>(
        self,
        other: Self,
        visitor: V,
    ) -> Result<V::Output, Rejected<(Self, Self)>> {
        dispatch!((self, other), |first, second| visitor.visit(first, second))
    }
}
