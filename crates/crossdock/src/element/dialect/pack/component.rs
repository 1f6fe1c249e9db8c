//! One part of a template that is read: numbers of one type.

use crate::element::ByteOrder;

/// What an item can have at most, in bytes.
pub(super) const MAX_ITEM_SIZE: usize = isize::MAX as usize;

/// Numbers of one type, one after the other in each item. It is C's
/// `xd_memory_view_item_component_t`, field by field.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Component {
    /// The letter.
    pub format: u8,
    /// Whether C's own size was asked for, by `!` or `_`.
    pub native_size: bool,
    /// Whether the least significant byte comes first.
    pub little_endian: bool,
    /// Where the first of them begins, in bytes from the start of the item.
    pub offset: usize,
    /// Bytes of each of them.
    pub size: usize,
    /// How many there are; may be none.
    pub repeat: usize,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Component>() == 32);

impl Component {
    pub(super) const NONE: Self =
        Self { format: 0, native_size: false, little_endian: false, offset: 0, size: 0, repeat: 0 };

    /// Takes over all fields, one by one, out of registers: a component that was just written to
    /// memory is slow to move.
    #[inline(always)]
    pub(super) fn set(&mut self, other: &Self) {
        self.format = other.format;
        self.native_size = other.native_size;
        self.little_endian = other.little_endian;
        self.offset = other.offset;
        self.size = other.size;
        self.repeat = other.repeat;
    }

    /// In which order the bytes of each lie.
    #[inline(always)]
    pub(super) fn byte_order(&self) -> ByteOrder {
        if self.little_endian { ByteOrder::Little } else { ByteOrder::Big }
    }
}
