//! NumPy's array interface, without Python: `__array_interface__`, a dictionary, and
//! `__array_struct__`, a C struct in a capsule.
//!
//! | key | struct | says |
//! |---|---|---|
//! | `typestr`, `descr` | `typekind`, `itemsize`, `flags`, `descr` | the type, as in [`typestr`] |
//! | `shape`, `strides` | the same | lengths, and strides in bytes; row-major if there are none |
//! | `data` | `data`, `flags` | the address of element 0, and whether it is writable |
//!
//! CUDA's array interface, `__cuda_array_interface__`, is the dictionary with a stream: see
//! [`cuda`].
//!
//! Neither has a release function: a consumer keeps the object and uses the memory for as long as
//! that object lives. So the object keeps the [`ExportLease`] of [`lend`] from the first request
//! on, for the rest of its life.
//!
//! The wheel creates and reads the dictionary and the capsule, which are Python objects. This
//! module decides: [`InterfaceType`] names an array's type; [`import`](import()) is the one check
//! of what producers describe; [`lend`] takes the lease.
//!
//! [`typestr`]: crate::element::dialect::typestr
//!
//! ```
//! use crossdock::bindings::array_interface::{self, Described, InterfaceType};
//! use crossdock::memory::Birth;
//! use crossdock::{Array, DArray};
//!
//! let array = DArray::from(Array::from_vec(vec![1.5f64, 2.5, 3.5, 4.5], [2, 2])?);
//! let words = InterfaceType::of(array.dtype())?;
//! let lease = array_interface::lend(&array)?;
//!
//! let described = Described {
//!     typestr: words.typestr(), descr: None, name: None,
//!     data: array.as_ptr().cast_mut(), shape: &[2, 2], strides: Some(&[8, 16]),
//! };
//! // SAFETY: the memory of an array that lives until `release` drops it, lent to be shared.
//! let transposed = unsafe { array_interface::import(&described, false, Birth::Aliased, move || drop((lease, array))) }?;
//! assert_eq!(transposed.get(&[0, 1])?.to_string(), "3.5");
//! # Ok::<(), crossdock::Error>(())
//! ```

pub mod abi;
pub mod cuda;
mod export;
mod import;

pub use export::{InterfaceType, lease_kind, lend, lend_ordered};
pub use import::{Described, type_string};

pub use crate::view::export_lease::ExportLease;
pub use crate::view::located::import;
