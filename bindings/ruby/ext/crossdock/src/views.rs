//! Views of the same memory with another shape, order or dtype, and copies of the elements.

use crossdock::bindings::files::{OutgoingArray, Rounding};
use crossdock::layout::Order;
use crossdock::view::CopyPolicy;
use crossdock::{Casting, DArray};
use magnus::{Integer, RArray, RClass, Ruby, Value, method, prelude::*};

use crate::dtype::parse_dtype;
use crate::error::{Failure, Result};
use crate::handle::Wrapped;
use crate::import::source;
use crate::index::assign;
use crate::lengths::lengths;
use crate::make::order;
use crate::pressure::again;
use crate::value::{describe, name};

/// An axis; negative numbers count from the end.
fn axis(ruby: &Ruby, value: Value, rank: usize) -> Result<usize> {
    let Some(integer) = Integer::from_value(value) else {
        return Err(Failure::of_type(ruby, format!("{} is no axis: give an Integer", describe(value))));
    };
    let at = integer.to_isize()?;
    let from_start = if at < 0 { at + rank as isize } else { at };
    match usize::try_from(from_start) {
        Ok(axis) if axis < rank => Ok(axis),
        _ => Err(Failure::index(ruby, format!("axis {at} is out of bounds for an array of {rank} axes"))),
    }
}

fn transpose(ruby: &Ruby, this: Wrapped, axes: RArray) -> Result<Wrapped> {
    let array = this.array()?;
    if axes.is_empty() {
        return this.derived(ruby, array.transpose()?);
    }
    let axes = axes.into_iter().map(|value| axis(ruby, value, array.rank())).collect::<Result<Vec<_>>>()?;
    this.derived(ruby, array.permute(&axes)?)
}

/// The shape, in which one length may be -1 and follows from the others.
fn meant(ruby: &Ruby, array: &DArray, given: RArray) -> Result<Vec<usize>> {
    let mut shape = Vec::with_capacity(given.len());
    let mut open = None;
    for (axis, value) in given.into_iter().enumerate() {
        let len = match Integer::from_value(value) {
            Some(integer) => integer.to_isize()?,
            None => {
                return Err(Failure::of_type(
                    ruby,
                    format!("{} is no length: give Integers", describe(value)),
                ));
            }
        };
        match usize::try_from(len) {
            Ok(len) => shape.push(len),
            Err(_) if len == -1 && open.is_none() => {
                open = Some(axis);
                shape.push(1);
            }
            Err(_) => {
                let text = format!(
                    "axis {axis} would have the length {len}: give one -1 at most, and no other below 0"
                );
                return Err(Failure::argument(ruby, text));
            }
        }
    }
    if let Some(axis) = open {
        let others = shape.iter().try_fold(1_usize, |product, &len| product.checked_mul(len));
        match others.filter(|&others| others > 0 && array.len().is_multiple_of(others)) {
            Some(others) => shape[axis] = array.len() / others,
            None => {
                let text =
                    format!("{} elements of shape {:?} fit no shape {given}", array.len(), array.shape());
                return Err(Failure::argument(ruby, text));
            }
        }
    }
    Ok(shape)
}

fn reshape(ruby: &Ruby, this: Wrapped, shape: RArray, copy: bool) -> Result<Wrapped> {
    let array = this.array()?;
    let shape = meant(ruby, &array, shape)?;
    match array.reshape(&shape) {
        Ok(shaped) => this.derived(ruby, shaped),
        Err(error) if error.is_layout() && copy => {
            let policy = CopyPolicy::IfNeeded;
            let shaped = again(ruby, || Ok(array.reshape_with(&shape, Order::RowMajor, policy)?))?;
            this.made(ruby, shaped)
        }
        Err(error) if error.is_layout() => Err(Failure::ours(
            ruby,
            format!(
                "no view of shape {:?} with strides {:?} has the shape {shape:?}: reshape(…, copy: true) copies where it has to",
                array.shape(),
                array.strides()
            ),
        )),
        Err(error) => Err(error.into()),
    }
}

fn field(ruby: &Ruby, this: Wrapped, field: Value) -> Result<Wrapped> {
    let field = name(ruby, field)?;
    let array = this.array()?;
    if array.dtype().as_record().is_some_and(|record| record.field(&field).is_none()) {
        let names: Vec<_> =
            array.dtype().as_record().into_iter().flat_map(|record| record.fields()).collect();
        let names: Vec<_> = names.iter().map(|field| field.name()).collect();
        return Err(Failure::index(ruby, format!("no field {field:?}: there are {names:?}")));
    }
    this.derived(ruby, array.field(&field)?)
}

