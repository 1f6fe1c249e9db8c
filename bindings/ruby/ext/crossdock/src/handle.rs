//! `Crossdock::Array` as Ruby holds it: a TypedData object around an array of the library.

use core::ffi::c_void;
use std::cell::{Cell, UnsafeCell};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crossdock::DArray;
use crossdock::exchange::protocol::memory_view::StandingLoan;
use magnus::rb_sys::{AsRawValue, FromRawValue, protect};
use magnus::{IntoValue, RClass, Ruby, TryConvert, Value, prelude::*};
use rb_sys::rbimpl_typeddata_flags as Flags;
use rb_sys::{RTYPEDDATA_GET_DATA, RTYPEDDATA_P, RTYPEDDATA_TYPE, VALUE, rb_data_typed_object_wrap};

use crate::error::{Failure, Result};
use crate::typed::{Functions, Type};
use crate::{ARRAY, keep};

/// What a `Crossdock::Array` has.
///
/// # Invariants
///
/// 1. Only `release` takes the array out, which it does under the lock of the Ractor that has the object, and never of a frozen one, which
///    other Ractors may have: a reference is good until the next call that may run Ruby code.
pub(crate) struct Handle {
    loan: UnsafeCell<Option<StandingLoan>>,
    /// Released while somebody had a view: the loan stays until the object goes.
    is_over: Cell<bool>,
}

/// An array refers to no Ruby object: what keeps its memory is kept by `keep`.
static TYPE: Type = Type::new(
    c"Crossdock::Array",
    Functions { mark: None, free: Some(free), size: Some(size) },
    (Flags::RUBY_TYPED_FREE_IMMEDIATELY as VALUE)
        | (Flags::RUBY_TYPED_WB_PROTECTED as VALUE)
        | (Flags::RUBY_TYPED_FROZEN_SHAREABLE as VALUE),
);

/// Called by the sweep, also at the end of the process, where other objects may be gone already.
unsafe extern "C" fn free(data: *mut c_void) {
    let _panicked = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the box that `wrap` leaked, once.
        drop(unsafe { Box::from_raw(data.cast::<Handle>()) });
    }));
}

unsafe extern "C" fn size(data: *const c_void) -> rb_sys::size_t {
    // SAFETY: as for `free`; nobody takes the array out meanwhile (Handle 1).
    let handle = unsafe { &*data.cast::<Handle>() };
    // SAFETY: as above.
    let loan = unsafe { &*handle.loan.get() };
    let own = loan
        .as_ref()
        .map_or(0, |loan| size_of_val(loan.array()) + loan.array().rank() * 2 * size_of::<usize>());
    (size_of::<Handle>() + own) as rb_sys::size_t
}

/// The handle of an object, if it is an array of ours. A few loads.
#[inline(always)]
pub(crate) fn find<'a>(value: VALUE) -> Option<&'a Handle> {
    if rb_sys::SPECIAL_CONST_P(value) {
        return None;
    }
    // SAFETY: an object on the heap, here and below.
    if unsafe { rb_sys::RB_BUILTIN_TYPE(value) } != rb_sys::ruby_value_type::RUBY_T_DATA
        // SAFETY: of this type.
        || !unsafe { RTYPEDDATA_P(value) }
        // SAFETY: with a type.
        || !core::ptr::eq(unsafe { RTYPEDDATA_TYPE(value) }, TYPE.as_ptr())
    {
        return None;
    }
    // SAFETY: as checked.
    let data = unsafe { RTYPEDDATA_GET_DATA(value) };
    // SAFETY: what `wrap` leaked, which lives as long as the object does.
    unsafe { data.cast::<Handle>().as_ref() }
}

/// Whether an object of ours is frozen.
pub(crate) fn is_frozen(value: VALUE) -> bool {
    // SAFETY: any object.
    unsafe { Value::from_raw(value) }.is_frozen()
}

impl Handle {
    /// The array, and what is lent of it, unless it was released.
    #[inline(always)]
    pub(crate) fn loan(&self) -> Option<&StandingLoan> {
        // SAFETY: Handle 1.
        unsafe { &*self.loan.get() }.as_ref().filter(|_| !self.is_over.get())
    }
}

/// A `Crossdock::Array` as an argument or the receiver of a method.
#[derive(Clone, Copy)]
pub(crate) struct Wrapped(Value);

