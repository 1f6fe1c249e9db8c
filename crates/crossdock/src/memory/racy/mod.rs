//! Access to bytes that another thread or process may be writing.
//!
//! Under a Share or a Pin lease another thread, process or language may write the bytes while they
//! are read. A plain or volatile access would be a data race, which is undefined behaviour; so
//! would atomic accesses of different sizes. The functions here have the meaning of byte-wise
//! relaxed atomic accesses in an unspecified order: a race yields a mixture of old and new bytes,
//! and nothing worse. Code that needs one consistent value loads once, and then decides.
//!
//! On x86-64, x86, aarch64, ARM, RISC-V, LoongArch, POWER and z/Architecture an access is one
//! inline-assembly instruction, which the compiler can neither split, repeat nor reason about. (Two
//! for 8 bytes on processors of 32 bits.) WebAssembly without threads has plain accesses, as
//! nothing runs beside them. Elsewhere an access is a loop over atomic bytes.
//!
//! Reasons: `DESIGN.md`, "Racy access is inline assembly".

#[cfg(target_arch = "x86_64")]
pub(crate) mod vector;

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "aarch64")]
pub(crate) mod neon;
#[cfg(any(
    all(test, not(loom)),
    not(any(
        target_arch = "aarch64",
        target_arch = "arm",
        target_arch = "loongarch64",
        target_arch = "powerpc64",
        target_arch = "riscv64",
        target_arch = "s390x",
        target_arch = "x86",
        target_arch = "x86_64",
        all(target_family = "wasm", not(target_feature = "atomics")),
    ))
))]
mod portable;
mod seen;
#[cfg(all(target_family = "wasm", not(target_feature = "atomics")))]
mod single;
#[cfg(any(
    target_arch = "arm",
    target_arch = "loongarch64",
    target_arch = "powerpc64",
    target_arch = "riscv64",
    target_arch = "s390x",
    target_arch = "x86",
))]
mod words;
#[cfg(target_arch = "x86_64")]
mod x86_64;

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

use crate::memory::pod::Pod;
#[cfg(target_arch = "aarch64")]
use aarch64 as imp;
#[cfg(target_arch = "aarch64")]
pub(crate) use neon as vector;
#[cfg(not(any(
    target_arch = "aarch64",
    target_arch = "arm",
    target_arch = "loongarch64",
    target_arch = "powerpc64",
    target_arch = "riscv64",
    target_arch = "s390x",
    target_arch = "x86",
    target_arch = "x86_64",
    all(target_family = "wasm", not(target_feature = "atomics")),
)))]
use portable as imp;
#[cfg(all(target_family = "wasm", not(target_feature = "atomics")))]
use single as imp;
#[cfg(any(
    target_arch = "arm",
    target_arch = "loongarch64",
    target_arch = "powerpc64",
    target_arch = "riscv64",
    target_arch = "s390x",
    target_arch = "x86",
))]
use words as imp;
#[cfg(target_arch = "x86_64")]
use x86_64 as imp;

/// Loads a value from bytes that another thread or process may be writing. Any alignment.
///
/// # Safety
///
/// 1. `src` is valid for reads of `size_of::<T>()` initialised bytes.
/// 2. Concurrent accesses to these bytes go through this module, or come from another process or
///    from foreign code that this program's memory model does not cover.
#[inline]
pub unsafe fn load<T: Pod>(src: *const T) -> T {
    let mut value = MaybeUninit::<T>::uninit();
    let (src, dst) = (src.cast::<u8>(), value.as_mut_ptr());
    seen::read(src, size_of::<T>());
    macro_rules! load_as {
        ($load:ident, $word:ty, $at:expr) => {{
            // SAFETY: clauses 1 and 2 of `# Safety`: `done` and the width of the word stay within
            // `size_of::<T>()`, for which `src` is readable.
            let word: $word = unsafe { imp::$load(src.wrapping_add($at)) };
            // SAFETY: `value` has `size_of::<T>()` bytes, within which `done` and the width of the
            // word stay. A plain write suffices: the local is not shared.
            unsafe { dst.cast::<u8>().wrapping_add($at).cast::<$word>().write_unaligned(word) }
        }};
    }
    match size_of::<T>() {
        nbytes @ 0..=REGISTERS => {
            let mut done = 0;
            while done + 8 <= nbytes {
                load_as!(load8, u64, done);
                done += 8;
            }
            if nbytes & 4 != 0 {
                load_as!(load4, u32, done);
                done += 4;
            }
            if nbytes & 2 != 0 {
                load_as!(load2, u16, done);
                done += 2;
            }
            if nbytes & 1 != 0 {
                load_as!(load1, u8, done);
            }
        }
        // SAFETY: clauses 1 and 2 of `# Safety`: `src` is readable for `nbytes`, and `value`, a
        // local, is writable for as many.
        nbytes => unsafe { copy(src, dst.cast(), nbytes) },
    }
    // SAFETY: the steps above wrote all `size_of::<T>()` bytes, and every pattern of them is a
    // value (Pod 1).
    unsafe { value.assume_init() }
}

