//! Access to bytes that others may be writing.
//!
//! Under a Share or a Pin lease another thread, process or language may write the bytes while they are read. A plain or
//! volatile access would be a data race, which is undefined behaviour; so would be atomic accesses of different sizes.
//! What is done here has the meaning of byte-wise relaxed atomic accesses in an unspecified order: a race yields a
//! mixture of old and new bytes, and nothing worse. Whoever needs one consistent value loads once, and then decides.
//!
//! On x86-64 and aarch64 an access is one inline-assembly instruction, which the compiler can neither split, repeat nor
//! reason about. Elsewhere, and where `--cfg crossdock_portable` or the model checker asks for it, it is a loop over
//! atomic bytes (which sanitizers see).

#[cfg(target_arch = "x86_64")]
pub(crate) mod vector;

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

use crate::memory::pod::Pod;

#[cfg(all(not(any(crossdock_portable, loom, miri)), target_arch = "x86_64"))]
mod imp {
    use std::arch::asm;

    macro_rules! access {
        ($load:ident, $store:ident, $ty:ty, $class:ident, $format:literal) => {
            #[inline]
            pub(super) unsafe fn $load(src: *const u8) -> $ty {
                let value: $ty;
                // SAFETY: one load of readable bytes (the caller's word), at any alignment.
                unsafe {
                    asm!(concat!("mov {", $format, "}, [{}]"), out($class) value, in(reg) src,
                         options(nostack, readonly, preserves_flags));
                }
                value
            }

            #[inline]
            pub(super) unsafe fn $store(dst: *mut u8, value: $ty) {
                // SAFETY: one store to writable bytes (the caller's word), at any alignment.
                unsafe {
                    asm!(concat!("mov [{}], {", $format, "}"), in(reg) dst, in($class) value,
                         options(nostack, preserves_flags));
                }
            }
        };
    }

    access!(load1, store1, u8, reg_byte, "");
    access!(load2, store2, u16, reg, ":x");
    access!(load4, store4, u32, reg, ":e");
    access!(load8, store8, u64, reg, "");

    #[inline]
    pub(super) unsafe fn copy(src: *const u8, dst: *mut u8, nbytes: usize) {
        // SAFETY: readable and writable bytes (the caller's word); the direction flag is clear, as the ABI has it.
        unsafe {
            asm!("rep movsb", inout("rcx") nbytes => _, inout("rsi") src => _, inout("rdi") dst => _,
                 options(nostack, preserves_flags));
        }
    }
}

#[cfg(all(not(any(crossdock_portable, loom, miri)), target_arch = "aarch64"))]
mod imp {
    use std::arch::asm;

    macro_rules! access {
        ($load:ident, $store:ident, $ty:ty, $ldr:literal, $str:literal, $format:literal) => {
            #[inline]
            pub(super) unsafe fn $load(src: *const u8) -> $ty {
                let value: $ty;
                // SAFETY: one load of readable bytes (the caller's word), at any alignment.
                unsafe {
                    asm!(concat!($ldr, " {", $format, "}, [{}]"), out(reg) value, in(reg) src,
                         options(nostack, readonly, preserves_flags));
                }
                value
            }

            #[inline]
            pub(super) unsafe fn $store(dst: *mut u8, value: $ty) {
                // SAFETY: one store to writable bytes (the caller's word), at any alignment.
                unsafe {
                    asm!(concat!($str, " {1", $format, "}, [{0}]"), in(reg) dst, in(reg) value,
                         options(nostack, preserves_flags));
                }
            }
        };
    }

    access!(load1, store1, u8, "ldrb", "strb", ":w");
    access!(load2, store2, u16, "ldrh", "strh", ":w");
    access!(load4, store4, u32, "ldr", "str", ":w");
    access!(load8, store8, u64, "ldr", "str", ":x");

    #[inline]
    pub(super) unsafe fn copy(src: *const u8, dst: *mut u8, nbytes: usize) {
        let words = nbytes / 8;
        for index in 0..words {
            // SAFETY: within the readable bytes (the caller's word).
            let word = unsafe { load8(src.wrapping_add(8 * index)) };
            // SAFETY: within the writable bytes (the caller's word).
            unsafe { store8(dst.wrapping_add(8 * index), word) }
        }
        for index in 8 * words..nbytes {
            // SAFETY: within the readable bytes (the caller's word).
            let byte = unsafe { load1(src.wrapping_add(index)) };
            // SAFETY: within the writable bytes (the caller's word).
            unsafe { store1(dst.wrapping_add(index), byte) }
        }
    }
}

#[cfg(any(crossdock_portable, loom, miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod imp {
    use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

    unsafe fn load<const N: usize>(src: *const u8) -> [u8; N] {
        std::array::from_fn(|index| {
            let byte = src.wrapping_add(index).cast_mut();
            // SAFETY: readable (the caller's word); an atomic byte needs no alignment.
            unsafe { AtomicU8::from_ptr(byte) }.load(Relaxed)
        })
    }

    unsafe fn store<const N: usize>(dst: *mut u8, bytes: [u8; N]) {
        for (index, byte) in bytes.into_iter().enumerate() {
            // SAFETY: writable (the caller's word); an atomic byte needs no alignment.
            unsafe { AtomicU8::from_ptr(dst.wrapping_add(index)) }.store(byte, Relaxed);
        }
    }

    macro_rules! access {
        ($load:ident, $store:ident, $ty:ty) => {
            pub(super) unsafe fn $load(src: *const u8) -> $ty {
                // SAFETY: the caller's word.
                <$ty>::from_ne_bytes(unsafe { load(src) })
            }

            pub(super) unsafe fn $store(dst: *mut u8, value: $ty) {
                // SAFETY: the caller's word.
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
            // SAFETY: within the readable bytes (the caller's word).
            let byte = unsafe { load1(src.wrapping_add(index)) };
            // SAFETY: within the writable bytes (the caller's word).
            unsafe { store1(dst.wrapping_add(index), byte) }
        }
    }
}

