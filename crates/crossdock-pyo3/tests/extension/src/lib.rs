//! Functions that the tests call with arrays of many libraries.

mod buffers;

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crossdock::element::{Bool8, DType, Element};
use crossdock::layout::Order;
use crossdock::{Array, DArray, dispatch};
use crossdock_pyo3::{AnyArray, Constant, Readonly, Writable, to_py_err};
use pyo3::exceptions::{PyTimeoutError, PyValueError};
use pyo3::prelude::*;

/// A record with padding.
#[derive(Clone, Copy, Element)]
#[repr(C)]
struct Sample {
    time: f64,
    value: f64,
}

type Raised<T> = PyResult<T>;

#[pyfunction]
fn sum(x: Readonly<'_, f64, 1>) -> f64 {
    x.values().sum()
}

#[pyfunction]
fn sum_i32(x: Readonly<'_, i32, 2>) -> i64 {
    x.values().map(i64::from).sum()
}

#[pyfunction]
fn sum_u8(x: Readonly<'_, u8, 1>) -> u64 {
    x.values().map(u64::from).sum()
}

#[pyfunction]
fn sum_i64(x: Readonly<'_, i64, 1>) -> i64 {
    x.values().sum()
}

#[pyfunction]
fn rows(x: Readonly<'_, f64, 2>) -> Vec<f64> {
    x.to_vec()
}

#[pyfunction]
fn scalar(x: Readonly<'_, f64, 0>) -> Raised<f64> {
    x.get([]).map_err(to_py_err)
}

#[pyfunction]
fn times(x: Readonly<'_, Sample, 1>) -> Vec<(f64, f64)> {
    x.values().map(|sample| (sample.time, sample.value)).collect()
}

/// `shape`, `strides` and the address of an argument.
#[pyfunction]
fn describe(x: Readonly<'_, f64, 2>) -> ((usize, usize), (isize, isize), usize) {
    let (shape, strides) = (x.shape(), x.strides());
    ((shape[0], shape[1]), (strides[0], strides[1]), x.as_ptr().addr())
}

#[pyfunction]
fn fill(x: Writable<'_, f64, 1>, value: f64) -> Raised<()> {
    for index in 0..x.len() {
        x.set([index], value).map_err(to_py_err)?;
    }
    Ok(())
}

#[pyfunction]
fn set(x: Writable<'_, f64, 2>, row: usize, column: usize, value: f64) -> Raised<()> {
    x.set([row, column], value).map_err(to_py_err)
}

/// Adds `x` to `y` without the GIL.
#[pyfunction]
fn add(py: Python<'_>, x: Readonly<'_, f64, 1>, y: Writable<'_, f64, 1>) -> Raised<()> {
    let (x, y) = (x.access(), y.access());
    py.detach(|| {
        for index in 0..y.len() {
            y.set([index], y.get([index])? + x.get([index])?)?;
        }
        Ok(())
    })
    .map_err(to_py_err)
}

#[pyfunction]
fn dot(x: Readonly<'_, f64, 1>, y: Readonly<'_, f64, 1>) -> f64 {
    x.values().zip(y.values()).map(|(x, y)| x * y).sum()
}

#[pyfunction]
fn swap(x: Writable<'_, f64, 1>, y: Writable<'_, f64, 1>) -> Raised<()> {
    for index in 0..x.len().min(y.len()) {
        let (left, right) = (x.get([index]).map_err(to_py_err)?, y.get([index]).map_err(to_py_err)?);
        x.set([index], right).map_err(to_py_err)?;
        y.set([index], left).map_err(to_py_err)?;
    }
    Ok(())
}

/// The greatest element, by reference.
#[pyfunction]
fn greatest(x: Constant<'_, i64, 1>) -> Option<i64> {
    x.iter().max().copied()
}

#[pyfunction]
fn constant_bytes(x: Constant<'_, u8, 1>) -> Option<usize> {
    x.as_slice().map(<[u8]>::len)
}

#[pyfunction]
fn double(mut x: Writable<'_, f64, 1>) -> Raised<()> {
    // SAFETY: the tests call it from their only thread, with an array that nothing else accesses,
    // and no Python code runs here.
    let mut all = unsafe { x.assume_exclusive() }?;
    all.view_mut().iter_mut().for_each(|element| *element *= 2.0);
    Ok(())
}

#[pyfunction]
fn slice_sum(x: Readonly<'_, f64, 1>) -> Raised<Option<f64>> {
    // SAFETY: the tests call it from their only thread, and no Python code runs here.
    let all = unsafe { x.assume_constant() }?;
    Ok(all.as_slice().map(|slice| slice.iter().sum()))
}

