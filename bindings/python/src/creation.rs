//! New arrays like another one, of ones, and of evenly spaced numbers.

use crossdock::array::ArrayOptions;
use crossdock::element::{DType, ScalarKind, Value};
use crossdock::layout::Order;
use crossdock::memory::Place;
use crossdock::{Array, Casting, DArray};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::convert::to_value;
use crate::detach::making;
use crate::dtype::read_dtype;
use crate::errors::Raise;
use crate::new_array::{NewArray, new_array, new_array_at, options_on_host};
use crate::object::{downcast, wrap};
use crate::shape::extents;
use crate::{device, numbers, parameters, protocols};

/// A new array of ones.
///
/// Parameters
/// ----------
/// shape : int or tuple of int
///     The lengths of the axes.
/// dtype : str or dtype, default 'float64'
///     The dtype of the elements.
/// order : {'C', 'F'}
///     Row-major or column-major.
/// device : str, default 'cpu'
///     The device of the array (:func:`devices`).
///
/// Returns
/// -------
/// Array
///
/// Examples
/// --------
/// >>> import crossdock
/// >>> crossdock.ones(2, 'int8').tolist()
/// [1, 1]
#[pyfunction]
#[pyo3(
    signature = (shape, dtype=None, *, order=Order::RowMajor, device=None),
    text_signature = "(shape, dtype=None, *, order='C', device=None)"
)]
pub(crate) fn ones<'py>(
    py: Python<'py>,
    shape: &Bound<'py, PyAny>,
    dtype: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = parameters::order)] order: Order,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let dtype = dtype.map_or(Ok(DType::F64), read_dtype)?;
    let one = one(&dtype);
    filled(py, dtype, &extents(shape)?, one, new_array(py, order, device)?)
}

/// A new array of evenly spaced numbers.
///
/// Parameters
/// ----------
/// start : int or float
///     The first number; if it is the only one, the end, and 0 is the first.
/// stop : int or float, optional
///     The end, which is not part of the array.
/// step : int or float, default 1
///     The distance between neighbours.
/// dtype : str or dtype, optional
///     The dtype of the elements: by default ``int64`` for integers, otherwise ``float64``.
/// device : str, default 'cpu'
///     The device of the array (:func:`devices`).
///
/// Returns
/// -------
/// Array
///
/// Raises
/// ------
/// ValueError
///     If ``step`` is 0, or a number does not fit the dtype.
///
/// Examples
/// --------
/// >>> import crossdock
/// >>> crossdock.arange(2, 8, 2).tolist()
/// [2, 4, 6]
#[pyfunction]
#[pyo3(signature = (start, /, stop=None, step=None, *, dtype=None, device=None))]
pub(crate) fn arange<'py>(
    py: Python<'py>,
    start: &Bound<'py, PyAny>,
    stop: Option<&Bound<'py, PyAny>>,
    step: Option<&Bound<'py, PyAny>>,
    dtype: Option<&Bound<'py, PyAny>>,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let zero = 0_i64.into_pyobject(py)?.into_any();
    let one = 1_i64.into_pyobject(py)?.into_any();
    let (start, stop) = match stop {
        Some(stop) => (start, stop),
        None => (&zero, start),
    };
    let numbers = [start, stop, step.unwrap_or(&one)].map(|number| to_value(number, None));
    let [start, stop, step] = numbers;
    let (start, stop, step) = (start?, stop?, step?);
    let place = device.map_or(Ok(Place::CPU), numbers::place_of)?;
    let options = options_on_host(py, place)?;
    let array = match [&start, &stop, &step].map(whole) {
        [Some(start), Some(stop), Some(step)] => integers(start, stop, step, options)?,
        _ => match [&start, &stop, &step].map(Value::as_f64) {
            [Some(start), Some(stop), Some(step)] => floats(start, stop, step, options)?,
            _ => return Err(PyTypeError::new_err("arange() takes integers and floats")),
        },
    };
    let array = match dtype.map(read_dtype).transpose()? {
        Some(dtype) if dtype != *array.dtype() => array.cast(&dtype, options, Casting::Checked).raise()?,
        _ => array,
    };
    let array =
        if place == Place::CPU { array } else { array.copy_to(&device::memory_for(py, place)?).raise()? };
    wrap(py, array)
}

fn whole(value: &Value) -> Option<i128> {
    match *value {
        Value::Int(number) => Some(number.into()),
        Value::UInt(number) => Some(number.into()),
        _ => None,
    }
}

/// `int64` if every number fits, otherwise `uint64`.
fn integers(start: i128, stop: i128, step: i128, options: ArrayOptions<'static>) -> PyResult<DArray> {
    if step == 0 {
        return Err(PyValueError::new_err("the step of arange() is 0"));
    }
    let len = (((stop - start) + (step - step.signum())) / step).max(0);
    let last = start + (len - 1).max(0) * step;
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    let (least, most) = (start.min(last), start.max(last));
    // The casts keep every number, as `least` and `most` show.
    if len == 0 || i64::try_from(least).is_ok() && i64::try_from(most).is_ok() {
        return numbers::<i64>(len, options, |index| (start + index as i128 * step) as i64);
    }
    if u64::try_from(least).is_ok() && u64::try_from(most).is_ok() {
        return numbers::<u64>(len, options, |index| (start + index as i128 * step) as u64);
    }
    Err(PyValueError::new_err(format!("no integer dtype holds both {least} and {most}")))
}

