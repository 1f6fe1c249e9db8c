//! Arrays: owned bytes with a dtype and a layout.
//!
//! ```text
//!   Array<T, D>  ── T: Element, rank D known to the compiler ──┐
//!                                                              ├── RawArray { handle, pointer to element 0, read-only? }
//!   DArray       ── dtype and rank known at run time ──────────┘
//!
//!   array.read()  -> ArrayRead   ── view() ──> ArrayView<'_>      &T by index, at the cost of a pointer
//!   array.write() -> ArrayWrite  ── view_mut() -> ArrayViewMut<'_>
//!   array.share() -> ArrayShare                                   racy loads and stores
//!   array.pin()   -> ArrayPin                                     racy loads
//! ```
//!
//! An array is a handle: cloning, slicing, permuting and reshaping return another handle on the
//! same bytes, in O(rank) and without a heap block up to four dimensions. The elements are
//! accessed under a lease, or by value through [`Array::get`], which takes a lease for the call.
//!
//! # Files
//!
//! | file | contents |
//! |---|---|
//! | `raw.rs`, `typed.rs`, `dynamic.rs` | the common core, `Array` and `DArray` |
//! | `queries.rs`, `axes.rs`, `access.rs` | macros: methods of several array types, written once |
//! | `element.rs` | loads and stores of one element, under a brief lease |
//! | `convert.rs`, `assign_at_once.rs` | copies, into new memory and to another array |
//! | `extent.rs` | the byte ranges of an array, for the overlap check |
//! | `indirect.rs` | the only constructor of indirect arrays |
//! | `moving.rs`, `on_device.rs` | arrays copied to other places, and work done there |
//! | `display/` | arrays as text |

mod access;
mod assign_at_once;
mod axes;
mod builder;
mod compare;
mod convert;
mod create;
#[doc(hidden)]
pub mod dispatch;
pub(crate) mod display;
mod dynamic;
mod dynamic_axes;
mod element;
pub(crate) mod expr;
mod extent;
mod field;
mod fill;
mod from_memory;
mod guard;
mod handles;
mod indexed;
mod indirect;
mod iter;
mod load;
mod moving;
mod nested;
mod on_device;
#[cfg(feature = "rayon")]
mod parallel;
mod parts;
mod queries;
mod raw;
mod records;
mod reference;
mod reinterpret;
mod shape;
mod shape_spec;
mod typed;
mod uninit;
mod vector;
mod view;
mod view_mut;
mod visit;

pub(crate) use builder::ArrayBuilder;
pub(crate) use convert::other_dtype;
pub use create::ArrayOptions;
pub use display::ArrayDisplay;
pub use dynamic::DArray;
pub(crate) use element::{load_as, store_value};
pub use guard::{ArrayPin, ArrayRead, ArrayShare, ArrayWrite};
pub(crate) use indexed::{IndexedIter, IndexedIterMut};
pub use iter::{Iter, IterMut};
pub(crate) use load::load_value;
pub use moving::PlacedArray;
pub use nested::Nested;
pub use parts::{Views, ViewsMut};
pub(crate) use queries::dynamic_queries;
pub(crate) use raw::RawArray;
pub use reference::{DReference, Reference};
pub use shape::CopyPolicy;
pub use shape_spec::ShapeSpec;
pub use typed::Array;
pub use uninit::UninitArray;
pub use view::ArrayView;
pub(crate) use view::check_aligned;
pub use view_mut::ArrayViewMut;
pub(crate) use view_mut::overlap;
pub use visit::{Native, PairVisitor, Visitor};

use crate::element::Element;
pub use crate::kernel::Casting;

/// The elements, for a type of size 0; `None` for any other type. O(1), where a loop over the
/// elements could run for hours.
fn without_bytes<T: Element>(len: usize) -> Option<Vec<T>> {
    (size_of::<T>() == 0).then(|| {
        let nowhere = std::ptr::NonNull::<T>::dangling().as_ptr();
        // SAFETY: `T` has size 0: a vector of it allocates nothing, any aligned pointer is valid
        // for its elements, and zero bytes are a valid `T`, since every bit pattern is (Pod 1).
        unsafe { Vec::from_raw_parts(nowhere, len, len) }
    })
}