/// The number of arrays in a list, each held until the end.
#[pyfunction]
fn count(all: Vec<Readonly<'_, f64, 1>>) -> usize {
    all.iter().map(|array| array.len()).sum()
}

#[pyfunction]
#[pyo3(signature = (x=None))]
fn optional(x: Option<Readonly<'_, f64, 1>>) -> Option<usize> {
    x.map(|x| x.len())
}

// ===== several dtypes

/// Writes `x + y` to `out`.
#[pyfunction]
fn add_into(x: Readonly<'_, f64, 1>, y: Readonly<'_, f64, 1>, out: Writable<'_, f64, 1>) -> Raised<()> {
    if x.len() != y.len() || x.len() != out.len() {
        let text = format!("the lengths {}, {} and {} differ", x.len(), y.len(), out.len());
        return Err(PyValueError::new_err(text));
    }
    for (index, (x, y)) in x.values().zip(y.values()).enumerate() {
        out.set([index], x + y).map_err(to_py_err)?;
    }
    Ok(())
}

/// An argument of one of two dtypes.
#[derive(FromPyObject)]
enum Numbers<'py> {
    Floats(Readonly<'py, f64, 1>),
    Integers(Readonly<'py, i64, 1>),
}

#[pyfunction]
fn mean(x: Numbers<'_>) -> f64 {
    match x {
        Numbers::Floats(x) => x.values().sum::<f64>() / x.len() as f64,
        Numbers::Integers(x) => x.values().sum::<i64>() as f64 / x.len() as f64,
    }
}

/// The sum of an array of several dtypes and ranks.
#[pyfunction]
fn total(x: AnyArray) -> PyResult<f64> {
    let total = || -> crossdock::Result<f64> {
        Ok(dispatch!(x.0, Array<f32 | i32, 1 | 2>, |x| x.pin()?.values().map(f64::from).sum::<f64>())?)
    };
    total().map_err(to_py_err)
}

#[pyfunction]
fn count_true(x: Readonly<'_, Bool8, 1>) -> usize {
    x.values().filter(|value| value.get()).count()
}

// ===== arrays without a claim

fn typed(x: AnyArray) -> Raised<Array<f64, 1>> {
    x.0.try_into().map_err(|rejected: crossdock::Rejected<DArray>| to_py_err(rejected.error))
}

/// Takes a Read lease on an array that has no claim.
#[pyfunction]
fn read_any(x: AnyArray) -> Raised<f64> {
    Ok(typed(x)?.read().map_err(to_py_err)?.iter().sum())
}

/// Takes a Write lease on an array that has no claim.
#[pyfunction]
fn write_any(x: AnyArray) -> Raised<()> {
    typed(x)?.write().map(drop).map_err(to_py_err)
}

/// Writes an array that has no claim, by value.
#[pyfunction]
fn share_any(x: AnyArray, value: f64) -> Raised<()> {
    typed(x)?.share().map_err(to_py_err)?.set([0], value).map_err(to_py_err)
}

/// The handle of an argument that is read.
#[pyfunction]
fn handle(x: Readonly<'_, f64, 1>) -> AnyArray {
    x.to_array()
}

/// The handle of an argument that is constant.
#[pyfunction]
fn constant_handle(x: Constant<'_, f64, 1>) -> AnyArray {
    x.to_array()
}

/// The first element by one reference, before and after a call of a Python function.
#[pyfunction]
fn constant_twice(x: Constant<'_, f64, 1>, function: &Bound<'_, PyAny>) -> Raised<(f64, f64)> {
    let first: &f64 = &x[[0]];
    let before = *first;
    function.call0()?;
    Ok((before, std::hint::black_box(*first)))
}

// ===== while a function runs

#[derive(Default)]
struct Stage {
    is_held: bool,
    may_end: bool,
}

static STAGE: Mutex<Stage> = Mutex::new(Stage { is_held: false, may_end: false });
static CHANGED: Condvar = Condvar::new();

fn wait(py: Python<'_>, until: impl Fn(&Stage) -> bool + Send) -> PyResult<()> {
    let is_over = py.detach(move || {
        let stage = STAGE.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = CHANGED.wait_timeout_while(stage, Duration::from_secs(20), |stage| !until(stage));
        waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    });
    if is_over { Err(PyTimeoutError::new_err("the other thread did not come")) } else { Ok(()) }
}

fn change(change: impl FnOnce(&mut Stage)) {
    change(&mut STAGE.lock().unwrap_or_else(PoisonError::into_inner));
    CHANGED.notify_all();
}

/// Holds the argument, without the GIL, until [`end`] is called; returns the sum of the elements
/// then.
#[pyfunction]
fn hold_writable(py: Python<'_>, x: Writable<'_, f64, 1>) -> Raised<f64> {
    change(|stage| *stage = Stage { is_held: true, may_end: false });
    wait(py, |stage| stage.may_end)?;
    Ok(x.values().sum())
}

/// As [`hold_writable`], for reading.
#[pyfunction]
fn hold_readonly(py: Python<'_>, x: Readonly<'_, f64, 1>) -> Raised<f64> {
    change(|stage| *stage = Stage { is_held: true, may_end: false });
    wait(py, |stage| stage.may_end)?;
    Ok(x.values().sum())
}

/// Waits until another thread holds its argument.
#[pyfunction]
fn wait_until_held(py: Python<'_>) -> Raised<()> {
    wait(py, |stage| stage.is_held)
}

/// Lets the other thread go on.
#[pyfunction]
fn end() {
    change(|stage| *stage = Stage { is_held: false, may_end: true });
}

/// Calls a Python function while the argument is held.
#[pyfunction]
fn call_while_reading(x: Readonly<'_, f64, 1>, function: &Bound<'_, PyAny>) -> Raised<f64> {
    function.call0()?;
    Ok(x.values().sum())
}

/// Calls a Python function while the argument is held for writing.
#[pyfunction]
fn call_while_writing(x: Writable<'_, f64, 1>, function: &Bound<'_, PyAny>) -> Raised<f64> {
    function.call0()?;
    Ok(x.values().sum())
}

// ===== what outlives the call

/// An object that keeps an array.
#[pyclass(frozen)]
struct Keeper(AnyArray);

#[pymethods]
impl Keeper {
    #[new]
    fn new(x: Readonly<'_, f64, 1>) -> Self {
        Self(x.to_array())
    }

    fn sum(&self) -> Raised<f64> {
        let array: Array<f64, 1> = self
            .0
            .0
            .clone()
            .try_into()
            .map_err(|rejected: crossdock::Rejected<DArray>| to_py_err(rejected.error))?;
        Ok(array.pin().map_err(to_py_err)?.values().sum())
    }
}

/// The handle that a function got, dropped by a thread without the GIL.
#[pyfunction]
fn drop_elsewhere(py: Python<'_>, x: AnyArray) -> Raised<()> {
    py.detach(|| {
        let _ended = std::thread::spawn(move || drop(x)).join();
    });
    Ok(())
}

// ===== results

#[pyfunction]
fn squares(count: u32) -> Raised<AnyArray> {
    let squares: Vec<u32> = (0..count).map(|number| number * number).collect();
    let shape = [squares.len()];
    Array::from_vec(squares, shape).map(AnyArray::from).map_err(to_py_err)
}

#[pyfunction]
fn table(rows: usize, columns: usize) -> Raised<AnyArray> {
    let shape = ([rows, columns], Order::ColumnMajor);
    let table = Array::<f64, 2>::from_fn(shape, |[row, column]| (10 * row + column) as f64);
    table.map(AnyArray::from).map_err(to_py_err)
}

#[pyfunction]
fn bfloat16(count: usize) -> Raised<AnyArray> {
    DArray::zeros(DType::BF16, &[count], Order::RowMajor).map(AnyArray).map_err(to_py_err)
}

/// Text that is a part of the program.
#[pyfunction]
fn text() -> Raised<AnyArray> {
    Array::from_static(b"crossdock", [9]).map(AnyArray::from).map_err(to_py_err)
}

/// The argument itself, as a result.
#[pyfunction]
fn same(x: AnyArray) -> AnyArray {
    x
}

/// Every second element, on the same memory.
#[pyfunction]
fn halved(x: AnyArray) -> Raised<AnyArray> {
    x.at("::2").map(AnyArray).map_err(to_py_err)
}

/// Dtype, shape and device of anything.
#[pyfunction]
fn about(x: AnyArray) -> (String, Vec<usize>, String, bool) {
    (x.dtype().to_string(), x.shape().to_vec(), x.place().to_string(), x.is_readonly())
}

/// The bytes that were copied so far.
#[pyfunction]
fn copied_bytes() -> u64 {
    crossdock::memory::copied_bytes()
}

/// Crossdock's arguments, called from Python.
#[pymodule]
mod arguments {
    #[pymodule_export]
    use super::buffers::pybuffer;
    #[pymodule_export]
    use super::{
        Keeper, about, add, add_into, bfloat16, call_while_reading, call_while_writing, constant_bytes,
        constant_handle, constant_twice, copied_bytes, count, count_true, describe, dot, double,
        drop_elsewhere, end, fill, greatest, halved, handle, hold_readonly, hold_writable, mean, optional,
        read_any, rows, same, scalar, set, share_any, slice_sum, squares, sum, sum_i32, sum_i64, sum_u8,
        swap, table, text, times, total, wait_until_held, write_any,
    };
}
