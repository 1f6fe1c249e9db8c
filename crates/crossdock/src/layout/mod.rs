//! Layouts map indices to offsets: shapes, byte strides, and the operations that derive views.
//!
//! A layout is pure arithmetic. It knows neither memory nor element types, only that an element is
//! `itemsize` bytes; code that holds a pointer to element 0 adds the offsets.
//!
//! | type | rank | for |
//! |---|---|---|
//! | [`FixedLayout<D>`] | static | typed arrays; `Copy`; functions take the itemsize as argument |
//! | [`Layout`] | dynamic, up to [`MAX_RANK`] | has itemsize and suboffsets; no heap up to 4 axes |
//!
//! Both are checked once, when they are made, and every operation keeps them valid: no product, no
//! sum of `(len - 1) * stride` and therefore no offset can overflow. Whether a layout fits its
//! memory is checked once per array, when the array is made; no view can leave a window that
//! contained its source.
//!
//! A layout only describes; arrays provide the views.
//!
//! ```
//! use crossdock::layout::{FixedLayout, Order};
//! use crossdock::{Array, s};
//!
//! let image = Array::<u8, 3>::zeros([480, 640, 3])?;
//! assert_eq!(*image.layout(), FixedLayout::contiguous([480, 640, 3], 1, Order::RowMajor)?);
//! let red = image.slice(s![100.., ..;2, 0])?;
//! assert_eq!((red.shape(), red.strides()), (&[380, 320], &[1920, 6]));
//! # Ok::<(), crossdock::Error>(())
//! ```
//!
//! `span.rs` is the only bounds checker; every importer uses it. The compiler forbids `unsafe` in
//! this layer.

mod axes;
mod axis_storage;
mod cut;
mod dynamic;
mod dynamic_views;
mod fixed;
mod in_order;
mod index;
mod indexed;
mod inline_cut;
mod interleave;
mod offsets;
mod one_run;
mod parts;
mod reshape;
mod rules;
mod slice;
mod span;
mod spec;
#[cfg(test)]
mod tests;
mod tiling;

pub(crate) use self::cut::Indirection;
pub use self::dynamic::Layout;
pub use self::fixed::FixedLayout;
pub(crate) use self::indexed::IndexedOffsets;
pub(crate) use self::offsets::{Offsets, Runs};
pub(crate) use self::parts::{AxisChunks, AxisParts, Lanes, Parts, check_chunk};
pub use self::rules::Order;
pub(crate) use self::rules::{check_axis, fill_contiguous, sort_few};
pub(crate) use self::slice::RangeSemantics;
pub use self::slice::{AxisList, AxisSlice};
pub(crate) use self::span::END_OF_ADDRESSES;
pub use self::span::Span;
pub use self::spec::{Ellipsis, NewAxis, SliceSpec};
#[doc(hidden)]
pub use self::spec::{slices, stepped};
#[doc(inline)]
pub use crate::s;

/// The greatest rank: 64 axes, the limit of NumPy 2 and of PEP 3118. A greater rank is an error,
/// never truncated.
pub const MAX_RANK: usize = 64;

/// Up to this rank a [`Layout`] without suboffsets needs no heap.
pub(crate) const INLINE_RANK: usize = 4;

/// Up to this many axes, values that are made for one call and hardly moved need no heap: the loops
/// of a copy, the numbers of a view of the hub.
pub(crate) const FEW_AXES: usize = 8;
