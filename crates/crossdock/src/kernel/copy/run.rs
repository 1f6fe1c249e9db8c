//! Bytes without gaps.

use crate::kernel::cpu::Level;
use crate::memory::racy;
#[cfg(target_arch = "x86_64")]
use crate::memory::racy::vector;

/// Runs from here on are left to the string instruction, where the processor has it and nothing is streamed.
#[cfg(target_arch = "x86_64")]
const STRING_NBYTES: usize = 1 << 15;

/// Copies `nbytes` bytes that lie without gaps on both sides.
pub(super) type Run = unsafe fn(*const u8, *mut u8, usize);

/// The way to copy runs. After those that stream, a [`fence`].
pub(super) fn run(level: Level, stream: bool) -> Run {
    match (level, stream) {
        #[cfg(target_arch = "x86_64")]
        (Level::Avx512, true) => stream64,
        #[cfg(target_arch = "x86_64")]
        (Level::Avx512, false) => store64,
        #[cfg(target_arch = "x86_64")]
        (Level::Avx2, true) => stream32,
        #[cfg(target_arch = "x86_64")]
        (Level::Avx2, false) => store32,
        _ => portable,
    }
}

/// From one tile of each row to the next, with room in front for a line that is left over.
pub(super) const KEPT_PITCH: usize = 2 * LINE;

/// Streams, for each of so many rows of the destination that are so far apart, the line that the 64 bytes at `dst` complete: what is left
/// over from the bytes before stands in the first 64 of `kept`, those bytes behind it. They are left over in turn.
///
/// # Safety
///
/// All of these lines may be stored racily, and nobody else has what is kept; the processor has the level.
pub(super) type Lines = unsafe fn(*mut u8, *mut u8, isize, usize);

/// `None` where nothing is streamed.
pub(super) fn lines(level: Level) -> Option<Lines> {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => Some(lines64),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => Some(lines32),
        _ => None,
    }
}

/// Asks for the line at an address, which need not be readable, where the processor can be asked.
pub(super) fn prefetch(src: *const u8) {
    #[cfg(target_arch = "x86_64")]
    vector::prefetch(src);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = src;
}

/// Comes after all streaming of a thread, and before anybody is told.
pub(super) fn fence() {
    #[cfg(target_arch = "x86_64")]
    vector::fence();
}

/// # Safety
///
/// `nbytes` bytes at `src` may be loaded, and as many at `dst` stored, racily.
unsafe fn portable(src: *const u8, dst: *mut u8, nbytes: usize) {
    if nbytes <= 64 {
        // SAFETY: the caller's word.
        return unsafe { short(src, dst, nbytes) };
    }
    // SAFETY: the caller's word.
    unsafe { racy::copy(src, dst, nbytes) }
}

/// Copies at most 64 bytes: words from the front, and one up to the end, which may write some bytes twice.
///
/// # Safety
///
/// As for every [`Run`].
#[inline]
pub(super) unsafe fn short(src: *const u8, dst: *mut u8, nbytes: usize) {
    macro_rules! two {
        ($word:ty) => {{
            let back = nbytes - size_of::<$word>();
            // SAFETY: the first bytes (the caller's word).
            let first = unsafe { racy::load(src.cast::<$word>()) };
            // SAFETY: the last bytes.
            let last = unsafe { racy::load(src.wrapping_add(back).cast::<$word>()) };
            // SAFETY: their places.
            unsafe { racy::store(dst.cast(), first) };
            // SAFETY: their places.
            unsafe { racy::store(dst.wrapping_add(back).cast(), last) };
        }};
    }
    match nbytes {
        0 => {}
        1 => two!(u8),
        2..=3 => two!(u16),
        4..=7 => two!(u32),
        8..=16 => two!(u64),
        _ => {
            let mut done = 0;
            while done + 16 < nbytes {
                // SAFETY: 16 bytes of the run.
                let words = unsafe { racy::load(src.wrapping_add(done).cast::<[u64; 2]>()) };
                // SAFETY: their places.
                unsafe { racy::store(dst.wrapping_add(done).cast(), words) };
                done += 16;
            }
            let back = nbytes - 16;
            // SAFETY: the last 16 bytes of the run.
            let words = unsafe { racy::load(src.wrapping_add(back).cast::<[u64; 2]>()) };
            // SAFETY: their places.
            unsafe { racy::store(dst.wrapping_add(back).cast(), words) };
        }
    }
}

