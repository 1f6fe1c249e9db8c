//! Code over all element types and ranks, run on an array whose dtype and rank are known at run
//! time.

use std::fmt;

use crate::array::{Array, DArray};
use crate::dispatch;
use crate::element::{Element, Value};
use crate::error::Rejected;

/// The element types that a [`Visitor`] is called with: the native integers and floats of 1 to 8
/// bytes.
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

/// A function over all element types and ranks, for [`DArray::visit`]. Where each type needs code
/// of its own, or few types are meant, the macro [`dispatch!`](crate::dispatch) is shorter.
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
    /// What it returns.
    type Output;

    /// Called once, with the array as what it is.
    fn visit<T: Native, const D: usize>(self, array: Array<T, D>) -> Self::Output;
}

/// A function over all element types and ranks of two arrays which have them in common, for
/// [`DArray::visit_with`].
pub trait PairVisitor {
    /// What it returns.
    type Output;

    /// Called once, with the arrays as what they are.
    fn visit<T: Native, const D: usize>(self, first: Array<T, D>, second: Array<T, D>) -> Self::Output;
}

impl DArray {
    /// Calls the visitor with the array as the typed one that it is: of a native integer or float,
    /// of rank 0 to 8. O(rank), and in code 90 copies of the visitor's method.
    ///
    /// # Errors
    ///
    /// `is_dtype` for elements of any other type, `is_shape` for a higher rank; the array is
    /// returned with the reason.
    #[expect(clippy::result_large_err, reason = "what comes back is the array, in place")]
    pub fn visit<V: Visitor>(self, visitor: V) -> Result<V::Output, Rejected<Self>> {
        dispatch!(self, |array| visitor.visit(array))
    }

    /// Calls the visitor with this array and another one of the same dtype and rank, as
    /// [`DArray::visit`] does with one.
    ///
    /// # Errors
    ///
    /// As [`DArray::visit`]; `is_dtype` and `is_shape` also where the two differ. Both come back
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
