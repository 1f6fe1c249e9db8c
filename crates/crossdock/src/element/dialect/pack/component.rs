//! One readable part of a template: numbers of one type.

use std::mem::offset_of;

use crate::element::ByteOrder;

/// The maximum size of an item in bytes.
pub(super) const MAX_ITEM_SIZE: usize = isize::MAX as usize;

/// Contiguous numbers of one type in each item. It is C's `xd_memory_view_item_component_t`, field
/// by field.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Component {
    /// The letter.
    pub format: u8,
    /// Whether `!` or `_` requested C's own size.
    pub native_size: bool,
    /// Whether the least significant byte comes first.
    pub little_endian: bool,
    /// The offset of the first number, in bytes from the start of the item.
    pub offset: usize,
    /// The bytes of each number.
    pub size: usize,
    /// The number of numbers; may be 0.
    pub repeat: usize,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Component>() == 32);

impl Component {
    pub(super) const NONE: Self =
        Self { format: 0, native_size: false, little_endian: false, offset: 0, size: 0, repeat: 0 };

    /// Writes all fields, and zeros into the padding, so that C never gets stale bytes. By whole
    /// words: a component that was just written in parts is slow to read.
    ///
    /// # Safety
    ///
    /// `place` is aligned, and valid for the writing of a component.
    #[inline(always)]
    pub(super) unsafe fn write_to(&self, place: *mut Self) {
        let mut head = [0; offset_of!(Self, offset)];
        head[offset_of!(Self, format)] = self.format;
        head[offset_of!(Self, native_size)] = u8::from(self.native_size);
        head[offset_of!(Self, little_endian)] = u8::from(self.little_endian);
        // SAFETY: `# Safety`: the head is the first bytes of the component, up to `offset`.
        unsafe { place.cast::<[u8; offset_of!(Self, offset)]>().write(head) };
        let numbers = place.wrapping_byte_add(offset_of!(Self, offset)).cast::<[usize; 3]>();
        // SAFETY: `# Safety`: offset, size and repeat are the rest of the component, in this order.
        unsafe { numbers.write([self.offset, self.size, self.repeat]) };
    }

    /// The byte order of each number.
    #[inline(always)]
    pub(super) fn byte_order(&self) -> ByteOrder {
        if self.little_endian { ByteOrder::Little } else { ByteOrder::Big }
    }
}
