//! Large blocks: private anonymous mappings of their own.
//!
//! From 2 MiB on, a block begins at a multiple of 2 MiB, so that huge pages can stand behind it. Its end need not: what
//! is left over at the end is had in small pages, and only what was touched is resident.
//!
//! A block is always *one* mapping in the system's eyes, because `mremap` moves no more than one (until Linux 6.17): pages
//! of two blocks are never put together.

use std::ffi::c_void;
use std::ptr::NonNull;

use crate::pool::hints::Hints;

/// The size of a huge page, in bytes.
pub(crate) const HUGE: usize = 2 << 20;

/// What sizes are multiples of, at least: a multiple of every page size that Linux has.
const GRAIN: usize = 64 << 10;

/// The steps in which sizes go from one power of two to the next: less than 1/8 of a block is beyond what was asked for.
const STEPS_LOG2: u32 = 3;

/// The largest block, in bytes: an address space has no more.
const LARGEST: usize = 1 << 47;

/// How many sizes there are.
pub(crate) const CLASSES: usize = class_index(LARGEST) + 1;

/// The size of the block for a request, in bytes: `nbytes` rounded up to 1/8 of a power of two, and to 64 KiB.
pub(crate) const fn class_nbytes(nbytes: usize) -> Option<usize> {
    match nbytes {
        0 => Some(GRAIN),
        1..=LARGEST => Some(nbytes.next_multiple_of(1 << step_log2(nbytes))),
        _ => None,
    }
}

/// The place of a size in the sequence of sizes.
pub(crate) const fn class_index(class_nbytes: usize) -> usize {
    let step_log2 = step_log2(class_nbytes);
    (((step_log2 - GRAIN.ilog2()) as usize) << STEPS_LOG2) + ((class_nbytes - 1) >> step_log2)
}

const fn step_log2(nbytes: usize) -> u32 {
    let step = ((nbytes - 1) | 1).ilog2().saturating_sub(STEPS_LOG2);
    if step > GRAIN.ilog2() { step } else { GRAIN.ilog2() }
}

/// Maps a block of zeros, or says that there is no memory.
pub(crate) fn map(nbytes: usize, hints: Hints) -> Option<NonNull<u8>> {
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    let base = if nbytes < HUGE { map_anywhere(nbytes, prot)? } else { map_aligned(nbytes, prot)? };
    advise_huge(base, nbytes, hints);
    if let Some(node) = hints.on_node() {
        prefer_node(base, nbytes, node);
    }
    if hints.is_populated() {
        populate(base, nbytes);
    }
    Some(base)
}

/// Gives a range back to the system.
///
/// # Safety
///
/// The range is a block from [`map`], or the end of one, and nobody uses it.
pub(crate) unsafe fn unmap(base: NonNull<u8>, nbytes: usize) -> bool {
    // SAFETY: the caller's promise.
    unsafe { libc::munmap(base.as_ptr().cast(), nbytes) == 0 }
}

/// Makes a block larger or smaller, in place or elsewhere, by its pages: nothing is copied. `None`: nothing has changed.
///
/// # Safety
///
/// `base` is a block of `old` bytes from [`map`] or from here, and nobody uses it (nor, if the result is `Some`, what was
/// behind the old address).
pub(crate) unsafe fn resize(base: NonNull<u8>, old: usize, new: usize, hints: Hints) -> Option<NonNull<u8>> {
    if new <= old {
        // SAFETY: within the block.
        let end = unsafe { base.add(new) };
        // SAFETY: the caller's promise.
        return (new == old || unsafe { unmap(end, old - new) }).then_some(base);
    }
    // SAFETY: the caller's promise.
    let moved = unsafe { grow(base, old, new)? };
    if old < HUGE {
        advise_huge(moved, new, hints);
    }
    if hints.is_populated() {
        populate(moved, new);
    }
    Some(moved)
}

/// # Safety
///
/// As [`resize`], where `new` is more than `old`.
unsafe fn grow(base: NonNull<u8>, old: usize, new: usize) -> Option<NonNull<u8>> {
    let ptr: *mut c_void = base.as_ptr().cast();
    if new < HUGE {
        // SAFETY: the caller's promise; the system chooses the place.
        return block(unsafe { libc::mremap(ptr, old, new, libc::MREMAP_MAYMOVE) });
    }
    if is_aligned(base) {
        // SAFETY: the caller's promise; it stays where it is, or nothing changes.
        let stayed = block(unsafe { libc::mremap(ptr, old, new, 0) });
        if stayed.is_some() {
            return stayed;
        }
    }
    let place = map_aligned(new, libc::PROT_NONE)?;
    let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
    // SAFETY: the caller's promise; what lies in that place is ours alone, and nobody knows of it.
    let moved = unsafe { libc::mremap(ptr, old, new, flags, place.as_ptr().cast::<c_void>()) };
    // Where this fails, the system has as a rule given the place up already, and somebody else's memory may lie there by
    // now. So it is not touched again. At worst (too many mappings), addresses stay reserved, without memory.
    block(moved)
}