/// Stores a value to bytes that another thread or process may be reading or writing. Any alignment.
///
/// # Safety
///
/// 1. `dst` is valid for writes of `size_of::<T>()` bytes.
/// 2. Concurrent accesses to these bytes are those of clause 2 of [`load`].
#[inline]
pub unsafe fn store<T: Pod>(dst: *mut T, value: T) {
    let (src, dst) = ((&raw const value), dst.cast::<u8>());
    seen::write(dst, size_of::<T>());
    macro_rules! store_as {
        ($store:ident, $word:ty, $at:expr) => {{
            // SAFETY: `done` and the width of the word stay within `size_of::<T>()` bytes of
            // `value`, all of which are initialised (Pod 2).
            let word = unsafe { src.cast::<u8>().wrapping_add($at).cast::<$word>().read_unaligned() };
            // SAFETY: clauses 1 and 2 of `# Safety`: `done` and the width of the word stay within
            // `size_of::<T>()`, for which `dst` is writable.
            unsafe { imp::$store(dst.wrapping_add($at), word) }
        }};
    }
    match size_of::<T>() {
        nbytes @ 0..=REGISTERS => {
            let mut done = 0;
            while done + 8 <= nbytes {
                store_as!(store8, u64, done);
                done += 8;
            }
            if nbytes & 4 != 0 {
                store_as!(store4, u32, done);
                done += 4;
            }
            if nbytes & 2 != 0 {
                store_as!(store2, u16, done);
                done += 2;
            }
            if nbytes & 1 != 0 {
                store_as!(store1, u8, done);
            }
        }
        // SAFETY: clauses 1 and 2 of `# Safety`: `dst` is writable for `nbytes`, and `value` has as
        // many bytes, all initialised (Pod 2).
        nbytes => unsafe { copy(src.cast(), dst, nbytes) },
    }
}

/// Values of up to this many bytes are loaded and stored word by word and stay in registers.
const REGISTERS: usize = 64;

/// Below this many bytes, a loop over words is faster than starting the string instruction of
/// x86-64, or than the steps of other copies.
const SHORT: usize = if cfg!(target_arch = "x86_64") { 256 } else { 32 };

