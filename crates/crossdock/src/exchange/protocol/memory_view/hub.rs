//! Views are asked for, and given back: what stands between producers and consumers.

use core::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::memory_view::abi::{Class, Entry, View};
use crate::exchange::protocol::memory_view::flags::Flags;
use crate::exchange::protocol::memory_view::foreign::Foreign;
use crate::exchange::protocol::memory_view::loan::{Lender, Loan, Producer};
use crate::exchange::protocol::memory_view::object::{self, ArrayObject};
use crate::exchange::protocol::memory_view::records;
use crate::exchange::protocol::memory_view::state::Refused;
use crate::exchange::protocol::memory_view::{classes, last};

/// Asks for a view of an object, and fills it in. On success the view keeps to the flags, whatever the producer is; on refusal the
/// struct is as it was.
///
/// O(rank); of an array of this library one compare-and-swap, without a lock, and up to eight axes without a heap block.
///
/// # Errors
///
/// Where no producer is registered for the object's class (`is_unsupported`), where the producer says no (`is_refused`), or lies: as
/// numbers that contradict each other (`is_malformed`, `is_overflow`); where the view would not keep to the flags (`is_read_only`,
/// `is_layout`). An array of ours refuses what its leases forbid (`is_conflict`). The text is kept as the thread's
/// [`last_refusal`](super::last::last_refusal), too.
///
/// # Safety
///
/// `obj` is null, or an object, whose class and the classes it inherits from are there, and for which the producer of its class may
/// be called. `view` may be written.
#[inline]
pub unsafe fn get(obj: *mut c_void, view: *mut View, flags: Flags) -> Result<()> {
    // SAFETY: the caller's word.
    unsafe { try_get(obj, view, flags) }.inspect_err(last::keep)
}

/// # Safety
///
/// As for [`get`].
#[inline]
unsafe fn try_get(obj: *mut c_void, view: *mut View, flags: Flags) -> Result<()> {
    if obj.is_null() || view.is_null() {
        return Err(null(if obj.is_null() { "object" } else { "view" }));
    }
    // SAFETY: the caller's word.
    let class = unsafe { classes::of(obj) };
    if std::ptr::eq(class, object::class()) {
        // SAFETY: an object of this class is such an array (ArrayObject 1).
        let array = unsafe { &*obj.cast::<ArrayObject>() };
        // SAFETY: the caller's word.
        return array.lend(unsafe { &mut *view }, flags);
    }
    // SAFETY: the caller's word.
    unsafe { get_of_producer(obj, class, view, flags) }
}

/// # Safety
///
/// As for [`get`], with the object's class.
unsafe fn get_of_producer(
    obj: *mut c_void,
    class: *const Class,
    view: *mut View,
    flags: Flags,
) -> Result<()> {
    flags.check_known()?;
    // SAFETY: the caller's word.
    let entry = unsafe { classes::find(class) }?;
    let mut record = records::take()?;
    // SAFETY: the caller's word.
    let viewed = match unsafe { ask(obj, entry, record.loan(), view, flags) } {
        Ok(viewed) => viewed,
        // SAFETY: the caller's word.
        Err(error) => return Err(error.within(unsafe { classes::name(class) })),
    };
    let name = record.publish(viewed);
    // SAFETY: the caller's word.
    unsafe { (*view).reserved = name };
    Ok(())
}

/// Has the producer fill in the struct that the hub keeps, and makes of it what is for the consumer, but for the hub's own field; gives the
/// object that is viewed. If that is refused, the producer has it back, and the consumer's struct is as it was.
///
/// # Safety
///
/// As for [`get`], with the producer of the object's class.
#[inline]
unsafe fn ask(
    obj: *mut c_void,
    entry: &Entry,
    loan: &mut Loan,
    view: *mut View,
    flags: Flags,
) -> Result<*mut c_void> {
    let before = last::mark();
    if let Some(available) = entry.available {
        // SAFETY: the caller's word.
        if unsafe { available(obj) } == 0 {
            return Err(said_no("the object is not available for views now", "", before));
        }
    }
    let Some(get) = entry.get else {
        return Err(Error::new(Kind::Refused, "the producer has no `get`"));
    };
    loan.lent = View::EMPTY;
    // SAFETY: the caller's word; the struct is the record's own.
    if unsafe { get(obj, &raw mut loan.lent, flags.bits()) } == 0 {
        return Err(said_no(&format!("the producer gave no view for {flags}"), ", and no reason", before));
    }
    let viewed = if loan.lent.obj.is_null() { obj } else { loan.lent.obj };
    let producer = Producer { obj: viewed, release: entry.release };
    // SAFETY: the producer said that it filled the struct in.
    let foreign = unsafe { Foreign::read(&loan.lent) };
    match foreign.check(flags, loan) {
        Ok(items) => {
            // SAFETY: the caller's word.
            let view = unsafe { &mut *view };
            view.obj = viewed;
            foreign.fill_in(&items, loan, view);
            loan.lender = Lender::Producer(producer);
            Ok(viewed)
        }
        Err(error) => {
            // SAFETY: the producer gave this, and has not got it back.
            let _taken = unsafe { producer.take_back(&mut loan.lent) };
            Err(error)
        }
    }
}

