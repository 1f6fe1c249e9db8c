//! One load or store instruction for an access, and pairs of registers of 16 bytes for a copy.
//!
//! # Safety
//!
//! For every function and the bytes that it accesses:
//!
//! 1. `src` is valid for reads of initialised bytes, `dst` for writes.
//! 2. Concurrent accesses to these bytes are those of clause 2 of [`load`](super::load).

use std::arch::asm;

use crate::memory::racy::vector;

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

/// The bytes that one round of [`copy`] moves.
const ROUND: usize = 64;

#[inline]
pub(super) unsafe fn copy(src: *const u8, dst: *mut u8, nbytes: usize) {
    let whole = nbytes / ROUND * ROUND;
    if whole != 0 {
        // SAFETY: clause 1 of this module's `# Safety`: `src` is readable and `dst` writable for
        // `nbytes` bytes, of which each round takes the next 64; `whole` counts down to 0.
        unsafe {
            asm!(
                "2:",
                "ldp {a:q}, {b:q}, [{src}]",
                "ldp {c:q}, {d:q}, [{src}, #32]",
                "add {src}, {src}, #64",
                "subs {left}, {left}, #64",
                "stp {a:q}, {b:q}, [{dst}]",
                "stp {c:q}, {d:q}, [{dst}, #32]",
                "add {dst}, {dst}, #64",
                "b.ne 2b",
                src = inout(reg) src => _,
                dst = inout(reg) dst => _,
                left = inout(reg) whole => _,
                a = out(vreg) _,
                b = out(vreg) _,
                c = out(vreg) _,
                d = out(vreg) _,
                options(nostack),
            );
        }
    }
    let mut done = whole;
    macro_rules! step {
        ($bytes:literal, $load:path, $store:path) => {
            if nbytes & $bytes != 0 {
                // SAFETY: clause 1 of this module's `# Safety`: the bits of `nbytes` above this one
                // are done, so `done + $bytes` is at most `nbytes`.
                let value = unsafe { $load(src.wrapping_add(done)) };
                // SAFETY: clause 1 of this module's `# Safety`: the bits of `nbytes` above this one
                // are done, so `done + $bytes` is at most `nbytes`.
                unsafe { $store(dst.wrapping_add(done), value) };
                done += $bytes;
            }
        };
    }
    step!(32, vector::load32, vector::store32);
    step!(16, vector::load16, vector::store16);
    step!(8, load8, store8);
    step!(4, load4, store4);
    step!(2, load2, store2);
    step!(1, load1, store1);
    debug_assert_eq!(done, nbytes);
}
