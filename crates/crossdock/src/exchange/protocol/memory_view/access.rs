//! The address of an item of a view.

use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::memory_view::abi::View;
use crate::layout::{END_OF_ADDRESSES, Layout};

impl View {
    /// The address of the item at an index of `ndim` numbers. O(rank), with a pointer to follow for
    /// each axis that has one.
    ///
    /// It accepts any struct, also one that the hub did not fill in. Null strides stand for
    /// row-major order, a null shape for `byte_size / item_size` items along one axis, and
    /// suboffsets are followed at any rank. As on import, an item and every pointer on the way end
    /// in the address space: with pointers of 64 bits, at most `isize::MAX` bytes from address 0.
    ///
    /// # Errors
    ///
    /// `is_bounds`, naming index, axis and length; `is_malformed` if the struct lacks what an
    /// address needs: a null pointer, a negative number, a null pointer on the way; `is_overflow`,
    /// with the address, if an item or a pointer on the way leaves the address space.
    ///
    /// # Safety
    ///
    /// 1. `shape`, `strides` and `sub_offsets` are each null or point to `ndim` numbers.
    /// 2. On an axis whose suboffset is not negative, each index within bounds leads to an entry of
    ///    a table of pointers, and each entry that is not null leads on like this.
    /// 3. `index` is null or points to `ndim` numbers.
    #[doc(hidden)]
    #[inline]
    pub unsafe fn item_pointer(&self, index: *const isize) -> Result<*mut u8> {
        // SAFETY: clauses 1 to 3 of `# Safety` are those of `plain_item_pointer`, for the same
        // struct and index.
        match unsafe { self.plain_item_pointer(index) } {
            Some(item) => Ok(item),
            // SAFETY: clauses 1 to 3 of `# Safety` are those of `find_item`, for the same struct
            // and index.
            None => unsafe { self.find_item(index) },
        }
    }

    /// As [`View::item_pointer`], for views that have shape and strides and follow no pointers;
    /// `None` for any other, and instead of an error.
    ///
    /// # Safety
    ///
    /// Clauses 1 and 3 of [`View::item_pointer`].
    #[doc(hidden)]
    #[inline(always)]
    pub unsafe fn plain_item_pointer(&self, index: *const isize) -> Option<*mut u8> {
        let Self { data, ndim, shape, strides, sub_offsets, item_size, .. } = *self;
        let is_plain = sub_offsets.is_null() && !shape.is_null() && !strides.is_null();
        if !is_plain || data.is_null() || index.is_null() || ndim < 0 {
            return None;
        }
        let mut offset = 0_isize;
        for axis in 0..ndim {
            // SAFETY: clauses 1 and 3 of `item_pointer`: `index` and `shape` are not null (checked
            // above), so they point to `ndim` numbers, and `axis < ndim`.
            let (at, len) =
                (unsafe { *index.wrapping_offset(axis) }, unsafe { *shape.wrapping_offset(axis) });
            // If the length is negative, no index passes.
            if at < 0 || at >= len {
                return None;
            }
            // SAFETY: clause 1 of `item_pointer`: `strides` is not null (checked above), so it
            // points to `ndim` numbers, and `axis < ndim`.
            let stride = unsafe { *strides.wrapping_offset(axis) };
            offset = offset.checked_add(at.checked_mul(stride)?)?;
        }
        let item = data.cast::<u8>().wrapping_offset(offset);
        // If one of two numbers is not negative, their sum wraps only to a negative number.
        let first = item.addr().cast_signed();
        let is_addressable = data.addr().cast_signed() > 0 && first > 0 && item_size >= 0;
        (is_addressable && first.checked_add(item_size).is_some()).then_some(item)
    }

