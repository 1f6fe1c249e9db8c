//! What an object offers, and why a request would be refused.

use std::fmt::Write as _;

use crossdock::DArray;
use crossdock::bindings::explain;
use crossdock::layout::Order;
use magnus::error::IntoError;
use magnus::rb_sys::AsRawValue;
use magnus::{RModule, Ruby, Value, function, prelude::*};

use crate::error::{Failure, Result};
use crate::handle::Wrapped;
use crate::import;
use crate::producers::{self, Producer};

fn explain_object(ruby: &Ruby, object: Value) -> Result<String> {
    let mut text = format!("{}: ", object_name(object));
    if let Some(own) = Wrapped::of(object) {
        _ = write!(text, "an array of this library");
        offer(&mut text, &own.array()?);
        return Ok(text);
    }
    match producers::find(object.as_raw())? {
        Producer::None => {
            _ = write!(
                text,
                "exports no MemoryView: no producer is registered for its class, nor for one that it inherits from"
            );
            return Ok(text);
        }
        Producer::BasicObject => {
            _ = write!(
                text,
                "exports no MemoryView: it is a BasicObject, of which Ruby's own search makes a crash"
            );
            return Ok(text);
        }
        Producer::Registered(entry) => {
            _ = write!(text, "exports MemoryViews");
            for (name, is_there) in [
                ("get", entry.get_func.is_some()),
                ("release", entry.release_func.is_some()),
                ("available_p", entry.available_p_func.is_some()),
            ] {
                if !is_there {
                    _ = write!(text, "; its producer has no function {name}");
                }
            }
        }
        Producer::Hidden => _ = write!(text, "exports MemoryViews"),
    }
    match import::array(ruby, object, false) {
        Ok(array) => offer(&mut text, &array),
        Err(failure) => {
            _ = write!(text, "\n  refused: {}", message(ruby, failure));
            return Ok(text);
        }
    }
    if let Err(failure) = import::array(ruby, object, true) {
        _ = write!(text, "\n  to be written: {}", message(ruby, failure));
    }
    Ok(text)
}

fn object_name(object: Value) -> String {
    if matches!(producers::find(object.as_raw()), Ok(Producer::BasicObject)) {
        return "a BasicObject".into();
    }
    format!("an instance of {}", object.class())
}

fn message(ruby: &Ruby, failure: Failure) -> String {
    let error = failure.into_error(ruby);
    match error.value() {
        Some(exception) => exception.funcall("message", ()).unwrap_or_else(|_| error.to_string()),
        None => error.to_string(),
    }
}

/// The properties of an array, the protocols that export it, and what Python libraries do with it.
fn offer(text: &mut String, array: &DArray) {
    _ = write!(
        text,
        "\n  offers: {} of shape {:?} with strides {:?}, {} bytes of {} memory{}",
        array.dtype(),
        array.shape(),
        array.strides(),
        array.nbytes(),
        array.backing(),
        if array.is_readonly() { ", read-only" } else { "" }
    );
    if let Some(order) =
        [Order::RowMajor, Order::ColumnMajor].into_iter().find(|&order| array.is_contiguous(order))
    {
        _ = write!(text, ", {order} without gaps");
    }
    for line in explain::text(array, None).lines() {
        _ = write!(text, "\n  {line}");
    }
}

pub(crate) fn init(module: RModule) -> std::result::Result<(), magnus::Error> {
    module.define_singleton_method("explain_memory_view", function!(explain_object, 1))
}
