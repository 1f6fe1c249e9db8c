//! Truth values from untrusted memory.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Not;

use crate::element::{DType, Element, Value};
use crate::memory::Pod;

/// A truth value of one byte, in the representation of NumPy's `bool` and C's `_Bool`: 0 is false,
/// any other byte is true.
///
/// Rust's `bool` may hold only 0 and 1, and a reference to a `bool` that holds 2 is undefined
/// behaviour. Imported memory may hold any byte, so this is the element type of boolean arrays.
/// [`Bool8::get`] converts to `bool`. All true values are equal.
///
/// ```
/// use crossdock::element::{Bool8, DType, Element as _};
/// use crossdock::{Array, DArray};
///
/// assert_eq!(Bool8::dtype(), DType::BOOL);
/// let mask = Array::from_vec(vec![Bool8::from(true), Bool8::from(false), Bool8::from(2u8)], [3])?;
/// assert_eq!(mask.read()?.iter().filter(|flag| flag.get()).count(), 2);
/// assert_eq!(DArray::from(mask).get(&[2])?.as_bool(), Some(true));
/// # Ok::<(), crossdock::Error>(())
/// ```
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct Bool8(u8);

impl Bool8 {
    /// Whether the byte is not 0.
    #[inline]
    pub const fn get(self) -> bool {
        self.0 != 0
    }
}

// SAFETY: a transparent `u8`: 1. every bit pattern is a value, 2. it has one part and no
// padding, 3. no pointers and no interior mutability.
unsafe impl Pod for Bool8 {}

// SAFETY: 1. and 2. `DType::BOOL` is one byte of which zero is false and anything else true, as
// `Bool8::get` reads it.
unsafe impl Element for Bool8 {
    fn dtype() -> DType {
        DType::BOOL
    }
}

/// Any byte, kept as it is.
impl From<u8> for Bool8 {
    #[inline]
    fn from(byte: u8) -> Self {
        Self(byte)
    }
}

/// The byte as it lies in memory.
impl From<Bool8> for u8 {
    #[inline]
    fn from(value: Bool8) -> Self {
        value.0
    }
}

impl From<bool> for Bool8 {
    #[inline]
    fn from(value: bool) -> Self {
        Self(u8::from(value))
    }
}

impl From<Bool8> for bool {
    #[inline]
    fn from(value: Bool8) -> Self {
        value.get()
    }
}

impl From<Bool8> for Value {
    fn from(value: Bool8) -> Self {
        value.get().into()
    }
}

impl PartialEq for Bool8 {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for Bool8 {}

impl PartialEq<bool> for Bool8 {
    #[inline]
    fn eq(&self, other: &bool) -> bool {
        self.get() == *other
    }
}

impl PartialOrd for Bool8 {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Bool8 {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.get().cmp(&other.get())
    }
}

impl Hash for Bool8 {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.get().hash(state);
    }
}

impl Not for Bool8 {
    type Output = Self;

    #[inline]
    fn not(self) -> Self {
        Self::from(!self.get())
    }
}

impl fmt::Debug for Bool8 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

impl fmt::Display for Bool8 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}
