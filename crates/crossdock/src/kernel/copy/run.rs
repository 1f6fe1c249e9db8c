//! Copies of contiguous bytes.

use crate::kernel::cpu::Level;
use crate::memory::racy;
#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
use crate::memory::racy::vector;

/// Runs of at least this many bytes use the string instruction of x86-64, unless they are streamed.
/// On aarch64 it is the racy copy, whose loop needs fewer instructions than the one here.
#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
const STRING_NBYTES: usize = if cfg!(target_arch = "x86_64") { 1 << 15 } else { 1 << 8 };

/// Copies `nbytes` bytes that are contiguous in source and destination.
///
/// # Safety
///
/// 1. `nbytes` bytes at the first pointer may be loaded racily.
/// 2. `nbytes` bytes at the second pointer may be stored racily.
/// 3. The CPU has the level that the function was chosen for.
pub(in crate::kernel) type CopyRun = unsafe fn(*const u8, *mut u8, usize);

/// The function that copies runs. A [`fence`] must follow those that stream.
pub(in crate::kernel) fn run(level: Level, stream: bool) -> CopyRun {
    match (level, stream) {
        #[cfg(target_arch = "x86_64")]
        (Level::Avx512, true) => stream64::<false>,
        #[cfg(target_arch = "x86_64")]
        (Level::Avx512, false) => store64,
        #[cfg(target_arch = "x86_64")]
        (Level::Avx2, true) => stream32::<false>,
        #[cfg(target_arch = "x86_64")]
        (Level::Avx2, false) => store32,
        #[cfg(target_arch = "aarch64")]
        (Level::Neon, true) => stream32::<false>,
        #[cfg(target_arch = "aarch64")]
        (Level::Neon, false) => store32,
        _ => portable,
    }
}

/// The function that streams runs of which each follows the one before in the source: it also
/// prefetches what comes after the run. `None` for a level that does not stream.
pub(super) fn adjacent(level: Level) -> Option<CopyRun> {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => Some(stream64::<true>),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => Some(stream32::<true>),
        #[cfg(target_arch = "aarch64")]
        Level::Neon => Some(stream32::<true>),
        _ => None,
    }
}

/// The distance between the kept rows: a line that is left over, and a line of the present tile.
pub(super) const KEPT_PITCH: usize = 2 * LINE;

/// Streams one line to each of `count` rows of the destination, which are `to` bytes apart: the
/// line that the 64 bytes at `dst` complete. The first 64 bytes of `kept` hold the bytes before
/// `dst`, the next 64 those from `dst` on, which become the first in turn.
///
/// # Safety
///
/// 1. In each row, the line around `dst`, from the previous multiple of 64 on, may be stored
///    racily.
/// 2. `KEPT_PITCH` bytes at `kept` for each row are initialised, and no other thread accesses them.
/// 3. The CPU has the level that the function was chosen for.
pub(super) type StreamLines = unsafe fn(*mut u8, *mut u8, isize, usize);

/// `None` for a level that does not stream.
pub(super) fn lines(level: Level) -> Option<StreamLines> {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => Some(lines64),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => Some(lines32),
        #[cfg(target_arch = "aarch64")]
        Level::Neon => Some(lines32),
        _ => None,
    }
}

/// Streams `nbytes` bytes, a multiple of a line, from the first pointer to each of `count` rows of
/// the destination, which are `to` bytes apart. The arguments are the source, `nbytes`, the
/// destination, `to` and `count`.
///
/// # Safety
///
/// 1. `nbytes` bytes of each row of the destination, which begins a line, may be stored racily.
/// 2. `count * nbytes` bytes at the first pointer are initialised, and no other thread writes them.
/// 3. The CPU has the level that the function was chosen for.
pub(super) type StreamRows = unsafe fn(*const u8, usize, *mut u8, isize, usize);

/// `None` for a level that does not stream.
pub(super) fn rows(level: Level) -> Option<StreamRows> {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => Some(rows64),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => Some(rows32),
        #[cfg(target_arch = "aarch64")]
        Level::Neon => Some(rows32),
        _ => None,
    }
}

/// As [`prefetch`], into the second cache only.
pub(super) fn prefetch_to_second(src: *const u8) {
    #[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
    vector::prefetch_to_second(src);
    #[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
    let _ = src;
}

/// Prefetches the line at an address, which may be invalid, if the CPU has the instruction.
pub(super) fn prefetch(src: *const u8) {
    #[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
    vector::prefetch(src);
    #[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
    let _ = src;
}

/// Must follow the last streaming store of a thread, before another thread learns of the result.
/// Streaming stores of aarch64 are ordered like others.
pub(in crate::kernel) fn fence() {
    #[cfg(target_arch = "x86_64")]
    vector::fence();
}

