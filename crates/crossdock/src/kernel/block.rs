//! A block: a private copy of a few hundred elements between two arrays that other threads may be
//! writing.
//!
//! A kernel that computes loads a block racily, works on it with plain code, which the compiler may
//! vectorise, and stores it racily. Blocks are small, so the CPU has several in flight: one loads
//! while another is stored. Blocks of the size of a cache would serialise the two.

use std::mem::MaybeUninit;

use crate::error::Result;
use crate::kernel::cpu::Level;
use crate::layout::{Layout, Runs};
use crate::memory::{Pod, racy};

/// Room for `LANES` numbers of at most eight bytes.
///
/// # Invariants
///
/// 1. The first `ready` bytes are initialised.
#[repr(C, align(64))]
pub(crate) struct LaneBlock {
    bytes: [MaybeUninit<u8>; LaneBlock::NBYTES],
    ready: usize,
}

impl LaneBlock {
    /// How many numbers it holds, whatever their width: enough to amortise the calls of the loops.
    pub(crate) const LANES: usize = 256;
    pub(crate) const NBYTES: usize = 8 * Self::LANES;

    /// Loops may touch so many numbers, of at most eight bytes, where they were given one.
    const TOGETHER: usize = 64;

    /// Blocks in `room`, for at most `count` elements of at most `itemsize` bytes, or of two
    /// numbers. The rest of a block stays uninitialised: to clear all of it would take longer than
    /// the work of a small array.
    #[inline]
    pub(crate) fn make<const N: usize>(
        room: &mut MaybeUninit<[Self; N]>,
        count: usize,
        itemsize: usize,
    ) -> &mut [Self; N] {
        let nbytes = count.min(Self::NBYTES).saturating_mul(itemsize.max(2 * 8));
        let ready = nbytes.min(Self::NBYTES).next_multiple_of(8 * Self::TOGETHER);
        let blocks = room.as_mut_ptr().cast::<Self>();
        for at in 0..N {
            let block = blocks.wrapping_add(at);
            // SAFETY: `at < N`, so the block lies in `room`, which is borrowed mutably.
            let bytes = unsafe { &raw mut (*block).bytes };
            // SAFETY: `ready` is at most `NBYTES`, a multiple of what it is rounded up to, and the
            // block has as many bytes.
            unsafe { bytes.cast::<u8>().write_bytes(0, ready) };
            // SAFETY: `at < N`, so the block lies in `room`, which is borrowed mutably.
            let field = unsafe { &raw mut (*block).ready };
            // SAFETY: the field is aligned and lies in the block, which is borrowed mutably.
            unsafe { field.write(ready) };
        }
        // SAFETY: the loop wrote `ready` of all `N` blocks, and as many bytes (LaneBlock 1); the
        // others need not be initialised.
        unsafe { room.assume_init_mut() }
    }

    /// The first `len` numbers.
    #[inline(always)]
    pub(crate) fn lanes<T: Pod>(&self, len: usize) -> &[T] {
        const { assert!(align_of::<T>() <= 64) };
        assert!(len * size_of::<T>() <= self.ready);
        // SAFETY: the first `len * size_of::<T>()` bytes are initialised (asserted above, LaneBlock
        // 1), and the block is aligned to 64; every pattern of its bytes is a value (Pod 1).
        unsafe { std::slice::from_raw_parts(self.bytes.as_ptr().cast(), len) }
    }

    /// The first `len` numbers, for writing.
    #[inline(always)]
    pub(crate) fn lanes_mut<T: Pod>(&mut self, len: usize) -> &mut [T] {
        const { assert!(align_of::<T>() <= 64) };
        assert!(len * size_of::<T>() <= self.ready);
        // SAFETY: the first `len * size_of::<T>()` bytes are initialised (asserted above, LaneBlock
        // 1), and the block is aligned to 64 and borrowed mutably. Every pattern is a `T` (Pod 1),
        // and a `T` leaves no byte uninitialised (Pod 2).
        unsafe { std::slice::from_raw_parts_mut(self.bytes.as_mut_ptr().cast(), len) }
    }

