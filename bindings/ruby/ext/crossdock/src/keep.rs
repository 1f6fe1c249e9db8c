//! The Ruby objects that the library's memory keeps alive: marked and pinned while their memory is
//! lent, and released by a thread that holds Ruby's lock.
//!
//! ```text
//!   String, view of an object ── hold ──> root (marked by one hidden object) <── Held, the owner of a foreign buffer
//!                                                                                │ dropped: by a Ruby thread, a sweep, any thread
//!   given back at once, by a thread that may │ or queued, until its Ractor next makes an array <┘
//! ```
//!
//! The last handle on memory may go in a sweep, which must not allocate or call anything, on a
//! thread that is not Ruby's, or in another Ractor than the object's: then the release waits in a
//! queue. At the end of the process, an object may be gone before its borrower: then nothing is
//! released.
//!
//! Reasons: `DESIGN.md`, "The gem wraps foreign structs in its own".

use core::ffi::{c_int, c_void};
use std::num::NonZeroUsize;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use magnus::rb_sys::protect;
use rb_sys::{VALUE, rb_data_typed_object_wrap, rb_gc_mark, rb_gc_register_mark_object};

use crate::typed::{Functions, Type};

/// Called after a borrowed object was last used.
pub(crate) trait ObjectLease: Send {
    /// Called once, by a thread that holds Ruby's lock, outside of a sweep.
    fn give_back(&mut self, object: VALUE);
}

/// A place for a kept object. It is never freed, and is reused.
///
/// # Invariants
///
/// 1. `next` is only written before the root is in the list.
struct ObjectRoot {
    /// 0 if the root is free.
    object: AtomicUsize,
    next: *const ObjectRoot,
}

/// All roots.
static ROOTS: AtomicPtr<ObjectRoot> = AtomicPtr::new(ptr::null_mut());
/// Roots that are probably free, where the next search begins.
static HINT: AtomicPtr<ObjectRoot> = AtomicPtr::new(ptr::null_mut());
/// The number of roots that a search visits before it allocates another one.
const SEARCHED: usize = 16;

/// Leases that wait for a thread that may release them. Those of a Ractor that ended are never
/// released.
static QUEUE: AtomicPtr<Queued> = AtomicPtr::new(ptr::null_mut());
/// Whether the process is ending: from then on nothing is released.
static ENDING: AtomicBool = AtomicBool::new(false);

struct Queued {
    owed: Owed,
    next: *mut Queued,
}

/// A lease to release, and the Ractor for it.
struct Owed {
    root: &'static ObjectRoot,
    lease: Box<dyn ObjectLease>,
    home: NonZeroUsize,
}

/// A hold on an object: the object is marked, and not moved, until this is dropped and the lease
/// was released.
pub(crate) struct Held {
    root: &'static ObjectRoot,
    owed: Option<Owed>,
}

// SAFETY: on any thread, dropping it only uses the atomic root and the queue; the lease is released
// by a thread that holds the lock of the object's Ractor.
unsafe impl Send for Held {}

/// Keeps an object. To be called with Ruby's lock held, while the object is alive, in its Ractor.
pub(crate) fn hold(object: VALUE, lease: Option<Box<dyn ObjectLease>>) -> Held {
    let root = occupy(object as usize);
    Held { root, owed: lease.map(|lease| Owed { root, lease, home: ractor() }) }
}

/// The number of the current Ractor. To be called with Ruby's lock held.
fn ractor() -> NonZeroUsize {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    let key = KEY.load(Ordering::Acquire);
    // SAFETY: `KEY` holds the key that `init` created when the extension was loaded, and callers
    // hold Ruby's lock.
    let known = unsafe { rb_sys::rb_ractor_local_storage_ptr(key) }.addr();
    NonZeroUsize::new(known).unwrap_or_else(|| {
        let number = NonZeroUsize::new(NEXT.fetch_add(1, Ordering::Relaxed)).unwrap_or(NonZeroUsize::MIN);
        // SAFETY: `KEY` holds the key that `init` created; its type `NUMBER` neither marks nor
        // frees, so the value need not be an address.
        unsafe { rb_sys::rb_ractor_local_storage_ptr_set(key, ptr::without_provenance_mut(number.get())) };
        number
    })
}

/// The key under which each Ractor stores its number.
static KEY: AtomicPtr<rb_sys::rb_ractor_local_key_struct> = AtomicPtr::new(ptr::null_mut());

/// Numbers are neither marked nor freed.
static NUMBER: rb_sys::rb_ractor_local_storage_type =
    rb_sys::rb_ractor_local_storage_type { mark: None, free: None };