/// # Safety
///
/// Clauses 1 and 2 of [`CopyRun`].
unsafe fn portable(src: *const u8, dst: *mut u8, nbytes: usize) {
    if nbytes <= 64 {
        // SAFETY: clauses 1 and 2 of `CopyRun` cover `nbytes` bytes of both runs, which are at most
        // 64 (just checked).
        return unsafe { short(src, dst, nbytes) };
    }
    // SAFETY: clauses 1 and 2 of `CopyRun`: `nbytes` bytes at `src` may be loaded, and `nbytes` at
    // `dst` stored, racily.
    unsafe { racy::copy(src, dst, nbytes) }
}

/// Copies at most 64 bytes: words from the front, and one that ends at the end. Some bytes may be
/// written twice.
///
/// # Safety
///
/// 1. Clauses 1 and 2 of [`CopyRun`].
/// 2. `nbytes` is at most 64.
#[inline]
pub(super) unsafe fn short(src: *const u8, dst: *mut u8, nbytes: usize) {
    macro_rules! two {
        ($word:ty) => {{
            let back = nbytes - size_of::<$word>();
            // SAFETY: clause 1 of `CopyRun`: the match arm has `nbytes` no less than the word,
            // which lies at the front of the run.
            let first = unsafe { racy::load(src.cast::<$word>()) };
            // SAFETY: clause 1 of `CopyRun`: `back` is `nbytes` less the size of the word, which
            // therefore ends with the run.
            let last = unsafe { racy::load(src.wrapping_add(back).cast::<$word>()) };
            // SAFETY: clause 2 of `CopyRun`: the match arm has `nbytes` no less than the word,
            // which lies at the front of the run.
            unsafe { racy::store(dst.cast(), first) };
            // SAFETY: clause 2 of `CopyRun`: `back` is `nbytes` less the size of the word, which
            // therefore ends with the run.
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
                // SAFETY: clause 1 of `CopyRun`: `done + 16 < nbytes`, so the 16 bytes lie within
                // the run at `src`.
                let words = unsafe { racy::load(src.wrapping_add(done).cast::<[u64; 2]>()) };
                // SAFETY: clause 2 of `CopyRun`: `done + 16 < nbytes`, so the 16 bytes lie within
                // the run at `dst`.
                unsafe { racy::store(dst.wrapping_add(done).cast(), words) };
                done += 16;
            }
            let back = nbytes - 16;
            // SAFETY: clause 1 of `CopyRun`: the match arm has `nbytes` above 16, and these are the
            // last 16 bytes at `src`.
            let words = unsafe { racy::load(src.wrapping_add(back).cast::<[u64; 2]>()) };
            // SAFETY: clause 2 of `CopyRun`: the match arm has `nbytes` above 16, and these are the
            // last 16 bytes at `dst`.
            unsafe { racy::store(dst.wrapping_add(back).cast(), words) };
        }
    }
}

