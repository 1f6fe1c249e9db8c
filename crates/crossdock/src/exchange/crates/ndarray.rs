//! `ndarray`: owned arrays are adopted, views stay views. Nothing is copied.
//!
//! | from | to | |
//! |---|---|---|
//! | `ndarray::Array` | [`Array`] | adopts its vector; sole |
//! | `ndarray::ArcArray` | [`Array`] | keeps it; read-only |
//! | [`Array`] | `ndarray::Array` | releases its vector; sole owners of a vector only |
//! | `ndarray::ArrayView` | [`ArrayView`] | same elements |
//! | [`ArrayView`] | `ndarray::ArrayView` | same elements; strides of whole elements only |
//! | [`ArrayViewMut`] | `ndarray::ArrayViewMut` | same elements; refused likewise |
//! | [`ArrayPin`], [`ArrayShare`] | `ndarray::ArrayView` of [`Pinned`], [`Shared`] | cells |
//!
//! The last conversion passes a mapped file or shared memory to `ndarray` without a copy, although
//! another process may write it: each element is a cell that is loaded by value. Strides that are
//! not multiples of the element size are refused, and so are unaligned elements.
//!
//! `ndarray` counts strides in elements and accepts no negative ones when a view is created, so a
//! reversed axis is exported forwards and then inverted.
//!
//! Reasons: `DESIGN.md`, "Mapped elements are cells in `ndarray`".

use std::ptr::NonNull;

use ndarray::{ArcArray, Axis, Dim, Dimension, IntoDimension, ShapeBuilder};

use crate::array::{Array, ArrayPin, ArrayShare, ArrayView, ArrayViewMut, check_aligned};
use crate::buffer::Buffer;
use crate::element::Element;
use crate::error::{Error, Rejected, Result};
use crate::exchange::crates::steps;
use crate::layout::{FixedLayout, Order};
use crate::memory::racy::{Pinned, Shared};
use crate::memory::{Birth, Place};

/// `ndarray`'s strides, in elements, as a layout with strides in bytes.
fn layout_of<T: Element, const D: usize>(shape: &[usize], strides: &[isize]) -> Result<FixedLayout<D>> {
    steps::layout_of::<T, D>(
        std::array::from_fn(|axis| shape[axis]),
        std::array::from_fn(|axis| strides[axis]),
    )
}

/// The offset of element 0 within the memory, in bytes: the extent of the reversed axes.
fn first_element<const D: usize>(layout: &FixedLayout<D>, itemsize: usize) -> usize {
    layout.span(itemsize).low().unsigned_abs()
}

impl<T: Element, const D: usize> TryFrom<ndarray::Array<T, Dim<[usize; D]>>> for Array<T, D>
where
    Dim<[usize; D]>: Dimension,
{
    type Error = Error;

    /// Adopts the array's vector. O(`D`). Fails only if the header cannot be allocated.
    fn try_from(array: ndarray::Array<T, Dim<[usize; D]>>) -> Result<Self> {
        let layout = layout_of::<T, D>(array.shape(), array.strides())?;
        let (vec, offset) = array.into_raw_vec_and_offset();
        let offset = offset.unwrap_or(0) * size_of::<T>();
        Self::from_buffer_with_layout(Buffer::from_vec(vec)?, layout, offset)
    }
}

impl<T: Element, const D: usize> TryFrom<Array<T, D>> for ndarray::Array<T, Dim<[usize; D]>>
where
    Dim<[usize; D]>: Dimension,
    [usize; D]: IntoDimension<Dim = Dim<[usize; D]>>,
{
    type Error = Rejected<Array<T, D>>;

    /// Moves the array's vector, of elements in either order, into the result. O(`D`). On failure,
    /// the error returns the array and the reason: a view of it (`ndarray::ArrayView`) can still be
    /// created and copied.
    ///
    /// # Errors
    ///
    /// `is_layout` if the array is contiguous in neither order; otherwise as
    /// [`try_into_vec`](Array::try_into_vec): `is_conflict` if another handle exists,
    /// `is_unsupported` if the memory is not that of a vector, such as a pool's.
    fn try_from(array: Array<T, D>) -> Result<Self, Rejected<Array<T, D>>> {
        let shape = Dim(*array.shape());
        let order = array.layout().order(size_of::<T>()).unwrap_or(Order::RowMajor);
        let vec = array.try_into_vec_in_order(order)?;
        let shape = shape.set_f(order == Order::ColumnMajor);
        // SAFETY: `try_into_vec_in_order` returned exactly the elements of this shape, in the order
        // that `set_f` passes to `ndarray`.
        Ok(unsafe { Self::from_shape_vec_unchecked(shape, vec) })
    }
}