/// A producer said no. It can give no reason, but where it passes questions on, to the hub and on this thread, it was told one itself.
#[cold]
#[inline(never)]
fn said_no(what: &str, silent: &str, before: last::Mark) -> Error {
    let text = match last::since(before) {
        Some(reason) => format!("{what}, and was refused itself: {reason}"),
        None => format!("{what}{silent}"),
    };
    Error::new(Kind::Refused, text)
}

impl Producer {
    /// Tells the producer that what it lent is not used any more: whether it took it back.
    ///
    /// # Safety
    ///
    /// The struct is the one that the producer filled in, and it was not taken back yet.
    unsafe fn take_back(self, lent: &mut View) -> bool {
        match self.release {
            // SAFETY: the caller's word.
            Some(release) => (unsafe { release(self.obj, lent) }) != 0,
            None => true,
        }
    }
}

/// Gives a view back: whether it was one that the hub gave and nobody had given back yet, not by another copy of the struct either. The
/// struct is empty then, so that nothing in it dangles.
///
/// What counts is the hub's own record. Whatever else was written into the struct, and whether the class still has its producer, the
/// producer gets the struct that it filled in. Where it says that it does not take that back, the view stays as it is, and `false` is
/// returned; it can be tried again.
///
/// `false` explains itself by [`last_refusal`](super::last::last_refusal).
///
/// # Safety
///
/// `view` is null or points to a struct. Nobody uses what the view leads to any more.
#[inline]
pub unsafe fn release(view: *mut View) -> bool {
    if view.is_null() {
        last::keep(&null("view"));
        return false;
    }
    // SAFETY: the caller's word.
    let reserved = unsafe { &raw mut (*view).reserved };
    // SAFETY: as above. Two threads may give back the same struct: this is the one field that both look at.
    let reserved = unsafe { AtomicPtr::from_ptr(reserved) };
    let name = reserved.load(Ordering::Relaxed);
    let mut claimed = match records::claim(name) {
        Ok(claimed) => claimed,
        Err(refused) => return not_released(refused),
    };
    let loan = claimed.loan();
    if let Lender::Producer(producer) = loan.lender {
        // SAFETY: the record keeps the struct that the producer filled in, and was claimed once.
        if !unsafe { producer.take_back(&mut loan.lent) } {
            return not_taken();
        }
    }
    claimed.retire();
    reserved.store(std::ptr::null_mut(), Ordering::Relaxed);
    // SAFETY: the caller's word: all of the struct but the last field, by the one thread that claimed the view.
    unsafe { view.cast::<Emptied>().write(Emptied::EMPTY) };
    true
}

/// All of a view that only the thread which released it writes.
#[repr(C)]
struct Emptied([u64; 13]);

impl Emptied {
    const EMPTY: Self = Self([0; 13]);
}

const _: () = assert!(size_of::<Emptied>() == std::mem::offset_of!(View, reserved));

#[cold]
#[inline(never)]
fn not_released(refused: Refused) -> bool {
    let text = match refused {
        Refused::Over => "the view, or a copy of it, was released before",
        Refused::Busy => {
            "the view is being released by another thread, or by the release that it is called in"
        }
        Refused::Unknown => "the view was not given by this hub, or was released before",
    };
    last::keep(&Error::new(Kind::Refused, text));
    false
}

#[cold]
#[inline(never)]
fn not_taken() -> bool {
    last::keep(&Error::new(
        Kind::Refused,
        "the producer did not take the view back: it is still held, and can be released again",
    ));
    false
}

#[cold]
fn null(what: &str) -> Error {
    Error::new(Kind::Malformed, format!("the pointer to the {what} is null"))
}

/// Whether it is worth asking for a view: there is a producer, and it does not say no. That promises nothing: [`get`] may refuse all the
/// same, for its flags or because something changed.
///
/// # Safety
///
/// As for [`get`].
pub unsafe fn available(obj: *mut c_void) -> bool {
    if obj.is_null() {
        return false;
    }
    // SAFETY: the caller's word.
    let class = unsafe { classes::of(obj) };
    if std::ptr::eq(class, object::class()) {
        return true;
    }
    // SAFETY: the caller's word.
    match unsafe { classes::find(class) } {
        Ok(Entry { available: Some(available), .. }) => {
            // SAFETY: the caller's word.
            (unsafe { available(obj) }) != 0
        }
        Ok(_) => true,
        Err(_) => false,
    }
}

/// How many views of an object are held: by the object that the producer put into the view, or otherwise by the one that was asked. O(views
/// that were ever held at a time): asking for views costs nothing for it.
pub fn exports(obj: *mut c_void) -> usize {
    records::count(obj)
}