    /// Loads the first `nbytes` bytes from contiguous ones. The block has as many.
    ///
    /// # Safety
    ///
    /// 1. `nbytes` bytes at `src` may be loaded racily.
    /// 2. The level is available.
    #[inline]
    pub(crate) unsafe fn load_run(&mut self, level: Level, src: *const u8, nbytes: usize) {
        assert!(nbytes <= self.ready);
        // SAFETY: clauses 1 and 2 of `# Safety`; the block, which is borrowed mutably, has `nbytes`
        // bytes (just asserted).
        unsafe { load_bytes(level, src, self.bytes.as_mut_ptr().cast(), nbytes) };
    }

    /// Stores the first `nbytes` bytes to contiguous ones. The block has as many.
    ///
    /// # Safety
    ///
    /// 1. `nbytes` bytes at `dst` may be stored racily.
    /// 2. The level is available.
    #[inline]
    pub(crate) unsafe fn store_run(&self, level: Level, dst: *mut u8, nbytes: usize) {
        assert!(nbytes <= self.ready);
        // SAFETY: clauses 1 and 2 of `# Safety`; the first `nbytes` bytes of the block, which is
        // borrowed, are initialised (just asserted, LaneBlock 1).
        unsafe { store_bytes(level, self.bytes.as_ptr().cast(), dst, nbytes, false) };
    }
}

/// Loads blocks from the elements of an array, in row-major order.
pub(crate) struct BlockReader {
    walk: BlockWalk,
    src: *const u8,
}

impl BlockReader {
    /// # Errors
    ///
    /// `is_layout` for an indirect array.
    pub(crate) fn new(level: Level, src: *const u8, layout: &Layout) -> Result<Self> {
        Ok(Self { walk: BlockWalk::new(level, layout)?, src })
    }

    /// Loads the next `count` elements, of which at least `count` are left, into a block that has
    /// room for them.
    ///
    /// # Safety
    ///
    /// 1. The layout, applied at `src`, reaches only bytes that may be loaded racily.
    /// 2. The level is available.
    #[inline]
    pub(crate) unsafe fn load(&mut self, block: &mut LaneBlock, count: usize) {
        let itemsize = self.walk.itemsize;
        assert!(count * itemsize <= block.ready);
        let (level, src) = (self.walk.level, self.src);
        let mut dst = block.bytes.as_mut_ptr().cast::<u8>();
        self.walk.pieces(count, |offset, stride, len| {
            let src = src.wrapping_offset(offset);
            if stride == itemsize as isize {
                // SAFETY: clause 1 of `# Safety`: `pieces` yields elements of the layout, here
                // contiguous ones. The assertion above bounds `dst`; clause 2 covers the level.
                unsafe { load_bytes(level, src, dst, len * itemsize) };
            } else {
                // SAFETY: clause 1 of `# Safety`: `pieces` yields `len` elements of the layout,
                // `stride` bytes apart. The assertion above bounds the part of the block that they
                // fill.
                unsafe { copy_strided(src, stride, dst, itemsize as isize, itemsize, len) };
            }
            dst = dst.wrapping_add(len * itemsize);
        });
    }
}

/// Stores blocks to the elements of an array, in row-major order.
pub(crate) struct Writer {
    walk: BlockWalk,
    dst: *mut u8,
    streams: bool,
}

/// Jobs of at least this many bytes bypass the caches with non-temporal stores: their result would
/// evict everything else, and then itself.
pub(in crate::kernel) const STREAMED: usize = 8 << 20;

impl Writer {
    /// # Errors
    ///
    /// `is_layout` for an indirect array.
    pub(crate) fn new(level: Level, dst: *mut u8, layout: &Layout, whole_nbytes: usize) -> Result<Self> {
        let walk = BlockWalk::new(level, layout)?;
        let streams = level > Level::Baseline && whole_nbytes >= STREAMED && walk.is_one_run();
        Ok(Self { walk, dst, streams })
    }

    /// How many elements to store first so that all later stores are aligned and may bypass the
    /// caches; at most `most`.
    pub(crate) fn first(&self, most: usize) -> usize {
        let (gap, itemsize) = (self.dst.addr().wrapping_neg() % 64, self.walk.itemsize.max(1));
        let head = gap / itemsize;
        if self.streams && gap != 0 && gap.is_multiple_of(itemsize) { head.min(most) } else { most }
    }

