//! Threads and their names.

use std::ffi::{CStr, c_void};
use std::os::windows::io::{FromRawHandle, OwnedHandle};
use std::ptr;

use windows_sys::Win32::System::Threading::{
    CreateThread, GetCurrentThread, STACK_SIZE_PARAM_IS_A_RESERVATION, SetThreadDescription,
};

type Run = extern "C" fn(*mut c_void) -> *mut c_void;

/// Starts a thread that nothing waits for; `false` if it cannot be started.
///
/// # Safety
///
/// 1. The code of `run` stays loaded while the thread lives.
pub(crate) unsafe fn spawn(run: Run, stack: usize) -> bool {
    let (how, start) = (STACK_SIZE_PARAM_IS_A_RESERVATION, Some(on_thread as _));
    // SAFETY: null pointers request the defaults; `on_thread` gets the function that it expects,
    // and the code of both stays loaded (clause 1 of `# Safety`).
    let thread =
        unsafe { CreateThread(ptr::null(), stack, start, run as *const c_void, how, ptr::null_mut()) };
    if thread.is_null() {
        return false;
    }
    // SAFETY: the call returned `thread`, which is not null, so it is open, and nothing else owns
    // it. Closing it leaves the thread.
    drop(unsafe { OwnedHandle::from_raw_handle(thread) });
    true
}

unsafe extern "system" fn on_thread(run: *mut c_void) -> u32 {
    // SAFETY: `spawn` passes a function of this type.
    let run = unsafe { std::mem::transmute::<*mut c_void, Run>(run) };
    run(ptr::null_mut());
    0
}

/// Names the calling thread.
pub(crate) fn name_this_thread(name: &CStr) {
    let wide: Vec<u16> = name.to_string_lossy().encode_utf16().chain([0]).collect();
    // SAFETY: the call reads a string that ends in NUL, which `wide` is.
    unsafe { SetThreadDescription(GetCurrentThread(), wide.as_ptr()) };
}
