//! `nalgebra`: matrices on the heap are adopted and released, views stay views. Nothing is copied.
//!
//! | from | to | |
//! |---|---|---|
//! | `DMatrix`, others on a vector | [`Array`] of rank 2 | adopts the vector; sole, column-major |
//! | `DVector` | [`Array`] of rank 1 | adopts the vector; sole |
//! | [`Array`] of rank 2, 1 | `DMatrix`, `DVector` | releases its vector |
//! | `MatrixView`, `&Matrix` | [`ArrayView`] of rank 2, one column also of rank 1 | same elements |
//! | `MatrixViewMut`, `&mut Matrix` | [`ArrayViewMut`], likewise | same elements |
//! | [`ArrayView`] of rank 2, 1 | `MatrixView`, `VectorView` | same elements |
//! | [`ArrayViewMut`] of rank 2, 1 | `MatrixViewMut`, `VectorViewMut` | same elements |
//!
//! An array releases its vector if it owns one, is column-major without gaps, and has no other
//! handle; otherwise the error returns the array. Mutable views whose elements may overlap are
//! refused. A view becomes one of `nalgebra` unless a stride is negative or not a multiple of the
//! element size, the rows repeat one element, or the type requires other lengths or strides;
//! `DMatrixView<T, Dyn, Dyn>` accepts strides of any length.
//!
//! ```
//! use crossdock::{Array, array::ArrayView, memory::copied_bytes};
//! use nalgebra::{DMatrix, DMatrixView, Dyn, Matrix2};
//!
//! let before = copied_bytes();
//! let array = Array::try_from(DMatrix::from_fn(2, 3, |i, j| (10 * i + j) as f64))?;
//! assert_eq!((array.shape(), array.strides()), (&[2, 3], &[8, 16])); // columns lie together
//! let guard = array.read()?;
//! let view = DMatrixView::<f64, Dyn, Dyn>::try_from(guard.view())?;
//! assert_eq!(view.column(2).sum(), 14.0);
//! drop(guard);
//! let matrix = DMatrix::try_from(array)?; // the vector, back
//!
//! let small = Matrix2::new(1, 2, 3, 4);
//! assert_eq!(ArrayView::<i32, 2>::try_from(&small)?[[1, 0]], 3); // on the stack
//! assert_eq!(copied_bytes(), before);
//! # assert_eq!(matrix[(1, 2)], 12.0);
//! # Ok::<(), crossdock::Error>(())
//! ```
//!
//! A matrix with dimensions known to the compiler is stored in its variable. An [`Array`] owns its
//! elements, so it holds a copy or a boxed matrix:
//! `Array::from_owner(Box::new(matrix), [columns, rows])?.transpose()`, and likewise an `Arc` of
//! any matrix without gaps.
//!
//! `nalgebra` counts strides in elements, without sign. Its iterators find the end of a column by
//! the address behind it, so a column whose rows share one address (a broadcast vector, for
//! example) has no end: such views are refused. Columns that repeat one another are accepted.

use std::ptr::NonNull;

use nalgebra::{
    DMatrix, DVector, Dim, Dyn, Matrix, RawStorage, RawStorageMut, Scalar, Storage, StorageMut, U1,
    VecStorage, ViewStorage, ViewStorageMut,
};

use crate::array::{Array, ArrayView, ArrayViewMut};
use crate::element::Element;
use crate::error::{Advice, Error, Kind, Rejected, Result};
use crate::exchange::crates::steps;
use crate::layout::{FixedLayout, Order};

/// The first `D` axes of a matrix, as a layout with strides in bytes.
fn layout_of<T, R: Dim, C: Dim, S: RawStorage<T, R, C>, const D: usize>(
    storage: &S,
) -> Result<FixedLayout<D>> {
    let ((rows, columns), (row, column)) = (storage.shape(), storage.strides());
    let (lens, strides) = ([rows.value(), columns.value()], [row.value(), column.value()]);
    steps::layout_of::<T, D>(
        std::array::from_fn(|axis| lens[axis]),
        std::array::from_fn(|axis| strides[axis] as isize),
    )
}

/// Shape and strides, in elements, for `nalgebra`: rank 1 becomes one column.
struct MatrixSteps {
    shape: [usize; 2],
    /// `None` for an axis that is never stepped along.
    strides: [Option<usize>; 2],
}

