//! Keeps this shared object loaded: a thread or a signal handler may be running its code.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering};

/// Keeps the shared object that contains this library loaded while the process lives. Call it
/// before starting the first thread and before installing a signal handler. The main program always
/// stays loaded.
pub(crate) fn stay_loaded() {
    // Not under a lock: a thread that a forked child does not have could hold it. Two threads may
    // both ask the loader, which returns the same answer twice.
    static ASKED: AtomicBool = AtomicBool::new(false);
    if ASKED.load(Ordering::Relaxed) {
        return;
    }
    let own: fn() = stay_loaded;
    let mut found = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: `dladdr` accepts any address, and `found` is a record of the right type that the call
    // may write.
    let known = unsafe { libc::dladdr(own as *const c_void, found.as_mut_ptr()) } != 0;
    // SAFETY: the record was zeroed before the call, and every field of it is a pointer, for which
    // null is a value.
    let name = unsafe { found.assume_init() }.dli_fname;
    if known && !name.is_null() {
        // SAFETY: `name` is not null, so `dladdr` set it to the loader's C string. `RTLD_NOLOAD`
        // opens only what is loaded already, so none of its code runs.
        let _stays = unsafe { libc::dlopen(name, libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE) };
    }
    ASKED.store(true, Ordering::Relaxed);
}
