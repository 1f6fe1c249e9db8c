//! Racy loads and stores of vector registers, as parts of kernels, and prefetches.
//!
//! Same meaning as in [`racy`](super): each access is one instruction that the compiler can neither
//! split, repeat nor reason about. Every instruction here works at any alignment. NEON is part of
//! every aarch64 CPU for which Rust has a standard library.

use std::arch::aarch64::{uint8x16_t, uint8x16x2_t};
use std::arch::asm;

/// Loads a register.
///
/// # Safety
///
/// 1. `src` is valid for reads of 16 initialised bytes.
/// 2. Concurrent accesses to these bytes are those of clause 2 of [`load`](super::load).
#[inline]
pub(crate) unsafe fn load16(src: *const u8) -> uint8x16_t {
    super::seen::read(src, 16);
    let value;
    // SAFETY: clause 1 of `# Safety`: `src` is readable for 16 bytes, at any alignment.
    unsafe {
        asm!("ldr {:q}, [{}]", out(vreg) value, in(reg) src, options(nostack, readonly, preserves_flags));
    }
    value
}

/// # Safety
///
/// 1. `dst` is valid for writes of 16 bytes.
/// 2. Concurrent accesses to these bytes are those of clause 2 of [`load`](super::load).
#[inline]
pub(crate) unsafe fn store16(dst: *mut u8, value: uint8x16_t) {
    super::seen::write(dst, 16);
    // SAFETY: clause 1 of `# Safety`: `dst` is writable for 16 bytes, at any alignment.
    unsafe {
        asm!("str {:q}, [{}]", in(vreg) value, in(reg) dst, options(nostack, preserves_flags));
    }
}

/// Loads two registers.
///
/// # Safety
///
/// 1. `src` is valid for reads of 32 initialised bytes.
/// 2. Concurrent accesses to these bytes are those of clause 2 of [`load`](super::load).
#[inline]
pub(crate) unsafe fn load32(src: *const u8) -> uint8x16x2_t {
    super::seen::read(src, 32);
    let (low, high);
    // SAFETY: clause 1 of `# Safety`: `src` is readable for 32 bytes, at any alignment.
    unsafe {
        asm!("ldp {:q}, {:q}, [{}]", out(vreg) low, out(vreg) high, in(reg) src,
             options(nostack, readonly, preserves_flags));
    }
    uint8x16x2_t(low, high)
}

macro_rules! store32 {
    ($(#[$doc:meta])* $name:ident, $instruction:literal) => {
        $(#[$doc])*
        ///
        /// # Safety
        ///
        /// 1. `dst` is valid for writes of 32 bytes.
        /// 2. Concurrent accesses to these bytes are those of clause 2 of [`load`](super::load).
        #[inline]
        pub(crate) unsafe fn $name(dst: *mut u8, value: uint8x16x2_t) {
            super::seen::write(dst, 32);
            // SAFETY: clause 1 of `# Safety`: `dst` is writable for 32 bytes, at any alignment.
            unsafe {
                asm!(concat!($instruction, " {:q}, {:q}, [{}]"), in(vreg) value.0, in(vreg) value.1,
                     in(reg) dst, options(nostack, preserves_flags));
            }
        }
    };
}

store32! {
    /// Stores two registers.
    store32, "stp"
}
store32! {
    /// Stores two registers with the hint that they are not read soon. Its order among other stores
    /// is the usual one.
    stream32, "stnp"
}

macro_rules! prefetch {
    ($(#[$doc:meta])* $name:ident, $operation:literal) => {
        $(#[$doc])*
        #[inline]
        pub(crate) fn $name(address: *const u8) {
            // SAFETY: the instruction is a hint: it never faults, and changes no state that a
            // program observes.
            unsafe {
                asm!(concat!("prfm ", $operation, ", [{}]"), in(reg) address,
                     options(nostack, preserves_flags, readonly));
            }
        }
    };
}

prefetch! {
    /// Prefetches the cache line at an address, which need not be readable.
    prefetch, "pldl1keep"
}
prefetch! {
    /// Like [`prefetch`], into the second cache only: for lines of which more share a set than the
    /// first one holds.
    prefetch_to_second, "pldl2keep"
}
prefetch! {
    /// Like [`prefetch`], for a line that will be written: no other CPU keeps it.
    prefetch_to_write, "pstl1keep"
}
