//! The shape of a new array, alone or with its order, pool and place.

use crate::array::ArrayOptions;

/// The shape of a new array: `[2, 3]` alone is row-major in the default pool; `([2, 3], options)`
/// adds an order, a pool or a place, as [`ArrayOptions`] or one of them.
///
/// ```
/// use crossdock::Array;
/// use crossdock::layout::Order;
///
/// assert_eq!(Array::<u8, 2>::zeros([2, 3])?.strides(), &[3, 1]);
/// assert_eq!(Array::<u8, 2>::zeros(([2, 3], Order::ColumnMajor))?.strides(), &[1, 2]);
/// # Ok::<(), crossdock::Error>(())
/// ```
pub trait ShapeSpec<'a, const D: usize>: sealed::Sealed {
    #[doc(hidden)]
    fn resolve(self) -> ([usize; D], ArrayOptions<'a>);
}

mod sealed {
    pub trait Sealed {}
    impl<const D: usize> Sealed for [usize; D] {}
    impl<O, const D: usize> Sealed for ([usize; D], O) {}
}

impl<'a, const D: usize> ShapeSpec<'a, D> for [usize; D] {
    #[inline]
    fn resolve(self) -> ([usize; D], ArrayOptions<'a>) {
        (self, ArrayOptions::new())
    }
}

impl<'a, O: Into<ArrayOptions<'a>>, const D: usize> ShapeSpec<'a, D> for ([usize; D], O) {
    #[inline]
    fn resolve(self) -> ([usize; D], ArrayOptions<'a>) {
        (self.0, self.1.into())
    }
}