    /// Stores `count` elements of the block to the next `count` places, of which at least `count`
    /// are left.
    ///
    /// # Safety
    ///
    /// 1. The layout, applied at `dst`, reaches only bytes that may be stored racily.
    /// 2. The level is available.
    #[inline]
    pub(crate) unsafe fn store(&mut self, block: &LaneBlock, count: usize) {
        let itemsize = self.walk.itemsize;
        assert!(count * itemsize <= block.ready);
        let (level, dst, streams) = (self.walk.level, self.dst, self.streams);
        let mut src = block.bytes.as_ptr().cast::<u8>();
        self.walk.pieces(count, |offset, stride, len| {
            let dst = dst.wrapping_offset(offset);
            if stride == itemsize as isize {
                // SAFETY: clause 1 of `# Safety`: `pieces` yields elements of the layout, here
                // contiguous ones. The assertion above bounds `src`; clause 2 covers the level.
                unsafe { store_bytes(level, src, dst, len * itemsize, streams) };
            } else {
                // SAFETY: clause 1 of `# Safety`: `pieces` yields `len` elements of the layout,
                // `stride` bytes apart. The assertion above bounds the part of the block that is
                // read.
                unsafe { copy_strided(src, itemsize as isize, dst, stride, itemsize, len) };
            }
            src = src.wrapping_add(len * itemsize);
        });
    }

    /// Skips the next `count` places.
    pub(crate) fn skip(&mut self, count: usize) {
        self.walk.pieces(count, |_, _, _| {});
    }

    /// Orders the non-temporal stores before every later store. Call it after the last block.
    pub(crate) fn finish(&self) {
        #[cfg(target_arch = "x86_64")]
        if self.streams {
            racy::vector::fence();
        }
    }
}

/// A walk over an array, a few elements at a time.
struct BlockWalk {
    level: Level,
    runs: Runs,
    itemsize: usize,
    /// The offset of the rest of the current run, in bytes from element 0, and how many elements it
    /// has.
    next: isize,
    left: usize,
}

impl BlockWalk {
    fn new(level: Level, layout: &Layout) -> Result<Self> {
        Ok(Self { level, runs: layout.runs()?, itemsize: layout.itemsize(), next: 0, left: 0 })
    }

    /// Whether the elements are contiguous and in order.
    fn is_one_run(&self) -> bool {
        self.runs.len() == 1 && self.runs.run_stride() == self.itemsize as isize
    }

    /// Calls `f` with the offset, the stride and the length of each piece of a run that holds some
    /// of the next `count` elements.
    #[inline]
    fn pieces(&mut self, mut count: usize, mut f: impl FnMut(isize, isize, usize)) {
        let stride = self.runs.run_stride();
        while count > 0 {
            if self.left == 0 {
                let Some(offset) = self.runs.next() else { return };
                (self.next, self.left) = (offset, self.runs.run_len());
            }
            let len = self.left.min(count);
            f(self.next, stride, len);
            // After the last element the offset leads nowhere, and is never used.
            self.next = self.next.wrapping_add(stride.wrapping_mul(len as isize));
            self.left -= len;
            count -= len;
        }
    }
}

/// Copies bytes into a block.
///
/// # Safety
///
/// 1. `nbytes` bytes at `src` may be loaded racily.
/// 2. `nbytes` bytes at `dst` may be written, and no other thread accesses them.
/// 3. The level is available.
#[inline]
unsafe fn load_bytes(level: Level, src: *const u8, dst: *mut u8, nbytes: usize) {
    #[cfg(target_arch = "x86_64")]
    let done = match level {
        Level::Baseline => 0,
        // SAFETY: clauses 1 and 2 of `# Safety` cover both ranges; clause 3: the level is Avx2, so
        // the CPU has AVX2.
        Level::Avx2 => unsafe { registers::load_by_32(src, dst, nbytes) },
        // SAFETY: clauses 1 and 2 of `# Safety` cover both ranges; clause 3: the level is Avx512,
        // so the CPU has AVX-512 F.
        Level::Avx512 => unsafe { registers::load_by_64(src, dst, nbytes) },
    };
    // Elsewhere the racy copy has the widest registers.
    #[cfg(not(target_arch = "x86_64"))]
    let (_, done) = (level, 0);
    if done < nbytes {
        // SAFETY: `done < nbytes`, so these are the last `nbytes - done` bytes of the ranges in
        // clauses 1 and 2 of `# Safety`.
        unsafe { racy::copy(src.wrapping_add(done), dst.wrapping_add(done), nbytes - done) };
    }
}

