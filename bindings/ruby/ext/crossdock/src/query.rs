//! The properties of an array, as numbers and as text.

use core::fmt::Write;

use crossdock::bindings::dialect::typestr;
use crossdock::element::DType;
use magnus::{IntoValue, RClass, Ruby, Value, method, prelude::*};

use crate::error::Result;
use crate::handle::Wrapped;

/// A dtype for Ruby: a Symbol for a scalar, otherwise NumPy's text, with invisible characters
/// escaped. A record without gaps of which NumPy has no text (a `bfloat16` in it) is a Hash.
pub(crate) fn dtype_to_ruby(ruby: &Ruby, dtype: &DType) -> Result<Value> {
    if dtype.as_scalar().is_some() {
        return Ok(ruby.to_symbol(dtype.to_string()).as_value());
    }
    let error = match typestr::print_descr(dtype) {
        Ok(text) => return Ok(ruby.str_new(&visible(&text)).as_value()),
        Err(error) => error,
    };
    let hash = fields_of(ruby, dtype, |name, field| {
        Ok((ruby.to_symbol(name).as_value(), dtype_to_ruby(ruby, field)?))
    })?;
    hash.ok_or_else(|| error.into())
}

/// A dtype as Strings and Hashes that `dtype:` accepts on any machine.
pub(crate) fn portable_dtype(ruby: &Ruby, dtype: &DType) -> Result<Value> {
    if let Some(scalar) = dtype.as_scalar() {
        let order = scalar.byte_order().map_or(String::new(), |order| order.symbol().to_string());
        return Ok(ruby.str_new(&format!("{order}{}", scalar.kind())).as_value());
    }
    let error = match typestr::print_descr(dtype) {
        Ok(text) => return Ok(ruby.str_new(&text).as_value()),
        Err(error) => error,
    };
    let hash = fields_of(ruby, dtype, |name, field| {
        Ok((ruby.str_new(name).as_value(), portable_dtype(ruby, field)?))
    })?;
    hash.ok_or_else(|| error.into())
}

/// A Hash of the fields of a record without gaps; `None` for anything else, which a Hash does not
/// describe.
fn fields_of(
    ruby: &Ruby,
    dtype: &DType,
    entry: impl Fn(&str, &DType) -> Result<(Value, Value)>,
) -> Result<Option<Value>> {
    let Some(record) = dtype.as_record() else { return Ok(None) };
    let fields = record.fields().iter().map(|field| (field.name(), field.dtype().clone()));
    if !DType::packed_record(fields).is_ok_and(|packed| packed == *dtype) {
        return Ok(None);
    }
    let hash = ruby.hash_new();
    for field in record.fields() {
        let (name, value) = entry(field.name(), field.dtype())?;
        hash.aset(name, value)?;
    }
    Ok(Some(hash.as_value()))
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

/// The elements as Ruby's literals, in the columns and lines of NumPy's print format.
fn text(this: Wrapped) -> Result<String> {
    Ok(this.look()?.display().ruby().to_string())
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