    /// As [`View::item_pointer`], for views that are not plain, and for errors.
    ///
    /// # Safety
    ///
    /// The clauses of [`View::item_pointer`].
    #[cold]
    #[inline(never)]
    unsafe fn find_item(&self, index: *const isize) -> Result<*mut u8> {
        let rank = self.rank()?;
        if self.data.is_null() {
            return Err(malformed("the view's data pointer is null"));
        }
        if rank > 0 && index.is_null() {
            return Err(malformed(format!("the pointer to the index is null, but the view has {rank} axes")));
        }
        for axis in 0..rank {
            // SAFETY: clauses 1 and 3 of `item_pointer`: `index` is not null (checked above),
            // `shape` is null or points to `ndim` numbers, and `axis < rank`, which is `ndim`.
            let (at, len) = (unsafe { *index.wrapping_add(axis) }, unsafe { self.len_of(axis) }?);
            if at < 0 || at >= len {
                let text = format!("index {at} is out of bounds for axis {axis} of length {len}");
                return Err(Error::new(Kind::Bounds, text));
            }
        }
        if self.strides.is_null() {
            // SAFETY: clauses 1 to 3 of `item_pointer` hold for the same struct and index; the loop
            // above found all indices within bounds.
            return unsafe { self.find_row_major(index, rank) };
        }
        let mut item = moved(self.data.cast(), 0, 1)?;
        for axis in 0..rank {
            // SAFETY: clauses 1 and 3 of `item_pointer`: `index` and `strides` are not null
            // (checked above), so they point to `ndim` numbers, and `axis < rank`, which is `ndim`.
            let (at, stride) =
                (unsafe { *index.wrapping_add(axis) }, unsafe { *self.strides.wrapping_add(axis) });
            let distance = at.checked_mul(stride).ok_or_else(|| too_far(axis, at, stride))?;
            let suboffset = match self.sub_offsets.is_null() {
                true => -1,
                // SAFETY: clause 1 of `item_pointer`: `sub_offsets` is not null (the arm before),
                // so it points to `ndim` numbers, and `axis < rank`, which is `ndim`.
                false => unsafe { *self.sub_offsets.wrapping_add(axis) },
            };
            if suboffset < 0 {
                item = moved(item, distance, 1)?;
                continue;
            }
            item = moved(item, distance, size_of::<*mut u8>())?;
            // SAFETY: clause 2 of `item_pointer`: the suboffset of this axis is not negative and
            // the index is within bounds, so this is an entry of a table of pointers, of any
            // alignment.
            let next = unsafe { item.cast::<*mut u8>().read_unaligned() };
            if next.is_null() {
                return Err(malformed(format!("axis {axis}: the pointer at index {at} is null")));
            }
            item = moved(next, suboffset, 1)?;
        }
        moved(item, 0, self.item_nbytes()?)
    }

    /// The address of an item of a view without strides.
    ///
    /// # Safety
    ///
    /// 1. The clauses of [`View::item_pointer`], where `rank` is `ndim`.
    /// 2. All indices are within bounds.
    unsafe fn find_row_major(&self, index: *const isize, rank: usize) -> Result<*mut u8> {
        if !self.sub_offsets.is_null() {
            // SAFETY: clause 1 of `item_pointer`: `sub_offsets` is not null (checked above), so it
            // points to `ndim` numbers, and `axis < rank`, which is `ndim`.
            let jumps = |axis| unsafe { *self.sub_offsets.wrapping_add(axis) } >= 0;
            if (0..rank).any(jumps) {
                return Err(malformed("the view follows pointers (suboffsets), but its strides are null"));
            }
        }
        let (mut stride, mut offset) = (self.item_size, 0_isize);
        for axis in (0..rank).rev() {
            // SAFETY: clauses 1 and 3 of `item_pointer`: with an axis, `index` is not null
            // (`find_item` checked), `shape` is null or points to `ndim` numbers, and
            // `axis < rank`, which is `ndim`.
            let (at, len) = (unsafe { *index.wrapping_add(axis) }, unsafe { self.len_of(axis) }?);
            let next = at.checked_mul(stride).and_then(|distance| offset.checked_add(distance));
            offset = next.ok_or_else(|| too_far(axis, at, stride))?;
            // The product for the outermost axis is not needed.
            stride = if axis == 0 {
                stride
            } else {
                stride.checked_mul(len).ok_or_else(|| too_far(axis, len, stride))?
            };
        }
        moved(self.data.cast(), offset, self.item_nbytes()?)
    }

    fn item_nbytes(&self) -> Result<usize> {
        let negative = |_| malformed(format!("the view's item size is {} bytes", self.item_size));
        usize::try_from(self.item_size).map_err(negative)
    }

    /// The number of axes, of a struct with a known shape.
    pub(super) fn rank(&self) -> Result<usize> {
        let rank =
            usize::try_from(self.ndim).map_err(|_| malformed(format!("the view has {} axes", self.ndim)))?;
        if rank > 1 && self.shape.is_null() {
            return Err(malformed(format!("the view's shape is null, but it has {rank} axes")));
        }
        Ok(rank)
    }

    /// # Safety
    ///
    /// 1. `axis < ndim`.
    /// 2. `shape` is null or points to `ndim` numbers.
    pub(super) unsafe fn len_of(&self, axis: usize) -> Result<isize> {
        if !self.shape.is_null() {
            // SAFETY: clauses 1 and 2 of `# Safety`: `shape` is not null (checked above), so it
            // points to `ndim` numbers, and `axis < ndim`.
            return Ok(unsafe { *self.shape.wrapping_add(axis) });
        }
        if self.item_size <= 0 || self.byte_size < 0 {
            return Err(malformed(format!(
                "the view's shape is null, and its {} bytes are not a number of items of {} bytes",
                self.byte_size, self.item_size
            )));
        }
        Ok(self.byte_size / self.item_size)
    }
}

