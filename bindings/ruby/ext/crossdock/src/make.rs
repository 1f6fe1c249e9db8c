//! New arrays.

use std::sync::OnceLock;
use std::time::Duration;

use crossdock::array::ArrayOptions;
use crossdock::layout::Order;
use crossdock::pool::Pool;
use crossdock::{Casting, DArray};
use magnus::{RArray, RClass, Ruby, Value, method, prelude::*};

use crate::dtype::parse_dtype;
use crate::error::{Failure, Result};
use crate::handle::Wrapped;
use crate::index::assign;
use crate::lengths::lengths;
use crate::pressure::again;
use crate::value::name;
use crate::{import, nested};

/// An optional dtype.
pub(crate) fn optional_dtype(ruby: &Ruby, value: Value) -> Result<Option<crossdock::element::DType>> {
    if value.is_nil() { Ok(None) } else { parse_dtype(ruby, value).map(Some) }
}

/// `:row_major` or `:column_major`, or NumPy's `C` and `F`.
pub(crate) fn order(ruby: &Ruby, value: Value) -> Result<Order> {
    if value.is_nil() {
        return Ok(Order::RowMajor);
    }
    match name(ruby, value)?.as_str() {
        "row_major" | "C" => Ok(Order::RowMajor),
        "column_major" | "F" => Ok(Order::ColumnMajor),
        other => Err(Failure::argument(
            ruby,
            format!("order: {other:?} is none: give :row_major or :column_major"),
        )),
    }
}

fn from_nested(ruby: &Ruby, class: RClass, nested: Value, dtype: Value, order_: Value) -> Result<Wrapped> {
    let (dtype, order) = (optional_dtype(ruby, dtype)?, order(ruby, order_)?);
    let array = if let Some(source) = import::source(ruby, nested)? {
        let dtype = dtype.as_ref().unwrap_or(source.dtype());
        again(ruby, || Ok(source.cast(dtype, order, Casting::Checked)?))?
    } else {
        again(ruby, || nested::array(ruby, nested, dtype.clone(), order))?
    };
    Wrapped::new_as(ruby, class, array)
}

/// The pool of memory that other processes can map later. It keeps what the default pool keeps.
fn shareable() -> Result<&'static Pool> {
    static POOL: OnceLock<Pool> = OnceLock::new();
    if let Some(pool) = POOL.get() {
        return Ok(pool);
    }
    let opened = Pool::shareable(1 << 30, Duration::from_millis(500))?;
    Ok(POOL.get_or_init(|| opened))
}

fn full(
    ruby: &Ruby,
    class: RClass,
    shape: RArray,
    fill: Value,
    dtype: Value,
    order_: Value,
    is_shareable: bool,
) -> Result<Wrapped> {
    let (dtype, order) = (parse_dtype(ruby, dtype)?, order(ruby, order_)?);
    let shape = lengths(ruby, "shape", shape)?;
    let options = ArrayOptions::new().order(order);
    let options = if is_shareable { options.pool(shareable()?) } else { options };
    let array = again(ruby, || Ok(DArray::zeros(dtype.clone(), &shape, options)?))?;
    if !fill.is_nil() {
        assign(ruby, &array, fill)?;
    }
    Wrapped::new_as(ruby, class, array)
}

pub(crate) fn init(_: &Ruby, class: RClass) -> std::result::Result<(), magnus::Error> {
    class.define_singleton_method("from_nested", method!(from_nested, 3))?;
    class.define_singleton_method("make_full", method!(full, 5))?;
    class.define_method("release", method!(Wrapped::release, 0))
}