impl<T: Element, const D: usize> TryFrom<ArcArray<T, Dim<[usize; D]>>> for Array<T, D>
where
    Dim<[usize; D]>: Dimension + Send + 'static,
{
    type Error = Error;

    /// Keeps the shared array, read-only, since other handles of it may exist. O(`D`). They cannot
    /// change the elements either: `ndarray` copies a shared array before it writes.
    fn try_from(array: ArcArray<T, Dim<[usize; D]>>) -> Result<Self> {
        let layout = layout_of::<T, D>(array.shape(), array.strides())?;
        let span = layout.span(size_of::<T>());
        let first = first_element(&layout, size_of::<T>());
        let lowest = array.as_ptr().cast::<u8>().wrapping_sub(first).cast_mut();
        let release = move || drop(array);
        // SAFETY: from its lowest to its highest element, the array is one block of initialised
        // elements without padding (Pod 2), which the closure keeps alive. `ndarray` writes only to
        // an array with a single handle, and the closure's handle makes every other one a second
        // handle.
        let buffer =
            unsafe { Buffer::from_foreign(lowest, span.nbytes(), Place::CPU, Birth::Constant, release) }?;
        Self::from_buffer_with_layout(buffer, layout, first)
    }
}

impl<'a, T: Element, const D: usize> TryFrom<ndarray::ArrayView<'a, T, Dim<[usize; D]>>>
    for ArrayView<'a, T, D>
where
    Dim<[usize; D]>: Dimension,
{
    type Error = Error;

    /// The same elements. O(`D`). Fails only if strides that are never used overflow.
    fn try_from(view: ndarray::ArrayView<'a, T, Dim<[usize; D]>>) -> Result<Self> {
        let layout = layout_of::<T, D>(view.shape(), view.strides())?;
        let ptr = NonNull::new(view.as_ptr().cast_mut()).unwrap_or(NonNull::dangling());
        // SAFETY: the contract of `ndarray::ArrayView` is ArrayView 1: at these strides it reaches
        // initialised, aligned elements, which are constant for `'a`.
        Ok(unsafe { Self::new(ptr.cast(), layout) })
    }
}

/// The arguments of `ndarray`'s constructors: positive strides, the lowest address, and the axes to
/// invert afterwards.
struct Forwards<const D: usize> {
    strides: [usize; D],
    inverted: [bool; D],
    /// The distance from element 0 to the lowest element, in bytes; never positive.
    offset: isize,
}

impl<const D: usize> Forwards<D> {
    fn new<T: Element>(shape: &[usize; D], strides: &[isize; D]) -> Result<Self> {
        let mut forwards = Self { strides: [0; D], inverted: [false; D], offset: 0 };
        if shape.contains(&0) {
            // No element exists. `ndarray` still requires strides at which elements would not
            // overlap.
            let mut stride = 1;
            for axis in (0..D).rev() {
                forwards.strides[axis] = stride;
                stride *= shape[axis].max(1);
            }
            return Ok(forwards);
        }
        for axis in 0..D {
            let (len, stride) = (shape[axis], strides[axis]);
            if len <= 1 {
                continue;
            }
            forwards.strides[axis] = steps::in_elements::<T>(axis, stride, "ndarray")?.unsigned_abs();
            if stride < 0 {
                forwards.inverted[axis] = true;
                forwards.offset += stride * (len - 1) as isize;
            }
        }
        Ok(forwards)
    }

    /// The lowest element; for an empty view a dangling pointer, since `ndarray` requires
    /// alignment.
    fn lowest<T>(&self, first: *mut T, empty: bool) -> *mut T {
        if empty { NonNull::dangling().as_ptr() } else { first.wrapping_byte_offset(self.offset) }
    }
}