/// The address at a distance, if `nbytes` bytes from there are in the address space.
fn moved(from: *mut u8, distance: isize, nbytes: usize) -> Result<*mut u8> {
    let outside = || {
        let text = format!("{nbytes} bytes at {distance} from {from:p} exceed the address space");
        Error::new(Kind::Overflow, format!("{text} 0x1..={END_OF_ADDRESSES:#x}"))
    };
    let to = from.addr().checked_add_signed(distance).ok_or_else(outside)?;
    // An item without bytes needs a valid address, too.
    Layout::new(&[], &[], nbytes.max(1))?.span().check_address(to).map_err(|_| outside())?;
    Ok(from.with_addr(to))
}

fn too_far(axis: usize, at: isize, stride: isize) -> Error {
    let text = format!("axis {axis}: {at} times {stride} bytes is more than {} bytes", isize::MAX);
    Error::new(Kind::Overflow, text)
}

pub(super) fn malformed(text: impl Into<String>) -> Error {
    Error::new(Kind::Malformed, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: usize = END_OF_ADDRESSES;

    /// A view of items of 8 bytes, 16 apart, from `address` on.
    fn view<'a>(address: usize, len: &'a isize, stride: &'a isize) -> View {
        let data = std::ptr::without_provenance_mut(address);
        View { data, item_size: 8, ndim: 1, shape: len, strides: stride, ..View::EMPTY }
    }

    fn item(view: &View, index: isize) -> Result<usize> {
        // SAFETY: the views of these tests have one axis, whose numbers outlive the call. They have
        // no suboffsets, so no pointer is followed.
        unsafe { view.item_pointer(&raw const index) }.map(|item| item.addr())
    }

    #[test]
    fn an_item_ends_within_the_greatest_offset_that_a_pointer_can_have() {
        let (len, stride) = (3, 16);
        let last = view(MOST - 40, &len, &stride);
        assert_eq!(item(&last, 2).unwrap(), MOST - 8);
        let beyond = view(MOST - 39, &len, &stride);
        assert_eq!(item(&beyond, 1).unwrap(), MOST - 23);
        let error = item(&beyond, 2).unwrap_err();
        assert!(error.is_overflow() && error.to_string().contains("exceed the address space"), "{error}");
        for address in [MOST - 6, MOST, MOST.saturating_add(1), usize::MAX - 6, usize::MAX] {
            let error = item(&view(address, &len, &stride), 0).unwrap_err();
            assert!(error.is_overflow(), "{address:#x}: {error}");
        }
        let back = -16;
        assert_eq!(item(&view(33, &len, &back), 2).unwrap(), 1);
        for address in [32, 31, 1] {
            assert!(item(&view(address, &len, &back), 2).unwrap_err().is_overflow(), "{address}");
        }
        // The step back leads from an invalid address to a valid one.
        assert!(item(&view(MOST.saturating_add(10), &len, &back), 2).unwrap_err().is_overflow());
    }

    #[test]
    fn an_item_without_strides_ends_there_too() {
        let (len, none) = (3, std::ptr::null());
        let view = |address| View { strides: none, ..view(address, &len, &0) };
        assert_eq!(item(&view(MOST - 24), 2).unwrap(), MOST - 8);
        assert!(item(&view(MOST - 23), 2).unwrap_err().is_overflow());
    }

    #[test]
    fn a_pointer_on_the_way_and_what_it_leads_to_lie_there_too() {
        let (len, index, stride) = (1_isize, 0_isize, 8_isize);
        let lead = |table: &usize, suboffset: isize| {
            let data = std::ptr::from_ref(table).cast_mut().cast();
            let view = View {
                data,
                item_size: 8,
                ndim: 1,
                shape: &raw const len,
                strides: &raw const stride,
                sub_offsets: &raw const suboffset,
                ..View::EMPTY
            };
            // SAFETY: the view has one axis, whose numbers outlive the call, and its one index
            // leads to a table of one pointer.
            unsafe { view.item_pointer(&raw const index) }.map(|item| item.addr())
        };
        assert_eq!(lead(&(MOST - 16), 8).unwrap(), MOST - 8);
        assert!(lead(&(MOST - 16), 9).unwrap_err().is_overflow());
        assert!(lead(&MOST.saturating_add(16), 0).unwrap_err().is_overflow());
        assert!(lead(&0, 0).unwrap_err().is_malformed(), "a null pointer");
        let far = view(MOST - 2, &len, &stride);
        let far = View { sub_offsets: &raw const index, ..far };
        // SAFETY: the view has one axis, whose numbers outlive the call; its entry leaves the
        // address space, so no pointer is read.
        let error = unsafe { far.item_pointer([0].as_ptr()) }.unwrap_err();
        assert!(error.is_overflow(), "{error}");
    }

    #[test]
    fn items_of_negative_size_have_no_address() {
        let (len, stride) = (3, 16);
        let view = View { item_size: -8, ..view(1000, &len, &stride) };
        assert!(item(&view, 1).unwrap_err().is_malformed());
    }
}
