//! The process: its limits, user, forks and code.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use crate::memory::os::types::wide;

/// The user of this process.
pub(crate) fn user() -> u32 {
    // SAFETY: `geteuid` takes nothing and cannot fail.
    unsafe { libc::geteuid() }
}

/// The most bytes of a file that the process may make (`ulimit -f`).
pub(crate) fn file_limit() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: 0 };
    // SAFETY: `limit` is a record of the right type that lives until the call returns.
    unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) };
    // No file is longer than an offset can be.
    wide(limit.rlim_cur).min(libc::off_t::MAX as u64)
}

/// The descriptors that the process may have open.
pub(crate) fn descriptor_limit() -> usize {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a record of the right type that lives until the call returns.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX)
}

/// Has the system call the functions around each fork: in the parent before it, and after it in
/// both. `false`: out of memory.
///
/// # Safety
///
/// 1. The functions do only what is permitted around a fork of a process with several threads.
pub(crate) unsafe fn at_fork(
    before: unsafe extern "C" fn(),
    in_parent: unsafe extern "C" fn(),
    in_child: unsafe extern "C" fn(),
) -> bool {
    // SAFETY: clause 1 of `# Safety`, and the functions have the required type.
    unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) == 0 }
}

/// Keeps the shared object that has a function loaded while the process lives. The main program
/// always stays loaded.
pub(crate) fn keep_loaded(function: fn()) {
    let mut found = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: `dladdr` accepts any address, and `found` is a record of the right type that the call
    // may write.
    let known = unsafe { libc::dladdr(function as *const c_void, found.as_mut_ptr()) } != 0;
    // SAFETY: the record was zeroed before the call, and every field of it is a pointer, for which
    // null is a value.
    let name = unsafe { found.assume_init() }.dli_fname;
    if known && !name.is_null() {
        // SAFETY: `name` is not null, so `dladdr` set it to the loader's C string. `RTLD_NOLOAD`
        // opens only what is loaded already, so none of its code runs.
        let _stays = unsafe { libc::dlopen(name, libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE) };
    }
}

/// A monotonic clock, in milliseconds.
pub(crate) fn milliseconds() -> u64 {
    let mut now = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: `now` is a record of the right type that lives until the call returns.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, now.as_mut_ptr()) };
    // SAFETY: the record was zeroed before the call, and both of its fields are numbers, for which
    // zero is a value.
    let now = unsafe { now.assume_init() };
    wide(now.tv_sec.unsigned_abs()) * 1000 + wide(now.tv_nsec.unsigned_abs()) / 1_000_000
}
