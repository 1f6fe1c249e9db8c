//! Threads.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;

/// The signals that an instruction of the thread itself raises. The system ends the process if such
/// a signal is blocked, and [`faults`](crate::memory::os::faults) handles the first.
const OWN_FAULTS: [libc::c_int; 5] = [libc::SIGBUS, libc::SIGSEGV, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP];

/// Starts a detached thread with all signals but those of its own faults blocked; `false` if it
/// cannot be started.
///
/// # Safety
///
/// 1. The code of `run` stays loaded while the thread lives.
pub(crate) unsafe fn spawn(run: extern "C" fn(*mut c_void) -> *mut c_void, stack: usize) -> bool {
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::zeroed();
    // SAFETY: `attributes` is a record of the right type that lives until the call returns, and
    // `pthread_attr_init` initialises it.
    if unsafe { libc::pthread_attr_init(attributes.as_mut_ptr()) } != 0 {
        return false;
    }
    // SAFETY: `attributes` was initialised above. A system that requires a larger stack keeps its
    // default size.
    let _own_size = unsafe { libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), stack) };
    // SAFETY: `attributes` was initialised above by `pthread_attr_init`, which succeeded, and it is
    // not destroyed yet.
    unsafe { libc::pthread_attr_setdetachstate(attributes.as_mut_ptr(), libc::PTHREAD_CREATE_DETACHED) };
    let mut blocked = MaybeUninit::<libc::sigset_t>::zeroed();
    let mut before = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: `blocked` is a record of the right type that lives until the call returns;
    // `sigfillset` initialises it.
    unsafe { libc::sigfillset(blocked.as_mut_ptr()) };
    for signal in OWN_FAULTS {
        // SAFETY: `blocked` was initialised above, and `signal` is a signal of this system.
        unsafe { libc::sigdelset(blocked.as_mut_ptr(), signal) };
    }
    // A new thread inherits the mask of the thread that starts it.
    // SAFETY: `blocked` was initialised above; `before` is a record of the right type that the call
    // may write.
    let masked =
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, blocked.as_ptr(), before.as_mut_ptr()) } == 0;
    let mut thread = MaybeUninit::<libc::pthread_t>::zeroed();
    // SAFETY: `attributes` was initialised above, `thread` may be written, and the code of `run`,
    // which accepts any pointer, stays loaded (clause 1 of `# Safety`).
    let failed =
        unsafe { libc::pthread_create(thread.as_mut_ptr(), attributes.as_ptr(), run, ptr::null_mut()) };
    if masked {
        // SAFETY: `pthread_sigmask` succeeded above (`masked`), so it wrote the previous mask to
        // `before`.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut()) };
    }
    // SAFETY: `attributes` was initialised above by `pthread_attr_init`, and this is its last use.
    unsafe { libc::pthread_attr_destroy(attributes.as_mut_ptr()) };
    failed == 0
}
