//! Packed Strings as arrays.
//!
//! A frozen String is constant memory: its bytes are lent where they lie, while the String is marked and stays where it is. Any other String is
//! locked while it is lent, as Ruby locks one that it reads into: whoever would change it meanwhile gets a RuntimeError.

use crossdock::DArray;
use crossdock::buffer::Buffer;
use crossdock::element::DType;
use crossdock::layout::Layout;
use crossdock::memory::{Birth, Place};
use magnus::rb_sys::{AsRawValue, protect};
use magnus::{RClass, RString, Ruby, TryConvert, Value, method, prelude::*};
use rb_sys::{RSTRING_LEN, RSTRING_PTR, VALUE, rb_str_locktmp, rb_str_unlocktmp};

use crate::error::{Failure, Result, parse_dtype};
use crate::handle::Wrapped;
use crate::keep::{self, Loan};
use crate::make::order;
use crate::pressure::again;

/// The lock that is on a String.
struct Locked;

impl Loan for Locked {
    fn give_back(&mut self, string: VALUE) {
        // SAFETY: a String that was locked for this.
        let unlocked = protect(|| unsafe { rb_str_unlocktmp(string) });
        // Who unlocked it before, whoever that was, has what it wanted.
        drop(unlocked);
    }
}

fn from_string(
    ruby: &Ruby,
    class: RClass,
    string: RString,
    dtype: Value,
    shape: Value,
    wanted: Value,
    copy: bool,
) -> Result<Wrapped> {
    let dtype = parse_dtype(ruby, dtype)?;
    let order = order(ruby, wanted)?;
    let shape = match shape.is_nil() {
        true => vec![whole(ruby, string.len(), &dtype)?],
        false => Vec::<usize>::try_convert(shape)?,
    };
    let layout = Layout::contiguous(&shape, dtype.itemsize(), order)?;
    if layout.nbytes() != string.len() {
        let text = format!(
            "a String of {} bytes is no array of shape {shape:?} of {dtype}, which has {}",
            string.len(),
            layout.nbytes()
        );
        return Err(Failure::argument(ruby, text));
    }
    if copy {
        let buffer = again(ruby, || copied(string))?;
        return Wrapped::new_as(ruby, class, DArray::from_buffer(buffer, dtype, layout, 0)?);
    }
    let array = DArray::from_buffer(borrowed(string)?, dtype, layout, 0)?;
    // A String that other references share must not be written. Its bytes are the String's to
    // report.
    Wrapped::wrap(ruby, class, array.into_readonly(), None)
}

fn whole(ruby: &Ruby, nbytes: usize, dtype: &DType) -> Result<usize> {
    let itemsize = dtype.itemsize();
    match nbytes.checked_rem(itemsize) {
        Some(0) => Ok(nbytes / itemsize),
        _ => {
            let text = format!(
                "a String of {nbytes} bytes is no whole number of {dtype}, which has {itemsize} each"
            );
            Err(Failure::argument(ruby, text))
        }
    }
}

fn copied(string: RString) -> Result<Buffer> {
    // SAFETY: copied before Ruby runs again.
    Ok(Buffer::copy_from_slice(unsafe { string.as_slice() })?)
}

fn borrowed(string: RString) -> Result<Buffer> {
    let raw = string.as_raw();
    keep::give_back();
    let (birth, loan): (_, Option<Box<dyn Loan>>) = if string.is_frozen() {
        (Birth::Constant, None)
    } else {
        // SAFETY: a String.
        protect(|| unsafe { rb_str_locktmp(raw) })?;
        (Birth::Aliased, Some(Box::new(Locked)))
    };
    let held = keep::hold(raw, loan);
    // SAFETY: a String, here and below.
    let (bytes, nbytes) = (unsafe { RSTRING_PTR(raw) }, unsafe { RSTRING_LEN(raw) });
    let bytes = bytes.cast_mut().cast::<u8>();
    // SAFETY: the bytes of a String that is marked and does not move, and that nobody changes: frozen, or locked. In a locked one, C code that
    // keeps to no lock could write, which is what aliased memory is.
    Ok(unsafe { Buffer::from_foreign(bytes, nbytes as usize, Place::CPU, birth, move || drop(held)) }?)
}

pub(crate) fn init(class: RClass) -> std::result::Result<(), magnus::Error> {
    class.define_singleton_method("make_from_string", method!(from_string, 5))
}
