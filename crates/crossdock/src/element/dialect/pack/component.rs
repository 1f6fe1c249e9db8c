//! One readable part of a template: numbers of one type.

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

    /// Copies all fields one by one through registers: a component that was just written to memory
    /// is slow to move.
    #[inline(always)]
    pub(super) fn set(&mut self, other: &Self) {
        self.format = other.format;
        self.native_size = other.native_size;
        self.little_endian = other.little_endian;
        self.offset = other.offset;
        self.size = other.size;
        self.repeat = other.repeat;
    }

    /// The byte order of each number.
    #[inline(always)]
    pub(super) fn byte_order(&self) -> ByteOrder {
        if self.little_endian { ByteOrder::Little } else { ByteOrder::Big }
    }
}
