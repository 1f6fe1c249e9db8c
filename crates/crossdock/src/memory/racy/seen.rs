//! Accesses by inline assembly, as the address sanitizer sees them. It instruments no assembly, so
//! with `--cfg crossdock_sanitized` its runtime is asked about the bytes before each access.
//! Otherwise these functions do nothing.

/// Ends the program with the sanitizer's report if one of these bytes must not be read.
#[inline(always)]
pub(super) fn read(src: *const u8, nbytes: usize) {
    #[cfg(crossdock_sanitized)]
    if let Some(byte) = runtime::forbidden(src, nbytes) {
        // SAFETY: the function takes any address, and does not return.
        unsafe { runtime::__asan_report_load_n(byte, 1) };
    }
    let _ = (src, nbytes);
}

/// Ends the program with the sanitizer's report if one of these bytes must not be written.
#[inline(always)]
pub(super) fn write(dst: *mut u8, nbytes: usize) {
    #[cfg(crossdock_sanitized)]
    if let Some(byte) = runtime::forbidden(dst, nbytes) {
        // SAFETY: the function takes any address, and does not return.
        unsafe { runtime::__asan_report_store_n(byte, 1) };
    }
    let _ = (dst, nbytes);
}

/// Like [`read`], for the bytes that `mask` selects, counted from `src`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn read_selected(src: *const u8, mask: u64) {
    #[cfg(crossdock_sanitized)]
    (0..64).filter(|at| mask >> at & 1 == 1).for_each(|at| read(src.wrapping_add(at), 1));
    let _ = (src, mask);
}

/// Like [`write`], for the bytes that `mask` selects, counted from `dst`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn write_selected(dst: *mut u8, mask: u64) {
    #[cfg(crossdock_sanitized)]
    (0..64).filter(|at| mask >> at & 1 == 1).for_each(|at| write(dst.wrapping_add(at), 1));
    let _ = (dst, mask);
}

#[cfg(crossdock_sanitized)]
mod runtime {
    use std::ffi::c_void;
    use std::ptr::NonNull;

    unsafe extern "C" {
        fn __asan_region_is_poisoned(start: *const c_void, nbytes: usize) -> *mut c_void;
        pub(super) fn __asan_report_load_n(start: NonNull<c_void>, nbytes: usize) -> !;
        pub(super) fn __asan_report_store_n(start: NonNull<c_void>, nbytes: usize) -> !;
    }

    /// The first of these bytes that no program may access.
    pub(super) fn forbidden(start: *const u8, nbytes: usize) -> Option<NonNull<c_void>> {
        if nbytes == 0 {
            return None;
        }
        // SAFETY: the function looks at what the sanitizer knows of these addresses, whatever they
        // are, and not at the bytes.
        NonNull::new(unsafe { __asan_region_is_poisoned(start.cast(), nbytes) })
    }
}
