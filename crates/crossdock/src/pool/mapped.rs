//! Large blocks: private anonymous mappings of their own.
//!
//! From 2 MiB on, a block begins at a multiple of 2 MiB, so that huge pages can back it. Its end
//! need not: the rest at the end uses small pages, and only touched bytes are resident.
//!
//! A block is always *one* mapping of the system, because `mremap` moves only one (until Linux
//! 6.17): pages of two blocks are never combined.

use std::ptr::NonNull;

use crate::memory::memfd::Memfd;
use crate::memory::os::fd::AsFd;
use crate::memory::os::{PageAccess, pages};
use crate::pool::hints::Hints;

/// The size of a huge page, in bytes.
pub(crate) const HUGE: usize = 2 << 20;

/// All sizes are multiples of this, which is a multiple of every page size of Linux.
const GRAIN: usize = 64 << 10;

/// The steps from one power of two to the next: less than 1/8 of a block exceeds the request.
const STEPS_LOG2: u32 = 3;

/// The largest block, in bytes: the size of an address space, or half of one with 32 bits.
const LARGEST: usize = if usize::BITS == 64 { 1 << (usize::BITS - 17) } else { 1 << 30 };

/// The number of sizes.
pub(crate) const CLASSES: usize = class_index(LARGEST) + 1;

/// The size of the block for a request, in bytes: `nbytes` rounded up to 1/8 of a power of two, and
/// to 64 KiB.
pub(crate) const fn class_nbytes(nbytes: usize) -> Option<usize> {
    match nbytes {
        0 => Some(GRAIN),
        1..=LARGEST => Some(nbytes.next_multiple_of(1 << step_log2(nbytes))),
        _ => None,
    }
}

/// The index of a size in the sequence of sizes.
pub(crate) const fn class_index(class_nbytes: usize) -> usize {
    let step_log2 = step_log2(class_nbytes);
    (((step_log2 - GRAIN.ilog2()) as usize) << STEPS_LOG2) + ((class_nbytes - 1) >> step_log2)
}

const fn step_log2(nbytes: usize) -> u32 {
    let step = ((nbytes - 1) | 1).ilog2().saturating_sub(STEPS_LOG2);
    if step > GRAIN.ilog2() { step } else { GRAIN.ilog2() }
}

/// Maps a block of zeros. `None`: out of memory.
pub(crate) fn map(nbytes: usize, hints: Hints) -> Option<NonNull<u8>> {
    let base = match nbytes < HUGE {
        true => pages::map(nbytes, PageAccess::ReadWrite),
        false => pages::map_aligned(nbytes, HUGE, PageAccess::ReadWrite),
    }?;
    advise_huge(base, nbytes, hints);
    if let Some(node) = hints.on_node() {
        pages::prefer_node(base, nbytes, node);
    }
    if hints.is_populated() {
        let _as_far_as_it_goes = pages::populate(base, nbytes);
    }
    Some(base)
}

/// Maps a block of zeros of shared memory, and returns its descriptor. `None`: out of memory, or of
/// descriptors.
pub(crate) fn map_shareable(nbytes: usize, hints: Hints) -> Option<(NonNull<u8>, Memfd)> {
    let memfd = Memfd::new(nbytes)?;
    let place = match nbytes < HUGE {
        true => pages::map(nbytes, PageAccess::None),
        false => pages::map_aligned(nbytes, HUGE, PageAccess::None),
    }?;
    // SAFETY: clause 1 of `map_file_over`: `place` was reserved above for `nbytes` bytes, and no
    // other party knows it.
    let base = unsafe { pages::map_file_over(place, nbytes, memfd.as_fd()) };
    let Some(base) = base else {
        // SAFETY: clauses 1 to 3 of `unmap`: the range was reserved above, and nothing uses it.
        unsafe { pages::unmap(place, nbytes) };
        return None;
    };
    advise_huge(base, nbytes, hints);
    if let Some(node) = hints.on_node() {
        pages::prefer_node(base, nbytes, node);
    }
    if (hints.is_populated() || hints.is_reserved()) && hints.is_huge() != Some(false) {
        begin_huge(base, nbytes, &memfd);
    }
    if hints.is_populated() {
        let _as_far_as_it_goes = pages::populate(base, nbytes);
    }
    Some((base, memfd))
}