/// Has all pages of a block at once, as far as there are any.
pub(crate) fn populate(base: NonNull<u8>, nbytes: usize) {
    // SAFETY: changes no byte of the range, which is mapped.
    let _refused = unsafe { libc::madvise(base.as_ptr().cast(), nbytes, libc::MADV_POPULATE_WRITE) };
}

fn advise_huge(base: NonNull<u8>, nbytes: usize, hints: Hints) {
    let advice = match hints.is_huge() {
        Some(false) => libc::MADV_NOHUGEPAGE,
        // No room for a huge page: the advice would only keep the mapping apart from its neighbours.
        _ if nbytes < HUGE => return,
        _ => libc::MADV_HUGEPAGE,
    };
    // SAFETY: changes no byte of the range, which is mapped.
    let _refused = unsafe { libc::madvise(base.as_ptr().cast(), nbytes, advice) };
}

/// Asks for the pages of a range to come from a node, if it has free ones.
fn prefer_node(base: NonNull<u8>, nbytes: usize, node: u32) {
    const WORDS: usize = 16;
    let mut nodes = [0u64; WORDS];
    let Some(word) = nodes.get_mut(node as usize / 64) else { return };
    *word = 1 << (node % 64);
    // The system leaves out the last of the bits that it is told of.
    let bits = WORDS * 64 + 1;
    // SAFETY: changes no byte of the range, which is mapped; the mask is valid for the call.
    let _refused = unsafe {
        libc::syscall(libc::SYS_mbind, base.as_ptr(), nbytes, libc::MPOL_PREFERRED, nodes.as_ptr(), bits, 0)
    };
}

fn map_anywhere(nbytes: usize, prot: i32) -> Option<NonNull<u8>> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping where nothing is mapped.
    block(unsafe { libc::mmap(std::ptr::null_mut(), nbytes, prot, flags, -1, 0) })
}

/// A mapping that begins at a multiple of [`HUGE`]: a longer one is made, and its ends are cut off.
fn map_aligned(nbytes: usize, prot: i32) -> Option<NonNull<u8>> {
    let whole = nbytes.checked_add(HUGE)?;
    let start = map_anywhere(whole, prot)?;
    let lead = start.addr().get().wrapping_neg() % HUGE;
    // SAFETY: within the mapping, which has room for that and for the block.
    let base = unsafe { start.add(lead) };
    // SAFETY: ours alone, and nobody knows of it.
    if lead > 0 && !unsafe { unmap(start, lead) } {
        // SAFETY: as above; nothing has been cut off.
        unsafe { unmap(start, whole) };
        return None;
    }
    // SAFETY: within the mapping: less than all of `HUGE` was cut off in front.
    let end = unsafe { base.add(nbytes) };
    // SAFETY: ours alone, and nobody knows of it.
    if !unsafe { unmap(end, HUGE - lead) } {
        // SAFETY: as above; nothing behind the base has been cut off.
        unsafe { unmap(base, whole - lead) };
        return None;
    }
    Some(base)
}

fn is_aligned(base: NonNull<u8>) -> bool {
    base.addr().get().is_multiple_of(HUGE)
}

fn block(result: *mut c_void) -> Option<NonNull<u8>> {
    if result == libc::MAP_FAILED { None } else { NonNull::new(result.cast()) }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{CLASSES, GRAIN, LARGEST, class_index, class_nbytes};

    /// Every size once, in order, by going from each to the next.
    fn classes() -> impl Iterator<Item = usize> {
        std::iter::successors(class_nbytes(0), |&class| class_nbytes(class + 1))
    }

    #[test]
    fn sizes_are_counted_without_a_gap() {
        assert!(classes().enumerate().all(|(index, class)| class_index(class) == index));
        assert_eq!((classes().count(), classes().last()), (CLASSES, Some(LARGEST)));
        assert!(classes().all(|class| class.is_multiple_of(GRAIN) && class_nbytes(class) == Some(class)));
    }

    #[test]
    fn a_size_covers_its_request_and_wastes_less_than_an_eighth() {
        let mut random = fastrand::Rng::with_seed(crossdock_testkit::seed());
        let all: Vec<usize> = classes().collect();
        for _ in 0..20_000 {
            let nbytes = random.usize(..=LARGEST) >> random.u32(..48);
            let class = class_nbytes(nbytes).unwrap();
            let smallest = all[all.partition_point(|&class| class < nbytes)];
            assert_eq!(class, smallest, "for {nbytes}");
            assert!(class - nbytes <= GRAIN || (class - nbytes) * 8 < nbytes, "{class} for {nbytes}");
        }
    }

    #[test]
    fn what_no_address_space_holds_has_no_size() {
        for nbytes in [LARGEST + 1, isize::MAX as usize, usize::MAX] {
            assert_eq!(class_nbytes(nbytes), None);
        }
    }
}
