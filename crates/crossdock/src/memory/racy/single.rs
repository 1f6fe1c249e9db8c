//! Plain accesses, where one thread runs and no other process sees its memory.
//!
//! # Safety
//!
//! `src` is valid for reads of the accessed bytes, which are initialised, and `dst` for writes of
//! them. Nothing runs concurrently, so nothing races.

macro_rules! access {
    ($load:ident, $store:ident, $ty:ty) => {
        #[inline]
        pub(super) unsafe fn $load(src: *const u8) -> $ty {
            // SAFETY: this module's `# Safety`: `src` is readable for the size of `$ty`; the read
            // needs no alignment.
            unsafe { src.cast::<$ty>().read_unaligned() }
        }

        #[inline]
        pub(super) unsafe fn $store(dst: *mut u8, value: $ty) {
            // SAFETY: this module's `# Safety`: `dst` is writable for the size of `$ty`; the write
            // needs no alignment.
            unsafe { dst.cast::<$ty>().write_unaligned(value) }
        }
    };
}

access!(load1, store1, u8);
access!(load2, store2, u16);
access!(load4, store4, u32);
access!(load8, store8, u64);

#[inline]
pub(super) unsafe fn copy(src: *const u8, dst: *mut u8, nbytes: usize) {
    // SAFETY: this module's `# Safety`: `src` is readable and `dst` writable for `nbytes` bytes.
    // The ranges may overlap.
    unsafe { src.copy_to(dst, nbytes) }
}
