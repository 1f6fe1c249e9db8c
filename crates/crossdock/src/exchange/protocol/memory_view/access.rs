//! Where an item of a view is.

use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::memory_view::abi::View;
use crate::layout::Layout;

impl View {
    /// The address of the item at an index of `ndim` numbers. O(rank), and a pointer to follow for each axis that has one.
    ///
    /// It works on any struct, also on one that the hub did not fill in: null strides stand for
    /// row-major without gaps, a null shape for `byte_size / item_size` items where there is one
    /// axis, and suboffsets are followed at any rank. As on import, an item and every pointer on
    /// the way end at most `isize::MAX` bytes from address 0.
    ///
    /// # Errors
    ///
    /// `is_bounds`, naming index, axis and length; `is_malformed` where the struct says nothing
    /// that an address could be found by: a null pointer, a negative number, a null pointer on the
    /// way; `is_overflow`, with the address, where an item or a pointer on the way leaves the
    /// address space.
    ///
    /// # Safety
    ///
    /// What the struct points to is there: `ndim` numbers wherever there are any, and the tables of pointers that suboffsets lead over.
    /// `index` points to `ndim` numbers.
    #[doc(hidden)]
    #[inline]
    pub unsafe fn item_pointer(&self, index: *const isize) -> Result<*mut u8> {
        // SAFETY: the caller's word.
        match unsafe { self.plain_item_pointer(index) } {
            Some(item) => Ok(item),
            // SAFETY: the caller's word.
            None => unsafe { self.find_item(index) },
        }
    }

    /// As [`View::item_pointer`], of views that have shape and strides and follow no pointers; `None` for any other, and for what is an
    /// error there.
    ///
    /// # Safety
    ///
    /// As for [`View::item_pointer`].
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
            // SAFETY: below `ndim` (the caller's word).
            let (at, len) =
                (unsafe { *index.wrapping_offset(axis) }, unsafe { *shape.wrapping_offset(axis) });
            // A negative length is passed by no index.
            if at < 0 || at >= len {
                return None;
            }
            // SAFETY: as above.
            let stride = unsafe { *strides.wrapping_offset(axis) };
            offset = offset.checked_add(at.checked_mul(stride)?)?;
        }
        let item = data.cast::<u8>().wrapping_offset(offset);
        // The sum of two numbers of which one is not negative wraps to a negative number only.
        let first = item.addr().cast_signed();
        let is_addressable = data.addr().cast_signed() > 0 && first > 0 && item_size >= 0;
        (is_addressable && first.checked_add(item_size).is_some()).then_some(item)
    }

    /// As [`View::item_pointer`], for whatever is not plain, or an error.
    ///
    /// # Safety
    ///
    /// As for [`View::item_pointer`].
    #[cold]
    #[inline(never)]
    unsafe fn find_item(&self, index: *const isize) -> Result<*mut u8> {
        let rank = self.rank()?;
        if self.data.is_null() {
            return Err(malformed("the view has no data: its address is null"));
        }
        if rank > 0 && index.is_null() {
            return Err(malformed(format!("the pointer to the index is null, for {rank} axes")));
        }
        for axis in 0..rank {
            // SAFETY: below `ndim` (the caller's word).
            let (at, len) = (unsafe { *index.wrapping_add(axis) }, unsafe { self.len_of(axis) }?);
            if at < 0 || at >= len {
                let text = format!("index {at} is out of bounds for axis {axis} of length {len}");
                return Err(Error::new(Kind::Bounds, text));
            }
        }
        if self.strides.is_null() {
            // SAFETY: the caller's word, all indices within bounds.
            return unsafe { self.find_row_major(index, rank) };
        }
        let mut item = moved(self.data.cast(), 0, 1)?;
        for axis in 0..rank {
            // SAFETY: below `ndim` (the caller's word).
            let (at, stride) =
                (unsafe { *index.wrapping_add(axis) }, unsafe { *self.strides.wrapping_add(axis) });
            let distance = at.checked_mul(stride).ok_or_else(|| too_far(axis, at, stride))?;
            let suboffset = match self.sub_offsets.is_null() {
                true => -1,
                // SAFETY: `axis` is below `ndim`, and there are `ndim` suboffsets (the safety
                // section of `item_pointer`).
                false => unsafe { *self.sub_offsets.wrapping_add(axis) },
            };
            if suboffset < 0 {
                item = moved(item, distance, 1)?;
                continue;
            }
            item = moved(item, distance, size_of::<*mut u8>())?;
            // SAFETY: an entry of a table of pointers (the caller's word).
            let next = unsafe { item.cast::<*mut u8>().read_unaligned() };
            if next.is_null() {
                return Err(malformed(format!("axis {axis}: the pointer at index {at} is null")));
            }
            item = moved(next, suboffset, 1)?;
        }
        moved(item, 0, self.item_nbytes()?)
    }

    /// The item of a view without strides.
    ///
    /// # Safety
    ///
    /// As for [`View::item_pointer`]; all indices are within bounds.
    unsafe fn find_row_major(&self, index: *const isize, rank: usize) -> Result<*mut u8> {
        if !self.sub_offsets.is_null() {
            // SAFETY: `ndim` numbers (the caller's word).
            let jumps = |axis| unsafe { *self.sub_offsets.wrapping_add(axis) } >= 0;
            if (0..rank).any(jumps) {
                return Err(malformed("the view follows pointers, and its strides are null"));
            }
        }
        let (mut stride, mut offset) = (self.item_size, 0_isize);
        for axis in (0..rank).rev() {
            // SAFETY: below `ndim` (the caller's word).
            let (at, len) = (unsafe { *index.wrapping_add(axis) }, unsafe { self.len_of(axis) }?);
            let next = at.checked_mul(stride).and_then(|distance| offset.checked_add(distance));
            offset = next.ok_or_else(|| too_far(axis, at, stride))?;
            // Of the outermost axis, the product is not needed.
            stride = if axis == 0 {
                stride
            } else {
                stride.checked_mul(len).ok_or_else(|| too_far(axis, len, stride))?
            };
        }
        moved(self.data.cast(), offset, self.item_nbytes()?)
    }

    fn item_nbytes(&self) -> Result<usize> {
        let negative = |_| malformed(format!("the items of the view have {} bytes", self.item_size));
        usize::try_from(self.item_size).map_err(negative)
    }

    /// The number of axes, of a struct whose shape is known.
    pub(super) fn rank(&self) -> Result<usize> {
        let rank =
            usize::try_from(self.ndim).map_err(|_| malformed(format!("the view has {} axes", self.ndim)))?;
        if rank > 1 && self.shape.is_null() {
            return Err(malformed(format!("the shape of the view is null, for {rank} axes")));
        }
        Ok(rank)
    }

    /// # Safety
    ///
    /// The axis is below `ndim`, and shape as for [`View::item_pointer`].
    pub(super) unsafe fn len_of(&self, axis: usize) -> Result<isize> {
        if !self.shape.is_null() {
            // SAFETY: the caller's word.
            return Ok(unsafe { *self.shape.wrapping_add(axis) });
        }
        if self.item_size <= 0 || self.byte_size < 0 {
            return Err(malformed(format!(
                "the shape of the view is null, and {} bytes are no number of items of {} bytes",
                self.byte_size, self.item_size
            )));
        }
        Ok(self.byte_size / self.item_size)
    }
}

