//! Loops over atomic bytes, for any platform.
//!
//! # Safety
//!
//! For every function and the bytes that it accesses:
//!
//! 1. `src` is valid for reads of initialised bytes, `dst` for writes.
//! 2. Concurrent accesses to these bytes are those of clause 2 of [`load`](super::load).

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

unsafe fn load<const N: usize>(src: *const u8) -> [u8; N] {
    std::array::from_fn(|index| {
        let byte = src.wrapping_add(index).cast_mut();
        // SAFETY: clause 1 of this module's `# Safety`: `index < N`, so the byte is readable.
        // An atomic byte needs no alignment, and by clause 2 concurrent accesses are atomic,
        // too.
        unsafe { AtomicU8::from_ptr(byte) }.load(Relaxed)
    })
}

unsafe fn store<const N: usize>(dst: *mut u8, bytes: [u8; N]) {
    for (index, byte) in bytes.into_iter().enumerate() {
        // SAFETY: clause 1 of this module's `# Safety`: `index < N`, so the byte is writable.
        // An atomic byte needs no alignment, and by clause 2 concurrent accesses are atomic,
        // too.
        unsafe { AtomicU8::from_ptr(dst.wrapping_add(index)) }.store(byte, Relaxed);
    }
}

macro_rules! access {
    ($load:ident, $store:ident, $ty:ty) => {
        pub(super) unsafe fn $load(src: *const u8) -> $ty {
            // SAFETY: clauses 1 and 2 of this module's `# Safety`, for as many bytes as `$ty`
            // has, which `from_ne_bytes` makes `N`.
            <$ty>::from_ne_bytes(unsafe { load(src) })
        }

        pub(super) unsafe fn $store(dst: *mut u8, value: $ty) {
            // SAFETY: clauses 1 and 2 of this module's `# Safety`, for as many bytes as `$ty`
            // has, which `to_ne_bytes` makes `N`.
            unsafe { store(dst, value.to_ne_bytes()) }
        }
    };
}

access!(load1, store1, u8);
access!(load2, store2, u16);
access!(load4, store4, u32);
access!(load8, store8, u64);

pub(super) unsafe fn copy(src: *const u8, dst: *mut u8, nbytes: usize) {
    for index in 0..nbytes {
        // SAFETY: clause 1 of this module's `# Safety`: `index < nbytes`, so this byte is one
        // of the readable bytes at `src`.
        let byte = unsafe { load1(src.wrapping_add(index)) };
        // SAFETY: clause 1 of this module's `# Safety`: `index < nbytes`, so this byte is one
        // of the writable bytes at `dst`.
        unsafe { store1(dst.wrapping_add(index), byte) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_or_a_word_moves_just_its_bytes() {
        let src: Vec<u8> = (0..100).collect();
        for nbytes in 0..90 {
            let mut dst = vec![0u8; 100];
            // SAFETY: both vectors have more than `nbytes` bytes behind their first, and only this
            // thread accesses them.
            unsafe { copy(src.as_ptr().wrapping_add(1), dst.as_mut_ptr().wrapping_add(1), nbytes) };
            assert_eq!(&dst[1..=nbytes], &src[1..=nbytes], "{nbytes} bytes");
            assert_eq!((dst[0], dst[nbytes + 1]), (0, 0));
        }
        macro_rules! word {
            ($load:ident, $store:ident, $ty:ty) => {
                let mut dst = [0xA5u8; 10];
                let place = dst.as_mut_ptr().wrapping_add(1);
                // SAFETY: `src` has more than the 8 bytes that are read behind its first.
                let word = unsafe { $load(src.as_ptr().wrapping_add(1)) };
                // SAFETY: `dst` has 9 bytes from `place` on, and only this thread accesses it.
                unsafe { $store(place, word) };
                assert_eq!(word.to_ne_bytes(), src[1..=size_of::<$ty>()]);
                assert_eq!(dst[1..=size_of::<$ty>()], src[1..=size_of::<$ty>()]);
                assert_eq!((dst[0], dst[size_of::<$ty>() + 1]), (0xA5, 0xA5));
            };
        }
        word!(load1, store1, u8);
        word!(load2, store2, u16);
        word!(load4, store4, u32);
        word!(load8, store8, u64);
    }
}
