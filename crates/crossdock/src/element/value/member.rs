//! Numbers that fit into one register, without a tree or the heap.

use crate::element::value::write::pattern;
use crate::element::{ScalarKind, Value, widened};
use crate::error::Result;
use crate::memory::racy;

/// One of several numbers in an item, as plain data, like [`Value`] for a whole element.
///
/// ```
/// use crossdock::bindings::dialect::pack::Member;
/// use crossdock::element::Value;
///
/// assert_eq!(Value::from(Member::UInt(7)), Value::UInt(7));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Member {
    /// The value of a signed integer.
    Int(i64),
    /// The value of an unsigned integer.
    UInt(u64),
    /// The value of a float. Floats of 4 bytes are widened, which makes a signalling NaN quiet.
    Float(f64),
}

impl From<Member> for Value {
    fn from(member: Member) -> Self {
        match member {
            Member::Int(value) => Self::Int(value),
            Member::UInt(value) => Self::UInt(value),
            Member::Float(value) => Self::Float(value),
        }
    }
}

/// The kinds of number that fit into one register. One byte, for tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum RegisterKind {
    Int8,
    UInt8,
    Int16,
    UInt16,
    Int32,
    UInt32,
    Int64,
    UInt64,
    Float32,
    Float64,
}

impl RegisterKind {
    /// Width in bytes.
    #[inline(always)]
    pub(crate) const fn size(self) -> usize {
        match self {
            Self::Int8 | Self::UInt8 => 1,
            Self::Int16 | Self::UInt16 => 2,
            Self::Int32 | Self::UInt32 | Self::Float32 => 4,
            Self::Int64 | Self::UInt64 | Self::Float64 => 8,
        }
    }

    /// The scalar kind.
    pub(crate) const fn kind(self) -> ScalarKind {
        match self {
            Self::Int8 => ScalarKind::Int8,
            Self::UInt8 => ScalarKind::UInt8,
            Self::Int16 => ScalarKind::Int16,
            Self::UInt16 => ScalarKind::UInt16,
            Self::Int32 => ScalarKind::Int32,
            Self::UInt32 => ScalarKind::UInt32,
            Self::Int64 => ScalarKind::Int64,
            Self::UInt64 => ScalarKind::UInt64,
            Self::Float32 => ScalarKind::Float32,
            Self::Float64 => ScalarKind::Float64,
        }
    }

    /// Loads a number racily, at any address; `swapped` if its bytes are in non-native order.
    ///
    /// # Safety
    ///
    /// The [`RegisterKind::size`] bytes at `ptr` satisfy the contract of [`racy::load`].
    #[inline(always)]
    pub(crate) unsafe fn load(self, ptr: *const u8, swapped: bool) -> Member {
        macro_rules! load {
            ($ty:ty) => {{
                // SAFETY: the `match` below pairs each word with a type of `RegisterKind::size`
                // bytes, which may be loaded racily from `ptr` (`# Safety`).
                let bits: $ty = unsafe { racy::load(ptr.cast::<$ty>()) };
                if swapped { bits.swap_bytes() } else { bits }
            }};
        }
        match self {
            Self::Int8 => Member::Int(load!(i8).into()),
            Self::UInt8 => Member::UInt(load!(u8).into()),
            Self::Int16 => Member::Int(load!(i16).into()),
            Self::UInt16 => Member::UInt(load!(u16).into()),
            Self::Int32 => Member::Int(load!(i32).into()),
            Self::UInt32 => Member::UInt(load!(u32).into()),
            Self::Int64 => Member::Int(load!(i64)),
            Self::UInt64 => Member::UInt(load!(u64)),
            Self::Float32 => Member::Float(widened(f32::from_bits(load!(u32)))),
            Self::Float64 => Member::Float(f64::from_bits(load!(u64))),
        }
    }

    /// Converts a number to this type with a check, and returns its bits.
    pub(crate) fn bits(self, member: Member) -> Result<u64> {
        let value = Value::from(member);
        pattern(&value, self.kind()).ok_or_else(|| value.misfit(self.kind()))
    }

    /// Stores a number racily, at any address; `swapped` as for [`RegisterKind::load`].
    ///
    /// # Safety
    ///
    /// The [`RegisterKind::size`] bytes at `ptr` satisfy the contract of [`racy::store`].
    #[inline(always)]
    pub(crate) unsafe fn store(self, ptr: *mut u8, swapped: bool, bits: u64) {
        macro_rules! store {
            ($ty:ty) => {{
                let bits = bits as $ty;
                let bits = if swapped { bits.swap_bytes() } else { bits };
                // SAFETY: the `match` below chooses a type of `RegisterKind::size` bytes, which may
                // be stored racily at `ptr` (`# Safety`).
                unsafe { racy::store(ptr.cast::<$ty>(), bits) }
            }};
        }
        match self.size() {
            1 => store!(u8),
            2 => store!(u16),
            4 => store!(u32),
            _ => store!(u64),
        }
    }
}
