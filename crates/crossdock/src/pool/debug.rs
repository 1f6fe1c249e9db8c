//! Debug mode: guard bytes around every block, and patterns in memory that is new or freed.
//!
//! Reasons: `DESIGN.md`, "Debug mode leaves a damaged block in place".

use std::fmt;
use std::io::Write;
use std::ptr::NonNull;
use std::sync::MutexGuard;

use crate::memory::fork::ForkLock;
use crate::pool::form::ALIGNMENT;

/// The pattern of guards.
const GUARD: u8 = 0xFD;
/// The pattern of new memory, unless zeroed.
const FRESH: u8 = 0xCD;
/// The pattern of memory that is about to be freed.
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
        /// How far behind the block's end the write was, in bytes: 0 for the first byte beyond the
        /// block.
        behind: usize,
    },
    /// Memory was freed with another size than it was taken with.
    WrongSize {
        /// The address of the block's first byte.
        address: usize,
        /// The size that was taken.
        taken: usize,
        /// The size at the free.
        given: usize,
    },
    /// Memory was freed with another alignment than it was taken with.
    WrongAlignment {
        /// The address of the block's first byte.
        address: usize,
        /// The alignment that was taken.
        taken: usize,
        /// The alignment at the free.
        given: usize,
    },
    /// Memory was freed to another pool than it was taken from.
    WrongPool {
        /// The address of the block's first byte.
        address: usize,
        /// The name of the pool that it was taken from.
        taken: &'static str,
        /// The name of the pool that it was freed to.
        given: &'static str,
    },
    /// Memory was freed twice, or was never taken.
    NotTaken {
        /// The address that was freed.
        address: usize,
        /// The size at the free.
        given: usize,
        /// The size with which it was once taken, if it was.
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
            Self::WrongSize { address, taken, given } => {
                write!(f, "the block at {address:#x} was allocated with {taken} bytes and freed with {given}")
            }
            Self::WrongAlignment { address, taken, given } => write!(
                f,
                "the block at {address:#x} was allocated with an alignment of {taken} bytes and freed with \
                {given}"
            ),
            Self::WrongPool { address, taken, given } => write!(
                f,
                "the block at {address:#x} was allocated from pool `{taken}` and freed to `{given}`"
            ),
            Self::NotTaken { address, given, once: Some(once) } => write!(
                f,
                "the block of {once} bytes at {address:#x} was freed twice, the second time with {given} \
                bytes"
            ),
            Self::NotTaken { address, given, once: None } => {
                write!(f, "a block of {given} bytes at {address:#x} was freed that was never allocated")
            }
        }
    }
}

static FOUND: ForkLock<Vec<Damage>> = ForkLock::new(Vec::new());

fn found() -> MutexGuard<'static, Vec<Damage>> {
    FOUND.lock()
}

/// Removes and returns all damage that debug mode has found since the last call, or since the
/// process began, in the order of discovery. Damage is also written to standard error when it is
/// found.
pub fn take_damage() -> Vec<Damage> {
    std::mem::take(&mut *found())
}

pub(crate) fn report(damage: Damage) {
    // `eprintln!` would panic if standard error is closed, while a block is being freed.
    let _unheard = writeln!(std::io::stderr(), "crossdock: {damage}");
    let mut found = found();
    if found.try_reserve(1).is_ok() {
        found.push(damage);
    }
}

/// Fills the guards, and fills new memory with a pattern that is not zero.
///
/// # Safety
///
/// 1. `bytes..bytes + capacity`, and `guard` bytes on each side of it, are valid for writes, and
///    only the caller accesses them.
pub(crate) unsafe fn prepare(bytes: NonNull<u8>, capacity: usize, guard: usize, zeroed: bool) {
    // SAFETY: clause 1 of `# Safety`: the range begins `guard` bytes in front of `bytes`.
    let front = unsafe { bytes.sub(guard) };
    // SAFETY: clause 1 of `# Safety`: the `guard` bytes in front of `bytes` are writable.
    unsafe { front.write_bytes(GUARD, guard) };
    // SAFETY: clause 1 of `# Safety`: the range continues `guard` bytes behind `bytes + capacity`.
    let back = unsafe { bytes.add(capacity) };
    // SAFETY: clause 1 of `# Safety`: the `guard` bytes behind the capacity are writable.
    unsafe { back.write_bytes(GUARD, guard) };
    if !zeroed {
        // SAFETY: clause 1 of `# Safety`: the `capacity` bytes at `bytes` are writable, and only
        // the caller accesses them.
        unsafe { bytes.write_bytes(FRESH, capacity) };
    }
}

/// Returns whether the guards are intact, and reports damage. Fills the bytes with a pattern.
///
/// # Safety
///
/// 1. `bytes..bytes + capacity`, and `guard` bytes on each side of it, are valid for reads and
///    writes, and only the caller accesses them.
/// 2. [`prepare`] was called with these bytes, this capacity and this guard.
/// 3. The bytes are not used any more.
pub(crate) unsafe fn inspect(bytes: NonNull<u8>, capacity: usize, guard: usize) -> bool {
    let (address, nbytes) = (bytes.addr().get(), capacity);
    // SAFETY: clause 1 of `# Safety`: the range begins `guard` bytes in front of `bytes`.
    let front = unsafe { bytes.sub(guard) };
    // SAFETY: clauses 1 and 2 of `# Safety`: the `guard` bytes in front are readable, and `prepare`
    // initialised them.
    let front = unsafe { std::slice::from_raw_parts(front.as_ptr(), guard) };
    let before = front.iter().rev().position(|&byte| byte != GUARD);
    if let Some(distance) = before {
        report(Damage::Underflow { address, nbytes, before: distance + 1 });
    }
    // SAFETY: clause 1 of `# Safety`: the range continues `guard` bytes behind `bytes + capacity`.
    let back = unsafe { bytes.add(capacity) };
    // SAFETY: clauses 1 and 2 of `# Safety`: the `guard` bytes behind are readable, and `prepare`
    // initialised them.
    let back = unsafe { std::slice::from_raw_parts(back.as_ptr(), guard) };
    let behind = back.iter().position(|&byte| byte != GUARD);
    if let Some(behind) = behind {
        report(Damage::Overflow { address, nbytes, behind });
    }
    // SAFETY: clauses 1 and 3 of `# Safety`: the `capacity` bytes at `bytes` are writable, and they
    // are not used any more.
    unsafe { bytes.write_bytes(GONE, capacity) };
    before.is_none() && behind.is_none()
}

/// Reports padding behind `nbytes` bytes, up to a multiple of the alignment, that is not zero any
/// more.
///
/// # Safety
///
/// 1. The bytes and their padding are valid for reads, and only the caller accesses them.
/// 2. The padding was zeroed.
pub(crate) unsafe fn inspect_padding(bytes: NonNull<u8>, nbytes: usize) {
    // SAFETY: clause 1 of `# Safety`: the `nbytes` bytes at `bytes` belong to the range, so the sum
    // is its padding's address.
    let end = unsafe { bytes.add(nbytes) };
    let padding = nbytes.next_multiple_of(ALIGNMENT) - nbytes;
    // SAFETY: clauses 1 and 2 of `# Safety`: the padding is readable, and it was initialised with
    // zeros.
    let padding = unsafe { std::slice::from_raw_parts(end.as_ptr(), padding) };
    if let Some(behind) = padding.iter().position(|&byte| byte != 0) {
        report(Damage::Overflow { address: bytes.addr().get(), nbytes, behind });
    }
}
