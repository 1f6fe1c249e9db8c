//! A few hundred elements at a time in a block of our own, between two arrays that others may be touching.
//!
//! A kernel that computes loads a block racily, works on it with plain code, which the compiler is free to turn into vector
//! instructions, and stores it racily. Blocks are so small that the processor has several of them under way at once, and one
//! loads while another one is stored: with blocks of the size of a cache it would do either the one or the other.

use crate::error::Result;
use crate::kernel::cpu::Level;
use crate::layout::{Layout, Runs};
use crate::memory::{Pod, racy};

/// So many numbers of at most eight bytes.
#[repr(C, align(64))]
pub(crate) struct Block([u8; Block::NBYTES]);

impl Block {
    /// How many numbers it holds, whatever their width: enough that the calls of the loops do not count.
    pub(crate) const LANES: usize = 256;
    pub(crate) const NBYTES: usize = 8 * Self::LANES;

    pub(crate) const fn new() -> Self {
        Self([0; Self::NBYTES])
    }

    /// The first `len` numbers.
    #[inline(always)]
    pub(crate) fn lanes<T: Pod>(&self, len: usize) -> &[T] {
        const { assert!(align_of::<T>() <= 64) };
        assert!(len * size_of::<T>() <= Self::NBYTES);
        // SAFETY: as many bytes, as just checked, aligned to 64 and initialised, and every pattern is a value (Pod 1).
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), len) }
    }

    /// The first `len` numbers, to be written.
    #[inline(always)]
    pub(crate) fn lanes_mut<T: Pod>(&mut self, len: usize) -> &mut [T] {
        const { assert!(align_of::<T>() <= 64) };
        assert!(len * size_of::<T>() <= Self::NBYTES);
        // SAFETY: as in `lanes`, borrowed mutably; what is written has no padding (Pod 2).
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), len) }
    }
}

/// The elements of an array in row-major order, from which blocks are loaded.
pub(crate) struct Reader {
    walk: Walk,
    src: *const u8,
}

impl Reader {
    /// # Errors
    ///
    /// `is_layout` for an indirect array.
    pub(crate) fn new(level: Level, src: *const u8, layout: &Layout) -> Result<Self> {
        Ok(Self { walk: Walk::new(level, layout)?, src })
    }

    /// Loads the next `count` elements. There are as many left, and the block has room for them.
    ///
    /// # Safety
    ///
    /// The layout, applied at `src`, reaches only bytes that may be loaded racily, and the level is available.
    #[inline]
    pub(crate) unsafe fn load(&mut self, block: &mut Block, count: usize) {
        let itemsize = self.walk.itemsize;
        assert!(count * itemsize <= Block::NBYTES);
        let (level, src) = (self.walk.level, self.src);
        let mut dst = block.0.as_mut_ptr();
        self.walk.pieces(count, |offset, stride, len| {
            let src = src.wrapping_offset(offset);
            if stride == itemsize as isize {
                // SAFETY: elements of one run without gaps (the caller's word), for which the block has room.
                unsafe { load_bytes(level, src, dst, len * itemsize) };
            } else {
                // SAFETY: elements of one run (the caller's word), for which the block has room.
                unsafe { copy_strided(src, stride, dst, itemsize as isize, itemsize, len) };
            }
            dst = dst.wrapping_add(len * itemsize);
        });
    }
}

/// The elements of an array in row-major order, to which blocks are stored.
pub(crate) struct Writer {
    walk: Walk,
    dst: *mut u8,
    streams: bool,
}

/// From so many bytes on, what is written goes past the caches: it would push out everything else, and be pushed out itself.
const STREAMED: usize = 8 << 20;

impl Writer {
    /// # Errors
    ///
    /// `is_layout` for an indirect array.
    pub(crate) fn new(level: Level, dst: *mut u8, layout: &Layout, whole_nbytes: usize) -> Result<Self> {
        let walk = Walk::new(level, layout)?;
        let streams = level > Level::Baseline && whole_nbytes >= STREAMED && walk.is_one_run();
        Ok(Self { walk, dst, streams })
    }

