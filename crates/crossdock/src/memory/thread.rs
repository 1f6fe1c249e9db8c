//! The library's own threads.
//!
//! Reasons: `DESIGN.md`, "Threads exist only while there is work".

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::memory::os::{process, threads};

/// The stack in bytes. This reserves addresses; only a few KiB are touched, unless an owner does
/// much work when it frees memory.
const STACK: usize = 2 << 20;

/// Starts a detached thread with all signals but those of its own faults blocked; `false` if it
/// cannot be started. The standard library's threads end the process if there is no memory for
/// their names.
pub(crate) fn spawn(run: extern "C" fn(*mut c_void) -> *mut c_void) -> bool {
    stay_loaded();
    // SAFETY: clause 1 of `threads::spawn`: `run` is a function of this library, whose code
    // `stay_loaded` has just kept loaded while the process lives.
    unsafe { threads::spawn(run, STACK) }
}

/// Keeps the shared object that contains this library loaded while the process lives: a thread or a
/// signal handler may be running its code. Call it before starting the first thread and before
/// installing a signal handler.
pub(crate) fn stay_loaded() {
    // Not under a lock: a thread that a forked child does not have could hold it. Two threads may
    // both ask the loader, which returns the same answer twice.
    static ASKED: AtomicBool = AtomicBool::new(false);
    if !ASKED.load(Ordering::Relaxed) {
        process::keep_loaded(stay_loaded);
        ASKED.store(true, Ordering::Relaxed);
    }
}