fn broadcast_to(ruby: &Ruby, this: Wrapped, shape: RArray) -> Result<Wrapped> {
    let (array, shape) = (this.array()?, lengths(ruby, "shape", shape)?);
    // Broadcast elements share their memory, so they must not be written one by one.
    this.derived(ruby, array.broadcast_to(&shape)?.into_readonly())
}

fn copy(ruby: &Ruby, this: Wrapped, wanted: Value) -> Result<Wrapped> {
    let (array, order) = (this.array()?, order(ruby, wanted)?);
    this.made(ruby, again(ruby, || Ok(array.to_order(order)?))?)
}

fn cast(ruby: &Ruby, this: Wrapped, dtype: Value, saturating: bool, round: Value) -> Result<Wrapped> {
    let casting = if saturating { Casting::Saturating } else { Casting::Checked };
    let array = this.array()?;
    let order = array.order().unwrap_or(Order::RowMajor);
    let dtype = parse_dtype(ruby, dtype)?;
    if !round.is_nil() {
        let rounded =
            OutgoingArray::new(array).cast(dtype, casting).rounded(rounding(ruby, round)?).order(order);
        return this.made(ruby, again(ruby, || own(&rounded, order))?);
    }
    this.made(ruby, again(ruby, || Ok(array.cast(&dtype, order, casting)?))?)
}

/// How fractions become integers.
fn rounding(ruby: &Ruby, value: Value) -> Result<Rounding> {
    match name(ruby, value)?.as_str() {
        "even" => Ok(Rounding::Rint),
        "floor" => Ok(Rounding::Floor),
        "ceil" => Ok(Rounding::Ceil),
        "truncate" => Ok(Rounding::Trunc),
        other => {
            let text = format!("round: {other:?} is none: give :even, :floor, :ceil or :truncate");
            Err(Failure::argument(ruby, text))
        }
    }
}

/// The converted elements in new memory, also if nothing was to be converted.
fn own(rounded: &OutgoingArray, order: Order) -> Result<DArray> {
    if rounded.array().dtype() == rounded.dtype() {
        return Ok(rounded.array().to_order(order)?);
    }
    Ok(rounded.to_array()?)
}

fn view_as(ruby: &Ruby, this: Wrapped, dtype: Value) -> Result<Wrapped> {
    this.derived(ruby, this.array()?.view_as(&parse_dtype(ruby, dtype)?)?)
}

fn to_readonly(ruby: &Ruby, this: Wrapped) -> Result<Wrapped> {
    this.derived(ruby, this.array()?.into_readonly())
}

fn fill(ruby: &Ruby, this: Wrapped, value: Value) -> Result<Wrapped> {
    this.check_writable(ruby)?;
    assign(ruby, &this.array()?, value)?;
    Ok(this)
}

/// Whether another object that shares memory has the same shape and equal elements. As with Ruby's
/// numbers, elements of different dtypes are equal if they are the same number.
fn equals(ruby: &Ruby, this: Wrapped, other: Value) -> Result<bool> {
    let ours = this.array()?;
    let theirs = match source(ruby, other) {
        Ok(Some(theirs)) => theirs,
        Ok(None) => return Ok(false),
        Err(failure) if failure.is_refusal(ruby) => return Ok(false),
        Err(failure) => return Err(failure),
    };
    if ours.shape() != theirs.shape() {
        return Ok(false);
    }
    match ours.equals(&theirs) {
        Err(error) if error.is_dtype() => {}
        other => return Ok(other?),
    }
    // Converted in both directions, since either conversion may fail or round.
    Ok(same(ruby, &ours, &theirs)? && same(ruby, &theirs, &ours)?)
}

/// Whether the elements of an array, converted to the type of another, equal the other's elements.
fn same(ruby: &Ruby, ours: &DArray, theirs: &DArray) -> Result<bool> {
    let compare = || {
        let converted = theirs.cast(ours.dtype(), Order::RowMajor, Casting::Checked)?;
        Ok(ours.equals(&converted)?)
    };
    match again(ruby, compare) {
        // A number that does not fit, or has a type that never converts, is not equal.
        Err(Failure::Ours(error)) if error.is_dtype() || error.is_value() => Ok(false),
        other => other,
    }
}

pub(crate) fn init(class: RClass) -> std::result::Result<(), magnus::Error> {
    class.define_private_method("transpose_to", method!(transpose, 1))?;
    class.define_private_method("reshape_to", method!(reshape, 2))?;
    class.define_method("field", method!(field, 1))?;
    class.define_private_method("broadcast", method!(broadcast_to, 1))?;
    class.define_private_method("copy_to", method!(copy, 1))?;
    class.define_private_method("cast_to", method!(cast, 3))?;
    class.define_method("view_as", method!(view_as, 1))?;
    class.define_method("to_readonly", method!(to_readonly, 0))?;
    class.define_method("fill", method!(fill, 1))?;
    class.define_method("==", method!(equals, 1))
}