/// Copies bytes that other threads or processes may be accessing. If the ranges overlap, the bytes
/// of the destination are unspecified. This copy is not counted: see
/// [`copied_bytes`](crate::memory::copied_bytes) for the copies that are.
///
/// # Safety
///
/// 1. `src` is valid for reads of `nbytes` initialised bytes, and `dst` for writes of `nbytes`
///    bytes.
/// 2. Concurrent accesses to these bytes are those of clause 2 of [`load`].
#[inline]
pub unsafe fn copy(src: *const u8, dst: *mut u8, nbytes: usize) {
    seen::read(src, nbytes);
    seen::write(dst, nbytes);
    if nbytes >= SHORT {
        // SAFETY: clauses 1 and 2 of `# Safety` are those of `imp`, for `nbytes` bytes at `src` and
        // `dst`.
        return unsafe { imp::copy(src, dst, nbytes) };
    }
    let words = nbytes / 8;
    for index in 0..words {
        // SAFETY: clause 1 of `# Safety`: `index < words`, so these 8 bytes lie within the `nbytes`
        // readable bytes at `src`.
        let word = unsafe { imp::load8(src.wrapping_add(8 * index)) };
        // SAFETY: clause 1 of `# Safety`: `index < words`, so these 8 bytes lie within the `nbytes`
        // writable bytes at `dst`.
        unsafe { imp::store8(dst.wrapping_add(8 * index), word) }
    }
    for index in 8 * words..nbytes {
        // SAFETY: clause 1 of `# Safety`: `index < nbytes`, so this byte is one of the readable
        // bytes at `src`.
        let byte = unsafe { imp::load1(src.wrapping_add(index)) };
        // SAFETY: clause 1 of `# Safety`: `index < nbytes`, so this byte is one of the writable
        // bytes at `dst`.
        unsafe { imp::store1(dst.wrapping_add(index), byte) }
    }
}

/// An element that another holder may write at any time: a transparent cell, loaded and stored
/// racily.
///
/// ```
/// use crossdock::buffer::Buffer;
///
/// let buffer = Buffer::from_vec(vec![1u32, 2, 3])?;
/// let (left, right) = (buffer.share()?, buffer.share()?);
/// left.as_cells_of::<u32>()?[1].store(20);
/// assert_eq!(right.as_cells_of::<u32>()?[1].load(), 20);
/// # Ok::<(), crossdock::Error>(())
/// ```
#[repr(transparent)]
pub struct Shared<T: Pod>(UnsafeCell<T>);

// SAFETY: every access goes through `load` and `store`, which act as atomic accesses by the byte
// and so never race.
unsafe impl<T: Pod> Sync for Shared<T> {}

impl<T: Pod> Shared<T> {
    /// The present value, or a mixture of old and new bytes if it is being written.
    #[inline]
    pub fn load(&self) -> T {
        // SAFETY: clause 1 of `load`: `&self` is valid for a `T`, initialised (Pod 2). Clause 2:
        // other accesses to the cell go through this type or are racy, too.
        unsafe { load(self.0.get()) }
    }

    /// Writes the value.
    #[inline]
    pub fn store(&self, value: T) {
        // SAFETY: clause 1 of `store`: an `UnsafeCell` may be written through `&self`. Clause 2:
        // other accesses to the cell go through this type or are racy, too.
        unsafe { store(self.0.get(), value) }
    }
}

impl<T: Pod + std::fmt::Debug> std::fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.load().fmt(f)
    }
}

/// An element that another holder may write at any time and this holder never does: [`Pinned`] is
/// to a Pin lease what [`Shared`] is to a Share lease.
///
/// ```
/// use crossdock::buffer::Buffer;
///
/// let buffer = Buffer::from_vec(vec![1u32, 2, 3])?;
/// let (pinned, shared) = (buffer.pin()?, buffer.share()?);
/// shared.as_cells_of::<u32>()?[1].store(20);
/// assert_eq!(pinned.as_cells_of::<u32>()?[1].load(), 20);
/// # Ok::<(), crossdock::Error>(())
/// ```
#[repr(transparent)]
pub struct Pinned<T: Pod>(Shared<T>);

impl<T: Pod> Pinned<T> {
    /// The present value, or a mixture of old and new bytes if it is being written.
    #[inline]
    pub fn load(&self) -> T {
        self.0.load()
    }
}