impl TryConvert for Wrapped {
    fn try_convert(value: Value) -> std::result::Result<Self, magnus::Error> {
        if find(value.as_raw()).is_some() {
            return Ok(Self(value));
        }
        let text = format!("no implicit conversion of {} into Crossdock::Array", value.class());
        Err(magnus::Error::new(Ruby::get_with(value).exception_type_error(), text))
    }
}

impl IntoValue for Wrapped {
    fn into_value_with(self, _: &Ruby) -> Value {
        self.0
    }
}

impl Wrapped {
    /// The object, where it is one of ours.
    pub(crate) fn of(value: Value) -> Option<Self> {
        find(value.as_raw()).map(|_| Self(value))
    }

    /// A new object around an array.
    pub(crate) fn new(ruby: &Ruby, array: DArray) -> Result<Self> {
        Self::new_as(ruby, ruby.get_inner(&ARRAY), array)
    }

    /// A new object of a class that is `Crossdock::Array` or inherits from it.
    pub(crate) fn new_as(_: &Ruby, class: RClass, array: DArray) -> Result<Self> {
        keep::give_back();
        let loan = UnsafeCell::new(Some(StandingLoan::new(array)));
        let data = Box::into_raw(Box::new(Handle { loan, is_over: Cell::new(false) }));
        // SAFETY: a class whose objects are made nowhere else, and what `free` takes back.
        let wrap = || unsafe { rb_data_typed_object_wrap(class.as_raw(), data.cast(), TYPE.as_ptr()) };
        match protect(wrap) {
            // SAFETY: an object that was just made.
            Ok(value) => Ok(Self(unsafe { Value::from_raw(value) })),
            Err(error) => {
                // SAFETY: leaked above, and no object has it.
                drop(unsafe { Box::from_raw(data) });
                Err(error.into())
            }
        }
    }

    /// The array, read-only where the object is frozen. Another handle: what Ruby code does meanwhile changes nothing about it.
    pub(crate) fn array(self) -> Result<DArray> {
        let array = self.look()?.clone();
        Ok(if self.0.is_frozen() { array.into_readonly() } else { array })
    }

    /// The array, for as long as no Ruby code can run (Handle 1).
    pub(crate) fn look<'a>(self) -> Result<&'a DArray> {
        let loan = find(self.0.as_raw()).and_then(Handle::loan);
        loan.map(StandingLoan::array).ok_or_else(|| {
            Failure::ours(
                &Ruby::get_with(self.0),
                "the array was released: nothing can be read from it any more",
            )
        })
    }

    /// A view of this array, or a part of it: of the same class.
    pub(crate) fn derived(self, ruby: &Ruby, array: DArray) -> Result<Self> {
        Self::new_as(ruby, self.0.class(), array)
    }

    /// As the receiver of a method that Ruby calls directly.
    pub(crate) fn try_convert_raw(value: Value) -> Result<Self> {
        Ok(Self::try_convert(value)?)
    }

    pub(crate) fn is_frozen(self) -> bool {
        self.0.is_frozen()
    }

    /// # Errors
    ///
    /// `FrozenError`, where nothing may be written by this object.
    pub(crate) fn check_writable(self, ruby: &Ruby) -> Result<()> {
        let why = if self.0.is_frozen() {
            "it is frozen"
        } else if self.look()?.is_readonly() {
            "its memory is read-only; copy makes one that can be written"
        } else {
            return Ok(());
        };
        let text = format!("can't modify this {}: {why}", self.0.class());
        Err(Failure::Raised(magnus::Error::new(ruby.exception_frozen_error(), text)))
    }

    /// The object itself.
    pub(crate) fn as_value(self) -> Value {
        self.0
    }

    /// Gives the memory back, unless others have it. Where somebody has a view, it is given back when the object goes.
    pub(crate) fn release(ruby: &Ruby, this: Self) -> Result<()> {
        if this.0.is_frozen() {
            let text = "can't release a frozen Crossdock::Array: other Ractors may have it";
            return Err(Failure::Raised(magnus::Error::new(ruby.exception_frozen_error(), text)));
        }
        if let Some(handle) = find(this.0.as_raw()) {
            if handle.loan().is_some_and(StandingLoan::is_shown) {
                handle.is_over.set(true);
            } else if !handle.is_over.get() {
                // SAFETY: Handle 1: no reference is held across a call, and nobody else has an object that is not frozen.
                let loan = unsafe { &mut *handle.loan.get() }.take();
                drop(loan);
            }
        }
        keep::give_back();
        Ok(())
    }
}
