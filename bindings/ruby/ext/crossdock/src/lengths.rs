//! Lengths of axes, and other sizes, as arguments.

use magnus::{Error, Integer, RArray, Ruby, TryConvert, Value, prelude::*};

use crate::error::{Failure, Result};

/// A size, of the argument of this name in errors.
///
/// # Errors
///
/// `RangeError` for one that is negative or beyond the address space, and `TypeError` for what is
/// no number.
pub(crate) fn size(ruby: &Ruby, argument: &str, value: Value) -> Result<usize> {
    if let Some(integer) = Integer::from_value(value)
        && integer.funcall::<_, _, bool>("negative?", ())?
    {
        let text = format!("{argument}: {integer} is negative");
        return Err(Failure::Raised(Error::new(ruby.exception_range_error(), text)));
    }
    usize::try_convert(value).map_err(|error| Failure::from(error).within(ruby, argument))
}

/// The lengths of axes, as [`size`].
pub(crate) fn lengths(ruby: &Ruby, argument: &str, list: RArray) -> Result<Vec<usize>> {
    list.into_iter().map(|length| size(ruby, argument, length)).collect()
}