impl<'a, T: Element, const D: usize> TryFrom<ArrayView<'a, T, D>>
    for ndarray::ArrayView<'a, T, Dim<[usize; D]>>
where
    Dim<[usize; D]>: Dimension,
    [usize; D]: IntoDimension<Dim = Dim<[usize; D]>>,
{
    type Error = Error;

    /// The same elements. O(`D`).
    ///
    /// # Errors
    ///
    /// `is_layout` if a stride is not a multiple of the element size.
    fn try_from(view: ArrayView<'a, T, D>) -> Result<Self> {
        let forwards = Forwards::new::<T>(view.shape(), view.strides())?;
        let shape = Dim(*view.shape()).strides(Dim(forwards.strides));
        let lowest = forwards.lowest(view.as_ptr().cast_mut(), view.is_empty());
        // SAFETY: from the lowest element on, these strides reach exactly the elements of the view
        // (none if it is empty), which are initialised, aligned and constant for `'a`
        // (ArrayView 1).
        let mut view = unsafe { Self::from_shape_ptr(shape, lowest) };
        for axis in (0..D).filter(|&axis| forwards.inverted[axis]) {
            view.invert_axis(Axis(axis));
        }
        Ok(view)
    }
}

impl<'a, T: Element, const D: usize> TryFrom<ArrayViewMut<'a, T, D>>
    for ndarray::ArrayViewMut<'a, T, Dim<[usize; D]>>
where
    Dim<[usize; D]>: Dimension,
    [usize; D]: IntoDimension<Dim = Dim<[usize; D]>>,
{
    type Error = Error;

    /// The same elements. O(`D`).
    ///
    /// # Errors
    ///
    /// `is_layout` if a stride is not a multiple of the element size.
    fn try_from(mut view: ArrayViewMut<'a, T, D>) -> Result<Self> {
        let forwards = Forwards::new::<T>(view.shape(), view.strides())?;
        let shape = Dim(*view.shape()).strides(Dim(forwards.strides));
        let lowest = forwards.lowest(view.as_mut_ptr(), view.is_empty());
        // SAFETY: from the lowest element on, these strides reach exactly the elements of the view
        // (none if it is empty), each by one index (ArrayViewMut 2). They are initialised and
        // aligned, and for `'a` only this view reaches them (ArrayViewMut 1).
        let mut view = unsafe { Self::from_shape_ptr(shape, lowest) };
        for axis in (0..D).filter(|&axis| forwards.inverted[axis]) {
            view.invert_axis(Axis(axis));
        }
        Ok(view)
    }
}

macro_rules! cells {
    ($guard:ident, $cell:ident) => {
        impl<'a, T: Element, const D: usize> TryFrom<&'a $guard<T, D>>
            for ndarray::ArrayView<'a, $cell<T>, Dim<[usize; D]>>
        where
            Dim<[usize; D]>: Dimension,
            [usize; D]: IntoDimension<Dim = Dim<[usize; D]>>,
        {
            type Error = Error;

            /// The same elements, as cells. O(`D`).
            ///
            /// # Errors
            ///
            /// `is_layout` if a stride is not a multiple of the element size; `is_alignment` if
            /// elements are unaligned.
            fn try_from(array: &'a $guard<T, D>) -> Result<Self> {
                check_aligned::<T, D>(array.as_ptr().addr(), array.layout())?;
                let forwards = Forwards::new::<T>(array.shape(), array.strides())?;
                let shape = Dim(*array.shape()).strides(Dim(forwards.strides));
                let lowest = forwards.lowest(array.as_ptr().cast_mut(), array.is_empty()).cast::<$cell<T>>();
                // SAFETY: from the lowest element on, these strides reach exactly the elements of
                // the array, which are initialised, and aligned as `check_aligned` checked. The
                // borrow of the guard keeps its lease for `'a`. The cell is `repr(transparent)`,
                // and its `UnsafeCell` permits concurrent writes.
                let mut view = unsafe { Self::from_shape_ptr(shape, lowest) };
                for axis in (0..D).filter(|&axis| forwards.inverted[axis]) {
                    view.invert_axis(Axis(axis));
                }
                Ok(view)
            }
        }
    };
}

