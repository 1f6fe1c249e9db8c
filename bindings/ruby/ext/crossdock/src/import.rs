//! The memory of any object that exports a MemoryView, as a zero-copy array. The view is released
//! after the last handle on the array.

use core::ffi::c_int;
use core::mem::MaybeUninit;

use crossdock::DArray;
use crossdock::bindings::memory_view::{self, Flags, View};
use magnus::rb_sys::{AsRawValue, protect};
use magnus::{RClass, RModule, Ruby, Value, function, kwargs, prelude::*};
use rb_sys::{VALUE, rb_memory_view_entry_t, rb_memory_view_get, rb_memory_view_release, rb_memory_view_t};

use crate::error::{CROSSDOCK, Failure, Result};
use crate::handle::Wrapped;
use crate::keep::{self, Held, ObjectLease};
use crate::producers::{self, Producer};

/// Whether an object's class has a producer of MemoryViews.
pub(crate) fn is_exporter(object: Value) -> bool {
    !matches!(producers::find(object.as_raw()), Ok(Producer::None | Producer::BasicObject) | Err(_))
}

/// The flags of the first request. Other requests follow only if a producer refuses some flags.
pub(crate) fn wanted(writable: bool) -> Flags {
    let flags = Flags::FORMAT | Flags::STRIDES | Flags::INDIRECT;
    if writable { flags | Flags::WRITABLE } else { flags }
}

/// The memory of an object, zero-copy: read-only, or writable.
pub(crate) fn array(ruby: &Ruby, object: Value, writable: bool) -> Result<DArray> {
    if let Some(own) = Wrapped::of(object) {
        let array = own.array()?;
        if !writable {
            return Ok(array.into_readonly());
        }
        own.check_writable(ruby)?;
        return Ok(array);
    }
    keep::give_back();
    let producer = producers::find(object.as_raw())?;
    let (view, held) = lent(ruby, object, producer, writable)?;
    let flags = if writable { Flags::WRITABLE | Flags::INDIRECT } else { Flags::INDIRECT };
    // SAFETY: the producer filled in the struct, and by the MemoryView protocol its memory stays
    // valid until `held` releases the view, which a Ruby thread does, whatever thread drops the
    // last handle.
    let array = unsafe { memory_view::adopt(&view, flags, move || drop(held)) };
    Ok(array?)
}

/// A view as its producer filled it in, and the hold on it.
fn lent(ruby: &Ruby, object: Value, producer: Producer, writable: bool) -> Result<(View, Held)> {
    // SAFETY: all fields of `rb_memory_view_t` are integers, a boolean and raw pointers, for which
    // zero is valid.
    let mut view = Box::new(unsafe { MaybeUninit::<rb_memory_view_t>::zeroed().assume_init() });
    let ways = [wanted(writable), if writable { Flags::WRITABLE } else { Flags::SIMPLE }, Flags::SIMPLE];
    for flags in ways {
        if let Some(released) = ask(ruby, object, producer, &mut view, flags.bits())? {
            // The producer's own choice of the object to keep alive.
            let pinned = if view.obj == 0 { object.as_raw() } else { view.obj };
            let pointer: *const rb_memory_view_t = &raw const *view;
            // SAFETY: `pointer` comes from the boxed, initialised struct; `export` asserts that it
            // has the layout of `View`.
            let copy = unsafe { pointer.cast::<View>().read() };
            let held = keep::hold(pinned, Some(Box::new(BorrowedView { view, by: released })));
            return Ok((copy, held));
        }
        // Discards what a producer wrote before it refused.
        // SAFETY: all fields of `rb_memory_view_t` are integers, a boolean and raw pointers, for
        // which zero is valid.
        *view = unsafe { MaybeUninit::zeroed().assume_init() };
    }
    let column: RClass = ruby.get_inner(&CROSSDOCK).const_get("Column")?;
    if object.is_kind_of(column) {
        // Raises the reason with the remedy.
        object.funcall::<_, _, Value>("array", ())?;
    }
    let asked = if writable { "a writable view" } else { "a view" };
    let text =
        format!("{} gave no MemoryView: neither for {}, nor for any", object.class(), wanted(writable));
    Err(Failure::refused(ruby, format!("{text}; {asked} was asked for")))
}

