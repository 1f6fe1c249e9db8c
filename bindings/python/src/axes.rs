//! Methods that view the axes or the bytes of an array in another way.

use crossdock::DArray;
use crossdock::array::CopyPolicy;
use crossdock::layout::Order;
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::arguments::Arguments;
use crate::detach::detached;
use crate::dtype::read_dtype;
use crate::errors::{self, Raise};
use crate::object::{Own, downcast, wrap};
use crate::parameters::{copy, integer, integers, order, policy, shown};
use crate::shape::{extents, inferred, spread};

/// An axis by its number, from the end if it is negative.
fn axis(axis: isize, rank: usize) -> PyResult<usize> {
    let from_start = if axis < 0 { axis.saturating_add(rank.cast_signed()) } else { axis };
    usize::try_from(from_start).ok().filter(|&axis| axis < rank).ok_or_else(|| {
        PyIndexError::new_err(format!("axis {axis} is out of bounds for an array of {rank} axes"))
    })
}

/// Axes by their numbers, from one integer or a sequence. Each may be named once.
fn axes(given: &Bound<'_, PyAny>, rank: usize) -> PyResult<Vec<usize>> {
    let numbers = integers(given)?.ok_or_else(|| {
        PyTypeError::new_err(format!("an axis is an integer or a sequence of integers, not {}", shown(given)))
    })?;
    let found = numbers.into_iter().map(|number| axis(number, rank)).collect::<PyResult<Vec<_>>>()?;
    match found.iter().enumerate().find(|(index, axis)| found[..*index].contains(axis)) {
        Some((_, axis)) => Err(PyValueError::new_err(format!("axis {axis} is named twice"))),
        None => Ok(found),
    }
}

pub(crate) fn reshape<'py>(
    py: Python<'py>,
    this: &Own,
    mut arguments: Arguments<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut given = arguments.positional();
    if given.is_empty() {
        given.extend(arguments.named("shape"));
    }
    let policy = copy_policy(&mut arguments)?;
    let order = arguments.named("order").map(|letter| order(&letter)).transpose()?;
    if order == Some(Order::ColumnMajor) {
        return Err(PyValueError::new_err(
            "order 'F' is not supported: x.T.reshape(...).T reads the elements in column-major order",
        ));
    }
    arguments.finish()?;
    reshaped(py, this, &inferred(&spread(&given)?, this.array.len())?, policy)
}

pub(crate) fn ravel<'py>(
    py: Python<'py>,
    this: &Own,
    mut arguments: Arguments<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let policy = copy_policy(&mut arguments)?;
    arguments.finish()?;
    reshaped(py, this, &[this.array.len()], policy)
}

/// The policy of an argument `copy`, which is False by default.
fn copy_policy(arguments: &mut Arguments<'_>) -> PyResult<CopyPolicy> {
    let default = if arguments.has("copy") { None } else { Some(false) };
    Ok(policy(arguments.named("copy").map_or(Ok(default), |value| copy(&value))?))
}

fn reshaped<'py>(
    py: Python<'py>,
    this: &Own,
    shape: &[usize],
    policy: CopyPolicy,
) -> PyResult<Bound<'py, PyAny>> {
    let array = &this.array;
    let in_place = array.reshape_with(shape, Order::RowMajor, CopyPolicy::Never);
    let (made, why) = match (in_place, policy) {
        (Ok(view), CopyPolicy::Never | CopyPolicy::IfNeeded) => (view, None),
        (Err(error), CopyPolicy::Never) => return Err(error).raise(),
        (in_place, _) => {
            let copy = |array: &DArray| array.reshape_with(shape, Order::RowMajor, policy);
            (detached(py, array, copy).raise()?, in_place.err().map(|error| errors::text(&error)))
        }
    };
    let made = wrap(py, made)?;
    if let (Some(why), CopyPolicy::IfNeeded, Some(own)) = (why, policy, downcast(&made)) {
        let _first = own.copied_because.set(why.into_boxed_str());
    }
    Ok(made)
}

