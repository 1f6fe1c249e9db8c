//! `Crossdock::Array` as a Ruby object: a TypedData object around an array of the library.

use core::ffi::c_void;
use std::cell::{Cell, UnsafeCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crossdock::DArray;
use crossdock::bindings::memory_view::CachedExport;
use magnus::rb_sys::{AsRawValue, FromRawValue, protect};
use magnus::{IntoValue, RClass, Ruby, TryConvert, Value, method, prelude::*};
use rb_sys::rbimpl_typeddata_flags as Flags;
use rb_sys::{RTYPEDDATA_GET_DATA, RTYPEDDATA_P, RTYPEDDATA_TYPE, VALUE, rb_data_typed_object_wrap};

use crate::class::ARRAY;
use crate::error::{Failure, Result};
use crate::keep;
use crate::pressure::ReportedMemory;
use crate::typed::{Functions, Type};

/// The content of a `Crossdock::Array`.
///
/// # Invariants
///
/// 1. Only `release` takes the array out, and only `fill_in` puts one into an empty handle. Both
///    hold the lock of the Ractor that owns the object, and never touch a frozen object, which
///    other Ractors may have: a reference is valid until the next call that may run Ruby code.
pub(crate) struct Handle {
    content: UnsafeCell<Option<ArrayContent>>,
    /// Released while a consumer had a view: the export stays until the object goes.
    is_over: Cell<bool>,
}

/// An array with its exports, and the report of its memory to the collector: `None` if another
/// object reports it.
struct ArrayContent {
    export: CachedExport,
    kept: Option<Arc<ReportedMemory>>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        let data = self.data();
        if let Some(kept) = self.content.get_mut().as_ref().and_then(|content| content.kept.as_ref()) {
            kept.leave(data);
        }
    }
}

/// An array refers to no Ruby object: `keep` marks those that keep its memory alive.
static TYPE: Type = Type::new(
    c"Crossdock::Array",
    Functions { mark: None, free: Some(free), size: Some(size) },
    (Flags::RUBY_TYPED_FREE_IMMEDIATELY as VALUE)
        | (Flags::RUBY_TYPED_WB_PROTECTED as VALUE)
        | (Flags::RUBY_TYPED_FROZEN_SHAREABLE as VALUE),
);

/// An object without an array, like a released one, until `fill_in` gives it one.
unsafe extern "C" fn allocate(class: VALUE) -> VALUE {
    let handle = Handle { content: UnsafeCell::new(None), is_over: Cell::new(false) };
    let data = Box::into_raw(Box::new(handle));
    // SAFETY: a class whose objects are of this type, and a box that `free` takes back. If Ruby
    // raises for lack of memory, the box leaks.
    unsafe { rb_data_typed_object_wrap(class, data.cast(), TYPE.as_ptr()) }
}

/// Defines the class's allocator, for code that allocates objects before it fills them in.
pub(crate) fn init(class: RClass) -> std::result::Result<(), magnus::Error> {
    protect(|| {
        // SAFETY: `class` is a live class, and `allocate` returns new objects of the class that it
        // gets.
        unsafe { rb_sys::rb_define_alloc_func(class.as_raw(), Some(allocate)) };
        class.as_raw()
    })?;
    class.define_method("released?", method!(Wrapped::is_released, 0))?;
    class.define_private_method("fill_in", method!(Wrapped::fill_in, 1))
}

/// Called by the sweep, also at the end of the process, when other objects may be gone already.
unsafe extern "C" fn free(data: *mut c_void) {
    let _panicked = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: `data` is the box that `wrap` or `allocate` leaked, and the sweep frees each
        // object once.
        drop(unsafe { Box::from_raw(data.cast::<Handle>()) });
    }));
}

unsafe extern "C" fn size(data: *const c_void) -> rb_sys::size_t {
    // SAFETY: `data` is the box that `wrap` or `allocate` leaked, and the object is alive. By
    // Handle 1 the array stays, since no Ruby code runs meanwhile.
    let handle = unsafe { &*data.cast::<Handle>() };
    let own = handle.content().map_or(0, |ArrayContent { export, kept }| {
        let memory = kept.as_ref().map_or(0, |kept| kept.told_by(handle.data()));
        size_of_val(export.array()) + export.array().rank() * 2 * size_of::<usize>() + memory
    });
    (size_of::<Handle>() + own) as rb_sys::size_t
}