cells!(ArrayPin, Pinned);
cells!(ArrayShare, Shared);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::copied_bytes_here;
    use crate::s;
    use ndarray::{ArrayView as NdView, Ix2, Ix3};

    fn numbers() -> ndarray::Array<i32, Ix3> {
        ndarray::Array::from_shape_fn((3, 4, 5), |(i, j, k)| (100 * i + 10 * j + k) as i32)
    }

    #[test]
    fn owned_arrays_are_adopted_with_their_strides() {
        let mut theirs = numbers();
        theirs.invert_axis(Axis(1));
        theirs.swap_axes(0, 2);
        let (expected, address) = (theirs.clone(), theirs.as_ptr());
        let copied = copied_bytes_here();
        let ours = Array::<i32, 3>::try_from(theirs).unwrap();
        assert_eq!((ours.as_ptr(), copied_bytes_here()), (address, copied));
        for (index, &value) in expected.indexed_iter() {
            assert_eq!(ours.get([index.0, index.1, index.2]).unwrap(), value);
        }
        assert!(ours.write().is_ok(), "an adopted vector is sole");
    }

    #[test]
    fn a_vector_goes_out_in_either_order_and_comes_back() {
        for order in [Order::RowMajor, Order::ColumnMajor] {
            let ours = Array::from_vec_in_order(vec![1u16, 2, 3, 4, 5, 6], [2, 3], order).unwrap();
            let (address, expected) = (ours.as_ptr(), ours.read().unwrap().to_vec());
            let theirs = ndarray::Array::<u16, Ix2>::try_from(ours).unwrap();
            assert_eq!((theirs.as_ptr(), theirs.shape()), (address, &[2, 3][..]));
            assert!(theirs.iter().eq(&expected));
            let ours = Array::<u16, 2>::try_from(theirs).unwrap();
            assert_eq!((ours.as_ptr(), ours.is_contiguous(order)), (address, true));
        }
        let empty = Array::<f64, 3>::from_vec(vec![], [2, 0, 3]).unwrap();
        assert_eq!(ndarray::Array::<f64, Ix3>::try_from(empty).unwrap().shape(), [2, 0, 3]);
    }

    #[test]
    fn an_array_without_a_vector_of_its_own_comes_back() {
        type Case = (Array<u16, 2>, fn(&Error) -> bool);
        let whole = || Array::from_vec(vec![1u16, 2, 3, 4, 5, 6], [2, 3]).unwrap();
        let kept = whole();
        let cases: [Case; 3] = [
            (kept.clone(), Error::is_conflict),
            (whole().slice(s![.., ..;-1]).unwrap(), Error::is_layout),
            (Array::zeros([2, 3]).unwrap(), Error::is_unsupported),
        ];
        for (array, is_expected) in cases {
            let (address, layout) = (array.as_ptr(), *array.layout());
            let Rejected { value, error } = ndarray::Array::<u16, Ix2>::try_from(array).unwrap_err();
            assert!(is_expected(&error), "{error}");
            assert_eq!((value.as_ptr(), value.layout()), (address, &layout));
        }
        assert_eq!(kept.read().unwrap().to_vec(), [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn shared_arrays_are_kept_read_only_and_released() {
        let theirs = numbers().into_shared();
        let ours = Array::<i32, 3>::try_from(theirs.slice(ndarray::s![.., ..;-2, 1..]).to_shared()).unwrap();
        assert!(ours.write().unwrap_err().is_read_only());
        assert_eq!(ours.read().unwrap()[[2, 0, 0]], 231);
        let mut theirs = theirs;
        let kept = Array::<i32, 3>::try_from(theirs.clone()).unwrap();
        let address = theirs.as_ptr();
        assert_eq!(kept.as_ptr(), address);
        drop(kept);
        theirs[[0, 0, 0]] = -1;
        assert_eq!(theirs.as_ptr(), address, "written in place, so the handle is the only one");
    }

    #[test]
    fn views_go_out_and_back_with_strides_of_either_sign() {
        let array = Array::<i32, 3>::try_from(numbers()).unwrap();
        let guard = array.read().unwrap();
        let ours = guard.view().slice(s![..;-1, 1..;2, ..;-2]).unwrap();
        let copied = copied_bytes_here();
        let theirs = NdView::<i32, Ix3>::try_from(ours).unwrap();
        assert_eq!(theirs.shape(), ours.shape());
        assert!(ours.iter().eq(theirs.iter()));
        let back = ArrayView::<i32, 3>::try_from(theirs).unwrap();
        assert_eq!(
            (back.as_ptr(), back.strides(), back.shape()),
            (ours.as_ptr(), ours.strides(), ours.shape())
        );
        assert_eq!(copied_bytes_here(), copied);
    }

    #[test]
    fn broadcast_and_empty_views_go_out() {
        let array = Array::from_vec(vec![1u8, 2, 3], [3]).unwrap();
        let broadcast = array.broadcast_to([4, 3]).unwrap();
        let guard = broadcast.read().unwrap();
        let theirs = NdView::<u8, Ix2>::try_from(guard.view()).unwrap();
        assert_eq!(theirs.sum(), 24);
        let empty = guard.view().slice(s![2..2, ..;-1]).unwrap();
        assert_eq!(NdView::<u8, Ix2>::try_from(empty).unwrap().shape(), [0, 3]);
    }

    #[test]
    fn aliased_memory_goes_out_as_cells() {
        let shared = Array::<u16, 2>::from_buffer(Buffer::shared(12).unwrap(), [2, 3]).unwrap();
        let backwards = shared.slice(s![.., ..;-1]).unwrap();
        let (pin, share) = (backwards.pin().unwrap(), shared.share().unwrap());
        let seen = ndarray::ArrayView2::<Pinned<u16>>::try_from(&pin).unwrap();
        let written = ndarray::ArrayView2::<Shared<u16>>::try_from(&share).unwrap();
        written[[1, 0]].store(7);
        assert_eq!(seen.map(Pinned::load), ndarray::array![[0, 0, 0], [0, 0, 7]]);
    }

    #[test]
    fn mutable_views_write_through() {
        let mut array = Array::from_vec(vec![0u16; 6], [2, 3]).unwrap();
        let view = array.as_view_mut().unwrap().slice(s![.., ..;-1]).unwrap();
        let mut theirs = ndarray::ArrayViewMut::<u16, Ix2>::try_from(view).unwrap();
        theirs[[1, 0]] = 7;
        assert_eq!(array.read().unwrap().as_slice(), Some(&[0, 0, 0, 0, 0, 7][..]));
    }

    #[test]
    fn arrays_without_elements_become_views_to_be_written() {
        fn check<const D: usize>(shape: [usize; D], order: Order)
        where
            Dim<[usize; D]>: Dimension,
            [usize; D]: IntoDimension<Dim = Dim<[usize; D]>>,
        {
            let array = Array::<f32, D>::zeros((shape, order)).unwrap();
            let mut guard = array.write().unwrap();
            let view = ndarray::ArrayViewMut::<f32, Dim<[usize; D]>>::try_from(guard.view_mut()).unwrap();
            assert_eq!(view.shape(), shape);
        }
        for order in [Order::RowMajor, Order::ColumnMajor] {
            check([0], order);
            check([2, 0], order);
            check([0, 2], order);
            check([2, 2, 0], order);
            check([2, 0, 3], order);
        }
    }

    #[test]
    fn strides_that_are_no_whole_elements_are_refused() {
        let bytes = Buffer::from_vec(vec![0u64; 4]).unwrap();
        let layout = FixedLayout::new([2], [12], 8).unwrap();
        let array = Array::<u64, 1>::from_buffer_with_layout(bytes, layout, 0).unwrap();
        assert!(array.read().unwrap_err().is_alignment());
        let pairs = Buffer::from_vec(vec![0u16; 9]).unwrap();
        let layout = FixedLayout::new([2], [6], 4).unwrap();
        let array = Array::<[u16; 2], 1>::from_buffer_with_layout(pairs, layout, 0).unwrap();
        let guard = array.read().unwrap();
        let error = ndarray::ArrayView1::<[u16; 2]>::try_from(guard.view()).unwrap_err();
        assert!(error.is_layout() && error.to_string().contains('6'), "{error}");
    }
}