impl MatrixSteps {
    fn new<T: Element, const D: usize>(layout: &FixedLayout<D>) -> Result<Self> {
        let (mut shape, mut strides) = ([1; 2], [None; 2]);
        shape[..D].copy_from_slice(layout.shape());
        for (axis, &stride) in layout.strides().iter().enumerate() {
            if shape[axis] > 1 && !layout.is_empty() {
                strides[axis] = Some(forwards::<T>(axis, stride)?);
            }
        }
        Ok(Self { shape, strides })
    }

    fn shape<R: Dim, C: Dim>(&self) -> Result<(R, C)> {
        Ok((length(0, self.shape[0])?, length(1, self.shape[1])?))
    }

    /// An axis that is never stepped along gets the stride of a matrix without gaps.
    fn strides<R: Dim, C: Dim>(&self) -> Result<(R, C)> {
        // A type with a row stride of 0 fits no row stride that is used, and not even a single row.
        if R::try_to_usize() == Some(0) && !self.shape.contains(&0) {
            let text = "the type of the matrix has a stride of 0 elements for axis 0, at which nalgebra finds no end \
                        of a column";
            return Err(Error::new(Kind::Layout, text).advising(Advice::RequestAnyStride));
        }
        Ok((step(0, self.strides[0], 1)?, step(1, self.strides[1], self.shape[0])?))
    }

    /// Element 0; for an empty view a dangling pointer, since `nalgebra` requires alignment.
    fn first<T>(&self, first: *mut T) -> *mut T {
        if self.shape.contains(&0) { NonNull::dangling().as_ptr() } else { first }
    }
}

/// The length of an axis; an error if the type fixes another one.
fn length<N: Dim>(axis: usize, len: usize) -> Result<N> {
    match N::try_to_usize() {
        Some(known) if known != len => Err(Error::new(
            Kind::Shape,
            format!("axis {axis} has {len} elements, but the matrix type fixes {known}"),
        )),
        _ => Ok(N::from_usize(len)),
    }
}

/// The stride of an axis, in elements; an error if the type fixes another one. A stride that is
/// never used becomes the one that the type fixes.
fn step<N: Dim>(axis: usize, step: Option<usize>, unused: usize) -> Result<N> {
    match (N::try_to_usize(), step) {
        (Some(known), Some(step)) if known != step => Err(Error::new(
            Kind::Layout,
            format!("the stride of axis {axis} is {step} elements, where the type of the matrix has {known}"),
        )
        .advising(Advice::RequestAnyStride)),
        (known, step) => Ok(N::from_usize(step.or(known).unwrap_or(unused))),
    }
}

/// The stride, in elements, of an axis with more than one element.
fn forwards<T: Element>(axis: usize, stride: isize) -> Result<usize> {
    let why = match usize::try_from(steps::in_elements::<T>(axis, stride, "nalgebra")?) {
        Err(_) => "negative, and nalgebra counts forwards",
        Ok(0) if axis == 0 => "one at which nalgebra finds no end of a column",
        Ok(step) => return Ok(step),
    };
    Err(Error::new(Kind::Layout, format!("the stride of {stride} bytes of axis {axis} is {why}"))
        .advising(Advice::Copy))
}

// ===== owned

impl<T: Element + Scalar, R: Dim, C: Dim> TryFrom<Matrix<T, R, C, VecStorage<T, R, C>>> for Array<T, 2>
where
    VecStorage<T, R, C>: RawStorage<T, R, C>,
{
    type Error = Error;

    /// Adopts the matrix's vector: column-major. O(1). Fails only if the header cannot be
    /// allocated, or for a matrix without elements that has a dimension beyond `isize::MAX`.
    fn try_from(matrix: Matrix<T, R, C, VecStorage<T, R, C>>) -> Result<Self> {
        let (rows, columns) = matrix.shape();
        Self::from_vec_in_order(matrix.data.into(), [rows, columns], Order::ColumnMajor)
    }
}

impl<T: Element + Scalar> TryFrom<DVector<T>> for Array<T, 1> {
    type Error = Error;

    /// Adopts the vector's `Vec`. O(1). Fails only if the header cannot be allocated.
    fn try_from(vector: DVector<T>) -> Result<Self> {
        let len = vector.len();
        Self::from_vec(vector.data.into(), [len])
    }
}

impl<T: Element + Scalar> TryFrom<Array<T, 2>> for DMatrix<T> {
    type Error = Rejected<Array<T, 2>>;