    /// With how many elements to begin, so that everything behind them can be stored past the caches; at most `most`.
    pub(crate) fn first(&self, most: usize) -> usize {
        let (gap, itemsize) = (self.dst.addr().wrapping_neg() % 64, self.walk.itemsize.max(1));
        let head = gap / itemsize;
        if self.streams && gap != 0 && gap.is_multiple_of(itemsize) { head.min(most) } else { most }
    }

    /// Stores `count` elements of the block to the next places. There are as many left.
    ///
    /// # Safety
    ///
    /// The layout, applied at `dst`, reaches only bytes that may be stored racily, and the level is available.
    #[inline]
    pub(crate) unsafe fn store(&mut self, block: &Block, count: usize) {
        let itemsize = self.walk.itemsize;
        assert!(count * itemsize <= Block::NBYTES);
        let (level, dst, streams) = (self.walk.level, self.dst, self.streams);
        let mut src = block.0.as_ptr();
        self.walk.pieces(count, |offset, stride, len| {
            let dst = dst.wrapping_offset(offset);
            if stride == itemsize as isize {
                // SAFETY: the places of one run without gaps (the caller's word); the block has as many elements.
                unsafe { store_bytes(level, src, dst, len * itemsize, streams) };
            } else {
                // SAFETY: the places of one run (the caller's word); the block has as many elements.
                unsafe { copy_strided(src, itemsize as isize, dst, stride, itemsize, len) };
            }
            src = src.wrapping_add(len * itemsize);
        });
    }

    /// Leaves out the next `count` places.
    pub(crate) fn skip(&mut self, count: usize) {
        self.walk.pieces(count, |_, _, _| {});
    }

    /// Orders what was stored past the caches with every store behind it. To be called when all is stored.
    pub(crate) fn finish(&self) {
        #[cfg(target_arch = "x86_64")]
        if self.streams {
            racy::vector::fence();
        }
    }
}

/// A walk over an array, some elements at a time.
struct Walk {
    level: Level,
    runs: Runs,
    itemsize: usize,
    /// Where the rest of the current run begins, in bytes from element 0, and how many elements it has.
    next: isize,
    left: usize,
}

impl Walk {
    fn new(level: Level, layout: &Layout) -> Result<Self> {
        Ok(Self { level, runs: layout.runs()?, itemsize: layout.itemsize(), next: 0, left: 0 })
    }

    /// Whether everything lies without gaps, in order.
    fn is_one_run(&self) -> bool {
        self.runs.len() == 1 && self.runs.run_stride() == self.itemsize as isize
    }

