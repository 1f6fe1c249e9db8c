//! Where an item of a view is.

use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::memory_view::abi::View;

impl View {
    /// The address of the item at an index of `ndim` numbers. O(rank), and a pointer to follow for each axis that has one.
    ///
    /// It works on any struct, also on one that the hub did not fill in: null strides stand for row-major without gaps, a null shape for
    /// `byte_size / item_size` items where there is one axis, and suboffsets are followed at any rank.
    ///
    /// # Errors
    ///
    /// `is_bounds`, naming index, axis and length; `is_malformed` where the struct says nothing that an address could be found by: a null
    /// pointer, a negative number, a null pointer on the way; `is_overflow`.
    ///
    /// # Safety
    ///
    /// What the struct points to is there: `ndim` numbers wherever there are any, and the tables of pointers that suboffsets lead over.
    /// `index` points to `ndim` numbers.
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
    #[inline(always)]
    pub unsafe fn plain_item_pointer(&self, index: *const isize) -> Option<*mut u8> {
        let Self { data, ndim, shape, strides, sub_offsets, .. } = *self;
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
        Some(data.cast::<u8>().wrapping_offset(offset))
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
        let mut item = self.data.cast::<u8>();
        for axis in 0..rank {
            // SAFETY: below `ndim` (the caller's word).
            let (at, stride) =
                (unsafe { *index.wrapping_add(axis) }, unsafe { *self.strides.wrapping_add(axis) });
            let distance = at.checked_mul(stride).ok_or_else(|| too_far(axis, at, stride))?;
            item = moved(item, distance)?;
            if self.sub_offsets.is_null() {
                continue;
            }
            // SAFETY: below `ndim` (the caller's word).
            let suboffset = unsafe { *self.sub_offsets.wrapping_add(axis) };
            if suboffset >= 0 {
                // SAFETY: an entry of a table of pointers (the caller's word).
                let next = unsafe { item.cast::<*mut u8>().read_unaligned() };
                if next.is_null() {
                    return Err(malformed(format!("axis {axis}: the pointer at index {at} is null")));
                }
                item = moved(next, suboffset)?;
            }
        }
        Ok(item)
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
        moved(self.data.cast(), offset)
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

fn moved(from: *mut u8, distance: isize) -> Result<*mut u8> {
    match from.addr().checked_add_signed(distance) {
        Some(_) => Ok(from.wrapping_offset(distance)),
        None => Err(Error::new(
            Kind::Overflow,
            format!("{distance} bytes from {:p} is not in the address space", from),
        )),
    }
}

fn too_far(axis: usize, at: isize, stride: isize) -> Error {
    let text = format!("axis {axis}: {at} times {stride} bytes leads farther than {} bytes", isize::MAX);
    Error::new(Kind::Overflow, text)
}

pub(super) fn malformed(text: impl Into<String>) -> Error {
    Error::new(Kind::Malformed, text)
}
