//! What of Ruby's is kept alive by memory that the library has: marked and pinned while it is lent, and given back by a thread that has Ruby's lock.
//!
//! ```text
//!   String, view of an object ── hold ──> slot (marked by one hidden object) <── Held, the owner of a foreign buffer
//!                                                                                │ dropped: by a Ruby thread, a sweep, any thread
//!   given back at once, by a thread that may │ or queued, until its Ractor next makes an array <┘
//! ```
//!
//! The last handle on memory may go in a sweep, where nothing may be allocated or called, on a thread that is not Ruby's, or in another Ractor
//! than that of the object: then it waits.
//! Or at the end of the process, when what was lent may be gone before its borrower: then nothing is given back at all.

use core::ffi::{c_int, c_void};
use std::num::NonZeroUsize;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use magnus::rb_sys::protect;
use rb_sys::{VALUE, rb_data_typed_object_wrap, rb_gc_mark, rb_gc_register_mark_object};

use crate::typed::{Functions, Type};

/// How a borrowed object is told that it is not used any more.
pub(crate) trait Loan: Send {
    /// Called once, by a thread that has Ruby's lock, outside of a sweep.
    fn give_back(&mut self, object: VALUE);
}

/// A place where a kept object stands. Never freed, and used again.
///
/// # Invariants
///
/// 1. `next` is written before the slot is in the list, and never again.
struct Slot {
    /// 0 where it is free.
    object: AtomicUsize,
    next: *const Slot,
}

/// All slots that were ever made.
static SLOTS: AtomicPtr<Slot> = AtomicPtr::new(ptr::null_mut());
/// Slots that are likely to be free: where the next search begins.
static HINT: AtomicPtr<Slot> = AtomicPtr::new(ptr::null_mut());
/// How many slots a search looks at before it makes another one.
const SEARCHED: usize = 16;

/// Loans that wait for a thread that may give them back. A Ractor that ended gives nothing back any more.
static QUEUE: AtomicPtr<Queued> = AtomicPtr::new(ptr::null_mut());
/// Whether the process is about to end: from then on nothing is given back.
static ENDING: AtomicBool = AtomicBool::new(false);

struct Queued {
    owed: Owed,
    next: *mut Queued,
}

/// What is to be given back, and in which Ractor.
struct Owed {
    slot: &'static Slot,
    loan: Box<dyn Loan>,
    home: NonZeroUsize,
}

/// A hold on an object: it is marked, and stays where it is, until this is dropped and the object was given back.
pub(crate) struct Held {
    slot: &'static Slot,
    owed: Option<Owed>,
}

// SAFETY: whatever thread drops it, the loan is given back by one that has the lock of the object's Ractor; the slot is atomic.
unsafe impl Send for Held {}

/// Keeps an object. To be called with Ruby's lock, while the object is alive, in its Ractor.
pub(crate) fn hold(object: VALUE, loan: Option<Box<dyn Loan>>) -> Held {
    let slot = occupy(object as usize);
    Held { slot, owed: loan.map(|loan| Owed { slot, loan, home: ractor() }) }
}

/// A number of the Ractor that runs. With Ruby's lock.
fn ractor() -> NonZeroUsize {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    let key = KEY.load(Ordering::Acquire);
    // SAFETY: the key that `init` made.
    let known = unsafe { rb_sys::rb_ractor_local_storage_ptr(key) }.addr();
    NonZeroUsize::new(known).unwrap_or_else(|| {
        let number = NonZeroUsize::new(NEXT.fetch_add(1, Ordering::Relaxed)).unwrap_or(NonZeroUsize::MIN);
        // SAFETY: as above; what is kept is no address, and of a type that frees nothing.
        unsafe { rb_sys::rb_ractor_local_storage_ptr_set(key, ptr::without_provenance_mut(number.get())) };
        number
    })
}

/// By what each Ractor keeps its number.
static KEY: AtomicPtr<rb_sys::rb_ractor_local_key_struct> = AtomicPtr::new(ptr::null_mut());

/// Numbers are not marked, and not freed.
static NUMBER: rb_sys::rb_ractor_local_storage_type =
    rb_sys::rb_ractor_local_storage_type { mark: None, free: None };

fn occupy(object: usize) -> &'static Slot {
    let head = SLOTS.load(Ordering::Acquire);
    let hint = HINT.load(Ordering::Acquire);
    let mut at: *const Slot = if hint.is_null() { head } else { hint };
    for _ in 0..SEARCHED {
        // SAFETY: slots are never freed.
        let Some(slot) = (unsafe { at.as_ref() }) else { break };
        if slot.object.compare_exchange(0, object, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            HINT.store(slot.next.cast_mut(), Ordering::Release);
            return slot;
        }
        at = slot.next;
    }
    // The next search goes on from there, or begins anew.
    HINT.store(at.cast_mut(), Ordering::Release);
    let slot = Box::leak(Box::new(Slot { object: AtomicUsize::new(object), next: head }));
    let mut first = head;
    while let Err(now) = SLOTS.compare_exchange(first, slot, Ordering::AcqRel, Ordering::Acquire) {
        first = now;
        slot.next = now;
    }
    slot
}

