//! Packed Strings as arrays.
//!
//! A frozen String is constant memory: its bytes are lent in place, while the String is marked and
//! pinned. Any other String is locked while it is lent, as Ruby locks a String that it reads into:
//! a write raises a RuntimeError.

use crossdock::DArray;
use crossdock::buffer::Buffer;
use crossdock::element::DType;
use crossdock::layout::Layout;
use crossdock::memory::{Birth, Place};
use magnus::rb_sys::{AsRawValue, protect};
use magnus::{RArray, RClass, RString, Ruby, TryConvert, Value, method, prelude::*};
use rb_sys::{RSTRING_LEN, RSTRING_PTR, VALUE, rb_str_locktmp, rb_str_unlocktmp};

use crate::dtype::parse_dtype;
use crate::error::{Failure, Result};
use crate::handle::Wrapped;
use crate::keep::{self, ObjectLease};
use crate::lengths::lengths;
use crate::make::order;
use crate::pressure::again;

/// The lock on a String.
struct Locked;

impl ObjectLease for Locked {
    fn give_back(&mut self, string: VALUE) {
        // SAFETY: `string` is the String that `borrowed` locked, and the keeper marks it; `protect`
        // catches the exception if it is not locked.
        let unlocked = protect(|| unsafe { rb_str_unlocktmp(string) });
        // If other code unlocked it first, there is nothing to do.
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
        false => lengths(ruby, "shape", RArray::try_convert(shape)?)?,
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
    // A String that shares its bytes with others must not be written. The String reports its bytes
    // to the collector.
    Wrapped::wrap(ruby, class, array.into_readonly(), None)
}

/// An array that may write the bytes of a String to which no other code refers.
fn own_string(
    ruby: &Ruby,
    class: RClass,
    string: RString,
    dtype: Value,
    shape: Value,
    wanted: Value,
) -> Result<Wrapped> {
    let raw = string.as_raw();
    protect(|| {
        // SAFETY: `raw` is a live String; `protect` catches the exception if it is frozen. Bytes
        // that it shares with another String become its own.
        unsafe { rb_sys::rb_str_modify(raw) };
        raw
    })?;
    let borrowed = from_string(ruby, class, string, dtype, shape, wanted, false)?;
    let array = borrowed.look()?;
    let (dtype, layout) = (array.dtype().clone(), array.layout().clone());
    Wrapped::release(ruby, borrowed)?;
    let held = keep::hold(raw, None);
    // SAFETY: `raw` is a live String, whose pointer and length are read without running Ruby code.
    let (bytes, nbytes) = (unsafe { RSTRING_PTR(raw) }, unsafe { RSTRING_LEN(raw) });
    let bytes = bytes.cast_mut().cast::<u8>();
    // SAFETY: the String is marked and pinned until `held` goes. `Birth::Sole`: its bytes are its
    // own, and by the adapters' contract only this array refers to it.
    let buffer =
        unsafe { Buffer::from_foreign(bytes, nbytes as usize, Place::CPU, Birth::Sole, move || drop(held)) }?;
    Wrapped::wrap(ruby, class, DArray::from_buffer(buffer, dtype, layout, 0)?, None)
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
    // SAFETY: `string` is alive, and `copy_from_slice` copies the bytes before Ruby runs again.
    Ok(Buffer::copy_from_slice(unsafe { string.as_slice() })?)
}

fn borrowed(string: RString) -> Result<Buffer> {
    let raw = string.as_raw();
    keep::give_back();
    let (birth, lease): (_, Option<Box<dyn ObjectLease>>) = if string.is_frozen() {
        (Birth::Constant, None)
    } else {
        // SAFETY: `raw` is a live String, and `protect` catches the exception if it is locked
        // already.
        protect(|| unsafe { rb_str_locktmp(raw) })?;
        (Birth::Aliased, Some(Box::new(Locked)))
    };
    let held = keep::hold(raw, lease);
    // SAFETY: `raw` is a live String, whose pointer and length are read without running Ruby code.
    let (bytes, nbytes) = (unsafe { RSTRING_PTR(raw) }, unsafe { RSTRING_LEN(raw) });
    let bytes = bytes.cast_mut().cast::<u8>();
    // SAFETY: the String is marked and pinned until `held` goes. It is frozen, so its bytes are
    // constant, or locked, so Ruby code cannot change them; C code may, which `Birth::Aliased`
    // says.
    Ok(unsafe { Buffer::from_foreign(bytes, nbytes as usize, Place::CPU, birth, move || drop(held)) }?)
}

pub(crate) fn init(class: RClass) -> std::result::Result<(), magnus::Error> {
    class.define_singleton_method("make_from_string", method!(from_string, 5))?;
    class.define_singleton_method("own_string", method!(own_string, 4))
}
