//! Debug mode: guard bytes around every block, and poison in memory that is new or gone.

use std::fmt;
use std::io::Write;
use std::ptr::NonNull;
use std::sync::MutexGuard;

use crate::memory::fork::ForkLock;
use crate::pool::form::ALIGNMENT;

/// What guards are filled with.
const GUARD: u8 = 0xFD;
/// What new memory is filled with, unless zeroed.
const FRESH: u8 = 0xCD;
/// What memory is filled with before it is given back.
const GONE: u8 = 0xDD;

/// Damage that debug mode found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Damage {
    /// A byte in front of a block was written.
    Underflow {
        /// The address of the block's first byte.
        address: usize,
        /// The bytes that may be written.
        nbytes: usize,
        /// How far in front of the block the write was, in bytes.
        before: usize,
    },
    /// A byte behind a block was written.
    Overflow {
        /// The address of the block's first byte.
        address: usize,
        /// The bytes that may be written.
        nbytes: usize,
        /// How far behind the block's end the write was, in bytes: 0 for the first byte that is not the block's.
        behind: usize,
    },
    /// Memory was given back with another size than it was taken with.
    WrongSize {
        /// The address of the block's first byte.
        address: usize,
        /// The size that was taken.
        taken: usize,
        /// The size that was given back.
        given: usize,
    },
    /// Memory was given back with another alignment than it was taken with.
    WrongAlignment {
        /// The address of the block's first byte.
        address: usize,
        /// The alignment that was taken.
        taken: usize,
        /// The alignment that was given back.
        given: usize,
    },
    /// Memory was given back to another pool than it was taken from.
    WrongPool {
        /// The address of the block's first byte.
        address: usize,
        /// The name of the pool that it was taken from.
        taken: &'static str,
        /// The name of the pool that it was given back to.
        given: &'static str,
    },
    /// Memory was given back that had been given back before, or was never taken.
    NotTaken {
        /// The address that was given back.
        address: usize,
        /// The size that was given back.
        given: usize,
        /// The size that it had when it was taken, where it once was.
        once: Option<usize>,
    },
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Underflow { address, nbytes, before } => {
                write!(f, "byte -{before} of the block of {nbytes} bytes at {address:#x} was written")
            }
            Self::Overflow { address, nbytes, behind } => {
                let at = nbytes + behind;
                write!(f, "byte {at} of the block of {nbytes} bytes at {address:#x} was written")
            }
            Self::WrongSize { address, taken, given } => write!(
                f,
                "the block at {address:#x} was taken with {taken} bytes and given back with {given}"
            ),
            Self::WrongAlignment { address, taken, given } => write!(
                f,
                "the block at {address:#x} was taken with an alignment of {taken} bytes and given back with {given}"
            ),
            Self::WrongPool { address, taken, given } => write!(
                f,
                "the block at {address:#x} was taken from the pool `{taken}` and given back to `{given}`"
            ),
            Self::NotTaken { address, given, once: Some(once) } => write!(
                f,
                "the block of {once} bytes at {address:#x} was given back twice, the second time with {given}"
            ),
            Self::NotTaken { address, given, once: None } => {
                write!(f, "a block of {given} bytes at {address:#x} was given back that was never taken")
            }
        }
    }
}

static FOUND: ForkLock<Vec<Damage>> = ForkLock::new(Vec::new());

fn found() -> MutexGuard<'static, Vec<Damage>> {
    FOUND.lock()
}

/// All damage that debug mode has found since the process began, or since it was last asked, in the order in which it was found.
/// It is also written to standard error as it is found.
pub fn take_damage() -> Vec<Damage> {
    std::mem::take(&mut *found())
}

pub(crate) fn report(damage: Damage) {
    // `eprintln!` would panic where nobody reads standard error any more, in the middle of giving a block back.
    let _unheard = writeln!(std::io::stderr(), "crossdock: {damage}");
    let mut found = found();
    if found.try_reserve(1).is_ok() {
        found.push(damage);
    }
}

/// Fills the guards, and new memory with what nobody takes for zeros.
///
/// # Safety
///
/// `guard` bytes on both sides of `bytes..bytes + capacity` are the caller's own, and so are those bytes.
pub(crate) unsafe fn prepare(bytes: NonNull<u8>, capacity: usize, guard: usize, zeroed: bool) {
    // SAFETY: the caller's word.
    let front = unsafe { bytes.sub(guard) };
    // SAFETY: the caller's word.
    unsafe { front.write_bytes(GUARD, guard) };
    // SAFETY: the caller's word.
    let back = unsafe { bytes.add(capacity) };
    // SAFETY: the caller's word.
    unsafe { back.write_bytes(GUARD, guard) };
    if !zeroed {
        // SAFETY: the caller's word.
        unsafe { bytes.write_bytes(FRESH, capacity) };
    }
}

/// Whether the guards are as they were filled; reports where they are not. Poisons the bytes.
///
/// # Safety
///
/// As for [`prepare`], which was called for these bytes; nobody uses them any more.
pub(crate) unsafe fn inspect(bytes: NonNull<u8>, capacity: usize, guard: usize) -> bool {
    let (address, nbytes) = (bytes.addr().get(), capacity);
    // SAFETY: the caller's word.
    let front = unsafe { bytes.sub(guard) };
    // SAFETY: filled by `prepare`.
    let front = unsafe { std::slice::from_raw_parts(front.as_ptr(), guard) };
    let before = front.iter().rev().position(|&byte| byte != GUARD);
    if let Some(distance) = before {
        report(Damage::Underflow { address, nbytes, before: distance + 1 });
    }
    // SAFETY: the caller's word.
    let back = unsafe { bytes.add(capacity) };
    // SAFETY: filled by `prepare`.
    let back = unsafe { std::slice::from_raw_parts(back.as_ptr(), guard) };
    let behind = back.iter().position(|&byte| byte != GUARD);
    if let Some(behind) = behind {
        report(Damage::Overflow { address, nbytes, behind });
    }
    // SAFETY: the caller's word.
    unsafe { bytes.write_bytes(GONE, capacity) };
    before.is_none() && behind.is_none()
}

/// Reports where the padding behind `nbytes` bytes, up to a multiple of the alignment, is not zero any more.
///
/// # Safety
///
/// The bytes and their padding are the caller's own; the padding was zeroed.
pub(crate) unsafe fn inspect_padding(bytes: NonNull<u8>, nbytes: usize) {
    // SAFETY: the caller's word.
    let end = unsafe { bytes.add(nbytes) };
    let padding = nbytes.next_multiple_of(ALIGNMENT) - nbytes;
    // SAFETY: the caller's word.
    let padding = unsafe { std::slice::from_raw_parts(end.as_ptr(), padding) };
    if let Some(behind) = padding.iter().position(|&byte| byte != 0) {
        report(Damage::Overflow { address: bytes.addr().get(), nbytes, behind });
    }
}