#[cfg(target_arch = "x86_64")]
macro_rules! wide {
    ($store_run:ident, $stream_run:ident, $lines:ident, $bytes:literal, $feature:literal, $load:ident, $store:ident, $stream:ident) => {
        /// # Safety
        ///
        /// As for every [`Run`], on a processor that has the instructions.
        #[target_feature(enable = $feature)]
        unsafe fn $store_run(src: *const u8, dst: *mut u8, nbytes: usize) {
            const N: usize = $bytes;
            if nbytes < 2 * N {
                // SAFETY: the caller's word.
                return unsafe { few(src, dst, nbytes) };
            }
            if nbytes >= STRING_NBYTES {
                // SAFETY: the caller's word.
                return unsafe { racy::copy(src, dst, nbytes) };
            }
            let mut done = 0;
            while done + 4 * N <= nbytes {
                // SAFETY: four registers of the run.
                unsafe { $store_run::four(src.wrapping_add(done), dst.wrapping_add(done)) };
                done += 4 * N;
            }
            while done + N < nbytes {
                // SAFETY: within the run.
                let value = unsafe { vector::$load(src.wrapping_add(done)) };
                // SAFETY: its place.
                unsafe { vector::$store(dst.wrapping_add(done), value) };
                done += N;
            }
            // SAFETY: the last bytes of the run, some of them again.
            let value = unsafe { vector::$load(src.wrapping_add(nbytes - N)) };
            // SAFETY: their places.
            unsafe { vector::$store(dst.wrapping_add(nbytes - N), value) };
        }

        mod $store_run {
            use super::*;

            /// Loads all of them before it stores the first.
            #[inline]
            #[target_feature(enable = $feature)]
            pub(super) unsafe fn four(src: *const u8, dst: *mut u8) {
                // SAFETY: within the run (the caller's word).
                let a = unsafe { vector::$load(src) };
                // SAFETY: as above.
                let b = unsafe { vector::$load(src.wrapping_add($bytes)) };
                // SAFETY: as above.
                let c = unsafe { vector::$load(src.wrapping_add(2 * $bytes)) };
                // SAFETY: as above.
                let d = unsafe { vector::$load(src.wrapping_add(3 * $bytes)) };
                // SAFETY: their places.
                unsafe { vector::$store(dst, a) };
                // SAFETY: as above.
                unsafe { vector::$store(dst.wrapping_add($bytes), b) };
                // SAFETY: as above.
                unsafe { vector::$store(dst.wrapping_add(2 * $bytes), c) };
                // SAFETY: as above.
                unsafe { vector::$store(dst.wrapping_add(3 * $bytes), d) };
            }
        }

        /// # Safety
        ///
        /// As for every [`Lines`], on a processor that has the instructions.
        #[target_feature(enable = $feature)]
        unsafe fn $lines(kept: *mut u8, dst: *mut u8, to: isize, count: usize) {
            for row in 0..count {
                let (kept, dst) =
                    (kept.wrapping_add(row * KEPT_PITCH), dst.wrapping_offset(row as isize * to));
                let before = dst.addr() % LINE;
                for part in (0..LINE).step_by($bytes) {
                    // SAFETY: what is kept, and the bytes behind it (the caller's word).
                    let value = unsafe { vector::$load(kept.wrapping_add(LINE - before + part)) };
                    // SAFETY: its place in a whole line.
                    unsafe { vector::$stream(dst.wrapping_sub(before).wrapping_add(part), value) };
                }
                for part in (0..LINE).step_by($bytes) {
                    // SAFETY: the bytes behind what is kept.
                    let value = unsafe { vector::$load(kept.wrapping_add(LINE + part)) };
                    // SAFETY: what was kept is written.
                    unsafe { vector::$store(kept.wrapping_add(part), value) };
                }
            }
        }

        /// Whole lines past the caches; what is left of lines at both ends through them.
        ///
        /// # Safety
        ///
        /// As for every [`Run`], on a processor that has the instructions.
        #[target_feature(enable = $feature)]
        unsafe fn $stream_run(src: *const u8, dst: *mut u8, nbytes: usize) {
            if nbytes < 512 {
                // SAFETY: the caller's word.
                return unsafe { $store_run(src, dst, nbytes) };
            }
            let head = dst.addr().wrapping_neg() % LINE;
            // SAFETY: the bytes in front of the first whole line.
            unsafe { short(src, dst, head) };
            let mut done = head;
            while done + LINE <= nbytes {
                if done + AHEAD < nbytes {
                    vector::prefetch(src.wrapping_add(done + AHEAD));
                }
                for part in (0..LINE).step_by($bytes) {
                    // SAFETY: within the run.
                    let value = unsafe { vector::$load(src.wrapping_add(done + part)) };
                    // SAFETY: its place, in a whole line.
                    unsafe { vector::$stream(dst.wrapping_add(done + part), value) };
                }
                done += LINE;
            }
            // SAFETY: the bytes behind the last whole line.
            unsafe { short(src.wrapping_add(done), dst.wrapping_add(done), nbytes - done) };
        }
    };
}

/// The bytes of a line of the cache, on every x86-64.
pub(super) const LINE: usize = 64;

/// How far ahead of a stream its source is asked for.
pub(super) const AHEAD: usize = 1024;

#[cfg(target_arch = "x86_64")]
wide!(store32, stream32, lines32, 32, "avx2", load32, store32, stream32);
#[cfg(target_arch = "x86_64")]
wide!(store64, stream64, lines64, 64, "avx512f,avx2", load64, store64, stream64);

/// Fewer than 128 bytes: by registers from the front, and one up to the end.
///
/// # Safety
///
/// As for every [`Run`], on a processor that has the instructions.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn few(src: *const u8, dst: *mut u8, nbytes: usize) {
    macro_rules! by {
        ($load:ident, $store:ident, $bytes:literal) => {{
            let mut done = 0;
            loop {
                let at = done.min(nbytes - $bytes);
                // SAFETY: within the run (the caller's word).
                let value = unsafe { vector::$load(src.wrapping_add(at)) };
                // SAFETY: its place.
                unsafe { vector::$store(dst.wrapping_add(at), value) };
                done += $bytes;
                if done >= nbytes {
                    break;
                }
            }
        }};
    }
    match nbytes {
        // SAFETY: the caller's word.
        ..16 => unsafe { short(src, dst, nbytes) },
        16..32 => by!(load16, store16, 16),
        32.. => by!(load32, store32, 32),
    }
}