/// Copies bytes out of a block. Bypasses the caches if `streams` is set and the destination is
/// aligned to 64 bytes.
///
/// # Safety
///
/// 1. `nbytes` bytes at `dst` may be stored racily.
/// 2. `nbytes` bytes at `src` are initialised, and no other thread writes them.
/// 3. The level is available.
#[inline]
unsafe fn store_bytes(level: Level, src: *const u8, dst: *mut u8, nbytes: usize, streams: bool) {
    #[cfg(target_arch = "x86_64")]
    let done = match (level, streams && dst.addr().is_multiple_of(64)) {
        (Level::Baseline, _) => 0,
        // SAFETY: clauses 1 and 2 of `# Safety` cover both ranges; clause 3: the level is Avx2, so
        // the CPU has AVX2.
        (Level::Avx2, false) => unsafe { registers::store_by_32(src, dst, nbytes) },
        // SAFETY: clauses 1 and 2 of `# Safety` cover both ranges, clause 3 covers AVX2, and the
        // match found `dst` aligned to 64 bytes.
        (Level::Avx2, true) => unsafe { registers::stream_by_32(src, dst, nbytes) },
        // SAFETY: clauses 1 and 2 of `# Safety` cover both ranges; clause 3: the level is Avx512,
        // so the CPU has AVX-512 F.
        (Level::Avx512, false) => unsafe { registers::store_by_64(src, dst, nbytes) },
        // SAFETY: clauses 1 and 2 of `# Safety` cover both ranges, clause 3 covers AVX-512 F, and
        // the match found `dst` aligned to 64 bytes.
        (Level::Avx512, true) => unsafe { registers::stream_by_64(src, dst, nbytes) },
    };
    #[cfg(target_arch = "aarch64")]
    let done = match (level, streams) {
        // The racy copy has the widest registers.
        (Level::Baseline, _) | (Level::Neon, false) => 0,
        // SAFETY: clauses 1 and 2 of `# Safety` cover both ranges; every aarch64 CPU has NEON,
        // whose streaming stores need no alignment.
        (Level::Neon, true) => unsafe { registers::stream_by_32(src, dst, nbytes) },
    };
    #[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
    let done = usize::from(level != Level::Baseline && streams);
    if done < nbytes {
        // SAFETY: `done < nbytes`, so these are the last `nbytes - done` bytes of the ranges in
        // clauses 1 and 2 of `# Safety`.
        unsafe { racy::copy(src.wrapping_add(done), dst.wrapping_add(done), nbytes - done) };
    }
}

#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
mod registers {
    //! Moves whole registers between a block and an array. Each function returns how many bytes it
    //! moved.

    #[cfg(target_arch = "aarch64")]
    use std::arch::aarch64::uint8x16x2_t;
    #[cfg(target_arch = "x86_64")]
    use std::arch::x86_64::{__m256i, __m512i};

    use crate::memory::racy::vector;

    /// How many bytes ahead of a load to prefetch: farther than the hardware prefetcher, which
    /// stops at the end of a page.
    #[cfg(target_arch = "x86_64")]
    const AHEAD: usize = 4096;

    /// Blocks of at least this many bytes are prefetched into the second cache, which has room for
    /// more lines on their way than the first one. Of smaller blocks, the result is larger.
    #[cfg(target_arch = "x86_64")]
    const MANY: usize = 512;

