//! What the memory of others hangs on: buffers and objects of the interpreter, which are given back while it is held.
//!
//! Memory is released by whoever had it last, which may be a consumer's thread that does not hold the interpreter. What it has to give
//! back is queued then, and the interpreter asked for a moment. Once the interpreter is gone, nothing is given back.

use std::ffi::{c_int, c_void};
use std::mem;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use pyo3::ffi;
use pyo3::prelude::*;

use crate::entry::{self, Attached};

/// Something of the interpreter's that memory hangs on, and that is given back once, when this is dropped.
pub(crate) struct Owner(Option<Held>);

/// # Invariants
///
/// 1. A buffer was filled in by its exporter, and is not released yet.
/// 2. An object is referred to once for this.
enum Held {
    Buffer(Box<ffi::Py_buffer>),
    Object(NonNull<ffi::PyObject>),
}

// SAFETY: it goes from thread to thread as plain data, and is used by a thread that holds the interpreter.
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
        // SAFETY: boxed above, and not in a list yet.
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
    /// The buffer was filled in by its exporter, and is released by nobody else.
    pub(crate) unsafe fn buffer(buffer: Box<ffi::Py_buffer>) -> Self {
        Self(Some(Held::Buffer(buffer)))
    }

    /// Refers to an object once more.
    pub(crate) fn object(object: &Bound<'_, PyAny>) -> Self {
        Self(NonNull::new(object.clone().into_ptr()).map(Held::Object))
    }
}

impl Held {
    /// # Safety
    ///
    /// The thread holds the interpreter.
    unsafe fn give_back(self) {
        match self {
            // SAFETY: Held 1, while the interpreter is held.
            Self::Buffer(mut buffer) => unsafe { ffi::PyBuffer_Release(&mut *buffer) },
            // SAFETY: Held 2, while the interpreter is held.
            Self::Object(object) => unsafe { ffi::Py_DECREF(object.as_ptr()) },
        }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let Some(held) = self.0.take() else { return };
        // SAFETY: may be asked at any time, on any thread.
        if unsafe { ffi::Py_IsInitialized() } == 0 {
            mem::forget(held);
        } else if entry::is_attached() {
            // SAFETY: just asked.
            unsafe { held.give_back() };
        } else {
            push(held);
            ask();
        }
    }
}

/// Asks the interpreter to call [`called`], unless it has been asked.
fn ask() {
    if !IS_ASKED.swap(true, Ordering::AcqRel) {
        // SAFETY: may be called on any thread, attached or not.
        let failed = unsafe { ffi::Py_AddPendingCall(Some(called), ptr::null_mut()) } != 0;
        if failed {
            // Too many calls wait already: whoever comes next asks again.
            IS_ASKED.store(false, Ordering::Release);
        }
    }
}

extern "C" fn called(_: *mut c_void) -> c_int {
    // SAFETY: the interpreter calls, on the main thread.
    let _attached = unsafe { Attached::new() };
    give_back_waiting();
    0
}

/// Gives back what waits.
fn give_back_waiting() {
    IS_ASKED.store(false, Ordering::Release);
    // A release runs the exporter's code, so the list is taken first.
    for held in take_all() {
        // SAFETY: the caller of this is called by the interpreter.
        unsafe { held.give_back() };
    }
}
