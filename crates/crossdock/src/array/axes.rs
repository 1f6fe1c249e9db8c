//! The views of an array of static rank: one list for [`Array`](crate::Array), whose views are
//! handles, and for borrowed views.
//!
//! Each operation computes the result's layout and the offset of its element 0, and calls `moved`,
//! which the type provides. Nothing is copied.
//!
//! [`typed_views!`] has the operations that reach every element by at most one index. Mutable views
//! have them too, and are consumed by them. [`typed_repeats!`] has those that may give one element
//! several indices.

/// `typed_views! { &self => Array<T> }`: by reference, or, without the `&`, by value; then the type
/// without its rank.
macro_rules! typed_views {
    (&$this:ident => $($view:tt)*) => {
        crate::array::axes::typed_views! { @ [&] $this $($view)* }
    };
    ($this:ident => $($view:tt)*) => {
        crate::array::axes::typed_views! { @ [] $this $($view)* }
    };
    (@ [$($by:tt)?] $this:ident $name:ident<$($of:tt),*>) => {
        /// Part of the array, selected by [`s!`](crate::s). The rank of the result is inferred; a
        /// list of the wrong length does not compile. O(rank).
        ///
        /// # Errors
        ///
        /// `is_bounds` if a range or an index leaves its axis.
        #[inline(always)]
        pub fn slice<S, const OUT: usize>($($by)? $this, slices: S) -> Result<$name<$($of),*, OUT>>
        where
            S: crate::layout::SliceSpec<D, OUT>,
        {
            let (layout, offset) = $this.layout.slice(slices)?;
            // SAFETY: `layout` and `offset` are one result of an operation on this layout that
            // gives no element a second index; a mutable view is consumed.
            Ok(unsafe { $this.moved(layout, offset) })
        }

        /// Some indices of an axis that is known only at run time. O(rank).
        ///
        /// # Errors
        ///
        /// `is_bounds` if the axis does not exist, or the range leaves it.
        pub fn slice_axis($($by)? $this, axis: usize, range: impl std::ops::RangeBounds<usize>) -> Result<Self> {
            let (layout, offset) = $this.layout.slice_axis(axis, range)?;
            // SAFETY: `layout` and `offset` are one result of an operation on this layout that
            // gives no element a second index; a mutable view is consumed.
            Ok(unsafe { $this.moved(layout, offset) })
        }

        /// The indices of an axis before `index`, and those from it on: two disjoint parts.
        /// O(rank).
        ///
        /// # Errors
        ///
        /// `is_bounds` if the axis does not exist, or its length is less than `index`.
        pub fn split_at($($by)? $this, axis: usize, index: usize) -> Result<(Self, Self)> {
            let (before, behind, offset) = $this.layout.split_at(axis, index)?;
            // SAFETY: `before` begins at element 0, so its offset is 0; it has no index in common
            // with `behind`, and a mutable view is consumed.
            let before = unsafe { $this.moved(before, 0) };
            // SAFETY: `behind` and `offset` are one result of `split_at` on this layout; `before`
            // and `behind` have no index in common, so a mutable view's parts are disjoint.
            let behind = unsafe { $this.moved(behind, offset) };
            Ok((before, behind))
        }

        /// The axes in another order: axis `k` of the result is axis `axes[k]` of this one.
        /// O(rank).
        ///
        /// # Errors
        ///
        /// `is_shape` if `axes` does not name every axis once.
        pub fn permute($($by)? $this, axes: [usize; D]) -> Result<Self> {
            let layout = $this.layout.permute(axes)?;
            // SAFETY: the operation on this layout keeps element 0 in place, so offset 0 belongs to
            // its result; a mutable view is consumed.
            Ok(unsafe { $this.moved(layout, 0) })
        }

        /// The axes in reverse order. O(rank).
        pub fn transpose($($by)? $this) -> Self {
            // SAFETY: the operation on this layout keeps element 0 in place, so offset 0 belongs to
            // its result; a mutable view is consumed.
            unsafe { $this.moved($this.layout.transpose(), 0) }
        }

        /// Swaps two axes. O(rank).
        ///
        /// # Errors
        ///
        /// `is_bounds` if the axis does not exist.
        pub fn swap_axes($($by)? $this, a: usize, b: usize) -> Result<Self> {
            let layout = $this.layout.swap_axes(a, b)?;
            // SAFETY: the operation on this layout keeps element 0 in place, so offset 0 belongs to
            // its result; a mutable view is consumed.
            Ok(unsafe { $this.moved(layout, 0) })
        }

        /// Axis `from` becomes axis `to` of the result; the others stay in their order. O(rank).
        ///
        /// # Errors
        ///
        /// `is_bounds` if the axis does not exist.
        pub fn move_axis($($by)? $this, from: usize, to: usize) -> Result<Self> {
            let layout = $this.layout.move_axis(from, to)?;
            // SAFETY: the operation on this layout keeps element 0 in place, so offset 0 belongs to
            // its result; a mutable view is consumed.
            Ok(unsafe { $this.moved(layout, 0) })
        }

        /// The same elements with one axis reversed. O(rank).
        ///
        /// # Errors
        ///
        /// `is_bounds` if the axis does not exist.
        pub fn reverse($($by)? $this, axis: usize) -> Result<Self> {
            let (layout, offset) = $this.layout.reverse(axis)?;
            // SAFETY: `layout` and `offset` are one result of an operation on this layout that
            // gives no element a second index; a mutable view is consumed.
            Ok(unsafe { $this.moved(layout, offset) })
        }

        /// The elements at one index of an axis chosen at run time; the axis is dropped. `OUT` must
        /// be `D - 1`, or the call does not compile. O(rank).
        ///
        /// ```
        /// use crossdock::Array;
        ///
        /// let array = Array::from_vec(vec![1, 2, 3, 4, 5, 6], [2, 3])?;
        /// let lines: Vec<Array<i32, 1>> = vec![array.drop_axis(0, 1)?, array.drop_axis(1, 1)?];
        /// assert_eq!((lines[0].len(), lines[1].len()), (3, 2));
        /// # Ok::<(), crossdock::Error>(())
        /// ```
        ///
        /// ```compile_fail,E0080
        /// let array = crossdock::Array::from_vec(vec![1, 2, 3, 4], [2, 2])?;
        /// let point = array.drop_axis::<0>(0, 1)?; // two axes at once
        /// # Ok::<(), crossdock::Error>(())
        /// ```
        ///
        /// # Errors
        ///
        /// `is_bounds` if the axis or the index does not exist.
        pub fn drop_axis<const OUT: usize>(
            $($by)? $this,
            axis: usize,
            index: usize,
        ) -> Result<$name<$($of),*, OUT>> {
            let (layout, offset) = $this.layout.drop_axis(axis, index)?;
            // SAFETY: `layout` and `offset` are one result of an operation on this layout that
            // gives no element a second index; a mutable view is consumed.
            Ok(unsafe { $this.moved(layout, offset) })
        }

        /// A new axis of length 1, which becomes axis `axis` of the result. `OUT` must be `D + 1`,
        /// or the call does not compile. O(rank).
        ///
        /// # Errors
        ///
        /// `is_bounds` if `axis` is more than `D`.
        pub fn insert_axis<const OUT: usize>($($by)? $this, axis: usize) -> Result<$name<$($of),*, OUT>> {
            let layout = $this.layout.insert_axis(axis)?;
            // SAFETY: the operation on this layout keeps element 0 in place, so offset 0 belongs to
            // its result; a mutable view is consumed.
            Ok(unsafe { $this.moved(layout, 0) })
        }

        /// Removes the axes of length 1, of which there must be exactly `D - OUT`.
        /// (`drop_axis(axis, 0)` removes a given one.) O(rank).
        ///
        /// # Errors
        ///
        /// `is_shape` if there are more or fewer.
        pub fn squeeze<const OUT: usize>($($by)? $this) -> Result<$name<$($of),*, OUT>> {
            let layout = $this.layout.squeeze()?;
            // SAFETY: the operation on this layout keeps element 0 in place, so offset 0 belongs to
            // its result; a mutable view is consumed.
            Ok(unsafe { $this.moved(layout, 0) })
        }

        /// The elements whose indices of two axes are equal, or differ by `offset` (that of the
        /// second axis is greater by it). The two axes are removed, and an axis along the diagonal
        /// is appended (as in NumPy). A diagonal outside the array has no elements. `OUT` must be
        /// `D - 1`, or the call does not compile. O(rank).
        ///
        /// ```
        /// use crossdock::Array;
        ///
        /// let array = Array::from_vec(vec![1, 2, 3, 4, 5, 6], [2, 3])?;
        /// assert_eq!(array.diagonal::<1>(0, 1, 0)?.read()?.to_vec(), [1, 5]);
        /// assert_eq!(array.diagonal::<1>(0, 1, 1)?.read()?.to_vec(), [2, 6]);
        /// assert_eq!(array.diagonal::<1>(0, 1, -1)?.read()?.to_vec(), [4]);
        /// # Ok::<(), crossdock::Error>(())
        /// ```
        ///
        /// ```compile_fail,E0080
        /// let cube = crossdock::Array::from_vec(vec![1; 8], [2, 2, 2])?;
        /// let corners = cube.diagonal::<1>(0, 1, 0)?; // of three axes, two are left
        /// # Ok::<(), crossdock::Error>(())
        /// ```
        ///
        /// # Errors
        ///
        /// `is_bounds` if the axis does not exist, `is_shape` if both are the same.
        pub fn diagonal<const OUT: usize>(
            $($by)? $this,
            first: usize,
            second: usize,
            offset: isize,
        ) -> Result<$name<$($of),*, OUT>> {
            let (layout, offset) = $this.layout.diagonal(first, second, offset)?;
            // SAFETY: `layout` and `offset` are one result of an operation on this layout that
            // gives no element a second index; a mutable view is consumed.
            Ok(unsafe { $this.moved(layout, offset) })
        }

        /// The array as blocks of a shape, without remainder: the first `D` axes select a block,
        /// the others are the axes of the block. `OUT` must be `2 * D`, or the call does not
        /// compile. O(rank).
        ///
        /// ```
        /// use crossdock::Array;
        ///
        /// let array = Array::from_vec((0..16).collect::<Vec<i32>>(), [4, 4])?;
        /// let quarters = array.blocks::<4>([2, 2])?;
        /// assert_eq!((quarters.shape(), quarters.get([1, 0, 0, 1])?), (&[2, 2, 2, 2], 9));
        /// assert!(array.blocks::<4>([3, 2]).unwrap_err().is_shape());
        /// # Ok::<(), crossdock::Error>(())
        /// ```
        ///
        /// # Errors
        ///
        /// `is_shape` for a block that is empty or does not divide its axis; `is_overflow` if an
        /// axis is empty and the block too long.
        pub fn blocks<const OUT: usize>($($by)? $this, block: [usize; D]) -> Result<$name<$($of),*, OUT>> {
            let layout = $this.layout.blocks(block, size_of::<T>())?;
            // SAFETY: the operation on this layout keeps element 0 in place, so offset 0 belongs to
            // its result; a mutable view is consumed.
            Ok(unsafe { $this.moved(layout, 0) })
        }

        /// The same elements, in row-major order, as a view of another shape. O(rank).
        ///
        /// # Errors
        ///
        /// `is_shape` if the number of elements differs, `is_layout` if no strides express the
        /// result without a copy.
        pub fn reshape<const OUT: usize>($($by)? $this, shape: [usize; OUT]) -> Result<$name<$($of),*, OUT>> {
            $this.reshape_order(shape, crate::layout::Order::RowMajor)
        }

        /// The same elements, read and laid out in this order of their indices, as a view of
        /// another shape. O(rank).
        ///
        /// # Errors
        ///
        /// `is_shape` if the number of elements differs, `is_layout` if no strides express the
        /// result without a copy.
        pub(crate) fn reshape_order<const OUT: usize>(
            $($by)? $this,
            shape: [usize; OUT],
            order: crate::layout::Order,
        ) -> Result<$name<$($of),*, OUT>> {
            let layout = $this.layout.reshape(shape, size_of::<T>(), order)?;
            // SAFETY: the operation on this layout keeps element 0 in place, so offset 0 belongs to
            // its result; a mutable view is consumed.
            Ok(unsafe { $this.moved(layout, 0) })
        }

        /// The same elements, in row-major order, as one axis, as a view. O(rank).
        ///
        /// # Errors
        ///
        /// `is_layout` if no stride expresses the result without a copy.
        pub fn flatten($($by)? $this) -> Result<$name<$($of),*, 1>> {
            let len = $this.len();
            $this.reshape([len])
        }
    };
}

