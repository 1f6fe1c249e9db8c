//! Owners of imported memory: buffers and objects of the interpreter, which are released with the
//! GIL held.
//!
//! The last handle on memory may go on a consumer's thread that does not hold the GIL. Its owner is
//! then queued. The queue is released by the next import of memory on any thread, or by a pending
//! call, which the interpreter runs on its main thread alone. Once it is finalised, owners leak.
//!
//! Reasons: `DESIGN.md`, "Python references are released later".

use std::ffi::{c_int, c_void};
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use pyo3::ffi;
use pyo3::prelude::*;

use crate::entry::is_attached;
use crate::spare::Spare;

/// A buffer or reference of the interpreter that keeps memory alive. It is released once, after
/// this is dropped.
pub(crate) struct Owner(Option<Held>);

/// # Invariants
///
/// 1. A buffer was filled in by its exporter, and is not released yet. Its struct is a leaked box
///    that no other code uses.
/// 2. An object carries one reference for this value.
enum Held {
    Buffer(NonNull<ffi::Py_buffer>),
    Object(NonNull<ffi::PyObject>),
}

/// The structs of released buffers: leaked boxes.
static SPARE: Spare<ffi::Py_buffer> = Spare::new();

/// The empty struct for a request of a buffer. It stays at its address until the buffer is
/// released.
///
/// # Invariants
///
/// 1. It points to a leaked box that no other code uses.
pub(crate) struct Blank<'py>(NonNull<ffi::Py_buffer>, Python<'py>);

impl<'py> Blank<'py> {
    #[inline]
    pub(crate) fn new(py: Python<'py>) -> Self {
        // Not all zeros: that would be a call of `calloc`, which glibc serves without its cache of
        // small blocks.
        let empty = ffi::Py_buffer { readonly: 1, ..ffi::Py_buffer::new() };
        // SAFETY: clause 1 of `take`: `py` proves that the GIL is held.
        match unsafe { SPARE.take() }.and_then(NonNull::new) {
            Some(block) => {
                // SAFETY: Spare 1: the block is a leaked box without another user.
                unsafe { block.write(empty) };
                Self(block, py)
            }
            None => Self(NonNull::from(Box::leak(Box::new(empty))), py),
        }
    }

    /// The struct, for its exporter to fill in.
    pub(crate) fn as_ptr(&self) -> *mut ffi::Py_buffer {
        self.0.as_ptr()
    }
}

impl Drop for Blank<'_> {
    fn drop(&mut self) {
        // SAFETY: clauses 1 and 2 of `free`: Blank 1, and the token proves that the GIL is held.
        unsafe { free(self.0) };
    }
}

/// Frees the struct of a buffer.
///
/// # Safety
///
/// 1. It is a leaked box that no other code uses, and its buffer is released.
/// 2. This thread holds the GIL.
#[inline]
unsafe fn free(buffer: NonNull<ffi::Py_buffer>) {
    // SAFETY: clauses 1 and 2 of `keep` are those of `# Safety`: all blocks of this stack are
    // boxes.
    if let Err(buffer) = unsafe { SPARE.keep(buffer.as_ptr()) } {
        // SAFETY: clause 1 of `# Safety`: a leaked box that no other code uses.
        drop(unsafe { Box::from_raw(buffer) });
    }
}

// SAFETY: Held 1 and 2 hold on every thread; the interpreter's data is only accessed in
// `give_back`, whose caller holds the GIL.
unsafe impl Send for Held {}

/// References that wait for a thread with the GIL: a lock-free list, the newest first. A lock could
/// be held by another thread during a fork.
///
/// # Invariants
///
/// 1. It is null or a leaked box of [`Waiting`]; a thread that takes the head owns the whole list.
static WAITING: AtomicPtr<Waiting> = AtomicPtr::new(ptr::null_mut());

/// Whether a pending call is registered with the interpreter.
static IS_ASKED: AtomicBool = AtomicBool::new(false);

struct Waiting {
    held: Held,
    next: *mut Waiting,
}

