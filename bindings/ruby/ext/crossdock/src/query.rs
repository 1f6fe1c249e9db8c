//! What an array is: its numbers, and as text.

use core::fmt::Write;

use crossdock::element::DType;
use crossdock::element::dialect::typestr;
use magnus::{IntoValue, RClass, Ruby, Value, method, prelude::*};

use crate::error::Result;
use crate::handle::Wrapped;

/// A dtype for Ruby: a Symbol for a scalar, otherwise NumPy's text, with invisible characters
/// escaped.
pub(crate) fn dtype_to_ruby(ruby: &Ruby, dtype: &DType) -> Result<Value> {
    if dtype.as_scalar().is_some() {
        return Ok(ruby.to_symbol(dtype.to_string()).as_value());
    }
    Ok(ruby.str_new(&visible(&typestr::print_descr(dtype)?)).as_value())
}

/// A text of NumPy's that may contain names from a file and reach a terminal: invisible characters
/// are escaped, as in Python's literals.
fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        let is_seen = matches!(letter, ' '..='~') || (letter > '~' && letter.escape_debug().count() == 1);
        let _written = match (is_seen, u32::from(letter)) {
            (true, _) => write!(shown, "{letter}"),
            (false, code @ ..0x100) => write!(shown, "\\x{code:02x}"),
            (false, code @ ..0x1_0000) => write!(shown, "\\u{code:04x}"),
            (false, code) => write!(shown, "\\U{code:08x}"),
        };
    }
    shown
}

fn shape(ruby: &Ruby, this: Wrapped) -> Result<Value> {
    Ok(ruby.ary_from_iter(this.look()?.shape().iter().copied()).as_value())
}

fn strides(ruby: &Ruby, this: Wrapped) -> Result<Value> {
    Ok(ruby.ary_from_iter(this.look()?.strides().iter().copied()).as_value())
}

fn dtype(ruby: &Ruby, this: Wrapped) -> Result<Value> {
    dtype_to_ruby(ruby, this.look()?.dtype())
}

fn ndim(this: Wrapped) -> Result<usize> {
    Ok(this.look()?.rank())
}

fn size(this: Wrapped) -> Result<usize> {
    Ok(this.look()?.len())
}

fn nbytes(this: Wrapped) -> Result<usize> {
    Ok(this.look()?.nbytes())
}

fn itemsize(this: Wrapped) -> Result<usize> {
    Ok(this.look()?.dtype().itemsize())
}

fn is_readonly(this: Wrapped) -> Result<bool> {
    Ok(this.is_frozen() || this.look()?.is_readonly())
}

fn address(this: Wrapped) -> Result<usize> {
    Ok(this.look()?.as_ptr().addr())
}

/// The elements as NumPy prints them.
fn text(this: Wrapped) -> Result<String> {
    Ok(this.look()?.to_string())
}

fn fields(ruby: &Ruby, this: Wrapped) -> Result<Value> {
    let Some(record) = this.look()?.dtype().as_record() else { return Ok(ruby.qnil().as_value()) };
    let names = record.fields().iter().map(|field| ruby.to_symbol(field.name()));
    Ok(ruby.ary_from_iter(names).into_value_with(ruby))
}

pub(crate) fn init(_: &Ruby, class: RClass) -> std::result::Result<(), magnus::Error> {
    class.define_method("shape", method!(shape, 0))?;
    class.define_method("strides", method!(strides, 0))?;
    class.define_method("dtype", method!(dtype, 0))?;
    class.define_method("ndim", method!(ndim, 0))?;
    class.define_method("size", method!(size, 0))?;
    class.define_method("nbytes", method!(nbytes, 0))?;
    class.define_method("itemsize", method!(itemsize, 0))?;
    class.define_method("readonly?", method!(is_readonly, 0))?;
    class.define_method("address", method!(address, 0))?;
    class.define_private_method("text", method!(text, 0))?;
    class.define_method("fields", method!(fields, 0))?;
    Ok(())
}
