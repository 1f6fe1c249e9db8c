//! Whether two arrays have the same elements.

use crate::array::{Array, DArray};
use crate::element::Element;
use crate::error::{Error, Kind, Result};
use crate::kernel::{self, ComparedArray, EqualityRule, index_of};
use crate::layout::Layout;
use crate::memory::LeaseKind;

impl DArray {
    /// Whether another array has the same shape and equal elements, by NumPy's rules: NaN and NaT
    /// are unequal to everything, -0.0 equals 0.0, and byte orders, strides and the padding of
    /// records do not matter. Copies nothing; under Pin leases held for the call. Ends at the first
    /// difference, and compares elements once that both arrays repeat along an axis.
    ///
    /// ```
    /// use crossdock::{Array, DArray};
    ///
    /// let rows = DArray::from(Array::from_vec(vec![1, 2, 3, 4, 5, 6], [2, 3])?);
    /// let columns = DArray::from(Array::from_vec(vec![1, 4, 2, 5, 3, 6], [3, 2])?).transpose()?;
    /// assert!(rows.equals(&columns)?);
    /// columns.set(&[1, 2], &7.into())?;
    /// assert_eq!(rows.first_difference(&columns)?, Some(vec![1, 2]));
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_dtype` if the dtypes differ in more than byte orders and field offsets; `is_value` for
    /// invalid text, if byte orders differ; `is_conflict` while a Write lease is held; `is_place`.
    pub fn equals(&self, other: &Self) -> Result<bool> {
        Ok(self.shape() == other.shape() && self.difference(other, EqualityRule::Equal)?.is_none())
    }

    /// The index of the first element, in row-major order, that is not equal, or `None` if all are
    /// equal. See [`DArray::equals`].
    ///
    /// # Errors
    ///
    /// `is_shape` if the shapes differ; as [`DArray::equals`].
    pub fn first_difference(&self, other: &Self) -> Result<Option<Vec<usize>>> {
        self.check_shape(other)?;
        self.difference(other, EqualityRule::Equal)
    }

    /// Whether another array of numbers has the same shape and elements that are close, by the
    /// formula of NumPy's `isclose`: `|a - b| <= atol + rtol * |b|` with `b` of the other array,
    /// equal infinities, and NaN and NaN if `equal_nan`. It is computed in double precision, to
    /// which integers beyond 2⁵³ are rounded; long doubles are compared with any number exactly.
    /// The distance of complex numbers is the absolute value of their difference. The dtypes may
    /// differ. Copies nothing; under Pin leases held for the call.
    ///
    /// ```
    /// use crossdock::{Array, Casting, DArray, element::DType, layout::Order};
    ///
    /// let exact = DArray::from(Array::from_vec(vec![1.0f64, 1e-3, f64::NAN], [3])?);
    /// let rounded = exact.cast(&DType::BF16, Order::RowMajor, Casting::Checked)?;
    /// assert!(exact.all_close(&rounded, 1e-2, 0.0, true)?);
    /// assert_eq!(exact.first_not_close(&rounded, 1e-5, 0.0, true)?, Some(vec![1]));
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_shape` if the shapes differ; `is_value` for a tolerance that is negative or NaN;
    /// `is_dtype` if either array has elements other than numbers and truth values; `is_conflict`
    /// while a Write lease is held; `is_place`.
    pub fn all_close(&self, other: &Self, rtol: f64, atol: f64, equal_nan: bool) -> Result<bool> {
        Ok(self.first_not_close(other, rtol, atol, equal_nan)?.is_none())
    }

    /// The index of the first element, in row-major order, that is not close, or `None` if all are
    /// close. See [`DArray::all_close`].
    ///
    /// # Errors
    ///
    /// As [`DArray::all_close`].
    pub fn first_not_close(
        &self,
        other: &Self,
        rtol: f64,
        atol: f64,
        equal_nan: bool,
    ) -> Result<Option<Vec<usize>>> {
        self.check_shape(other)?;
        for (name, tolerance) in [("relative", rtol), ("absolute", atol)] {
            if tolerance.is_nan() || tolerance < 0.0 {
                let text = format!("the {name} tolerance is {tolerance}; it must be at least 0");
                return Err(Error::new(Kind::Value, text));
            }
        }
        self.difference(other, EqualityRule::Close { rtol, atol, equal_nan })
    }

    fn check_shape(&self, other: &Self) -> Result<()> {
        if self.shape() == other.shape() {
            return Ok(());
        }
        let text = format!(
            "shapes {:?} and {:?} differ, so their elements cannot be compared; broadcast one to the other",
            self.shape(),
            other.shape()
        );
        Err(Error::new(Kind::Shape, text))
    }

    /// The index of the first element that differs. The shapes must be equal.
    fn difference(&self, other: &Self, rule: EqualityRule) -> Result<Option<Vec<usize>>> {
        let (_ours, _theirs) = (self.lease(LeaseKind::Pin)?, other.lease(LeaseKind::Pin)?);
        let once = repeated_once(self.layout(), other.layout())?;
        let (left, right) =
            once.as_ref().map_or((self.layout(), other.layout()), |(left, right)| (left, right));
        // SAFETY: each side is the pointer and dtype of one array (DArray 1 and 2), with its layout
        // or some of its elements, from element 0 on. Both Pin leases are held until the end of
        // this function, so racy loads are permitted.
        let position = unsafe { kernel::first_difference(side(self, left), side(other, right), rule) }?;
        Ok(position.map(|position| index_of(left.shape(), position)))
    }
}

fn side<'a>(array: &'a DArray, layout: &'a Layout) -> ComparedArray<'a> {
    ComparedArray { src: array.as_ptr(), dtype: array.dtype(), layout }
}

/// Two layouts of one shape with one element along the axes on which both repeat theirs, if there
/// are any: the first elements that differ, if any do, have index 0 there.
fn repeated_once(left: &Layout, right: &Layout) -> Result<Option<(Layout, Layout)>> {
    let mut once = None;
    for (axis, &len) in left.shape().iter().enumerate() {
        if len > 1 && left.strides()[axis] == 0 && right.strides()[axis] == 0 {
            let (one, other) = once.as_ref().map_or((left, right), |(one, other)| (one, other));
            once = Some((one.slice_axis(axis, ..1)?.0, other.slice_axis(axis, ..1)?.0));
        }
    }
    Ok(once)
}

impl<T: Element, const D: usize> Array<T, D> {
    /// Whether another array has the same shape and equal elements. See [`DArray::equals`].
    ///
    /// ```
    /// use crossdock::Array;
    ///
    /// let (left, right) = (Array::from_vec(vec![0.0, 1.0], [2])?, Array::from_vec(vec![-0.0, 1.0], [2])?);
    /// assert!(left.equals(&right)?);
    /// right.set([1], f64::NAN)?;
    /// assert_eq!(left.first_difference(&right)?, Some([1]));
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`DArray::equals`].
    pub fn equals(&self, other: &Self) -> Result<bool> {
        DArray::from(self.clone()).equals(&other.clone().into())
    }

    /// The index of the first element, in row-major order, that is not equal; none where all are.
    /// See [`DArray::first_difference`].
    ///
    /// # Errors
    ///
    /// As [`DArray::first_difference`].
    pub fn first_difference(&self, other: &Self) -> Result<Option<[usize; D]>> {
        Ok(fixed(DArray::from(self.clone()).first_difference(&other.clone().into())?))
    }

    /// Whether another array has the same shape and elements that are close. See
    /// [`DArray::all_close`].
    ///
    /// # Errors
    ///
    /// As [`DArray::all_close`].
    pub fn all_close(&self, other: &Self, rtol: f64, atol: f64, equal_nan: bool) -> Result<bool> {
        Ok(self.first_not_close(other, rtol, atol, equal_nan)?.is_none())
    }

    /// The index of the first element, in row-major order, that is not close, or `None` if all are
    /// close. See [`DArray::all_close`].
    ///
    /// # Errors
    ///
    /// As [`DArray::all_close`].
    pub fn first_not_close(
        &self,
        other: &Self,
        rtol: f64,
        atol: f64,
        equal_nan: bool,
    ) -> Result<Option<[usize; D]>> {
        let (left, right) = (DArray::from(self.clone()), DArray::from(other.clone()));
        Ok(fixed(left.first_not_close(&right, rtol, atol, equal_nan)?))
    }
}

/// An index of an array of rank `D` has `D` parts.
fn fixed<const D: usize>(index: Option<Vec<usize>>) -> Option<[usize; D]> {
    index?.try_into().ok()
}
