//! Requests for views and their release: the part between producers and consumers.

use core::ffi::c_void;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::memory_view::abi::{Class, Entry, View};
use crate::exchange::protocol::memory_view::flags::Flags;
use crate::exchange::protocol::memory_view::foreign::ForeignView;
use crate::exchange::protocol::memory_view::object::{self, ArrayObject};
use crate::exchange::protocol::memory_view::records;
use crate::exchange::protocol::memory_view::state::ClaimError;
use crate::exchange::protocol::memory_view::view_lease::{Lender, ReleaseCall, ViewLease};
use crate::exchange::protocol::memory_view::{classes, last};

/// Requests a view of an object, and fills it in. On success the view meets the flags, whatever the
/// producer does; on refusal the struct is unchanged.
///
/// O(rank). For an array of this library: one compare-and-swap without a lock, and no heap block
/// for up to eight axes.
///
/// # Errors
///
/// `is_unsupported` if no producer is registered for the object's class; `is_refused` if the
/// producer refuses; `is_malformed` and `is_overflow` if its description contradicts itself;
/// `is_read_only` and `is_layout` if the view would not meet the flags. An array of this library
/// refuses what its leases forbid (`is_conflict`). The text also becomes the thread's
/// [`last_refusal`](super::last::last_refusal).
///
/// # Safety
///
/// 1. `obj` is null or points to an object. Its class is null or a class, and so is `super_` of
///    each class from which it inherits.
/// 2. The producer of its class may be called for it.
/// 3. `view` is null, or points to a struct that may be written and that no other code uses during
///    the call.
#[inline]
pub unsafe fn get(obj: *mut c_void, view: *mut View, flags: Flags) -> Result<()> {
    // SAFETY: clauses 1 to 3 of `# Safety` are those of `try_get`, for the same object and struct.
    unsafe { try_get(obj, view, flags) }.inspect_err(last::keep)
}

/// # Safety
///
/// The clauses of [`get`].
#[inline]
unsafe fn try_get(obj: *mut c_void, view: *mut View, flags: Flags) -> Result<()> {
    if obj.is_null() || view.is_null() {
        return Err(null(if obj.is_null() { "object" } else { "view" }));
    }
    // SAFETY: clause 1 of `get`: `obj` is not null (checked above), so it points to an object.
    let class = unsafe { classes::of(obj) };
    if std::ptr::eq(class, object::class()) {
        // SAFETY: ArrayObject 1: an object with the class of this library is an `ArrayObject`, and
        // clause 1 of `get` says that `obj` points to it.
        let array = unsafe { &*obj.cast::<ArrayObject>() };
        // SAFETY: clause 3 of `get`: `view` is not null (checked above), and no other code uses the
        // struct, which need not be initialised.
        return array.lend(unsafe { &mut *view.cast::<MaybeUninit<View>>() }, flags).map(|_| ());
    }
    // SAFETY: clauses 1 to 3 of `get` hold for the same object and struct, which are not null, and
    // `class` was read from the object.
    unsafe { get_of_producer(obj, class, view, flags) }
}

/// # Safety
///
/// 1. The clauses of [`get`], where `obj` and `view` are not null.
/// 2. `class` is the object's class.
unsafe fn get_of_producer(
    obj: *mut c_void,
    class: *const Class,
    view: *mut View,
    flags: Flags,
) -> Result<()> {
    flags.check_known()?;
    // SAFETY: clause 2 of `# Safety`, and clause 1 of `get`: `class` and the classes from which it
    // inherits are null or classes.
    let entry = unsafe { classes::find(class) }?;
    let mut record = records::take()?;
    // SAFETY: clause 1 of `# Safety` is that of `ask`, and `find` returned the producer of the
    // object's class.
    let viewed = match unsafe { ask(obj, entry, record.view_lease(), view, flags) } {
        Ok(viewed) => viewed,
        // SAFETY: clause 2 of `# Safety`, and clause 1 of `get`: `class` is null or points to a
        // class.
        Err(error) => return Err(error.within(unsafe { classes::name(class) })),
    };
    let name = record.publish(viewed);
    // SAFETY: clause 3 of `get`: `view` is not null here, and no other code uses the struct, so its
    // field may be written.
    unsafe { (*view).reserved = name };
    Ok(())
}