/// Loads a value from bytes that others may be writing. Any alignment.
///
/// # Safety
///
/// `src` is valid for reads of `size_of::<T>()` initialised bytes, and whoever else accesses them meanwhile does so
/// through this module, from another process, or in foreign code that this program's rules do not bind.
#[inline]
pub unsafe fn load<T: Pod>(src: *const T) -> T {
    let mut value = MaybeUninit::<T>::uninit();
    let (src, dst) = (src.cast::<u8>(), value.as_mut_ptr());
    macro_rules! load_as {
        ($load:ident, $word:ty, $at:expr) => {{
            // SAFETY: within the value (the caller's word).
            let word: $word = unsafe { imp::$load(src.wrapping_add($at)) };
            // SAFETY: the local has as many bytes. It is written plainly: nobody else sees it.
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
        // SAFETY: the caller's word, and the local has as many bytes.
        nbytes => unsafe { copy(src, dst.cast(), nbytes) },
    }
    // SAFETY: every byte is written, and every pattern of them is a value (Pod 1).
    unsafe { value.assume_init() }
}

/// Stores a value to bytes that others may be reading or writing. Any alignment.
///
/// # Safety
///
/// As for [`load`], with writes.
#[inline]
pub unsafe fn store<T: Pod>(dst: *mut T, value: T) {
    let (src, dst) = ((&raw const value), dst.cast::<u8>());
    macro_rules! store_as {
        ($store:ident, $word:ty, $at:expr) => {{
            // SAFETY: the value has as many bytes, all initialised (Pod 2).
            let word = unsafe { src.cast::<u8>().wrapping_add($at).cast::<$word>().read_unaligned() };
            // SAFETY: within the value (the caller's word).
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
        // SAFETY: the caller's word, and the value has as many bytes, all initialised (Pod 2).
        nbytes => unsafe { copy(src.cast(), dst, nbytes) },
    }
}

/// Values of up to this many bytes are loaded and stored word by word, and stay in registers.
const REGISTERS: usize = 64;

/// Below this many bytes, a loop over words beats the string instruction's start-up.
const SHORT: usize = 256;

/// Copies bytes that other threads or processes may be accessing. The ranges should not overlap: if
/// they do, the bytes of the destination are unspecified. Not counted: see
/// [`copied_bytes`](crate::memory::copied_bytes) for the copies that are.
///
/// # Safety
///
/// `src` as for [`load`], `dst` as for [`store`], both for `nbytes` bytes.
#[inline]
pub unsafe fn copy(src: *const u8, dst: *mut u8, nbytes: usize) {
    if nbytes >= SHORT {
        // SAFETY: the caller's word.
        return unsafe { imp::copy(src, dst, nbytes) };
    }
    let words = nbytes / 8;
    for index in 0..words {
        // SAFETY: within the ranges.
        let word = unsafe { imp::load8(src.wrapping_add(8 * index)) };
        // SAFETY: within the ranges.
        unsafe { imp::store8(dst.wrapping_add(8 * index), word) }
    }
    for index in 8 * words..nbytes {
        // SAFETY: within the ranges.
        let byte = unsafe { imp::load1(src.wrapping_add(index)) };
        // SAFETY: within the ranges.
        unsafe { imp::store1(dst.wrapping_add(index), byte) }
    }
}

/// An element that others may write at any time: a transparent cell, loaded and stored racily.
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

// SAFETY: every access goes through `load` and `store`, which are atomic by the byte.
unsafe impl<T: Pod> Sync for Shared<T> {}

impl<T: Pod> Shared<T> {
    /// The value at this moment, or a mixture of bytes if it is being written.
    #[inline]
    pub fn load(&self) -> T {
        // SAFETY: the reference is valid, and others keep to this type or to other racy access.
        unsafe { load(self.0.get()) }
    }

    /// Writes the value.
    #[inline]
    pub fn store(&self, value: T) {
        // SAFETY: as for `load`; a cell may be written through a shared reference.
        unsafe { store(self.0.get(), value) }
    }
}

impl<T: Pod + std::fmt::Debug> std::fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.load().fmt(f)
    }
}

/// An element that others may write at any time and the holder never does: what [`Shared`] is to a Share lease, this is to
/// a Pin lease.
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
    /// The value at this moment, or a mixture of bytes if it is being written.
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
        // SAFETY: one byte in, the value fits, and nobody else has the vector.
        unsafe { store(ptr, value) };
        // SAFETY: as above.
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
            // SAFETY: both have `nbytes` bytes there, and nobody else has the vectors.
            unsafe { copy(src.as_ptr(), inner, nbytes) };
            assert_eq!(&dst[1..=nbytes], &src[..], "{nbytes} bytes");
            assert_eq!((dst[0], dst[nbytes + 1]), (0, 0));
        }
    }

    #[test]
    fn racing_writers_leave_whole_bytes_of_one_or_the_other() {
        let mut memory = vec![0u64; 64];
        let cells = memory.as_mut_ptr().cast::<Shared<u64>>();
        // SAFETY: a cell is transparent, and the memory is touched through cells only while they live.
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