impl<T: Pod + std::fmt::Debug> std::fmt::Debug for Pinned<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.load().fmt(f)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn round_trip<T: Pod + PartialEq + std::fmt::Debug>(value: T) {
        let mut bytes = vec![0xA5u8; size_of::<T>() + 2];
        let ptr = bytes.as_mut_ptr().wrapping_add(1).cast::<T>();
        // SAFETY: `bytes` has room for one byte, the value and one byte more, and only this thread
        // accesses the vector.
        unsafe { store(ptr, value) };
        // SAFETY: the `store` above initialised all `size_of::<T>()` bytes at `ptr`, and only this
        // thread accesses the vector.
        let loaded = unsafe { load(ptr) };
        assert_eq!(loaded, value);
        assert_eq!((bytes[0], bytes[size_of::<T>() + 1]), (0xA5, 0xA5), "neighbours of {value:?}");
    }

    #[test]
    fn values_of_every_size_go_in_and_out_unaligned() {
        round_trip(0x5Au8);
        round_trip(0x1234u16);
        round_trip(0x1234_5678u32);
        round_trip(-1.5f32);
        round_trip(f64::MIN_POSITIVE);
        round_trip(u128::MAX / 3);
        round_trip([1u8, 2, 3]);
        round_trip([1u64, 2, 3, 4, 5]);
        round_trip([7u8; 300]);
    }

    #[test]
    fn copies_of_every_length_move_just_their_bytes() {
        for nbytes in (0..70).chain(SHORT - 9..SHORT + 9) {
            let src: Vec<u8> = (0..nbytes).map(|index| index as u8 ^ 0x55).collect();
            let mut dst = vec![0u8; nbytes + 2];
            let inner = dst.as_mut_ptr().wrapping_add(1);
            // SAFETY: `src` has `nbytes` bytes, `dst` has `nbytes` behind its first, and only this
            // thread accesses the vectors.
            unsafe { copy(src.as_ptr(), inner, nbytes) };
            assert_eq!(&dst[1..=nbytes], &src[..], "{nbytes} bytes");
            assert_eq!((dst[0], dst[nbytes + 1]), (0, 0));
        }
    }

    /// Each access, of one byte more than the memory has: the program ends with a report.
    #[cfg(crossdock_sanitized)]
    #[test]
    fn the_sanitizer_reports_an_access_by_assembly_past_the_end() {
        const NAME: &str = "the_sanitizer_reports_an_access_by_assembly_past_the_end";
        let mut memory = vec![0u8; 64];
        let (at, mut other) = (memory.as_mut_ptr(), vec![0u8; 65]);
        let past = at.wrapping_add(61).cast::<u32>();
        // SAFETY: none of these is sound: the sanitizer has to end the process before the access.
        match std::env::var("CROSSDOCK_PAST_THE_END").ok().as_deref() {
            Some("load") => drop(unsafe { load(past) }),
            Some("store") => unsafe { store(past, 1) },
            Some("copy from") => unsafe { copy(at, other.as_mut_ptr(), 65) },
            Some("copy to") => unsafe { copy(other.as_ptr(), at, 65) },
            Some(way) => panic!("there is no way `{way}`"),
            None => {
                for (way, said) in
                    [("load", "READ"), ("store", "WRITE"), ("copy from", "READ"), ("copy to", "WRITE")]
                {
                    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
                    let child = child.env("CROSSDOCK_PAST_THE_END", way).args([NAME, "--nocapture"]);
                    let output = child.output().unwrap();
                    let report = String::from_utf8_lossy(&output.stderr);
                    assert!(!output.status.success(), "{way}");
                    assert!(
                        report.contains("heap-buffer-overflow") && report.contains(said),
                        "{way}: {report}"
                    );
                }
            }
        }
    }

    #[test]
    fn racing_writers_leave_whole_bytes_of_one_or_the_other() {
        let mut memory = vec![0u64; 64];
        let cells = memory.as_mut_ptr().cast::<Shared<u64>>();
        // SAFETY: `Shared<u64>` is transparent, `memory` has 64 elements, and it is accessed
        // through these cells only while they live.
        let cells: &[Shared<u64>] = unsafe { std::slice::from_raw_parts(cells, 64) };
        std::thread::scope(|scope| {
            for value in [0u64, u64::MAX] {
                scope.spawn(move || {
                    for _ in 0..1000 {
                        cells.iter().for_each(|cell| cell.store(value));
                    }
                });
            }
            for _ in 0..1000 {
                for cell in cells {
                    assert!(cell.load().to_ne_bytes().iter().all(|&byte| byte == 0 || byte == 0xFF));
                }
            }
        });
    }
}
