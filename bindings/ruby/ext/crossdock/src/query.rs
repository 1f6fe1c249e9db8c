//! What an array is: its numbers, and as text.

use crossdock::element::DType;
use crossdock::element::dialect::typestr;
use magnus::{IntoValue, RClass, Ruby, Value, method, prelude::*};

use crate::error::Result;
use crate::handle::Wrapped;

/// A dtype as Ruby has it: a Symbol for a scalar, otherwise NumPy's text.
pub(crate) fn dtype_to_ruby(ruby: &Ruby, dtype: &DType) -> Result<Value> {
    if dtype.as_scalar().is_some() {
        return Ok(ruby.to_symbol(dtype.to_string()).as_value());
    }
    Ok(ruby.str_new(&typestr::print_descr(dtype)?).as_value())
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
