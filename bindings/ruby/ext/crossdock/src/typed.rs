//! Constants for Ruby's data types.

use core::ffi::{CStr, c_void};
use core::mem::MaybeUninit;

use rb_sys::{VALUE, rb_data_type_t};

/// A data type of Ruby objects.
pub(crate) struct Type(rb_data_type_t);

// SAFETY: the value is never written, and contains only constants, static strings and functions.
unsafe impl Sync for Type {}

/// The functions that Ruby calls with the data of an object.
#[derive(Clone, Copy)]
pub(crate) struct Functions {
    pub(crate) mark: Option<unsafe extern "C" fn(*mut c_void)>,
    pub(crate) free: Option<unsafe extern "C" fn(*mut c_void)>,
    pub(crate) size: Option<unsafe extern "C" fn(*const c_void) -> rb_sys::size_t>,
}

impl Functions {
    pub(crate) const NONE: Self = Self { mark: None, free: None, size: None };
}

impl Type {
    /// A type of this name, with the flags of `rbimpl_typeddata_flags`.
    pub(crate) const fn new(name: &'static CStr, functions: Functions, flags: VALUE) -> Self {
        // Later versions of Ruby have more fields, which are zero.
        // SAFETY: all fields of `rb_data_type_t` are pointers, optional functions and integers, for
        // which zero is valid.
        let mut of_ruby: rb_data_type_t = unsafe { MaybeUninit::zeroed().assume_init() };
        of_ruby.wrap_struct_name = name.as_ptr();
        of_ruby.function.dmark = functions.mark;
        of_ruby.function.dfree = functions.free;
        of_ruby.function.dsize = functions.size;
        of_ruby.flags = flags;
        Self(of_ruby)
    }

    /// The type for Ruby's functions.
    #[inline(always)]
    pub(crate) const fn as_ptr(&'static self) -> *const rb_data_type_t {
        &raw const self.0
    }
}
