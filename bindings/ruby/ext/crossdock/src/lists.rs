//! Lists that are no Arrays as elements of new arrays: Ranges, Sets, Enumerators, and other
//! Enumerables, also within Arrays.

use crossdock::layout::MAX_RANK;
use magnus::rb_sys::AsRawValue;
use magnus::{Float, RArray, Ruby, Value, prelude::*};

use crate::error::{Failure, Result};
use crate::import::{is_plain, is_source};

/// A value without lists that are no Arrays.
pub(crate) struct Lists {
    /// The value with Arrays in place of its lists; the value itself if it has none.
    pub(crate) value: Value,
    /// Whether objects that share memory are among its elements.
    pub(crate) has_arrays: bool,
}

impl Lists {
    pub(crate) fn of(ruby: &Ruby, value: Value) -> Result<Self> {
        let mut lists = Self { value, has_arrays: false };
        if let Some(converted) = lists.converted(ruby, value, 0)? {
            lists.value = converted;
        }
        Ok(lists)
    }

    /// `None` if nothing is to be converted.
    fn converted(&mut self, ruby: &Ruby, value: Value, depth: usize) -> Result<Option<Value>> {
        let (array, mut changed) = match RArray::from_value(value) {
            Some(array) => (array, None),
            None if is_plain(value) => return Ok(None),
            None if depth > 0 && is_source(ruby, value)? => {
                self.has_arrays = true;
                return Ok(None);
            }
            None if is_list(ruby, value)? => {
                let array = listed(ruby, value)?;
                (array, Some(array))
            }
            None => return Ok(None),
        };
        // Before the parts: a list that contains itself several times has endless paths.
        if depth == MAX_RANK {
            return Err(too_deep(ruby));
        }
        let mut index = 0;
        // Ruby code that runs meanwhile may change the length.
        while index < array.len() {
            let part: Value = array.entry(index as isize)?;
            if !rb_sys::SPECIAL_CONST_P(part.as_raw())
                && let Some(part) = self.converted(ruby, part, depth + 1)?
            {
                let list = match changed {
                    Some(list) => list,
                    None => *changed.insert(RArray::try_convert(array.funcall("dup", ())?)?),
                };
                list.store(index as isize, part)?;
            }
            index += 1;
        }
        Ok(changed.map(|list| list.as_value()))
    }
}

/// Whether an object is a list of elements. Structs and Hashes are elements themselves; objects
/// that share memory are arrays.
pub(crate) fn is_list(ruby: &Ruby, value: Value) -> Result<bool> {
    if value.is_kind_of(ruby.class_numeric()) {
        return Ok(false);
    }
    let is = |name: &str| -> Result<bool> {
        let class: Value = ruby.class_object().const_get(name)?;
        Ok(class.funcall("===", (value,))?)
    };
    Ok(is("Enumerable")? && !is("Hash")? && !is("Struct")? && value.respond_to("to_a", false)?)
}

/// The refusal of more Arrays in Arrays than an array has axes.
pub(crate) fn too_deep(ruby: &Ruby) -> Failure {
    Failure::argument(ruby, format!("arrays in arrays deeper than {MAX_RANK}"))
}

fn listed(ruby: &Ruby, value: Value) -> Result<RArray> {
    if value.respond_to("size", false)? {
        let size: Value = value.funcall("size", ())?;
        if Float::from_value(size).is_some_and(|size| size.to_f64().is_infinite()) {
            let text = format!("an instance of {} has infinitely many elements", value.class());
            return Err(Failure::argument(ruby, text));
        }
    }
    Ok(RArray::try_convert(value.funcall("to_a", ())?)?)
}
