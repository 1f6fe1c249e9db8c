//! The bytes of an array under a lease that an object holds: for Ruby libraries that take a pointer
//! or a String.

use core::ffi::c_char;

use crossdock::element::DType;
use crossdock::layout::{Layout, Order};
use crossdock::memory::{Birth, Protocols};
use crossdock::view::Request;
use magnus::rb_sys::{AsRawValue, FromRawValue, protect};
use magnus::{RClass, Ruby, Value, method, prelude::*};

use crate::adapters::lent;
use crate::error::{Failure, Result};
use crate::handle::Wrapped;

/// Bytes that stay valid until `holder` is released or collected.
pub(crate) struct LeasedBytes {
    /// The address of the lowest byte.
    pub(crate) begin: usize,
    pub(crate) nbytes: usize,
    /// From the lowest byte to the first element.
    pub(crate) offset: usize,
    /// A `Crossdock::Array` with the lease.
    pub(crate) holder: Wrapped,
}

impl LeasedBytes {
    /// The bytes from the lowest element of an array to the highest.
    ///
    /// # Errors
    ///
    /// The array's refusal.
    pub(crate) fn of(ruby: &Ruby, this: Wrapped, request: Request) -> Result<Self> {
        let array = this.array()?;
        let view = array.export(&request.held_by(Protocols::LEASE))?;
        let span = array.layout().span();
        let begin = array.as_ptr().expose_provenance().wrapping_add_signed(span.low());
        let bytes = Layout::contiguous(&[span.nbytes()], 1, Order::RowMajor)?;
        // SAFETY: clause 1 of `lent`: the span of the array's layout lies within its memory, which
        // the lease of `view` keeps; clause 2: other handles on it may write it.
        let holder = unsafe { lent(ruby, begin, DType::U8, bytes, Birth::Aliased, view) }?.into_readonly();
        let holder = Wrapped::sharing(ruby, holder, this.kept())?;
        Ok(Self { begin, nbytes: span.nbytes(), offset: span.low().unsigned_abs(), holder })
    }

    /// A frozen String with these bytes, in place, which keeps the holder.
    pub(crate) fn into_string(self) -> Result<Value> {
        let holder = self.holder.as_value();
        // A frozen array cannot be released.
        holder.freeze();
        let holder = holder.as_raw();
        let string = protect(|| {
            // SAFETY: the bytes stay valid as long as `holder`, to which the String refers from the
            // next call on; Ruby neither writes nor frees the bytes of such a String.
            let string = unsafe { rb_sys::rb_str_new_static(self.begin as *const c_char, self.nbytes as _) };
            // SAFETY: a static C string; programs cannot use such a name for a variable.
            let name = unsafe { rb_sys::rb_intern(c"crossdock".as_ptr()) };
            // SAFETY: `string` is the new String, which is not frozen yet, and `holder` is alive.
            unsafe { rb_sys::rb_ivar_set(string, name, holder) };
            string
        })?;
        // SAFETY: `rb_str_new_static` returned this object, and it is on the stack.
        let string = unsafe { Value::from_raw(string) };
        string.freeze();
        Ok(string)
    }
}

/// The bytes of a row-major array as a frozen String, in place.
fn lend_string(ruby: &Ruby, this: Wrapped) -> Result<Value> {
    LeasedBytes::of(ruby, this, Request::pin().order(Order::RowMajor))?.into_string()
}

/// The address of the first element, and the object that holds the lease: to read, or to write.
fn lend_address(ruby: &Ruby, this: Wrapped, writable: bool, is_strided: bool) -> Result<(usize, Wrapped)> {
    if writable {
        this.check_writable(ruby)?;
    }
    let request = if writable { Request::share() } else { Request::pin() };
    let request = if is_strided { request } else { request.order(Order::RowMajor) };
    let leased = LeasedBytes::of(ruby, this, request)?;
    let address = leased
        .begin
        .checked_add(leased.offset)
        .ok_or_else(|| Failure::ours(ruby, "the first element lies outside of the address space"))?;
    Ok((address, leased.holder))
}

pub(crate) fn init(class: RClass) -> std::result::Result<(), magnus::Error> {
    class.define_private_method("lend_string", method!(lend_string, 0))?;
    class.define_private_method("lend_address", method!(lend_address, 2))
}
