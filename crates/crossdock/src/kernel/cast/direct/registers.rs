//! Moves 64 bytes between an array and private memory, at each level.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m256i, __m512i};

#[cfg(target_arch = "x86_64")]
use crate::kernel::cpu::Level;
use crate::memory::racy;

/// 64 bytes.
pub(super) type CastPiece = [u8; 64];

/// The registers of a level.
pub(super) trait CastRegisters {
    #[cfg(target_arch = "x86_64")]
    const LEVEL: Level;

    /// # Safety
    ///
    /// 1. 64 bytes at `src` may be loaded racily.
    /// 2. The level is available.
    unsafe fn load(src: *const u8) -> CastPiece;

    /// # Safety
    ///
    /// 1. 64 bytes at `dst` may be stored racily.
    /// 2. The level is available.
    unsafe fn store(dst: *mut u8, piece: &CastPiece);

    /// Whether the level has [`load_first`](Self::load_first) and
    /// [`store_first`](Self::store_first).
    const HAS_MASKS: bool = false;

    /// Loads the first `nbytes` bytes, of at most 64. The others are 0.
    ///
    /// # Safety
    ///
    /// 1. `nbytes` bytes at `src` may be loaded racily.
    /// 2. The level is available, and has masks.
    #[inline(always)]
    unsafe fn load_first(_src: *const u8, _nbytes: usize) -> CastPiece {
        unreachable!("the level has no masks")
    }

    /// Stores the first `nbytes` bytes, of at most 64.
    ///
    /// # Safety
    ///
    /// 1. `nbytes` bytes at `dst` may be stored racily.
    /// 2. The level is available, and has masks.
    #[inline(always)]
    unsafe fn store_first(_dst: *mut u8, _piece: &CastPiece, _nbytes: usize) {
        unreachable!("the level has no masks")
    }

    /// Stores past the caches, if the level can.
    ///
    /// # Safety
    ///
    /// 1. Clauses 1 and 2 of [`store`](Self::store).
    /// 2. `dst` is aligned to 64 bytes.
    /// 3. The caller fences before another thread learns of the stored bytes.
    unsafe fn stream(dst: *mut u8, piece: &CastPiece);
}

/// The registers that the racy copy uses.
#[cfg(not(target_arch = "x86_64"))]
pub(super) struct Portable;

#[cfg(not(target_arch = "x86_64"))]
impl CastRegisters for Portable {
    #[inline(always)]
    unsafe fn load(src: *const u8) -> CastPiece {
        let mut piece = [0; 64];
        // SAFETY: clause 1 of `load`; `piece` is a local of 64 bytes.
        unsafe { racy::copy(src, piece.as_mut_ptr(), 64) };
        piece
    }

    #[inline(always)]
    unsafe fn store(dst: *mut u8, piece: &CastPiece) {
        // SAFETY: clause 1 of `store`; `piece` has 64 bytes.
        unsafe { racy::copy(piece.as_ptr(), dst, 64) };
    }

    #[inline(always)]
    unsafe fn stream(dst: *mut u8, piece: &CastPiece) {
        // SAFETY: clause 1 of `stream`.
        unsafe { Self::store(dst, piece) };
    }
}

#[cfg(target_arch = "x86_64")]
macro_rules! registers {
    ($name:ident, $register:ty, $count:literal, $load:ident, $store:ident, $stream:ident $(, $masks:tt)?) => {
        pub(super) struct $name;

        impl CastRegisters for $name {
            const LEVEL: Level = Level::$name;

            #[inline(always)]
            unsafe fn load(src: *const u8) -> CastPiece {
                let one = |at: usize| {
                    let src = src.wrapping_add(at * size_of::<$register>());
                    // SAFETY: clause 1 of `load`: `at` registers of the 64 bytes precede this one;
                    // clause 2: the CPU has the level's registers.
                    unsafe { racy::vector::$load(src) }
                };
                let registers: [$register; $count] = std::array::from_fn(one);
                // SAFETY: both types have 64 bytes, and every pattern of them is a value of either.
                unsafe { std::mem::transmute::<[$register; $count], CastPiece>(registers) }
            }

            registers!(@store store, $register, $count, $store);
            registers!(@store stream, $register, $count, $stream);
            $(registers!(@masks $masks);)?
        }
    };
    (@masks masked) => {
        const HAS_MASKS: bool = true;

        #[inline(always)]
        unsafe fn load_first(src: *const u8, nbytes: usize) -> CastPiece {
            // SAFETY: clause 1 of `load_first`: the mask selects `nbytes` bytes; clause 2.
            let register = unsafe { racy::vector::load64_masked(src, first_bytes(nbytes)) };
            // SAFETY: both types have 64 bytes, and every pattern of them is a value of either.
            unsafe { std::mem::transmute::<__m512i, CastPiece>(register) }
        }

        #[inline(always)]
        unsafe fn store_first(dst: *mut u8, piece: &CastPiece, nbytes: usize) {
            // SAFETY: both types have 64 bytes, and every pattern of them is a value of either.
            let register = unsafe { std::mem::transmute::<CastPiece, __m512i>(*piece) };
            // SAFETY: clause 1 of `store_first`: the mask selects `nbytes` bytes; clause 2.
            unsafe { racy::vector::store64_masked(dst, first_bytes(nbytes), register) };
        }
    };
    (@store $name:ident, $register:ty, $count:literal, $store:ident) => {
        #[inline(always)]
        unsafe fn $name(dst: *mut u8, piece: &CastPiece) {
            // SAFETY: both types have 64 bytes, and every pattern of them is a value of either.
            let registers = unsafe { std::mem::transmute::<CastPiece, [$register; $count]>(*piece) };
            for (at, register) in registers.into_iter().enumerate() {
                let dst = dst.wrapping_add(at * size_of::<$register>());
                // SAFETY: the clauses of `store` and `stream`: `at` registers of the 64 bytes
                // precede this one, which is aligned where they are; the CPU has the level.
                unsafe { racy::vector::$store(dst, register) };
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
registers!(Avx2, __m256i, 2, load32, store32, stream32);
#[cfg(target_arch = "x86_64")]
registers!(Avx512, __m512i, 1, load64, store64, stream64, masked);

/// A mask of the first `nbytes` bytes, of at most 64.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn first_bytes(nbytes: usize) -> u64 {
    if nbytes == 0 { 0 } else { u64::MAX >> (64 - nbytes) }
}
