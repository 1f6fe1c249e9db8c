//! One load or store instruction for an access, on processors whose registers have at most 8 bytes.
//!
//! # Safety
//!
//! For every function and the bytes that it accesses:
//!
//! 1. `src` is valid for reads of initialised bytes, `dst` for writes.
//! 2. Concurrent accesses to these bytes are those of clause 2 of [`load`](super::load).

use std::arch::asm;

/// The widest access of one instruction.
type Word = usize;

/// Whether an access may have any alignment. Where it may not, or would be emulated by the kernel,
/// words that are not aligned are accessed byte by byte. (ARM processors before version 6 cannot;
/// they have no atomic 64 bits either.)
const ANY_ALIGNMENT: bool = match () {
    () if cfg!(any(target_arch = "riscv64", target_arch = "loongarch64")) => false,
    () if cfg!(target_arch = "arm") => cfg!(target_has_atomic = "64"),
    () => true,
};

macro_rules! access {
    ($load:ident, $store:ident, $ty:ty, $class:ident, $address:ident, $read:literal, $write:literal) => {
        #[inline]
        pub(in crate::memory::racy) unsafe fn $load(src: *const u8) -> $ty {
            if !ANY_ALIGNMENT && !src.addr().is_multiple_of(size_of::<$ty>()) {
                // SAFETY: clause 1 of this module's `# Safety`: each index is below the size of
                // `$ty`, for which `src` is readable.
                let byte = |index| unsafe { load1(src.wrapping_add(index)) };
                return <$ty>::from_ne_bytes(std::array::from_fn(byte));
            }
            let value: $ty;
            // SAFETY: clause 1 of this module's `# Safety`: `src` is readable for the size of
            // `$ty`. The instruction loads once, at this alignment.
            unsafe {
                asm!($read, out($class) value, in($address) src,
                     options(nostack, readonly, preserves_flags));
            }
            value
        }

        #[inline]
        pub(in crate::memory::racy) unsafe fn $store(dst: *mut u8, value: $ty) {
            if !ANY_ALIGNMENT && !dst.addr().is_multiple_of(size_of::<$ty>()) {
                for (index, byte) in value.to_ne_bytes().into_iter().enumerate() {
                    // SAFETY: clause 1 of this module's `# Safety`: `index` is below the size of
                    // `$ty`, for which `dst` is writable.
                    unsafe { store1(dst.wrapping_add(index), byte) };
                }
                return;
            }
            // SAFETY: clause 1 of this module's `# Safety`: `dst` is writable for the size of
            // `$ty`. The instruction stores once, at this alignment.
            unsafe {
                asm!($write, in($class) value, in($address) dst, options(nostack, preserves_flags));
            }
        }
    };
}

#[cfg(target_arch = "s390x")]
mod instructions {
    use super::*;

    access!(load1, store1, u8, reg, reg_addr, "llgc {}, 0({})", "stc {}, 0({})");
    access!(load2, store2, u16, reg, reg_addr, "llgh {}, 0({})", "sth {}, 0({})");
    access!(load4, store4, u32, reg, reg_addr, "llgf {}, 0({})", "st {}, 0({})");
    access!(load8, store8, u64, reg, reg_addr, "lg {}, 0({})", "stg {}, 0({})");
}

#[cfg(target_arch = "powerpc64")]
mod instructions {
    use super::*;

    access!(load1, store1, u8, reg, reg_nonzero, "lbz {}, 0({})", "stb {}, 0({})");
    access!(load2, store2, u16, reg, reg_nonzero, "lhz {}, 0({})", "sth {}, 0({})");
    access!(load4, store4, u32, reg, reg_nonzero, "lwz {}, 0({})", "stw {}, 0({})");
    access!(load8, store8, u64, reg, reg_nonzero, "ld {}, 0({})", "std {}, 0({})");
}

#[cfg(target_arch = "riscv64")]
mod instructions {
    use super::*;

    access!(load1, store1, u8, reg, reg, "lbu {}, 0({})", "sb {}, 0({})");
    access!(load2, store2, u16, reg, reg, "lhu {}, 0({})", "sh {}, 0({})");
    access!(load4, store4, u32, reg, reg, "lwu {}, 0({})", "sw {}, 0({})");
    access!(load8, store8, u64, reg, reg, "ld {}, 0({})", "sd {}, 0({})");
}

#[cfg(target_arch = "loongarch64")]
mod instructions {
    use super::*;

    access!(load1, store1, u8, reg, reg, "ld.bu {}, {}, 0", "st.b {}, {}, 0");
    access!(load2, store2, u16, reg, reg, "ld.hu {}, {}, 0", "st.h {}, {}, 0");
    access!(load4, store4, u32, reg, reg, "ld.wu {}, {}, 0", "st.w {}, {}, 0");
    access!(load8, store8, u64, reg, reg, "ld.d {}, {}, 0", "st.d {}, {}, 0");
}

