//! The code of the process.

use std::ffi::c_void;
use std::ptr;

use windows_sys::Win32::System::LibraryLoader::{
    GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, GET_MODULE_HANDLE_EX_FLAG_PIN, GetModuleHandleExW,
};

pub(crate) use crate::memory::os::basic::process::*;

/// Keeps the library that has a function loaded while the process lives.
pub(crate) fn keep_loaded(function: fn()) {
    let how = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN;
    let mut module = ptr::null_mut();
    let address = (function as *const c_void).cast();
    // SAFETY: with the first flag the call takes any address for the name, and writes the module to
    // the local.
    let _stays = unsafe { GetModuleHandleExW(how, address, &raw mut module) };
}
