//! Arrays from lists of arrays: `Array.new([array, array])`.

use crossdock::element::DType;
use crossdock::layout::{AxisSlice, Order};
use crossdock::{Casting, DArray};
use magnus::{RArray, Ruby, Value, prelude::*};
use rb_sys::VALUE;

use crate::error::{Failure, Result};
use crate::pressure::again;
use crate::{import, nested};

/// One array with the elements of a list as its first axis: arrays, objects that share memory, and
/// lists of them or of elements. All have one shape. Without a dtype, the arrays must have one.
pub(crate) fn stacked(
    ruby: &Ruby,
    list: RArray,
    dtype: Option<DType>,
    order: Order,
    around: &[VALUE],
) -> Result<DArray> {
    let mut parts: Vec<Option<DArray>> = Vec::with_capacity(list.len());
    let mut index = 0;
    // Ruby code that runs meanwhile may change the length.
    while index < list.len() {
        let value: Value = list.entry(index as isize)?;
        let has_lists = RArray::from_value(value).is_some();
        let part = if has_lists { Ok(None) } else { import::source(ruby, value) };
        parts.push(part.map_err(|failure| failure.within(ruby, format_args!("element [{index}]")))?);
        index += 1;
    }
    let common = match dtype {
        Some(dtype) => Some(dtype),
        None => common(ruby, &parts)?,
    };
    let mut whole = Vec::with_capacity(parts.len());
    for (index, part) in parts.into_iter().enumerate() {
        let part = match part {
            Some(part) => part,
            None => nested::array_within(
                ruby,
                list.entry(index as isize)?,
                common.clone(),
                Order::RowMajor,
                around,
            )
            .map_err(|failure| failure.within(ruby, format_args!("element [{index}]")))?,
        };
        whole.push(part);
    }
    let Some(first) = whole.first() else {
        return nested::array_within(ruby, list.as_value(), common, order, around);
    };
    if let Some((index, other)) = whole.iter().enumerate().find(|(_, part)| part.shape() != first.shape()) {
        let (theirs, ours) = (other.shape(), first.shape());
        let text =
            format!("an array of shape {theirs:?} at [{index}], where the first has the shape {ours:?}");
        return Err(Failure::argument(ruby, text));
    }
    let dtype = match common {
        Some(dtype) => dtype,
        None => self::common(ruby, &whole.iter().cloned().map(Some).collect::<Vec<_>>())?
            .unwrap_or_else(|| first.dtype().clone()),
    };
    let shape: Vec<usize> = [whole.len()].into_iter().chain(first.shape().iter().copied()).collect();
    let array = again(ruby, || Ok(DArray::zeros(dtype.clone(), &shape, order)?))?;
    for (index, part) in whole.iter().enumerate() {
        let place = array.slice_numpy([AxisSlice::Index(index as isize)])?;
        again(ruby, || Ok(place.assign(part, Casting::Checked)?))
            .map_err(|failure| failure.within(ruby, format_args!("element [{index}]")))?;
    }
    Ok(array)
}

/// The one dtype of the arrays.
fn common(ruby: &Ruby, parts: &[Option<DArray>]) -> Result<Option<DType>> {
    let mut known: Option<&DType> = None;
    for part in parts.iter().flatten() {
        match known {
            Some(dtype) if dtype != part.dtype() => {
                let other = part.dtype();
                let text = format!("arrays of {dtype} and of {other} in one list: name one by dtype:");
                return Err(Failure::of_type(ruby, text));
            }
            _ => known = Some(part.dtype()),
        }
    }
    Ok(known.cloned())
}
