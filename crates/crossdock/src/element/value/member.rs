//! Numbers that fit into one register, by themselves: no tree, no heap.

use crate::element::value::write::pattern;
use crate::element::{ScalarKind, Value};
use crate::error::Result;
use crate::memory::racy;

/// One number out of an item that has several: what [`Value`] is of a whole element, as plain data.
///
/// ```
/// use crossdock::bindings::dialect::pack::Member;
/// use crossdock::element::Value;
///
/// assert_eq!(Value::from(Member::UInt(7)), Value::UInt(7));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Member {
    /// What a signed integer holds.
    Int(i64),
    /// What an unsigned integer holds.
    UInt(u64),
    /// What a float holds; one of 4 bytes is widened, which makes a signalling NaN a quiet one.
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

/// The kinds of number that fit into one register. A byte, to lie in tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Word {
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

impl Word {
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

    /// What it is among the scalars.
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

    /// Loads one racily, at any address; `swapped` where its bytes lie in the order that is not the
    /// machine's.
    ///
    /// # Safety
    ///
    /// As for [`racy::load`], for [`Word::size`] bytes.
    #[inline(always)]
    pub(crate) unsafe fn load(self, ptr: *const u8, swapped: bool) -> Member {
        macro_rules! load {
            ($ty:ty) => {{
                // SAFETY: the word has as many bytes (the caller's promise).
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
            Self::Float32 => Member::Float(f32::from_bits(load!(u32)).into()),
            Self::Float64 => Member::Float(f64::from_bits(load!(u64))),
        }
    }

    /// The bits of a number in this type, by checked conversion.
    pub(crate) fn bits(self, member: Member) -> Result<u64> {
        let value = Value::from(member);
        pattern(&value, self.kind()).ok_or_else(|| value.misfit(self.kind()))
    }

    /// Stores one racily, at any address; `swapped` as for [`Word::load`].
    ///
    /// # Safety
    ///
    /// As for [`racy::store`], for [`Word::size`] bytes.
    #[inline(always)]
    pub(crate) unsafe fn store(self, ptr: *mut u8, swapped: bool, bits: u64) {
        macro_rules! store {
            ($ty:ty) => {{
                let bits = bits as $ty;
                let bits = if swapped { bits.swap_bytes() } else { bits };
                // SAFETY: the word has as many bytes (the caller's promise).
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
