//! `array[…]` and `array[…] = …`.

use core::ffi::c_int;

use crossdock::element::Value as Element;
use crossdock::{Casting, DArray};
use magnus::rb_sys::{AsRawValue, FromRawValue};
use magnus::{RArray, RClass, Ruby, Value};
use rb_sys::VALUE;

use crate::class::define;
use crate::convert::float;
use crate::entry::entered;
use crate::error::{Failure, Result};
use crate::handle::{self, Wrapped};
use crate::lists::is_list;
use crate::pressure::again;
use crate::select::slices;
use crate::value::{from_ruby, to_ruby};
use crate::{import, nested};

/// Up to this many axes are indexed without a heap allocation.
const FEW: usize = 8;

/// `array[…]`: an element if every axis has an index, otherwise a view.
///
/// # Safety
///
/// 1. Ruby calls it as a method of `Crossdock::Array`, and `this` is the receiver.
/// 2. `argv` has `argc` live objects, which stay on Ruby's stack until the method returns.
unsafe extern "C" fn aref(argc: c_int, argv: *const VALUE, this: VALUE) -> VALUE {
    // SAFETY: clause 2 of `# Safety`: Ruby passes `argc` live objects at `argv`, which stay on its
    // stack until this method returns.
    let args = unsafe { arguments(argc, argv) };
    match quick(this, args) {
        Some(element) => element,
        None => entered(|ruby| general(ruby, this, args)),
    }
}

/// # Safety
///
/// `argv` points to `argc` live objects, which stay on Ruby's stack for `'a`.
unsafe fn arguments<'a>(argc: c_int, argv: *const VALUE) -> &'a [VALUE] {
    match usize::try_from(argc) {
        // SAFETY: `# Safety`: `argv` points to `len` live objects, which outlive `'a`; `len` is not
        // 0.
        Ok(len) if len > 0 => unsafe { std::slice::from_raw_parts(argv, len) },
        _ => &[],
    }
}

/// An element, for plain Fixnum indices; `None` for everything slower, including errors.
#[inline(always)]
fn quick(this: VALUE, args: &[VALUE]) -> Option<VALUE> {
    let array = handle::find(this)?.export()?.array();
    let shape = array.shape();
    if args.len() != shape.len() || args.len() > FEW {
        return None;
    }
    let mut index = [0; FEW];
    for ((place, &arg), &len) in index.iter_mut().zip(args).zip(shape) {
        if !rb_sys::FIXNUM_P(arg) {
            return None;
        }
        // SAFETY: `FIXNUM_P` just confirmed that `arg` is a Fixnum, so it encodes its number.
        let at = unsafe { rb_sys::FIX2LONG(arg) };
        // An index that is still negative is out of bounds.
        *place = if at < 0 { at + len as i64 } else { at } as usize;
    }
    match array.get(&index[..args.len()]).ok()? {
        // Nothing needs a drop here if the allocation of an object raises.
        Element::Float(number) => Some(float(number)),
        Element::Int(number) => Some(rb_sys::LONG2NUM(number)),
        Element::UInt(number) => Some(rb_sys::ULONG2NUM(number)),
        Element::Bool(truth) => Some(if truth { rb_sys::Qtrue } else { rb_sys::Qfalse } as VALUE),
        _ => None,
    }
}

#[cold]
#[inline(never)]
fn general(ruby: &Ruby, this: VALUE, args: &[VALUE]) -> Result<VALUE> {
    // SAFETY: `this` is the receiver of the method, which Ruby keeps alive until the method
    // returns.
    let this: Wrapped = Wrapped::try_convert_raw(unsafe { Value::from_raw(this) })?;
    let args = values(args);
    let part = part(ruby, &this.array()?, &args)?;
    Ok(match part {
        Part::Element(element) => to_ruby(ruby, &element)?,
        Part::View(view) => this.derived(ruby, view)?.as_value(),
    }
    .as_raw())
}

/// The arguments as `Value`s; Ruby keeps them alive on its stack.
fn values(args: &[VALUE]) -> Vec<Value> {
    // SAFETY: callers pass arguments of the running method, which Ruby keeps alive on its stack.
    args.iter().map(|&arg| unsafe { Value::from_raw(arg) }).collect()
}

enum Part {
    Element(Element),
    View(DArray),
}

fn part(ruby: &Ruby, array: &DArray, args: &[Value]) -> Result<Part> {
    let slices = slices(ruby, array.shape(), args)?;
    let all_are_indices = args.len() == array.rank()
        && slices.iter().all(|slice| matches!(slice, crossdock::layout::AxisSlice::Index(_)));
    let view = array.slice_numpy(slices)?;
    Ok(if all_are_indices { Part::Element(view.get(&[])?) } else { Part::View(view) })
}

/// `array[…] = value`: writes one element, or broadcasts the value to a part.
///
/// # Safety
///
/// 1. Ruby calls it as a method of `Crossdock::Array`, and `this` is the receiver.
/// 2. `argv` has `argc` live objects, which stay on Ruby's stack until the method returns.
unsafe extern "C" fn aset(argc: c_int, argv: *const VALUE, this: VALUE) -> VALUE {
    // SAFETY: clause 2 of `# Safety`: Ruby passes `argc` live objects at `argv`, which stay on its
    // stack until this method returns.
    let args = unsafe { arguments(argc, argv) };
    entered(|ruby| {
        let Some((&value, args)) = args.split_last() else {
            return Err(Failure::argument(ruby, "wrong number of arguments (given 0, expected 1+)"));
        };
        // SAFETY: `this` is the receiver of the method, which Ruby keeps alive until the method
        // returns.
        let this: Wrapped = Wrapped::try_convert_raw(unsafe { Value::from_raw(this) })?;
        this.check_writable(ruby)?;
        // SAFETY: `value` is an argument of the running method, which Ruby keeps alive on its
        // stack.
        let given = unsafe { Value::from_raw(value) };
        let array = this.array()?;
        let slices = slices(ruby, array.shape(), &values(args))?;
        assign(ruby, &array.slice_numpy(slices)?, given)?;
        Ok(value)
    })
}

/// Writes a value to a whole array: an array is broadcast, any other value becomes each element.
pub(crate) fn assign(ruby: &Ruby, target: &DArray, value: Value) -> Result<()> {
    if let Some(source) = Wrapped::of(value) {
        let source = source.array()?;
        return again(ruby, || Ok(target.assign(&source, Casting::Checked)?));
    }
    let is_nested = RArray::from_value(value).is_some() && target.dtype().as_subarray().is_none();
    if !is_nested && let Some(source) = import::source(ruby, value)? {
        return again(ruby, || Ok(target.assign(&source, Casting::Checked)?));
    }
    if is_nested || (!import::is_plain(value) && is_list(ruby, value)?) {
        let (dtype, order) = (Some(target.dtype().clone()), crossdock::layout::Order::RowMajor);
        let source = again(ruby, || nested::array(ruby, value, dtype.clone(), order))?;
        return again(ruby, || Ok(target.assign(&source, Casting::Checked)?));
    }
    let element = from_ruby(ruby, value, target.dtype())?;
    if target.rank() == 0 {
        return Ok(target.set(&[], &element)?);
    }
    Ok(target.fill(&element)?)
}

pub(crate) fn init(_: &Ruby, class: RClass) -> std::result::Result<(), magnus::Error> {
    define(class, c"[]", aref)?;
    define(class, c"[]=", aset)
}
