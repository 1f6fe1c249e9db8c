//! Calls that only tests make.

use std::mem::MaybeUninit;
use std::ptr::NonNull;

use windows_sys::Win32::System::Memory::{MEM_COMMIT, MEMORY_BASIC_INFORMATION, VirtualQuery};

/// Whether all of a range is mapped.
pub(crate) fn is_mapped(base: NonNull<u8>, nbytes: usize) -> bool {
    let mut found = MaybeUninit::<MEMORY_BASIC_INFORMATION>::zeroed();
    // SAFETY: the call accepts any address, and `found` is a record of the size that it is given.
    unsafe { VirtualQuery(base.as_ptr().cast(), found.as_mut_ptr(), size_of::<MEMORY_BASIC_INFORMATION>()) };
    // SAFETY: the record was zeroed before the call; zero is a value of every field.
    let found = unsafe { found.assume_init() };
    found.State == MEM_COMMIT && found.RegionSize >= nbytes
}

/// The system does not limit the addresses of a process.
pub(crate) fn limit_addresses(_: u64) -> bool {
    false
}
