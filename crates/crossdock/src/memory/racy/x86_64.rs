//! One `mov` for an access, and a string instruction for a copy.
//!
//! # Safety
//!
//! For every function and the bytes that it accesses:
//!
//! 1. `src` is valid for reads of initialised bytes, `dst` for writes.
//! 2. Concurrent accesses to these bytes are those of clause 2 of [`load`](super::load).

use std::arch::asm;

macro_rules! access {
    ($load:ident, $store:ident, $ty:ty, $class:ident, $format:literal) => {
        #[inline]
        pub(super) unsafe fn $load(src: *const u8) -> $ty {
            let value: $ty;
            // SAFETY: clause 1 of this module's `# Safety`: `src` is readable for the size of
            // `$ty`. `mov` loads once, at any alignment.
            unsafe {
                asm!(concat!("mov {", $format, "}, [{}]"), out($class) value, in(reg) src,
                     options(nostack, readonly, preserves_flags));
            }
            value
        }

        #[inline]
        pub(super) unsafe fn $store(dst: *mut u8, value: $ty) {
            // SAFETY: clause 1 of this module's `# Safety`: `dst` is writable for the size of
            // `$ty`. `mov` stores once, at any alignment.
            unsafe {
                asm!(concat!("mov [{}], {", $format, "}"), in(reg) dst, in($class) value,
                     options(nostack, preserves_flags));
            }
        }
    };
}

access!(load1, store1, u8, reg_byte, "");
access!(load2, store2, u16, reg, ":x");
access!(load4, store4, u32, reg, ":e");
access!(load8, store8, u64, reg, "");

#[inline]
pub(super) unsafe fn copy(src: *const u8, dst: *mut u8, nbytes: usize) {
    // SAFETY: clause 1 of this module's `# Safety`: `src` is readable and `dst` writable for
    // `nbytes` bytes. The ABI keeps the direction flag clear, so both pointers ascend.
    unsafe {
        asm!("rep movsb", inout("rcx") nbytes => _, inout("rsi") src => _, inout("rdi") dst => _,
             options(nostack, preserves_flags));
    }
}
