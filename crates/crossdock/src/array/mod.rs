//! Arrays: bytes with an owner, seen through a dtype and a layout.
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
//! An array is a handle: cloning, slicing, permuting and reshaping give another handle on the same bytes, in O(rank) and
//! without a heap block up to eight dimensions. The elements are touched under a lease, or by value through
//! [`Array::get`], which takes one for that moment.

mod compare;
mod convert;
mod dynamic;
mod expr;
mod fill;
mod guard;
mod iter;
mod raw;
mod typed;
mod view;
mod view_mut;

pub(crate) use convert::other_dtype;
pub use dynamic::DArray;
pub(crate) use dynamic::{load_value, store_value};
pub use guard::{ArrayPin, ArrayRead, ArrayShare, ArrayWrite};
pub use iter::{Iter, IterMut};
pub(crate) use raw::RawArray;
pub use typed::Array;
pub use view::ArrayView;
pub(crate) use view::check_aligned;
pub use view_mut::ArrayViewMut;
pub(crate) use view_mut::overlap;

pub use crate::kernel::Casting;