impl Drop for Held {
    fn drop(&mut self) {
        let Some(owed) = self.owed.take() else {
            self.slot.object.store(0, Ordering::Release);
            return;
        };
        if may_give_back() && owed.home == ractor() {
            return finish(owed);
        }
        queue(Box::new(Queued { owed, next: ptr::null_mut() }));
    }
}

fn queue(queued: Box<Queued>) {
    let queued = Box::into_raw(queued);
    let mut first = QUEUE.load(Ordering::Relaxed);
    loop {
        // SAFETY: nobody else's until it is in the queue.
        unsafe { (*queued).next = first };
        match QUEUE.compare_exchange(first, queued, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => return,
            Err(now) => first = now,
        }
    }
}

unsafe extern "C" {
    /// Whether this thread has Ruby's lock; of a thread that Ruby does not know, too.
    fn ruby_thread_has_gvl_p() -> core::ffi::c_int;
}

fn may_give_back() -> bool {
    if ENDING.load(Ordering::Acquire) {
        return false;
    }
    // SAFETY: asks this thread about itself.
    if unsafe { ruby_thread_has_gvl_p() } == 0 {
        return false;
    }
    // SAFETY: with the lock.
    let is_sweeping = unsafe { rb_sys::rb_during_gc() } != 0;
    !is_sweeping
}

fn finish(mut owed: Owed) {
    let object = owed.slot.object.load(Ordering::Acquire) as VALUE;
    owed.loan.give_back(object);
    owed.slot.object.store(0, Ordering::Release);
}

/// Gives back what waits for a thread that may. One load where nothing does.
#[inline]
pub(crate) fn give_back() {
    if !QUEUE.load(Ordering::Relaxed).is_null() && may_give_back() {
        give_back_all();
    }
}

#[cold]
fn give_back_all() {
    let home = ractor();
    let mut next = QUEUE.swap(ptr::null_mut(), Ordering::Acquire);
    while !next.is_null() {
        // SAFETY: leaked by `queue`, and taken out of the queue by this thread alone.
        let queued = unsafe { Box::from_raw(next) };
        next = queued.next;
        if queued.owed.home == home {
            finish(queued.owed);
        } else {
            queue(queued);
        }
    }
}

// ===== the hidden object that marks

/// No write barrier: it is looked at in every collection, also in those of young objects.
static KEEPER: Type = Type::new(c"Crossdock keeper", Functions { mark: Some(mark), ..Functions::NONE }, 0);

unsafe extern "C" fn mark(_: *mut c_void) {
    let mut at: *const Slot = SLOTS.load(Ordering::Acquire);
    // SAFETY: slots are never freed.
    while let Some(slot) = unsafe { at.as_ref() } {
        let object = slot.object.load(Ordering::Acquire);
        if object != 0 {
            // SAFETY: an object that was alive when it was put there, and is marked since. Marked so, it does not move.
            unsafe { rb_gc_mark(object as VALUE) };
        }
        at = slot.next;
    }
}

/// Called when the object that marks is finalized, which is when the process ends: behind all of `at_exit`, where a program may still do
/// anything, and before the objects go.
unsafe extern "C" fn end(_: VALUE, _: VALUE, _: c_int, _: *const VALUE, _: VALUE) -> VALUE {
    ENDING.store(true, Ordering::Release);
    rb_sys::Qnil as VALUE
}

/// Makes the object that marks. Once, when the extension is loaded.
pub(crate) fn init() -> Result<(), magnus::Error> {
    protect(|| {
        // SAFETY: a type that stays.
        let key = unsafe { rb_sys::rb_ractor_local_storage_ptr_newkey(&NUMBER) };
        KEY.store(key, Ordering::Release);
        let class = &raw const rb_sys::rb_cObject;
        // SAFETY: Ruby's own.
        let class = unsafe { class.read() };
        // SAFETY: a type without data; what is not null is never read.
        let keeper =
            unsafe { rb_data_typed_object_wrap(class, ptr::without_provenance_mut(8), KEEPER.as_ptr()) };
        // SAFETY: an object, for ever.
        unsafe { rb_gc_register_mark_object(keeper) };
        // SAFETY: a function that looks at no argument.
        let end = unsafe { rb_sys::rb_proc_new(Some(end), rb_sys::Qnil as VALUE) };
        // SAFETY: an object, and what can be called.
        unsafe { rb_sys::rb_define_finalizer(keeper, end) };
        keeper
    })?;
    Ok(())
}