#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
macro_rules! wide {
    ($store_run:ident, $stream_run:ident, $lines:ident, $rows:ident, $bytes:literal, $feature:literal, $load:ident, $store:ident, $stream:ident) => {
        /// # Safety
        ///
        /// Clauses 1 to 3 of [`CopyRun`].
        #[target_feature(enable = $feature)]
        unsafe fn $store_run(src: *const u8, dst: *mut u8, nbytes: usize) {
            const N: usize = $bytes;
            if nbytes < 2 * N {
                // SAFETY: clauses 1 to 3 of `CopyRun` cover both runs and the level; `nbytes` is
                // below 128, as two registers have at most 128 bytes.
                return unsafe { few(src, dst, nbytes) };
            }
            if nbytes >= STRING_NBYTES {
                // SAFETY: clauses 1 and 2 of `CopyRun`: `nbytes` bytes at `src` may be loaded, and
                // `nbytes` at `dst` stored, racily.
                return unsafe { racy::copy(src, dst, nbytes) };
            }
            let mut done = 0;
            while done + 4 * N <= nbytes {
                // SAFETY: clauses 1 to 3 of `CopyRun`: `done + 4 * N <= nbytes`, so four registers
                // of both runs follow `done`.
                unsafe { $store_run::four(src.wrapping_add(done), dst.wrapping_add(done)) };
                done += 4 * N;
            }
            while done + N < nbytes {
                // SAFETY: clause 1 of `CopyRun`: `done + N < nbytes`, so the register lies within
                // the run at `src`.
                let value = unsafe { vector::$load(src.wrapping_add(done)) };
                // SAFETY: clause 2 of `CopyRun`: `done + N < nbytes`, so the register lies within
                // the run at `dst`.
                unsafe { vector::$store(dst.wrapping_add(done), value) };
                done += N;
            }
            // SAFETY: clause 1 of `CopyRun`: `nbytes` is at least `2 * N` (checked first), and
            // these are the last `N` bytes at `src`.
            let value = unsafe { vector::$load(src.wrapping_add(nbytes - N)) };
            // SAFETY: clause 2 of `CopyRun`: `nbytes` is at least `2 * N` (checked first), and
            // these are the last `N` bytes at `dst`.
            unsafe { vector::$store(dst.wrapping_add(nbytes - N), value) };
        }

        mod $store_run {
            use super::*;

            /// Copies four registers. Loads all of them before it stores the first.
            ///
            /// # Safety
            ///
            /// 1. Four registers of bytes at `src` may be loaded racily.
            /// 2. Four registers of bytes at `dst` may be stored racily.
            /// 3. The CPU has the instructions.
            #[inline]
            #[target_feature(enable = $feature)]
            pub(super) unsafe fn four(src: *const u8, dst: *mut u8) {
                // SAFETY: clause 1 of `# Safety`: this is the first of the four registers that may
                // be loaded from `src`.
                let a = unsafe { vector::$load(src) };
                // SAFETY: clause 1 of `# Safety`: this is the second of the four registers that may
                // be loaded from `src`.
                let b = unsafe { vector::$load(src.wrapping_add($bytes)) };
                // SAFETY: clause 1 of `# Safety`: this is the third of the four registers that may
                // be loaded from `src`.
                let c = unsafe { vector::$load(src.wrapping_add(2 * $bytes)) };
                // SAFETY: clause 1 of `# Safety`: this is the last of the four registers that may
                // be loaded from `src`.
                let d = unsafe { vector::$load(src.wrapping_add(3 * $bytes)) };
                // SAFETY: clause 2 of `# Safety`: this is the first of the four registers that may
                // be stored to `dst`.
                unsafe { vector::$store(dst, a) };
                // SAFETY: clause 2 of `# Safety`: this is the second of the four registers that may
                // be stored to `dst`.
                unsafe { vector::$store(dst.wrapping_add($bytes), b) };
                // SAFETY: clause 2 of `# Safety`: this is the third of the four registers that may
                // be stored to `dst`.
                unsafe { vector::$store(dst.wrapping_add(2 * $bytes), c) };
                // SAFETY: clause 2 of `# Safety`: this is the last of the four registers that may
                // be stored to `dst`.
                unsafe { vector::$store(dst.wrapping_add(3 * $bytes), d) };
            }
        }

        /// # Safety
        ///
        /// Clauses 1 to 3 of [`StreamLines`].
        #[target_feature(enable = $feature)]
        unsafe fn $lines(kept: *mut u8, dst: *mut u8, to: isize, count: usize) {
            for row in 0..count {
                let (kept, dst) =
                    (kept.wrapping_add(row * KEPT_PITCH), dst.wrapping_offset(row as isize * to));
                let before = dst.addr() % LINE;
                for part in (0..LINE).step_by($bytes) {
                    // SAFETY: clause 2 of `StreamLines`: `before` is at most 63 and `part` ends
                    // within the line, so this lies within the `KEPT_PITCH` bytes of the row.
                    let value = unsafe { vector::$load(kept.wrapping_add(LINE - before + part)) };
                    // SAFETY: clause 1 of `StreamLines`: `dst - before` is the line around `dst`,
                    // and `part` is a multiple of the register's size within it, hence aligned.
                    unsafe { vector::$stream(dst.wrapping_sub(before).wrapping_add(part), value) };
                }
                for part in (0..LINE).step_by($bytes) {
                    // SAFETY: clause 2 of `StreamLines`: `LINE + part` and the register end within
                    // the `KEPT_PITCH` bytes of the row.
                    let value = unsafe { vector::$load(kept.wrapping_add(LINE + part)) };
                    // SAFETY: clause 2 of `StreamLines`: `part` and the register end within the
                    // first line of the row, whose old bytes are written.
                    unsafe { vector::$store(kept.wrapping_add(part), value) };
                }
            }
        }

        /// # Safety
        ///
        /// Clauses 1 to 3 of [`StreamRows`].
        #[target_feature(enable = $feature)]
        unsafe fn $rows(src: *const u8, nbytes: usize, dst: *mut u8, to: isize, count: usize) {
            for row in 0..count {
                let (src, dst) = (src.wrapping_add(row * nbytes), dst.wrapping_offset(row as isize * to));
                for part in (0..nbytes).step_by($bytes) {
                    // SAFETY: clause 2 of `StreamRows`: `nbytes` is a multiple of the register's
                    // size, so the register lies within the row at `src`.
                    let value = unsafe { vector::$load(src.wrapping_add(part)) };
                    // SAFETY: clause 1 of `StreamRows`: the register lies within the row at `dst`,
                    // which begins a line, and `part` is a multiple of its size.
                    unsafe { vector::$stream(dst.wrapping_add(part), value) };
                }
            }
        }

        /// Streams whole lines past the caches, and stores the partial lines at both ends through
        /// them.
        ///
        /// # Safety
        ///
        /// Clauses 1 to 3 of [`CopyRun`].
        #[target_feature(enable = $feature)]
        unsafe fn $stream_run<const READS_ON: bool>(src: *const u8, dst: *mut u8, nbytes: usize) {
            if nbytes < STREAMED_RUN {
                // SAFETY: clauses 1 to 3 of `CopyRun`: the run and the level are passed on
                // unchanged, to the function that does not stream.
                return unsafe { $store_run(src, dst, nbytes) };
            }
            let head = dst.addr().wrapping_neg() % LINE;
            // SAFETY: clauses 1 and 2 of `CopyRun`: `head` is at most 63, and `nbytes` is at least
            // 512 (checked above).
            unsafe { short(src, dst, head) };
            let mut done = head;
            while done + LINE <= nbytes {
                if READS_ON || done + AHEAD < nbytes {
                    vector::prefetch_to_second(src.wrapping_add(done + AHEAD));
                }
                for part in (0..LINE).step_by($bytes) {
                    // SAFETY: clause 1 of `CopyRun`: `done + LINE <= nbytes`, and the register lies
                    // within the line that begins at `done`.
                    let value = unsafe { vector::$load(src.wrapping_add(done + part)) };
                    // SAFETY: clause 2 of `CopyRun`: `done + LINE <= nbytes`. `dst + done` begins a
                    // line, since `head` led to one, and `part` is a multiple of the register's
                    // size.
                    unsafe { vector::$stream(dst.wrapping_add(done + part), value) };
                }
                done += LINE;
            }
            // SAFETY: clauses 1 and 2 of `CopyRun`: the loop ended with fewer than `LINE` bytes
            // left, which are the last of the run.
            unsafe { short(src.wrapping_add(done), dst.wrapping_add(done), nbytes - done) };
        }
    };
}