/// `typed_repeats! { &self => Array<T> }`: the type without its rank.
macro_rules! typed_repeats {
    (&$this:ident => $name:ident<$($of:tt),*>) => {
        /// The array repeated along new leading axes and axes of length 1, by strides of 0.
        /// O(rank).
        ///
        /// # Errors
        ///
        /// `is_shape` if the shapes do not broadcast by NumPy's rule; `is_overflow` if the elements
        /// of the result would count as more than `isize::MAX` bytes.
        pub fn broadcast_to<const OUT: usize>(&$this, shape: [usize; OUT]) -> Result<$name<$($of),*, OUT>> {
            let layout = $this.layout.broadcast_to(shape, size_of::<T>())?;
            // SAFETY: `broadcast_to` on this layout keeps element 0 in place, so offset 0 belongs
            // to its result; only shared views and handles repeat elements.
            Ok(unsafe { $this.moved(layout, 0) })
        }

        /// All windows of a shape: the first `D` axes select where a window begins, the others are
        /// the axes of the window. Windows overlap, and each lies entirely inside the array. `OUT`
        /// must be `2 * D`, or the call does not compile. O(rank).
        ///
        /// ```
        /// use crossdock::Array;
        ///
        /// let samples = Array::from_vec(vec![1.0, 2.0, 6.0, 3.0, 0.0], [5])?;
        /// let triples = samples.windows::<2>([3])?;
        /// assert_eq!(triples.shape(), &[3, 3]);
        /// let means: Vec<f64> = triples.read()?.rows().map(|row| row.iter().sum::<f64>() / 3.0).collect();
        /// assert_eq!(means, [3.0, 11.0 / 3.0, 3.0]);
        /// # Ok::<(), crossdock::Error>(())
        /// ```
        ///
        /// ```compile_fail,E0080
        /// let array = crossdock::Array::from_vec(vec![1, 2, 3, 4], [2, 2])?;
        /// let windows = array.windows::<3>([2, 2])?; // two axes for the place, two for the window
        /// # Ok::<(), crossdock::Error>(())
        /// ```
        ///
        /// # Errors
        ///
        /// `is_shape` for a window that is empty or longer than its axis; `is_overflow` if the
        /// elements of all windows would count as more than `isize::MAX` bytes.
        pub fn windows<const OUT: usize>(&$this, window: [usize; D]) -> Result<$name<$($of),*, OUT>> {
            let layout = $this.layout.windows(window, size_of::<T>())?;
            // SAFETY: `windows` on this layout keeps element 0 in place, so offset 0 belongs to its
            // result; only shared views and handles repeat elements.
            Ok(unsafe { $this.moved(layout, 0) })
        }
    };
}

pub(crate) use {typed_repeats, typed_views};
