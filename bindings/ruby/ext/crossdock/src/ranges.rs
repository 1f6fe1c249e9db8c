//! `Array.arange` and `Array.linspace`.

use crossdock::element::Element;
use crossdock::layout::Order;
use crossdock::{Array, Casting, DArray};
use magnus::{Integer, RClass, Ruby, Value, method, prelude::*};

use crate::error::{Failure, Result};
use crate::exact::nearest;
use crate::handle::Wrapped;
use crate::lengths::size;
use crate::make::optional_dtype;
use crate::pressure::again;
use crate::value::describe;

/// The numbers from `start` up to, but without, `stop`.
fn arange(
    ruby: &Ruby,
    class: RClass,
    start: Value,
    stop: Value,
    step: Value,
    dtype: Value,
) -> Result<Wrapped> {
    let array = match [start, stop, step].map(Integer::from_value) {
        [Some(start), Some(stop), Some(step)] => {
            integers(ruby, [start.to_i64()?, stop.to_i64()?, step.to_i64()?])?
        }
        _ => floats(ruby, number(ruby, start)?, number(ruby, stop)?, number(ruby, step)?)?,
    };
    finished(ruby, class, array, dtype)
}

fn integers(ruby: &Ruby, [start, stop, step]: [i64; 3]) -> Result<DArray> {
    if step == 0 {
        return Err(Failure::argument(ruby, "the step is 0"));
    }
    let (start, step) = (i128::from(start), i128::from(step));
    let len = ((i128::from(stop) - start + step - step.signum()) / step).max(0);
    // Every number lies between `start` and `stop`, so the cast keeps it.
    numbers(ruby, usize::try_from(len).unwrap_or(usize::MAX), |index| (start + index as i128 * step) as i64)
}

fn floats(ruby: &Ruby, start: f64, stop: f64, step: f64) -> Result<DArray> {
    let len = ((stop - start) / step).ceil();
    if step == 0.0 || !len.is_finite() {
        let text = format!("no numbers lead from {start} to {stop} in steps of {step}");
        return Err(Failure::argument(ruby, text));
    }
    // The distance of the first two numbers, as NumPy counts.
    let step = (start + step) - start;
    numbers(ruby, len.max(0.0) as usize, |index| start + index as f64 * step)
}

/// `count` numbers in equal distances from `start` to `stop`, which is the last one if `endpoint`.
fn linspace(
    ruby: &Ruby,
    class: RClass,
    start: Value,
    stop: Value,
    count: Value,
    endpoint: bool,
    dtype: Value,
) -> Result<Wrapped> {
    let (start, stop) = (number(ruby, start)?, number(ruby, stop)?);
    let count = size(ruby, "count", count)?;
    let steps = if endpoint { count.saturating_sub(1) } else { count };
    let step = if steps == 0 { 0.0 } else { (stop - start) / steps as f64 };
    let array = numbers(ruby, count, |index| match index {
        last if endpoint && last == steps && last > 0 => stop,
        index => start + index as f64 * step,
    })?;
    finished(ruby, class, array, dtype)
}

fn number(ruby: &Ruby, value: Value) -> Result<f64> {
    if value.is_kind_of(ruby.class_numeric()) && value.funcall::<_, _, bool>("real?", ())? {
        return nearest(ruby, value);
    }
    Err(Failure::of_type(ruby, format!("{} is no number of a range", describe(value))))
}

fn numbers<T: Element>(ruby: &Ruby, len: usize, number: impl Fn(usize) -> T) -> Result<DArray> {
    let array = again(ruby, || Ok(Array::<T, 1>::zeros([len])?))?;
    let mut write = array.write()?;
    for (index, element) in write.iter_mut().enumerate() {
        *element = number(index);
    }
    drop(write);
    Ok(array.into())
}

fn finished(ruby: &Ruby, class: RClass, array: DArray, dtype: Value) -> Result<Wrapped> {
    let array = match optional_dtype(ruby, dtype)? {
        Some(dtype) if dtype != *array.dtype() => {
            again(ruby, || Ok(array.cast(&dtype, Order::RowMajor, Casting::Checked)?))?
        }
        _ => array,
    };
    Wrapped::new_as(ruby, class, array)
}

pub(crate) fn init(class: RClass) -> std::result::Result<(), magnus::Error> {
    class.define_singleton_method("make_arange", method!(arange, 4))?;
    class.define_singleton_method("make_linspace", method!(linspace, 5))
}
