//! The copy policy in Ruby.

use crossdock::view::CopyPolicy;
use magnus::{Ruby, Symbol, Value, prelude::*};

use crate::error::{Failure, Result};

/// `false` and `nil` never copy, `true` copies if necessary, `:always` always copies.
pub(crate) fn of(copy: Value) -> Result<CopyPolicy> {
    match Symbol::from_value(copy) {
        None if !copy.to_bool() => return Ok(CopyPolicy::Never),
        None if copy.is_kind_of(Ruby::get_with(copy).class_true_class()) => return Ok(CopyPolicy::IfNeeded),
        Some(name) if name.name()? == "always" => return Ok(CopyPolicy::Always),
        _ => {}
    }
    let text = format!("copy: {} is neither true nor false, nor :always", copy.inspect());
    Err(Failure::argument(&Ruby::get_with(copy), text))
}
