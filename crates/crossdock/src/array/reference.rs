//! References to one array element, on any place, that keep the memory alive.

use std::fmt;

use crate::array::{Array, DArray};
use crate::element::{DType, Element, Value};
use crate::error::{Rejected, Result};
use crate::layout::{AxisSlice, FixedLayout, Order};
use crate::memory::Place;

/// One element of an [`Array`]: a handle on its memory, at any place.
///
/// [`get`](Self::get) returns a copy of the element, and [`set`](Self::set) stores a value, each
/// under a lease held for the call; in device memory, the device copies the element. Assigning
/// copies the value and never redirects the reference; cloning does not copy the element.
/// References compare by their current values, with each other and with values. An element that
/// cannot be leased (another holder has Write) equals nothing; [`equals`](Self::equals) returns the
/// error.
///
/// ```
/// use crossdock::Array;
///
/// let array = Array::from_vec(vec![1.5, 2.5, 3.5, 4.5], [2, 2])?;
/// let (one, other) = (array.reference([0, 0])?, array.reference([1, 1])?);
/// one.set(7.0)?;
/// other.assign(&one)?;
/// assert!(other == 7.0 && one == other);
/// assert_eq!(array.read()?.to_vec(), [7.0, 2.5, 3.5, 7.0]);
/// # Ok::<(), crossdock::Error>(())
/// ```
#[derive(Clone)]
pub struct Reference<T: Element>(Array<T, 0>);

/// One element of a [`DArray`]: like [`Reference`], with [`Value`]s, for any dtype.
///
/// ```
/// use crossdock::{Array, DArray};
///
/// let small = DArray::from(Array::from_vec(vec![1u8, 2, 3], [3])?);
/// let large = DArray::from(Array::from_vec(vec![250i64, 300], [2])?);
/// let element = small.reference(&[0])?;
/// element.assign(&large.reference(&[0])?)?; // converted, with a check
/// assert_eq!(element.get()?.as_i64(), Some(250));
/// assert!(element.assign(&large.reference(&[1])?).unwrap_err().is_value());
/// assert_eq!(small.to_string(), "[250   2   3]");
/// # Ok::<(), crossdock::Error>(())
/// ```
#[derive(Clone)]
pub struct DReference(DArray);

impl<T: Element, const D: usize> Array<T, D> {
    /// A reference to one element, which keeps the memory alive. O(`D`): one atomic addition.
    ///
    /// # Errors
    ///
    /// `is_bounds`.
    pub fn reference(&self, index: [usize; D]) -> Result<Reference<T>> {
        let offset = self.layout().offset_of(index)?;
        let layout = FixedLayout::contiguous([], size_of::<T>(), Order::RowMajor)?;
        // SAFETY: `offset_of` returned the offset of an element, and the scalar layout reaches only
        // that element, as a slice at this index would.
        let raw = unsafe { self.raw().moved(offset) };
        // SAFETY: Array 1: the scalar layout, made for `size_of::<T>()`, reaches from the moved
        // element 0 only one element of this array.
        Ok(Reference(unsafe { Array::from_raw(raw, layout) }))
    }
}

impl DArray {
    /// A reference to one element, which keeps the memory alive. O(rank): one atomic addition.
    ///
    /// # Errors
    ///
    /// `is_shape` if there is not one index for each axis; `is_bounds`.
    pub fn reference(&self, index: &[usize]) -> Result<DReference> {
        // An index beyond `isize::MAX` is out of bounds, and so is `isize::MAX`.
        let axis = |&index: &usize| AxisSlice::Index(isize::try_from(index).unwrap_or(isize::MAX));
        let axes: Vec<AxisSlice> = index.iter().map(axis).collect();
        self.slice(&axes[..]).map(DReference)
    }
}

impl<T: Element> Reference<T> {
    /// Returns a copy of the current element. No lease is kept.
    ///
    /// # Errors
    ///
    /// As [`Array::get`].
    #[inline]
    pub fn get(&self) -> Result<T> {
        self.0.get([])
    }

    /// Writes the element.
    ///
    /// # Errors
    ///
    /// As [`Array::set`].
    #[inline]
    pub fn set(&self, value: T) -> Result<()> {
        self.0.set([], value)
    }