    /// Calls `f` with the offset, the stride and the length of each piece of a run that the next `count` elements lie in.
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
            // Behind the last element of all it leads nowhere, and is not followed.
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
/// `nbytes` bytes at `src` may be loaded racily, there are as many at `dst` that nobody else has, and the level is available.
#[inline]
unsafe fn load_bytes(level: Level, src: *const u8, dst: *mut u8, nbytes: usize) {
    #[cfg(target_arch = "x86_64")]
    let done = match level {
        Level::Baseline => 0,
        // SAFETY: the caller's word.
        Level::Avx2 => unsafe { x86::load_by_32(src, dst, nbytes) },
        // SAFETY: the caller's word.
        Level::Avx512 => unsafe { x86::load_by_64(src, dst, nbytes) },
    };
    #[cfg(not(target_arch = "x86_64"))]
    let done = usize::from(level != Level::Baseline);
    if done < nbytes {
        // SAFETY: what is left (the caller's word).
        unsafe { racy::copy(src.wrapping_add(done), dst.wrapping_add(done), nbytes - done) };
    }
}

/// Copies bytes out of a block, past the caches if so asked and if the destination is aligned to 64.
///
/// # Safety
///
/// `nbytes` bytes at `dst` may be stored racily, there are as many at `src` that nobody else has, and the level is available.
#[inline]
unsafe fn store_bytes(level: Level, src: *const u8, dst: *mut u8, nbytes: usize, streams: bool) {
    #[cfg(target_arch = "x86_64")]
    let done = match (level, streams && dst.addr().is_multiple_of(64)) {
        (Level::Baseline, _) => 0,
        // SAFETY: the caller's word.
        (Level::Avx2, false) => unsafe { x86::store_by_32(src, dst, nbytes) },
        // SAFETY: the caller's word, and aligned as just checked.
        (Level::Avx2, true) => unsafe { x86::stream_by_32(src, dst, nbytes) },
        // SAFETY: the caller's word.
        (Level::Avx512, false) => unsafe { x86::store_by_64(src, dst, nbytes) },
        // SAFETY: the caller's word, and aligned as just checked.
        (Level::Avx512, true) => unsafe { x86::stream_by_64(src, dst, nbytes) },
    };
    #[cfg(not(target_arch = "x86_64"))]
    let done = usize::from(level != Level::Baseline && streams);
    if done < nbytes {
        // SAFETY: what is left (the caller's word).
        unsafe { racy::copy(src.wrapping_add(done), dst.wrapping_add(done), nbytes - done) };
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    //! Whole registers between a block and an array; each says how many bytes it moved.

    use std::arch::x86_64::{__m256i, __m512i};

    use crate::memory::racy::vector;

    /// How far in front of a load the line is asked for, in bytes: farther than the processor's own guesses reach, which end with a page.
    const AHEAD: usize = 2048;

    macro_rules! moves {
        ($load:ident, $store:ident, $stream:ident, $feature:literal, $ty:ty, $vload:ident, $vstore:ident, $vstream:ident) => {
            /// # Safety
            ///
            /// As [`load_bytes`](super::load_bytes).
            #[inline]
            #[target_feature(enable = $feature)]
            pub(super) unsafe fn $load(src: *const u8, dst: *mut u8, nbytes: usize) -> usize {
                let mut done = 0;
                while done + size_of::<$ty>() <= nbytes {
                    // No access: it may lead anywhere.
                    vector::prefetch(src.wrapping_add(done + AHEAD));
                    // SAFETY: one register of the source (the caller's word).
                    let some = unsafe { vector::$vload(src.wrapping_add(done)) };
                    // SAFETY: its place in the block, which is ours.
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
            /// As [`store_bytes`](super::store_bytes); where it streams, `dst` is aligned to the register.
            #[inline]
            #[target_feature(enable = $feature)]
            pub(super) unsafe fn $name(src: *const u8, dst: *mut u8, nbytes: usize) -> usize {
                let mut done = 0;
                while done + size_of::<$ty>() <= nbytes {
                    // SAFETY: one register of the block, which is ours.
                    let some = unsafe { src.wrapping_add(done).cast::<$ty>().read_unaligned() };
                    // SAFETY: its place in the destination (the caller's word).
                    unsafe { vector::$vstore(dst.wrapping_add(done), some) };
                    done += size_of::<$ty>();
                }
                done
            }
        };
    }

    moves!(load_by_32, store_by_32, stream_by_32, "avx2", __m256i, load32, store32, stream32);
    moves!(load_by_64, store_by_64, stream_by_64, "avx512f", __m512i, load64, store64, stream64);
}

/// Copies `len` elements from places that lie `step` bytes apart to places that lie `stride` bytes apart.
///
/// # Safety
///
/// All of them may be loaded racily there, and stored racily here.
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
                // SAFETY: one element (the caller's word).
                let word: $word = unsafe { racy::load(src.wrapping_offset(index * step).cast()) };
                // SAFETY: its place (the caller's word).
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
                // SAFETY: one element, and its place (the caller's word).
                unsafe { racy::copy(src, dst, itemsize) };
            }
        }
    }
}
