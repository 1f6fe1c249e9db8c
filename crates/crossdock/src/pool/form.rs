//! The form of a block: the place of its header, its alignment, and how both are packed into one
//! word.

use std::alloc::Layout as AllocLayout;
use std::ptr::NonNull;

use crate::error::{Error, Kind, Result};
use crate::memory::header::Header;
use crate::memory::os::pages;
use crate::memory::owner::MALLOC_ALIGNMENT;
use crate::pool::hints::Hints;

/// The alignment of new memory, in bytes: a cache line, and what Arrow and XLA require. Capacities
/// are multiples of it.
pub const ALIGNMENT: usize = 64;

pub(super) const HEADER: usize = size_of::<Header>();

const _: () =
    assert!(HEADER.is_multiple_of(MALLOC_ALIGNMENT), "a header in front keeps to the block's alignment");

/// The requirements on a block besides its size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    pub(super) align: usize,
    pub(super) hints: Hints,
}

impl Demand {
    pub(crate) const PLAIN: Self = Self { align: ALIGNMENT, hints: Hints::new() };

    #[inline]
    pub(super) fn is_plain(self) -> bool {
        self.align == ALIGNMENT && self.hints == Hints::new()
    }

    /// # Errors
    ///
    /// `is_alignment` unless `align` is a power of two and no more than a page.
    pub(crate) fn new(align: usize, hints: Hints) -> Result<Self> {
        let page = pages::size();
        if !align.is_power_of_two() || align > page {
            return Err(Error::new(
                Kind::Alignment,
                format!(
                    "an alignment of {align} bytes is not a power of two from 1 to {page}, the page size"
                ),
            ));
        }
        Ok(Self { align: align.max(ALIGNMENT), hints })
    }
}

/// The form of a block: what is needed to free it, besides its capacity.
#[derive(Clone, Copy)]
pub(super) struct Form {
    /// From the allocator's block to the header, in bytes. 0 if the header is apart.
    pub(super) lead: usize,
    pub(super) align: usize,
    pub(super) apart: bool,
    /// Mapped without special hints, so that any later request can use it.
    pub(super) cacheable: bool,
}

/// Set in a word that holds a form other than the plain one.
const OTHER: u64 = 1;

impl Form {
    /// The form of a small block of the global allocator.
    #[inline]
    pub(super) fn plain(lead: usize) -> Self {
        Self { lead, align: ALIGNMENT, apart: false, cacheable: false }
    }

    #[inline]
    pub(super) fn is_plain(self) -> bool {
        self.align == ALIGNMENT && !self.apart
    }

    /// Packs the form and the capacity into one word. The plain form is the sum of the lead and the
    /// capacity, which is a multiple of the alignment. The other form has 40 bits of capacity, 16
    /// of lead, and 8 for the rest.
    #[inline]
    pub(super) fn pack(self, capacity: usize) -> u64 {
        if self.is_plain() { (capacity | self.lead) as u64 } else { self.pack_other(capacity) }
    }

    fn pack_other(self, capacity: usize) -> u64 {
        let align = u64::from(self.align.trailing_zeros());
        let flags = u64::from(self.apart) << 6 | u64::from(self.cacheable) << 7;
        let capacity = ((capacity / ALIGNMENT) as u64) << 24;
        capacity | ((self.lead / MALLOC_ALIGNMENT) as u64) << 8 | flags | align << 1 | OTHER
    }

    #[inline]
    pub(super) fn unpack(word: u64) -> (Self, usize) {
        if word & OTHER == 0 {
            let lead = word as usize % ALIGNMENT;
            (Self::plain(lead), word as usize - lead)
        } else {
            Self::unpack_other(word)
        }
    }

    fn unpack_other(word: u64) -> (Self, usize) {
        let form = Self {
            lead: (word >> 8 & 0xFFFF) as usize * MALLOC_ALIGNMENT,
            align: 1 << (word >> 1 & 0x1F),
            apart: word & 1 << 6 != 0,
            cacheable: word & 1 << 7 != 0,
        };
        (form, (word >> 24) as usize * ALIGNMENT)
    }
}

/// The most bytes of a block: the limit of the packed word, far above any machine's memory.
const MOST: usize = {
    let most = ((1 << 40) - 1) * ALIGNMENT as u64;
    let multiple = isize::MAX as usize / ALIGNMENT * ALIGNMENT;
    if most > multiple as u64 { multiple } else { most as usize }
};

/// The layout of the allocator's block around `capacity` bytes with the header in front, or `None`
/// if its size overflows.
#[inline]
pub(super) fn front_layout(capacity: usize, align: usize, guard: usize) -> Option<AllocLayout> {
    let total = capacity.checked_add(align - MALLOC_ALIGNMENT + HEADER + 2 * guard)?;
    AllocLayout::from_size_align(total, MALLOC_ALIGNMENT).ok()
}

/// The layout of a block in the plain form.
///
/// # Safety
///
/// 1. [`front_layout`] returns a layout for this capacity with [`ALIGNMENT`] and without guards.
#[inline]
pub(super) unsafe fn plain_layout(capacity: usize) -> AllocLayout {
    let total = capacity + (ALIGNMENT - MALLOC_ALIGNMENT + HEADER);
    // SAFETY: clause 1 of `# Safety`: `front_layout` accepts the same total and alignment, so the
    // size is valid.
    unsafe { AllocLayout::from_size_align_unchecked(total, MALLOC_ALIGNMENT) }
}

/// The capacity of a block for `nbytes`, or `None` if that is too large.
#[inline]
pub(super) fn capacity_for(nbytes: usize) -> Option<usize> {
    if nbytes > MOST { None } else { nbytes.checked_next_multiple_of(ALIGNMENT) }
}

/// The distance from the beginning of a block to its header, with which the bytes that follow
/// `before` bytes later are aligned.
#[inline]
pub(super) fn lead_of(base: NonNull<u8>, before: usize, align: usize) -> usize {
    // `Demand` ensures that the alignment is a power of two.
    (base.addr().get() + before).wrapping_neg() & (align - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_survives_being_packed() {
        for (lead, align, apart, cacheable, capacity) in [
            (48, 64, false, false, 0),
            (4080, 4096, false, false, 64),
            (0, 1 << 16, true, true, MOST),
            (65_520, 1 << 16, true, false, MOST / 2 / ALIGNMENT * ALIGNMENT),
        ] {
            let form = Form { lead, align, apart, cacheable };
            let (same, same_capacity) = Form::unpack(form.pack(capacity));
            assert_eq!((same.lead, same.align, same.apart, same.cacheable), (lead, align, apart, cacheable));
            assert_eq!(same_capacity, capacity);
        }
    }
}