/// Calls the producer, which fills in the hub's struct, and fills in the consumer's struct from
/// that, except for the hub's private field. Returns the viewed object. On refusal the producer
/// gets its view back, and the consumer's struct is unchanged.
///
/// # Safety
///
/// 1. The clauses of [`get`], where `obj` and `view` are not null.
/// 2. `entry` is the producer of the object's class.
#[inline]
unsafe fn ask(
    obj: *mut c_void,
    entry: &Entry,
    view_lease: &mut ViewLease,
    view: *mut View,
    flags: Flags,
) -> Result<*mut c_void> {
    let before = last::mark();
    if let Some(available) = entry.available {
        // SAFETY: clause 2 of `# Safety`, and clause 2 of `get`: the callback belongs to the
        // producer of the object's class, which may be called for it.
        if unsafe { available(obj) } == 0 {
            return Err(said_no("the object exports no views at present", "", before));
        }
    }
    let Some(get) = entry.get else {
        return Err(Error::new(Kind::Refused, "the producer has no function get"));
    };
    view_lease.filled = View::EMPTY;
    // SAFETY: clause 2 of `# Safety`, and clause 2 of `get`: the producer may be called for the
    // object; the struct is the record's, borrowed by `view_lease` alone.
    if unsafe { get(obj, &raw mut view_lease.filled, flags.bits()) } == 0 {
        return Err(said_no(
            &format!("the producer refused a view for {flags}"),
            ", without a reason",
            before,
        ));
    }
    let viewed = if view_lease.filled.obj.is_null() { obj } else { view_lease.filled.obj };
    let producer = ReleaseCall { obj: viewed, release: entry.release };
    // SAFETY: the producer's `get` reported success, so by clauses 3 and 4 of `register` the struct
    // is filled in, and valid until its `release`.
    let foreign = unsafe { ForeignView::read(&view_lease.filled) };
    match foreign.check(flags, view_lease) {
        Ok(items) => {
            // SAFETY: clause 3 of `get`: `view` is not null here, and no other code uses the
            // struct, which may be written.
            unsafe { view.write(foreign.view(viewed, &items, view_lease)) };
            view_lease.lender = Lender::Producer(producer);
            Ok(viewed)
        }
        Err(error) => {
            // SAFETY: clauses 1 and 2 of `take_back`: the producer filled in `view_lease.filled`
            // above, and no other call has its view, so it was not released yet.
            let _taken = unsafe { producer.take_back(&mut view_lease.filled) };
            Err(error)
        }
    }
}

/// A producer refused. Its callback returns no reason, but if it forwards the request to the hub on
/// this thread, that refusal is the reason.
#[cold]
#[inline(never)]
fn said_no(what: &str, silent: &str, before: last::Mark) -> Error {
    match last::since(before) {
        Some(reason) => {
            let text = format!("{what}, since it was refused itself: {}", reason.fact());
            Error::new(Kind::Refused, text).advising(reason.advice())
        }
        None => Error::new(Kind::Refused, format!("{what}{silent}")),
    }
}

impl ReleaseCall {
    /// Releases the producer's view, and returns whether the producer accepted that.
    ///
    /// # Safety
    ///
    /// 1. `filled` is the struct that this producer filled in.
    /// 2. It was not released yet.
    unsafe fn take_back(self, filled: &mut View) -> bool {
        match self.release {
            // SAFETY: clauses 1 and 2 of `# Safety`: the callback gets the object and the struct of
            // a view that is not released, as clause 2 of `register` permits.
            Some(release) => (unsafe { release(self.obj, filled) }) != 0,
            None => true,
        }
    }
}

