//! Racy access through vector registers, for kernels that have detected the CPU's features.
//!
//! Like the words of [`crate::memory::racy`], each access is one instruction that the compiler can
//! neither split, repeat nor reason about. It works at any alignment unless stated otherwise.

use std::arch::x86_64::{__m128i, __m256i, __m512i, _MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};

macro_rules! access {
    ($vis:vis $load:ident, $store:ident, $ty:ty, $class:ident, $feature:literal, $mov:literal) => {
        /// Loads a vector.
        ///
        /// # Safety
        ///
        /// 1. `src` is valid for reads of as many initialised bytes as the register has.
        /// 2. Concurrent accesses to these bytes are those of clause 2 of
        ///    [`load`](crate::memory::racy::load).
        /// 3. The CPU has the feature that this function enables.
        #[inline]
        #[target_feature(enable = $feature)]
        $vis unsafe fn $load(src: *const u8) -> $ty {
            super::seen::read(src, size_of::<$ty>());
            let value: $ty;
            // SAFETY: clause 1 of `# Safety`: `src` is readable for the register's size, at any
            // alignment; clause 3: the CPU has the instruction.
            unsafe {
                std::arch::asm!(concat!($mov, " {}, [{}]"), out($class) value, in(reg) src,
                     options(nostack, readonly, preserves_flags));
            }
            value
        }

        /// # Safety
        ///
        /// 1. `dst` is valid for writes of as many bytes as the register has.
        /// 2. Concurrent accesses to these bytes are those of clause 2 of
        ///    [`load`](crate::memory::racy::load).
        /// 3. The CPU has the feature that this function enables.
        #[inline]
        #[target_feature(enable = $feature)]
        pub(crate) unsafe fn $store(dst: *mut u8, value: $ty) {
            super::seen::write(dst, size_of::<$ty>());
            // SAFETY: clause 1 of `# Safety`: `dst` is writable for the register's size, at any
            // alignment; clause 3: the CPU has the instruction.
            unsafe {
                std::arch::asm!(concat!($mov, " [{}], {}"), in(reg) dst, in($class) value,
                     options(nostack, preserves_flags));
            }
        }
    };
}

macro_rules! stream {
    ($stream:ident, $ty:ty, $class:ident, $feature:literal) => {
        /// A store past the caches, for memory that is written in full and not read soon.
        ///
        /// # Safety
        ///
        /// 1. `dst` is valid for writes of as many bytes as the register has, and aligned to that
        ///    size.
        /// 2. Concurrent accesses to these bytes are those of clause 2 of
        ///    [`load`](crate::memory::racy::load).
        /// 3. The CPU has the feature that this function enables.
        /// 4. The caller calls [`fence`] before another thread learns of the stored bytes.
        #[inline]
        #[target_feature(enable = $feature)]
        pub(crate) unsafe fn $stream(dst: *mut u8, value: $ty) {
            debug_assert!(dst.addr().is_multiple_of(size_of::<$ty>()));
            super::seen::write(dst, size_of::<$ty>());
            // SAFETY: clause 1 of `# Safety`: `dst` is writable for the register's size, and
            // aligned as the instruction requires; clause 3: the CPU has it.
            unsafe {
                std::arch::asm!("vmovntdq [{}], {}", in(reg) dst, in($class) value,
                     options(nostack, preserves_flags));
            }
        }
    };
}

access!(pub(crate) load16, store16, __m128i, xmm_reg, "avx2", "vmovdqu");
access!(pub(crate) load32, store32, __m256i, ymm_reg, "avx2", "vmovdqu");
access!(pub load64, store64, __m512i, zmm_reg, "avx512f", "vmovdqu64");
stream!(stream16, __m128i, xmm_reg, "avx2");
stream!(stream32, __m256i, ymm_reg, "avx2");
stream!(stream64, __m512i, zmm_reg, "avx512f");

/// Loads the bytes that `mask` selects; the others are 0. They are not accessed, and may be invalid
/// addresses.
///
/// # Safety
///
/// 1. `src` is valid for reads of the bytes that `mask` selects, counted from `src`, which are
///    initialised.
/// 2. Concurrent accesses to these bytes are those of clause 2 of
///    [`load`](crate::memory::racy::load).
/// 3. The CPU has AVX-512F and AVX-512BW.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(crate) unsafe fn load64_masked(src: *const u8, mask: u64) -> __m512i {
    super::seen::read_selected(src, mask);
    let value: __m512i;
    // SAFETY: clause 1 of `# Safety`: the instruction accesses the bytes that `mask` selects, and
    // suppresses faults at the others; clause 3: the CPU has it.
    unsafe {
        std::arch::asm!("vmovdqu8 {}{{{}}}{{z}}, [{}]", out(zmm_reg) value, in(kreg) mask, in(reg) src,
             options(nostack, readonly, preserves_flags));
    }
    value
}

/// Stores the bytes that `mask` selects. The other bytes are not accessed, and may be invalid
/// addresses.
///
/// # Safety
///
/// 1. `dst` is valid for writes of the bytes that `mask` selects, counted from `dst`.
/// 2. Concurrent accesses to these bytes are those of clause 2 of
///    [`load`](crate::memory::racy::load).
/// 3. The CPU has AVX-512F and AVX-512BW.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(crate) unsafe fn store64_masked(dst: *mut u8, mask: u64, value: __m512i) {
    super::seen::write_selected(dst, mask);
    // SAFETY: clause 1 of `# Safety`: the instruction accesses the bytes that `mask` selects, and
    // suppresses faults at the others; clause 3: the CPU has it.
    unsafe {
        std::arch::asm!("vmovdqu8 [{}]{{{}}}, {}", in(reg) dst, in(kreg) mask, in(zmm_reg) value,
             options(nostack, preserves_flags));
    }
}

/// Prefetches the cache line at an address, which need not be readable.
#[inline]
pub(crate) fn prefetch(src: *const u8) {
    // SAFETY: every x86-64 CPU has the instruction (SSE); it never faults and changes no state that
    // a program observes.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(src.cast()) };
}

/// Like [`prefetch`], into the second cache only: for lines of which more share a set than the
/// first one holds.
#[inline]
pub(crate) fn prefetch_to_second(src: *const u8) {
    // SAFETY: every x86-64 CPU has the instruction (SSE); it never faults and changes no state that
    // a program observes.
    unsafe { _mm_prefetch::<_MM_HINT_T1>(src.cast()) };
}

/// Like [`prefetch`], for a line that will be written: no other CPU keeps it. CPUs without the
/// instruction ignore it.
#[inline]
pub(crate) fn prefetch_to_write(dst: *const u8) {
    // SAFETY: the instruction, which CPUs without it treat as none, never faults and changes no
    // state that a program observes.
    unsafe { std::arch::asm!("prefetchw [{}]", in(reg) dst, options(nostack, preserves_flags, readonly)) };
}

/// Orders the streamed stores before it with every later store.
#[inline]
pub(crate) fn fence() {
    // SAFETY: every x86-64 CPU has the instruction (SSE), which orders stores and accesses no
    // memory itself.
    unsafe { std::arch::x86_64::_mm_sfence() };
}
