//! The library's own threads.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use crate::memory::unload;

/// The stack, in bytes: addresses, of which a few KiB are touched, but for owners who do more when they are given memory back.
const STACK: usize = 2 << 20;

/// Starts a detached thread with all signals blocked; `false` where none can be had. Not one of the standard
/// library's, which end the process where there is no memory for their names.
pub(crate) fn spawn(run: extern "C" fn(*mut c_void) -> *mut c_void) -> bool {
    unload::stay_loaded();
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::zeroed();
    // SAFETY: valid for the call, which makes it whole.
    if unsafe { libc::pthread_attr_init(attributes.as_mut_ptr()) } != 0 {
        return false;
    }
    // SAFETY: initialised above. A system that wants more than this has its own size instead.
    let _own_size = unsafe { libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), STACK) };
    // SAFETY: initialised above.
    unsafe { libc::pthread_attr_setdetachstate(attributes.as_mut_ptr(), libc::PTHREAD_CREATE_DETACHED) };
    let mut blocked = MaybeUninit::<libc::sigset_t>::zeroed();
    let mut before = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: valid for the call.
    unsafe { libc::sigfillset(blocked.as_mut_ptr()) };
    // The thread begins with the mask of whoever starts it.
    // SAFETY: both are valid for the call, and the first is initialised.
    let masked =
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, blocked.as_ptr(), before.as_mut_ptr()) } == 0;
    let mut thread = MaybeUninit::<libc::pthread_t>::zeroed();
    // SAFETY: the attributes are initialised, and `run` is a function of code that stays loaded.
    let failed =
        unsafe { libc::pthread_create(thread.as_mut_ptr(), attributes.as_ptr(), run, std::ptr::null_mut()) };
    if masked {
        // SAFETY: written by the call above.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()) };
    }
    // SAFETY: initialised above, and used no more.
    unsafe { libc::pthread_attr_destroy(attributes.as_mut_ptr()) };
    failed == 0
}