/// The handle of an object, if it is a `Crossdock::Array`. A few loads.
#[inline(always)]
pub(crate) fn find<'a>(value: VALUE) -> Option<&'a Handle> {
    if rb_sys::SPECIAL_CONST_P(value) {
        return None;
    }
    // SAFETY: `value` is no special constant (checked above), so it points to a live object on the
    // heap.
    if unsafe { rb_sys::RB_BUILTIN_TYPE(value) } != rb_sys::ruby_value_type::RUBY_T_DATA
        // SAFETY: the object has the type T_DATA (checked just before), which this function
        // requires.
        || !unsafe { RTYPEDDATA_P(value) }
        // SAFETY: the object is typed data (checked just before), so it has a type.
        || !core::ptr::eq(unsafe { RTYPEDDATA_TYPE(value) }, TYPE.as_ptr())
    {
        return None;
    }
    // SAFETY: the object is typed data, as the checks above confirmed.
    let data = unsafe { RTYPEDDATA_GET_DATA(value) };
    // SAFETY: the type is `TYPE`, so the data is null or the box that `wrap` or `allocate` leaked,
    // which lives as long as the object.
    unsafe { data.cast::<Handle>().as_ref() }
}

/// Whether an object is frozen.
pub(crate) fn is_frozen(value: VALUE) -> bool {
    // SAFETY: callers pass a live object: one that Ruby passed to them, or one that they found in
    // such an object.
    unsafe { Value::from_raw(value) }.is_frozen()
}

impl Handle {
    /// The content, unless it was taken out.
    #[inline(always)]
    fn content(&self) -> Option<&ArrayContent> {
        // SAFETY: Handle 1: the reference is used until the next call that may run Ruby code.
        unsafe { &*self.content.get() }.as_ref()
    }

    /// The array and its exports, unless it was released.
    #[inline(always)]
    pub(crate) fn export(&self) -> Option<&CachedExport> {
        self.content().filter(|_| !self.is_over.get()).map(|content| &content.export)
    }