    /// Moves the array's vector into the matrix. O(1). On failure, the error returns the array and
    /// the reason: a view of it (`DMatrixView`) can still be created and copied.
    ///
    /// # Errors
    ///
    /// `is_layout` if the array is not column-major without gaps; otherwise as
    /// [`try_into_vec`](Array::try_into_vec): `is_conflict` if another handle exists,
    /// `is_unsupported` if the memory is not that of a vector, such as a pool's.
    fn try_from(array: Array<T, 2>) -> Result<Self, Rejected<Array<T, 2>>> {
        let [rows, columns] = *array.shape();
        let vec = array.try_into_vec_in_order(Order::ColumnMajor)?;
        Ok(Self::from_data(VecStorage::new(Dyn(rows), Dyn(columns), vec)))
    }
}

impl<T: Element + Scalar> TryFrom<Array<T, 1>> for DVector<T> {
    type Error = Rejected<Array<T, 1>>;

    /// Moves the array's vector into the `DVector`. O(1). On failure, the error returns the array
    /// and the reason.
    ///
    /// # Errors
    ///
    /// As for a `DMatrix`.
    fn try_from(array: Array<T, 1>) -> Result<Self, Rejected<Array<T, 1>>> {
        Ok(array.try_into_vec_in_order(Order::ColumnMajor)?.into())
    }
}

// ===== borrowed

macro_rules! from_views {
    ($rank:literal, [$($columns:ident)?], $c:ty) => {
        impl<'a, T: Element + Scalar, R: Dim, $($columns: Dim,)? RStride: Dim, CStride: Dim>
            TryFrom<Matrix<T, R, $c, ViewStorage<'a, T, R, $c, RStride, CStride>>> for ArrayView<'a, T, $rank>
        {
            type Error = Error;

            /// The same elements. O(1). Fails only for a matrix without elements that has a
            /// dimension beyond `isize::MAX`.
            fn try_from(
                view: Matrix<T, R, $c, ViewStorage<'a, T, R, $c, RStride, CStride>>,
            ) -> Result<Self> {
                let layout = layout_of(&view.data)?;
                let ptr = NonNull::new(view.data.ptr().cast_mut()).unwrap_or(NonNull::dangling());
                // SAFETY: the contract of `ViewStorage` is ArrayView 1: at these strides it reaches
                // initialised, aligned elements, which are constant while it borrows them for `'a`.
                Ok(unsafe { Self::new(ptr.cast(), layout) })
            }
        }

        impl<'a, T: Element + Scalar, R: Dim, $($columns: Dim,)? S: Storage<T, R, $c>>
            TryFrom<&'a Matrix<T, R, $c, S>> for ArrayView<'a, T, $rank>
        {
            type Error = Error;

            /// The same elements. O(1). Fails only for a matrix without elements that has a
            /// dimension beyond `isize::MAX`.
            fn try_from(matrix: &'a Matrix<T, R, $c, S>) -> Result<Self> {
                let layout = layout_of(&matrix.data)?;
                let ptr = NonNull::new(matrix.data.ptr().cast_mut()).unwrap_or(NonNull::dangling());
                // SAFETY: the unsafe trait `Storage` promises initialised, aligned elements at its
                // strides; the shared borrow of the matrix keeps them constant for `'a`
                // (ArrayView 1).
                Ok(unsafe { Self::new(ptr.cast(), layout) })
            }
        }

        impl<'a, T: Element + Scalar, R: Dim, $($columns: Dim,)? RStride: Dim, CStride: Dim>
            TryFrom<Matrix<T, R, $c, ViewStorageMut<'a, T, R, $c, RStride, CStride>>>
            for ArrayViewMut<'a, T, $rank>
        {
            type Error = Error;

            /// The same elements. O(1).
            ///
            /// # Errors
            ///
            /// `is_layout` if elements may overlap: if neither stride is beyond the extent of the
            /// other axis.
            fn try_from(
                mut view: Matrix<T, R, $c, ViewStorageMut<'a, T, R, $c, RStride, CStride>>,
            ) -> Result<Self> {
                let layout = layout_of(&view.data)?;
                let ptr = NonNull::new(view.data.ptr_mut()).unwrap_or(NonNull::dangling());
                // SAFETY: the contract of `ViewStorageMut` is ArrayViewMut 1: at these strides it
                // reaches initialised, aligned elements, and it borrows them exclusively for `'a`.
                unsafe { Self::new(ptr.cast(), layout) }
            }
        }

        impl<'a, T: Element + Scalar, R: Dim, $($columns: Dim,)? S: StorageMut<T, R, $c>>
            TryFrom<&'a mut Matrix<T, R, $c, S>> for ArrayViewMut<'a, T, $rank>
        {
            type Error = Error;

            /// The same elements. O(1).
            ///
            /// # Errors
            ///
            /// `is_layout` if elements may overlap, as in a view.
            fn try_from(matrix: &'a mut Matrix<T, R, $c, S>) -> Result<Self> {
                let layout = layout_of(&matrix.data)?;
                let ptr = NonNull::new(matrix.data.ptr_mut()).unwrap_or(NonNull::dangling());
                // SAFETY: the unsafe trait `StorageMut` promises initialised, aligned elements at
                // its strides; the exclusive borrow of the matrix makes this view the only access
                // for `'a` (ArrayViewMut 1).
                unsafe { Self::new(ptr.cast(), layout) }
            }
        }
    };
}

