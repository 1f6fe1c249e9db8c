//! One load or store instruction for an access.
//!
//! # Safety
//!
//! For every function and the bytes that it accesses:
//!
//! 1. `src` is valid for reads of initialised bytes, `dst` for writes.
//! 2. Concurrent accesses to these bytes are those of clause 2 of [`load`](super::load).

use std::arch::asm;

macro_rules! access {
    ($load:ident, $store:ident, $ty:ty, $ldr:literal, $str:literal, $format:literal) => {
        #[inline]
        pub(super) unsafe fn $load(src: *const u8) -> $ty {
            let value: $ty;
            // SAFETY: clause 1 of this module's `# Safety`: `src` is readable for the size of
            // `$ty`. The instruction loads once, at any alignment.
            unsafe {
                asm!(concat!($ldr, " {", $format, "}, [{}]"), out(reg) value, in(reg) src,
                     options(nostack, readonly, preserves_flags));
            }
            value
        }

        #[inline]
        pub(super) unsafe fn $store(dst: *mut u8, value: $ty) {
            // SAFETY: clause 1 of this module's `# Safety`: `dst` is writable for the size of
            // `$ty`. The instruction stores once, at any alignment.
            unsafe {
                asm!(concat!($str, " {1", $format, "}, [{0}]"), in(reg) dst, in(reg) value,
                     options(nostack, preserves_flags));
            }
        }
    };
}

access!(load1, store1, u8, "ldrb", "strb", ":w");
access!(load2, store2, u16, "ldrh", "strh", ":w");
access!(load4, store4, u32, "ldr", "str", ":w");
access!(load8, store8, u64, "ldr", "str", ":x");

#[inline]
pub(super) unsafe fn copy(src: *const u8, dst: *mut u8, nbytes: usize) {
    let words = nbytes / 8;
    for index in 0..words {
        // SAFETY: clause 1 of this module's `# Safety`: `index < words`, so these 8 bytes lie
        // within the `nbytes` readable bytes at `src`.
        let word = unsafe { load8(src.wrapping_add(8 * index)) };
        // SAFETY: clause 1 of this module's `# Safety`: `index < words`, so these 8 bytes lie
        // within the `nbytes` writable bytes at `dst`.
        unsafe { store8(dst.wrapping_add(8 * index), word) }
    }
    for index in 8 * words..nbytes {
        // SAFETY: clause 1 of this module's `# Safety`: `index < nbytes`, so this byte is one
        // of the readable bytes at `src`.
        let byte = unsafe { load1(src.wrapping_add(index)) };
        // SAFETY: clause 1 of this module's `# Safety`: `index < nbytes`, so this byte is one
        // of the writable bytes at `dst`.
        unsafe { store1(dst.wrapping_add(index), byte) }
    }
}
