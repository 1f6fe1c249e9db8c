//! The arguments of `array[…]`, as slices of the library.
//!
//! | in Ruby | selects |
//! |---|---|
//! | an Integer | one index, counted from the end if negative; drops the axis |
//! | a Range: `1..3`, `1...`, `..-2` | as of a Ruby Array: a bound behind the end is clamped |
//! | `(0..) % 2`, `(-1..0) % -1` | every second; backwards, from the first bound to the last |
//! | `true` | the whole axis |
//! | `false` | all remaining axes, once |
//! | `:new` | a new axis of length 1 |

use crossdock::layout::AxisSlice;
use magnus::rb_sys::{AsRawValue, FromRawValue, protect};
use magnus::value::{Qfalse, Qtrue};
use magnus::{Integer, Ruby, Symbol, Value, prelude::*};

use crate::error::{Failure, Result};
use crate::value::describe;

/// The slices of the named axes.
pub(crate) fn slices(ruby: &Ruby, shape: &[usize], args: &[Value]) -> Result<Vec<AxisSlice>> {
    let takes_axis = |&&value: &&Value| !is_new(value) && Qfalse::from_value(value).is_none();
    let named = args.iter().filter(takes_axis).count();
    if named > shape.len() {
        let text = format!("{named} indices for an array of {} axes, of shape {shape:?}", shape.len());
        return Err(Failure::index(ruby, text));
    }
    let (mut slices, mut axis) = (Vec::with_capacity(args.len()), 0);
    for &value in args {
        if is_new(value) {
            slices.push(AxisSlice::NewAxis);
        } else if Qfalse::from_value(value).is_some() {
            slices.push(AxisSlice::Ellipsis);
            axis = axis + shape.len() - named;
        } else {
            // A second ellipsis is refused when the slices are used.
            let len = shape.get(axis).copied().unwrap_or(0);
            slices.push(one(ruby, value, axis, len)?);
            axis += 1;
        }
    }
    Ok(slices)
}

fn is_new(value: Value) -> bool {
    Symbol::from_value(value).is_some_and(|symbol| symbol.name().is_ok_and(|name| name == "new"))
}

fn one(ruby: &Ruby, value: Value, axis: usize, len: usize) -> Result<AxisSlice> {
    if Qtrue::from_value(value).is_some() {
        return Ok(AxisSlice::ALL);
    }
    if let Some(index) = Integer::from_value(value) {
        return match index.to_isize() {
            Ok(index) if index >= -(len as isize) && index < len as isize => Ok(AxisSlice::Index(index)),
            _ => Err(Failure::index(
                ruby,
                format!("index {index} is out of bounds for axis {axis} of length {len}"),
            )),
        };
    }
    let Some(range) = range(ruby, value)? else {
        let text = format!(
            "{} is no index: give an Integer, a Range, (0..) % 2, true for a whole axis, false for all that are left, or :new",
            describe(value)
        );
        return Err(Failure::of_type(ruby, text));
    };
    match range.resolve(len) {
        Ok((start, count, step)) => Ok(taken(start, count, step)),
        Err(bound) => {
            let text = format!(
                "the range {value} begins at {bound}, which axis {axis} of length {len} does not have"
            );
            Err(Failure::index(ruby, text))
        }
    }
}

/// The indices `start`, `start + step`, …, `count` of them, as a NumPy slice.
fn taken(start: isize, count: usize, step: isize) -> AxisSlice {
    let stop = start + count as isize * step;
    // A stop before the first index cannot be written: a negative number would count from the end.
    let stop = (stop >= 0).then_some(stop);
    if count == 0 {
        return AxisSlice::Range { start: Some(0), stop: Some(0), step: 1 };
    }
    AxisSlice::Range { start: Some(start), stop, step }
}

/// A Range or an arithmetic sequence; a missing bound is `None`.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    first: Option<isize>,
    last: Option<isize>,
    excludes_last: bool,
    step: isize,
}

