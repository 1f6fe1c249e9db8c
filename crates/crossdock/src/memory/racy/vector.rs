//! Racy access through vector registers, for kernels that have asked which ones there are.
//!
//! Like the words of [`crate::memory::racy`], each access is one instruction that the compiler can neither split, repeat
//! nor reason about, at any alignment unless it says otherwise. Where `--cfg crossdock_portable` or the model checker asks
//! for it, it is a loop over atomic bytes, so that sanitizers see what the kernels touch.

use std::arch::x86_64::{__m128i, __m256i, __m512i, _MM_HINT_T0, _mm_prefetch};

macro_rules! access {
    ($load:ident, $store:ident, $ty:ty, $class:ident, $feature:literal, $mov:literal) => {
        /// # Safety
        ///
        /// As for [`load`](crate::memory::racy::load), for as many bytes as the register has.
        #[inline]
        #[target_feature(enable = $feature)]
        pub(crate) unsafe fn $load(src: *const u8) -> $ty {
            #[cfg(any(crossdock_portable, loom))]
            {
                // SAFETY: the caller's word.
                let bytes = unsafe { super::load(src.cast::<[u8; size_of::<$ty>()]>()) };
                // SAFETY: as many bytes, every pattern of which is a value.
                unsafe { std::mem::transmute::<[u8; size_of::<$ty>()], $ty>(bytes) }
            }
            #[cfg(not(any(crossdock_portable, loom)))]
            {
                let value: $ty;
                // SAFETY: one load of readable bytes (the caller's word), at any alignment.
                unsafe {
                    std::arch::asm!(concat!($mov, " {}, [{}]"), out($class) value, in(reg) src,
                         options(nostack, readonly, preserves_flags));
                }
                value
            }
        }

        /// # Safety
        ///
        /// As for [`store`](crate::memory::racy::store), for as many bytes as the register has.
        #[inline]
        #[target_feature(enable = $feature)]
        pub(crate) unsafe fn $store(dst: *mut u8, value: $ty) {
            #[cfg(any(crossdock_portable, loom))]
            {
                // SAFETY: as many bytes, all initialised.
                let bytes = unsafe { std::mem::transmute::<$ty, [u8; size_of::<$ty>()]>(value) };
                // SAFETY: the caller's word.
                unsafe { super::store(dst.cast(), bytes) }
            }
            #[cfg(not(any(crossdock_portable, loom)))]
            // SAFETY: one store to writable bytes (the caller's word), at any alignment.
            unsafe {
                std::arch::asm!(concat!($mov, " [{}], {}"), in(reg) dst, in($class) value,
                     options(nostack, preserves_flags));
            }
        }
    };
}

macro_rules! stream {
    ($stream:ident, $ty:ty, $class:ident, $feature:literal) => {
        /// Past the caches: for memory that is written whole and not read soon. [`fence`] comes before anybody else is told.
        ///
        /// # Safety
        ///
        /// As for the store, with `dst` aligned to the width of the register.
        #[inline]
        #[target_feature(enable = $feature)]
        pub(crate) unsafe fn $stream(dst: *mut u8, value: $ty) {
            debug_assert!(dst.addr().is_multiple_of(size_of::<$ty>()));
            #[cfg(any(crossdock_portable, loom))]
            {
                // SAFETY: as many bytes, all initialised.
                let bytes = unsafe { std::mem::transmute::<$ty, [u8; size_of::<$ty>()]>(value) };
                // SAFETY: the caller's word.
                unsafe { super::store(dst.cast(), bytes) }
            }
            #[cfg(not(any(crossdock_portable, loom)))]
            // SAFETY: one aligned store to writable bytes (the caller's word).
            unsafe {
                std::arch::asm!("vmovntdq [{}], {}", in(reg) dst, in($class) value,
                     options(nostack, preserves_flags));
            }
        }
    };
}

access!(load16, store16, __m128i, xmm_reg, "avx2", "vmovdqu");
access!(load32, store32, __m256i, ymm_reg, "avx2", "vmovdqu");
access!(load64, store64, __m512i, zmm_reg, "avx512f", "vmovdqu64");
stream!(stream16, __m128i, xmm_reg, "avx2");
stream!(stream32, __m256i, ymm_reg, "avx2");
stream!(stream64, __m512i, zmm_reg, "avx512f");

/// The bytes that a mask names; the others are not touched, and need not be memory.
///
/// # Safety
///
/// As for [`store`](crate::memory::racy::store), for the bytes that are named.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(crate) unsafe fn store64_masked(dst: *mut u8, mask: u64, value: __m512i) {
    #[cfg(any(crossdock_portable, loom))]
    {
        // SAFETY: as many bytes, all initialised.
        let bytes = unsafe { std::mem::transmute::<__m512i, [u8; 64]>(value) };
        for (index, byte) in bytes.into_iter().enumerate().filter(|&(index, _)| mask >> index & 1 != 0) {
            // SAFETY: the caller's word.
            unsafe { super::store(dst.wrapping_add(index), byte) };
        }
    }
    #[cfg(not(any(crossdock_portable, loom)))]
    // SAFETY: one store to bytes that are writable where they are named (the caller's word).
    unsafe {
        std::arch::asm!("vmovdqu8 [{}]{{{}}}, {}", in(reg) dst, in(kreg) mask, in(zmm_reg) value,
             options(nostack, preserves_flags));
    }
}

/// Asks for the line of memory at an address, which need not be readable.
#[inline]
pub(crate) fn prefetch(src: *const u8) {
    // SAFETY: every x86-64 has it, and it touches nothing that a program could see.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(src.cast()) };
}

/// Orders what was streamed before it with every store behind it.
#[inline]
pub(crate) fn fence() {
    // SAFETY: every x86-64 has it, and it touches nothing.
    unsafe { std::arch::x86_64::_mm_sfence() };
}