/// Gives a new block of shared memory huge pages, as far as the system can: each is collapsed from
/// one small page, and zeroed once.
fn begin_huge(base: NonNull<u8>, nbytes: usize, memfd: &Memfd) {
    let starts = || (0..nbytes).step_by(HUGE).take_while(|start| nbytes - start >= HUGE);
    if starts().all(|start| memfd.reserve(start, 1)) {
        collapse(base, nbytes);
    }
}

/// Moves the pages of shared memory into huge ones, as far as the system can (from Linux 6.1 on).
/// Shared memory begins with small pages unless the administrator permits others, which the
/// processor addresses more slowly. This copies what is resident, so it pays for a block that is
/// used again.
pub(crate) fn collapse(base: NonNull<u8>, nbytes: usize) {
    if nbytes >= HUGE {
        pages::collapse(base, nbytes);
    }
}

/// Grows or shrinks a block, in place or by moving its pages: nothing is copied. `None`: the block
/// is unchanged.
///
/// # Safety
///
/// 1. `base` is a block of `old` bytes from [`map`] or from this function, and both sizes are
///    multiples of the page size.
/// 2. No other party accesses the block; if the result is `Some`, its old addresses are not used
///    any more.
pub(crate) unsafe fn resize(base: NonNull<u8>, old: usize, new: usize, hints: Hints) -> Option<NonNull<u8>> {
    if new <= old {
        // SAFETY: `new <= old`, and the block has `old` bytes (clause 1 of `# Safety`), so the sum
        // stays within it.
        let end = unsafe { base.add(new) };
        // SAFETY: clauses 1 and 3 of `unmap`: the range is the end of the block (clause 1 of
        // `# Safety`). Clause 2: by clause 2 of `# Safety` no party uses it.
        return (new == old || unsafe { pages::unmap(end, old - new) }).then_some(base);
    }
    // SAFETY: 1. `base` is a block of `old` bytes (clause 1 of `# Safety`), and `new > old`, since
    // the other case returned above; 2. no other party accesses it, nor its old addresses if the
    // result is `Some` (clause 2 of `# Safety`).
    let moved = unsafe { grow(base, old, new)? };
    if old < HUGE {
        advise_huge(moved, new, hints);
    }
    if hints.is_populated() {
        let _as_far_as_it_goes = pages::populate(moved, new);
    }
    Some(moved)
}

/// # Safety
///
/// 1. `base` is a block of `old` bytes from [`map`] or [`resize`], and `new` is larger than `old`.
/// 2. No other party accesses the block; if the result is `Some`, its old addresses are not used
///    any more.
unsafe fn grow(base: NonNull<u8>, old: usize, new: usize) -> Option<NonNull<u8>> {
    if new < HUGE {
        // SAFETY: clause 1 of `pages::grow`: `base` is a block of `old` bytes of its own mapping,
        // which no other party accesses (clauses 1 and 2 of `# Safety`).
        return unsafe { pages::grow(base, old, new) };
    }
    if is_aligned(base) {
        // SAFETY: clause 1 of `grow_in_place`: `base` is a block of `old` bytes of its own mapping,
        // which no other party accesses (clauses 1 and 2 of `# Safety`).
        let stayed = unsafe { pages::grow_in_place(base, old, new) };
        if stayed.is_some() {
            return stayed;
        }
    }
    let place = pages::map_aligned(new, HUGE, PageAccess::None)?;
    // If this fails, the system has usually unmapped `place` already, and other memory may lie
    // there. So it is not touched again. At worst (too many mappings), addresses stay reserved,
    // without memory.
    // SAFETY: clause 1 of `move_to`: `base` is a block of `old` bytes of its own mapping, which no
    // other party accesses (clauses 1 and 2 of `# Safety`). Clause 2: `place` was reserved
    // above for `new` bytes, and no other party knows it.
    unsafe { pages::move_to(base, old, new, place) }
}

fn advise_huge(base: NonNull<u8>, nbytes: usize, hints: Hints) {
    let is_huge = hints.is_huge() != Some(false);
    // Without room for a huge page, the advice would only keep the mapping from merging with its
    // neighbours.
    if !is_huge || nbytes >= HUGE {
        pages::advise_huge(base, nbytes, is_huge);
    }
}

fn is_aligned(base: NonNull<u8>) -> bool {
    base.addr().get().is_multiple_of(HUGE)
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
            let nbytes = random.usize(..=LARGEST) >> random.u32(..usize::BITS / 4 * 3);
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