    /// A number that distinguishes this object from others.
    fn data(&self) -> usize {
        core::ptr::from_ref(self).addr()
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
    /// The object, if it is a `Crossdock::Array`.
    pub(crate) fn of(value: Value) -> Option<Self> {
        find(value.as_raw()).map(|_| Self(value))
    }

    /// Whether there is no array to read: it was released, or not filled in.
    pub(crate) fn is_released(this: Self) -> bool {
        find(this.0.as_raw()).and_then(Handle::export).is_none()
    }

    /// Moves the array of another object into an object that was only allocated, as YAML does.
    pub(crate) fn fill_in(ruby: &Ruby, this: Self, other: Self) -> Result<()> {
        let content = ArrayContent { export: CachedExport::new(other.array()?), kept: other.kept() };
        let Some(handle) = find(this.0.as_raw()).filter(|handle| handle.content().is_none()) else {
            return Err(Failure::ours(ruby, "the array is there: only one that was allocated is filled in"));
        };
        if this.0.is_frozen() {
            let text = format!("can't fill in this {}: it is frozen", this.0.class());
            return Err(Failure::Raised(magnus::Error::new(ruby.exception_frozen_error(), text)));
        }
        // SAFETY: Handle 1: no reference is held across a call, and no other Ractor can have an
        // object that is not frozen.
        unsafe { *handle.content.get() = Some(content) };
        Ok(())
    }

    /// A new object around an array that owns its memory: the memory is reported to Ruby's
    /// collector.
    pub(crate) fn new(ruby: &Ruby, array: DArray) -> Result<Self> {
        Self::new_as(ruby, ruby.get_inner(&ARRAY), array)
    }

    /// Like `new`, with a class that is `Crossdock::Array` or a subclass.
    pub(crate) fn new_as(ruby: &Ruby, class: RClass, array: DArray) -> Result<Self> {
        let kept = ReportedMemory::of(&array)?;
        Self::wrap(ruby, class, array, kept)
    }

    /// A new object around an array whose memory the collector knows already: another object has
    /// reported it, or another Ruby object owns it.
    pub(crate) fn sharing(ruby: &Ruby, array: DArray, kept: Option<Arc<ReportedMemory>>) -> Result<Self> {
        Self::wrap(ruby, ruby.get_inner(&ARRAY), array, kept)
    }

    /// Like `sharing`, with a class that is `Crossdock::Array` or a subclass.
    pub(crate) fn wrap(
        _: &Ruby,
        class: RClass,
        array: DArray,
        kept: Option<Arc<ReportedMemory>>,
    ) -> Result<Self> {
        keep::give_back();
        let content = UnsafeCell::new(Some(ArrayContent { export: CachedExport::new(array), kept }));
        let handle = Box::new(Handle { content, is_over: Cell::new(false) });
        if let Some(kept) = handle.content().and_then(|content| content.kept.as_ref()) {
            // The first object on some memory reports its bytes.
            let _told = kept.told_by(handle.data());
        }
        let data = Box::into_raw(handle);
        // SAFETY: `class` is `Crossdock::Array` or a subclass, and `data` is a box, which `free`
        // drops.
        let wrap = || unsafe { rb_data_typed_object_wrap(class.as_raw(), data.cast(), TYPE.as_ptr()) };
        match protect(wrap) {
            // SAFETY: `rb_data_typed_object_wrap` just returned this object, and it is on the
            // stack.
            Ok(value) => Ok(Self(unsafe { Value::from_raw(value) })),
            Err(error) => {
                // SAFETY: `data` was leaked above, and the failed call created no object that would
                // free it.
                drop(unsafe { Box::from_raw(data) });
                Err(error.into())
            }
        }
    }

    /// The array, read-only if the object is frozen. It is a separate handle, which Ruby code
    /// cannot change meanwhile.
    pub(crate) fn array(self) -> Result<DArray> {
        let array = self.look()?.clone();
        Ok(if self.0.is_frozen() { array.into_readonly() } else { array })
    }

    /// The array, until the next call that may run Ruby code (Handle 1).
    pub(crate) fn look<'a>(self) -> Result<&'a DArray> {
        let export = find(self.0.as_raw()).and_then(Handle::export);
        export.map(CachedExport::array).ok_or_else(|| {
            Failure::ours(
                &Ruby::get_with(self.0),
                "the array was released: nothing can be read from it any more",
            )
        })
    }

    /// An array on the same memory, or on a part of it, with the same class.
    pub(crate) fn derived(self, ruby: &Ruby, array: DArray) -> Result<Self> {
        Self::wrap(ruby, self.0.class(), array, self.kept())
    }

    /// An array on new memory, with the same class.
    pub(crate) fn made(self, ruby: &Ruby, array: DArray) -> Result<Self> {
        Self::new_as(ruby, self.0.class(), array)
    }

    /// The report of this array's memory to the collector.
    pub(crate) fn kept(self) -> Option<Arc<ReportedMemory>> {
        find(self.0.as_raw()).and_then(Handle::content).and_then(|content| content.kept.clone())
    }

    /// The receiver of a method that Ruby calls without a wrapper.
    pub(crate) fn try_convert_raw(value: Value) -> Result<Self> {
        Ok(Self::try_convert(value)?)
    }

    pub(crate) fn is_frozen(self) -> bool {
        self.0.is_frozen()
    }

    /// # Errors
    ///
    /// `FrozenError` if the object is frozen.
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

    /// Releases the memory, unless other objects have it. While a consumer has a view, the release
    /// waits until the object goes.
    pub(crate) fn release(ruby: &Ruby, this: Self) -> Result<()> {
        if this.0.is_frozen() {
            let text = "can't release a frozen Crossdock::Array: other Ractors may have it";
            return Err(Failure::Raised(magnus::Error::new(ruby.exception_frozen_error(), text)));
        }
        if let Some(handle) = find(this.0.as_raw()) {
            if handle.export().is_some_and(CachedExport::is_shown) {
                handle.is_over.set(true);
            } else if !handle.is_over.get() {
                // SAFETY: Handle 1: no reference is held across a call, and only one Ractor, which
                // runs this thread, has an object that is not frozen.
                let content = unsafe { &mut *handle.content.get() }.take();
                if let Some(kept) = content.as_ref().and_then(|content| content.kept.as_ref()) {
                    kept.leave(handle.data());
                }
                drop(content);
            }
        }
        keep::give_back();
        Ok(())
    }
}