fn occupy(object: usize) -> &'static ObjectRoot {
    let head = ROOTS.load(Ordering::Acquire);
    let hint = HINT.load(Ordering::Acquire);
    let mut at: *const ObjectRoot = if hint.is_null() { head } else { hint };
    for _ in 0..SEARCHED {
        // SAFETY: `at` is null or points to a root, which was leaked by `Box::leak` and is never
        // freed.
        let Some(root) = (unsafe { at.as_ref() }) else { break };
        if root.object.compare_exchange(0, object, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            HINT.store(root.next.cast_mut(), Ordering::Release);
            return root;
        }
        at = root.next;
    }
    // The next search continues there, or starts again.
    HINT.store(at.cast_mut(), Ordering::Release);
    let root = Box::leak(Box::new(ObjectRoot { object: AtomicUsize::new(object), next: head }));
    let mut first = head;
    while let Err(now) = ROOTS.compare_exchange(first, root, Ordering::AcqRel, Ordering::Acquire) {
        first = now;
        root.next = now;
    }
    root
}

impl Drop for Held {
    fn drop(&mut self) {
        let Some(owed) = self.owed.take() else {
            self.root.object.store(0, Ordering::Release);
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
        // SAFETY: `queued` came from `Box::into_raw` above, and no other thread sees it before the
        // exchange succeeds.
        unsafe { (*queued).next = first };
        match QUEUE.compare_exchange(first, queued, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => return,
            Err(now) => first = now,
        }
    }
}

unsafe extern "C" {
    /// Whether this thread holds Ruby's lock. Threads that Ruby does not know may call it.
    fn ruby_thread_has_gvl_p() -> core::ffi::c_int;
}

fn may_give_back() -> bool {
    if ENDING.load(Ordering::Acquire) {
        return false;
    }
    // SAFETY: `ruby_thread_has_gvl_p` accepts every thread, and only reads the state of the calling
    // one.
    if unsafe { ruby_thread_has_gvl_p() } == 0 {
        return false;
    }
    // SAFETY: this thread holds Ruby's lock (checked just before), so the collector's state is
    // stable.
    let is_sweeping = unsafe { rb_sys::rb_during_gc() } != 0;
    !is_sweeping
}

fn finish(mut owed: Owed) {
    let object = owed.root.object.load(Ordering::Acquire) as VALUE;
    owed.lease.give_back(object);
    owed.root.object.store(0, Ordering::Release);
}

/// Releases the queued leases, if this thread may. A single load if there are none.
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
        // SAFETY: `queue` leaked the box, and the `swap` above took the whole list, so only this
        // thread has it.
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

/// Without write barrier protection, so that every collection marks it, also those of young
/// objects.
static KEEPER: Type = Type::new(c"Crossdock keeper", Functions { mark: Some(mark), ..Functions::NONE }, 0);

unsafe extern "C" fn mark(_: *mut c_void) {
    let mut at: *const ObjectRoot = ROOTS.load(Ordering::Acquire);
    // SAFETY: `at` is null or points to a root, which was leaked by `Box::leak` and is never freed.
    while let Some(root) = unsafe { at.as_ref() } {
        let object = root.object.load(Ordering::Acquire);
        if object != 0 {
            // SAFETY: the object was alive when `hold` stored it, and every collection since has
            // marked it here. `rb_gc_mark` pins it.
            unsafe { rb_gc_mark(object as VALUE) };
        }
        at = root.next;
    }
}

/// Called when the marking object is finalized, at the end of the process: after all `at_exit`
/// blocks, in which a program may still use arrays, and before the objects go.
unsafe extern "C" fn end(_: VALUE, _: VALUE, _: c_int, _: *const VALUE, _: VALUE) -> VALUE {
    ENDING.store(true, Ordering::Release);
    rb_sys::Qnil as VALUE
}

/// Creates the marking object. Called once, when the extension is loaded.
pub(crate) fn init() -> Result<(), magnus::Error> {
    protect(|| {
        // SAFETY: `NUMBER` is a static, so the type outlives the key.
        let key = unsafe { rb_sys::rb_ractor_local_storage_ptr_newkey(&NUMBER) };
        KEY.store(key, Ordering::Release);
        let class = &raw const rb_sys::rb_cObject;
        // SAFETY: Ruby initialises `rb_cObject` at start and never changes it, so the static can be
        // read.
        let class = unsafe { class.read() };
        // SAFETY: the functions of `KEEPER` ignore the data pointer, so it need not be an address;
        // it is not null, since Ruby does not mark objects with null data.
        let keeper =
            unsafe { rb_data_typed_object_wrap(class, ptr::without_provenance_mut(8), KEEPER.as_ptr()) };
        // SAFETY: `keeper` is the object that was just created; Ruby keeps registered objects until
        // the process ends.
        unsafe { rb_gc_register_mark_object(keeper) };
        // SAFETY: `end` has the signature of a block function and ignores all its arguments.
        let end = unsafe { rb_sys::rb_proc_new(Some(end), rb_sys::Qnil as VALUE) };
        // SAFETY: `keeper` is a live object on the heap, and `end` is a Proc, which responds to
        // `call`.
        unsafe { rb_sys::rb_define_finalizer(keeper, end) };
        keeper
    })?;
    Ok(())
}