/// Releases a view, and returns whether it was one that the hub filled in and that was not released
/// before, also not by another copy of the struct. The struct is empty afterwards, so that nothing
/// in it dangles.
///
/// The hub's own record counts, whatever else was written into the struct: the producer gets the
/// struct that it filled in, even if the class lost its producer meanwhile. If the producer does
/// not accept the release, the view stays held, and `false` is returned; the release can be tried
/// again.
///
/// After `false`, [`last_refusal`](super::last::last_refusal) returns the reason.
///
/// # Safety
///
/// 1. `view` is null, or points to a struct that may be read and written. Other code accesses it
///    during the call only by this function.
/// 2. No code uses the memory of the view any more.
#[inline]
pub unsafe fn release(view: *mut View) -> bool {
    if view.is_null() {
        last::keep(&null("view"));
        return false;
    }
    // SAFETY: clause 1 of `# Safety`: `view` is not null (checked above), so it points to a struct
    // with this field.
    let reserved = unsafe { &raw mut (*view).reserved };
    // SAFETY: clause 1 of `# Safety`: the field is valid and aligned. Two threads may release the
    // same struct: this is the one field that both access, atomically.
    let reserved = unsafe { AtomicPtr::from_ptr(reserved) };
    let name = reserved.load(Ordering::Relaxed);
    let mut claimed = match records::claim(name) {
        Ok(claimed) => claimed,
        Err(refused) => return not_released(refused),
    };
    let view_lease = claimed.view_lease();
    if let Lender::Producer(producer) = view_lease.lender {
        // SAFETY: clauses 1 and 2 of `take_back`: the record holds the struct that the producer
        // filled in, and `claim` admits one call until the view is released.
        if !unsafe { producer.take_back(&mut view_lease.filled) } {
            return not_taken();
        }
    }
    claimed.retire();
    reserved.store(std::ptr::null_mut(), Ordering::Relaxed);
    // SAFETY: clause 1 of `# Safety`: the struct may be written. Only the call that claimed the
    // view writes these fields, which exclude `reserved`.
    unsafe { view.cast::<Emptied>().write(Emptied::EMPTY) };
    true
}

/// The fields of a view that only the releasing thread writes.
#[repr(C)]
struct Emptied([usize; EMPTIED]);

const EMPTIED: usize = std::mem::offset_of!(View, reserved) / size_of::<usize>();

impl Emptied {
    const EMPTY: Self = Self([0; EMPTIED]);
}

const _: () = assert!(size_of::<Emptied>() == std::mem::offset_of!(View, reserved));

#[cold]
#[inline(never)]
fn not_released(refused: ClaimError) -> bool {
    let text = match refused {
        ClaimError::Over => "the view, or a copy of it, was already released",
        ClaimError::Busy => "the view is being released by another thread, or by a call further up the stack",
        ClaimError::Unknown => "the view was not exported by this hub, or was already released",
    };
    last::keep(&Error::new(Kind::Refused, text));
    false
}

#[cold]
#[inline(never)]
fn not_taken() -> bool {
    last::keep(&Error::new(
        Kind::Refused,
        "the producer rejected the release of the view, which is still held; release it again later",
    ));
    false
}

#[cold]
fn null(what: &str) -> Error {
    Error::new(Kind::Malformed, format!("the pointer to the {what} is null"))
}

/// Whether a request may succeed: there is a producer, and it does not refuse. It is no promise:
/// [`get`] may still refuse, for its flags or after a change.
///
/// # Safety
///
/// Clauses 1 and 2 of [`get`].
pub unsafe fn available(obj: *mut c_void) -> bool {
    if obj.is_null() {
        return false;
    }
    // SAFETY: clause 1 of `get`: `obj` is not null (checked above), so it points to an object.
    let class = unsafe { classes::of(obj) };
    if std::ptr::eq(class, object::class()) {
        return true;
    }
    // SAFETY: clause 1 of `get`: the object's class and the classes from which it inherits are null
    // or classes.
    match unsafe { classes::find(class) } {
        Ok(Entry { available: Some(available), .. }) => {
            // SAFETY: clause 2 of `get`: the callback belongs to the producer of the object's
            // class, which may be called for it.
            (unsafe { available(obj) }) != 0
        }
        Ok(_) => true,
        Err(_) => false,
    }
}

/// The number of views of an object that are held: counted for the object that the producer put
/// into the view, or else the requested one. O(most views ever held at a time): requests themselves
/// do no counting.
pub fn exports(obj: *mut c_void) -> usize {
    records::count(obj)
}