    /// Writes the current value of the other reference. Both references keep their targets.
    ///
    /// # Errors
    ///
    /// As [`Array::get`] of the other and [`Array::set`] of this one.
    pub fn assign(&self, other: &Self) -> Result<()> {
        self.set(other.get()?)
    }

    /// Whether both currently have equal values (not whether they are the same element).
    ///
    /// # Errors
    ///
    /// As [`Array::get`].
    pub fn equals(&self, other: &Self) -> Result<bool>
    where
        T: PartialEq,
    {
        Ok(self.get()? == other.get()?)
    }

    /// The device.
    pub fn place(&self) -> Place {
        self.0.place()
    }

    /// The element as an array of rank 0, which can be leased.
    pub fn as_array(&self) -> &Array<T, 0> {
        &self.0
    }
}

impl DReference {
    /// Returns a copy of the current element. No lease is kept.
    ///
    /// # Errors
    ///
    /// As [`DArray::get`].
    #[inline]
    pub fn get(&self) -> Result<Value> {
        self.0.get(&[])
    }

    /// Writes the element, converted with a check.
    ///
    /// # Errors
    ///
    /// As [`DArray::set`].
    pub fn set(&self, value: impl Into<Value>) -> Result<()> {
        self.0.set(&[], &value.into())
    }

    /// Writes the current value of the other reference, converted with a check. Both references
    /// keep their targets.
    ///
    /// # Errors
    ///
    /// As [`DArray::get`] of the other and [`DArray::set`] of this one.
    pub fn assign(&self, other: &Self) -> Result<()> {
        self.set(other.get()?)
    }

    /// Whether both currently have equal values (not whether they are the same element).
    ///
    /// # Errors
    ///
    /// As [`DArray::get`].
    pub fn equals(&self, other: &Self) -> Result<bool> {
        Ok(self.get()? == other.get()?)
    }

    /// The type of the element.
    pub fn dtype(&self) -> &DType {
        self.0.dtype()
    }

    /// The device.
    pub fn place(&self) -> Place {
        self.0.place()
    }

    /// The element as an array of rank 0, which can be leased.
    pub fn as_array(&self) -> &DArray {
        &self.0
    }
}

impl<T: Element + PartialEq> PartialEq for Reference<T> {
    fn eq(&self, other: &Self) -> bool {
        self.equals(other).unwrap_or(false)
    }
}

impl<T: Element + PartialEq> PartialEq<T> for Reference<T> {
    fn eq(&self, value: &T) -> bool {
        self.get().is_ok_and(|own| own == *value)
    }
}

impl PartialEq for DReference {
    fn eq(&self, other: &Self) -> bool {
        self.equals(other).unwrap_or(false)
    }
}

impl PartialEq<Value> for DReference {
    fn eq(&self, value: &Value) -> bool {
        self.get().is_ok_and(|own| own == *value)
    }
}

impl<T: Element> From<Reference<T>> for DReference {
    fn from(reference: Reference<T>) -> Self {
        Self(reference.0.into())
    }
}

impl<T: Element> TryFrom<DReference> for Reference<T> {
    type Error = Rejected<DReference>;

    /// The same element, typed. On failure (`is_dtype`) the reference is returned with the reason.
    fn try_from(reference: DReference) -> Result<Self, Rejected<DReference>> {
        match Array::try_from(reference.0) {
            Ok(array) => Ok(Self(array)),
            Err(Rejected { value, error }) => Err(Rejected { value: DReference(value), error }),
        }
    }
}

impl From<DReference> for DArray {
    fn from(reference: DReference) -> Self {
        reference.0
    }
}

impl<T: Element> From<Reference<T>> for Array<T, 0> {
    fn from(reference: Reference<T>) -> Self {
        reference.0
    }
}

macro_rules! shown {
    ([$($generics:tt)*] $ty:ty, $name:literal) => {
        /// The current value, as NumPy writes it; if it cannot be leased at once, a description and
        /// the reason.
        impl<$($generics)*> fmt::Display for $ty {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl<$($generics)*> fmt::Debug for $ty {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($name, " to {} at {:p} on {}: "), self.0.dtype().brief(), self.0.as_ptr(), self.place())?;
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

shown!([T: Element] Reference<T>, "Reference");
shown!([] DReference, "DReference");