/// The address at a distance, from which on `nbytes` bytes are in the address space.
fn moved(from: *mut u8, distance: isize, nbytes: usize) -> Result<*mut u8> {
    let outside = || {
        let text = format!("{nbytes} bytes at {distance} from {from:p} leave the address space");
        Error::new(Kind::Overflow, format!("{text} 0x1..={:#x}", isize::MAX))
    };
    let to = from.addr().checked_add_signed(distance).ok_or_else(outside)?;
    // The address of an item without bytes has to be one, too.
    Layout::new(&[], &[], nbytes.max(1))?.span().check_address(to).map_err(|_| outside())?;
    Ok(from.with_addr(to))
}

fn too_far(axis: usize, at: isize, stride: isize) -> Error {
    let text = format!("axis {axis}: {at} times {stride} bytes leads farther than {} bytes", isize::MAX);
    Error::new(Kind::Overflow, text)
}

pub(super) fn malformed(text: impl Into<String>) -> Error {
    Error::new(Kind::Malformed, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: usize = isize::MAX as usize;

    /// A view of items of 8 bytes, 16 apart, from an address on.
    fn view<'a>(address: usize, len: &'a isize, stride: &'a isize) -> View {
        let data = std::ptr::without_provenance_mut(address);
        View { data, item_size: 8, ndim: 1, shape: len, strides: stride, ..View::EMPTY }
    }

    fn item(view: &View, index: isize) -> Result<usize> {
        // SAFETY: the views of these tests have one axis, whose numbers outlive the call, and no
        // suboffsets.
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
        assert!(error.is_overflow() && error.to_string().contains("leave the address space"), "{error}");
        for address in [MOST, MOST + 1, usize::MAX - 100, usize::MAX] {
            let error = item(&view(address, &len, &stride), 0).unwrap_err();
            assert!(error.is_overflow(), "{address:#x}: {error}");
        }
        let back = -16;
        assert_eq!(item(&view(33, &len, &back), 2).unwrap(), 1);
        for address in [32, 31, 1] {
            assert!(item(&view(address, &len, &back), 2).unwrap_err().is_overflow(), "{address}");
        }
        // From an address that no pointer has back to one that a pointer can have.
        assert!(item(&view(MOST + 10, &len, &back), 2).unwrap_err().is_overflow());
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
            // SAFETY: one axis, whose numbers outlive the call, over a table of one pointer.
            unsafe { view.item_pointer(&raw const index) }.map(|item| item.addr())
        };
        assert_eq!(lead(&(MOST - 16), 8).unwrap(), MOST - 8);
        assert!(lead(&(MOST - 16), 9).unwrap_err().is_overflow());
        assert!(lead(&(MOST + 16), 0).unwrap_err().is_overflow());
        assert!(lead(&0, 0).unwrap_err().is_malformed(), "a null pointer");
        let far = view(MOST - 4, &len, &stride);
        let far = View { sub_offsets: &raw const index, ..far };
        // SAFETY: refused before a pointer is read.
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