/// Requests a view from a producer. Returns how to release it, if the request succeeded.
fn ask(
    ruby: &Ruby,
    object: Value,
    producer: Producer,
    view: &mut rb_memory_view_t,
    flags: c_int,
) -> Result<Option<By>> {
    let raw = object.as_raw();
    let mut given = false;
    let by = match producer {
        Producer::None => {
            let text = format!("{} exports no MemoryView: no producer is registered for it", object.class());
            return Err(Failure::of_type(ruby, text));
        }
        Producer::BasicObject => {
            let text =
                "a BasicObject exports no MemoryView: Ruby's own search for its producer would not end well";
            return Err(Failure::of_type(ruby, text));
        }
        Producer::Registered(rb_memory_view_entry_t { get_func: None, .. }) => {
            let text = format!("the producer of {} has no function that gives a view", object.class());
            return Err(Failure::refused(ruby, text));
        }
        // Without this, Ruby would call the missing `available_p` function.
        Producer::Registered(rb_memory_view_entry_t {
            get_func: Some(get),
            available_p_func: None,
            release_func,
        }) => {
            protect(|| {
                // SAFETY: the producer registered `get` for the class of `raw`, which is alive, and
                // `view` is an empty struct; `protect` catches exceptions.
                given = unsafe { get(raw, view, flags) };
                raw
            })?;
            By::Producer(release_func)
        }
        Producer::Registered(_) | Producer::Hidden => {
            protect(|| {
                // SAFETY: the class of `raw` is below `BasicObject` (`producers`), and `view` is an
                // empty struct; `protect` catches exceptions.
                given = unsafe { rb_memory_view_get(raw, view, flags) };
                raw
            })?;
            By::Ruby
        }
    };
    Ok(given.then_some(by))
}

/// Who releases a view.
enum By {
    /// Ruby, which counted it.
    Ruby,
    /// The producer itself.
    Producer(rb_sys::rb_memory_view_release_func_t),
}

/// A view to release.
struct BorrowedView {
    view: Box<rb_memory_view_t>,
    by: By,
}

// SAFETY: only `give_back` uses the pointers, on a thread that holds Ruby's lock (`ObjectLease`).
unsafe impl Send for BorrowedView {}

impl ObjectLease for BorrowedView {
    fn give_back(&mut self, object: VALUE) {
        let view: *mut rb_memory_view_t = &raw mut *self.view;
        let released = protect(|| {
            match self.by {
                // SAFETY: `rb_memory_view_get` filled in this view; a lease is released once,
                // after the last handle on the memory went.
                By::Ruby => _ = unsafe { rb_memory_view_release(view) },
                By::Producer(None) => {}
                // SAFETY: this producer filled in the view for `object`, which the keeper marks; a
                // lease is released once.
                By::Producer(Some(release)) => _ = unsafe { release(object, view) },
            }
            rb_sys::Qnil as VALUE
        });
        // No caller could handle an exception of the producer: the running code made no request to
        // it.
        drop(released);
    }
}

/// The elements of an object that shares memory, to be copied, including an object that only has an
/// adapter, and an adapter that copies.
pub(crate) fn source(ruby: &Ruby, object: Value) -> Result<Option<DArray>> {
    if Wrapped::of(object).is_some() || is_exporter(object) {
        return array(ruby, object, false).map(Some);
    }
    if !is_source(ruby, object)? {
        return Ok(None);
    }
    let crossdock = ruby.get_inner(&CROSSDOCK);
    let adapted: Value = crossdock.funcall("view", (object, kwargs!("copy" => true)))?;
    let source = array(ruby, adapted, false)?;
    // A temporary object that Ruby code never sees. Its borrow is released with the array, not when
    // it is collected.
    if let Some(adapted) = Wrapped::of(adapted) {
        Wrapped::release(ruby, adapted)?;
    }
    Ok(Some(source))
}

/// Whether an object shares memory, or has an adapter.
pub(crate) fn is_source(ruby: &Ruby, object: Value) -> Result<bool> {
    if Wrapped::of(object).is_some() || is_exporter(object) {
        return Ok(true);
    }
    let adapters: RModule = ruby.get_inner(&CROSSDOCK).const_get("Adapters")?;
    Ok(!is_plain(object) && !adapters.funcall::<_, _, Value>("find", (object,))?.is_nil())
}

/// Whether an object is a number, a String or an Array, for which no adapter is tried.
pub(crate) fn is_plain(object: Value) -> bool {
    use rb_sys::ruby_value_type as Kind;
    let raw = object.as_raw();
    rb_sys::SPECIAL_CONST_P(raw)
        || matches!(
            // SAFETY: `raw` is no special constant (checked first), so it points to a live object
            // on the heap.
            unsafe { rb_sys::RB_BUILTIN_TYPE(raw) },
            Kind::RUBY_T_FLOAT
                | Kind::RUBY_T_BIGNUM
                | Kind::RUBY_T_RATIONAL
                | Kind::RUBY_T_COMPLEX
                | Kind::RUBY_T_STRING
                | Kind::RUBY_T_SYMBOL
                | Kind::RUBY_T_ARRAY
                | Kind::RUBY_T_HASH
        )
}

/// Like [`array`], as an object. It shares the report of a Crossdock array to the collector;
/// another object reports its own memory.
pub(crate) fn view(ruby: &Ruby, object: Value, writable: bool) -> Result<Wrapped> {
    let kept = Wrapped::of(object).and_then(Wrapped::kept);
    Wrapped::sharing(ruby, array(ruby, object, writable)?, kept)
}

pub(crate) fn init(_: &Ruby, module: RModule) -> std::result::Result<(), magnus::Error> {
    module.define_singleton_method("borrow", function!(view, 2))
}