/// The size of a cache line, on every x86-64 and most aarch64.
pub(in crate::kernel) const LINE: usize = 64;

/// Runs of at least this many bytes are streamed.
pub(super) const STREAMED_RUN: usize = 512;

/// How many bytes ahead of a stream to prefetch its source, into the second cache: it has room for
/// more lines on their way than the first one. A page, so that the hardware prefetcher, which stops
/// at the end of one, starts on the next in time.
pub(in crate::kernel) const AHEAD: usize = 4096;

#[cfg(target_arch = "x86_64")]
wide!(store32, stream32, lines32, rows32, 32, "avx2", load32, store32, stream32);
#[cfg(target_arch = "x86_64")]
wide!(store64, stream64, lines64, rows64, 64, "avx512f,avx2", load64, store64, stream64);
#[cfg(target_arch = "aarch64")]
wide!(store32, stream32, lines32, rows32, 32, "neon", load32, store32, stream32);

/// Copies fewer than 128 bytes: registers from the front, and one that ends at the end.
///
/// # Safety
///
/// 1. Clauses 1 and 2 of [`CopyRun`].
/// 2. `nbytes` is below 128, and the CPU has AVX2 or NEON.
#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
unsafe fn few(src: *const u8, dst: *mut u8, nbytes: usize) {
    macro_rules! by {
        ($load:ident, $store:ident, $bytes:literal) => {{
            let mut done = 0;
            loop {
                let at = done.min(nbytes - $bytes);
                // SAFETY: clause 1 of `CopyRun`: the match arm has `nbytes` no less than the
                // register, and `at` leaves room for it.
                let value = unsafe { vector::$load(src.wrapping_add(at)) };
                // SAFETY: clause 2 of `CopyRun`: the match arm has `nbytes` no less than the
                // register, and `at` leaves room for it.
                unsafe { vector::$store(dst.wrapping_add(at), value) };
                done += $bytes;
                if done >= nbytes {
                    break;
                }
            }
        }};
    }
    match nbytes {
        // SAFETY: clauses 1 and 2 of `CopyRun` cover `nbytes` bytes of both runs, which are below
        // 16 (the match arm).
        ..16 => unsafe { short(src, dst, nbytes) },
        16..32 => by!(load16, store16, 16),
        32.. => by!(load32, store32, 32),
    }
}