from_views!(2, [C], C);
from_views!(1, [], U1);

macro_rules! to_views {
    ($rank:literal, [$($columns:ident)?], $c:ty) => {
        impl<'a, T: Element + Scalar, R: Dim, $($columns: Dim,)? RStride: Dim, CStride: Dim>
            TryFrom<ArrayView<'a, T, $rank>> for Matrix<T, R, $c, ViewStorage<'a, T, R, $c, RStride, CStride>>
        {
            type Error = Error;

            /// The same elements. O(1).
            ///
            /// # Errors
            ///
            /// `is_layout` if a stride is negative or not a multiple of the element size, if that
            /// of the rows is 0, or if the type requires another one; `is_shape` if the type
            /// requires another length.
            fn try_from(view: ArrayView<'a, T, $rank>) -> Result<Self> {
                let steps = MatrixSteps::new::<T, $rank>(view.layout())?;
                let (shape, strides) = (steps.shape()?, steps.strides()?);
                let first = steps.first(view.as_ptr().cast_mut());
                // SAFETY: shape and strides are those of the view, or of an empty matrix at an
                // aligned address; its elements are initialised, aligned and constant for `'a`
                // (ArrayView 1).
                Ok(Self::from_data(unsafe { ViewStorage::from_raw_parts(first, shape, strides) }))
            }
        }

        impl<'a, T: Element + Scalar, R: Dim, $($columns: Dim,)? RStride: Dim, CStride: Dim>
            TryFrom<ArrayViewMut<'a, T, $rank>>
            for Matrix<T, R, $c, ViewStorageMut<'a, T, R, $c, RStride, CStride>>
        {
            type Error = Error;

            /// The same elements. O(1).
            ///
            /// # Errors
            ///
            /// `is_layout` if a stride is negative or not a multiple of the element size, or if the
            /// type requires another one; `is_shape` if the type requires another length.
            fn try_from(mut view: ArrayViewMut<'a, T, $rank>) -> Result<Self> {
                let steps = MatrixSteps::new::<T, $rank>(view.layout())?;
                let (shape, strides) = (steps.shape()?, steps.strides()?);
                let first = steps.first(view.as_mut_ptr());
                // SAFETY: shape and strides are those of the view, or of an empty matrix at an
                // aligned address. Only this view reaches the initialised, aligned elements for
                // `'a` (ArrayViewMut 1), each by one index (ArrayViewMut 2).
                Ok(Self::from_data(unsafe { ViewStorageMut::from_raw_parts(first, shape, strides) }))
            }
        }
    };
}

