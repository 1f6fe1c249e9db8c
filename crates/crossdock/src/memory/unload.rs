//! A shared object whose code a thread runs, or the system calls for a signal, must never be unloaded.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering};

/// Keeps the shared object that contains this library loaded for as long as the process lives. To be called before the
/// first thread is started and before a signal handler is installed. The main program stays without being asked.
pub(crate) fn stay_loaded() {
    // Asked twice by two threads at once, the loader says the same twice. A lock could be held by a thread that a forked
    // child does not have.
    static ASKED: AtomicBool = AtomicBool::new(false);
    if ASKED.load(Ordering::Relaxed) {
        return;
    }
    let own: fn() = stay_loaded;
    let mut found = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: asks only; any address may be asked for, and the record is valid for the call.
    let known = unsafe { libc::dladdr(own as *const c_void, found.as_mut_ptr()) } != 0;
    // SAFETY: zeroed in full, and every field is a pointer that may be null.
    let name = unsafe { found.assume_init() }.dli_fname;
    if known && !name.is_null() {
        // SAFETY: a C string of the loader's own. What is loaded already is opened, so none of its code runs.
        let _stays = unsafe { libc::dlopen(name, libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE) };
    }
    ASKED.store(true, Ordering::Relaxed);
}