impl Bounds {
    /// First index, number of indices, step; or as an error the first bound, if it is outside the
    /// axis.
    fn resolve(self, len: usize) -> std::result::Result<(isize, usize, isize), isize> {
        let len = len as isize;
        let from_end = |bound: isize| if bound < 0 { bound.saturating_add(len) } else { bound };
        let Self { first, last, excludes_last, step } = self;
        if step > 0 {
            let start = from_end(first.unwrap_or(0));
            if start < 0 || start > len {
                return Err(first.unwrap_or(0));
            }
            let end = match last {
                None => len,
                Some(last) => from_end(last).saturating_add(isize::from(!excludes_last)).min(len),
            };
            let width = (end - start).max(0);
            return Ok((start, count(width, step), step));
        }
        // Backwards: from the first bound down to the last.
        let start = from_end(first.unwrap_or(-1));
        if start < 0 && !(first.is_none() && len == 0) {
            return Err(first.unwrap_or(-1));
        }
        let start = start.min(len - 1);
        let end = match last {
            None => 0,
            Some(last) => from_end(last).saturating_add(isize::from(excludes_last)).max(0),
        };
        let width = (start + 1).saturating_sub(end).max(0);
        Ok((start, count(width, step), step))
    }
}

/// The number of steps in this many neighbours.
fn count(width: isize, step: isize) -> usize {
    width.unsigned_abs().div_ceil(step.unsigned_abs())
}

/// The bounds of a Range or an arithmetic sequence; `None` for other objects.
fn range(ruby: &Ruby, value: Value) -> Result<Option<Bounds>> {
    // A Range is checked first: as a sequence it would have a step.
    let (mut first, mut last, mut excludes) =
        (rb_sys::Qnil as rb_sys::VALUE, rb_sys::Qnil as rb_sys::VALUE, 0);
    let mut is_range = 0;
    let raw = value.as_raw();
    let mut components = rb_sys::rb_arithmetic_sequence_components_t {
        begin: rb_sys::Qnil as _,
        end: rb_sys::Qnil as _,
        step: rb_sys::Qnil as _,
        exclude_end: 0,
    };
    protect(|| {
        // SAFETY: `raw` is the live object `value`, `components` is a local variable, and `protect`
        // catches exceptions.
        is_range = unsafe { rb_sys::rb_arithmetic_sequence_extract(raw, &mut components) };
        raw
    })?;
    let mut step = 1;
    if is_range != 0 {
        (first, last, excludes) = (components.begin, components.end, components.exclude_end);
        // SAFETY: the arithmetic sequence `value`, which is on the stack, refers to its step and
        // keeps it alive.
        step = bound(ruby, unsafe { Value::from_raw(components.step) })?.unwrap_or(1);
    } else {
        protect(|| {
            // SAFETY: `raw` is the live object `value`, the pointers are those of local variables,
            // and `protect` catches exceptions.
            is_range = unsafe { rb_sys::rb_range_values(raw, &mut first, &mut last, &mut excludes) };
            raw
        })?;
        if is_range == 0 {
            return Ok(None);
        }
    }
    if step == 0 {
        return Err(Failure::argument(ruby, "the step of a range is 0"));
    }
    // SAFETY: the range or sequence `value`, which is on the stack, refers to its bounds and keeps
    // them alive.
    let (first, last) = (unsafe { Value::from_raw(first) }, unsafe { Value::from_raw(last) });
    Ok(Some(Bounds {
        first: bound(ruby, first)?,
        last: bound(ruby, last)?,
        excludes_last: excludes != 0,
        step,
    }))
}

fn bound(ruby: &Ruby, value: Value) -> Result<Option<isize>> {
    if value.is_nil() {
        return Ok(None);
    }
    match Integer::from_value(value) {
        Some(integer) => Ok(Some(integer.to_isize()?)),
        None => Err(Failure::of_type(ruby, format!("{} is no bound of a range of indices", describe(value)))),
    }
}