to_views!(2, [C], C);
to_views!(1, [], U1);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::Buffer;
    use crate::s;
    use nalgebra::{
        DMatrixView, DMatrixViewMut, DVectorView, DVectorViewMut, Matrix2, Matrix2x3, Matrix3, Matrix3xX,
        MatrixView2, OMatrix, RowDVector, SMatrixView, SMatrixViewMut, U0, U3, U5, Vector3, VectorView2,
    };
    use std::sync::Arc;

    type View<'a, T> = DMatrixView<'a, T, Dyn, Dyn>;
    type Column<'a, T> = DVectorView<'a, T, Dyn, Dyn>;

    fn number(row: usize, column: usize) -> i32 {
        (100 * row + column) as i32
    }

    fn numbers(rows: usize, columns: usize) -> DMatrix<i32> {
        DMatrix::from_fn(rows, columns, number)
    }

    /// Compares every element by index, and by iterator, which goes column by column.
    #[track_caller]
    fn assert_same(ours: ArrayView<'_, i32, 2>, theirs: View<'_, i32>) {
        let &[rows, columns] = ours.shape();
        assert_eq!(theirs.shape(), (rows, columns));
        for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
            assert!(std::ptr::eq(&ours[[row, column]], &theirs[(row, column)]), "element {row}, {column}");
        }
        let mut by_columns = ours.transpose().to_vec();
        assert!(theirs.iter().eq(&by_columns), "{theirs}");
        by_columns.reverse();
        assert!(theirs.iter().rev().eq(&by_columns), "{theirs}");
        assert!(theirs.column_iter().all(|column| column.iter().len() == rows));
    }

    #[test]
    fn a_matrix_on_the_heap_is_adopted_and_had_back() {
        for (rows, columns) in [(3, 4), (1, 1), (1, 5), (5, 1), (0, 0), (0, 4), (4, 0)] {
            let theirs = numbers(rows, columns);
            let (expected, address) = (theirs.clone(), theirs.as_ptr());
            let ours = Array::<i32, 2>::try_from(theirs).unwrap();
            assert_eq!((ours.as_ptr(), ours.shape()), (address, &[rows, columns]));
            assert!(ours.is_contiguous(Order::ColumnMajor));
            assert!(ours.write().is_ok(), "an adopted vector is sole");
            let guard = ours.read().unwrap();
            assert!(guard.indexed_iter().all(|([row, column], &value)| value == number(row, column)));
            drop(guard);
            let theirs = DMatrix::try_from(ours).unwrap();
            assert_eq!((theirs.as_ptr(), theirs), (address, expected));
        }
    }

    #[test]
    fn one_dimension_may_be_known_to_the_compiler() {
        let theirs: OMatrix<i32, U3, Dyn> = Matrix3xX::from_fn(4, number);
        let address = theirs.as_ptr();
        let ours = Array::<i32, 2>::try_from(theirs).unwrap();
        assert_eq!((ours.as_ptr(), ours.shape(), ours.get([2, 3]).unwrap()), (address, &[3, 4], 203));
        let row = Array::<i32, 2>::try_from(RowDVector::from_vec(vec![1, 2])).unwrap();
        assert_eq!(row.shape(), &[1, 2]);
        let column = Array::<i32, 2>::try_from(DVector::from_vec(vec![1, 2])).unwrap();
        assert_eq!(column.shape(), &[2, 1]);
    }

    #[test]
    fn a_vector_is_adopted_and_had_back() {
        for len in [0, 1, 3] {
            let theirs = DVector::from_fn(len, number);
            let (expected, address) = (theirs.clone(), theirs.as_ptr());
            let ours = Array::<i32, 1>::try_from(theirs).unwrap();
            assert_eq!((ours.as_ptr(), ours.shape()), (address, &[len]));
            let theirs = DVector::try_from(ours).unwrap();
            assert_eq!((theirs.as_ptr(), theirs), (address, expected));
        }
    }

    #[test]
    fn an_array_that_is_no_such_vector_comes_back() {
        let columns = || Array::try_from(numbers(2, 3)).unwrap();
        type Case = (Array<i32, 2>, fn(&Error) -> bool, &'static str);
        let refused: [Case; 6] = [
            (Array::from_vec(vec![0; 6], [2, 3]).unwrap(), Error::is_layout, "[12, 4]"),
            (columns().slice(s![.., ..;-1]).unwrap(), Error::is_layout, "[4, -8]"),
            (columns().slice(s![..;2, ..]).unwrap(), Error::is_layout, "[8, 8]"),
            (columns().slice(s![.., 1..]).unwrap(), Error::is_bounds, "the 16 bytes begin at byte 8"),
            (Array::zeros([1, 3]).unwrap(), Error::is_unsupported, "12 bytes"),
            (columns().into_readonly(), Error::is_read_only, ""),
        ];
        for (array, is_expected, numbers) in refused {
            let (address, strides) = (array.as_ptr(), *array.strides());
            let Rejected { value, error } = DMatrix::try_from(array).unwrap_err();
            assert!(is_expected(&error) && error.to_string().contains(numbers), "{error}");
            assert_eq!((value.as_ptr(), *value.strides()), (address, strides));
        }
        let ours = columns();
        let other = ours.clone();
        let Rejected { value, error } = DMatrix::try_from(ours).unwrap_err();
        assert!(error.is_conflict() && error.to_string().contains("2 handles"), "{error}");
        drop(other);
        assert_eq!(DMatrix::try_from(value).unwrap(), numbers(2, 3));

        let backwards = Array::from_vec(vec![1u8, 2], [2]).unwrap().slice(s![..;-1]).unwrap();
        let Rejected { value, error } = DVector::try_from(backwards).unwrap_err();
        assert!(error.is_layout() && value.get([0]).unwrap() == 2, "{error}");
    }

    #[test]
    fn views_go_out_and_back_with_strides_of_any_length() {
        let array = Array::from_vec((0..6 * 8).collect(), [6, 8]).unwrap();
        let guard = array.read().unwrap();
        let mut seen = 0;
        for (rows, columns) in [(1, 1), (2, 1), (1, 3), (2, 3), (5, 4)] {
            for (top, left) in [(0, 0), (1, 2), (5, 7), (6, 0), (0, 8)] {
                let part = guard.view().slice(s![top..;rows, left..;columns]).unwrap();
                for ours in [part, part.transpose()] {
                    let theirs = View::<i32>::try_from(ours).unwrap();
                    assert_same(ours, theirs);
                    let back = ArrayView::<i32, 2>::try_from(theirs).unwrap();
                    assert_eq!(back.shape(), ours.shape());
                    for axis in (0..2).filter(|&axis| !ours.is_empty() && ours.shape()[axis] > 1) {
                        assert_eq!(back.strides()[axis], ours.strides()[axis]);
                        seen += 1;
                    }
                    assert!(ours.is_empty() || back.as_ptr() == ours.as_ptr());
                    assert!(back.iter().eq(ours.iter()));
                }
            }
        }
        assert!(seen > 30, "{seen} strides were compared");
    }

    #[test]
    fn what_lies_without_gaps_is_a_slice_there_too() {
        let array = Array::try_from(numbers(2, 3)).unwrap();
        let guard = array.read().unwrap();
        for (rows, columns) in
            [(0..2, 0..3), (0..2, 1..3), (1..2, 1..2), (0..2, 2..3), (2..2, 0..3), (0..2, 1..1)]
        {
            let ours = guard.view().slice(s![rows, columns]).unwrap();
            let theirs = View::<i32>::try_from(ours).unwrap();
            assert!(theirs.data.is_contiguous(), "{:?} {:?}", ours.shape(), theirs.strides());
            // SAFETY: `is_contiguous` was asserted one line above, so the elements of the view are
            // one slice without gaps.
            assert!(unsafe { theirs.data.as_slice_unchecked() }.iter().eq(ours.transpose().iter()));
        }
        let rows = View::<i32>::try_from(guard.view().slice(s![..1, ..]).unwrap()).unwrap();
        assert!(!rows.data.is_contiguous());
    }

    #[test]
    fn lengths_and_strides_that_the_compiler_knows_are_checked() {
        let array = Array::try_from(numbers(3, 4)).unwrap();
        let guard = array.read().unwrap();
        let all = guard.view();
        assert_eq!(DMatrixView::<i32, U1, Dyn>::try_from(all).unwrap().iter().len(), 12);
        let corner = all.slice(s![1.., 2..]).unwrap();
        assert_eq!(MatrixView2::<i32, U1, U3>::try_from(corner).unwrap(), Matrix2::new(102, 103, 202, 203));
        let error = SMatrixView::<i32, 2, 2>::try_from(corner).unwrap_err();
        assert!(error.is_layout() && error.to_string().contains("axis 1 is 3 elements"), "{error}");
        let error = SMatrixView::<i32, 3, 2>::try_from(all).unwrap_err();
        assert!(error.is_shape() && error.to_string().contains("axis 1 has 4 elements"), "{error}");
        let rows = all.slice(s![..;2, ..]).unwrap();
        let error = DMatrixView::<i32, U1, Dyn>::try_from(rows).unwrap_err();
        assert!(error.is_layout() && error.to_string().contains("axis 0 is 2 elements"), "{error}");
        // The type may fix any stride for an axis that is never stepped along.
        assert_eq!(
            DMatrixView::<i32, U3, U5>::try_from(all.slice(s![1..2, 1..2]).unwrap()).unwrap().sum(),
            101
        );
        // Except 0: the iterator would miss the end of the single row and read beyond the memory.
        let row = all.slice(s![2.., ..]).unwrap();
        let error = DMatrixView::<i32, U0, U3>::try_from(row).unwrap_err();
        assert!(error.is_layout() && error.to_string().contains("0 elements for axis 0"), "{error}");
        assert_eq!(DMatrixView::<i32, U0, U3>::try_from(row.slice(s![.., 4..]).unwrap()).unwrap().sum(), 0);
        assert_eq!(DMatrixView::<i32, U1, U0>::try_from(all.slice(s![.., 3..]).unwrap()).unwrap().sum(), 309);
        let column: ArrayView<i32, 1> = all.slice(s![.., 1]).unwrap();
        assert_eq!(DVectorView::<i32>::try_from(column).unwrap().as_slice(), [1, 101, 201]);
        let pair: Result<VectorView2<i32>> = column.try_into();
        assert!(pair.unwrap_err().is_shape());
        drop(guard);
        let mut array = array;
        let view = array.as_view_mut().unwrap();
        SMatrixViewMut::<i32, 3, 4>::try_from(view).unwrap().fill(5);
        assert!(array.read().unwrap().iter().all(|&element| element == 5));
    }

    #[test]
    fn columns_go_out_and_back() {
        let array = Array::from_vec((0..12).collect(), [3, 4]).unwrap();
        let guard = array.read().unwrap();
        for (ours, expected) in [
            (guard.view().slice(s![.., 1]).unwrap(), &[1, 5, 9][..]),
            (guard.view().slice(s![2, 1..;2]).unwrap(), &[9, 11]),
            (guard.view().slice(s![2, 3..]).unwrap(), &[11]),
            (guard.view().slice(s![2, 4..]).unwrap(), &[]),
        ] {
            let theirs = Column::<i32>::try_from(ours).unwrap();
            assert!(theirs.iter().eq(expected) && theirs.iter().rev().eq(expected.iter().rev()));
            assert_eq!(theirs.sum(), expected.iter().sum::<i32>());
            let back = ArrayView::<i32, 1>::try_from(theirs).unwrap();
            assert!(back.iter().eq(expected) && (back.is_empty() || back.as_ptr() == ours.as_ptr()));
        }
        let theirs = numbers(3, 4);
        let column = ArrayView::<i32, 1>::try_from(theirs.column(2)).unwrap();
        assert!(column.iter().eq(&[2, 102, 202]));
    }

    #[test]
    fn matrices_on_the_stack_are_seen_and_written_in_place() {
        let mut theirs = Matrix2x3::from_fn(number);
        let ours = ArrayView::<i32, 2>::try_from(&theirs).unwrap();
        assert_eq!((ours.as_ptr(), ours.strides()), (theirs.as_ptr(), &[4, 8]));
        assert_same(ours, View::try_from(ours).unwrap());
        let mut ours = ArrayViewMut::<i32, 2>::try_from(&mut theirs).unwrap();
        ours[[1, 2]] = 7;
        assert_eq!(theirs, Matrix2x3::new(0, 1, 2, 100, 101, 7));
        let mut theirs = Vector3::new(1, 2, 3);
        ArrayViewMut::<i32, 1>::try_from(&mut theirs).unwrap()[[2]] = 9;
        assert!(ArrayView::<i32, 1>::try_from(&theirs).unwrap().iter().eq(&[1, 2, 9]));
    }

    #[test]
    fn what_is_in_a_box_or_shared_is_kept() {
        let theirs = Box::new(Matrix2x3::from_fn(number));
        let address = theirs.as_ptr();
        let ours = Array::<i32, 2>::from_owner(theirs, [3, 2]).unwrap().transpose();
        assert_eq!((ours.as_ptr(), ours.get([1, 2]).unwrap()), (address, 102));
        let theirs = Arc::new(numbers(2, 3));
        let ours = Array::<i32, 2>::from_owner(theirs.clone(), [3, 2]).unwrap().transpose();
        assert_eq!((ours.as_ptr(), ours.get([1, 2]).unwrap()), (theirs.as_ptr(), 102));
        assert!(DMatrix::try_from(ours).unwrap_err().error.is_read_only());
    }

    #[test]
    fn mutable_views_write_through_both_ways() {
        let mut array = Array::from_vec(vec![0u16; 12], [3, 4]).unwrap();
        let view = array.as_view_mut().unwrap().slice(s![1.., ..;3]).unwrap();
        let mut theirs = DMatrixViewMut::<u16, Dyn, Dyn>::try_from(view).unwrap();
        theirs[(1, 1)] = 7;
        theirs.column_mut(0).fill(3);
        let column = array.as_view_mut().unwrap().slice(s![0, 1..]).unwrap();
        DVectorViewMut::<u16, Dyn, Dyn>::try_from(column).unwrap().fill(5);
        assert_eq!(array.read().unwrap().to_vec(), [0, 5, 5, 5, 3, 0, 0, 0, 3, 0, 0, 7]);

        let mut theirs = numbers(3, 3);
        let mut ours = ArrayViewMut::<i32, 2>::try_from(theirs.rows_with_step_mut(0, 2, 1)).unwrap();
        ours.iter_mut().for_each(|element| *element = -1);
        let mut ours = ArrayViewMut::<i32, 1>::try_from(theirs.column_mut(1)).unwrap();
        ours[[1]] = 0;
        assert_eq!(theirs, Matrix3::new(-1, -1, -1, 100, 0, 102, -1, -1, -1));
    }

    #[test]
    fn broadcast_columns_go_out_and_broadcast_rows_are_refused() {
        let array = Array::from_vec(vec![1, 2, 3], [3]).unwrap();
        let rows = array.broadcast_to([4, 3]).unwrap();
        let guard = rows.read().unwrap();
        let ours = guard.view().transpose(); // 3 × 4, and all columns are one
        assert_eq!(ours.strides(), &[4, 0]);
        assert_same(ours, View::try_from(ours).unwrap());
        assert_eq!(View::try_from(ours).unwrap().sum(), 24);
        let error = View::<i32>::try_from(guard.view()).unwrap_err();
        assert!(error.is_layout() && error.to_string().contains("stride of 0 bytes of axis 0"), "{error}");
        let one = array.slice(s![1..2]).unwrap().broadcast_to([5]).unwrap();
        let guard = one.read().unwrap();
        assert!(Column::<i32>::try_from(guard.view()).unwrap_err().is_layout());
        // A stride of 0 that is never used is accepted.
        let single = one.slice(s![..1]).unwrap().read().unwrap();
        assert_eq!(Column::<i32>::try_from(single.view()).unwrap().sum(), 2);
    }

    #[test]
    fn reversed_views_are_refused() {
        let array = Array::from_vec((0..6).collect(), [2, 3]).unwrap();
        let guard = array.read().unwrap();
        for (rows, columns, number) in [(-1, 1, "-12"), (1, -1, "-4"), (-1, -1, "-12"), (1, -2, "-8")] {
            let ours = guard.view().slice(s![..;rows, ..;columns]).unwrap();
            let error = View::<i32>::try_from(ours).unwrap_err();
            assert!(error.is_layout() && error.to_string().contains(number), "{error}");
            assert!(error.to_string().contains("copy"), "{error}");
        }
        // A negative stride that is never used is accepted.
        let column = guard.view().slice(s![.., 2..;-1]).unwrap();
        assert_same(column, View::try_from(column).unwrap());
        drop(guard);
        let mut array = array;
        let view = array.as_view_mut().unwrap().slice(s![..;-1, ..]).unwrap();
        assert!(DMatrixViewMut::<i32, Dyn, Dyn>::try_from(view).unwrap_err().is_layout());
    }

    #[test]
    fn strides_that_are_no_whole_elements_are_refused() {
        let pairs = Buffer::from_vec(vec![0u16; 9]).unwrap();
        let layout = FixedLayout::new([2], [6], 4).unwrap();
        let array = Array::<[u16; 2], 1>::from_buffer_with_layout(pairs, layout, 0).unwrap();
        let guard = array.read().unwrap();
        let error = Column::<[u16; 2]>::try_from(guard.view()).unwrap_err();
        assert!(error.is_layout() && error.to_string().contains("stride of 6 bytes"), "{error}");
        let nothing = Array::from_vec(vec![[0u8; 0]; 3], [3]).unwrap();
        assert!(Column::<[u8; 0]>::try_from(nothing.read().unwrap().view()).unwrap_err().is_layout());
    }

    #[test]
    fn views_of_nalgebra_that_repeat_elements_are_read_and_not_written() {
        let mut data = [1, 2, 3, 4];
        let theirs = View::from_slice_with_strides(&data, 2, 3, 0, 1);
        let ours = ArrayView::<i32, 2>::try_from(theirs).unwrap();
        assert_eq!(ours.to_vec(), [1, 2, 3, 1, 2, 3]);
        for (rows, columns, numbers) in [(1, 1, "[4, 4]"), (0, 1, "[0, 4]"), (1, 0, "[4, 0]")] {
            let (shape, strides) = ((Dyn(2), Dyn(2)), (Dyn(rows), Dyn(columns)));
            // SAFETY: 2 × 2 indices with strides of at most 1 element stay within the 4 elements of
            // `data`; the overlapping view is refused before any element is accessed.
            let storage = unsafe { ViewStorageMut::from_raw_parts(data.as_mut_ptr(), shape, strides) };
            let mut theirs = DMatrixViewMut::<i32, Dyn, Dyn>::from_data(storage);
            let error = ArrayViewMut::<i32, 2>::try_from(&mut theirs).unwrap_err();
            assert!(error.is_layout() && error.to_string().contains(numbers), "{error}");
            assert!(ArrayViewMut::<i32, 2>::try_from(theirs).unwrap_err().is_layout());
        }
    }
}