#[cfg(target_arch = "arm")]
mod instructions {
    use super::*;

    access!(load1, store1, u8, reg, reg, "ldrb {}, [{}]", "strb {}, [{}]");
    access!(load2, store2, u16, reg, reg, "ldrh {}, [{}]", "strh {}, [{}]");
    access!(load4, store4, u32, reg, reg, "ldr {}, [{}]", "str {}, [{}]");
}

#[cfg(target_arch = "x86")]
mod instructions {
    use super::*;

    access!(load1, store1, u8, reg_byte, reg, "mov {}, [{}]", "mov [{1}], {0}");
    access!(load2, store2, u16, reg, reg, "mov {:x}, [{}]", "mov [{1}], {0:x}");
    access!(load4, store4, u32, reg, reg, "mov {}, [{}]", "mov [{1}], {0}");
}

pub(super) use instructions::*;

/// Two words, in an unspecified order.
#[cfg(not(target_pointer_width = "64"))]
#[inline]
pub(super) unsafe fn load8(src: *const u8) -> u64 {
    // SAFETY: clause 1 of this module's `# Safety`: these are the first 4 of 8 readable bytes.
    let first = unsafe { load4(src) };
    // SAFETY: clause 1 of this module's `# Safety`: these are the last 4 of 8 readable bytes.
    let second = unsafe { load4(src.wrapping_add(4)) };
    let (low, high) = if cfg!(target_endian = "little") { (first, second) } else { (second, first) };
    u64::from(high) << 32 | u64::from(low)
}

#[cfg(not(target_pointer_width = "64"))]
#[inline]
pub(super) unsafe fn store8(dst: *mut u8, value: u64) {
    let (low, high) = (value as u32, (value >> 32) as u32);
    let (first, second) = if cfg!(target_endian = "little") { (low, high) } else { (high, low) };
    // SAFETY: clause 1 of this module's `# Safety`: these are the first 4 of 8 writable bytes.
    unsafe { store4(dst, first) };
    // SAFETY: clause 1 of this module's `# Safety`: these are the last 4 of 8 writable bytes.
    unsafe { store4(dst.wrapping_add(4), second) };
}

#[cfg(not(target_pointer_width = "64"))]
use instructions::{load4 as load_word, store4 as store_word};
#[cfg(target_pointer_width = "64")]
use instructions::{load8 as load_word, store8 as store_word};

/// Loads four words before it stores the first, so that the loads need not wait for the stores.
/// Source and destination that are not equally aligned are copied in smaller words, down to bytes,
/// where an access must be aligned.
pub(super) unsafe fn copy(src: *const u8, dst: *mut u8, nbytes: usize) {
    const WORD: usize = size_of::<Word>();
    let one = |at: usize| {
        // SAFETY: clause 1 of this module's `# Safety`: `at` is below `nbytes` in all calls below.
        let byte = unsafe { load1(src.wrapping_add(at)) };
        // SAFETY: clause 1 of this module's `# Safety`: `at` is below `nbytes` in all calls below.
        unsafe { store1(dst.wrapping_add(at), byte) };
    };
    let head = if ANY_ALIGNMENT { 0 } else { (src.addr().wrapping_neg() % WORD).min(nbytes) };
    (0..head).for_each(one);
    let mut done = head;
    if ANY_ALIGNMENT || (src.addr() ^ dst.addr()).is_multiple_of(WORD) {
        while done + 4 * WORD <= nbytes {
            // SAFETY: clause 1 of this module's `# Safety`: `done + 4 * WORD <= nbytes`, so all
            // four words lie within the readable bytes at `src`.
            let words = [0, 1, 2, 3].map(|at| unsafe { load_word(src.wrapping_add(done + at * WORD)) });
            for (at, word) in words.into_iter().enumerate() {
                // SAFETY: clause 1 of this module's `# Safety`: `done + 4 * WORD <= nbytes`, so all
                // four words lie within the writable bytes at `dst`.
                unsafe { store_word(dst.wrapping_add(done + at * WORD), word) };
            }
            done += 4 * WORD;
        }
    }
    while done + WORD <= nbytes {
        // SAFETY: clause 1 of this module's `# Safety`: `done + WORD <= nbytes`, so the word lies
        // within the readable bytes at `src`.
        let word = unsafe { load_word(src.wrapping_add(done)) };
        // SAFETY: clause 1 of this module's `# Safety`: `done + WORD <= nbytes`, so the word lies
        // within the writable bytes at `dst`.
        unsafe { store_word(dst.wrapping_add(done), word) };
        done += WORD;
    }
    (done..nbytes).for_each(one);
}