fn floats(start: f64, stop: f64, step: f64, options: ArrayOptions<'static>) -> PyResult<DArray> {
    let len = ((stop - start) / step).ceil();
    if step == 0.0 || !len.is_finite() {
        return Err(PyValueError::new_err(format!(
            "no numbers lead from {start} to {stop} in steps of {step}"
        )));
    }
    // The distance of the first two numbers, as NumPy counts.
    let step = (start + step) - start;
    numbers::<f64>(len.max(0.0) as usize, options, |index| start + index as f64 * step)
}

fn numbers<T: crossdock::element::Element>(
    len: usize,
    options: ArrayOptions<'static>,
    number: impl Fn(usize) -> T,
) -> PyResult<DArray> {
    let array = Array::<T, 1>::zeros(([len], options)).raise()?;
    let mut write = array.write().raise()?;
    for (index, element) in write.iter_mut().enumerate() {
        *element = number(index);
    }
    drop(write);
    Ok(array.into())
}

macro_rules! like {
    ($name:ident, $with:literal, $value:expr, $example:literal) => {
        #[doc = concat!("A new array ", $with, " with the shape, dtype and order of another one.")]
        ///
        /// Parameters
        /// ----------
        /// obj : object
        ///     An array, or an object that :func:`asarray` accepts.
        /// dtype : str or dtype, optional
        ///     Another dtype.
        /// device : str, optional
        ///     Another device (:func:`devices`).
        ///
        /// Returns
        /// -------
        /// Array
        ///
        /// Examples
        /// --------
        /// >>> import crossdock
        #[doc = $example]
        #[pyfunction]
        #[pyo3(signature = (obj, /, *, dtype=None, device=None))]
        pub(crate) fn $name<'py>(
            py: Python<'py>,
            obj: &Bound<'py, PyAny>,
            dtype: Option<&Bound<'py, PyAny>>,
            device: Option<&Bound<'py, PyAny>>,
        ) -> PyResult<Bound<'py, PyAny>> {
            let model = Model::of(obj, dtype, device)?;
            let value: Option<Value> = ($value)(&model.dtype);
            model.make(py, value)
        }
    };
}

like!(zeros_like, "of zeros", |_: &DType| None, ">>> crossdock.zeros_like(bytearray(2)).tolist()\n[0, 0]");
like!(
    empty_like,
    "for writing, of zeros,",
    |_: &DType| None,
    ">>> crossdock.empty_like(crossdock.ones((2, 3))).shape\n(2, 3)"
);
like!(
    ones_like,
    "of ones",
    |dtype: &DType| Some(one(dtype)),
    ">>> crossdock.ones_like(bytearray(2)).tolist()\n[1, 1]"
);

/// A new array filled with one value, with the shape, dtype and order of another one.
///
/// Parameters
/// ----------
/// obj : object
///     An array, or an object that :func:`asarray` accepts.
/// fill_value : object
///     The value of every element.
/// dtype : str or dtype, optional
///     Another dtype.
/// device : str, optional
///     Another device (:func:`devices`).
///
/// Returns
/// -------
/// Array
///
/// Examples
/// --------
/// >>> import crossdock
/// >>> crossdock.full_like(bytearray(2), 7).tolist()
/// [7, 7]
#[pyfunction]
#[pyo3(signature = (obj, /, fill_value, *, dtype=None, device=None))]
pub(crate) fn full_like<'py>(
    py: Python<'py>,
    obj: &Bound<'py, PyAny>,
    fill_value: &Bound<'py, PyAny>,
    dtype: Option<&Bound<'py, PyAny>>,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let model = Model::of(obj, dtype, device)?;
    let value = to_value(fill_value, Some(&model.dtype))?;
    model.make(py, Some(value))
}

/// What a new array takes from another one.
struct Model {
    shape: Vec<usize>,
    dtype: DType,
    new: NewArray,
}

impl Model {
    fn of(
        obj: &Bound<'_, PyAny>,
        dtype: Option<&Bound<'_, PyAny>>,
        device: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let array = match downcast(obj) {
            Some(own) => own.array.clone(),
            None => protocols::lend_unmasked(obj)?,
        };
        let place = device.map_or(Ok(array.place()), numbers::place_of)?;
        Ok(Self {
            shape: array.shape().to_vec(),
            dtype: dtype.map_or_else(|| Ok(array.dtype().clone()), read_dtype)?,
            new: new_array_at(obj.py(), array.order().unwrap_or(Order::RowMajor), place)?,
        })
    }

    fn make(self, py: Python<'_>, value: Option<Value>) -> PyResult<Bound<'_, PyAny>> {
        match value {
            Some(value) => filled(py, self.dtype, &self.shape, value, self.new),
            None => wrap(py, self.new.zeros(self.dtype, &self.shape).raise()?),
        }
    }
}

fn one(dtype: &DType) -> Value {
    match dtype.as_scalar().map(|scalar| scalar.kind()) {
        Some(ScalarKind::Bool) => Value::Bool(true),
        _ => Value::Int(1),
    }
}

fn filled<'py>(
    py: Python<'py>,
    dtype: DType,
    shape: &[usize],
    value: Value,
    new: NewArray,
) -> PyResult<Bound<'py, PyAny>> {
    let nbytes = shape.iter().copied().fold(dtype.itemsize(), usize::saturating_mul);
    wrap(py, making(py, nbytes, || new.full(dtype, shape, value)).raise()?)
}