    macro_rules! moves {
        ($load:ident, $store:ident, $stream:ident, $feature:literal, $ty:ty, $vload:ident, $vstore:ident, $vstream:ident) => {
            /// # Safety
            ///
            /// Clauses 1 to 3 of [`load_bytes`](super::load_bytes).
            #[inline]
            #[target_feature(enable = $feature)]
            pub(super) unsafe fn $load(src: *const u8, dst: *mut u8, nbytes: usize) -> usize {
                let mut done = 0;
                while done + size_of::<$ty>() <= nbytes {
                    // A prefetch is no access, so the address may be invalid.
                    let ahead = src.wrapping_add(done + AHEAD);
                    if nbytes < MANY {
                        vector::prefetch(ahead)
                    } else {
                        vector::prefetch_to_second(ahead)
                    }
                    // SAFETY: clause 1 of `load_bytes`: `done + size_of::<$ty>() <= nbytes`, so the
                    // register lies within the `nbytes` bytes at `src`.
                    let some = unsafe { vector::$vload(src.wrapping_add(done)) };
                    // SAFETY: clause 2 of `load_bytes`: `done + size_of::<$ty>() <= nbytes`, so the
                    // register lies within the `nbytes` private bytes at `dst`.
                    unsafe { dst.wrapping_add(done).cast::<$ty>().write_unaligned(some) };
                    done += size_of::<$ty>();
                }
                done
            }

            moves!($store, $feature, $ty, $vstore);
            moves!($stream, $feature, $ty, $vstream);
        };
        ($name:ident, $feature:literal, $ty:ty, $vstore:ident) => {
            /// # Safety
            ///
            /// 1. Clauses 1 to 3 of [`store_bytes`](super::store_bytes).
            /// 2. Where it streams, `dst` is aligned to the register.
            #[inline]
            #[target_feature(enable = $feature)]
            pub(super) unsafe fn $name(src: *const u8, dst: *mut u8, nbytes: usize) -> usize {
                let mut done = 0;
                while done + size_of::<$ty>() <= nbytes {
                    // SAFETY: clause 2 of `store_bytes`: `done + size_of::<$ty>() <= nbytes`, so
                    // the register lies within the `nbytes` initialised bytes at `src`.
                    let some = unsafe { src.wrapping_add(done).cast::<$ty>().read_unaligned() };
                    // SAFETY: clause 1 of `store_bytes`: the register lies within the `nbytes`
                    // bytes at `dst`. It is aligned for streaming (clause 2), as `done` is a
                    // multiple of its size.
                    unsafe { vector::$vstore(dst.wrapping_add(done), some) };
                    done += size_of::<$ty>();
                }
                done
            }
        };
    }

    #[cfg(target_arch = "aarch64")]
    moves!(stream_by_32, "neon", uint8x16x2_t, stream32);
    #[cfg(target_arch = "x86_64")]
    moves!(load_by_32, store_by_32, stream_by_32, "avx2", __m256i, load32, store32, stream32);
    #[cfg(target_arch = "x86_64")]
    moves!(load_by_64, store_by_64, stream_by_64, "avx512f", __m512i, load64, store64, stream64);
}

/// Copies `len` elements that lie `step` bytes apart to places that lie `stride` bytes apart.
///
/// # Safety
///
/// 1. `len` elements of `itemsize` bytes, `step` bytes apart from `src` on, may be loaded racily.
/// 2. `len` elements of `itemsize` bytes, `stride` bytes apart from `dst` on, may be stored racily.
unsafe fn copy_strided(
    src: *const u8,
    step: isize,
    dst: *mut u8,
    stride: isize,
    itemsize: usize,
    len: usize,
) {
    macro_rules! copy_as {
        ($word:ty) => {
            for index in 0..len as isize {
                // SAFETY: clause 1 of `# Safety`: `index < len`, and the word is as wide as the
                // element at `index`.
                let word: $word = unsafe { racy::load(src.wrapping_offset(index * step).cast()) };
                // SAFETY: clause 2 of `# Safety`: `index < len`, and the word is as wide as the
                // element at `index`.
                unsafe { racy::store(dst.wrapping_offset(index * stride).cast(), word) };
            }
        };
    }
    match itemsize {
        1 => copy_as!(u8),
        2 => copy_as!(u16),
        4 => copy_as!(u32),
        8 => copy_as!(u64),
        _ => {
            for index in 0..len as isize {
                let (src, dst) = (src.wrapping_offset(index * step), dst.wrapping_offset(index * stride));
                // SAFETY: clauses 1 and 2 of `# Safety`: `index < len`, and both pointers lead to
                // `itemsize` bytes of the element at `index`.
                unsafe { racy::copy(src, dst, itemsize) };
            }
        }
    }
}