pub(crate) fn squeeze<'py>(
    py: Python<'py>,
    this: &Own,
    mut arguments: Arguments<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let given = arguments.take("axis").filter(|axis| !axis.is_none());
    arguments.finish()?;
    let Some(given) = given else { return wrap(py, this.array.squeeze().raise()?) };
    let mut named = axes(&given, this.array.rank())?;
    named.sort_unstable();
    let mut array = this.array.clone();
    for &axis in named.iter().rev() {
        let len = array.shape()[axis];
        if len != 1 {
            return Err(PyValueError::new_err(format!(
                "axis {axis} has length {len}, and only length 1 can be dropped"
            )));
        }
        array = array.drop_axis(axis, 0).raise()?;
    }
    wrap(py, array)
}

pub(crate) fn expand_dims<'py>(
    py: Python<'py>,
    this: &Own,
    mut arguments: Arguments<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let given = arguments.need("axis")?;
    arguments.finish()?;
    let count = integers(&given)?.map_or(0, |axes| axes.len());
    let mut named = axes(&given, this.array.rank() + count)?;
    named.sort_unstable();
    let mut array = this.array.clone();
    for axis in named {
        array = array.insert_axis(axis).raise()?;
    }
    wrap(py, array)
}

pub(crate) fn swapaxes<'py>(
    py: Python<'py>,
    this: &Own,
    mut arguments: Arguments<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let first = arguments.need("axis1")?;
    let second = arguments.need("axis2")?;
    arguments.finish()?;
    let rank = this.array.rank();
    let (first, second) = (axis(integer(&first)?, rank)?, axis(integer(&second)?, rank)?);
    wrap(py, this.array.swap_axes(first, second).raise()?)
}

pub(crate) fn moveaxis<'py>(
    py: Python<'py>,
    this: &Own,
    mut arguments: Arguments<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let source = arguments.need("source")?;
    let destination = arguments.need("destination")?;
    arguments.finish()?;
    let rank = this.array.rank();
    let (source, destination) = (axes(&source, rank)?, axes(&destination, rank)?);
    if source.len() != destination.len() {
        let text = format!("{} axes are moved to {} places", source.len(), destination.len());
        return Err(PyValueError::new_err(text));
    }
    let mut order: Vec<usize> = (0..rank).filter(|axis| !source.contains(axis)).collect();
    let mut moves: Vec<_> = destination.into_iter().zip(source).collect();
    moves.sort_unstable();
    for (to, from) in moves {
        order.insert(to, from);
    }
    wrap(py, this.array.permute(&order).raise()?)
}

pub(crate) fn flip<'py>(
    py: Python<'py>,
    this: &Own,
    mut arguments: Arguments<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let given = arguments.take("axis").filter(|axis| !axis.is_none());
    arguments.finish()?;
    let rank = this.array.rank();
    let named = given.map_or_else(|| Ok((0..rank).collect()), |given| axes(&given, rank))?;
    let mut array = this.array.clone();
    for axis in named {
        array = array.reverse(axis).raise()?;
    }
    wrap(py, array)
}

pub(crate) fn broadcast_to<'py>(
    py: Python<'py>,
    this: &Own,
    mut arguments: Arguments<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let shape = arguments.need("shape")?;
    arguments.finish()?;
    // One element stands for several: a write would change all of them.
    wrap(py, this.array.broadcast_to(&extents(&shape)?).raise()?.into_readonly())
}

pub(crate) fn view<'py>(
    py: Python<'py>,
    this: &Own,
    mut arguments: Arguments<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let dtype = arguments.take("dtype").filter(|dtype| !dtype.is_none());
    arguments.finish()?;
    wrap(
        py,
        match dtype {
            Some(dtype) => this.array.view_as(&read_dtype(&dtype)?).raise()?,
            None => this.array.clone(),
        },
    )
}

/// `mT`: the last two axes exchanged.
pub(crate) fn matrix_transpose<'py>(py: Python<'py>, this: &Own) -> PyResult<Bound<'py, PyAny>> {
    let rank = this.array.rank();
    if rank < 2 {
        return Err(PyValueError::new_err(format!("mT needs 2 axes or more, and this array has {rank}")));
    }
    wrap(py, this.array.swap_axes(rank - 2, rank - 1).raise()?)
}