fn push(held: Held) {
    let mut head = WAITING.load(Ordering::Relaxed);
    let waiting = Box::into_raw(Box::new(Waiting { held, next: head }));
    // Only the address of the head is used, so it does no harm if it was taken and has come back
    // (ABA).
    while let Err(now) = WAITING.compare_exchange_weak(head, waiting, Ordering::Release, Ordering::Relaxed) {
        head = now;
        // SAFETY: `waiting` came from `Box::into_raw` above, and no list contains it before the
        // exchange succeeds.
        unsafe { (*waiting).next = head };
    }
}

/// Takes all waiting references, the oldest first.
fn take_all() -> Vec<Held> {
    let mut list = Vec::new();
    let mut head = WAITING.swap(ptr::null_mut(), Ordering::Acquire);
    while !head.is_null() {
        // SAFETY: WAITING 1: a leaked box; the swap made this thread the owner of the list.
        let waiting = unsafe { Box::from_raw(head) };
        head = waiting.next;
        list.push(waiting.held);
    }
    list.reverse();
    list
}

impl Owner {
    /// # Safety
    ///
    /// 1. `buffer` was filled in by its exporter.
    /// 2. No other code releases it.
    pub(crate) unsafe fn buffer(buffer: Blank<'_>) -> Self {
        give_back_waiting(buffer.1);
        // Held 1 follows from Blank 1 and from clauses 1 and 2 of `# Safety`.
        Self(Some(Held::Buffer(ManuallyDrop::new(buffer).0)))
    }

    /// Takes a new reference to an object.
    pub(crate) fn object(object: &Bound<'_, PyAny>) -> Self {
        give_back_waiting(object.py());
        Self(NonNull::new(object.clone().into_ptr()).map(Held::Object))
    }
}

impl Held {
    /// # Safety
    ///
    /// This thread holds the GIL.
    unsafe fn give_back(self) {
        match self {
            Self::Buffer(buffer) => {
                // SAFETY: Held 1: a filled buffer that is not released yet; `# Safety`: the GIL is
                // held. `self` is consumed, so this happens once.
                unsafe { ffi::PyBuffer_Release(buffer.as_ptr()) };
                // SAFETY: clauses 1 and 2 of `free`: Held 1, the release just now, and `# Safety`.
                unsafe { free(buffer) };
            }
            // SAFETY: Held 2: `self` carries one reference; `# Safety`: the GIL is held. `self` is
            // consumed, so this happens once.
            Self::Object(object) => unsafe { ffi::Py_DECREF(object.as_ptr()) },
        }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let Some(held) = self.0.take() else { return };
        // SAFETY: Python documents `Py_IsInitialized` as callable at any time and on any thread.
        if unsafe { ffi::Py_IsInitialized() } == 0 {
            // Leaked: dropping `Held` frees nothing.
        } else if is_attached() {
            // SAFETY: `is_attached` just returned true, so this thread holds the GIL.
            unsafe { held.give_back() };
        } else {
            push(held);
            ask();
        }
    }
}

/// Registers [`called`] as a pending call, unless it is registered.
fn ask() {
    if !IS_ASKED.swap(true, Ordering::AcqRel) {
        // SAFETY: Python documents `Py_AddPendingCall` as callable without the GIL; `called` is
        // static and ignores its argument.
        let failed = unsafe { ffi::Py_AddPendingCall(Some(called), ptr::null_mut()) } != 0;
        if failed {
            // The interpreter's queue is full. The next release tries again.
            IS_ASKED.store(false, Ordering::Release);
        }
    }
}

extern "C" fn called(_: *mut c_void) -> c_int {
    IS_ASKED.store(false, Ordering::Release);
    // SAFETY: the interpreter runs pending calls with the GIL held.
    give_back_waiting(unsafe { Python::assume_attached() });
    0
}

/// Releases the queued references, which runs code of their exporters.
#[inline]
fn give_back_waiting(py: Python<'_>) {
    if !WAITING.load(Ordering::Relaxed).is_null() {
        give_back_all(py);
    }
}

#[cold]
fn give_back_all(_: Python<'_>) {
    // A release runs the exporter's code, so the list is taken first.
    for held in take_all() {
        // SAFETY: the token proves that the GIL is held.
        unsafe { held.give_back() };
    }
}
